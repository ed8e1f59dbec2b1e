"""The tree of patterns: proofs for regions of which only patterns and witnesses are known."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import domains, networks, random_network
from tropicell import Box, Network, Regions, WholeSpace, enumerate_regions
from tropicell.certificate import _branches, _tree
from tropicell.certificate._branches import (
    TreeProofs,
    _are_simple,
    prove_tree,
    sorted_order,
    suits,
)
from tropicell.network import activations
from tropicell.network.domains import Domain
from tropicell.regions.columns import PackedPatterns
from tropicell.verify_certificate import RejectedError, verify


def found(network: Network, domain: Domain) -> Regions:
    """Regions as the oracle finds them: patterns and witnesses."""
    return enumerate_regions(network, domain, engine="traverse")


def some_of(regions: Regions, rows: np.ndarray) -> Regions:
    packed = PackedPatterns.pack(regions.patterns[rows], regions.packed.bits)
    return Regions(regions.network, regions.domain, packed, regions.witnesses[rows])


def changed(path: Path, **arrays: object) -> str:
    """A copy of a file with other arrays; a function gets the old one."""
    with np.load(path) as file:
        old = dict(file)
    for name, value in arrays.items():
        key = name.replace("__", ".")
        old[key] = value(old[key]) if callable(value) else value
    target = path.with_name("changed.npz")
    np.savez_compressed(target, **old)
    return str(target)


@given(data=st.data(), network=networks())
def test_right_lists_are_proved_and_their_files_verified(
    data: st.DataObject, network: Network, tmp_path_factory: pytest.TempPathFactory
) -> None:
    regions = found(network, data.draw(domains(network.n_inputs)))
    certificate = regions.certify()
    assert certificate.complete, str(certificate)
    assert isinstance(certificate.proofs, TreeProofs) == suits(regions)
    counts = certificate.counts
    assert counts["regions_by_filter"] + counts["regions_exact"] == len(regions)
    path = tmp_path_factory.mktemp("proof") / "certificate.npz"
    certificate.save(path)
    said = verify(str(path))
    assert (said["regions"], said["complete"]) == (len(regions), True)


@given(data=st.data(), network=networks())
def test_a_region_that_is_missing_is_missed(data: st.DataObject, network: Network) -> None:
    regions = found(network, data.draw(domains(network.n_inputs)))
    gone = data.draw(st.integers(0, len(regions) - 1))
    certificate = some_of(regions, np.delete(np.arange(len(regions)), gone)).certify()
    assert not certificate.ok
    assert certificate.failures


@pytest.mark.parametrize("kind", ["generic", "repeated", "integer", "zero_bias"])
@pytest.mark.parametrize("domain", [Box(-2, 2), WholeSpace()])
def test_parts_and_threads_change_nothing(
    kind: str, domain: Domain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    regions = found(random_network(5, kind, 3, 2, 4), domain)
    whole = prove_tree(regions, 1)
    monkeypatch.setattr(_branches, "_AT_ONCE", 3)
    one, two = prove_tree(regions, 1), prove_tree(regions, 2)
    assert whole is not None
    assert one is not None
    assert two is not None
    np.testing.assert_array_equal(one.proofs.bases, two.proofs.bases)
    np.testing.assert_array_equal(one.proofs.counts, two.proofs.counts)
    np.testing.assert_array_equal(one.inside, whole.inside)
    # Linear programs of a part may begin somewhere else, and end in other bases.
    assert len(one.proofs.counts) == len(whole.proofs.counts)
    certificate = regions.certify(workers=2)
    assert certificate.complete
    certificate.save(tmp_path / "proof.npz")
    assert verify(str(tmp_path / "proof.npz"))["complete"]


def test_what_is_in_doubt_is_proved_in_integers(tmp_path: Path) -> None:
    """Cells with lines in them have no vertices; exact witnesses are no floats."""
    matrices = [[[1.0, 1.0, 0.0]], [[1.0], [-1.0]], [[1.0, 1.0]]]
    narrow = found(Network.mlp(matrices, [[0.0], [1.0, -3.0], [0.0]]), WholeSpace())
    assert narrow.certify().counts["signs_exact"]
    regions = found(random_network(2, "integer", 3, 2, 4), Box(-2, 2))
    witnesses = np.array([[Fraction(x) for x in row] for row in regions.witnesses], dtype=object)
    exact = Regions(regions.network, regions.domain, regions.packed, witnesses)
    for one in (narrow, exact):
        certificate = one.certify()
        assert certificate.complete, str(certificate)
        assert isinstance(certificate.proofs, TreeProofs)
        certificate.save(tmp_path / "proof.npz")
        assert verify(str(tmp_path / "proof.npz"))["complete"]


def test_pieces_between_others_are_cut_one_after_the_other(tmp_path: Path) -> None:
    """Activations with many pieces: a pattern of a middle one can't be left out."""
    weights = [np.array([[1.0, 0.5, 0.25], [0.0, 1.0, -1.0]]), np.array([[1.0, 1.0]])]
    network = Network.mlp(weights, [[0.1, 0.2], [0.0]], activation=activations.hard_tanh())
    regions = found(network, Box(-3, 3))
    certificate = regions.certify()
    assert certificate.complete
    certificate.save(tmp_path / "proof.npz")
    assert verify(str(tmp_path / "proof.npz"))["regions"] == len(regions)
    for gone in range(len(regions)):
        rest = some_of(regions, np.delete(np.arange(len(regions)), gone))
        assert not rest.certify().ok
        words = np.delete(regions.packed.words, gone, axis=0)
        witnesses = np.delete(certificate.witnesses, gone, axis=0).astype(float)
        with pytest.raises(RejectedError):
            verify(changed(tmp_path / "proof.npz", words=words, witnesses=witnesses))


def test_files_with_other_bases_are_rejected(tmp_path: Path) -> None:
    regions = found(random_network(3, "generic", 3, 2, 4), Box(-2, 2))
    path = tmp_path / "proof.npz"
    certificate = regions.certify()
    certificate.save(path)
    proofs = certificate.proofs
    assert isinstance(proofs, TreeProofs)
    assert verify(str(path))["complete"]
    nothing = np.zeros_like(proofs.bases)
    for wrong in (
        {"bases": proofs.bases[:-1]},
        {"bases": np.concatenate([proofs.bases, proofs.bases[:1]])},
        {"bases": nothing},
        {"bases": nothing + 1},
        {"bases": -proofs.bases},
        {"bases": proofs.bases + 10**6},
        {"bases": proofs.bases[:, :-1]},
        {"bases": proofs.bases.astype(float)},
        {"bases__counts": proofs.counts[:-1]},
        {"bases__counts": np.append(proofs.counts, 0)},
        {"bases__counts": -proofs.counts},
        {"bases__counts": proofs.counts * 2},
        {"bases__counts": np.zeros_like(proofs.counts)},
        {"facets": proofs.counts},
    ):
        with pytest.raises(RejectedError):
            verify(changed(path, **wrong))
    for version in (0, 1, 3, 2.0, True, "2"):

        def other(header: np.ndarray, version: object = version) -> np.ndarray:
            return np.array(json.dumps(json.loads(str(header)) | {"version": version}))

        with pytest.raises(RejectedError):
            verify(changed(path, header=other))


def test_patterns_are_sorted_neuron_by_neuron() -> None:
    rng = np.random.default_rng(0)
    for pieces in (2, 3, 5):
        patterns = np.unique(rng.integers(0, pieces, size=(50, 70)), axis=0)[rng.permutation(50)]
        order = sorted_order(
            PackedPatterns.pack(patterns.astype(np.uint8), 1 if pieces == 2 else 3)
        )
        rows = [tuple(row) for row in patterns[order].tolist()]
        assert rows == sorted(rows)


def test_facets_prove_regions_in_four_dimensions_where_corners_are_simple() -> None:
    """Not where many boundaries meet in a corner: all pass through 0, which is one of them."""
    rng, sizes = np.random.default_rng(3), [4, *[6] * 14, 1]
    pairs = list(zip(sizes[1:], sizes[:-1], strict=True))
    weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for n, m in pairs]
    biases = [rng.normal(size=n) * 0.5 for n in sizes[1:]]
    box = Box(-1.0, 1.0)
    generic = enumerate_regions(Network.mlp(weights, biases), box, engine="cells")
    assert _are_simple(generic)
    certificate = generic.certify()
    assert certificate.ok
    assert not isinstance(certificate.proofs, TreeProofs)
    central = enumerate_regions(Network.mlp(weights[:2]), box, engine="cells")
    assert not _are_simple(central)


@pytest.mark.parametrize("domain", [Box(-2, 2), WholeSpace()])
def test_a_proof_that_is_full_goes_on_where_it_was(
    domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    regions = found(random_network(5, "generic", 3, 2, 5), domain)
    whole = prove_tree(regions, 1)
    times = []

    def larger(proof: _tree.TreeProof) -> _tree.TreeProof:
        times.append(len(proof.bases))
        return double(proof)

    double, roomy = _tree.larger, _tree.new_tree_proof
    monkeypatch.setattr(_tree, "larger", larger)
    monkeypatch.setattr(_tree, "new_tree_proof", lambda size, inputs, _: roomy(size, inputs, 1))
    cramped = prove_tree(regions, 1)
    assert len(times) > 2
    assert whole is not None
    assert cramped is not None
    np.testing.assert_array_equal(cramped.proofs.bases, whole.proofs.bases)
    np.testing.assert_array_equal(cramped.proofs.counts, whole.proofs.counts)
    np.testing.assert_array_equal(cramped.inside, whole.inside)
    assert cramped.signs == whole.signs
    assert cramped.doubts.keys() == whole.doubts.keys()


@pytest.mark.parametrize("factor", [1.0, -1.0, 0.5])
def test_twins_follow_from_each_other(factor: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    weights, biases = rng.normal(size=(8, 3)), rng.normal(size=8)
    weights[1::2], biases[1::2] = factor * weights[::2], factor * biases[::2]
    network = Network.mlp([weights, rng.normal(size=(1, 8))], [biases, [0.0]])
    regions = enumerate_regions(network, Box(-2, 2))
    certificate = regions.certify()
    assert certificate.complete
    assert certificate.counts["regions_exact"] == 0
    proofs = certificate.proofs
    assert isinstance(proofs, TreeProofs)
    # A cell that a neuron's boundary cuts out has its twin's inequality from this one alone.
    alone = proofs.bases[(proofs.bases != 0).sum(axis=1) == 1]
    assert np.isin([7, 9, 11, 13], alone).all()
    certificate.save(tmp_path / "proof.npz")
    assert verify(str(tmp_path / "proof.npz"))["complete"]
