"""Fewer inputs with the same regions: against the oracle, in all coordinates."""

from __future__ import annotations

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from flint import fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import KINDS, random_network
from tropicell import (
    Affine,
    Box,
    IncompleteError,
    Layer,
    ModelFileError,
    Network,
    Polytope,
    Region,
    Regions,
    Slice,
    WholeSpace,
    count_many,
    count_regions,
    enumerate_regions,
    estimate_regions,
    find_region,
    iter_regions,
    load_regions,
)
from tropicell.analysis import measure
from tropicell.geometry.arithmetic import to_rationals
from tropicell.network.quotient import Quotient, quotient_of, spans
from tropicell.verify_certificate import RejectedError, verify


def widened(network: Network, seed: int, inputs: int) -> Network:
    """The network behind a map that repeats, scales (by powers of 2), mixes or ignores inputs."""
    rng = np.random.default_rng(seed)
    mixing = np.zeros((network.n_inputs, inputs))
    for column in mixing.T:
        if rng.random() < 0.8:
            column[rng.integers(network.n_inputs)] = rng.choice([1.0, -1.0, 0.5, 4.0])

    def wide(affine: Affine) -> Affine:
        terms = {k: m @ mixing if k == 0 else m for k, m in affine.terms.items()}
        return Affine(terms, affine.bias)

    layers = [Layer(wide(x.affine), x.activation) for x in network.layers]
    return Network(inputs, layers, wide(network.output))


@st.composite
def wide_networks(draw: st.DrawFn) -> Network:
    seed = draw(st.integers(0, 2**32 - 1))
    inner = random_network(
        seed,
        draw(st.sampled_from(KINDS)),
        inputs=draw(st.integers(1, 3)),
        depth=draw(st.integers(1, 3)),
        width=draw(st.integers(1, 4)),
    )
    return widened(inner, seed, draw(st.integers(2, 6)))


def rank_of(network: Network, domain: WholeSpace | Box | Polytope) -> int:
    """By exact elimination of everything that reads the input."""
    parts = [x.affine.terms[0] for x in network.layers if 0 in x.affine.terms]
    parts = [p.toarray() if sp.issparse(p) else p for p in parts]
    rows = np.concatenate([*parts, domain.inequalities(network.n_inputs)[0]])
    return fmpq_mat(*rows.shape, to_rationals(rows).ravel().tolist()).rank()


@given(wide_networks())
@settings(max_examples=60)
def test_regions_are_those_of_the_oracle_in_all_coordinates(network: Network) -> None:
    oracle = enumerate_regions(network, engine="traverse")
    regions = enumerate_regions(network)
    assert regions.network is network
    assert regions.quotient.dimension == max(1, rank_of(network, WholeSpace()))
    assert set(regions.texts()) == set(oracle.texts())
    assert (network.patterns(regions.witnesses, arithmetic="exact") == regions.patterns).all()
    assert (regions.locate(oracle.witnesses.astype(float), arithmetic="exact") >= 0).all()
    assert count_regions(network) == len(oracle) == sum(map(len, iter_regions(network)))
    for index in range(min(3, len(regions))):
        own, other = regions[index], oracle[oracle.find(regions.packed[index])]
        assert (own.inequalities.A == other.inequalities.A).all()
        assert {f.sources for f in own.facets} == {f.sources for f in other.facets}
        assert (own.affine_map.matrix == other.affine_map.matrix).all()
        assert own.bounded == other.bounded
        assert own.contains([own.witness]).all()
        assert len(own.lineality) == len(other.lineality)
        assert len(own.rays) == len(other.rays)
        rows = own.inequalities.A
        assert not (rows @ own.lineality.T).any()
        assert (rows @ own.rays.T <= 0).all()


@given(wide_networks(), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_half_bounded_domains(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = network.n_inputs
    low = np.where(rng.random(n) < 0.4, -1.0, -np.inf)
    high = np.where(rng.random(n) < 0.4, 2.0, np.inf)
    normals = rng.integers(-2, 3, size=(2, n)).astype(float)
    for domain in (Box(low, high), Polytope(normals, [1.0, 2.0])):
        try:
            oracle = enumerate_regions(network, domain, engine="traverse")
        except ValueError:
            continue
        regions = enumerate_regions(network, domain)
        assert regions.quotient.dimension == max(1, rank_of(network, domain))
        assert set(regions.texts()) == set(oracle.texts())
        assert domain.contains(regions.witnesses).all()
        assert (network.patterns(regions.witnesses, arithmetic="exact") == regions.patterns).all()
        lines = {str(regions.lines.boundary(k)) for k in regions.facet_lines.values if k > 0}
        facets = (str(f.sources[0]) for region in oracle for f in region.facets)
        assert len(lines) >= len(set(facets) & lines) > 0 or not lines


@given(wide_networks())
@settings(max_examples=25)
def test_what_is_worked_out_from_regions(network: Network) -> None:
    regions = enumerate_regions(network)
    oracle = enumerate_regions(network, engine="traverse")
    texts, others = regions.texts(), oracle.texts()
    pairs = {frozenset(texts[i] for i in pair) for pair in regions.neighbours.pairs}
    assert pairs == {frozenset(others[i] for i in pair) for pair in oracle.neighbours.pairs}
    assert len(regions.merged()) == len(oracle.merged())
    found, expected = measure.extrema(regions), measure.extrema(oracle)
    assert found.maximum == pytest.approx(expected.maximum, rel=1e-9, abs=1e-9)
    assert found.minimum == pytest.approx(expected.minimum, rel=1e-9, abs=1e-9)
    reached = np.isfinite(found.maximum)
    assert (np.isnan(found.argmax).any(axis=1) == ~reached).all()
    if not regions.quotient.is_trivial:
        assert not regions.bounded.any()
        assert np.isinf(regions.volumes).all()
    after = regions.after_layer(1)
    assert set(after.texts()) == {text.split("|")[0] for text in regions.texts()}


@given(wide_networks())
@settings(max_examples=25)
def test_certificates_prove_it_in_all_coordinates(network: Network) -> None:
    regions = enumerate_regions(network)
    certificate = regions.certify()
    assert certificate.complete, certificate.failures
    with TemporaryDirectory() as folder:
        certificate.save(folder + "/proof.npz")
        said = verify(folder + "/proof.npz")
    assert said["regions"] == len(regions)
    assert said["fingerprint"] == network.fingerprint


def test_a_certificate_with_too_few_inputs_is_refused(tmp_path: Path) -> None:
    network = Network.mlp([[[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, 1.0]]])
    wrong = Quotient(network, WholeSpace(), np.array([0]))
    assert not spans(network, WholeSpace(), wrong.inputs)
    inner = enumerate_regions(wrong.network)
    found = inner.lifted(wrong).certify()
    assert not found.ok
    assert "other inputs matter" in found.failures[0]
    good = enumerate_regions(network).certify()
    assert good.inputs is not None
    assert "depend on 2" in str(good)
    good.save(tmp_path / "proof.npz")
    arrays = dict(np.load(tmp_path / "proof.npz"))
    for kept in ([0, 1], [1, 0], [2], [-1, 2], [0, 3]):
        arrays["inputs"] = np.array(kept)
        np.savez(tmp_path / "wrong.npz", **arrays)
        with pytest.raises(RejectedError):
            verify(str(tmp_path / "wrong.npz"))


def mnist_like(seed: int = 0, sizes: tuple[int, ...] = (300, 3, 4, 2)) -> Network:
    rng = np.random.default_rng(seed)
    pairs = list(itertools.pairwise(sizes))
    weights = [rng.normal(size=(b, a)) for a, b in pairs]
    return Network.mlp(weights, [rng.normal(size=b) for _, b in pairs])


def test_many_inputs() -> None:
    network = mnist_like()
    regions = enumerate_regions(network)
    assert regions.stats["quotient"] == 3
    assert regions.reduced.network.n_inputs == 3
    assert regions.nbytes < 3000 * len(regions)
    assert count_many([network, network]).tolist() == [len(regions)] * 2
    assert estimate_regions(network).count == len(regions)
    assert (network.patterns(regions.witnesses) == regions.patterns).all()
    points = np.random.default_rng(1).normal(size=(2000, 300))
    found = regions.locate(points)
    assert (regions.patterns[found] == network.patterns(points)).all()
    empty = next(p for p in np.ndindex(*(2,) * 7) if regions.find("".join(map(str, p))) is None)
    assert not find_region(network, list(empty))
    assert find_region(network, regions.packed[0]).contains(regions.witnesses[:1]).all()
    assert isinstance(regions[0], Region)
    assert regions[0].lineality.shape == (297, 300)


def test_files_folders_and_checkpoints(tmp_path: Path) -> None:
    network = mnist_like()
    regions = enumerate_regions(network)
    regions.save(tmp_path / "regions.npz")
    again = load_regions(tmp_path / "regions.npz")
    assert again.texts() == regions.texts()
    assert again.stats["quotient"] == 3
    assert (again.witnesses == regions.witnesses).all()
    assert again.quotient.inputs.tolist() == regions.quotient.inputs.tolist()
    stored = enumerate_regions(network, out=tmp_path / "folder")
    assert stored.network.n_inputs == 300
    assert len(stored) == len(regions)
    assert stored.to_regions().texts() == regions.texts()
    assert stored.to_regions().certify().complete
    names = set(stored.to_pandas().columns)
    assert {f"x{k + 1}" for k in regions.quotient.inputs} <= names
    assert np.isinf(stored.total_volume())
    assert (stored.locate(regions.witnesses) == np.arange(len(regions))).all()
    with pytest.raises(IncompleteError):
        count_regions(network, checkpoint=tmp_path / "count", max_regions=5)
    assert count_regions(network, checkpoint=tmp_path / "count") == len(regions)
    first = enumerate_regions(network, checkpoint=tmp_path / "run", max_regions=5)
    assert len(first) == 5
    assert not first.complete
    assert enumerate_regions(network, checkpoint=tmp_path / "run").texts() == regions.texts()
    arrays = dict(np.load(tmp_path / "regions.npz"))
    arrays["inputs"] = np.array([0, 1, 2, 3])[: arrays["inputs"].size - 1]
    np.savez(tmp_path / "wrong.npz", **arrays)
    with pytest.raises(ModelFileError):
        load_regions(tmp_path / "wrong.npz")


def test_all_inputs_may_matter_or_none() -> None:
    rng = np.random.default_rng(0)
    square = Network.mlp([rng.normal(size=(3, 3)), np.ones((1, 3))])
    assert quotient_of(square, WholeSpace()).is_trivial
    assert enumerate_regions(square).stats.get("quotient") is None
    nothing = Network.mlp([np.zeros((2, 4)), np.ones((1, 2))], [[1.0, -1.0], [0.0]])
    regions = enumerate_regions(nothing)
    assert regions.texts() == ["10"]
    assert regions.quotient.dimension == 1
    assert regions[0].lineality.shape == (4, 4)
    boxed = enumerate_regions(nothing, Box(-1, 1))
    assert boxed.quotient.is_trivial
    assert boxed.volumes.tolist() == [16.0]


def test_rows_that_depend_by_numbers_that_float64_cannot_hold() -> None:
    first, second = np.array([[3.0, 1.0, 0.0, 2.0], [1.0, 0.0, 7.0, 5.0]])
    rows = np.array([first, second, first + second, 3 * first - 2 * second])
    network = Network.mlp([rows, np.ones((1, 4))], [[0.1, 0.2, 0.3, 0.4], [0.0]])
    quotient = quotient_of(network, WholeSpace())
    assert quotient.dimension == 2
    assert not (to_rationals(rows) @ to_rationals(quotient.kernel).T).any()
    texts = set(enumerate_regions(network).texts())
    assert texts == set(enumerate_regions(network, engine="traverse").texts())
    nearly = rows.copy()
    nearly[2, 0] += 1e-15 * 8  # such that the guess is wrong, and elimination is not
    assert nearly[2, 0] != rows[2, 0]
    changed = Network.mlp([nearly, np.ones((1, 4))], [[0.1, 0.2, 0.3, 0.4], [0.0]])
    assert quotient_of(changed, WholeSpace()).dimension == 3


def test_skips_from_the_input_and_sparse_matrices() -> None:
    rng = np.random.default_rng(3)
    first = sp.csr_array(rng.normal(size=(2, 9)) * (rng.random((2, 9)) < 0.5))
    skip = rng.normal(size=(1, 9))
    layers = [Layer(Affine({0: first}, [0.1, 0.2])), Layer(Affine({0: skip, 1: [[1.0, -1.0]]}))]
    network = Network(9, layers, Affine({0: rng.normal(size=(1, 9)), 2: [[1.0]]}))
    regions = enumerate_regions(network)
    assert regions.quotient.dimension == 3
    assert set(regions.texts()) == set(enumerate_regions(network, engine="traverse").texts())
    assert np.isinf(measure.extrema(regions).maximum).all()
    values = network(regions.witnesses)
    for index in range(len(regions)):
        assert regions.affine_map(index)(regions.witnesses[index]) == pytest.approx(values[index])


def test_slices_of_wide_networks() -> None:
    network = mnist_like(sizes=(30, 2, 2, 1))
    plane = Slice(np.ones(30), np.random.default_rng(5).normal(size=(4, 30)))
    regions = enumerate_regions(network, plane)
    assert regions.network.n_inputs == 4
    assert regions.quotient.dimension == 2
    oracle = enumerate_regions(network, plane, engine="traverse")
    assert set(regions.texts()) == set(oracle.texts())
    assert regions.certify().complete
    within = enumerate_regions(network, Slice(np.ones(30), plane.directions, Box(-1, 1)))
    assert within.quotient.is_trivial


def test_regions_that_were_made_by_hand_are_as_they_are() -> None:
    regions = enumerate_regions(mnist_like())
    own = Regions(regions.network, WholeSpace(), regions.packed, regions.witnesses)
    assert own.quotient.is_trivial
    assert own.reduced is own


@pytest.mark.parametrize("engine", ["cells", "halfspaces"])
def test_the_checker_accepts_fewer_inputs_in_a_polytope(engine: str, tmp_path: Path) -> None:
    """A tree whose bases have rows of the domain, which the file has in all coordinates."""
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=size) for size in ((3, 6), (4, 3), (1, 4))]
    network = Network.mlp(weights, [rng.normal(size=size) for size in (3, 4, 1)])
    rows = np.concatenate([weights[0][:2], -weights[0][:2]])
    regions = enumerate_regions(network, Polytope(rows, np.full(4, 2.0)), engine=engine)
    certificate = regions.certify()
    assert certificate.inputs is not None
    certificate.save(tmp_path / "proof.npz")
    said = verify(str(tmp_path / "proof.npz"))
    assert said["complete"]
    assert said["regions"] == len(regions)
    assert len(said["domain"][0]) == 7
