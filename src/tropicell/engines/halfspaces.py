"""The `halfspaces` engine: all regions in any dimension, from points, certificates and small LPs.

See `tropicell.engines._halfspaces_kernel` for the method and docs/halfspaces-proof.md for what is
proved. This module drives the kernel: buffers, budgets, batches, and exact decisions where
floats prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tropicell.arithmetic import ArithmeticName
from tropicell.columns import PackedPatterns
from tropicell.domains import Domain, resolve
from tropicell.engines import halfspaces_stack, unit_files
from tropicell.engines._column_kernels import copy_points
from tropicell.engines._halfspaces_program import build_program
from tropicell.engines._halfspaces_search import Search, Tolerance
from tropicell.engines.batch import Columns
from tropicell.engines.slab import Slab
from tropicell.engines.units import Arrays, Outcome, Unit
from tropicell.network import Network

#: An exact decision takes as long as so many regions.
_PRICE = 50


class HalfspaceTask:
    """The half-spaces engine on a network and a domain; see `tropicell.engines.units.Task`.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        Default: all of R^n.
    arithmetic : {"exact", "float"}
        "exact": the regions of the float64 weights taken as rationals, on every input.
        "float": decisions within `tolerance`.
    tolerance : Tolerance, optional
    store : bool
        False: count only.

    Examples
    --------
    >>> task = HalfspaceTask(Network.mlp([np.eye(6), np.ones((1, 6))]))
    >>> outcome = task.worker().run(task.root(), 1000, lambda: False)
    >>> outcome.count, outcome.left
    (64, [])
    """

    def __init__(
        self,
        network: Network,
        domain: Domain | None = None,
        arithmetic: ArithmeticName = "exact",
        *,
        tolerance: Tolerance | None = None,
        store: bool = True,
    ) -> None:
        self.network, inside = resolve(network, domain)
        self.program = build_program(self.network, inside)
        self.arithmetic = arithmetic
        self.tolerance = tolerance or Tolerance()
        self.store = store
        self.grain = 5 if store else 8
        self.bits = PackedPatterns.bits_for(self.network.pieces)

    def root(self) -> Unit:
        """The whole domain."""
        return Unit(0, {})

    def worker(self) -> HalfspaceWorker:
        """A worker with buffers of its own."""
        return HalfspaceWorker(self)

    def describe(self, unit: Unit) -> dict[str, Any]:
        """All of a unit but its arrays, as JSON."""
        return {"generation": unit.generation}

    def restored(self, described: dict[str, Any], stack: Arrays) -> Unit:
        """A unit from a file, checked."""
        if stack:
            unit_files.check_halfspaces(self.program, stack, store=self.store)
        return Unit(int(described["generation"]), stack)


class HalfspaceWorker:
    """Runs units of a `HalfspaceTask`."""

    def __init__(self, task: HalfspaceTask) -> None:
        self._task = task
        self._unproved = 0
        self._room = Slab()
        self._search = Search(
            task.network,
            task.program,
            arithmetic=task.arithmetic,
            tolerance=task.tolerance,
            store=task.store,
        )

    def stats(self) -> dict[str, Any]:
        """What all units have cost."""
        return self._search.stats() | {"unproved_witnesses": self._unproved}

    def run(self, unit: Unit, limit: int, stop: Callable[[], bool]) -> Outcome:
        """Search until `limit` regions are found, or all of the unit's."""
        search = self._search
        if unit.stack:
            halfspaces_stack.put(search, unit.stack)
        else:
            search.start()
        columns: list[Columns] = []
        decided = search.exact_decisions
        while not (search.complete or search.paused):
            if stop():
                self._take(columns)
                return Outcome(columns, search.count, None)
            search.advance(limit - _PRICE * (search.exact_decisions - decided))
            if search.is_full:
                self._take(columns)
        self._take(columns)
        left = [] if search.complete else halfspaces_stack.take(search, unit.generation + 1)
        return Outcome(columns, search.count, left)

    def _take(self, columns: list[Columns]) -> None:
        batch = self._search.batch()
        n, neurons, bits = len(batch.margins), self._task.network.n_neurons, self._task.bits
        if not n:
            return
        # A margin of 0: the witness is a rounded exact point, which may not be inside any more.
        self._unproved += n - int(np.count_nonzero(batch.margins))
        words = self._room.empty((n, max(1, -(-neurons * bits // 64))), np.uint64)
        witnesses = self._room.empty(batch.witnesses.shape, np.float64)
        eights = batch.patterns.view(np.uint64)
        copy_points(batch.patterns, eights, batch.witnesses, n, neurons, bits, words, witnesses)
        columns.append(Columns(PackedPatterns(words, neurons, bits), witnesses))
