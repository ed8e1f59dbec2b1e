"""
How far from the data?
======================

Every region of a moon classifier, coloured by the number of facets that a path must cross to reach
a region with training data: a score for inputs that are unlike what the network has seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection
from sklearn.datasets import make_moons
from sklearn.neural_network import MLPRegressor

import tropicell as tc
from tropicell.regions.convert import polygons

points, labels = make_moons(200, noise=0.1, random_state=0)
model = MLPRegressor(hidden_layer_sizes=(16, 16), solver="lbfgs", max_iter=2000, random_state=1)
network = tc.from_sklearn(model.fit(points, np.eye(2)[labels]))
regions = tc.enumerate_regions(network, tc.Box([-2.5, -2], [3.5, 2.5]))
known = tc.DataRegions(network, points)
paths = known.path_lengths(regions)

figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
cells = PolyCollection(polygons(regions), array=paths, edgecolors="white", linewidths=0.3)
axes.add_collection(cells)
axes.plot(*points.T, ".", color="white", markeredgecolor="black", markersize=6)
axes.autoscale_view()
figure.colorbar(cells, label="facets to cross to the nearest region with data")
axes.set_title(f"{len(known)} of {len(regions)} regions hold training data")

# %%
# Does it tell fresh points of the moons from points all over the box?

fresh = make_moons(1000, noise=0.1, random_state=1)[0]
around = np.random.default_rng(0).uniform([-2.5, -2], [3.5, 2.5], (1000, 2))
score = tc.auroc(known.path_length(fresh, regions), known.path_length(around, regions))
print(f"AUROC {score:.3f}")
