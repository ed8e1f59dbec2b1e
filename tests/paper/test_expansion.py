"""F, G and H multiplied out are the recurrences, and the fraction is the network, exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import networks
from tropicell import (
    InvalidInputError,
    Network,
    Slice,
    TropicalPolynomial,
    TropicalRationalMap,
    enumerate_regions,
    recurrences,
)
from tropicell.paper.example import walkthrough
from tropicell.paper.expansion import formal_sizes
from tropicell.paper.polynomials import TropicalRationalFunction

#: These take tens of milliseconds an example.
FEW = settings(max_examples=max(1, settings().max_examples // 3))
SMALL = networks(max_inputs=2, max_depth=2, max_width=3)


def probes(network: Network, seed: int, count: int = 5) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(count, network.n_inputs)) * 3
    points[0] = 0
    return points


@given(SMALL, st.integers(0, 99), st.booleans(), st.sampled_from(["paper", "polynomial"]))
def test_fractions_are_the_network(network: Network, seed: int, cancel: bool, form: str) -> None:
    found = network.tropical(cancel=cancel, form=form)
    x = probes(network, seed)
    values = np.stack([f.evaluate(x) for f in found.output], axis=1)
    assert (values == network.evaluate(x)).all()
    if form == "polynomial" and not cancel:
        whole = TropicalRationalMap(network)
        assert (
            np.stack([f.numerator.evaluate(x) for f in found.output], 1) == whole.numerator(x)
        ).all()


@FEW
@given(SMALL, st.integers(0, 99), st.sampled_from(["paper", "polynomial"]))
def test_every_neuron_follows_the_recurrences(network: Network, seed: int, form: str) -> None:
    x = probes(network, seed, 3)
    found = network.tropical(form=form)
    for point, pattern in zip(x, network.patterns(x, arithmetic="exact"), strict=True):
        for layer, own in zip(recurrences(network, pattern, form=form), found.layers, strict=True):
            for name in ("F", "G", "H", "G_after"):
                matrix = getattr(layer, name)
                at = [type(matrix[0, 0])(value) for value in point]
                values = matrix[:, :-1] @ np.array(at, dtype=object) + matrix[:, -1]
                assert [f.evaluate(point) for f in getattr(own, name)] == values.tolist()


@FEW
@given(SMALL)
def test_sizes_are_what_they_say(network: Network) -> None:
    found = network.tropical()
    for row in found.sizes:
        assert row["after"] <= row["before"]
    kept = network.tropical(cancel=True)
    for one, other in zip(found.output, kept.output, strict=True):
        assert one == other


@given(networks(max_inputs=2, max_depth=2, max_width=2))
def test_formal_sizes_bound_what_is_multiplied_out(network: Network) -> None:
    for row in network.tropical(reduce=False, max_monomials=100_000).sizes:
        assert row["after"] <= row["before"]


@FEW
@given(networks(max_inputs=2, max_depth=2, max_width=2, relu=True))
def test_pieces_are_merged_regions(network: Network) -> None:
    """The linear regions of the only output's fraction are the merged regions."""
    one = Network(network.n_inputs, network.layers, type(network.output)(
        {k: m[:1] for k, m in network.output.terms.items()}, network.output.bias[:1]))  # fmt: skip
    found = one.tropical().output[0].region_numbers()
    regions = enumerate_regions(one, engine="traverse")
    assert found.pieces == len(regions.merged())
    assert found.overlay >= found.pieces


def test_the_walkthrough_has_five_over_four() -> None:
    fraction = walkthrough().tropical().output[0]
    assert (len(fraction.numerator), len(fraction.denominator)) == (5, 4)
    assert (len(fraction.simplified().numerator), len(fraction.simplified().denominator)) == (3, 4)
    cancelled = walkthrough().tropical(cancel=True).output[0]
    assert (len(cancelled.numerator), len(cancelled.denominator)) == (3, 4)
    assert cancelled == fraction
    assert fraction.region_numbers() == (5, 4, 8, 8)


def test_a_layer_alone_and_a_slice() -> None:
    network = walkthrough(skips=[(0, 2)])
    assert network.tropical(1).output == ()
    assert len(network.tropical(1).layers) == 1
    line = network.restrict(Slice([0.5, 0.25], [[1.0, -2.0]]))
    x = np.linspace(-1, 1, 9)[:, None]
    assert (line.tropical().output[0].evaluate(x) == line.evaluate(x)[:, 0]).all()


def test_behind_skips_the_paper_has_fractions() -> None:
    network = walkthrough(skips=[(0, 2)])
    paper, polynomial = (network.tropical(form=form) for form in ("paper", "polynomial"))
    assert all(isinstance(f, TropicalPolynomial) for f in polynomial.layers[1].H)
    deep = Network.mlp([np.array([[1.0, -2.0], [3.0, 1.0]])] * 5, skips=[(2, 4)])
    behind = deep.tropical(form="paper").layers[3]
    assert any(isinstance(f, TropicalRationalFunction) for f in (*behind.G, *behind.H))
    assert paper.output[0] == polynomial.output[0]


def test_sizes_are_refused_early() -> None:
    rng = np.random.default_rng(0)
    wide = Network.mlp([rng.normal(size=s) for s in ((40, 2), (40, 40), (1, 40))])
    with pytest.raises(InvalidInputError, match=r"layer 2, neuron 0: a product with \d+"):
        wide.tropical(max_monomials=10)
    with pytest.raises(InvalidInputError, match=r"of layer 2, neuron 0 has [\d,]+ monomials"):
        wide.tropical(reduce=False)
    deep = Network.mlp([rng.normal(size=(40, 40)) for _ in range(9)])
    assert formal_sizes(deep)[-1]["before"] == float("inf")
    with pytest.raises(InvalidInputError, match="layer must be between 1 and 2"):
        wide.tropical(4)
    for layer in (0, 1.5, "1"):
        with pytest.raises(InvalidInputError, match="layer must be between 1 and 2"):
            wide.tropical(layer)
    for most in (0, 2.5, "9"):
        with pytest.raises(InvalidInputError, match="max_monomials must be a whole number"):
            wide.tropical(max_monomials=most)
    with pytest.raises(InvalidInputError, match="form must be"):
        wide.tropical(form="other")
