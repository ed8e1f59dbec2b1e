"""The oracle itself, against brute force on an independent exact library."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import brute_force, has_interior, polygon_area
from strategies import KINDS, domains, networks, random_network
from tropicell import Box, InvalidDomainError, Network, Polytope, Region, Regions
from tropicell import enumerate_regions as any_engine
from tropicell.network.domains import WholeSpace
from tropicell.paper.algorithm2 import traverse


def enumerate_regions(network: Network, domain: object = None, **options: object) -> Regions:
    return any_engine(network, domain, engine="traverse", **options)


def patterns_of(network: Network, domain: object = None) -> set[bytes]:
    found = [pattern.tobytes() for pattern, _ in traverse(network, domain)]
    assert len(found) == len(set(found))
    return set(found)


@given(st.data())
def test_same_regions_as_brute_force_over_all_patterns(data: st.DataObject) -> None:
    network = data.draw(networks(max_inputs=4, max_depth=3, max_width=2))
    domain = data.draw(domains(network.n_inputs))
    if np.prod(network.pieces) > 200:
        return
    assert patterns_of(network, domain) == brute_force(network, domain)


@pytest.mark.parametrize("kind", KINDS)
def test_same_regions_as_brute_force_on_relu_networks(kind: str) -> None:
    for seed in range(3):
        network = random_network(seed, kind, 2, 2, 4, relu=True)
        assert patterns_of(network) == brute_force(network, WholeSpace())


@given(networks(max_inputs=2))
def test_feasibility_agrees_with_z3_on_random_patterns(network: Network) -> None:
    rng = np.random.default_rng(0)
    known = patterns_of(network, Box(-2, 2))
    for _ in range(5):
        pattern = rng.integers(0, network.pieces, dtype=np.intp).astype(np.uint8)
        assert (pattern.tobytes() in known) == has_interior(Region(network, pattern, Box(-2, 2)))


@given(networks())
def test_sampled_patterns_are_among_the_regions(network: Network) -> None:
    points = np.random.default_rng(0).uniform(-1, 1, size=(300, network.n_inputs))
    sampled = {pattern.tobytes() for pattern in network.patterns(points, arithmetic="exact")}
    assert sampled <= patterns_of(network, Box(-1, 1))


@given(networks(), st.data())
def test_witnesses_are_strictly_inside(network: Network, data: st.DataObject) -> None:
    domain = data.draw(domains(network.n_inputs))
    regions = enumerate_regions(network, domain)
    exact = network.patterns(regions.witnesses, arithmetic="exact")
    assert (exact == regions.patterns).all()
    for region, witness in zip(regions, regions.witnesses, strict=True):
        rows = region.inequalities
        moving = np.array([row.any() for row in rows.A], dtype=bool)
        assert (rows.A[moving] @ witness < rows.b[moving]).all()


@settings(max_examples=30)
@given(networks(max_depth=3, max_width=4), st.integers(1, 5))
def test_regions_tile_the_box_exactly(network: Network, half_width: int) -> None:
    if network.n_inputs != 2:
        return
    regions = enumerate_regions(network, Box(-half_width, half_width))
    areas = [polygon_area(region.vertices) for region in regions]
    assert all(area > 0 for area in areas)
    assert sum(areas) == Fraction(2 * half_width) ** 2


@given(networks(max_depth=2))
def test_neighbours_share_facets_and_maps_agree_on_vertices(network: Network) -> None:
    """The network is continuous: all regions that share a vertex give it the same value."""
    values: dict[tuple, tuple] = {}
    for region in enumerate_regions(network, Box(-1, 1)):
        for vertex in region.vertices:
            value = tuple(region.affine_map(vertex))
            assert values.setdefault(tuple(vertex), value) == value


def test_general_position_gives_zaslavskys_number() -> None:
    """N lines in general position: 1 + n + n(n-1)/2 regions; in 3-D one term more."""
    rng = np.random.default_rng(0)
    for inputs, count in ((1, 7), (2, 22), (3, 42)):
        weight = rng.normal(size=(6, inputs))
        network = Network.mlp([weight, np.ones((1, 6))], [rng.normal(size=6), [0.0]])
        assert len(enumerate_regions(network)) == count


def test_zero_biases_give_cones() -> None:
    """N lines through one point: 2 n regions."""
    weight = np.random.default_rng(0).normal(size=(7, 2))
    assert len(enumerate_regions(Network.mlp([weight, np.ones((1, 7))]))) == 14


def test_duplicates_opposites_and_constants_add_no_regions() -> None:
    weight = [[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [3.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    network = Network.mlp([weight, np.ones((1, 6))], [[0, 0, 0, 0, 1, 0], [0]])
    assert enumerate_regions(network).texts() == ["001010", "110110"]


def test_facets_name_every_neuron_on_them() -> None:
    network = Network.mlp([[[1.0], [-2.0]], [[1.0, 1.0]]])
    region = enumerate_regions(network)[1]
    assert [(s.layer, s.neuron) for s in region.facets[0].sources] == [(1, 0), (1, 1)]


def test_sawtooth_doubles_with_every_layer() -> None:
    """Telgarsky: tent maps composed L times have 2^L pieces on [0, 1], and 2 outside."""
    hat = [[2.0, -4.0]]
    first = ([[1.0], [1.0]], [0.0, -0.5])
    for depth in (1, 2, 3, 4):
        layers = [first] + [([hat[0], hat[0]], [0.0, -0.5])] * (depth - 1)
        network = Network.mlp([*(w for w, _ in layers), hat], [*(b for _, b in layers), [0.0]])
        assert len(enumerate_regions(network, Box(0, 1))) == 2**depth


def test_domain_without_interior_is_refused() -> None:
    network = Network.mlp([[[1.0, 1.0]]])
    with pytest.raises(InvalidDomainError, match="no interior"):
        enumerate_regions(network, Polytope([[1, 0], [-1, 0]], [0, 0]))


def test_no_hidden_layer_is_one_region() -> None:
    regions = enumerate_regions(Network.mlp([[[1.0, 2.0]]]))
    assert len(regions) == 1
    assert len(regions[0].lineality) == 2
    with pytest.warns(DeprecationWarning, match="lineality"):
        assert np.array_equal(regions[0].lines, regions[0].lineality)
    assert not regions[0].bounded


def test_budgets_keep_what_was_found() -> None:
    network = random_network(0, "generic", 2, 3, 4, relu=True)
    whole = enumerate_regions(network)
    part = enumerate_regions(network, max_regions=3)
    assert whole.complete
    assert not part.complete
    assert part.patterns.tolist() == whole.patterns[:3].tolist()
    assert enumerate_regions(network, max_regions=len(whole)).complete
    assert not enumerate_regions(network, max_seconds=1e-9).complete
