"""
A decision boundary of three classes
====================================

Where two outputs are equal and largest, the class changes. Inside a region the outputs are
affine, so the boundary of two classes is a straight segment there, and all segments together
are the exact boundary.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from sklearn.datasets import make_blobs
from sklearn.neural_network import MLPRegressor

import tropicell as tc
from tropicell import plotting

points, labels = make_blobs(
    240, centers=[(-2, -1), (2, -1), (0, 2)], cluster_std=1.0, random_state=2
)
model = MLPRegressor(
    hidden_layer_sizes=(10, 10), solver="lbfgs", alpha=1e-2, max_iter=2000, random_state=0
)
model.fit(points, np.eye(3)[labels])
network = tc.from_sklearn(model)
regions = tc.enumerate_regions(network, tc.Box(-5, 5))

figure, axes = plt.subplots(figsize=(6, 5.5), layout="constrained")
plotting.plot_regions(regions, axes, color="pattern", colorbar=False)
plotting.plot_points(points, axes, labels=labels)
for first, second in [(0, 1), (0, 2), (1, 2)]:
    segments = tc.measure.decision_boundary(regions, first, second)
    # keep a segment where both classes beat the third
    third = 3 - first - second
    middle = np.array([s.mean(axis=0) for s in segments])
    outputs = network(middle)
    segments = [s for s, y in zip(segments, outputs, strict=True) if y[first] >= y[third]]
    axes.add_collection(LineCollection(segments, colors="black", linewidths=2))
axes.set_title(f"three classes, {len(regions)} regions")
