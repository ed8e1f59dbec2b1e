"""
A skip network against its plain twin
=====================================

The same weights, with the skip connections 1→3 and 2→4 and without them. The paper reports that
skips make more regions; whether they do depends on where you look: compare the box with all of
the plane.
"""

import matplotlib.pyplot as plt
import numpy as np

import tropicell as tc
from tropicell import plotting

rng = np.random.default_rng(3)
sizes = [2, 4, 4, 4, 4, 4, 1]
bounds = [1 / np.sqrt(n) for n in sizes[:-1]]  # the default initialisation of torch.nn.Linear
weights = [rng.uniform(-b, b, (m, n)) for b, n, m in zip(bounds, sizes, sizes[1:], strict=False)]
biases = [rng.uniform(-b, b, m) for b, m in zip(bounds, sizes[1:], strict=True)]
plain = tc.Network.mlp(weights, biases)
skip = tc.Network.mlp(weights, biases, skips=[(1, 3), (2, 4)])

figure, panels = plt.subplots(1, 2, figsize=(9, 4.3), layout="constrained")
for axes, network, name in zip(
    panels, (plain, skip), ("without skips", "with 1→3 and 2→4"), strict=True
):
    regions = tc.enumerate_regions(network, tc.Box(-10, 10))
    plotting.plot_regions(regions, axes, color="pattern")
    everywhere = tc.count_regions(network)
    axes.set_title(f"{name}: {len(regions)} regions in the box,\n{everywhere} in the plane")
