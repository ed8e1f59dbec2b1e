"""Searches of large networks by the few neurons that can change on a unit's cells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from searching import assert_same_columns, tuned
from strategies import KINDS, random_network
from tropicell import Box, Network, Polytope, Slice, WholeSpace, count_regions, enumerate_regions
from tropicell.engines.cells import focus as focusing
from tropicell.engines.cells._focus import Focus
from tropicell.engines.cells._state import LAYER, TOP
from tropicell.engines.cells.focus import FocusMaker
from tropicell.engines.cells.task import CellTask
from tropicell.network import flat as flattening
from tropicell.network import network as network_module
from tropicell.network.domains import Domain, resolve
from tropicell.network.flat import flatten
from tropicell.paper.algorithm2 import traverse

some = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@contextmanager
def focused(yes: bool = True) -> Iterator[None]:
    """All networks get a focus, or none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(focusing, "_is_heavy", lambda _: yes)
        yield


def relus(seed: int, kind: str, depth: int, width: int) -> Network:
    return random_network(seed, kind, 2, depth, width, relu=True)


def patterns(network: Network, domain: Domain, **options: object) -> list[bytes]:
    found = enumerate_regions(network, domain, engine="cells", **options)
    assert found.complete
    return sorted(row.tobytes() for row in found.patterns)


def copy(network: Network) -> Network:
    """The same network, of which nothing is remembered."""
    return Network(network.n_inputs, network.layers, network.output)


@some
@given(
    st.integers(0, 10**6),
    st.sampled_from(KINDS),
    st.integers(2, 4),
    st.sampled_from(["box", "small box", "polytope", "plane"]),
)
def test_the_same_regions_as_the_oracle(seed: int, kind: str, depth: int, where: str) -> None:
    network = relus(seed, kind, depth, 5)
    domain: Domain = {
        "box": Box(-2, 2),
        "small box": Box([0.1, -0.3], [0.15, -0.2]),
        "polytope": Polytope([[1, 1], [-1, 0.5], [0, -1], [1, 1]], [1, 1, 1, 1]),
        "plane": WholeSpace(),
    }[where]
    expected = sorted(pattern.tobytes() for pattern, _ in traverse(network, domain))
    with focused(), tuned(limits=(1, 2, 3), focus_grain=2):
        network = copy(network)
        assert patterns(network, domain) == expected
        assert count_regions(network, domain, engine="cells") == len(expected)


def convolutional(seed: int, size: int = 10, channels: int = 3) -> Network:
    """Two convolutions and a dense layer, as matrices of which most numbers are 0."""
    rng = np.random.default_rng(seed)

    def convolution(sources: int) -> np.ndarray:
        kernel = rng.normal(size=(channels, sources, 3, 3)) / np.sqrt(4.5 * sources)
        matrix = np.zeros((channels, size, size, sources, size, size))
        for y in range(size):
            for x in range(size):
                for i in range(max(0, y - 1), min(size, y + 2)):
                    for j in range(max(0, x - 1), min(size, x + 2)):
                        matrix[:, y, x, :, i, j] = kernel[:, :, i - y + 1, j - x + 1]
        return matrix.reshape(channels * size * size, sources * size * size)

    weights = [convolution(1), convolution(channels), convolution(channels)]
    weights += [rng.normal(size=(20, weights[2].shape[0])) / 15, rng.normal(size=(1, 20))]
    return Network.mlp(weights, [rng.normal(size=len(w)) * 0.1 for w in weights], skips=[(1, 3)])


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_convolutions_have_the_same_regions_with_and_without(arithmetic: str) -> None:
    network = convolutional(0)
    rng = np.random.default_rng(1)
    plane = Slice(rng.normal(size=100), rng.normal(size=(2, 100)), Box(-0.1, 0.1))
    with focused(False):
        expected = enumerate_regions(copy(network), plane, arithmetic=arithmetic)
    assert len(expected) > 300
    for limits, workers in [((2, 8, 128), 1), ((1, 2, 4), 1), ((1, 2, 4), 2)]:
        with focused(), tuned(limits=limits):
            found = enumerate_regions(copy(network), plane, arithmetic=arithmetic, workers=workers)
        assert found.stats["tests"] < expected.stats["tests"] / 3  # few neurons were looked at
        order = [
            np.lexsort(np.ascontiguousarray(regions.patterns).T) for regions in (found, expected)
        ]
        assert (found.patterns[order[0]] == expected.patterns[order[1]]).all()
        assert np.allclose(found.volumes[order[0]], expected.volumes[order[1]], rtol=1e-7)
        assert found.volumes.sum() == pytest.approx(0.04)


def test_the_result_does_not_depend_on_the_workers() -> None:
    network = convolutional(3)
    rng = np.random.default_rng(2)
    plane = Slice(rng.normal(size=100), rng.normal(size=(2, 100)), Box(-0.05, 0.05))
    with focused(), tuned(limits=(1, 2, 4)):
        one = enumerate_regions(copy(network), plane)
        assert_same_columns(enumerate_regions(copy(network), plane, workers=3), one)
    assert one.certify().ok


# --- what a focus promises ------------------------------------------------------------------------


def square(box: Box, scale: np.ndarray) -> np.ndarray:
    """The corners of a box, in scaled coordinates."""
    low, high = box.low * scale, box.high * scale
    return np.array([[x, y] for x in (low[0], high[0]) for y in (low[1], high[1])])


def neurons(focus: Focus, level: int) -> np.ndarray:
    """The rows of the neurons of a level."""
    return focus.rows[focus.start[level, 0] : focus.start[level, -1]]


def check_bounds(
    network: Network, scale: np.ndarray, focus: Focus, level: int, pieces: np.ndarray
) -> None:
    """Compare base and weights of a level with exact ones.

    `pieces` are those of the neurons that are not of the level.
    """
    # Exact rows of all neurons, as maps of the scaled coordinates, 1, and outputs of the level.
    place = {int(row): k for k, row in enumerate(neurons(focus, level))}
    columns = 3 + len(place)
    zero = [Fraction(0)] * columns
    outputs = [[zero.copy() for _ in range(2)]]
    for c in range(2):
        outputs[0][c][c] = 1 / Fraction(float(scale[c]))
    row, start = 2, focus.start[level] - focus.start[level, 0]
    first = int(focus.first[level]) if level else 0
    for ell, layer in enumerate(network.layers, start=1):
        after, errors = [], zero.copy()
        begin, size = int(start[ell]), int(start[ell + 1] - start[ell])
        for i in range(layer.width):
            exact = zero.copy()
            exact[2] = Fraction(float(layer.affine.bias[i]))
            for source, matrix in layer.affine.terms.items():
                for weight, read in zip(matrix[i].tolist(), outputs[source], strict=True):
                    if weight:
                        exact = [a + Fraction(weight) * b for a, b in zip(exact, read, strict=True)]
            if row in place:
                k = place[row]
                at = int(focus.start[level, 0]) + k
                for c in range(3 if ell > first else 0):
                    halves = float(focus.base[c, at]), float(focus.base[3 + c, at])
                    errors[c] += (sum(map(Fraction, halves)) - exact[c]) ** 2
                for j in range(begin if ell > first else 0):
                    at = int(focus.weights_at[level, ell]) + j * size + k - begin
                    halves = float(focus.weights[at]), float(focus.weights_low[at])
                    errors[3 + j] += (sum(map(Fraction, halves)) - exact[3 + j]) ** 2
                after.append([Fraction(c == 3 + k) for c in range(columns)])
            else:
                after.append(exact if pieces[row - 2] else zero)
            row += 1
        outputs.append(after)
        for c in range(3):
            assert errors[c] <= Fraction(float(focus.base_error[level, ell, c])) ** 2
        assert sum(errors[3:]) <= Fraction(float(focus.weights_error[level, ell])) ** 2


@some
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(2, 5))
def test_bases_and_weights_are_within_their_bounds(seed: int, kind: str, depth: int) -> None:
    network = relus(seed, kind, depth, 7)
    rng = np.random.default_rng(seed)
    low = rng.normal(size=2)
    box = Box(low, low + 10.0 ** rng.uniform(-6, 0))
    network, domain = resolve(network, box)
    flat = flatten(network, domain)
    scale = flat.lines.scale
    needed = rng.integers(2, flat.rows, size=2)
    focus = FocusMaker(network, flat).focus(square(box, scale), needed=needed)
    assert focus is not None
    assert set(needed.tolist()) <= set(neurons(focus, 0).tolist())
    check_bounds(network, scale, focus, 0, focus.fixed)


@some
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(3, 5), st.integers(1, 20))
def test_those_of_further_levels_are_too(seed: int, kind: str, depth: int, most: int) -> None:
    network = relus(seed, kind, depth, 12)
    with focused(), tuned(narrowed=(1, 1)):
        task = CellTask(copy(network), Box(-1, 1), store=False)
        worker = task.worker()
        worker.run(task.root(), most, lambda: False)
    room, lines = worker._room, task.flat.lines
    focus, top = room.stack.focus, int(room.state[TOP])
    for level in range(1, int(focus.now[0]) + 1 if top else 0):
        # The pieces of layers that cells of the level have left are known.
        if room.stack.records[top - 1, LAYER] > focus.first[level]:
            known = int(lines.row_start[focus.first[level] + 1]) - 2
            pieces = np.concatenate([room.maps.pattern[:known], focus.fixed[known:]])
            assert set(neurons(focus, level)) < set(neurons(focus, level - 1))
            check_bounds(task.network, lines.scale, focus, level, pieces)


@some
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(2, 5))
def test_fixed_neurons_are_fixed(seed: int, kind: str, depth: int) -> None:
    network = relus(seed, kind, depth, 8)
    rng = np.random.default_rng(seed)
    low = rng.normal(size=2)
    box = Box(low, low + 10.0 ** rng.uniform(-6, 0.5))
    flat = flatten(network, box)
    focus = FocusMaker(network, flat).focus(square(box, flat.lines.scale))
    assert focus is not None
    fixed = np.ones(network.n_neurons, np.bool_)
    fixed[neurons(focus, 0) - 2] = False
    for pattern, _ in traverse(network, box):
        assert (pattern[fixed] == focus.fixed[fixed]).all()


def test_a_box_with_many_neurons_has_no_focus() -> None:
    rng = np.random.default_rng(0)
    network = Network.mlp([rng.normal(size=(1200, 2)), rng.normal(size=(5, 1200)), np.ones((1, 5))])
    flat = flatten(network, Box(-1, 1))
    assert FocusMaker(network, flat).focus(square(Box(-1, 1), flat.lines.scale)) is None


# --- as often as it comes -------------------------------------------------------------------------


@some
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(2, 6), st.integers(1, 4))
def test_the_same_regions_with_levels(seed: int, kind: str, depth: int, few: int) -> None:
    network = relus(seed, kind, depth, 9)
    expected = enumerate_regions(network, Box(-1, 1), engine="cells")
    with focused(), tuned(narrowed=(few, 1), limits=(3, 20, 1000), focus_grain=1):
        found = enumerate_regions(copy(network), Box(-1, 1), engine="cells")
        assert count_regions(copy(network), Box(-1, 1), engine="cells") == len(expected)
    assert sorted(map(bytes, found.patterns)) == sorted(map(bytes, expected.patterns))
    assert found.volumes.sum() == pytest.approx(4.0)


def test_searches_go_on_after_a_checkpoint(tmp_path: Path) -> None:
    network = convolutional(4)
    rng = np.random.default_rng(3)
    plane = Slice(rng.normal(size=100), rng.normal(size=(2, 100)), Box(-0.08, 0.08))
    file = tmp_path / "search.npz"
    with focused(), tuned(limits=(1, 2, 40), focus_grain=1, narrowed=(1, 1)):
        expected = enumerate_regions(copy(network), plane)
        part = enumerate_regions(copy(network), plane, max_regions=60, checkpoint=file)
        assert not part.complete
        assert 60 <= len(part) < len(expected)
        assert_same_columns(enumerate_regions(copy(network), plane, checkpoint=file), expected)
        two = enumerate_regions(copy(network), plane, workers=2)
        assert_same_columns(two, expected)
        assert count_regions(copy(network), plane) == len(expected)


def test_what_is_made_from_the_layers_is_made_once_for_all_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = random_network(3, "generic", 5, 3, 12, relu=True)
    rng = np.random.default_rng(0)
    planes = [Slice.through(rng.normal(size=(3, 5)), Box(-1, 1)) for _ in range(3)]
    made: list[str] = []

    def noted(name: str, make: Any) -> Any:
        def noting(given: Network, other: Any) -> Any:
            if given.layers == network.layers:  # not that by which kernels are loaded
                made.append(name)
            return make(given, other)

        return noting

    with focused():
        expected = [patterns(copy(network), plane) for plane in planes]
        monkeypatch.setattr(flattening, "_terms", noted("terms", flattening._terms))
        monkeypatch.setattr(focusing, "_terms_of", noted("focus", focusing._terms_of))
        found = [patterns(network, plane) for plane in planes]
    assert found == expected
    assert sorted(made) == ["focus", "terms"]
    assert min(map(len, expected)) > 5


def test_little_is_kept_of_large_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_module, "_MOST_NUMBERS_KEPT", 10)
    network = random_network(3, "generic", 5, 3, 12, relu=True)
    assert count_regions(network, Slice.through(np.eye(5)[:3], Box(-1, 1))) > 1
    assert not network._of_layers
