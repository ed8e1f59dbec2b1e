"""
A network as a tropical fraction
================================

Every ReLU network is a difference F − G of two convex piecewise-linear functions, a tropical
rational function F ⊘ G. Dots mark where the pattern changes.
"""

import matplotlib.pyplot as plt
import numpy as np

import tropicell as tc

rng = np.random.default_rng(1)
network = tc.Network.mlp(
    [rng.normal(size=(8, 1)), rng.normal(size=(6, 8)) * 0.5, rng.normal(size=(1, 6))],
    [2 * rng.normal(size=8), rng.normal(size=6), [0.0]],
)
fraction = tc.TropicalRationalMap(network)
regions = tc.enumerate_regions(network, tc.Box(-4, 4))
ends = np.unique(regions.corners.values[:, :1], axis=0)
x = np.linspace(-4, 4, 400)[:, None]

figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
panels[0].plot(x, fraction.numerator(x), label="F")
panels[0].plot(x, fraction.denominator(x), label="G")
panels[0].legend(frameon=False)
panels[0].set_title("two convex functions")
panels[1].plot(x, network(x), color="C2")
panels[1].plot(ends, network(ends), "o", color="black", markersize=4)
panels[1].set_title(f"F − G, the network: {len(regions)} regions")
