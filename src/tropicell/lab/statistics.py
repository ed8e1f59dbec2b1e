"""The paper's statistics, and what is needed to judge them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidInputError

Tail = Literal["greater", "less"]

#: The paper's significance level.
LEVEL = 0.05

#: Decimals of the logarithm of a ratio: different ratios of counts below 10⁵ differ in these.
_DIGITS = 12


@dataclass(frozen=True)
class Summary:
    """A sample in a few numbers.

    Attributes
    ----------
    n : int
    mean : float
    deviation : float
        Standard deviation (with n - 1); nan for fewer than two values.
    """

    n: int
    mean: float
    deviation: float

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.deviation / float(np.sqrt(self.n))


def summary(values: ArrayLike) -> Summary:
    """Size, mean and standard deviation of a sample.

    Examples
    --------
    >>> s = summary([2.0, 4.0, 6.0])
    >>> s.n, s.mean, s.deviation, round(s.error, 4)
    (3, 4.0, 2.0, 1.1547)
    """
    sample = _sample(values)
    deviation = float(sample.std(ddof=1)) if len(sample) > 1 else float("nan")
    return Summary(len(sample), float(sample.mean()), deviation)


def standardised_difference(measured: Summary, published: float, n: int) -> float:
    """How many standard errors a measured mean is from a published one.

    The published mean has a sampling error too. Its sample is not known, only its size: its
    deviation is taken to be that of the measured sample.

    Parameters
    ----------
    measured : Summary
    published : float
        The published mean.
    n : int
        The number of values that it is a mean of.

    Returns
    -------
    float
        0 if both are equal; nan if there is no deviation to compare with.

    Examples
    --------
    >>> standardised_difference(Summary(50, 12.0, 5.0), 10.0, 50)
    2.0
    """
    if measured.mean == published:
        return 0.0
    error = measured.deviation * (1 / measured.n + 1 / n) ** 0.5
    return (measured.mean - published) / error if error > 0 else float("nan")


def ratio_of_means(a: Summary, b: Summary) -> tuple[float, float]:
    """The ratio of two means and its standard error (of first order).

    Examples
    --------
    >>> ratio_of_means(Summary(4, 3.0, 3.0), Summary(4, 2.0, 0.0))
    (1.5, 0.75)
    """
    ratio = a.mean / b.mean
    return ratio, ratio * float(np.hypot(a.error / a.mean, b.error / b.mean))


@dataclass(frozen=True)
class PairedEffect:
    """How paired positive numbers differ: a factor, its interval and a test.

    Attributes
    ----------
    n : int
        Pairs.
    factor, low, high : float
        Geometric mean of a / b, and the ends of its confidence interval.
    more : float
        Share of the pairs with a > b; ties count one half.
    p : float
        Of Wilcoxon's signed-rank test of log(a / b), two-sided; 1 if all pairs are ties.
    """

    n: int
    factor: float
    low: float
    high: float
    more: float
    p: float


def paired_effect(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95) -> PairedEffect:
    """Compare paired positive numbers, such as regions of the same weights with and without skips.

    Parameters
    ----------
    a, b : array_like
        Value i of both belongs to the same individual.
    confidence : float
        Of the interval, which is that of Student's t for the mean of log(a / b).

    Examples
    --------
    >>> effect = paired_effect([2, 4, 8, 16, 33], [1, 2, 4, 8, 16])
    >>> round(effect.factor, 2), effect.more, effect.p
    (2.01, 1.0, 0.0625)
    """
    first, second = _sample(a), _sample(b)
    if len(first) != len(second):
        raise InvalidInputError(f"expected pairs, got {len(first)} and {len(second)} values")
    if min(first.min(), second.min()) <= 0:
        raise InvalidInputError("a factor between numbers needs positive ones")
    logs = np.log(first) - np.log(second)
    logs = np.round(logs, _DIGITS)  # 3 : 2 and 2 : 3 are a tie for the test, whatever is rounded
    n, mean = len(logs), float(logs.mean())
    half = float("nan")
    if n > 1:
        error = float(logs.std(ddof=1)) / math.sqrt(n)
        half = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * error
    more = float((logs > 0).mean() + (logs == 0).mean() / 2)
    p = float(stats.wilcoxon(logs).pvalue) if logs.any() and n > 1 else 1.0
    low, high = (float(np.exp(mean + sign * half)) for sign in (-1, 1))
    return PairedEffect(n, float(np.exp(mean)), low, high, more, p)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number: reject those below a level, and it holds for all at once.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    scaled = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(scaled))
    return [float(value) for value in adjusted]


@dataclass(frozen=True)
class Interval:
    """A number and a confidence interval of it."""

    value: float
    low: float
    high: float


def spearman(a: ArrayLike, b: ArrayLike, rng: np.random.Generator, trials: int = 2000) -> Interval:
    """Spearman's rank correlation with a 95 % interval from resampled pairs.

    Parameters
    ----------
    a, b : array_like
        Pairs; at least three, else everything is nan.
    rng : Generator
    trials : int

    Examples
    --------
    >>> found = spearman([1, 2, 3, 4], [2, 4, 6, 9], np.random.default_rng(0))
    >>> round(found.value, 6)
    1.0
    """
    first, second = _sample(a), _sample(b)
    if len(first) != len(second):
        raise InvalidInputError(f"expected pairs, got {len(first)} and {len(second)} values")
    n = len(first)
    if n < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return Interval(*[float("nan")] * 3)
    chosen = rng.integers(n, size=(trials, n))
    ranks = [stats.rankdata(values[chosen], axis=1) for values in (first, second)]
    centred = [r - r.mean(axis=1, keepdims=True) for r in ranks]
    norms = np.sqrt((centred[0] ** 2).sum(axis=1) * (centred[1] ** 2).sum(axis=1))
    kept = norms > 0
    values = (centred[0] * centred[1]).sum(axis=1)[kept] / norms[kept]
    low, high = np.quantile(values, [0.025, 0.975])
    return Interval(float(stats.spearmanr(first, second).statistic), float(low), float(high))


def mean_difference(
    a: ArrayLike, b: ArrayLike, rng: np.random.Generator, trials: int = 2000
) -> Interval:
    """Mean of a less mean of b, with a 95 % interval from both samples, resampled.

    Examples
    --------
    >>> mean_difference([3.0, 3.0], [1.0, 1.0], np.random.default_rng(0))
    Interval(value=2.0, low=2.0, high=2.0)
    """
    first, second = _sample(a), _sample(b)
    drawn = [
        values[rng.integers(len(values), size=(trials, len(values)))].mean(axis=1)
        for values in (first, second)
    ]
    low, high = np.quantile(drawn[0] - drawn[1], [0.025, 0.975])
    return Interval(float(first.mean() - second.mean()), float(low), float(high))


def slope(x: ArrayLike, samples: Sequence[ArrayLike], rng: np.random.Generator) -> Interval:
    """Slope of the mean of samples against x by least squares, with a 95 % interval.

    Parameters
    ----------
    x : array_like
        One number for each sample, such as log depth.
    samples : sequence of array_like
        Such as logs of counts; each is resampled by itself for the interval.
    rng : Generator

    Examples
    --------
    >>> slope([0.0, 1.0, 2.0], [[1.0], [3.0], [5.0]], np.random.default_rng(0))
    Interval(value=2.0, low=2.0, high=2.0)
    """
    places = _sample(x)
    drawn = [_sample(values) for values in samples]
    away = places - places.mean()
    weights = away / (away**2).sum()
    value = float(sum(w * s.mean() for w, s in zip(weights, drawn, strict=True)))
    again = sum(
        w * s[rng.integers(len(s), size=(2000, len(s)))].mean(axis=1)
        for w, s in zip(weights, drawn, strict=True)
    )
    low, high = np.quantile(again, [0.025, 0.975])
    return Interval(value, float(low), float(high))


def chi_squared(differences: ArrayLike) -> tuple[float, float]:
    """All standardised differences together: the sum of their squares and its p-value.

    Examples
    --------
    >>> statistic, p = chi_squared([1.0, -1.0])
    >>> statistic, round(p, 4)
    (2.0, 0.3679)
    """
    z = _sample(differences)
    statistic = float((z**2).sum())
    return statistic, float(stats.chi2.sf(statistic, len(z)))


@dataclass(frozen=True)
class GammaFit:
    """A gamma distribution with a shift, fitted to a sample, and how well it fits.

    Attributes
    ----------
    shape, shift, scale : float
    statistic : float
        Of the Kolmogorov-Smirnov test.
    p : float
        Its p-value, as if the parameters had not been fitted to the same sample; this is what the
        paper gives. It is too large: a fit hugs its sample.
    """

    shape: float
    shift: float
    scale: float
    statistic: float
    p: float

    def density(self, x: ArrayLike) -> FloatArray:
        """The density at some points."""
        points = np.asarray(x, dtype=np.float64)
        density = stats.gamma.pdf(points, self.shape, loc=self.shift, scale=self.scale)
        return np.asarray(density, dtype=np.float64)


def gamma_fit(values: ArrayLike) -> GammaFit:
    """Fit a shifted gamma distribution by maximum likelihood and test it, as the paper does.

    Parameters
    ----------
    values : array_like
        At least three, not all equal; else everything is nan.

    Examples
    --------
    >>> fit = gamma_fit(np.random.default_rng(0).gamma(4.0, 10.0, size=2000) + 5)
    >>> round(fit.shape), fit.p > 0.05
    (4, True)
    """
    sample = _sample(values)
    if len(sample) < 3 or np.ptp(sample) == 0:
        return GammaFit(*[float("nan")] * 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of trial parameters out of range
        shape, shift, scale = (float(x) for x in stats.gamma.fit(sample))
        result = stats.kstest(sample, "gamma", args=(shape, shift, scale))
    return GammaFit(shape, shift, scale, float(result.statistic), float(result.pvalue))


#: Distributions that a sample of counts may follow: scipy's names.
_FAMILIES = {"gamma": "gamma", "lognormal": "lognorm", "Weibull": "weibull_min", "normal": "norm"}


def best_family(values: ArrayLike) -> str:
    """Which of a few distributions fits a sample best, by Akaike's criterion.

    Gamma, lognormal and Weibull distributions have a shift, so three parameters; the normal
    distribution has two.

    Examples
    --------
    >>> best_family(np.random.default_rng(0).normal(100.0, 5.0, size=300))
    'normal'
    """
    sample = _sample(values)
    scores = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of trial parameters out of range
        for name, family in _FAMILIES.items():
            distribution = getattr(stats, family)
            fitted = distribution.fit(sample)
            likelihood = float(distribution.logpdf(sample, *fitted).sum())
            scores[name] = 2 * len(fitted) - 2 * likelihood
    return min(scores, key=lambda name: scores[name] if math.isfinite(scores[name]) else math.inf)


def gamma_bootstrap(
    values: ArrayLike, fit: GammaFit, rng: np.random.Generator, trials: int
) -> float:
    """The p-value of a fitted gamma distribution, with the fitting taken into account.

    Samples are drawn from the fitted distribution, rounded like counts if the values are whole
    numbers, and fitted in turn. The p-value is the share of them, the sample itself included, that
    lie at least as far from their own fit as the sample lies from its fit.

    Parameters
    ----------
    values : array_like
    fit : GammaFit
        Of these values.
    rng : Generator
    trials : int

    Returns
    -------
    float
        nan if there is no fit.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = rng.gamma(4.0, 10.0, size=60)
    >>> gamma_bootstrap(values, gamma_fit(values), rng, 19) > 0.05
    True
    """
    sample = _sample(values)
    if not np.isfinite(fit.statistic):
        return float("nan")
    whole = bool((sample == np.round(sample)).all())
    beyond = 1
    for _ in range(trials):
        drawn = fit.shift + fit.scale * rng.gamma(fit.shape, size=len(sample))
        beyond += gamma_fit(np.round(drawn) if whole else drawn).statistic >= fit.statistic
    return beyond / (trials + 1)


@dataclass(frozen=True)
class RankTest:
    """A one-tailed Mann-Whitney U test.

    Attributes
    ----------
    u : float
        Pairs (a, b) in which a is the larger; ties count one half.
    p : float
        One-tailed.
    """

    u: float
    p: float

    @property
    def reject(self) -> bool:
        """Whether the null hypothesis is rejected at the paper's level."""
        return self.p < LEVEL


def mann_whitney(a: ArrayLike, b: ArrayLike, *, tail: Tail = "greater") -> RankTest:
    """Test whether a tends to be greater (or less) than b.

    Parameters
    ----------
    a, b : array_like
    tail : {"greater", "less"}

    Examples
    --------
    >>> mann_whitney([4, 5, 6], [1, 2, 3]).u
    9.0
    """
    if tail not in ("greater", "less"):
        raise InvalidInputError(f"tail must be 'greater' or 'less', not {tail!r}")
    result = stats.mannwhitneyu(_sample(a), _sample(b), alternative=tail)
    return RankTest(float(result.statistic), float(result.pvalue))


def p_of_u(u: float, n: int, m: int) -> float:
    """One-tailed p-value of a U statistic without ties, by the normal approximation.

    With it p-values in print can be checked against the U statistics beside them.

    Examples
    --------
    >>> round(p_of_u(1728.0, 50, 50), 6)
    0.000498
    """
    deviation = (n * m * (n + m + 1) / 12) ** 0.5
    return float(stats.norm.sf((abs(u - n * m / 2) - 0.5) / deviation))


def power(
    a: ArrayLike,
    b: ArrayLike,
    n: int,
    rng: np.random.Generator,
    *,
    tail: Tail = "greater",
    trials: int = 2000,
) -> Interval:
    """How often n + n values would reject the null hypothesis, resampled from larger samples.

    Parameters
    ----------
    a, b : array_like
        Large samples.
    n : int
        Values that each trial draws of both, with replacement.
    rng : Generator
    tail : {"greater", "less"}
    trials : int

    Returns
    -------
    Interval
        Between 0 and 1. Its interval, of 95 %, is that of the larger samples' own luck: what they
        would give if they were themselves resampled, twenty times.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> power(np.arange(100) + 200, np.arange(100), 50, rng)
    Interval(value=1.0, low=1.0, high=1.0)
    """
    first, second = _sample(a), _sample(b)
    value = _rejected(first, second, n, rng, tail, trials)
    fewer = max(100, trials // 5)
    again = []
    for _ in range(20):
        x, y = (rng.choice(sample, size=len(sample)) for sample in (first, second))
        again.append(_rejected(x, y, n, rng, tail, fewer))
    error = 1.96 * float(np.std(again, ddof=1))
    return Interval(value, max(0.0, value - error), min(1.0, value + error))


def _rejected(
    a: FloatArray, b: FloatArray, n: int, rng: np.random.Generator, tail: Tail, trials: int
) -> float:
    first, second = (rng.choice(values, size=(trials, n)) for values in (a, b))
    result = stats.mannwhitneyu(first, second, alternative=tail, axis=1, method="asymptotic")
    return float((result.pvalue < LEVEL).mean())


def _sample(values: ArrayLike) -> FloatArray:
    sample = np.asarray(values, dtype=np.float64).ravel()
    if not len(sample) or not np.isfinite(sample).all():
        raise InvalidInputError(
            f"statistics need finite numbers, got {len(sample)} with "
            f"{int((~np.isfinite(sample)).sum())} that are not"
        )
    return sample
