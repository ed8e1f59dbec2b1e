"""Which engine ``engine="auto"`` stands for: the one that is likely to be faster on this task.

Up to four inputs that is `cells` (but to count few regions in all of R^4, which it would first cut
into cells with corners), beyond ten `halfspaces`, in balls and for many inputs in boxes
`wide`, or `shadow` if the network sees few combinations of these, and for networks with few regions
a rule decides: a probe would take as long as they do. In all other cases a short probe of each
engine counts what a region costs there (cells cut and corners, linear programs and pivots,
decisions with more digits and exact ones), and a model of the price of each of these, fitted to
measured times by ``python -m benchmarks.depth --fit``, makes nanoseconds of them. Nothing depends
on a clock: the same call gives the same engine.

To store regions costs other things than to count them, so the choice may be another one. Where
boundaries meet more often than by chance, `halfspaces` finds the witnesses of many regions in
rationals; `cells` has witnesses from its corners, but proves in exact arithmetic where these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.interruption import Halt, beside, using
from tropicell.engines.cells._state import N_CORNERS
from tropicell.engines.halfspaces.task import HalfspaceTask
from tropicell.engines.units import Outcome, Task, Unit, growth_of
from tropicell.engines.wide.reduction import reduce_network
from tropicell.errors import TimeLimitError
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.network.domains import Ball, Box, Domain, WholeSpace
from tropicell.network.network import Network
from tropicell.network.shadow import shadow_of

#: The engines that are probed, the one whose probe costs less first; with few inputs the other way
#: round, since what it says is then often enough.
PROBED = ("halfspaces", "cells")

#: Up to this many inputs cells have few corners; beyond so many they have too many of them.
FEW_INPUTS, MANY_INPUTS = 4, 10

#: From so many inputs on, bounded boxes are for the engine that lets fixed neurons leave first.
#: With fewer inputs, if no larger part of the neurons is open.
_WIDE, _FEW_OPEN = 32, 0.25

#: Bounded boxes of which the network sees at most so many combinations of inputs, and no more than
#: half as many as there are inputs, are for the engine that searches among these; unless so few
#: neurons may change that it does not matter.
_MOST_IN_SHADOW, _FEW_FOR_SHADOWS = 16, 8

#: A network that is expected to have no more regions is not worth a probe.
_FEW_REGIONS = 50_000.0

#: Up to so many neurons and expected regions, all of R^4 is not worth its first cuts.
_FEW_NEURONS, _FEW_EVERYWHERE = 64, 1_000.0

#: Weights repeat if each occurs so often, on average; and are few if they do so often.
_REPEATED, _FEW_WEIGHTS = 2.0, 8.0

#: Up to so many inputs `cells` stores regions faster where boundaries meet: in float arithmetic; in
#: exact arithmetic without biases; and in exact arithmetic with some layers, so many at least.
_FLOAT_MEETS, _NO_BIASES, _LAYERS_MEET, _LAYERS = 7, 6, 5, 3

#: In nanoseconds, by arithmetic and whether regions are stored: where `halfspaces` needs less for a
#: region with so many inputs, `cells` never does, and there is nothing to probe.
_LEAST_FOR_CELLS: dict[tuple[str, bool], dict[int, float]] = {
    ("exact", False): {5: 600.0, 6: 7_000.0, 7: 15_000.0, 8: 50_000.0},
    ("exact", True): {5: 7_000.0, 6: 17_000.0, 7: 60_000.0, 8: 500_000.0},
    ("float", False): {5: 600.0, 6: 1_400.0, 7: 5_000.0, 8: 20_000.0},
    ("float", True): {5: 2_000.0, 6: 4_500.0, 7: 6_500.0, 8: 20_000.0},
}
_LEAST_BEYOND = 50_000.0

#: Nodes of `halfspaces` for a region, at least, by layers: where regions are many, and the last
#: layer is counted without nodes.
_LEAST_NODES = 0.25

#: Up to so many inputs corners are worked out by straight code.
_FEW_INPUTS = 5

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
        "few regions": 667.0,
        "few pairs": 0.407,
        "few tests": 0.42,
        "few proofs": 0.395,
        "many cubes": 21.4,
        "many squares": 0.279,
        "many cuts": 6130.0,
        "many corners": 57.7,
        "many pairs": 2.02,
        "many tests": 0.309,
        "start": 240000.0,
        "exact": 1000000.0,
    },
    ("cells", "exact", True): {
        "cubes": 407.0,
        "squares": 10.5,
        "pairs": 14.4,
        "tests": 0.139,
        "proofs": 6.37,
        "exact": 1000000.0,
    },
    ("cells", "float", False): {
        "few regions": 351.0,
        "few tests": 0.351,
        "few proofs": 0.754,
        "many squares": 0.13,
        "many cuts": 1450.0,
        "many corners": 7.72,
        "many tests": 0.335,
        "many searches": 12300000.0,
        "start": 162000.0,
        "exact": 1000000.0,
    },
    ("cells", "float", True): {
        "cubes": 53.6,
        "squares": 0.414,
        "cuts": 4260.0,
        "tests": 0.174,
        "proofs": 0.194,
        "start": 56800.0,
        "exact": 1000000.0,
    },
    ("halfspaces", "exact", False): {
        "regions": 234.0,
        "nodes": 880.0,
        "entries": 1.96,
        "programs": 0.132,
        "finer": 35900.0,
        "exact": 1000000.0,
    },
    ("halfspaces", "exact", True): {
        "regions": 592.0,
        "nodes": 1010.0,
        "entries": 1.81,
        "pivots": 0.137,
        "finer": 146000.0,
        "exact": 1000000.0,
    },
    ("halfspaces", "float", False): {
        "regions": 350.0,
        "nodes": 656.0,
        "entries": 1.34,
        "pivots": 0.129,
        "finer": 39200.0,
        "exact": 1000000.0,
    },
    ("halfspaces", "float", True): {
        "regions": 562.0,
        "nodes": 868.0,
        "entries": 1.36,
        "pivots": 0.218,
        "finer": 616000.0,
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


def by_shape(
    network: Network,
    domain: Domain | None = None,
    arithmetic: str = "exact",
    *,
    store: bool = False,
) -> Choice | None:
    """The choice where no probe is needed; None: a probe decides.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        As engines see it; default: all of R^n.
    arithmetic : {"exact", "float"}
    store : bool
        Whether regions are stored.

    Examples
    --------
    >>> by_shape(Network.mlp([np.eye(2), np.ones((1, 2))]))
    Choice(engine='cells', reason='up to 4 inputs cells have few corners')
    >>> by_shape(Network.mlp([np.eye(12), np.ones((1, 12))])).engine
    'halfspaces'
    """
    inputs = network.n_inputs
    if isinstance(domain, Ball):
        return Choice("wide", "the domain is a ball")
    box = domain if inputs > MANY_INPUTS and isinstance(domain, Box) else None
    reduced = None if box is None else reduce_network(network, box)
    if reduced is not None and len(reduced.neurons) > _FEW_FOR_SHADOWS:
        shadow = shadow_of(network, min(_MOST_IN_SHADOW, inputs // 2))
        if shadow is not None:
            return Choice("shadow", f"a box of which the network sees {shadow.dimension} numbers")
    if reduced is not None and inputs >= _WIDE:
        return Choice("wide", f"a bounded box with {_WIDE} inputs or more")
    if reduced is not None and len(reduced.neurons) <= _FEW_OPEN * network.n_neurons:
        return Choice("wide", "most neurons are fixed on the box")
    if inputs == FEW_INPUTS and not store and _is_small_everywhere(network, domain):
        return Choice("halfspaces", f"few regions in all of R^{inputs} are counted without corners")
    if inputs <= FEW_INPUTS:
        return Choice("cells", f"up to {FEW_INPUTS} inputs cells have few corners")
    if inputs > MANY_INPUTS:
        return Choice("halfspaces", f"beyond {MANY_INPUTS} inputs cells have many corners")
    rule = by_rule(network, arithmetic, store=store)
    if rule.engine == "cells" or _expected(network) <= _FEW_REGIONS:
        return rule
    if inputs == FEW_INPUTS + 1 and network.depth == 1 and isinstance(domain, Box) and not store:
        return Choice("cells", "one layer: regions are counted without cuts")
    return None


def _is_small_everywhere(network: Network, domain: Domain | None) -> bool:
    """Whether the domain is all of R^n, and few regions are expected there."""
    everywhere = domain is None or isinstance(domain, WholeSpace)
    few = network.n_neurons <= _FEW_NEURONS
    return everywhere and few and _expected(network) <= _FEW_EVERYWHERE


def by_rule(network: Network, arithmetic: str = "exact", *, store: bool = False) -> Choice:
    """A rule, for small networks, for those in which boundaries meet, or if there is no time."""
    inputs, exact = network.n_inputs, arithmetic == "exact"
    if not store:
        few = inputs <= FEW_INPUTS + 1 and not exact
        if few and (_repeats(network) > _FEW_WEIGHTS or not _has_biases(network)):
            return Choice("cells", "without biases, or with few weights, many boundaries meet")
        return Choice("halfspaces", f"a small network with {inputs} inputs")
    if inputs <= (_NO_BIASES if exact else _FLOAT_MEETS) and not _has_biases(network):
        return Choice("cells", "stored without biases: all boundaries meet in one point")
    deep = not exact or network.depth >= _LAYERS
    if inputs <= (_LAYERS_MEET if exact else _FLOAT_MEETS) and deep and _is_degenerate(network):
        return Choice("cells", "stored where many boundaries meet")
    return Choice("halfspaces", f"a small network with {inputs} inputs")


def _expected(network: Network) -> float:
    """About how many regions a network has on all of R^n, if boundaries meet by chance alone.

    Neurons with the same boundary count once.
    """
    ends = np.cumsum(network.widths)[:-1]
    lines = [int((part - 1).sum()) for part in np.split(network.pieces, ends)]
    twins = [len(rows) - len(np.unique(rows, axis=0)) for rows in _boundaries(network)]
    distinct = [line - twin for line, twin in zip(lines, twins, strict=True)]
    return float(growth_of([1, *distinct], network.n_inputs)[0])


def _boundaries(network: Network) -> Iterator[NDArray[np.float64]]:
    """The rows of each layer's neurons, up to factors; those of neurons that never change aside."""
    for layer in range(1, network.depth + 1):
        affine = network.affine(layer)
        parts = [m.toarray() if sp.issparse(m) else np.asarray(m) for m in affine.terms.values()]
        rows = np.column_stack([*parts, affine.bias])
        rows = rows[np.any(rows[:, :-1], axis=1)]
        first = rows[np.arange(len(rows)), np.argmax(abs(rows), axis=1)]
        yield np.round(rows / first[:, None], 9)


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
    twins = any(len(np.unique(rows, axis=0)) < len(rows) for rows in _boundaries(network))
    return twins or _repeats(network) > _REPEATED


def _repeats(network: Network) -> float:
    """How often a weight occurs, up to its sign, on average; without those that are 0."""
    parts = []
    for layer in range(1, network.depth + 1):
        for m in network.affine(layer).operators.values():
            parts.append(abs(np.asarray(m) if isinstance(m, np.ndarray) else m.data).ravel())
    found = np.concatenate([np.empty(0), *parts])
    found = found[found > 0]
    return len(found) / max(1, len(np.unique(found)))


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
    costs: dict[str, float] = {}
    least = _least_by_halfspaces(network, arithmetic, store=store)
    for engine in PROBED if network.n_inputs > _FEW_INPUTS else PROBED[::-1]:
        with using(halt):
            probe = look(engine, make(engine), network.n_inputs, halt)
        costs[engine] = cost(engine, arithmetic, network, probe, store=store)
        spent = _text(costs[engine])
        if engine == "cells":
            if costs[engine] <= least:
                return Choice(engine, f"a probe: {spent} a region, less than half-spaces ever need")
            continue
        lowest = _LEAST_FOR_CELLS[arithmetic, store].get(network.n_inputs, _LEAST_BEYOND)
        if costs[engine] < min(lowest, costs.get("cells", np.inf)):
            return Choice(engine, f"a probe: {spent} a region, less than cells ever need")
        if probe.complete:
            return Choice(engine, "a probe: it has found all regions")
    best, other = sorted(costs, key=lambda engine: costs[engine])
    return Choice(best, f"a probe: {_text(costs[best])} a region, {_text(costs[other])} by {other}")


def _least_by_halfspaces(network: Network, arithmetic: str, *, store: bool) -> float:
    """Nanoseconds that a region costs there at least, by the model: nodes, and nothing else."""
    none = dict.fromkeys(("exact_decisions", "pivots", "lps", "finer_decisions"), 0.0)
    probe = Probe(1, none | {"nodes": _LEAST_NODES * network.depth}, 0.0, 0, 0, False)
    return cost("halfspaces", arithmetic, network, probe, store=store)


def _text(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e3:.3g} µs"


def cost(engine: str, arithmetic: str, network: Network, probe: Probe, *, store: bool) -> float:
    """Nanoseconds for a region, by the model."""
    prices = COSTS[engine, arithmetic, store]
    found = features(engine, network, probe)
    return sum(prices.get(name, 0.0) * value for name, value in found.items())


def features(engine: str, network: Network, probe: Probe) -> dict[str, float]:
    """What a region costs, in things that take time.

    For `cells`: the region; the corners of a cube, and their pairs (the last layer is counted
    without cuts); cuts, corners of cells that are cut, pairs of these; coordinates of corners that
    are tested; corners of a cell, times those of a cube (what proves where they are); its share
    of what a search costs however few regions there are; all that also as it is with few inputs,
    and with many (else 0), since kernels differ; decisions at the start.
    For `halfspaces`: the region; nodes; numbers that change when a layer is entered, by pivots, and
    by linear programs; decisions with more digits. For both: exact decisions.
    """
    counters, inputs, depth = probe.counters, network.n_inputs, network.depth
    regions = max(1, probe.regions)
    exact = counters["exact_decisions"] / regions
    if engine == "cells":
        cuts = counters["splits"] / regions
        found = {
            "regions": 1.0,
            "cubes": 2.0**inputs,
            "squares": 4.0**inputs,
            "cuts": cuts,
            "corners": cuts * probe.corners,
            "pairs": cuts * probe.corners**2,
            "tests": counters["tests"] * (inputs + 1) / regions,
            "proofs": probe.corners * 2.0**inputs,
        }
        found["searches"] = 1.0 / max(_expected(network), regions)
        few = float(inputs <= _FEW_INPUTS)
        return {
            **found,
            **{f"few {name}": few * value for name, value in found.items()},
            **{f"many {name}": (1.0 - few) * value for name, value in found.items()},
            "start": probe.start / max(_expected(network), regions),
            "exact": exact,
        }
    size = (inputs + 1) * (inputs + probe.sides + network.n_neurons)
    nodes = counters["nodes"] / regions
    return {
        "regions": 1.0,
        "nodes": nodes,
        "entries": nodes * (1 - 1 / max(1, depth)) * inputs * size,
        "pivots": counters["pivots"] * size / regions,
        "programs": counters["lps"] * size / regions,
        "finer": counters["finer_decisions"] / regions,
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
