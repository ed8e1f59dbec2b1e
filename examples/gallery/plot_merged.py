"""
Patterns and merged regions
===========================

Two neighbouring patterns may carry one and the same affine map: a neuron switches between them, but
no later neuron uses its output there. Merged regions join such neighbours. The paper counts
patterns; both counts are one call away.
"""

import matplotlib.pyplot as plt
import numpy as np

import tropicell as tc
from tropicell import plotting

rng = np.random.default_rng(6)
last = rng.normal(size=(1, 8))
last[:, :4] = 0.0  # nobody listens to half of layer 2
network = tc.Network.mlp(
    [rng.normal(size=(8, 2)), rng.normal(size=(8, 8)), last],
    [rng.normal(size=8), rng.normal(size=8), [0.0]],
)
regions = tc.enumerate_regions(network, tc.Box(-3, 3))
merged = regions.merged()

figure, panels = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
plotting.plot_regions(regions, panels[0], color="pattern", colorbar=False)
panels[0].set_title(f"{len(regions)} regions")
plotting.plot_regions(regions, panels[1], color="value", edgecolor="none", colorbar=False)
for a, b in regions.neighbours.pairs:
    if merged.labels[a] != merged.labels[b]:
        shared = {tuple(p) for p in regions[int(a)].vertices} & {
            tuple(p) for p in regions[int(b)].vertices
        }
        panels[1].plot(*np.array(sorted(shared), dtype=float).T, color="white", linewidth=0.8)
panels[1].set_title(f"{len(merged)} merged regions")
