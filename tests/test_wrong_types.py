"""What is no network, no regions, no numbers is refused by name, by every public function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tropicell
from strategies import default_network
from tropicell import Box, enumerate_regions, measure, plotting
from tropicell.errors import TropicellError

#: Parameters that are networks or regions.
GIVEN = ("network", "networks", "regions", "a", "b")

#: What only holds what it is given, or is made by the package itself.
RECORDS = {"Polytope", "Region", "Regions", "TropicalRationalMap"}


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public functions, and classes with a constructor of their own, that take one of these."""
    for module in (tropicell, measure, plotting):
        for name, found in vars(module).items() if module is measure else _public(module):
            if name.startswith("_") or not callable(found) or name in RECORDS:
                continue
            if inspect.isclass(found) and (
                issubclass(found, BaseException | tuple) or hasattr(found, "__dataclass_fields__")
            ):
                continue
            if not (found.__module__ or "").startswith("tropicell"):
                continue
            if module is measure and found.__module__ != measure.__name__:
                continue
            if set(inspect.signature(found).parameters) & set(GIVEN):
                yield f"{module.__name__}.{name}", found


def _public(module: Any) -> list[tuple[str, Any]]:
    return [(name, getattr(module, name)) for name in module.__all__]


CASES = dict(functions())


def test_there_are_many() -> None:
    assert len(CASES) > 35
    assert {"tropicell.compare", "tropicell.RegionLocator"} <= set(CASES)


@pytest.mark.parametrize("given", [object(), 7])
@pytest.mark.parametrize("name", sorted(CASES))
def test_is_refused(name: str, given: object) -> None:
    function = CASES[name]
    parameters = inspect.signature(function).parameters.values()
    needed = [
        p
        for p in parameters
        if p.name in GIVEN or (p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD)
    ]
    arguments = {p.name: given if p.name in GIVEN else np.zeros(2) for p in needed}
    with pytest.raises(TropicellError):
        function(**arguments)


def test_a_file_will_do(tmp_path: Path) -> None:
    network = default_network([2, 3, 1], seed=0)
    regions = enumerate_regions(network, Box(-1, 1))
    models, found = str(tmp_path / "network.npz"), str(tmp_path / "regions.npz")
    tropicell.save(network, models)
    regions.save(found)
    assert tropicell.compare(models, network, Box(-1, 1)).largest == 0.0  # type: ignore[arg-type]
    assert measure.lipschitz(found) == measure.lipschitz(regions)  # type: ignore[arg-type]
    with pytest.raises(TropicellError, match="enumerate_regions"):
        tropicell.explore(network)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tropicell.Box("a", 1),
        lambda: tropicell.Box(None, object()),
        lambda: tropicell.Ball([0, 0], "wide"),
        lambda: tropicell.Ball(object(), 1),
        lambda: tropicell.Polytope(object(), [1]),
        lambda: tropicell.Slice([0, 0], [["a", "b"]]),
        lambda: tropicell.Slice.through("points"),
    ],
)
def test_domains_are_made_of_numbers(make: Callable[[], object]) -> None:
    with pytest.raises(tropicell.InvalidDomainError):
        make()
