"""The paper's statistics, and what is needed to judge them."""

from __future__ import annotations

import warnings
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


def paired_ratio(a: ArrayLike, b: ArrayLike) -> tuple[float, float]:
    """The ratio of the means of paired values and its standard error (of first order).

    Parameters
    ----------
    a, b : array_like
        Value i of both belongs to the same individual.

    Examples
    --------
    Values that are all in one ratio leave no doubt about it:

    >>> paired_ratio([2.0, 4.0, 8.0], [1.0, 2.0, 4.0])
    (2.0, 0.0)
    """
    first, second = _sample(a), _sample(b)
    if len(first) != len(second):
        raise InvalidInputError(f"expected pairs, got {len(first)} and {len(second)} values")
    ratio = float(first.mean() / second.mean())
    spread = summary(first - ratio * second)
    return ratio, spread.error / float(second.mean())


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
) -> float:
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
    float
        Between 0 and 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> power(np.arange(100) + 200, np.arange(100), 50, rng)
    1.0
    """
    first = rng.choice(_sample(a), size=(trials, n))
    second = rng.choice(_sample(b), size=(trials, n))
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
