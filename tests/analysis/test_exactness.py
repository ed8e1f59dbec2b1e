"""Small answers that rounding, names or sizes of numbers used to decide."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import cancelling_networks
from tropicell import Box, InvalidInputError, Network, Polytope, count_regions, enumerate_regions
from tropicell.analysis import measure
from tropicell.network import activations, families
from tropicell.network import count_bounds as bounds


@given(st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.5, -2.0, 1e16, 0.75]), min_size=2, max_size=3))
@settings(max_examples=30)
def test_cones_meet_in_their_apex_or_are_refused(apex: list[float]) -> None:
    try:
        known = families.cones(len(apex), 6, apex)
    except InvalidInputError:
        assert set(apex) & {0.1, 0.3, 1e16}
    else:
        assert count_regions(known.network) == known.count


def test_families_refuse_what_they_do_not_know() -> None:
    with pytest.raises(InvalidInputError, match=r"no room for hyperplanes .* \[0.1, 0.3\]"):
        families.cones(2, 7, [0.1, 0.3])  # 28 regions, not 14
    with pytest.raises(InvalidInputError, match="weights that float64 can't hold"):
        families.general_position(200, 100)
    for spacing in (0.0, np.inf, np.nan):
        with pytest.raises(InvalidInputError, match="spacing"):
            families.parallel(20, spacing=spacing)


def test_a_bound_is_not_taken_by_the_name_of_an_activation() -> None:
    steps = activations.piecewise([0, 1], [0, 1, 0], [0, 0, 1], name="relu")
    weights, biases = [[[1.0], [2.0]], [[1.0, 1.0]]], [[0.0, 0.5], [0.0]]
    network = Network.mlp(weights, biases, activation=steps)
    assert bounds.upper_bound(network) >= count_regions(network) == 5
    relu = activations.piecewise([0], [0, 1], [0, 0], name="rectifier")
    sizes = [np.ones((3, 2)), np.ones((3, 3)), np.ones((1, 3))]
    assert bounds.upper_bound(Network.mlp(sizes, activation=relu)) == 40


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.7, 1e16, -1e16, 1.0]), min_size=4, max_size=4))
def test_points_are_located_in_the_domain_without_rounding(numbers: list[float]) -> None:
    *normal, bound = numbers
    network = Network.mlp([np.eye(3), np.ones((1, 3))])
    regions = enumerate_regions(network, Polytope([normal], [bound]))
    point = np.ones((1, 3))
    inside = sum(map(Fraction, normal)) <= Fraction(bound)
    assert (regions.locate(point, arithmetic="exact")[0] >= 0) == inside


@pytest.mark.parametrize("inputs", [2, 5, 8])
@pytest.mark.parametrize("polytope", [False, True])
def test_corners_of_the_domain_belong_to_a_region(inputs: int, polytope: bool) -> None:
    """Boundaries at x_i = 1, where the box ends, and at x_1 = x_2: few directions lead inside."""
    step = np.zeros((1, inputs))
    step[0, :2] = 1.0, -1.0
    weights = [np.concatenate([np.eye(inputs), step, -step]), np.ones((1, inputs + 2))]
    biases = [np.append(-np.ones(inputs), [0.0, 0.0]), [0.0]]
    domain: Box | Polytope = Box(-1, 1)
    if polytope:
        domain = Polytope(*domain.inequalities(inputs))
    regions = enumerate_regions(Network.mlp(weights, biases), domain)
    assert len(regions) == 2
    for arithmetic in ("float", "exact"):
        found = regions.locate(np.ones((1, inputs)), arithmetic=arithmetic)  # type: ignore[arg-type]
        assert found[0] >= 0


@pytest.mark.parametrize("engine", ["traverse", "halfspaces", "cells"])
def test_rays_with_numbers_beyond_float64(engine: str) -> None:
    network = Network.mlp([[[1e-200, 1e200], [1e200, 1e-300]], [[1.0, 1.0]]])
    regions = enumerate_regions(network, engine=engine)  # type: ignore[arg-type]
    corners = regions.corners.values
    assert np.isfinite(corners).all()
    assert (np.abs(corners[corners[:, -1] == 0]).max(axis=1) > 0).all()
    found = measure.extrema(regions)
    assert (found.minimum[0], found.maximum[0]) == (0.0, np.inf)


@settings(max_examples=30)
@given(cancelling_networks(max_inputs=2), st.sampled_from(["l1", "l2", "linf"]))
def test_lipschitz_constants_under_cancellation(network: Network, norm: str) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    order = {"l1": 1, "l2": 2, "linf": np.inf}[norm]
    matrices = [region.affine_map.astype_float().matrix for region in regions]
    true = max(np.linalg.norm(matrix, ord=order) for matrix in matrices)
    constant, index = measure.lipschitz(regions, norm)  # type: ignore[arg-type]
    np.testing.assert_allclose(constant, true, rtol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(matrices[index], ord=order), true, rtol=1e-8)


def test_touching_outputs_are_drawn_once_both_ways() -> None:
    plotting = pytest.importorskip("tropicell.plotting")
    weights = [[[1.0, 0.0], [-1.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]]
    for outputs in ((0, 1), (1, 0)):
        ax = plotting.plot_decision_boundary(
            Network.mlp(weights), window=Box(-1, 1), outputs=outputs
        )
        (segment,) = ax.collections[0].get_segments()
        assert segment.tolist() == [[0.0, -1.0], [0.0, 1.0]]
