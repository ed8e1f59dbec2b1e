"""
The largest difference of a pruned network
==========================================

Prune the smallest weights of a network, and ask what that did. Comparing on random points gives
an estimate; on the common regions of both networks the difference is affine, so its largest
value is found exactly, with the point where it occurs.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

import tropicell as tc

rng = np.random.default_rng(1)
sizes = [2, 16, 16, 1]
weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for m, n in itertools.pairwise(sizes)]
biases = [rng.normal(size=n) * 0.3 for n in sizes[1:]]
network = tc.Network.mlp(weights, biases)
box = tc.Box(-2, 2)
points = rng.uniform(-2, 2, (2000, 2))

shares = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5]
exact, sampled, left = [], [], []
for share in shares:
    cut = np.quantile(np.abs(np.concatenate([w.ravel() for w in weights])), share)
    pruned = tc.Network.mlp([np.where(np.abs(w) < cut, 0, w) for w in weights], biases)
    exact.append(tc.compare(network, pruned, box).largest)
    sampled.append(np.abs(network(points) - pruned(points)).max())
    left.append(tc.count_regions(pruned, box))

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(shares, exact, marker="o", label="exact")
axes.plot(shares, sampled, marker="x", linestyle="--", label="largest of 2,000 random points")
axes.set(xlabel="share of weights set to zero", ylabel="largest difference on the box")
axes.legend(frameon=False)
for x, y, n in zip(shares, exact, left, strict=True):
    axes.annotate(f"{n} regions", (x, y), xytext=(6, -10), textcoords="offset points", fontsize=8)
axes.set(xlim=(0, 0.6), ylim=(-0.05, None))
