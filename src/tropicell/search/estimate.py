"""How many regions there are, roughly, before anybody looks for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter as clock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.interruption import Halt, beside, current, using
from tropicell.errors import InvalidInputError, TimeLimitError
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.importers.models import as_network
from tropicell.network.count_bounds import lower_bound, magnitude, upper_bound
from tropicell.network.domains import Domain, WholeSpace, resolve
from tropicell.network.network import Network
from tropicell.network.quotient import quotient_of

if TYPE_CHECKING:
    from tropicell.engines.units import Outcome, Task, Unit, Worker

#: Parts of the tree that a probe follows at a time, and regions that it finds in each of them
#: before it looks at what is left.
_POPULATION, _LIMIT = 64, 64

_FEWEST_PROBES = 4

#: With fewer probes there is no interval but what is certain.
_FEWEST_FOR_A_SPREAD = 2


@dataclass(frozen=True)
class Estimate:
    """About how many regions a network has.

    Attributes
    ----------
    count : int
        The estimate; the number itself if `exact`.
    low, high : int
        A confidence interval. `low` is never below what was found, and neither end is beyond the
        bounds.
    confidence : float
        The interval's confidence.
    exact : bool
        Whether all regions were found on the way.
    probes : int
        How many samples were taken of the tree.
    seconds : float
    lower_bound, upper_bound : int
        What is certain without a search; see `tropicell.network.count_bounds`.

    Examples
    --------
    >>> print(Estimate(1000, 900, 1100, 0.95, False, 8, 0.5, 4, 10**20))
    about 1,000 regions (95 % confidence: 900 to 1,100; certainly at most about 1.0·10^20)

    Without two probes nothing is known of their spread, and it says so:

    >>> print(Estimate(40, 40, 10**20, 0.95, False, 0, 0.5, 4, 10**20))
    at least 40 regions, certainly at most about 1.0·10^20 (probes in 0.5 s: 0, too few to estimate)
    """

    count: int
    low: int
    high: int
    confidence: float
    exact: bool
    probes: int
    seconds: float
    lower_bound: int
    upper_bound: int

    def __str__(self) -> str:
        if self.exact:
            return f"{self.count:,} regions, exactly"
        if self.probes < _FEWEST_FOR_A_SPREAD:
            return (
                f"at least {magnitude(self.low)} regions, certainly at most "
                f"{magnitude(self.upper_bound)} (probes in {self.seconds:.3g} s: {self.probes}, "
                "too few to estimate)"
            )
        return (
            f"about {magnitude(self.count)} regions ({100 * self.confidence:g} % confidence: "
            f"{magnitude(self.low)} to {magnitude(self.high)}; certainly at most "
            f"{magnitude(self.upper_bound)})"
        )


def estimate_regions(
    network: Network,
    domain: Domain | None = None,
    *,
    max_seconds: float = 2.0,
    probes: int = 64,
    confidence: float = 0.95,
    arithmetic: ArithmeticName = "exact",
    seed: int = 0,
) -> Estimate:
    """Estimate the number of regions by random probes of the tree of patterns.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        Default: all of R^n.
    max_seconds : float
        The time to spend, from when kernels are loaded. A probe that is at work then is broken
        off: what it found counts, but not as a sample.
    probes : int
        The most probes.
    confidence : float
        Of the interval, between 0 and 1.
    arithmetic : {"exact", "float"}
    seed : int
        The same seed and number of probes give the same estimate.

    Returns
    -------
    Estimate

    Notes
    -----
    A probe walks down the tree with up to 64 subtrees at a time. From each it takes the next
    regions and what is left of it, as smaller subtrees; if these are more than 64, a random sample
    of them goes on, each with its weight divided by its chance to be chosen. So the weighted number
    of regions found is right on average (Knuth's estimate with a population [1]_, [2]_). The spread
    of several probes gives the interval, by Student's t. Small trees are never sampled: then the
    count is exact.

    References
    ----------
    .. [1] D. E. Knuth, "Estimating the efficiency of backtrack programs", Mathematics of
       Computation 29, 1975.
    .. [2] R. Rubinstein, A. Ridder, R. Vaisman, "Fast Sequential Monte Carlo Methods for Counting
       and Optimization", Wiley, 2014 (stochastic enumeration).

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 1.0, 1.0]]],
    ...                       [[0.0, 0.0, -1.0], [0.0]])
    >>> print(estimate_regions(network))
    7 regions, exactly
    """
    from tropicell.engines import table as runs  # noqa: PLC0415 - Numba is slow to import

    network = as_network(network)
    if not 0 < confidence < 1:
        raise InvalidInputError(f"confidence must lie between 0 and 1, not {confidence}")
    if probes < _FEWEST_PROBES:
        raise InvalidInputError(f"probes must be at least {_FEWEST_PROBES}, not {probes}")
    if not max_seconds > 0:
        raise InvalidInputError(f"max_seconds must be positive, not {max_seconds}")
    quotient = quotient_of(*resolve(network, domain))
    inner, inside = quotient.network, quotient.domain
    least = lower_bound(inner) if isinstance(inside, WholeSpace) else 1
    most = upper_bound(inner)
    choice = runs.choose("auto", inner, inside, arithmetic)
    runs.load(None if choice is None else choice.engine, inner.n_inputs, store=False)
    started = clock()
    halt = Halt(max_seconds, current())
    samples: list[float] = []
    found = 0
    try:
        if choice is None:
            choice = runs.probe(inner, inside, arithmetic, halt, store=False)
        with using(halt):
            task = runs.task_of(choice.engine, inner, inside, arithmetic, store=False)
            walk = _Probe(task, halt)
        rng = np.random.default_rng(seed)
        while len(samples) < probes:
            total, complete = walk.probe(rng)
            found = max(found, walk.found)
            if complete:
                seconds = clock() - started
                return Estimate(found, found, found, confidence, True, 1, seconds, least, most)
            samples.append(total)
    except _LateError as late:
        found = max(found, late.found)
    except TimeLimitError:  # before the first probe
        pass
    floor = max(found, least)
    low, mean, high = _interval(np.array(samples), confidence)
    count, bottom, top = (int(min(max(x, floor), most)) for x in (mean, low, high))
    seconds = clock() - started
    return Estimate(count, bottom, top, confidence, False, len(samples), seconds, least, most)


class _LateError(Exception):
    """The time is over in the middle of a probe."""

    def __init__(self, found: int) -> None:
        self.found = found


class _Probe:
    """Walks down the tree of a task."""

    def __init__(self, task: Task, halt: Halt) -> None:
        self._task, self._halt = task, halt
        self._worker: Worker = task.worker()
        self.found = 0

    def probe(self, rng: np.random.Generator) -> tuple[float, bool]:
        """The weighted number of regions of one walk, and whether it `found` all."""
        units: list[Unit] = [self._task.root()]
        weights = np.ones(1)
        total, self.found, complete = 0.0, 0, True
        while units:
            children: list[Unit] = []
            heavy: list[float] = []
            for unit, weight in zip(units, weights.tolist(), strict=True):
                outcome = self._run(unit)
                total += weight * outcome.count
                self.found += outcome.count
                if outcome.left is None:
                    raise _LateError(self.found)
                children += outcome.left
                heavy += [weight] * len(outcome.left)
            units, weights = children, np.array(heavy)
            if len(units) > _POPULATION:
                complete = False
                chosen, weights = _sample(weights, rng)
                units = [units[i] for i in chosen]
        return total, complete

    def _run(self, unit: Unit) -> Outcome:
        def run() -> Outcome:
            # Always as if it were young: then what is left is cut into many parts.
            return self._worker.run(unit._replace(generation=0), _LIMIT, self._halt.is_over)

        if self._halt.is_over():
            raise _LateError(self.found)
        if self._task.slow:
            return beside(run, self._halt)
        with using(self._halt):
            return run()


def _sample(
    weights: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Some of the units, heavy ones more likely, and weights that make up for the others.

    Systematic: at equal steps along the sum of the weights, from a random start.
    """
    expected = _POPULATION * weights / weights.sum()
    places = np.arange(_POPULATION) + rng.random()
    index = np.minimum(np.searchsorted(np.cumsum(expected), places), len(weights) - 1)
    chosen, times = np.unique(index, return_counts=True)
    return chosen, weights[chosen] * times / expected[chosen]


def _interval(samples: NDArray[np.float64], confidence: float) -> tuple[float, float, float]:
    """Lower end, mean and upper end of Student's interval; anything may be if there are too few."""
    from scipy.special import stdtrit  # noqa: PLC0415 - scipy.stats would take a second to import

    if len(samples) < _FEWEST_FOR_A_SPREAD:
        return 0.0, float(samples.sum()), np.inf

    mean = float(samples.mean())
    error = float(samples.std(ddof=1)) / np.sqrt(len(samples))
    width = float(stdtrit(len(samples) - 1, (1 + confidence) / 2)) * error
    return mean - width, mean, mean + width
