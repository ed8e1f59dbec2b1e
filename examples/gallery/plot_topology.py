"""
Holes of a decision region
==========================

A network has learnt two circles. The points at which its output is at most one half are a ring,
perhaps with islands and more holes. Betti numbers count these exactly, and the persistence of the
output does so for all thresholds at once.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from sklearn.datasets import make_circles
from sklearn.neural_network import MLPRegressor

import tropicell as tc
from tropicell import plotting

points, labels = make_circles(300, noise=0.1, factor=0.45, random_state=3)
model = MLPRegressor(hidden_layer_sizes=(14, 14), solver="lbfgs", max_iter=3000, random_state=2)
network = tc.from_sklearn(model.fit(points, labels))
complex = tc.enumerate_regions(network, tc.Box(-1.4, 1.4)).complex()
outer = complex.sublevel_set(0, 0.5)
boundary = complex.level_set(0, 0.5)
pieces, holes, _ = outer.betti()

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
loops = outer.polygons()
shapes = [outer.vertices[loops[i]] for i in range(len(loops))]
left.add_collection(PolyCollection(shapes, facecolors="#cfe3f5", edgecolors="#9db8d2", lw=0.4))
segments = boundary.vertices[boundary.sides[1].faces.reshape(-1, 2)]
left.add_collection(LineCollection(segments, colors="black", linewidths=1.8))
plotting.plot_points(points, left, labels=labels)
left.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal")
left.set_title(f"output at most 1/2: $b_0$ = {pieces}, $b_1$ = {holes}")

found = complex.persistence()
found.plot(right)
right.set_title(f"{len(found)} components and loops of all sublevel sets")

# %%
# The same by counting: the pieces and holes at 1/2 are the points of the diagram that were born
# before, and die after it.
born, dead = found.births <= 0.5, found.deaths > 0.5
print(np.bincount(found.dims[born & dead], minlength=2), (pieces, holes))
