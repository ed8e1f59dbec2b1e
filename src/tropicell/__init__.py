"""Every linear region of a piecewise-linear neural network, exactly."""

from tropicell.domains import Box, Polytope, Slice, WholeSpace
from tropicell.enumeration import enumerate_regions
from tropicell.errors import (
    ImportMismatchError,
    InvalidDomainError,
    InvalidInputError,
    InvalidNetworkError,
    InvalidPatternError,
    MissingDependencyError,
    ModelFileError,
    ModelImportError,
    TropicellError,
    UnsupportedOperatorError,
)
from tropicell.layers import Affine, Layer
from tropicell.maps import AffineMap
from tropicell.network import Network
from tropicell.region import EmptyRegion, Region
from tropicell.regions import Regions
from tropicell.tropical import TropicalRationalMap, find_region, recurrences

__all__ = [
    "Affine",
    "AffineMap",
    "Box",
    "EmptyRegion",
    "ImportMismatchError",
    "InvalidDomainError",
    "InvalidInputError",
    "InvalidNetworkError",
    "InvalidPatternError",
    "Layer",
    "MissingDependencyError",
    "ModelFileError",
    "ModelImportError",
    "Network",
    "Polytope",
    "Region",
    "Regions",
    "Slice",
    "TropicalRationalMap",
    "TropicellError",
    "UnsupportedOperatorError",
    "WholeSpace",
    "enumerate_regions",
    "find_region",
    "recurrences",
]
