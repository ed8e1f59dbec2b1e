"""Modules under the names that they had before they moved into rooms: old programs still run.

``from tropicell.measure import volumes`` gives the function of `tropicell.analysis.measure`: it is
the same module under two names, and it is loaded only when somebody asks for it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

#: Where documented modules are now.
MOVED = {
    "tropicell.activations": "tropicell.network.activations",
    "tropicell.bounds": "tropicell.network.bounds",
    "tropicell.callbacks": "tropicell.analysis.callbacks",
    "tropicell.certificate_files": "tropicell.certificate.files",
    "tropicell.columns": "tropicell.regions.columns",
    "tropicell.comparison": "tropicell.analysis.comparison",
    "tropicell.convert": "tropicell.regions.convert",
    "tropicell.data_regions": "tropicell.analysis.data_regions",
    "tropicell.demo": "tropicell.cli.demo",
    "tropicell.domains": "tropicell.network.domains",
    "tropicell.enumeration": "tropicell.search.enumeration",
    "tropicell.estimate": "tropicell.search.estimate",
    "tropicell.families": "tropicell.network.families",
    "tropicell.fingerprint": "tropicell.network.fingerprint",
    "tropicell.graph": "tropicell.analysis.graph",
    "tropicell.inequalities": "tropicell.network.inequalities",
    "tropicell.io": "tropicell.importers.files",
    "tropicell.layers": "tropicell.network.layers",
    "tropicell.locator": "tropicell.predict.locator",
    "tropicell.maps": "tropicell.network.maps",
    "tropicell.measure": "tropicell.analysis.measure",
    "tropicell.patterns": "tropicell.network.patterns",
    "tropicell.predictor": "tropicell.predict.cached",
    "tropicell.region": "tropicell.regions.region",
    "tropicell.region_folder": "tropicell.search.folder",
    "tropicell.stored_regions": "tropicell.regions.stored.stored_regions",
    "tropicell.tracking": "tropicell.analysis.tracking",
    "tropicell.tropical": "tropicell.paper.recurrences",
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


class _OldNames(MetaPathFinder):
    """Finds modules by their old names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        new = MOVED.get(fullname)
        return None if new is None else ModuleSpec(fullname, _SameModule(new))


def keep_old_names() -> None:
    """Let modules be imported by their old names, too.

    Examples
    --------
    >>> import tropicell.measure
    >>> tropicell.measure.volumes.__module__
    'tropicell.analysis.measure'
    """
    if not any(isinstance(finder, _OldNames) for finder in sys.meta_path):
        sys.meta_path.append(_OldNames())


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
