"""The cells engine: cut convex cells layer by layer, neuron by neuron, depth first.

Every cell is kept by its corners and rays, so bounded and unbounded regions are one case, and
vertices, areas and facets come for free. Good for 1 to about 5 inputs: the number of
corners of a cell grows fast with the dimension.

In exact arithmetic, the kernels decide a sign only where a proved error bound allows it (see
docs/error-bound.md); cells with a sign in doubt are finished for one layer in integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import Entry
from tropicell._runtime.memory import Blueprint
from tropicell.engines import tuning
from tropicell.engines.cells import saved
from tropicell.engines.cells._buffers import cone_seeds, plane_seeds, room_for
from tropicell.engines.cells._exact_cells import ExactCell, ExactCells
from tropicell.engines.cells._state import CellRoom, Seeds
from tropicell.engines.cells._units import CellOptions, cone_unit, focus_unit, plane_unit
from tropicell.engines.cells._where import nowhere
from tropicell.engines.cells.focus import FocusMaker
from tropicell.engines.cells.where import WantedSet
from tropicell.engines.cells.worker import CellWorker
from tropicell.engines.column_store import Place
from tropicell.engines.units import (
    Arrays,
    Nodes,
    Unit,
    first_generation,
    growth_of,
    weight_of,
)
from tropicell.errors import InvalidDomainError, InvalidInputError
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.network._residues import grains_of_terms
from tropicell.network.domains import Domain, resolve
from tropicell.network.flat import FlatNetwork, flatten, is_tame
from tropicell.network.network import Network
from tropicell.network.output_sets import OutputSet
from tropicell.regions.columns import PackedPatterns

#: With more inputs cells may have so many corners that cutting one takes long; and even more do
#: not fit into memory.
_MANY_INPUTS, _MOST_INPUTS = 5, 20


@dataclass(frozen=True)
class CellTolerance:
    """What float arithmetic takes for zero.

    Attributes
    ----------
    relative : float
        A row r is taken to vanish at a corner v (in homogeneous, scaled coordinates) where
        ``|r · v| <= relative * |r|_1 * |v|_1``.
    """

    relative: float = 1e-12


class _CellPlan(NamedTuple):
    """What can be made of a network and a domain before a run, and used again by others."""

    flat: FlatNetwork
    exact: ExactCells
    root: ExactCell | None
    tame: bool
    bits: int
    growth: NDArray[np.float64]
    focus: FocusMaker | None
    rooms: dict[tuple[bool, bool, int], Blueprint[CellRoom]]  # exact? stored? wanted functions
    seeds: dict[bool, Seeds]  # of the root, or of nothing: kernels only read them


def _plan(network: Network, domain: Domain, *, filters: bool) -> _CellPlan:
    a, b = domain.inequalities(network.n_inputs)

    def make() -> _CellPlan:
        flat = flatten(network, domain, filters=filters)
        exact = ExactCells(network, domain, flat)
        bits = PackedPatterns.bits_for(network.pieces)
        lines = np.diff(flat.lines.line_start).tolist()
        growth = growth_of(lines, flat.dimension)
        tame = is_tame(network, domain)
        focus = FocusMaker(network, flat) if tame and FocusMaker.pays(flat) else None
        return _CellPlan(flat, exact, exact.root(), tame, bits, growth, focus, {}, {})

    key = "cells", filters, a.tobytes(), b.tobytes()
    plan: _CellPlan = network.remember(key, make)
    return plan


def _grain(flat: FlatNetwork, store: bool, focused: bool) -> int:
    """So that a unit takes some milliseconds: see `tropicell.engines.units.Task`."""
    now, counted = tuning.current, not store
    if focused:
        return now.focus_grain
    if flat.dimension == 2:
        return max(2, min(now.plane_width // max(flat.width, 1), now.plane_grain[counted]))
    return now.cone_grain[counted]


class CellTask:
    """The cells engine on a network and a domain; see `tropicell.engines.units.Task`.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        Default: the whole space. Slices are resolved here.
    arithmetic : {"exact", "float"}
    tolerance : CellTolerance, optional
        For float arithmetic.
    store : bool
        False: only count.
    volumes : bool, optional
        Whether to compute volumes; default: up to three dimensions.
    where : OutputSet, optional
        The set that regions have to meet. In exact arithmetic only.

    Examples
    --------
    >>> task = CellTask(Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]]))
    >>> outcome = task.worker().run(task.root(), 100, lambda: False)
    >>> outcome.count, outcome.left
    (3, [])
    """

    def __init__(
        self,
        network: Network,
        domain: Domain | None = None,
        arithmetic: ArithmeticName = "exact",
        *,
        tolerance: CellTolerance | None = None,
        store: bool = True,
        volumes: bool | None = None,
        where: OutputSet | None = None,
    ) -> None:
        network, domain = resolve(network, domain)
        if network.n_inputs > _MOST_INPUTS:
            raise InvalidInputError(
                f"the engine 'cells' is for up to {_MOST_INPUTS} inputs, not {network.n_inputs}: "
                "what it needs doubles with each of them; use 'halfspaces'"
            )
        plan = _plan(network, domain, filters=where is None)
        self.network = network
        self.flat = plan.flat
        self.exact_cells = plan.exact
        self.arithmetic = arithmetic
        self.tolerance = (tolerance or CellTolerance()).relative
        self.where = None if where is None else WantedSet(network, plan.flat, where)
        self.handed_out, self.shared = store, False
        self.settle: Callable[[float], Place | None] | None = None
        # What is left out is not counted without being looked at.
        self.store = store = store or self.where is not None
        self.focus = None if self.where is not None else plan.focus
        self.grain = _grain(plan.flat, store, self.focus is not None)
        self.volumes = network.n_inputs <= 3 if volumes is None else volumes
        self.tame = arithmetic == "float" or plan.tame
        if self.where is not None:
            if arithmetic != "exact":
                raise InvalidInputError("where is decided in exact arithmetic only")
            self.tame &= self.where.is_tame
        self.plane = network.n_inputs == 2
        self.bits = plan.bits
        self.slow = network.n_inputs > _MANY_INPUTS
        focused = focus_unit if self.focus is not None else plane_unit
        self.kernel = Entry(focused if self.plane else cone_unit)
        self.options = CellOptions(
            exact=arithmetic == "exact",
            tolerance=self.tolerance,
            store=store,
            bits=plan.bits,
            volumes=self.volumes,
            few=tuning.current.few * self.grain,
            at_once=float(tuning.current.at_once),
            growth=plan.growth,
            where=nowhere() if self.where is None else self.where.arrays,
        )
        self._plan = plan

    @property
    def room(self) -> Blueprint[CellRoom]:
        """What every worker needs for itself."""
        functions = len(self.options.where.bias)
        rooms, key = self._plan.rooms, (self.options.exact, self.store, functions)
        if key not in rooms:
            exact, store = self.options.exact, self.store
            grains = self.network.remember_of_layers(
                ("grains", self.where is None), lambda: grains_of_terms(self.flat)
            )
            rooms[key] = room_for(
                self.flat, exact, store, self.bits, functions=functions, grains=grains
            )
        return rooms[key]

    @property
    def no_seeds(self) -> Seeds:
        """For kernels that begin with what is on the stack."""
        return self.seeds_of([])

    @cached_property
    def no_nodes(self) -> Nodes:
        """For kernels that begin with a seed, or go on."""
        return Nodes(saved.no_cells(self.flat), 0, 0)

    def seeds_of(self, cells: Sequence[ExactCell]) -> Seeds:
        """Cells for the kernels to begin with."""
        make, known = plane_seeds if self.plane else cone_seeds, self._plan.seeds
        is_root = len(cells) == 1 and cells[0] is self._plan.root
        if cells and not is_root:
            return make(self.flat, cells)
        if is_root not in known:
            known[is_root] = make(self.flat, cells)
        return known[is_root]

    def root(self) -> Unit:
        """The whole domain.

        Raises
        ------
        InvalidDomainError
            If it has no interior.
        """
        if self._plan.root is None:
            raise InvalidDomainError("the domain has no interior points")
        generation = first_generation(self._plan.growth[0], self.grain)
        if self.focus is not None:  # which takes longer than the first units
            generation = 2
        return Unit(generation, cells=(self._plan.root,))

    def worker(self) -> CellWorker:
        """A worker with buffers of its own."""
        return CellWorker(self)

    def describe(self, unit: Unit) -> tuple[dict[str, Any], Arrays]:
        """A unit as JSON and arrays."""
        described = {
            "generation": unit.generation,
            "doubtful": unit.doubtful,
            "weight": unit.weight,
            "cells": [saved.cell_to_json(cell) for cell in unit.cells],
        }
        nodes = unit.nodes
        return described, {} if nodes is None else saved.cell_arrays(self.flat, nodes)

    def restored(self, described: dict[str, Any], arrays: Arrays) -> Unit:
        """A unit from a file, checked."""
        nodes = saved.cell_nodes(self.flat, self.network, arrays) if arrays else None
        exact = self.exact_cells.copy()
        cells = tuple(
            saved.cell_from_json(data, self.flat, self.network, exact)
            for data in described["cells"]
        )
        generation, doubtful = int(described["generation"]), bool(described["doubtful"])
        return Unit(generation, nodes, cells, doubtful, weight_of(described))
