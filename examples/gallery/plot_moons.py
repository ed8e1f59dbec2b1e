"""
Regions of a moon classifier
============================

A small scikit-learn classifier of the two-moons data. Every polygon is a linear region. The
thick line is the decision boundary, which is exact: on each region it is a straight piece.
"""

import numpy as np
from sklearn.datasets import make_moons
from sklearn.neural_network import MLPRegressor

import tropicell as tc
from tropicell import plotting

points, labels = make_moons(200, noise=0.15, random_state=0)
model = MLPRegressor(
    hidden_layer_sizes=(12, 12), solver="lbfgs", alpha=1e-3, max_iter=2000, random_state=1
)
model.fit(points, np.eye(2)[labels])

regions = tc.enumerate_regions(tc.from_sklearn(model), tc.Box([-2, -1.5], [3, 2]))
axes = plotting.plot_regions(regions, points=points, labels=labels)
plotting.plot_decision_boundary(regions, axes)
axes.set_title(f"{len(regions)} regions")

# %%
# The boundary has one piece for each region that it crosses:

pieces = tc.measure.decision_boundary(regions)
length = sum(np.linalg.norm(end - start) for start, end in pieces)
print(f"{len(pieces)} of {len(regions)} regions are crossed; the boundary is {length:.3f} long")
