"""Every linear region of a piecewise-linear neural network, exactly."""

from importlib.metadata import version as _version

from tropicell import families, plotting
from tropicell.certificate import Certificate
from tropicell.checkpoint import Checkpoint
from tropicell.comparison import Comparison, compare
from tropicell.data_regions import DataRegions, auroc, occupancy
from tropicell.domains import Box, Polytope, Slice, WholeSpace
from tropicell.enumeration import count_regions, enumerate_regions, iter_regions
from tropicell.errors import (
    CheckpointError,
    CheckpointWarning,
    DeviceWarning,
    FileWriteError,
    ImportMismatchError,
    IncompleteError,
    InvalidDomainError,
    InvalidInputError,
    InvalidNetworkError,
    InvalidPatternError,
    MissingDependencyError,
    ModelFileError,
    ModelImportError,
    TimeLimitError,
    TropicellError,
    UnsupportedOperatorError,
    WeakComparisonWarning,
)
from tropicell.estimate import Estimate, estimate_regions
from tropicell.explorer import explore
from tropicell.export.c import compile_to_c
from tropicell.export.onnx import to_onnx
from tropicell.importers.onnx import from_onnx
from tropicell.importers.sklearn import from_sklearn
from tropicell.importers.torch import from_torch
from tropicell.interruption import time_limit
from tropicell.io import load, save
from tropicell.last_region import LastRegionPredictor
from tropicell.layers import Affine, Layer
from tropicell.locator import RegionLocator
from tropicell.many import count_many
from tropicell.maps import AffineMap
from tropicell.network import Network
from tropicell.predictor import CachedPredictor
from tropicell.region import EmptyRegion, Region
from tropicell.region_files import load_regions
from tropicell.region_folder import RegionFolder
from tropicell.regions import Regions
from tropicell.stored_regions import StoredRegions
from tropicell.tracking import RegionTracker
from tropicell.tropical import TropicalRationalMap, find_region, recurrences

__version__ = _version("tropicell")

__all__ = [
    "Affine",
    "AffineMap",
    "Box",
    "CachedPredictor",
    "Certificate",
    "Checkpoint",
    "CheckpointError",
    "CheckpointWarning",
    "Comparison",
    "DataRegions",
    "DeviceWarning",
    "EmptyRegion",
    "Estimate",
    "FileWriteError",
    "ImportMismatchError",
    "IncompleteError",
    "InvalidDomainError",
    "InvalidInputError",
    "InvalidNetworkError",
    "InvalidPatternError",
    "LastRegionPredictor",
    "Layer",
    "MissingDependencyError",
    "ModelFileError",
    "ModelImportError",
    "Network",
    "Polytope",
    "Region",
    "RegionFolder",
    "RegionLocator",
    "RegionTracker",
    "Regions",
    "Slice",
    "StoredRegions",
    "TimeLimitError",
    "TropicalRationalMap",
    "TropicellError",
    "UnsupportedOperatorError",
    "WeakComparisonWarning",
    "WholeSpace",
    "auroc",
    "compare",
    "compile_to_c",
    "count_many",
    "count_regions",
    "enumerate_regions",
    "estimate_regions",
    "explore",
    "families",
    "find_region",
    "from_onnx",
    "from_sklearn",
    "from_torch",
    "iter_regions",
    "load",
    "load_regions",
    "occupancy",
    "plotting",
    "recurrences",
    "save",
    "time_limit",
    "to_onnx",
]
