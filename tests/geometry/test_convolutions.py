"""Convolutions that stay convolutions, against the loops that define them and against matrices."""

from __future__ import annotations

import itertools
import pickle
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from model_zoo import resnet18
from tropicell import (
    Box,
    InvalidInputError,
    InvalidNetworkError,
    Network,
    Slice,
    count_regions,
    enumerate_regions,
    from_onnx,
    from_torch,
    load,
    save,
)
from tropicell.geometry import convolutions, norms
from tropicell.geometry.arithmetic import EXACT, to_floats
from tropicell.geometry.convolutions import Convolution
from tropicell.importers import lowering


@st.composite
def convolutions_of_whole_numbers(draw: st.DrawFn) -> Convolution:
    axes = draw(st.integers(1, 2))
    sides = st.integers(1, 3)
    kernel = [draw(sides) for _ in range(axes)]
    shape = (draw(sides), draw(sides), *kernel)
    dilation = [draw(st.integers(1, 2)) for _ in range(axes)]
    pads = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(axes)]
    least = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    spatial = [draw(st.integers(n, n + 3)) for n in least]
    stride = [draw(st.integers(1, 2)) for _ in range(axes)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return Convolution(rng.integers(-4, 5, shape), spatial, stride, pads, dilation)


def written(c: Convolution) -> NDArray[np.float64]:
    """The matrix, entry by entry."""
    places, positions = np.prod(c.counts, dtype=int), np.prod(c.spatial, dtype=int)
    matrix = np.zeros((c.filters, places, c.channels, positions))
    for q, place in enumerate(itertools.product(*map(range, c.counts))):
        for tap in itertools.product(*map(range, c.weight.shape[2:])):
            at = [
                i * s - pad[0] + t * d
                for i, s, pad, t, d in zip(place, c.stride, c.pads, tap, c.dilation, strict=True)
            ]
            if all(0 <= a < n for a, n in zip(at, c.spatial, strict=True)):
                p = int(np.ravel_multi_index(at, c.spatial))
                matrix[:, q, :, p] += c.weight[(..., *tap)]
    return matrix.reshape(c.shape)


@given(convolutions_of_whole_numbers(), st.integers(0, 3))
def test_a_convolution_is_its_matrix(c: Convolution, columns: int) -> None:
    matrix = written(c)
    rng = np.random.default_rng(0)
    x, y = rng.integers(-9, 9, (c.shape[1], columns)), rng.integers(-9, 9, (columns, c.shape[0]))
    assert ((c @ x) == matrix @ x).all()
    assert ((y @ c) == y @ matrix).all()
    assert (c.tocsr().toarray() == matrix).all()
    assert (c.sum(axis=1) == matrix.sum(axis=1)).all()
    assert (abs(c).sum(axis=0) == np.abs(matrix).sum(axis=0)).all()
    assert c.size == c.tocsr().nnz
    assert c.most_per_row == np.diff(c.tocsr().indptr).max()
    rational = EXACT.matmul(EXACT.matrix(c), EXACT.array(x / 8.0))
    assert (to_floats(rational) == matrix @ x / 8.0).all()


@given(convolutions_of_whole_numbers())
def test_norms_of_convolutions_are_bounds(c: Convolution) -> None:
    matrix = written(c)
    longest = np.linalg.norm(matrix, 2)
    assert longest <= norms.spectral_norm(c) * (1 + 1e-12)
    assert np.isclose(norms.frobenius_norm(c), np.linalg.norm(matrix))
    assert np.isclose(norms.largest_row(c), np.linalg.norm(matrix, axis=1).max())


def test_convolutions_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="do not fit an input of shape"):
        Convolution(np.ones((1, 1, 3)), [2])
    with pytest.raises(InvalidNetworkError, match="not finite"):
        Convolution([[[np.nan]]], [2])


def module() -> torch.nn.Module:
    torch.manual_seed(1)
    layers = [
        torch.nn.Conv2d(1, 3, 3, padding=1),
        torch.nn.BatchNorm2d(3),
        torch.nn.ReLU(),
        torch.nn.Conv2d(3, 4, 3, stride=2, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(4, 4, (3, 1), padding=(1, 0), dilation=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(4, 2, 2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(18, 2),
    ]
    return torch.nn.Sequential(*layers).eval()


@pytest.fixture(scope="module")
def both() -> tuple[Network, Network]:
    """The same network with convolutions, and with matrices."""
    with patch.object(lowering, "LARGE_CONVOLUTION", 1):
        structured = from_torch(module(), (1, 1, 8, 8))
    kinds = [m for layer in structured.layers for m in layer.affine.operators.values()]
    assert sum(isinstance(m, Convolution) for m in kinds) == 4
    return structured, from_torch(module(), (1, 1, 8, 8))


def plane(half: float) -> Slice:
    images = np.random.default_rng(3).uniform(size=(3, 64))
    return Slice(images[0], images[1:] - images[0], Box(-half, half))


def test_both_networks_are_one(both: tuple[Network, Network]) -> None:
    structured, plain = both
    points = np.random.default_rng(0).normal(size=(50, 64))
    assert np.allclose(structured(points), plain(points), rtol=1e-12)
    assert (structured.patterns(points) == plain.patterns(points)).all()
    assert structured == plain
    assert pickle.loads(pickle.dumps(structured)) == plain
    at = plane(1.0).origin[None]
    assert (structured.evaluate(at) == plain.evaluate(at)).all()


@pytest.mark.parametrize("half", [0.2, 1.0])
def test_both_have_the_same_regions(both: tuple[Network, Network], half: float) -> None:
    structured, plain = both
    expected = enumerate_regions(plain, plane(half))
    found = enumerate_regions(structured, plane(half))
    assert len(found) == len(expected) > 4
    assert {r.pattern.tobytes() for r in found} == {r.pattern.tobytes() for r in expected}
    assert np.isclose(found.volumes.sum(), expected.volumes.sum())
    assert np.allclose(
        sorted(m.sum() for m in found.affine_maps), sorted(m.sum() for m in expected.affine_maps)
    )
    # Without a focus on the neurons that can change, kernels read the filters.
    with patch("tropicell.engines.cells.focus.FocusMaker.pays", lambda _: False):
        alone = Network(structured.n_inputs, structured.layers, structured.output)
        assert count_regions(alone, plane(half), engine="cells") == len(expected)


def test_lines_and_spaces_go_through_convolutions(both: tuple[Network, Network]) -> None:
    images = np.random.default_rng(3).uniform(size=(4, 64))
    for count, half in [(1, 1.0), (3, 0.05)]:
        domain = Slice(images[0], images[1 : count + 1] - images[0], Box(-half, half))
        numbers = [count_regions(net, domain, engine="cells") for net in both]
        assert numbers[0] == numbers[1] > 3


def test_convolutions_are_kept_in_files(both: tuple[Network, Network], tmp_path) -> None:
    structured, plain = both
    save(structured, tmp_path / "network.npz")
    again = load(tmp_path / "network.npz")
    assert isinstance(again.layers[1].affine.operators[1], Convolution)
    assert again == plain
    structured.to_onnx(tmp_path / "network.onnx")
    assert from_onnx(tmp_path / "network.onnx") == plain
    assert from_torch(structured.to_torch(), (1, 64)) == plain


def test_what_needs_a_matrix_says_so(both: tuple[Network, Network]) -> None:
    with (
        patch.object(convolutions.Convolution.tocsr, "__defaults__", (10,)),
        pytest.raises(InvalidInputError, match="too large for this: at most 10 are written out"),
    ):
        count_regions(both[0], Box(0, 1), engine="halfspaces", max_regions=2)


@pytest.mark.timeout(1200)  # 15 seconds, and minutes where much else is done
def test_a_whole_resnet_18() -> None:
    """11 million parameters; as a matrix, most convolutions would have 37 million numbers."""
    torch.manual_seed(0)
    network = from_torch(resnet18(64, pool=False).eval(), (1, 3, 32, 32))
    assert network.n_neurons == 557_056
    images = np.random.default_rng(0).uniform(size=(3, 3072))
    domain = Slice(images[0], images[1:] - images[0], Box(-1e-5, 1e-5))
    count = count_regions(network, domain)
    corners = np.array(list(itertools.product([-1e-5, 0.0, 1e-5], repeat=2)))
    seen = np.unique(network.patterns(domain.embed(corners)), axis=0)
    assert count >= len(seen) > 1
