"""
The exact Lipschitz constant
============================

On a region the network is an affine map, so its slope there is a matrix norm, and the largest
of them is the Lipschitz constant on the domain. The product of the layers' norms, the usual
bound, is far above it.
"""

import itertools

import numpy as np

import tropicell as tc
from tropicell import plotting

rng = np.random.default_rng(5)
sizes = [2, 16, 16, 16, 1]
weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for m, n in itertools.pairwise(sizes)]
network = tc.Network.mlp(weights, [rng.normal(size=n) * 0.3 for n in sizes[1:]])
regions = tc.enumerate_regions(network, tc.Box(-2, 2))

constant, steepest = tc.measure.lipschitz(regions, "l2")
product = np.prod([np.linalg.norm(w, 2) for w in weights])
print(f"exact: {constant:.4f}, product of norms: {product:.4f}")

axes = plotting.plot_regions(regions, color="gradient", cmap="magma")
corners = regions[steepest].vertices.astype(float)
axes.plot(*np.vstack([corners, corners[:1]]).T, color="cyan", linewidth=2)
axes.set_title(f"steepest region: {constant:.3f}")
