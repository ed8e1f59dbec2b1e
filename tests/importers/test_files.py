"""`load` and `save`: round trips, the simple layout, damaged and dangerous files."""

import io
import itertools
import json
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from safetensors.numpy import save_file

import tropicell
from children import run_python
from tropicell import Affine, Layer, Network, Slice, load, save
from tropicell.errors import InvalidInputError, ModelFileError, TropicellError
from tropicell.network.activations import clip, hard_sigmoid, leaky_relu, piecewise, prelu

SUFFIXES = [".npz", ".safetensors"]


def general():
    rng = np.random.default_rng(0)
    sparse = sp.csr_array(sp.random(6, 3, density=0.4, random_state=0))
    layers = [
        Layer(Affine({0: sparse}, rng.normal(size=6)), prelu(rng.normal(size=6)), "first"),
        Layer(Affine({0: rng.normal(size=(2, 3)), 1: rng.normal(size=(2, 6))}), hard_sigmoid()),
        Layer(Affine({2: rng.normal(size=(3, 2))}), clip([-1, 0, -np.inf], [1, 0, 5])),
        Layer(
            Affine({3: np.eye(3)}), piecewise([0, 1, 2], [0, 1, -1, 0], [0, 0, 2, 0], name="tent")
        ),
    ]
    return Network(3, layers, Affine({1: np.ones((2, 6)), 4: np.ones((2, 3))}, [1.0, 2.0]))


def assert_equal(a, b):
    """The same network, bit by bit."""
    assert (a.n_inputs, a.widths, a.n_outputs) == (b.n_inputs, b.widths, b.n_outputs)
    assert repr(a) == repr(b)
    points = np.random.default_rng(1).normal(size=(20, a.n_inputs)) * 3
    np.testing.assert_array_equal(a(points), b(points))
    np.testing.assert_array_equal(a.patterns(points), b.patterns(points))
    for left, right in zip(a.layers, b.layers, strict=True):
        assert (left.name, left.activation.name) == (right.name, right.activation.name)
        kinds = [type(m) for m in left.affine.terms.values()]
        assert kinds == [type(m) for m in right.affine.terms.values()]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip(suffix, tmp_path):
    path = tmp_path / f"net{suffix}"
    save(general(), path)
    assert_equal(load(path), general())
    on_plane = general().restrict(Slice([1, 0, 0], [[0, 1, 1], [0.5, 0, 0]]))
    save(on_plane, path)
    assert_equal(load(path), on_plane)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=5), st.sampled_from(SUFFIXES), st.data())
def test_round_trip_of_any_perceptron(tmp_path_factory, sizes, suffix, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    weights = [rng.normal(size=(n, m)) for m, n in itertools.pairwise(sizes)]
    kind = data.draw(st.sampled_from(["relu", "abs", "hard_tanh", leaky_relu(0.2)]))
    network = Network.mlp(weights, [rng.normal(size=len(w)) for w in weights], activation=kind)
    path = tmp_path_factory.mktemp("net") / f"net{suffix}"
    save(network, path)
    assert_equal(load(path), network)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "net.npz"
    save(general(), path)
    before = path.read_bytes()

    def fail(*arguments, **keywords):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        save(general(), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["net.npz"]


def test_save_wants_a_known_suffix(tmp_path):
    with pytest.raises(InvalidInputError, match=r"\.npz"):
        save(general(), tmp_path / "net.pkl")


# --- the simple layout ----------------------------------------------------------------------------

MLP = {
    "W0": np.ones((3, 2)), "b0": np.zeros(3), "W1": np.ones((3, 3)), "b1": np.zeros(3),
    "W2": np.ones((1, 3)), "b2": np.zeros(1),
}  # fmt: skip


def test_perceptron_with_extras(tmp_path):
    np.savez(tmp_path / "m.npz", **MLP, skips=[[1, 3]], activation="abs", n_layers=3, box=1.0)
    network = load(tmp_path / "m.npz")
    assert network.skips == [(1, 3)]
    assert network.layers[0].activation.name == "abs"
    np.savez(tmp_path / "m.npz", **MLP, activation=np.array(["abs", "relu"]))
    assert [layer.activation.name for layer in load(tmp_path / "m.npz").layers] == ["abs", "relu"]
    save_file(MLP, tmp_path / "m.safetensors", metadata={"activation": "relu6"})
    assert load(tmp_path / "m.safetensors").layers[1].activation.name == "relu6"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": 1}, "found 'extra'"),
        ({"W1": None}, "no array 'W1'"),
        ({"W0": None}, "W0 is missing"),
        ({"n_layers": 7}, "n_layers is 7"),
        ({"skips": [1, 2, 3]}, "skips must be"),
        ({"skips": [[0, 9]]}, "skip 0→9"),
        ({"activation": "sigmoid"}, "unknown activation 'sigmoid'"),
        ({"W1": np.full((3, 3), np.nan)}, "nan"),
        ({"W1": np.ones((3, 2))}, "2 columns"),
        ({"b1": np.zeros(5)}, "bias of layer 2"),
        ({"W1": np.array([["a"] * 3] * 3)}, "not an array of numbers"),
    ],
)
def test_bad_perceptron(change, message, tmp_path):
    arrays = {k: v for k, v in {**MLP, **change}.items() if v is not None}
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(ModelFileError, match=message) as caught:
        load(tmp_path / "m.npz")
    assert "m.npz" in str(caught.value)


@pytest.mark.parametrize(
    "name", ["bunny_2d_2x100", "bunny_2d_4x32", "bunny_3d_3x16", "bunny_3d_8x32"]
)
def test_models_of_others(models, name):
    depth, width = (int(n) for n in name.split("_")[2].split("x"))
    network = load(models / f"{name}.npz")
    assert (network.n_inputs, network.widths) == (int(name[6]), (width,) * depth)


# --- damaged and dangerous files ------------------------------------------------------------------


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code of the file was run",))


@pytest.mark.parametrize("suffix", [".pkl", ".pt", ".npz", ".onnx", ".pt2", ".safetensors", ".x"])
def test_pickles_are_refused_under_any_name(suffix, tmp_path):
    path = tmp_path / f"m{suffix}"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelFileError, match=r"pickle.*torch\.export"):
        load(path)
    torch.save({"w": torch.zeros(2)}, path)
    with pytest.raises(ModelFileError, match=r"pickle.*torch\.export"):
        load(path)


def test_objects_in_arrays_are_refused(tmp_path):
    np.savez(tmp_path / "m.npz", W0=np.array([Bomb()], dtype=object))
    with pytest.raises(ModelFileError, match="Python objects"):
        load(tmp_path / "m.npz")


def test_state_dicts_are_refused_with_advice(tmp_path):
    state = {"0.weight": np.ones((2, 2)), "0.bias": np.zeros(2)}
    save_file(state, tmp_path / "m.safetensors")
    np.savez(tmp_path / "m.npz", **state)
    for name in ("m.safetensors", "m.npz"):
        with pytest.raises(ModelFileError, match=r"state dict.*from_torch"):
            load(tmp_path / name)


@pytest.mark.parametrize("suffix", [".npz", ".onnx", ".pt2", ".safetensors"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY garbage", b"x" * 1000])
def test_garbage(suffix, content, tmp_path):
    path = tmp_path / f"m{suffix}"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=f"m{suffix}"):
        load(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_truncated(suffix, tmp_path):
    path = tmp_path / f"m{suffix}"
    save(general(), path)
    content = path.read_bytes()
    for length in np.linspace(0, len(content) - 1, 25).astype(int):
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            load(path)


def _write_every_kind(folder):
    save(general(), folder / "a.npz")
    save(general(), folder / "b.safetensors")
    np.savez_compressed(folder / "c.npz", **MLP)
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    torch.export.save(torch.export.export(module, (torch.zeros(1, 2),)), folder / "d.pt2")
    weights = helper.make_tensor("w", TensorProto.FLOAT, [2, 1], [1.0, 2.0])
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, n])
        for name, n in (("x", 2), ("y", 1))
    ]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [weights])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), folder / "e.onnx")
    return sorted(folder.iterdir())


@pytest.mark.filterwarnings("ignore")
def test_damaged_bytes_are_noticed(tmp_path):
    """The same network, or an error that names the file; ONNX files have no checksums."""
    rng = np.random.default_rng(0)
    refused = 0
    for path in _write_every_kind(tmp_path):
        content, network = path.read_bytes(), load(path)
        for _ in range(40):
            damaged = bytearray(content)
            for place in rng.integers(len(content), size=3):
                damaged[place] = rng.integers(256)
            path.write_bytes(damaged)
            try:
                found = load(path)
            except TropicellError as error:
                assert path.name in str(error), error  # noqa: PT017 - or none
                refused += 1
            else:
                assert isinstance(found, Network)
                assert path.suffix == ".onnx" or found.fingerprint == network.fingerprint
    assert refused > 100


def test_missing_folder_and_unknown_suffix(tmp_path):
    with pytest.raises(ModelFileError, match="no such file"):
        load(tmp_path / "no.npz")
    with pytest.raises(ModelFileError, match="is a folder"):
        load(tmp_path)
    (tmp_path / "m.txt").write_text("hello")
    with pytest.raises(ModelFileError, match=r"unknown suffix '\.txt'"):
        load(tmp_path / "m.txt")


def test_claimed_sizes_are_checked_before_reading(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**7, 10**6)}
    )
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.writestr("W0.npy", header.getvalue())
    with pytest.raises(ModelFileError, match="claims"):
        load(tmp_path / "m.npz")
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ModelFileError, match=r"readme\.txt"):
        load(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h | {"version": 99}, "version 99"),
        (lambda h: h | {"format": "other"}, "does not say"),
        (lambda h: h | {"n_inputs": 5}, "expects 3 values"),
        (lambda h: h | {"layers": [{}]}, "do not make a network"),
        (lambda h: {k: v for k, v in h.items() if k != "layers"}, "no array 'layers'"),
        (lambda h: [1, 2], "does not say"),
        (lambda h: h | {"output": {"sources": [77]}}, "no array 'output.from77'"),
    ],
)
def test_bad_header(change, message, tmp_path):
    save(general(), tmp_path / "m.npz")
    arrays = dict(np.load(tmp_path / "m.npz"))
    arrays["header"] = np.array(json.dumps(change(json.loads(str(arrays["header"])))))
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m.npz")
    arrays["header"] = np.array("not JSON")
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(ModelFileError, match="not JSON"):
        load(tmp_path / "m.npz")


def test_damaged_sparse_matrix(tmp_path):
    save(general(), tmp_path / "m.npz")
    arrays = dict(np.load(tmp_path / "m.npz"))
    arrays["layer1.from0.indices"] = arrays["layer1.from0.indices"] + 1000
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(ModelFileError, match="do not make a network"):
        load(tmp_path / "m.npz")


def test_importing_the_package_stays_light():
    heavy = ("torch", "onnx", "sklearn", "safetensors")
    code = f"import sys, tropicell; print([m for m in {heavy} if m in sys.modules])"
    assert run_python("-c", code).stdout.strip() == "[]"
    assert tropicell.from_torch.__name__ == "from_torch"


@pytest.mark.posix
def test_files_may_be_read_by_whom_the_user_lets(tmp_path: Path) -> None:
    network, file = Network.mlp([[[1.0]]]), tmp_path / "net.npz"
    before = os.umask(0o027)
    try:
        save(network, file)
        assert file.stat().st_mode & 0o777 == 0o640
        file.chmod(0o600)
        save(network, file)
        assert file.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)
