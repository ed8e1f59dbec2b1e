"""Every linear region of a piecewise-linear neural network, exactly."""

from importlib.metadata import version as _version

from tropicell import plotting
from tropicell._runtime.interruption import time_limit
from tropicell._runtime.old_names import keep_old_names as _keep_old_names
from tropicell._runtime.old_names import module_of as __getattr__  # noqa: F401
from tropicell.analysis.comparison import Comparison, compare
from tropicell.analysis.data_regions import DataRegions, auroc, occupancy
from tropicell.analysis.tracking import RegionTracker
from tropicell.certificate.prover import Certificate
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
from tropicell.explorer import explore
from tropicell.importers.files import load, save
from tropicell.importers.onnx.importer import from_onnx
from tropicell.importers.sklearn import from_sklearn
from tropicell.importers.torch.importer import from_torch
from tropicell.network import families
from tropicell.network.domains import Box, Polytope, Slice, WholeSpace
from tropicell.network.layers import Affine, Layer
from tropicell.network.maps import AffineMap
from tropicell.network.network import Network
from tropicell.paper.algorithm1 import find_region
from tropicell.paper.recurrences import TropicalRationalMap, recurrences
from tropicell.predict.cached import CachedPredictor
from tropicell.predict.export.c import compile_to_c
from tropicell.predict.export.onnx import to_onnx
from tropicell.predict.locator import LastRegionPredictor, RegionLocator
from tropicell.regions.files import load_regions
from tropicell.regions.region import EmptyRegion, Region
from tropicell.regions.regions import Regions
from tropicell.regions.stored.stored_regions import StoredRegions
from tropicell.search.checkpoint import Checkpoint
from tropicell.search.enumeration import count_regions, enumerate_regions, iter_regions
from tropicell.search.estimate import Estimate, estimate_regions
from tropicell.search.folder import RegionFolder
from tropicell.search.many import count_many

__version__ = _version("tropicell")

_keep_old_names()

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
