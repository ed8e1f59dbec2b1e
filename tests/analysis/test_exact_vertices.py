"""Vertices and outputs in integers, against rationals that are worked out one by one."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import cancelling_networks, domains, networks
from tropicell import Affine, Box, InvalidInputError, Layer, Network, Slice, enumerate_regions
from tropicell.analysis.complex import Complex
from tropicell.analysis.cut_functions import ExactRows
from tropicell.geometry.arithmetic import to_fractions
from tropicell.network.integer_maps import IntegerMaps


def slowly(complex_: Complex) -> list[list[object]]:
    rows = ExactRows(complex_)
    return [rows.vertex(i).tolist() for i in range(len(complex_.vertices))]


def check(complex_: Complex) -> None:
    expected = slowly(complex_)
    exact = complex_.exact_vertices()
    assert exact.tolist() == expected
    outputs = complex_.exact_outputs()
    whole, points = complex_.quotient.whole, complex_.quotient.lift(exact)
    assert outputs.tolist() == to_fractions(whole.maps("exact").at_points(points)[1]).tolist()
    some = np.arange(len(exact))[::-2]
    assert complex_.exact_vertices(some).tolist() == exact[some].tolist()
    assert complex_.exact_outputs(some).tolist() == outputs[some].tolist()


@settings(max_examples=40)
@given(st.data())
def test_vertices_and_outputs_are_those_of_rationals(data: st.DataObject) -> None:
    network = data.draw(st.one_of(networks(), cancelling_networks(skip=True)))
    complex_ = enumerate_regions(network, data.draw(domains(network.n_inputs))).complex()
    check(complex_)
    value = data.draw(st.sampled_from([0.0, 0.1, -1.0]))
    try:
        level = complex_.level_set(0, value)
        both = complex_.cut(0, value)
    except InvalidInputError:  # the output changes along directions that do not matter
        return
    check(level)
    check(both)
    assert all(row[0] == value for row in level.exact_outputs())


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_slices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=shape) for shape in ((5, 4), (4, 5), (2, 4))]
    network = Network.mlp(weights, [rng.normal(size=len(w)) for w in weights])
    plane = Slice(rng.normal(size=4), rng.normal(size=(2, 4)), inside=Box(-1, 1))
    check(enumerate_regions(network, plane).complex().decision_boundary(0, 1))


def test_sparse_matrices_go_the_slow_way() -> None:
    first = sp.csr_array(np.array([[3.0, 1.0], [0.0, -7.0]]))
    network = Network(2, [Layer(Affine({0: first}, [1.0, 0.1]))], Affine({1: np.ones((1, 2))}))
    dense = Network(
        2, [Layer(Affine({0: first.toarray()}, [1.0, 0.1]))], Affine({1: np.ones((1, 2))})
    )
    assert IntegerMaps.fits(dense)
    assert not IntegerMaps.fits(network)
    found = [enumerate_regions(n, Box(-1, 1)).complex().level_set(0, 0.5) for n in (network, dense)]
    assert found[0].exact_vertices().tolist() == found[1].exact_vertices().tolist()
    assert found[0].exact_outputs().tolist() == found[1].exact_outputs().tolist()
