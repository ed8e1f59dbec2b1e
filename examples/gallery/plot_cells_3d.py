"""
Cells in three dimensions
=========================

With three inputs the regions are polyhedra. Each knows its corners; here they are drawn a
little apart, and below in the explorer, where a plane cuts them open.
"""

import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from scipy.spatial import ConvexHull

import tropicell as tc

rng = np.random.default_rng(4)
network = tc.Network.mlp(
    [rng.normal(size=(4, 3)), rng.normal(size=(3, 4)), rng.normal(size=(1, 3))],
    [rng.normal(size=4) * 0.4, rng.normal(size=3) * 0.4, [0.0]],
)
regions = tc.enumerate_regions(network, tc.Box(-1, 1))

figure = plt.figure(figsize=(7, 6), layout="constrained")
axes = figure.add_subplot(projection="3d")
colours = plt.colormaps["viridis"](np.linspace(0, 1, len(regions)))
for region, colour in zip(regions, colours, strict=True):
    corners = region.vertices.astype(float)
    corners = corners + 0.6 * corners.mean(axis=0)  # away from the centre
    triangles = corners[ConvexHull(corners).simplices]
    axes.add_collection3d(Poly3DCollection(triangles, facecolor=colour, alpha=0.9, linewidths=0))
axes.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), zlim=(-1.5, 1.5))
axes.set_title(f"{len(regions)} cells, volumes add up to {regions.volumes.sum():.12g}")

# %%
# The same to turn and to cut: drag it, and open the panel (☰) to move the plane.

# sphinx_gallery_capture_repr_block = ("_repr_html_",)
tc.explore(regions, height=560, settings={"cut": "x2,0.55", "apart": 0.12, "panel": False})
