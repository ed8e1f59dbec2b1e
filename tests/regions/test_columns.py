"""Packed patterns and ragged arrays."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tropicell._runtime._hashing import _SECTION, _hash_rows, build_table
from tropicell.engines import column_store
from tropicell.engines.column_store import Store
from tropicell.regions.columns import Columns, PackedPatterns, Ragged, SharedRagged, first, size_of


@given(st.integers(0, 40), st.integers(0, 150), st.integers(1, 8), st.integers(0, 99))
def test_packing_loses_nothing(rows: int, neurons: int, bits: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    patterns = rng.integers(0, 2**bits, size=(rows, neurons)).astype(np.uint8)
    packed = PackedPatterns.pack(patterns, bits)
    np.testing.assert_array_equal(packed[:], patterns)
    for i in range(rows):
        np.testing.assert_array_equal(packed[i], patterns[i])
    assert packed.nbytes == rows * 8 * max(1, -(-neurons * bits // 64))


@given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 99))
def test_every_pattern_is_found_and_no_other(rows: int, neurons: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    patterns = rng.integers(0, 2, size=(rows, neurons)).astype(np.uint8)
    packed = PackedPatterns.pack(patterns, 1)
    known = {row.tobytes(): i for i, row in reversed(list(enumerate(patterns)))}
    queries = np.concatenate([patterns, rng.integers(0, 2, size=(30, neurons)).astype(np.uint8)])
    expected = [known.get(query.tobytes(), -1) for query in queries]
    assert packed.find(queries).tolist() == expected
    repeated = [i for i, row in enumerate(patterns) if known[row.tobytes()] != i]
    assert packed.first_duplicate() == (repeated[0] if repeated else -1)


def shared(seed: int, rows: int) -> tuple[SharedRagged, Ragged]:
    """Rows that share points, and the same rows as they are."""
    rng = np.random.default_rng(seed)
    points, ends = rng.normal(size=(7, 3)), np.cumsum(rng.integers(0, 4, rows))
    places = rng.integers(0, 7, size=ends[-1] if rows else 0, dtype=np.int32)
    return SharedRagged(points, places, ends), Ragged(points[places], ends)


@given(st.integers(0, 99), st.integers(1, 9), st.data())
def test_shared_rows_are_rows(seed: int, rows: int, data: st.DataObject) -> None:
    chosen = np.array(data.draw(st.lists(st.integers(0, rows - 1))), np.int64)
    one, other = sorted((data.draw(st.integers(0, rows)), data.draw(st.integers(0, rows))))
    for together in (False, True):
        found, expected = shared(seed, rows)
        size = found.nbytes
        if together:
            np.testing.assert_array_equal(found.values, expected.values)
            assert found.nbytes == expected.nbytes
        for row in range(rows):
            np.testing.assert_array_equal(found[row], expected[row])
        for some, same in (
            (found.take(chosen), expected.take(chosen)),
            (found.rows(slice(one, other)), expected.rows(slice(one, other))),
            (pickle.loads(pickle.dumps(found)), expected),
        ):
            np.testing.assert_array_equal(some.ends, same.ends)
            np.testing.assert_array_equal(some.values, same.values)
        assert together or found.nbytes == size


def test_batches_that_share_points_are_joined() -> None:
    store, whole = Store(), []
    for seed in range(5):
        packed = PackedPatterns(np.full((4, 1), seed, np.uint64), 8, 1)
        some, expected = shared(seed, 4)
        points, places = vars(some)["_kept"]
        columns = Columns(packed, np.zeros((4, 2)), None, None, None, some.counts)
        columns = columns._replace(points=points, corner_places=places)
        part = first(columns, 3)
        assert size_of(part) < size_of(columns)
        assert size_of(first(columns, 0)) == 0
        store.add(part)
        whole.append(expected.rows(slice(3)).values)
    found = store.join()
    ends = np.cumsum(found["corner_counts"])
    rows = SharedRagged(found["points"], found["corner_places"], ends)
    np.testing.assert_array_equal(rows.values, np.concatenate(whole))


def in_buffers(rng: np.random.Generator, rows: int, *, facets: bool = True) -> Columns:
    """Columns of all kinds that share points, some of them without facets."""
    counts = rng.integers(1, 5, rows)
    points = rng.normal(size=(int(rng.integers(1, 9)), 3))
    places = rng.integers(0, len(points), int(counts.sum())).astype(np.int32)
    lines = rng.integers(0, 9, int(counts.sum())).astype(np.int32)
    return Columns(
        PackedPatterns(rng.integers(0, 2**60, (rows, 2), np.uint64), 100, 1),
        rng.normal(size=(rows, 2)),
        rng.random(rows) < 0.5,
        rng.normal(size=rows),
        None,
        counts,
        lines if facets else None,
        counts if facets else None,
        points,
        places,
    )


def joined(batches: list[Columns]) -> dict[str, Any]:
    store = Store()
    for batch in batches:
        store.add(batch)
    return store.join()


@pytest.mark.parametrize("facets", [True, False])
def test_settled_batches_are_joined_as_others(
    facets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_store, "_FAR", 2000)  # much room, and little
    rng = np.random.default_rng(5)
    batches = [in_buffers(rng, 3 + k % 4, facets=facets or k % 7 != 3) for k in range(40)]
    known, settled = Store(), Store()
    for k, batch in enumerate(batches):
        known.add(batch)
        # What was added may be overwritten once it is settled.
        arrays = [None if x is None else x.copy() for x in (batch.packed.words, *batch[1:])]
        settled.add(Columns(PackedPatterns(arrays[0], 100, 1), *arrays[1:]))
        if k % 3 == 1:
            settled.settle()
            for array in arrays:
                if array is not None:
                    array[...] = 1
            if k % 2:
                settled.settle()  # nothing is new
        arrays = []
    expected, found = known.join(), settled.join()
    assert settled.regions == known.regions
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column, err_msg=name)
        assert column is None or (found[name].dtype, found[name].base) == (column.dtype, None)


def written_to(place: column_store.Place, batch: Columns) -> Columns:
    """A batch as whoever goes on in a place hands it over, if there is room for it."""
    points = place.used["points"]
    whole = {
        "words": batch.packed.words,
        **batch._asdict(),
        "corner_places": batch.corner_places + points,  # type: ignore[operator]
    }
    found: dict[str, Any] = {}
    for name, array in place.arrays.items():
        if whole[name] is None:
            found[name] = None
            continue
        begin = place.used[name]
        place.used[name] += len(whole[name])
        found[name] = array[begin : place.used[name]]
        found[name][...] = whole[name]
    return Columns(PackedPatterns(found.pop("words"), 100, 1), **found)


@pytest.mark.parametrize("seed", range(20))
def test_batches_that_lie_in_their_place_are_joined_as_others(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_store, "_FAR", [2000, 10**6][seed % 2])
    rng = np.random.default_rng(seed)
    known, settled = Store(), Store()
    place: column_store.Place | None = None
    for _ in range(30):
        batch = in_buffers(rng, int(rng.integers(1, 6)), facets=seed % 3 > 0)
        known.add(batch)
        if place is not None and place.arrays["words"] is not None:
            room = [
                array is None or len(array) - place.used[name] > 30
                for name, array in place.arrays.items()
            ]
            batch = written_to(place, batch) if all(room) else batch
        settled.add(batch)
        place = place if batch.packed.words.base is not None else None  # others lie in between
        if rng.random() < 0.3:
            place = settled.settle()
    expected, found = known.join(), settled.join()
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column, err_msg=name)


def test_memory_for_settled_batches_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing changes; and what there is memory for is joined."""
    rng = np.random.default_rng(6)
    batches = [in_buffers(rng, 5) for _ in range(8)]
    store = Store()
    for batch in batches[:2]:
        store.add(batch)
    store.settle()

    def refuse(*given: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as full:
        full.setattr(column_store, "_with_room", refuse)
        for batch in batches[2:]:
            store.add(batch)
        with pytest.raises(MemoryError):
            store.settle()
        assert store.regions == 40
        found = store.join()
    assert store.regions == 10
    for name, column in joined(batches[:2]).items():
        if column is not None:
            np.testing.assert_array_equal(found[name], column, err_msg=name)

    store = Store()
    for batch in batches[:4]:
        store.add(batch)
    store.settle()
    left = [True]  # there is no memory for what is made of all of them
    monkeypatch.setattr(
        Store, "_try_for_more", lambda _: refuse() if left and left.pop(0) else None
    )
    found = store.join()
    assert store.regions == len(found["witnesses"]) == 10
    for name, column in joined(batches[:2]).items():
        if column is not None:
            np.testing.assert_array_equal(found[name][: len(column)], column, err_msg=name)


def test_threads_make_the_same_table() -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**64, size=(30_000, 2), dtype=np.uint64)
    words[20_000] = words[9_000]
    words[10_000] = words[9_999]
    alone, repeated = build_table(words)
    together, same = build_table(words, workers=5)
    assert (repeated, same) == (10_000, 10_000)
    np.testing.assert_array_equal(alone, together)
    expected = np.arange(len(words))
    expected[[10_000, 20_000]] = 9_999, 9_000
    np.testing.assert_array_equal(PackedPatterns(words, 128, 1).find_words(words), expected)


def test_sections_that_are_full() -> None:
    count = _SECTION + 200  # all of which start in one section of the table
    candidates = np.random.default_rng(0).integers(0, 2**64, size=(8 * count, 1), dtype=np.uint64)
    starts = np.empty(len(candidates), np.int64)
    _hash_rows(candidates, 0, len(candidates), starts, 4 * _SECTION)
    words = candidates[starts < _SECTION][:count]
    words[-1] = words[-2]
    assert len(words) == count
    table, repeated = build_table(words, workers=2)
    assert len(table) == 4 * _SECTION
    assert repeated == count - 1
    assert (np.sort(table[table >= 0]) == np.arange(count - 1)).all()
    packed = PackedPatterns(words, 64, 1)
    np.testing.assert_array_equal(packed.find_words(words[:-1]), np.arange(count - 1))
    assert (packed.find_words(candidates[starts >= _SECTION][:50]) == -1).all()


@pytest.mark.parametrize(
    ("pieces", "bits"), [([1], 1), ([2, 2], 1), ([2, 3], 2), ([5], 3), ([], 1)]
)
def test_bits_are_as_few_as_possible(pieces: list[int], bits: int) -> None:
    assert PackedPatterns.bits_for(np.array(pieces, dtype=np.intp)) == bits


def test_ragged_rows() -> None:
    ragged = Ragged.from_counts(np.arange(5), np.array([2, 0, 3]))
    assert [row.tolist() for row in (ragged[0], ragged[1], ragged[2])] == [[0, 1], [], [2, 3, 4]]
    assert ragged.owners().tolist() == [0, 0, 2, 2, 2]
    assert ragged.counts.tolist() == [2, 0, 3]
