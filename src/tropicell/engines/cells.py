"""The cells engine: cut convex cells layer by layer, neuron by neuron, depth first.

Every cell is kept by its corners and rays, so bounded and unbounded regions are one case, and
vertices, volumes and facets come for free. Good for 1 to about 5 inputs: the number of
corners of a cell grows fast with the dimension.

In exact arithmetic, the kernels decide a sign only where a proved error bound allows it (see
docs/error-bound.md); cells with a sign in doubt are finished for one layer in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell.arithmetic import ArithmeticName
from tropicell.columns import PackedPatterns
from tropicell.domains import Domain, resolve
from tropicell.engines import unit_files
from tropicell.engines._cells_buffers import cone_seeds, plane_seeds, room_for
from tropicell.engines._cells_state import CellRoom, Seeds
from tropicell.engines._cells_units import CellOptions, cone_unit, plane_unit
from tropicell.engines._column_kernels import ColumnForm
from tropicell.engines._exact_cells import ExactCell, ExactCells
from tropicell.engines._jit import Entry
from tropicell.engines.blueprint import Blueprint
from tropicell.engines.cells_stack import CellLayout
from tropicell.engines.cells_worker import CellWorker
from tropicell.engines.program import Program, compile_program
from tropicell.engines.tame import is_tame
from tropicell.engines.units import Arrays, Unit, few_of, first_generation, growth_of, weight_of
from tropicell.network import Network

#: In the plane, time goes to the boundaries of a layer: a unit of networks so wide has the usual
#: limit.
_WIDTH = 1024


@dataclass(frozen=True)
class Tolerance:
    """What float arithmetic takes for zero.

    Attributes
    ----------
    relative : float
        A row r is taken to vanish at a corner v (in homogeneous, scaled coordinates) where
        ``|r · v| <= relative * |r|_1 * |v|_1``.
    """

    relative: float = 1e-12


class _Plan(NamedTuple):
    """What can be made of a network and a domain before a run, and used again by others."""

    program: Program
    exact: ExactCells
    root: ExactCell | None
    tame: bool
    bits: int
    growth: NDArray[np.float64]
    rooms: dict[tuple[bool, bool], Blueprint[CellRoom]]  # exact? are regions stored?


def _plan(network: Network, domain: Domain) -> _Plan:
    a, b = domain.inequalities(network.n_inputs)

    def make() -> _Plan:
        program = compile_program(network, domain)
        exact = ExactCells(network, domain, program)
        bits = PackedPatterns.bits_for(network.pieces)
        lines = np.diff(program.lines.line_start).tolist()
        growth = growth_of(lines, program.dimension)
        return _Plan(program, exact, exact.root(), is_tame(network, domain), bits, growth, {})

    plan: _Plan = network.remember(("cells", a.tobytes(), b.tobytes()), make)
    return plan


def _grain(program: Program, store: bool) -> int:
    """So that a unit takes some milliseconds: see `tropicell.engines.units.Task`."""
    if program.dimension == 2:
        return max(2, min(_WIDTH // max(program.width, 1), 8 if store else 16))
    return 5 if store else 8


class CellTask:
    """The cells engine on a network and a domain; see `tropicell.engines.units.Task`.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        Default: the whole space. Slices are resolved here.
    arithmetic : {"exact", "float"}
    tolerance : Tolerance, optional
        For float arithmetic.
    store : bool
        False: only count.
    volumes : bool, optional
        Whether to compute volumes; default: up to three dimensions. Otherwise those
        of bounded regions are ``nan``.

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
        tolerance: Tolerance | None = None,
        store: bool = True,
        volumes: bool | None = None,
    ) -> None:
        network, domain = resolve(network, domain)
        plan = _plan(network, domain)
        self.network = network
        self.program = plan.program
        self.exact_cells = plan.exact
        self.arithmetic = arithmetic
        self.tolerance = (tolerance or Tolerance()).relative
        self.store = store
        self.grain = _grain(plan.program, store)
        self.volumes = network.n_inputs <= 3 if volumes is None else volumes
        self.tame = arithmetic == "float" or plan.tame
        self.plane = network.n_inputs == 2
        self.bits = plan.bits
        self.layout = CellLayout(plan.program)
        self.few = few_of(self.grain)
        self.form = ColumnForm(
            neurons=plan.program.neurons,
            bits=plan.bits,
            dimension=plan.program.dimension,
            volumes=self.volumes,
        )
        self.kernel = Entry(plane_unit if self.plane else cone_unit)
        self.options = CellOptions(
            exact=arithmetic == "exact",
            tolerance=self.tolerance,
            store=store,
            form=self.form,
            few=self.few,
            growth=plan.growth,
        )
        self._plan = plan

    @property
    def room(self) -> Blueprint[CellRoom]:
        """What every worker needs for itself."""
        rooms, key = self._plan.rooms, (self.options.exact, self.store)
        if key not in rooms:
            rooms[key] = room_for(self.program, *key)
        return rooms[key]

    @cached_property
    def no_seeds(self) -> Seeds:
        """For kernels that begin with what is on the stack."""
        return self.seeds_of([])

    def seeds_of(self, cells: Sequence[ExactCell]) -> Seeds:
        """Cells for the kernels to begin with."""
        return (plane_seeds if self.plane else cone_seeds)(self.program, cells)

    def root(self) -> Unit:
        """The whole domain; nothing if it has no interior."""
        root = self._plan.root
        generation = first_generation(self._plan.growth[0], self.grain)
        return Unit(generation, {}, () if root is None else (root,))

    def worker(self) -> CellWorker:
        """A worker with buffers of its own."""
        return CellWorker(self)

    def describe(self, unit: Unit) -> dict[str, Any]:
        """All of a unit but its arrays, as JSON."""
        return {
            "generation": unit.generation,
            "doubtful": unit.doubtful,
            "weight": unit.weight,
            "cells": [unit_files.cell_to_json(cell) for cell in unit.cells],
        }

    def restored(self, described: dict[str, Any], stack: Arrays) -> Unit:
        """A unit from a file, checked."""
        if stack:
            unit_files.check_cells(self.program, self.network, stack)
        exact = self.exact_cells.copy()
        cells = tuple(
            unit_files.cell_from_json(data, self.program, self.network, exact)
            for data in described["cells"]
        )
        generation, doubtful = int(described["generation"]), bool(described["doubtful"])
        return Unit(generation, stack, cells, doubtful, weight_of(described))
