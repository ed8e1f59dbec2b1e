"""Certificates hold for right enumerations, and for no others."""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import warnings
import zipfile
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import KINDS, domains, networks, random_network
from tropicell import (
    Affine,
    Box,
    Certificate,
    Layer,
    Network,
    Polytope,
    Regions,
    Slice,
    TimeLimitError,
    WholeSpace,
    enumerate_regions,
    time_limit,
    verify_certificate,
)
from tropicell._runtime import progress
from tropicell.certificate import prover
from tropicell.certificate._flat import PatternTable, RegionColumns, filter_network, new_state
from tropicell.certificate._kernels import check_witnesses
from tropicell.errors import InvalidInputError
from tropicell.network import activations
from tropicell.network.domains import Domain
from tropicell.network.fingerprint import fingerprint_arrays
from tropicell.regions.columns import PackedPatterns, Ragged
from tropicell.verify_certificate import RejectedError, verify


def rebuilt(regions: Regions, rows: np.ndarray, **changed: object) -> Regions:
    """Regions with some of the rows, and with other columns in place of their own."""
    columns: dict[str, object] = {
        "domain": regions.domain,
        "patterns": regions.patterns[rows],
        "witnesses": regions.witnesses[rows],
    }
    for name in ("facet_lines", "corners"):
        column = regions.known(name)
        if column is not None:
            parts = [column.values[:0], *(column[i] for i in rows)]
            counts = np.array([len(part) for part in parts[1:]])
            columns[name] = Ragged.from_counts(np.concatenate(parts), counts)
    columns |= changed
    packed = PackedPatterns.pack(columns.pop("patterns"), regions.packed.bits)
    domain, witnesses = columns.pop("domain"), columns.pop("witnesses")
    return Regions(regions.network, domain, packed, witnesses, **columns)


def demo(domain: Domain | None = None, inputs: int = 2) -> Regions:
    network = random_network(3, "generic", inputs, 2, 5, relu=True)
    return enumerate_regions(network, domain or Box(-3, 3))


@given(data=st.data(), network=networks(), engine=st.sampled_from(["cells", "traverse"]))
def test_right_enumerations_are_proved_and_their_files_verified(
    data: st.DataObject, network: Network, engine: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    regions = enumerate_regions(network, data.draw(domains(network.n_inputs)), engine=engine)
    certificate = regions.certify()
    assert certificate.ok, str(certificate)
    assert certificate.complete
    assert regions.certificate is certificate
    counts = certificate.counts
    assert counts["regions_by_filter"] + counts["regions_exact"] == len(regions)
    path = tmp_path_factory.mktemp("proof") / "certificate.npz"
    certificate.save(path)
    found = verify(str(path))
    assert (found["regions"], found["complete"]) == (len(regions), True)
    assert found["fingerprint"] == network.fingerprint


@given(
    data=st.data(),
    network=networks(),
    hints=st.sampled_from(["engine", "none", "shuffled", "wrong"]),
)
def test_a_region_that_is_missing_is_missed_whatever_the_hints(
    data: st.DataObject, network: Network, hints: str
) -> None:
    regions = enumerate_regions(network, data.draw(domains(network.n_inputs)), engine="cells")
    rows = np.arange(len(regions))
    rng = np.random.default_rng(len(regions))
    changed: dict[str, object] = {}
    if hints == "none":
        changed["facet_lines"] = None
    if hints == "shuffled":
        parts = [rng.permutation(regions.facet_lines[i]) for i in rows]
        values = np.concatenate(parts)
        changed["facet_lines"] = Ragged(values, regions.facet_lines.ends)
    if hints == "wrong":
        lines = rng.integers(0, regions.lines.count, size=3 * len(rows))
        changed["facet_lines"] = Ragged(lines, 3 * (rows + 1))
    assert rebuilt(regions, rows, **changed).certify().ok
    gone = data.draw(st.integers(0, len(regions) - 1))
    whole = rebuilt(regions, rows, **changed)
    certificate = rebuilt(whole, np.delete(rows, gone)).certify()
    assert not certificate.ok
    assert certificate.failures
    assert not certificate.complete


@given(data=st.data(), network=networks())
def test_a_pattern_that_is_flipped_or_a_witness_that_is_moved_is_refused(
    data: st.DataObject, network: Network
) -> None:
    regions = enumerate_regions(network, data.draw(domains(network.n_inputs)))
    rows = np.arange(len(regions))
    region = data.draw(st.integers(0, len(regions) - 1))
    flippable = np.flatnonzero(network.pieces > 1)
    if flippable.size:
        patterns = regions.patterns
        neuron = data.draw(st.sampled_from(flippable.tolist()))
        patterns[region, neuron] = (patterns[region, neuron] + 1) % network.pieces[neuron]
        assert not rebuilt(regions, rows, patterns=patterns).certify().ok
    if len(regions) > 1:
        witnesses = regions.witnesses.copy()
        witnesses[region] = witnesses[region - 1]
        moved = rebuilt(regions, rows, witnesses=witnesses)
        assert "witness" in moved.certify().failures[0]


@pytest.mark.parametrize("inputs", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_filter_and_exact_arithmetic_agree(
    kind: str, inputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = random_network(11, kind, inputs, 2, 7)
    regions = enumerate_regions(network, Box(-2, 2))
    fast = rebuilt(regions, np.arange(len(regions))).certify()
    tree = rebuilt(regions, np.arange(len(regions)), facet_lines=None)
    assert tree.certify().ok
    monkeypatch.setattr(prover, "suits", lambda _: False)
    facets, slow = regions.certify(), tree.certify()
    assert slow.counts["regions_by_filter"] == 0
    assert fast.ok
    assert facets.ok
    assert slow.ok


@pytest.mark.parametrize("sizes", [(1, 16, 16, 1), (2, 16, 16, 1), (3, 8, 6, 1), (4, 7, 4, 1)])
def test_generic_regions_are_proved_by_the_filter(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    network = Network.mlp(
        [rng.normal(size=(n, m)) for m, n in pairwise(sizes)],
        [rng.normal(size=n) for n in sizes[1:]],
    )
    for domain in (Box(-3, 3), WholeSpace()):
        counts = enumerate_regions(network, domain).certify().counts
        assert counts["regions_exact"] <= counts["regions_by_filter"] / 20
        assert counts["signs_by_filter"] > counts["signs_exact"]


@pytest.mark.parametrize("inputs", [1, 2, 3])
@pytest.mark.parametrize("kind", ["generic", "tenths", "scaled"])
def test_error_bounds_hold(kind: str, inputs: int) -> None:
    network = random_network(7, kind, inputs, 3, 6)
    regions = enumerate_regions(network, Box(-2, 2))
    scale = np.exp2(np.arange(inputs) - 1.0)
    flat = filter_network(network, regions.domain, scale)
    assert flat is not None
    state, proved = new_state(flat), np.zeros(len(regions), dtype=bool)
    room = np.zeros(max(2, inputs))
    columns = columns_of(regions, 1 / scale)
    compared = 0
    for i in range(min(len(regions), 12)):
        check_witnesses(flat, state, room, columns, proved, i, i + 1)
        rows = regions[i].inequalities
        for a, b, source in zip(rows.A, rows.b, rows.sources, strict=True):
            line = next(
                n for n in range(1, regions.lines.count) if regions.lines.boundary(n) == source
            )
            if state.places[line] < 0:
                assert not a.any()
                continue
            place = state.places[line]
            found = [Fraction(x) for x in state.inequalities.rows[:, place]]
            exact = [-x * Fraction(s) for x, s in zip(a, scale, strict=True)]
            row, bound = [*found[:inputs], found[-1]], Fraction(state.inequalities.bounds[place])
            assert all(abs(x - y) <= bound for x, y in zip(row, [*exact, b], strict=True))
            compared += 1
    assert compared > 10


def columns_of(regions: Regions, unscale: np.ndarray) -> RegionColumns:
    """What the filter's kernels get, without hints."""
    packed, ends = regions.packed, np.zeros(len(regions), np.int64)
    corners = np.empty((0, regions.network.n_inputs + 1))
    patterns = PatternTable(packed.words, packed.bits, packed.table())
    columns = patterns, regions.witnesses, unscale
    return RegionColumns(*columns, np.empty(0, np.int32), ends, corners, ends)


def test_error_bounds_hold_in_many_dimensions() -> None:
    n, small = 400, 2.0**-27  # products of two are lost when they are added to 1
    a = np.full(n, -small * (1 - 2.0**-20))
    a[0], a[-1] = 1.0, -(1.0 - 130 * 2.0**-53)
    x = np.full(n, small)
    x[0] = x[-1] = 1.0
    exact = sum(Fraction(p) * Fraction(q) for p, q in zip(a, x, strict=True))
    assert exact < 0 < np.add.accumulate(a * x)[-1]  # outside, but not in float64, term by term
    network = Network.mlp([np.ones((1, n)), [[1.0]]])
    domain = Polytope(-a[None], [0.0])
    packed = PackedPatterns.pack(np.array([[1]], np.uint8), 1)
    columns = columns_of(Regions(network, domain, packed, x[None], complete=False), np.ones(n))
    flat = filter_network(network, domain, np.ones(n))
    assert flat is not None
    for rounding in (20 * 2.0**-53, flat.rounding):
        flat, proved = flat._replace(rounding=rounding), np.zeros(1, dtype=bool)
        check_witnesses(flat, new_state(flat), np.zeros(n), columns, proved, 0, 1)
        assert proved[0] == (rounding == 20 * 2.0**-53)  # which is too little here


def test_duplicates_and_pieces_that_do_not_exist_are_refused() -> None:
    regions = demo()
    twice = rebuilt(regions, np.append(np.arange(len(regions)), 2))
    assert twice.certify().failures == (f"region {len(regions)} has the pattern of an earlier one",)
    network = Network(1, [Layer(Affine({0: [[1.0]]}), "hard_tanh")], Affine({1: [[1.0]]}))
    tanh = enumerate_regions(network)
    patterns = tanh.patterns
    patterns[0, 0] = 3
    assert "no number 3" in rebuilt(tanh, np.arange(3), patterns=patterns).certify().failures[0]
    hidden = demo()
    hidden.packed.words[0] |= np.uint64(1 << 63)
    assert "beyond the last neuron" in hidden.certify().failures[0]


def test_messages_say_where() -> None:
    network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
    regions = enumerate_regions(network)
    last = [regions.find("00"), regions.find("10")]
    (message, *_) = rebuilt(regions, np.array(last)).certify().failures
    assert message == "region 1 (10): behind layer 1, neuron 1 there is no region of the list"


def test_patterns_that_need_many_bits() -> None:
    # Six pieces need three bits, and 3 × 30 bits do not fit into one word.
    rng = np.random.default_rng(4)
    steps = activations.piecewise(
        [0, 1, 2, 3, 4], [0, 1, 0, 1, 0, 1], [0, 0, 1, -1, 2, -2], name="steps"
    )
    layer = Layer(Affine({0: rng.normal(size=(30, 2))}, rng.normal(size=30)), steps)
    network = Network(2, [layer], Affine({1: np.ones((1, 30))}))
    regions = enumerate_regions(network, Box(-1, 1))
    certificate = regions.certify()
    assert certificate.ok
    assert certificate.counts["regions_exact"] < len(regions) / 10
    assert not rebuilt(regions, np.arange(len(regions) - 1)).certify()


def test_another_domain_is_refused() -> None:
    assert (
        not rebuilt(demo(Box(-1, 1)), np.arange(len(demo(Box(-1, 1)))), domain=Box(-9, 9))
        .certify()
        .ok
    )


def test_a_region_without_a_float_inside_gets_a_rational_witness(tmp_path: Path) -> None:
    # The region 1 < x < 1 + 2^-60 lies between two neighbouring floats.
    network = Network.mlp([[[1.0]]] * 3, [[-1.0], [-(2.0**-60)], [0.0]])
    regions = enumerate_regions(network)
    certificate = regions.certify()
    assert certificate.ok
    assert len(regions) == 3
    assert len(certificate.exact_witnesses) == 1
    certificate.save(tmp_path / "flat.npz")
    assert verify(str(tmp_path / "flat.npz"))["complete"]
    exact = enumerate_regions(network, engine="traverse").certify()
    exact.save(tmp_path / "exact.npz")
    assert verify(str(tmp_path / "exact.npz"))["complete"]


def test_what_was_not_finished_is_proved_without_completeness(tmp_path: Path) -> None:
    for inputs in (2, 3):
        whole = demo(inputs=inputs)
        part = enumerate_regions(whole.network, whole.domain, max_regions=len(whole) - 1)
        certificate = part.certify()
        assert certificate.ok
        assert not certificate.complete
        assert "not claimed" in str(certificate)
        certificate.save(tmp_path / "part.npz")
        assert not verify(str(tmp_path / "part.npz"))["complete"]
        part.witnesses[0] = part.witnesses[1]
        assert not part.certify().ok


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_numbers_of_any_size(scale: float) -> None:
    weights = [np.array([[1.0, 2.0], [3.0, -1.0]]) * scale, np.array([[1.0, -1.0]])]
    regions = enumerate_regions(Network.mlp(weights, [[scale, 0.5], [1.0]]), Box(-1, 1))
    certificate = regions.certify()
    assert certificate.ok
    assert certificate.counts["regions_by_filter"] == 0


def test_slices_and_workers() -> None:
    network = random_network(5, "generic", 6, 2, 24, relu=True)
    plane = Slice(np.zeros(6), np.random.default_rng(1).normal(size=(2, 6)), Box(-20, 20))
    regions = enumerate_regions(network, plane)
    assert regions.certify().ok
    rng = np.random.default_rng(2)
    big = Network.mlp([rng.normal(size=(100, 2)), np.ones((1, 100))], [rng.normal(size=100), [0.0]])
    many = enumerate_regions(big)
    assert len(many) == 1 + 100 + 100 * 99 // 2
    one, two = many.certify(), many.certify(workers=2)
    assert one.ok
    assert two.ok
    assert one.counts == two.counts
    assert one.proofs is not None
    assert two.proofs is not None
    np.testing.assert_array_equal(one.proofs.neighbours, two.proofs.neighbours)
    for name in ("facets", "bases"):
        left, right = getattr(one.proofs, name), getattr(two.proofs, name)
        np.testing.assert_array_equal(left.values, right.values)
        np.testing.assert_array_equal(left.ends, right.ends)
    with pytest.raises(InvalidInputError, match="workers"):
        regions.certify(workers=0)


@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_volumes_add_up(inputs: int) -> None:
    certificate = demo(Box(-3, 3), inputs).certify(volumes=True)
    assert certificate.ok
    assert certificate.volume == 6**inputs
    assert "volumes" in certificate.proved[-1]
    with pytest.raises(InvalidInputError, match="bounded"):
        demo(WholeSpace(), inputs).certify(volumes=True)


# --- files ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificates") / "good.npz"
    demo().certify().save(path)
    return path


def changed(good: Path, tmp_path: Path, header: dict | None = None, **arrays: np.ndarray) -> str:
    """The certificate with other arrays, or other entries of its header."""
    with np.load(good) as file:
        contents = dict(file)
    text = json.loads(str(contents["header"])) | (header or {})
    contents |= arrays | {"header": np.array(json.dumps(text))}
    np.savez(tmp_path / "changed.npz", **contents)
    return str(tmp_path / "changed.npz")


def parts(good: Path) -> dict[str, np.ndarray]:
    with np.load(good) as file:
        return dict(file)


def test_the_file_as_it_is(good: Path, tmp_path: Path) -> None:
    assert verify(changed(good, tmp_path))["regions"] == len(demo())


@pytest.mark.parametrize("how", ["dropped", "domain", "self"])
def test_a_file_without_one_region_is_rejected(good: Path, tmp_path: Path, how: str) -> None:
    a = parts(good)
    count, gone = len(a["words"]), 4
    owner = np.repeat(np.arange(count), np.diff(a["facets.ends"]))
    basis_owner = np.repeat(np.arange(count), np.diff(a["bases.ends"]))
    kept = owner != gone
    if how == "dropped":
        kept &= a["neighbours"] != gone
    number = np.arange(count) - (np.arange(count) > gone)
    behind = a["neighbours"].astype(np.int64)
    inner = behind >= 0
    behind[inner] = number[behind[inner]]
    behind[a["neighbours"] == gone] = -1
    if how == "self":
        behind[a["neighbours"] == gone] = number[owner[a["neighbours"] == gone]]
    counts = np.delete(np.bincount(owner[kept], minlength=count), gone)
    basis_counts = np.delete(np.bincount(basis_owner, minlength=count), gone)
    path = changed(
        good,
        tmp_path,
        words=np.delete(a["words"], gone, axis=0),
        witnesses=np.delete(a["witnesses"], gone, axis=0),
        facets=a["facets"][kept],
        neighbours=behind[kept],
        bases=a["bases"][basis_owner != gone],
        **{"facets.ends": np.append(0, counts.cumsum())},
        **{"bases.ends": np.append(0, basis_counts.cumsum())},
    )
    reasons = {
        "dropped": "no such facet",
        "domain": "no such region",
        "self": "not behind its facet",
    }
    with pytest.raises(RejectedError, match=reasons[how]):
        verify(path)


def test_a_file_with_a_change_is_rejected(good: Path, tmp_path: Path) -> None:
    a = parts(good)
    words = a["words"].copy()
    words[3] ^= np.uint64(1)
    witnesses = a["witnesses"].copy()
    witnesses[0] = witnesses[1]
    weights = a["network.4"] * 1.5
    header = json.loads(str(a["header"]))
    facets = a["facets"].copy()
    facets[0] = 1 if facets[0] != 1 else 2
    cases: list[tuple[dict[str, object], dict[str, np.ndarray], str]] = [
        ({}, {"words": words}, "^region|twice"),
        ({}, {"words": np.concatenate([a["words"], a["words"][:1]])}, "twice"),
        ({}, {"words": a["words"][:0]}, "twice"),
        ({}, {"witnesses": witnesses}, "witness"),
        ({}, {"witnesses": np.full_like(witnesses, np.nan)}, "^witnesses: .* NaN"),
        ({}, {"network.4": weights}, "fingerprint"),
        ({"fingerprint": header["fingerprint"][::-1]}, {}, "fingerprint"),
        ({}, {"domain.b": a["domain.b"] / 2}, "region"),
        ({}, {"facets": facets}, "^neighbours: there is no such region|^region 0"),
        ({}, {"bases": np.zeros_like(a["bases"])}, "^region 0: a basis"),
        ({}, {"bases": a["bases"][:0]}, "^bases.ends: "),
        ({}, {"neighbours": np.zeros_like(a["neighbours"])}, "^neighbours: |^region"),
        ({"version": 3}, {}, "layout"),
        ({"format": "tropicell-regions"}, {}, "layout"),
        ({"exact_witnesses": {"0": ["0x0", "0x0", "-0x1"]}}, {}, "exact_witnesses 0"),
        ({"exact_witnesses": {"0": ["0x0", "0x0", "0x1"]}}, {}, "region 0: the witness"),
    ]
    for about, arrays, message in cases:
        with pytest.raises(RejectedError, match=message):
            verify(changed(good, tmp_path, about, **arrays))


def alone(network: Network, domain: Domain, tmp_path: Path) -> dict[str, np.ndarray]:
    """The parts of a network's certificate."""
    enumerate_regions(network, domain).certify().save(tmp_path / "alone.npz")
    return parts(tmp_path / "alone.npz")


@pytest.mark.parametrize("bits", [9, 63, 64, 65, 128])
def test_pieces_below_zero(good: Path, tmp_path: Path, bits: int) -> None:
    """Shifts by 64 wrap around: neurons on piece -1 had no inequalities, one region sufficed."""
    neurons = demo().network.n_neurons
    rows = len(parts(good)["domain.b"])
    path = changed(
        good,
        tmp_path,
        {"bits": bits},
        words=np.full((1, -(-neurons * bits // 64)), 2**64 - 1, dtype="<u8"),
        witnesses=parts(good)["witnesses"][:1],
        facets=np.arange(1, rows + 1, dtype=np.int8),
        neighbours=np.full(rows, -1, dtype=np.int8),
        bases=np.empty((0, 2), dtype=np.int8),
        **{"facets.ends": np.array([0, rows]), "bases.ends": np.array([0, 0])},
    )
    with pytest.raises(RejectedError, match=r"^words: no such piece"):
        verify(path)


@pytest.mark.parametrize("kind", [">f8", "<i8"])
def test_types_are_no_part_of_the_fingerprint_and_must_be_right(tmp_path: Path, kind: str) -> None:
    """Biases of the same bytes in another type are another network: here is its whole proof."""
    genuine = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.5, -0.5], [0.0]])
    index = next(i for i, x in enumerate(fingerprint_arrays(genuine)) if x.dtype == "<f8")
    a = alone(genuine, Box(-1, 1), tmp_path)
    bias = a[f"network.{index}"].view(kind)
    other = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [bias.astype(float), [0.0]])
    forged = alone(other, Box(-1, 1), tmp_path)
    assert forged["words"].tolist() != a["words"].tolist()  # boundaries are somewhere else
    forged |= {name: array for name, array in a.items() if name.startswith("network.")}
    forged |= {"header": a["header"], f"network.{index}": bias}
    np.savez(tmp_path / "forged.npz", **forged)
    with pytest.raises(RejectedError, match=rf"^network\.{index}: it is {kind} "):
        verify(str(tmp_path / "forged.npz"))


@pytest.mark.parametrize("kind", ["|u1", "<u2", "<u8"])
def test_unsigned_domains(tmp_path: Path, kind: str) -> None:
    """Negated, unsigned numbers wrap around: x <= 1 became -255 x <= 1."""
    network = Network.mlp([[[1.0]], [[1.0]]], [[5.0], [0.0]])
    a = alone(network, Polytope([[1.0]], [1.0]), tmp_path)
    wrapped = -(-a["domain.A"].astype(kind)).astype(float)
    forged = alone(network, Polytope(wrapped, [1.0]), tmp_path)
    np.savez(tmp_path / "forged.npz", **forged | {"domain.A": a["domain.A"].astype(kind)})
    with pytest.raises(RejectedError, match=r"^domain\.A: it is "):
        verify(str(tmp_path / "forged.npz"))


@pytest.mark.parametrize("complete", [0, "", None, 1, "yes"])
def test_complete_is_true_or_false(good: Path, tmp_path: Path, complete: object) -> None:
    with pytest.raises(RejectedError, match=r"^header: expected"):
        verify(changed(good, tmp_path, {"complete": complete}))


def test_words_and_exit_status_say_whether_a_list_is_complete(good: Path, tmp_path: Path) -> None:
    whole = demo()
    part = enumerate_regions(whole.network, whole.domain, max_regions=3)
    part.certify().save(tmp_path / "part.npz")
    (tmp_path / "none.npz").write_bytes(b"")
    expected = [
        (good, 0, "proved: complete\n"),
        (tmp_path / "part.npz", 3, "proved, but not complete\n"),
        (tmp_path / "none.npz", 1, ""),
    ]
    for path, status, words in expected:
        command = [sys.executable, str(verify_certificate.__file__), str(path)]  # nothing around it
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == status, done.stderr
        assert done.stdout.startswith(words)
        assert done.stderr.startswith("rejected: file: ") == (status == 1)


def test_the_header_is_read_in_one_way_only(good: Path, tmp_path: Path) -> None:
    a = parts(good)
    text = str(a["header"])
    wrong = {
        "a key twice": text[:-1] + ', "complete": true}',
        "another key": text[:-1] + ', "note": 1}',
        "spaces": text.replace(":", " : "),
        "a number as a boolean": text.replace('"version": 1', '"version": true'),
        "a fraction": text.replace('"bits": 1', '"bits": 1.0'),
        "sources": text.replace('"sources": [1,', '"sources": [true,'),
        "a list": f"[{text}]",
    }
    for what, header in wrong.items():
        assert header != text, what
        np.savez(tmp_path / "wrong.npz", **a | {"header": np.array(header)})
        with pytest.raises(RejectedError, match=r"^header: |^network\.0: "):
            verify(str(tmp_path / "wrong.npz"))


def test_an_archive_has_its_arrays_once_and_nothing_else(good: Path, tmp_path: Path) -> None:
    path = tmp_path / "more.npz"
    words = io.BytesIO()
    np.save(words, parts(good)["words"])
    for name, data in {
        "words.npy": words.getvalue(),
        "more.npy": words.getvalue(),
        "network.09.npy": words.getvalue(),
        "readme.txt": b"hello",
    }.items():
        path.write_bytes(good.read_bytes())
        with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
            warnings.simplefilter("ignore")  # it is there twice
            archive.writestr(name, data)
        with pytest.raises(RejectedError, match=r"words\.npy: not one|not expected: |magic string"):
            verify(str(path))
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(path, "w") as archive:
        for info in old.infolist():
            archive.writestr(info, old.read(info) + b"\0" * (info.filename == "words.npy"))
    with pytest.raises(RejectedError, match=r"words\.npy: not one array"):
        verify(str(path))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("hints", [True, False])
def test_witnesses_that_are_no_points(value: float, hints: bool) -> None:
    """Not a number is never a witness; infinity is one where a region reaches beyond float64."""
    for whole in (demo(), enumerate_regions(demo().network, Box(-3, 3), max_regions=2)):
        rows = np.arange(len(whole))
        witnesses = whole.witnesses.copy()
        witnesses[1, 0] = value
        hinted: dict[str, object] = {} if hints else {"facet_lines": None}
        wrong = rebuilt(whole, rows, witnesses=witnesses, complete=whole.complete, **hinted)
        certificate = wrong.certify()
        assert not certificate.ok
        assert not certificate.complete
        reason = "is no point: input 0 is nan" if np.isnan(value) else "witness is not inside"
        assert reason in certificate.failures[0]


def test_a_region_beyond_float64_may_have_an_infinite_witness() -> None:
    # 1e-200 x + 1e200 = 0 is at -1e400.
    regions = enumerate_regions(
        Network.mlp([[[1e-200]], [[1.0]]], [[1e200], [0.0]]), engine="traverse"
    )
    witnesses = regions.witnesses.copy()
    far = int(np.argmin(witnesses[:, 0]))
    for value, fine in ((-np.inf, True), (np.inf, False), (np.nan, False), (-1e300, False)):
        witnesses[far, 0] = value
        certificate = rebuilt(regions, np.arange(2), witnesses=witnesses).certify()
        assert certificate.ok == fine
        assert not fine or far in certificate.exact_witnesses


def test_files_that_are_truncated_or_missing_are_rejected(good: Path, tmp_path: Path) -> None:
    data = good.read_bytes()
    for size in (0, 10, len(data) // 2, len(data) - 30):
        (tmp_path / "short.npz").write_bytes(data[:size])
        with pytest.raises(RejectedError):
            verify(str(tmp_path / "short.npz"))
    with pytest.raises(RejectedError):
        verify(str(tmp_path / "none.npz"))


def test_only_proofs_are_written(tmp_path: Path) -> None:
    regions = demo()
    wrong = rebuilt(regions, np.arange(1, len(regions))).certify()
    assert isinstance(wrong, Certificate)
    assert str(wrong).startswith("not proved")
    with pytest.raises(InvalidInputError, match="nothing was proved"):
        wrong.save(tmp_path / "wrong.npz")
    with pytest.raises(InvalidInputError, match=r"\.npz"):
        regions.certify().save(tmp_path / "proof.txt")


def test_the_lines_that_the_proof_names_are_in_the_program() -> None:
    source = Path(verify_certificate.__file__).read_text(encoding="utf-8")
    page = (Path(__file__).parents[2] / "docs" / "certificate-proof.md").read_text(encoding="utf-8")
    rows = (
        page.partition("## 7.")[2].partition("| --- | --- |\n")[2].partition("\n\n")[0].splitlines()
    )
    named = [text for row in rows for text in re.findall("`([^`]+)`", row.rpartition(" | ")[2])]
    assert len(rows) > 20
    assert [text for text in named if text not in source] == []
    # and every check of the program is one of them, or about sizes
    checks = [line.strip() for line in source.splitlines() if line.strip().startswith("require(")]
    assert len(checks) <= len(rows) + 6


def test_the_verifier_is_short_and_stands_alone() -> None:
    source = Path(verify_certificate.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 265
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    library = {"hashlib", "itertools", "json", "sys", "typing", "zipfile"}
    assert imported == {*library, "numpy", "flint"}


@pytest.mark.parametrize(("inputs", "domain"), [(2, Box(-1, 1)), (4, None), (3, Box(-1, 1))])
def test_a_proof_shows_a_bar_and_ends_in_time(
    inputs: int,
    domain: Box | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By facets and corners, by the tree, and by volumes, too."""
    rng = np.random.default_rng(0)
    network = Network.mlp([rng.normal(size=(6, inputs)), rng.normal(size=(1, 6))])
    regions = enumerate_regions(network, domain)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    assert regions.certify(progress=False, volumes=inputs == 3).ok
    assert "regions" not in capsys.readouterr().err
    assert regions.certify(progress=True, volumes=inputs == 3).complete
    shown = capsys.readouterr().err
    assert " regions" in shown
    assert (" volumes" in shown) == (inputs == 3)
    with pytest.raises(TimeLimitError), time_limit(0):
        regions.certify()
