"""`Network.to_torch` and `Network.to_onnx`: exact copies, there and back again."""

import copy
import pickle

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given, settings

from strategies import networks
from tropicell import Affine, Layer, Network, Slice, from_onnx, from_torch, load
from tropicell.errors import FileWriteError


def reachable(network):
    """Without zero matrices, and layers that do not reach the output: importers leave them out."""
    terms = lambda a: {k: m for k, m in a.terms.items() if np.any(m)}  # noqa: E731
    layers = [Layer(Affine(terms(x.affine), x.affine.bias), x.activation) for x in network.layers]
    output = Affine(terms(network.output), network.output.bias)
    used, waiting = set(), [k for k in output.terms if k]
    while waiting:
        layer = waiting.pop()
        if layer not in used:
            used.add(layer)
            waiting.extend(k for k in layers[layer - 1].affine.terms if k)
    return len(used) == len(layers), Network(network.n_inputs, layers, output)


@settings(max_examples=25, deadline=None)
@given(networks(max_depth=4, max_width=4))
def test_round_trip(tmp_path_factory, network):
    whole, plain = reachable(network)
    points = np.random.default_rng(0).normal(size=(7, network.n_inputs)) * 3
    module = network.to_torch()
    with torch.no_grad():
        outputs = module(torch.from_numpy(points)).numpy()
    size = 1 + np.abs(network(points)).max()
    np.testing.assert_allclose(outputs, network(points), rtol=1e-12, atol=1e-12 * size)
    again = from_torch(module, (1, network.n_inputs))
    path = tmp_path_factory.mktemp("onnx") / "network.onnx"
    network.to_onnx(path)
    if whole:
        assert again == plain
        assert load(path) == plain
    np.testing.assert_allclose(again(points), network(points), rtol=1e-12, atol=1e-12 * size)


def test_slices_and_sparse_matrices(tmp_path):
    rng = np.random.default_rng(0)
    network = Network.mlp([rng.normal(size=(4, 3)), rng.normal(size=(1, 4))])
    line = network.restrict(Slice([1, 0, 0], [[0, 1, 1], [2, 0, 1]]))
    for again in (from_torch(line.to_torch(), (1, 2)), from_onnx(_written(line, tmp_path))):
        np.testing.assert_allclose(again([[0.5, 2.0]]), line([[0.5, 2.0]]), rtol=1e-12)


def _written(network, folder):
    network.to_onnx(folder / "network.onnx")
    return folder / "network.onnx"


def test_written_files_are_models(tmp_path):
    network = Network.mlp([[[1.0]], [[2.0]]])
    assert onnx.load(_written(network, tmp_path)) == network.to_onnx()
    with pytest.raises(FileWriteError):
        network.to_onnx(tmp_path / "no" / "such" / "folder.onnx")


def test_equality_and_hash():
    network = Network.mlp([[[1.0]], [[2.0]]])
    for same in (copy.deepcopy(network), pickle.loads(pickle.dumps(network)), network):
        assert same == network
        assert hash(same) == hash(network)
    assert network != Network.mlp([[[1.0]], [[2.5]]])
    assert network != Network.mlp([[[1.0, 0.0]], [[2.0]]])
    assert network != "network"
    assert len({network, copy.deepcopy(network)}) == 1


def test_one_point():
    network = Network.mlp([[[1.0, -1.0]], [[2.0]]])
    assert network([3, 1]).tolist() == [4.0]
    assert network([[3, 1]]).tolist() == [[4.0]]
