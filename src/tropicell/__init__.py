"""Every linear region of a piecewise-linear neural network, exactly.

What this package offers is loaded when it is first used, so that importing it takes no time.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from tropicell._runtime.old_names import keep_old_names as _keep_old_names
from tropicell._runtime.old_names import module_of as _module_of

if _TYPE_CHECKING:  # the same as `_MODULES`, for tools that read code; a test compares them
    from tropicell import plotting
    from tropicell._runtime.interruption import time_limit
    from tropicell.analysis.around import regions_around
    from tropicell.analysis.attribution import IntegratedGradients, integrated_gradients
    from tropicell.analysis.boundary_certificate import BoundaryCertificate
    from tropicell.analysis.comparison import Comparison, compare
    from tropicell.analysis.complex import Complex
    from tropicell.analysis.data_regions import DataRegions, auroc, occupancy
    from tropicell.analysis.graph_statistics import (
        GraphStatistics,
        f_vectors,
        graph_statistics,
    )
    from tropicell.analysis.local_complexity import local_complexity
    from tropicell.analysis.meshes import PolygonMesh, surface_mesh
    from tropicell.analysis.nearest import NearestBoundary, nearest_boundary
    from tropicell.analysis.paths import Path, PathRegions
    from tropicell.analysis.robustness import Robustness, robustness
    from tropicell.analysis.topology import Homology, Persistence
    from tropicell.analysis.tracking import RegionTracker
    from tropicell.certificate.prover import Certificate
    from tropicell.errors import (
        CheckpointError,
        CheckpointWarning,
        DeviceWarning,
        FileWriteError,
        ImportMismatchError,
        IncompleteError,
        IncompleteWarning,
        InternalError,
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
    from tropicell.importers.keras import from_keras
    from tropicell.importers.onnx.importer import from_onnx
    from tropicell.importers.sklearn import from_sklearn
    from tropicell.importers.torch.importer import from_torch
    from tropicell.network import families
    from tropicell.network.domains import Ball, Box, Polytope, Slice, WholeSpace
    from tropicell.network.layers import Affine, Layer
    from tropicell.network.maps import AffineMap
    from tropicell.network.network import Network
    from tropicell.network.output_sets import (
        DecisionBoundary,
        DecisionRegion,
        Level,
        Sublevel,
        Superlevel,
    )
    from tropicell.paper.algorithm1 import find_region
    from tropicell.paper.expansion import TropicalNetwork
    from tropicell.paper.polynomials import TropicalPolynomial, TropicalRationalFunction
    from tropicell.paper.recurrences import TropicalRationalMap, recurrences
    from tropicell.playground.server import Player, play
    from tropicell.predict.cached import CachedPredictor
    from tropicell.predict.export.c import compile_to_c
    from tropicell.predict.export.control import PiecewiseAffine, piecewise_affine
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

    __version__: str

_keep_old_names()

#: Where the public names are; a module that is public itself stands for its own name.
_MODULES = {
    name: module
    for module, names in {
        "tropicell._runtime.interruption": "time_limit",
        "tropicell.analysis.around": "regions_around",
        "tropicell.analysis.attribution": "IntegratedGradients integrated_gradients",
        "tropicell.analysis.boundary_certificate": "BoundaryCertificate",
        "tropicell.analysis.comparison": "Comparison compare",
        "tropicell.analysis.complex": "Complex",
        "tropicell.analysis.data_regions": "DataRegions auroc occupancy",
        "tropicell.analysis.graph_statistics": "GraphStatistics f_vectors graph_statistics",
        "tropicell.analysis.local_complexity": "local_complexity",
        "tropicell.analysis.meshes": "PolygonMesh surface_mesh",
        "tropicell.analysis.nearest": "NearestBoundary nearest_boundary",
        "tropicell.analysis.paths": "Path PathRegions",
        "tropicell.analysis.robustness": "Robustness robustness",
        "tropicell.analysis.topology": "Homology Persistence",
        "tropicell.analysis.tracking": "RegionTracker",
        "tropicell.certificate.prover": "Certificate",
        "tropicell.errors": (
            "CheckpointError CheckpointWarning DeviceWarning "
            "FileWriteError ImportMismatchError IncompleteError IncompleteWarning InternalError "
            "InvalidDomainError InvalidInputError InvalidNetworkError "
            "InvalidPatternError MissingDependencyError ModelFileError "
            "ModelImportError TimeLimitError TropicellError "
            "UnsupportedOperatorError WeakComparisonWarning"
        ),
        "tropicell.explorer": "explore",
        "tropicell.importers.files": "load save",
        "tropicell.importers.keras": "from_keras",
        "tropicell.importers.onnx.importer": "from_onnx",
        "tropicell.importers.sklearn": "from_sklearn",
        "tropicell.importers.torch.importer": "from_torch",
        "tropicell.network.domains": "Ball Box Polytope Slice WholeSpace",
        "tropicell.network.families": "families",
        "tropicell.network.layers": "Affine Layer",
        "tropicell.network.maps": "AffineMap",
        "tropicell.network.network": "Network",
        "tropicell.network.output_sets": (
            "DecisionBoundary DecisionRegion Level Sublevel Superlevel"
        ),
        "tropicell.paper.algorithm1": "find_region",
        "tropicell.paper.expansion": "TropicalNetwork",
        "tropicell.paper.polynomials": "TropicalPolynomial TropicalRationalFunction",
        "tropicell.paper.recurrences": "TropicalRationalMap recurrences",
        "tropicell.playground.server": "Player play",
        "tropicell.plotting": "plotting",
        "tropicell.predict.cached": "CachedPredictor",
        "tropicell.predict.export.c": "compile_to_c",
        "tropicell.predict.export.control": "PiecewiseAffine piecewise_affine",
        "tropicell.predict.export.onnx": "to_onnx",
        "tropicell.predict.locator": "LastRegionPredictor RegionLocator",
        "tropicell.regions.files": "load_regions",
        "tropicell.regions.region": "EmptyRegion Region",
        "tropicell.regions.regions": "Regions",
        "tropicell.regions.stored.stored_regions": "StoredRegions",
        "tropicell.search.checkpoint": "Checkpoint",
        "tropicell.search.enumeration": "count_regions enumerate_regions iter_regions",
        "tropicell.search.estimate": "Estimate estimate_regions",
        "tropicell.search.folder": "RegionFolder",
        "tropicell.search.many": "count_many",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> _Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        value: _Any = version("tropicell")
    elif name in _MODULES:
        value = _importlib.import_module(_MODULES[name])
        if name not in ("families", "plotting"):
            value = getattr(value, name)
    else:
        return _module_of(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


__all__ = [
    "Affine",
    "AffineMap",
    "Ball",
    "BoundaryCertificate",
    "Box",
    "CachedPredictor",
    "Certificate",
    "Checkpoint",
    "CheckpointError",
    "CheckpointWarning",
    "Comparison",
    "Complex",
    "DataRegions",
    "DecisionBoundary",
    "DecisionRegion",
    "DeviceWarning",
    "EmptyRegion",
    "Estimate",
    "FileWriteError",
    "GraphStatistics",
    "Homology",
    "ImportMismatchError",
    "IncompleteError",
    "IncompleteWarning",
    "IntegratedGradients",
    "InternalError",
    "InvalidDomainError",
    "InvalidInputError",
    "InvalidNetworkError",
    "InvalidPatternError",
    "LastRegionPredictor",
    "Layer",
    "Level",
    "MissingDependencyError",
    "ModelFileError",
    "ModelImportError",
    "NearestBoundary",
    "Network",
    "Path",
    "PathRegions",
    "Persistence",
    "PiecewiseAffine",
    "Player",
    "PolygonMesh",
    "Polytope",
    "Region",
    "RegionFolder",
    "RegionLocator",
    "RegionTracker",
    "Regions",
    "Robustness",
    "Slice",
    "StoredRegions",
    "Sublevel",
    "Superlevel",
    "TimeLimitError",
    "TropicalNetwork",
    "TropicalPolynomial",
    "TropicalRationalFunction",
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
    "f_vectors",
    "families",
    "find_region",
    "from_keras",
    "from_onnx",
    "from_sklearn",
    "from_torch",
    "graph_statistics",
    "integrated_gradients",
    "iter_regions",
    "load",
    "load_regions",
    "local_complexity",
    "nearest_boundary",
    "occupancy",
    "piecewise_affine",
    "play",
    "plotting",
    "recurrences",
    "regions_around",
    "robustness",
    "save",
    "surface_mesh",
    "time_limit",
    "to_onnx",
]
