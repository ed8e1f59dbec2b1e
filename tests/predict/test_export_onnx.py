"""ONNX graphs in onnxruntime, compared with the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointsets import assert_equal_to_network, slivers, telling_points
from strategies import domains, networks, random_network
from tropicell import (
    Affine,
    Box,
    InvalidInputError,
    Network,
    Slice,
    enumerate_regions,
    from_onnx,
    to_onnx,
)
from tropicell.network.export import network_to_onnx

onnxruntime = pytest.importorskip("onnxruntime")


def run(model: Any, x: np.ndarray) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": x})


@given(data=st.data(), network=networks(max_inputs=4))
@settings(max_examples=30)
def test_equal_to_the_network(data: st.DataObject, network: Network) -> None:
    regions = enumerate_regions(network, data.draw(domains(network.n_inputs)))
    points = telling_points(regions)
    values, found = run(to_onnx(regions), points)
    assert_equal_to_network(network, points, values)
    witnesses = regions.witnesses.astype(float)
    width = np.abs(regions.locate(witnesses + 1e-9) - np.arange(len(regions)))
    sure = (width == 0) & (regions.locate(witnesses - 1e-9) == np.arange(len(regions)))
    np.testing.assert_array_equal(run(to_onnx(regions), witnesses)[1][sure], np.flatnonzero(sure))
    assert found.dtype == np.int64


def test_slivers() -> None:
    network, points = slivers()
    regions = enumerate_regions(network, Box(-10, 10))
    assert_equal_to_network(network, points, run(to_onnx(regions), points)[0])


def test_outside_of_the_domain() -> None:
    network = random_network(4, "generic", 2, 2, 5)
    regions = enumerate_regions(network, Box(-1, 1))
    points = np.array([[0.3, 0.2], [2.0, 0.0]])
    values, found = run(to_onnx(regions), points)
    np.testing.assert_allclose(values, network(points), rtol=1e-12)
    assert found.tolist() == regions.locate(points).tolist()
    values, found = run(to_onnx(regions, forward=False), points)
    np.testing.assert_allclose(values[0], network(points)[0], rtol=1e-12)
    assert np.isnan(values[1]).all()
    assert found[1] == -1


def test_float() -> None:
    network = random_network(4, "generic", 3, 3, 6)
    regions = enumerate_regions(network, Box(-1, 1))
    points = telling_points(regions).astype(np.float32)
    values, _ = run(to_onnx(regions, number="float"), points)
    assert values.dtype == np.float32
    assert_equal_to_network(network, points.astype(float), values, 1e-6)


def test_slices_single_regions_and_empty_batches() -> None:
    network = random_network(2, "generic", 4, 2, 5)
    regions = enumerate_regions(network, Slice([0.5, 0, 0, 1], [[1, 0, 1, 0]], Box(-1, 1)))
    points = telling_points(regions)
    assert_equal_to_network(regions.network, points, run(to_onnx(regions), points)[0])
    affine = enumerate_regions(Network(2, [], Affine({0: [[1.0, 2.0]]}, [3.0])))
    values, found = run(to_onnx(affine), np.ones((3, 2)))
    assert (values.tolist(), found.tolist()) == ([[6.0]] * 3, [0] * 3)


def test_file(tmp_path: Path) -> None:
    regions = enumerate_regions(random_network(4, "generic", 2, 2, 5), Box(-1, 1))
    model = to_onnx(regions, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == model.SerializeToString()


@given(networks())
@settings(max_examples=20)
def test_networks(network: Network) -> None:
    points = np.random.default_rng(0).normal(size=(20, network.n_inputs))
    assert_equal_to_network(network, points, run(network_to_onnx(network), points)[0])


def test_networks_come_back(tmp_path: Path) -> None:
    network = random_network(4, "generic", 2, 3, 5, relu=True)
    (tmp_path / "net.onnx").write_bytes(network_to_onnx(network).SerializeToString())
    points = np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_allclose(from_onnx(tmp_path / "net.onnx")(points), network(points))


def test_bad_number() -> None:
    regions = enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]))
    with pytest.raises(InvalidInputError, match="number must be"):
        to_onnx(regions, number="half")  # type: ignore[arg-type]
