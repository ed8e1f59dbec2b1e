"""Every linear region of a piecewise-linear neural network, exactly."""

from tropicell.domains import Box, Polytope, Slice, WholeSpace
from tropicell.layers import Affine, Layer
from tropicell.maps import AffineMap
from tropicell.network import Network

__all__ = [
    "Affine",
    "AffineMap",
    "Box",
    "Layer",
    "Network",
    "Polytope",
    "Slice",
    "WholeSpace",
]
