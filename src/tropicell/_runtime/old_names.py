"""Modules under the names that they had before they moved into rooms: old programs still run.

``from tropicell.measure import volumes`` gives the function of `tropicell.analysis.measure`: it is
the same module under two names, and it is loaded only when somebody asks for it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

#: Where modules are now that could be imported before, but for those that only the package used.
MOVED = {
    "tropicell.activations": "tropicell.network.activations",
    "tropicell.algorithm3": "tropicell.paper.algorithm3",
    "tropicell.archives": "tropicell._runtime.npz",
    "tropicell.arithmetic": "tropicell.geometry.arithmetic",
    "tropicell.bounds": "tropicell.network.count_bounds",
    "tropicell.cached_module": "tropicell.predict.cached_module",
    "tropicell.callbacks": "tropicell.analysis.callbacks",
    "tropicell.certificate_files": "tropicell.certificate.files",
    "tropicell.checkpoint": "tropicell.search.checkpoint",
    "tropicell.cluster": "tropicell.search.cluster",
    "tropicell.columns": "tropicell.regions.columns",
    "tropicell.comparison": "tropicell.analysis.comparison",
    "tropicell.convert": "tropicell.regions.convert",
    "tropicell.cut_tree": "tropicell.predict.cut_tree",
    "tropicell.data_regions": "tropicell.analysis.data_regions",
    "tropicell.demo": "tropicell.cli.demo",
    "tropicell.diagram": "tropicell.network.diagram",
    "tropicell.domains": "tropicell.network.domains",
    "tropicell.enumeration": "tropicell.search.enumeration",
    "tropicell.estimate": "tropicell.search.estimate",
    "tropicell.estimator": "tropicell.predict.cached",
    "tropicell.exact_columns": "tropicell.regions.exact_columns",
    "tropicell.export": "tropicell.predict.export",
    "tropicell.export.c": "tropicell.predict.export.c",
    "tropicell.export.onnx": "tropicell.predict.export.onnx",
    "tropicell.families": "tropicell.network.families",
    "tropicell.fingerprint": "tropicell.network.fingerprint",
    "tropicell.float_geometry": "tropicell.geometry.float_geometry",
    "tropicell.generators": "tropicell.geometry.generators",
    "tropicell.graph": "tropicell.analysis.graph",
    "tropicell.inequalities": "tropicell.network.inequalities",
    "tropicell.interruption": "tropicell._runtime.interruption",
    "tropicell.io": "tropicell.importers.files",
    "tropicell.last_region": "tropicell.predict.locator",
    "tropicell.layers": "tropicell.network.layers",
    "tropicell.layout": "tropicell.network.layout",
    "tropicell.lines": "tropicell.network.inequalities",
    "tropicell.locator": "tropicell.predict.locator",
    "tropicell.many": "tropicell.search.many",
    "tropicell.maps": "tropicell.network.maps",
    "tropicell.measure": "tropicell.analysis.measure",
    "tropicell.mlp": "tropicell.network.layers",
    "tropicell.output_maps": "tropicell.regions.output_maps",
    "tropicell.patterns": "tropicell.network.patterns",
    "tropicell.piecewise": "tropicell.network.activations",
    "tropicell.polyhedra": "tropicell.geometry.polyhedra",
    "tropicell.predictor": "tropicell.predict.cached",
    "tropicell.predictor_files": "tropicell.predict.cached",
    "tropicell.progress": "tropicell._runtime.progress",
    "tropicell.region": "tropicell.regions.region",
    "tropicell.region_cache": "tropicell.predict.cache",
    "tropicell.region_files": "tropicell.regions.files",
    "tropicell.region_folder": "tropicell.search.folder",
    "tropicell.region_rows": "tropicell.regions.stored.stored_regions",
    "tropicell.stored_regions": "tropicell.regions.stored.stored_regions",
    "tropicell.tracking": "tropicell.analysis.tracking",
    "tropicell.tropical": "tropicell.paper",
}


class _SameModule(Loader):
    """Loads a module by its new name, and leaves it as it is."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has set that of the old name

    def get_code(self, _: str) -> CodeType | None:
        """For ``python -m`` with an old name."""
        spec = importlib.util.find_spec(self._name)
        assert spec is not None
        assert isinstance(spec.loader, InspectLoader)
        return spec.loader.get_code(self._name)


class _OldNames(MetaPathFinder):
    """Finds modules by their old names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        new = MOVED.get(fullname)
        if new is None or (found := importlib.util.find_spec(new)) is None:
            return None
        return ModuleSpec(fullname, _SameModule(new), origin=found.origin)


def keep_old_names() -> None:
    """Let modules be imported by their old names, too.

    Examples
    --------
    >>> import tropicell.measure
    >>> tropicell.measure.volumes.__module__
    'tropicell.analysis.measure'
    """
    if not any(isinstance(finder, _OldNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, _OldNames())  # before those that look into folders


def module_of(name: str) -> ModuleType:
    """A module as an attribute of the package, by its old name: ``tropicell.measure``.

    Raises
    ------
    AttributeError
        If there was none of that name.

    Examples
    --------
    >>> module_of("measure").__name__
    'tropicell.analysis.measure'
    """
    new = MOVED.get(f"tropicell.{name}")
    if new is None:
        raise AttributeError(f"module 'tropicell' has no attribute {name!r}")
    return importlib.import_module(new)
