"""Statistics against cases that were worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tropicell.errors import InvalidInputError
from tropicell.lab import statistics as st
from tropicell.lab.table1 import PUBLISHED


def test_mean_deviation_and_error_by_hand():
    # deviations -3, -1, 1, 3: squares 20, over 3
    found = st.summary([1, 3, 5, 7])
    assert (found.n, found.mean) == (4, 4.0)
    assert found.deviation == pytest.approx(math.sqrt(20 / 3))
    assert found.error == pytest.approx(math.sqrt(20 / 3) / 2)


def test_one_value_has_no_deviation():
    assert math.isnan(st.summary([3]).deviation)


def test_standardised_difference_counts_both_sampling_errors():
    # the error of the difference is 6 * sqrt(1/100 + 1/50) = 6 * sqrt(3)/10
    z = st.standardised_difference(st.Summary(100, 10.0, 6.0), 8.0, 50)
    assert z == pytest.approx(2 / (0.6 * math.sqrt(3)))
    assert st.standardised_difference(st.Summary(9, 5.0, 0.0), 5.0, 50) == 0.0
    assert math.isnan(st.standardised_difference(st.Summary(9, 5.0, 0.0), 6.0, 50))


def test_u_counts_pairs_and_ties_by_hand():
    # a = 3, 5, 5 against b = 1, 3, 4: 3 beats 1, ties 3; 5 and 5 beat all three: 1 + .5 + 3 + 3
    found = st.mann_whitney([3, 5, 5], [1, 3, 4])
    assert found.u == 7.5
    assert st.mann_whitney([1, 3, 4], [3, 5, 5]).u == 1.5


def test_exact_p_value_of_the_smallest_case():
    # of the 20 ways to choose 3 ranks of 6, one has the three largest
    assert st.mann_whitney([4, 5, 6], [1, 2, 3]).p == pytest.approx(1 / 20)
    assert st.mann_whitney([1, 2, 3], [4, 5, 6], tail="less").p == pytest.approx(1 / 20)


def test_rejection_is_below_the_level():
    assert not st.RankTest(9.0, 0.05).reject
    assert st.RankTest(9.0, 0.0499).reject


def test_unknown_tail_is_refused():
    with pytest.raises(InvalidInputError, match="two-sided"):
        st.mann_whitney([1], [2], tail="two-sided")  # type: ignore[arg-type]


def test_p_of_u_by_hand_and_against_scipy():
    # mean 1250, variance 50 * 50 * 101 / 12
    z = (1728 - 1250 - 0.5) / math.sqrt(2500 * 101 / 12)
    assert st.p_of_u(1728, 50, 50) == pytest.approx(0.5 * math.erfc(z / math.sqrt(2)))
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.4, 1, 50), rng.normal(0, 1, 50)
    whole = stats.mannwhitneyu(a, b, alternative="greater", method="asymptotic")
    assert st.p_of_u(whole.statistic, 50, 50) == pytest.approx(whole.pvalue)


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row.name)
def test_the_published_p_values_are_two_tailed(row):
    assert 2 * st.p_of_u(row.u, 50, 50) == pytest.approx(row.p, rel=0.06)


def test_ratio_of_means_by_hand():
    # relative errors 0.3/3 and 0.8/8 are both 1/10
    ratio, error = st.ratio_of_means(st.Summary(4, 3.0, 0.6), st.Summary(4, 8.0, 1.6))
    assert ratio == 0.375
    assert error == pytest.approx(0.375 * math.sqrt(0.02))


def test_chi_squared_with_two_degrees_is_an_exponential():
    statistic, p = st.chi_squared([3.0, 1.0])
    assert statistic == 10
    assert p == pytest.approx(math.exp(-5))


def test_gamma_fit_finds_the_distribution_and_rejects_another():
    rng = np.random.default_rng(1)
    good = st.gamma_fit(20 + rng.gamma(3.0, 15.0, size=3000))
    assert good.p > 0.05
    assert good.shape * good.scale + good.shift == pytest.approx(20 + 45, rel=0.02)
    bad = st.gamma_fit(np.concatenate([rng.normal(0, 1, 500), rng.normal(30, 1, 500)]))
    assert bad.p < 1e-6


def test_gamma_density_integrates_to_one():
    fit = st.GammaFit(2.0, 5.0, 3.0, 0.0, 1.0)
    x = np.linspace(5, 80, 20_001)
    assert np.trapezoid(fit.density(x), x) == pytest.approx(1, abs=1e-6)
    assert fit.density(5 + 3.0) == pytest.approx(math.exp(-1) / 3)  # x e^-x / scale at x = 1


def test_equal_counts_have_no_gamma_fit():
    assert math.isnan(st.gamma_fit([7, 7, 7, 7]).p)


def test_power_is_the_level_without_a_difference_and_grows_with_it():
    rng = np.random.default_rng(2)
    sample = rng.normal(size=2000)
    same = st.power(sample, sample, 50, rng, trials=4000)
    assert same.value == pytest.approx(0.05, abs=0.015)
    assert same.low <= same.value <= same.high
    # for a shift of half a deviation, Noether's formula gives about 0.79
    more = st.power(sample + 0.5, sample, 50, rng, trials=4000)
    assert more.value == pytest.approx(0.79, abs=0.04)
    assert st.power(sample + 0.5, sample, 50, rng, tail="less", trials=500).value < 0.01


@pytest.mark.parametrize("bad", [[], [1.0, math.nan], [math.inf]])
def test_what_is_no_sample_is_refused(bad):
    with pytest.raises(InvalidInputError, match="finite"):
        st.summary(bad)


def test_paired_effects_by_hand():
    a, b = np.array([2.0, 8.0, 4.0, 1.0]), np.array([1.0, 2.0, 4.0, 2.0])
    effect = st.paired_effect(a, b)
    logs = np.log([2, 4, 1, 0.5])
    assert effect.factor == pytest.approx(math.sqrt(2))
    half = stats.t.ppf(0.975, 3) * logs.std(ddof=1) / 2
    assert np.log([effect.low, effect.high]) == pytest.approx(logs.mean() + np.array([-half, half]))
    assert effect.more == 2.5 / 4
    assert st.paired_effect(a, a).p == 1.0
    with pytest.raises(InvalidInputError, match="pairs"):
        st.paired_effect([1.0], [1.0, 2.0])
    with pytest.raises(InvalidInputError, match="positive"):
        st.paired_effect([0.0], [1.0])


def test_intervals_of_paired_effects_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        b = rng.lognormal(size=30)
        effect = st.paired_effect(1.5 * b * rng.lognormal(sigma=0.4, size=30), b)
        held += effect.low < 1.5 < effect.high
    assert held / 400 == pytest.approx(0.95, abs=0.035)


def test_holm_by_hand():
    assert st.holm([0.01, 0.03, 0.02, 0.9]) == pytest.approx([0.04, 0.06, 0.06, 0.9])
    assert st.holm([0.6, 0.5]) == pytest.approx([1.0, 1.0])


def test_rank_correlations_have_intervals():
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    found = st.spearman(x, -x + 0.5 * rng.normal(size=80), rng)
    assert found.low < found.value < found.high < -0.6
    none = st.spearman(x, rng.normal(size=80), rng)
    assert none.low < 0 < none.high
    assert math.isnan(st.spearman([1, 1, 1], [1, 2, 3], rng).value)


def test_slopes_have_intervals():
    rng = np.random.default_rng(0)
    x = np.log([3.0, 4.0, 6.0, 10.0])
    samples = [2 * value + 0.3 * rng.normal(size=100) for value in x]
    found = st.slope(x, samples, rng)
    assert found.low < 2 < found.high
    assert found.high - found.low < 0.3


def test_the_bootstrap_takes_the_fitting_into_account():
    """The naive p-value of a fitted distribution is too large; that of the bootstrap is uniform."""
    rng = np.random.default_rng(1)
    naive, honest = [], []
    for _ in range(12):
        values = rng.gamma(3.0, 20.0, size=40)
        fit = st.gamma_fit(values)
        naive.append(fit.p)
        honest.append(st.gamma_bootstrap(values, fit, rng, 19))
    assert np.mean(naive) > 0.7
    assert 0.25 < np.mean(honest) < 0.75
    two = np.concatenate([rng.normal(10, 1, 60), rng.normal(90, 1, 60)])
    assert st.gamma_bootstrap(two, st.gamma_fit(two), rng, 19) == 0.05


def test_the_best_family_is_that_of_the_sample():
    rng = np.random.default_rng(0)
    assert st.best_family(rng.lognormal(sigma=1.0, size=800)) == "lognormal"
    assert st.best_family(rng.gamma(2.0, size=2000)) == "gamma"


def test_ties_of_ratios_are_ties():
    """3 : 2 and 2 : 3 are as far from 1 as each other, though their quotients round differently."""
    a, b = [3, 2, 7, 5, 9, 11, 4], [2, 3, 5, 7, 8, 10, 3]
    signs = [1, -1, 1, -1, 1, 1, 1]
    sizes = [1.5, 1.5, 1.4, 1.4, 1.125, 1.1, 4 / 3]
    ranks = stats.rankdata(sizes) * signs
    assert st.paired_effect(a, b).p == stats.wilcoxon(ranks).pvalue
