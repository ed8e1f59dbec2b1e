"""
A sawtooth with 2^L pieces
==========================

Telgarsky's construction: composing the tent map with itself doubles its teeth, so L layers of
two neurons make 2^L linear pieces, for which a shallow network needs 2^L neurons.
"""

import matplotlib.pyplot as plt
import numpy as np

import tropicell as tc
from tropicell import plotting

tent, back = np.array([[2.0, -4.0]]), np.array([[1.0], [1.0]])


def sawtooth(layers: int) -> tc.Network:
    """The tent map 2·relu(x) - 4·relu(x - 1/2), composed with itself."""
    weights = [back, *[back @ tent] * (layers - 1), tent]
    return tc.Network.mlp(weights, [*[[0.0, -0.5]] * layers, [0.0]])


figure, panels = plt.subplots(1, 3, figsize=(10, 3), layout="constrained", sharey=True)
for axes, layers in zip(panels, (1, 3, 5), strict=True):
    regions = tc.enumerate_regions(sawtooth(layers), tc.Box(0, 1))
    plotting.plot_function(regions, axes)
    axes.set_title(f"{layers} layers: {len(regions)} pieces")

# %%
# Forty layers, 2^40 pieces: too many to list, but an interval of length 2^-30 has only some of
# them.

print(tc.count_regions(sawtooth(40), tc.Box(0.0, 2.0**-30)))
