"""
What is near a point
====================

The regions around one point, nearest first, without an enumeration: this works with hundreds of
inputs, too. It is proved that none is missing up to the circle.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle

import tropicell as tc

rng = np.random.default_rng(3)
sizes = [2, 16, 16, 1]
weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for m, n in itertools.pairwise(sizes)]
network = tc.Network.mlp(weights, [rng.normal(size=n) * 0.5 for n in sizes[1:]])
x = np.array([0.2, 0.3])

near = tc.regions_around(network, x, max_regions=40)

# %%
# For the picture: which region is each pixel in, and how far is that?

window = 1.3 * near.within
side = np.linspace(-window, window, 300)
pixels = x + np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
index = near.packed.find(network.patterns(pixels))
distances = np.where(index >= 0, near.distances[index], np.nan).reshape(300, 300)

figure, axes = plt.subplots(figsize=(5, 4.2), layout="constrained")
extent = (x[0] - window, x[0] + window, x[1] - window, x[1] + window)
image = axes.imshow(distances, origin="lower", extent=extent, cmap="viridis_r")
edges = index.reshape(300, 300)
axes.contour(
    edges, levels=np.arange(len(near)) - 0.5, extent=extent, colors="white", linewidths=0.3
)
axes.add_patch(Circle(x, near.within, fill=False, color="C3"))
axes.plot(*x, "o", color="C3")
figure.colorbar(image, label="distance of the region")
axes.set_title(f"the {len(near)} nearest regions")
