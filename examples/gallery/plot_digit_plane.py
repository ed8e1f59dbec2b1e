"""
A plane through three digits
============================

A network with 64 (or 784) inputs has too many regions to list, but a plane through three images
does not. Where MNIST is on the disk (``TROPICELL_DATA`` names a folder with ``mnist.npz``) its
digits are used, and otherwise the small ones of scikit-learn.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPRegressor

import tropicell as tc
from tropicell import plotting

file = Path(os.environ.get("TROPICELL_DATA", ".")) / "mnist.npz"
if file.is_file():
    with np.load(file) as data:
        images, labels = data["x_train"][:4000] / 255.0, data["y_train"][:4000]
else:
    digits = load_digits()
    images, labels = digits.images / 16.0, digits.target
flat = images.reshape(len(images), -1)
model = MLPRegressor(
    hidden_layer_sizes=(32, 32), max_iter=60, random_state=0, learning_rate_init=3e-3
)
model.fit(flat, np.eye(10)[labels])
network = tc.from_sklearn(model)

# %%
# The plane through a 3, a 5 and an 8: they lie at (0, 0), (1, 0) and (0, 1) of its coordinates.

chosen = [int(np.flatnonzero(labels == digit)[0]) for digit in (3, 5, 8)]
plane = tc.Slice.through(flat[chosen], inside=tc.Box(-0.5, 1.5))
regions = tc.enumerate_regions(network, plane)
classes = network(plane.embed(regions.witnesses)).argmax(axis=1)

figure, axes = plt.subplots(figsize=(6.5, 5.5), layout="constrained")
plotting.plot_regions(regions, axes, color="pattern", colorbar=False)
corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
plotting.plot_points(corners, axes)
for digit, corner in zip((3, 5, 8), corners, strict=True):
    label = {"color": "black", "fontsize": 15, "fontweight": "bold"}
    box = {"facecolor": "white", "edgecolor": "none", "boxstyle": "circle", "alpha": 0.8}
    axes.annotate(str(digit), corner, xytext=(9, 9), textcoords="offset points", bbox=box, **label)
seen = ", ".join(map(str, np.unique(classes)))
axes.set_title(f"{len(regions)} regions on a plane in R^{flat.shape[1]}; classes {seen}")
