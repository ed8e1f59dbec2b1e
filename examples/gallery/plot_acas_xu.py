"""
Regions of an ACAS Xu network
=============================

ACAS Xu networks advise aircraft; they are a standard benchmark of verification: 5 inputs, 6
layers of 50 neurons, 5 outputs. If ``TROPICELL_MODELS`` names a folder with ``acasxu_1_1.onnx``
that network is shown, otherwise one of the same shape with random weights. We fix three inputs
and look at the plane of the two others (distance and angle).
"""

import itertools
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tropicell as tc
from tropicell import plotting

file = Path(os.environ.get("TROPICELL_MODELS", ".")) / "acasxu_1_1.onnx"
if file.is_file():
    network, name = tc.load(file), "ACAS Xu 1-1"
else:
    rng = np.random.default_rng(0)
    sizes = [5, *[50] * 6, 5]
    weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for m, n in itertools.pairwise(sizes)]
    network = tc.Network.mlp(weights, [rng.normal(size=n) * 0.1 for n in sizes[1:]])
    name = "the shape of ACAS Xu, random weights"
print(network)

plane = tc.Slice(np.zeros(5), np.eye(5)[:2], inside=tc.Box(-0.3, 0.3))
regions = tc.enumerate_regions(network, plane)
figure, axes = plt.subplots(figsize=(6.5, 5.5), layout="constrained")
plotting.plot_regions(regions, axes, color="value", edgecolor="none")
axes.set_title(f"{name}: {len(regions):,} regions on a plane")
