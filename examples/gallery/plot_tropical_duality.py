"""
Cells and dual subdivisions of a network
========================================

A network is a fraction F ⊘ G of two tropical polynomials. Each of them cuts the plane into cells,
one for every monomial that is needed, and the exponents of the monomials subdivide a polygon, dual
to it: same colour and number, same monomial. On the right are the linear regions of the network
itself, on cells of both. The network is that of the paper's walkthrough.
"""

import tropicell as tc
from tropicell import plotting
from tropicell.paper.example import walkthrough

fraction = walkthrough().tropical().output[0]
plotting.plot_tropical(fraction, window=tc.Box([-0.1, -0.4], [1.2, 1.1]))
print(fraction)
print(fraction.region_numbers())
print("without what both share:", fraction.simplified())

# %%
# The same in space, for a network with three inputs. Cells are drawn a little smaller than they
# are.

network = tc.Network.mlp([[[1, 0, 0], [0, 1, 0], [1, 1, 2]], [[1, 1, -1]]], [[0, 0, -1], [0]])
plotting.plot_tropical(network.tropical(cancel=True).output[0], window=tc.Box(-2, 2))
