"""
How far to the decision boundary
================================

Around each point, the largest square in which the class stays what it is: no input may change by
more than half its side. Its size lies between two proved bounds, which differ by less than the
width of a line.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

import tropicell as tc

rng = np.random.default_rng(5)
sizes = [2, 10, 10, 3]
weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for m, n in itertools.pairwise(sizes)]
network = tc.Network.mlp(weights, [rng.normal(size=n) * 0.5 for n in sizes[1:]])
points = rng.uniform(-1.6, 1.6, (8, 2))
found = [tc.robustness(network, x, norm="linf") for x in points]

side = np.linspace(-2, 2, 300)
pixels = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
classes = network(pixels).argmax(axis=1).reshape(300, 300)

figure, axes = plt.subplots(figsize=(4.6, 4.6), layout="constrained")
axes.imshow(classes, origin="lower", extent=(-2, 2, -2, 2), cmap="Pastel1")
for x, one in zip(points, found, strict=True):
    axes.plot(*x, "o", color="C0", markersize=4)
    size = 2 * one.lower
    axes.add_patch(Rectangle(x - one.lower, size, size, fill=False, color="C0"))
    if one.point is not None:
        axes.plot(*one.point, "x", color="C3", markersize=5)
axes.set(xlim=(-2, 2), ylim=(-2, 2), title="balls that the decision boundary does not enter")
