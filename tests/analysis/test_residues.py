"""Maps modulo primes and maps with error bounds, against rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import cancelling_networks, networks
from tropicell import Affine, Box, Layer, Network, Slice, enumerate_regions
from tropicell.analysis import growth, residues
from tropicell.analysis.map_bounds import bounded_maps, largest_errors, output_bounds
from tropicell.geometry.polyhedra import grows

both = st.one_of(networks(), cancelling_networks(skip=True))


def exact_maps(network: Network, patterns: np.ndarray) -> list[np.ndarray]:
    found = [network.affine_map(pattern) for pattern in patterns]
    return [np.column_stack([affine.matrix, affine.offset]) for affine in found]


@settings(max_examples=25)
@given(both)
def test_residues_are_equal_where_maps_are(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    maps = exact_maps(network, regions.patterns)
    values = residues.fingerprints(network, regions.packed)
    several = list(residues.residues(network, regions.packed))
    for i, j in combinations(range(len(regions)), 2):
        same = (maps[i] == maps[j]).all(axis=1)
        assert ((values[i] == values[j]) >= same).all()
        for output in range(network.n_outputs):
            proved = all((found[i, output] == found[j, output]).all() for found in several)
            assert proved == same[output]
    prime = next(residues._primes(network))
    for found, exact in zip(several[0], maps, strict=True):
        expected = [q.numerator * pow(q.denominator, -1, prime) % prime for q in exact.ravel()]
        assert found.ravel().tolist() == expected


@settings(max_examples=30)
@given(both)
def test_all_coefficients_have_the_size_that_primes_are_counted_for(network: Network) -> None:
    top, low = residues._size(network)
    for pattern in enumerate_regions(network, Box(-1, 1)).patterns:
        for q in exact_maps(network, pattern[None])[0].ravel():
            assert abs(q) <= Fraction(2) ** top
            assert (q / Fraction(2) ** low).denominator == 1


def test_slices_and_sparse_layers_have_residues() -> None:
    rng = np.random.default_rng(0)
    first = sp.csr_array(rng.normal(size=(5, 4)) * (rng.random((5, 4)) < 0.5))
    network = Network(4, [Layer(Affine({0: first}))], Affine({1: rng.normal(size=(1, 5))}))
    plane = Slice(rng.normal(size=4), rng.normal(size=(2, 4)), Box(-1, 1))
    regions = enumerate_regions(network, plane)
    several = list(residues.residues(regions.network, regions.packed))
    maps = exact_maps(regions.network, regions.patterns)
    prime = next(residues._primes(regions.network))
    for found, exact in zip(several[0], maps, strict=True):
        expected = [q.numerator * pow(q.denominator, -1, prime) % prime for q in exact.ravel()]
        assert found.ravel().tolist() == expected


@given(networks())
def test_bounds_on_errors_hold(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    largest = largest_errors(network)
    outputs = output_bounds(network, regions.packed)
    computed = regions.affine_maps
    for i, exact in enumerate(exact_maps(network, regions.patterns)):
        for o, row in enumerate(exact):
            for found, slopes, offset in (
                (
                    [*outputs.slopes[i, :, o], outputs.offsets[i, o]],
                    outputs.slope_error[i, o],
                    outputs.offset_error[i, o],
                ),
                (computed[i, o], largest[0][o], largest[1][o]),
            ):
                errors = [abs(Fraction(x) - q) for x, q in zip(found, row, strict=True)]
                assert max(errors[:-1]) <= Fraction(slopes)
                assert errors[-1] <= Fraction(offset)


@settings(max_examples=20)
@given(networks(max_depth=2))
def test_rows_of_all_layers_have_bounds(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    layers = list(bounded_maps(network, regions.patterns))
    for i, region in enumerate(regions):
        rows = region.inequalities
        for a, source in zip(rows.A, rows.sources, strict=True):
            if source.layer:
                maps = layers[source.layer - 1]
                found = maps.slopes[i, :, source.neuron]
                sign = (
                    -1
                    if regions.patterns[i][region_neuron(network, source)] > source.breakpoint
                    else 1
                )
                errors = [abs(sign * Fraction(x) - q) for x, q in zip(found, a, strict=True)]
                assert max(errors) <= Fraction(maps.slope_error[i, source.neuron])


def region_neuron(network: Network, source: object) -> int:
    layer, neuron = source.layer, source.neuron  # type: ignore[attr-defined]
    return sum(network.widths[: layer - 1]) + neuron


def test_numbers_of_extraordinary_size_have_no_bounds() -> None:
    for weights in ([[[1e-200]], [[1.0]]], [[[1.0]], [[1e200]]]):
        assert np.isinf(largest_errors(Network.mlp(weights))).all()
        *_, maps = bounded_maps(Network.mlp(weights), np.ones((1, 1), np.uint8))
        assert np.isinf(maps.slope_error).all()


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 7))
def test_what_floats_prove_of_cones_is_true(seed: int, dimension: int, count: int) -> None:
    """Rows and slopes within the bounds, at random: wherever a bound is proved, there is one."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, size=(count, dimension)).astype(float)
    slope = rng.integers(-2, 3, size=dimension).astype(float)
    errors, error = rng.choice([0.0, 1e-12, 0.05], size=count), rng.choice([0.0, 1e-12, 0.05])
    if growth._has_bound(rows, errors, slope, error):
        for _ in range(5):
            true = rows + errors[:, None] * rng.uniform(-1, 1, size=rows.shape)
            other = slope + error * rng.uniform(-1, 1, size=dimension)
            integers = [(*(int(x * 2**60) for x in row), 0) for row in true]
            assert not grows(integers, tuple(int(x * 2**60) for x in other))


def test_floats_decide_nearly_all_cones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an output that is bounded, the exact method sees but a few regions."""
    asked: list[int] = []
    plain = growth.Growth.grows_on

    def counting(self: growth.Growth, index: int, output: int, sign: int) -> bool:
        asked.append(index)
        return plain(self, index, output, sign)

    monkeypatch.setattr(growth.Growth, "grows_on", counting)
    rng = np.random.default_rng(0)
    network = Network.mlp(
        [rng.normal(size=(30, 2)), -rng.random((1, 30))], [rng.normal(size=30), [1.0]]
    )
    regions = enumerate_regions(network)
    found = regions.corners
    unbounded = np.unique(found.owners()[found.values[:, -1] == 0])
    assert len(unbounded) == 60
    assert not growth.Growth(regions, unbounded).is_endless(0, 1)
    assert len(asked) == 0
