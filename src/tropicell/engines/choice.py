"""Which engine ``engine="auto"`` stands for: the one that is likely to be faster on this task.

Up to four inputs that is `cells`, beyond ten `halfspaces`, and for networks with few regions a
rule decides: any choice is fast. In all other cases a short probe of each engine counts what a
region costs there (cells cut and corners, linear programs and pivots, exact decisions), and a model
of the price of each of these, fitted to measured times by ``python -m benchmarks.depth --fit``,
makes nanoseconds of them. Nothing depends on a clock: the same call gives the same engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tropicell._runtime.interruption import Halt, beside, using
from tropicell.engines.cells._state import N_CORNERS
from tropicell.engines.halfspaces.task import HalfspaceTask
from tropicell.engines.units import Outcome, Task, Unit, growth_of
from tropicell.errors import TimeLimitError
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.network.network import Network

#: The engines that are probed, the one whose probe costs less first.
PROBED = ("halfspaces", "cells")

#: Up to this many inputs cells have few corners; beyond so many they have too many of them.
FEW_INPUTS, MANY_INPUTS = 4, 10

#: A network that is expected to have no more regions is not worth a probe.
_FEW_REGIONS = 3_000.0

#: Up to so many inputs `cells` is good for networks in which many boundaries meet; and, of those
#: that are not worth a probe, for networks with so many layers.
_MANY_FOR_DEGENERATE, _DEEP = 8, 4

#: In nanoseconds: the `cells` engine never needs less for a region with so many inputs, so that
#: there is nothing to probe if `halfspaces` does.
_LEAST_FOR_CELLS = {5: 1_200.0, 6: 3_000.0, 7: 9_000.0, 8: 25_000.0}
_LEAST_BEYOND = 50_000.0

#: A probe begins at the root, and goes on with parts of what is left, at these places.
_PLACES = (0.618, 0.236, 0.854)

#: Exact decisions by Python after which a probe ends.
_MOST_DECISIONS = 2

#: Calls of a kernel after which a probe ends.
_MOST_LOOKS = 8

#: Nanoseconds for what a probe counts, by engine, arithmetic, and whether regions are stored. See
#: `features`; made by ``python -m benchmarks.depth --fit``.
COSTS: dict[tuple[str, str, bool], dict[str, float]] = {
    ("cells", "exact", False): {
        "cubes": 13.4,
        "cuts": 5230.0,
        "corners": 201.0,
        "pairs": 2.71,
        "tests": 0.27,
        "squares": 0.67,
        "start": 411000.0,
        "exact": 1000000.0,
    },
    ("cells", "exact", True): {
        "cubes": 16.6,
        "pairs": 2.77,
        "tests": 0.485,
        "squares": 10.7,
        "exact": 1000000.0,
    },
    ("cells", "float", False): {
        "cubes": 55.9,
        "cuts": 1180.0,
        "pairs": 1.35,
        "tests": 0.432,
        "squares": 0.0945,
        "start": 190000.0,
        "exact": 1000000.0,
    },
    ("cells", "float", True): {
        "cubes": 87.2,
        "cuts": 4320.0,
        "pairs": 0.48,
        "tests": 0.319,
        "exact": 1000000.0,
    },
    ("halfspaces", "exact", False): {
        "nodes": 2040.0,
        "programs": 0.598,
        "entries": 1.75,
        "exact": 1000000.0,
    },
    ("halfspaces", "exact", True): {
        "nodes": 3230.0,
        "pivots": 0.298,
        "programs": 0.328,
        "entries": 1.3,
        "exact": 1000000.0,
    },
    ("halfspaces", "float", False): {
        "nodes": 1760.0,
        "programs": 0.589,
        "entries": 1.13,
        "exact": 1000000.0,
    },
    ("halfspaces", "float", True): {
        "nodes": 3080.0,
        "pivots": 0.396,
        "entries": 0.743,
        "exact": 1000000.0,
    },
}

#: What an exact decision costs where none of the networks that prices are fitted to needs any.
EXACT_DECISION = 1e6


@dataclass(frozen=True)
class Choice:
    """An engine, and why it is the one.

    Attributes
    ----------
    engine, reason : str
    """

    engine: str
    reason: str


@dataclass(frozen=True)
class Probe:
    """What a probe has counted.

    Attributes
    ----------
    regions : int
        That were found.
    counters : mapping
        What the worker says of these, see `tropicell.engines.units.Worker.stats`.
    corners : float
        Corners of a cell that waits, on average (cells engine; else 0).
    sides : int
        Inequalities of the domain (half-spaces engine; else 0).
    start : int
        Exact decisions before the first region, which do not depend on how many regions there are.
    complete : bool
        Whether these are all regions.
    """

    regions: int
    counters: Mapping[str, float]
    corners: float
    sides: int
    start: int
    complete: bool


def by_shape(network: Network) -> Choice | None:
    """The choice where no probe is needed; None: a probe decides.

    Examples
    --------
    >>> by_shape(Network.mlp([np.eye(2), np.ones((1, 2))]))
    Choice(engine='cells', reason='up to 4 inputs cells have few corners')
    >>> by_shape(Network.mlp([np.eye(12), np.ones((1, 12))])).engine
    'halfspaces'
    """
    inputs = network.n_inputs
    if inputs <= FEW_INPUTS:
        return Choice("cells", f"up to {FEW_INPUTS} inputs cells have few corners")
    if inputs > MANY_INPUTS:
        return Choice("halfspaces", f"beyond {MANY_INPUTS} inputs cells have many corners")
    if inputs <= _MANY_FOR_DEGENERATE and not _has_biases(network):
        return Choice("cells", "without biases all boundaries meet in one point")
    return None if _expected(network) > _FEW_REGIONS else by_rule(network)


def by_rule(network: Network) -> Choice:
    """A rule of thumb, for small networks, or if there is no time."""
    inputs = network.n_inputs
    if inputs <= _MANY_FOR_DEGENERATE and network.depth >= _DEEP:
        return Choice("cells", f"a small network with {network.depth} layers")
    if inputs <= _MANY_FOR_DEGENERATE and _is_degenerate(network):
        return Choice("cells", "a small network in which many boundaries meet")
    return Choice("halfspaces", f"a small network with {inputs} inputs")


def _expected(network: Network) -> float:
    """About how many regions a network in general position has on all of R^n."""
    ends = np.cumsum(network.widths)[:-1]
    lines = [int((part - 1).sum()) for part in np.split(network.pieces, ends)]
    return float(growth_of([1, *lines], network.n_inputs)[0])


def _has_biases(network: Network) -> bool:
    """Whether a boundary may miss 0."""
    layers = range(1, network.depth + 1)
    breaks = (layer.activation.breakpoints for layer in network.layers)
    return any(np.any(network.affine(layer).bias) for layer in layers) or any(
        np.any(np.nan_to_num(found, posinf=0.0, neginf=0.0)) for found in breaks
    )


def _is_degenerate(network: Network) -> bool:
    """Whether it is plain from the weights that boundaries meet more often than by chance.

    Most weights occur again, as on a grid; or a neuron's row is a multiple of another one's.
    """
    weights = []
    for layer in range(1, network.depth + 1):
        affine = network.affine(layer)
        parts = [m.toarray() if sp.issparse(m) else np.asarray(m) for m in affine.terms.values()]
        rows = np.column_stack([*parts, affine.bias])
        weights.append(abs(rows[:, :-1]).ravel())
        rows = rows[np.any(rows[:, :-1], axis=1)]
        first = rows[np.arange(len(rows)), np.argmax(abs(rows), axis=1)]
        scaled = np.round(rows / first[:, None], 9)
        if len(np.unique(scaled, axis=0)) < len(rows):
            return True
    found = np.concatenate(weights)
    found = found[found > 0]
    return 2 * len(np.unique(found)) < len(found)


def by_probe(
    make: Callable[[str], Task],
    network: Network,
    arithmetic: ArithmeticName,
    halt: Halt,
    *,
    store: bool,
) -> Choice:
    """The engine that needs less for a region, as far as a probe of both can tell.

    Parameters
    ----------
    make : callable
        The task of an engine, by its name; one that only counts.
    network : Network
        With a number of inputs for which both engines work.
    arithmetic : {"exact", "float"}
    halt : Halt
    store : bool
        Whether regions are stored.

    Raises
    ------
    TimeLimitError
        If it is over.
    """
    costs = {}
    for engine in PROBED:
        with using(halt):
            probe = look(engine, make(engine), network.n_inputs, halt)
        costs[engine] = cost(engine, arithmetic, network, probe, store=store)
        least = _LEAST_FOR_CELLS.get(network.n_inputs, _LEAST_BEYOND)
        if engine == "halfspaces" and costs[engine] < least:
            spent = _text(costs[engine])
            return Choice(engine, f"a probe: {spent} a region, less than cells ever need")
    best, other = sorted(costs, key=lambda engine: costs[engine])
    return Choice(best, f"a probe: {_text(costs[best])} a region, {_text(costs[other])} by {other}")


def _text(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e3:.3g} µs"


def cost(engine: str, arithmetic: str, network: Network, probe: Probe, *, store: bool) -> float:
    """Nanoseconds for a region, by the model."""
    prices = COSTS[engine, arithmetic, store]
    found = features(engine, network, probe)
    return sum(prices.get(name, 0.0) * value for name, value in found.items())


def features(engine: str, network: Network, probe: Probe) -> dict[str, float]:
    """What a region costs, in things that take time.

    For `cells`: the corners of a cube, and their pairs (the last layer is counted without cuts);
    cuts, corners of cells that are cut, pairs of these; coordinates of corners that are tested;
    decisions at the start. For `halfspaces`: nodes; numbers that change when a layer is entered, by
    pivots, and by linear programs. For both: exact decisions.
    """
    counters, inputs, depth = probe.counters, network.n_inputs, network.depth
    regions = max(1, probe.regions)
    exact = counters["exact_decisions"] / regions
    if engine == "cells":
        cuts = counters["splits"] / regions
        return {
            "cubes": 2.0**inputs,
            "squares": 4.0**inputs,
            "cuts": cuts,
            "corners": cuts * probe.corners,
            "pairs": cuts * probe.corners**2,
            "tests": counters["tests"] * (inputs + 1) / regions,
            "start": probe.start / max(_expected(network), regions),
            "exact": exact,
        }
    size = (inputs + 1) * (inputs + probe.sides + network.n_neurons)
    nodes = counters["nodes"] / regions
    return {
        "nodes": nodes,
        "entries": nodes * (1 - 1 / max(1, depth)) * inputs * size,
        "pivots": counters["pivots"] * size / regions,
        "programs": counters["lps"] * size / regions,
        "exact": exact,
    }


def look(engine: str, task: Task, inputs: int, halt: Halt) -> Probe:
    """Probe a task: some regions in a few places, and what they have cost.

    Parameters
    ----------
    engine : str
    task : Task
        Of that engine.
    inputs : int
        The more, the fewer cells are looked at.
    halt : Halt

    Raises
    ------
    TimeLimitError
        If it is over.
    """
    worker = task.worker()
    root = task.root()
    first, limit = _LIMITS.get(inputs, _LIMITS_BEYOND)
    if engine == "halfspaces":
        first, limit = _LIMITS_HALFSPACES
    elif not root.cells[0].cone.pointed:
        first += 2**inputs  # such domains are first cut into cells with corners, exactly
    looks, begun = 0, 0

    def stop() -> bool:
        nonlocal looks
        looks += 1
        made = worker.stats()["exact_decisions"]
        if engine == "cells":  # its limit counts decisions, after each of which it asks
            return halt.is_over() or looks > _MOST_LOOKS + 3 * made
        return halt.is_over() or looks > _MOST_LOOKS or made - begun >= _MOST_DECISIONS

    def run(unit: Unit, most: int) -> Outcome:
        def work() -> Outcome:
            # As if it were young: what is left is cut into many parts.
            return worker.run(unit._replace(generation=0), most, stop)

        if not task.slow:
            with using(halt):
                outcome = work()
        else:
            outcome = beside(work, halt)
        if halt.is_over():
            raise TimeLimitError("the time is over")
        return outcome

    outcome = run(root, first)
    regions, seen = outcome.count, [outcome]
    units = outcome.left
    before: dict[str, Any] = {}
    if units:  # the way to the first regions is long, and not what others cost
        before, regions = worker.stats(), 0
        begun = before["exact_decisions"]
        for place in _PLACES:
            looks = 0
            at = int(place * len(units))
            outcome = run(units.pop(at), limit)
            regions += outcome.count
            seen.append(outcome)
            if outcome.left is None:
                units = None
                break
            units[at:at] = outcome.left
            if not units:
                break
    after = worker.stats()
    counters = {key: float(value - before.get(key, 0)) for key, value in after.items()}
    start = int(before.get("exact_decisions", 0))
    sides = len(task.flat.domain) if isinstance(task, HalfspaceTask) else 0
    return Probe(regions, counters, _corners(seen), sides, start, units == [])


#: Regions at the root and in every other place, by the number of inputs, for the cells engine; and
#: regions and pivots for the other.
_LIMITS = {5: (16, 64), 6: (8, 24), 7: (8, 16), 8: (4, 8)}
_LIMITS_BEYOND = (2, 4)
_LIMITS_HALFSPACES = (48, 256)


def _corners(outcomes: list[Outcome]) -> float:
    """Corners of the cells that wait, on average."""
    total, cells = 0, 0
    for outcome in outcomes:
        for unit in outcome.left or ():
            records = getattr(unit.nodes.arrays, "records", None) if unit.nodes else None
            if unit.nodes is not None and records is not None:
                part = records[unit.nodes.first : unit.nodes.last, N_CORNERS]
                total += int(part.sum())
                cells += len(part)
    return total / cells if cells else 0.0
