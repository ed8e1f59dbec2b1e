"""Every linear region of a piecewise-linear neural network, exactly."""

from tropicell.domains import Box, Polytope, Slice, WholeSpace
from tropicell.importers.onnx import from_onnx
from tropicell.importers.sklearn import from_sklearn
from tropicell.importers.torch import from_torch
from tropicell.io import load, save
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
    "from_onnx",
    "from_sklearn",
    "from_torch",
    "load",
    "save",
]
