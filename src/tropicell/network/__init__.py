"""The one canonical form of a network, and the domains in which regions are looked for.

`network` and `layers` are the form itself, `activations` the piecewise-linear functions, `patterns`
and `maps` what a network is on one pattern, `domains` where regions are looked for, `flat` the form
that kernels read, `families` and `bounds` networks and numbers that are known. May import
`geometry`.
"""

from tropicell.network.network import Network

__all__ = ["Network"]
