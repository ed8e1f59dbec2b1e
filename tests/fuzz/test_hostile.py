"""Files that want to read other files, take all memory or break compiled code: each is refused."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import scipy.sparse as sp
from onnx import TensorProto, helper, numpy_helper

from fuzz.seeds import general, perceptron
from tropicell import (
    Affine,
    Box,
    ModelFileError,
    ModelImportError,
    Network,
    Slice,
    TropicellError,
    enumerate_regions,
    load,
    load_regions,
    save,
    verify_certificate,
)
from tropicell.errors import InvalidNetworkError
from tropicell.importers import expressions
from tropicell.network.maps import AffineMap

node = helper.make_node


def write_onnx(path: Path, nodes: list[Any], arrays: dict[str, Any], **more: Any) -> None:
    """A model of three inputs; `more` goes into the graph, or into the model."""
    weights = [
        value
        if isinstance(value, TensorProto)
        else numpy_helper.from_array(np.asarray(value), name)
        for name, value in arrays.items()
    ]
    values = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
    ]
    functions = more.pop("functions", [])
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], weights, **more)
    opset = [helper.make_opsetid("", 17), helper.make_opsetid("here", 1)]
    model = helper.make_model(graph, opset_imports=opset, functions=functions, ir_version=8)
    onnx.save(model, path)


# --- other files ----------------------------------------------------------------------------------


def elsewhere(location: str) -> TensorProto:
    """A tensor of three floats that says that its data is in another file."""
    tensor = TensorProto(name="w", data_type=1, dims=[3], data_location=1)
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", location
    return tensor


@pytest.mark.posix
@pytest.mark.parametrize("place", ["initializer", "constant", "function", "sparse", "inner graph"])
@pytest.mark.parametrize("how", ["beside", "absolute", "link", "where we are"])
def test_data_of_other_files_is_never_read(
    place: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data is read only from next to the model, whichever part of the model asks for it."""
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.ones(3, np.float32).tobytes())
    folder = tmp_path / "model"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    (folder / "link.bin").symlink_to(secret)
    names = {"beside": "../secret.bin", "absolute": str(secret), "link": "link.bin"}
    tensor = elsewhere(names.get(how, "secret.bin"))
    constant = node("Constant", [], ["w"], value=tensor)
    add = node("Add", ["x", "w"], ["y"])
    path = folder / "m.onnx"
    if place == "initializer":
        write_onnx(path, [add], {"w": tensor})
    elif place == "constant":
        write_onnx(path, [constant, add], {})
    elif place == "function":
        body = [constant, node("Add", ["a", "w"], ["b"])]
        function = helper.make_function(
            "here", "F", ["a"], ["b"], body, [helper.make_opsetid("", 17)]
        )
        call = node("F", ["x"], ["y"], domain="here")
        write_onnx(path, [call], {}, functions=[function])
    elif place == "sparse":
        where = numpy_helper.from_array(np.arange(3), "at")
        sparse = helper.make_sparse_tensor(tensor, where, [3])
        write_onnx(path, [add], {}, sparse_initializer=[sparse])
    else:
        value = helper.make_tensor_value_info("w", TensorProto.FLOAT, [3])
        branch = helper.make_graph([constant], "branch", [], [value])
        choice = node("If", ["yes"], ["w"], then_branch=branch, else_branch=branch)
        write_onnx(path, [choice, add], {"yes": np.array(True)})
    with pytest.raises(ModelFileError, match=r"next to the model|which is missing") as caught:
        load(path)
    assert "m.onnx" in str(caught.value)


def test_a_function_that_calls_itself(tmp_path: Path) -> None:
    body = [node("F", ["a"], ["b"], domain="here")]
    opset = [helper.make_opsetid("", 17), helper.make_opsetid("here", 1)]
    function = helper.make_function("here", "F", ["a"], ["b"], body, opset)
    write_onnx(
        tmp_path / "m.onnx", [node("F", ["x"], ["y"], domain="here")], {}, functions=[function]
    )
    with pytest.raises(TropicellError, match=r"m\.onnx"):
        load(tmp_path / "m.onnx")


@pytest.mark.parametrize("version", [2**31, 0])
def test_unknown_operator_sets(version: int, tmp_path: Path) -> None:
    """No shape can be worked out in advance for operators that nobody knows."""
    write_onnx(tmp_path / "m.onnx", [node("Relu", ["x"], ["y"])], {})
    model = onnx.load(tmp_path / "m.onnx")
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("" if version else "here", version))
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(ModelImportError, match=r"m\.onnx.*operator set"):
        load(tmp_path / "m.onnx")


# --- sizes that are claimed -----------------------------------------------------------------------

BIG = np.array([30_000, 30_000])
ONE = np.ones((1, 1), np.float32)
IMAGE = np.ones((1, 1, 1, 1), np.float32)
ROW = np.ones((1, 30_000), np.float32)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes"),
    [
        ("ConstantOfShape", [BIG], {}),
        ("Expand", [np.float32(1), BIG], {}),
        ("Expand", [np.ones(2, np.float32), np.array([10**6, 10**12])], {}),
        ("Tile", [ONE, BIG], {}),
        ("Tile", [np.ones(2, np.float32), np.array([10**12, 1])], {}),
        ("Range", [np.array(0), np.array(10**12), np.array(1)], {}),
        ("OneHot", [np.zeros(30_000, int), np.array(10**6), np.array([0.0, 1.0])], {}),
        ("Pad", [ONE, np.array([0, 0, *BIG])], {}),
        ("Conv", [IMAGE, IMAGE], {"pads": [30_000] * 4}),
        ("AveragePool", [IMAGE], {"kernel_shape": [1, 1], "pads": [30_000] * 4}),
        ("MatMul", [ROW.T, ROW], {}),
        ("Add", [ROW.T, ROW], {}),
        ("Gather", [ROW, np.zeros(30_000, int)], {}),
    ],
)
def test_constants_made_from_nothing(
    operator: str, inputs: list[Any], attributes: dict[str, Any], tmp_path: Path
) -> None:
    """Files of some bytes that ask for gigabytes or more."""
    arrays = {f"i{k}": value for k, value in enumerate(inputs)}
    nodes = [
        node(operator, list(arrays), ["huge"], **attributes),
        node("ReduceSum", ["huge"], ["total"], keepdims=0),
        node("Cast", ["total"], ["small"], to=TensorProto.FLOAT),
        node("Add", ["x", "small"], ["y"]),
    ]
    write_onnx(tmp_path / "m.onnx", nodes, arrays)
    with pytest.raises(ModelImportError, match=r"m\.onnx.*(too large|does not fit)"):
        load(tmp_path / "m.onnx")


def test_large_constants_of_the_file_may_be_turned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is as large as the file itself is no claim."""
    monkeypatch.setattr(expressions, "MAX_VALUES", 1000)
    weights = np.zeros((400, 3), np.float32)
    weights[0] = 1.0
    nodes = [
        node("Transpose", ["w"], ["t"]),
        node("ReduceSum", ["t", "axis"], ["s"], keepdims=0),
        node("Mul", ["x", "s"], ["y"]),
    ]
    write_onnx(tmp_path / "m.onnx", nodes, {"w": weights, "axis": np.array([1])})
    np.testing.assert_array_equal(load(tmp_path / "m.onnx")([[1.0, 2.0, 3.0]]), [[1.0, 2.0, 3.0]])


def test_many_large_tensors_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "MAX_TOTAL", 10_000)
    nodes = [node("Tile", ["x", "s"], [f"t{i}"]) for i in range(30)]
    nodes.append(node("Sum", [f"t{i}" for i in range(30)], ["y"]))
    write_onnx(tmp_path / "m.onnx", nodes, {"s": np.array([1, 100])})
    with pytest.raises(ModelImportError, match=r"m\.onnx.*more than 10,000 numbers at a time"):
        load(tmp_path / "m.onnx")


def test_inputs_of_a_huge_size(tmp_path: Path) -> None:
    write_onnx(tmp_path / "m.onnx", [node("Relu", ["x"], ["y"])], {})
    model = onnx.load(tmp_path / "m.onnx")
    for size, message in ((2**20 + 1, "input"), (10**12, "too large")):
        model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = size
        onnx.save(model, tmp_path / "m.onnx")
        with pytest.raises(ModelImportError, match=message):
            load(tmp_path / "m.onnx")


def array_bytes(descr: str, shape: tuple[int, ...], data: bytes = b"") -> bytes:
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


@pytest.mark.parametrize(
    ("descr", "shape"),
    [
        ("|V0", (10**12, 1)),
        ("<U0", (10**12, 1)),
        ("<f8", (10**6, 10**6)),
        ("<f8", (-1, 3)),
        ("<f8", (2**63, 2)),
        ("|O", (2, 2)),
        ("<M8[s]", (2, 2)),
        ("|b1", (2**29, 1)),
    ],
)
@pytest.mark.parametrize("mapped", [False, True])
def test_array_headers(descr: str, shape: tuple[int, ...], mapped: bool, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("W0.npy", array_bytes(descr, shape, b"\0" * 100))
    with pytest.raises(ModelFileError, match=r"m\.npz"):
        load_regions(path, mapped=True) if mapped else load(path)


def test_zip_bomb(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    zeros = b"\0" * 2**20
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("W0.npy", "w") as stream,
    ):
        stream.write(array_bytes("<f8", (2**14, 2**10)))
        for _ in range(128):
            stream.write(zeros)
    assert path.stat().st_size < 2**18
    with pytest.raises(ModelFileError, match="claims to unpack"):
        load(path)


def test_certificates_that_are_bombs(tmp_path: Path) -> None:
    """What a certificate unpacks to, and its matrices written out, are bounded by its size."""
    packed, sparse = tmp_path / "packed.npz", tmp_path / "sparse.npz"
    np.savez_compressed(packed, words=np.zeros(2**24))
    assert packed.stat().st_size < 2**18
    # 5,000 x 5,000 in three numbers, and 5,000 inputs in one
    header = {"format": "tropicell-certificate", "version": 1, "fingerprint": "", "sources": [1]}
    header |= {"embedding": False, "bits": 1, "complete": False, "exact_witnesses": {}}
    arrays = [np.array([0, 5000]), np.zeros(5000), np.array([0, 5000, 5000])]
    arrays += [np.zeros((2, 0), "<i8"), np.zeros(0)]
    named = {f"network.{i}": array for i, array in enumerate(arrays)}
    np.savez_compressed(sparse, header=np.array(json.dumps(header)), **named)
    for path, message in ((packed, "it is a bomb"), (sparse, "network.2: it does not fit")):
        tracemalloc.start()
        with pytest.raises(verify_certificate.RejectedError, match=message):
            verify_certificate.verify(str(path))
        assert tracemalloc.get_traced_memory()[1] < 2**24
        tracemalloc.stop()


def test_overlapping_entries(tmp_path: Path) -> None:
    """One megabyte of data that two hundred entries of the directory call their own."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("W0.npy", array_bytes("<f8", (2**17, 1), b"\0" * 2**20))
    data = packed.getvalue()
    start = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    directory = data[start:end] * 200
    tail = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 200, 200, len(directory), start, 0)
    (tmp_path / "m.npz").write_bytes(data[:start] + directory + tail)
    with pytest.raises(ModelFileError, match="claims to unpack"):
        load(tmp_path / "m.npz")


# --- headers and columns --------------------------------------------------------------------------


def changed(path: Path, **arrays: Any) -> None:
    """Some arrays of a file, replaced."""
    content = dict(np.load(path))
    np.savez(path, **(content | arrays))


def changed_header(path: Path, **entries: Any) -> None:
    header = json.loads(str(np.load(path)["header"]))
    changed(path, header=np.array(json.dumps(header | entries)))


@pytest.mark.parametrize("n_inputs", [10**12, float("inf"), None, "3", [3], -1])
def test_number_of_inputs(n_inputs: Any, tmp_path: Path) -> None:
    save(general(), tmp_path / "m.npz")
    changed_header(tmp_path / "m.npz", n_inputs=n_inputs)
    if n_inputs == "3":
        assert load(tmp_path / "m.npz").n_inputs == 3
        return
    with pytest.raises(ModelFileError, match=r"m\.npz"):
        load(tmp_path / "m.npz")


def test_json_that_is_nested_too_deep(tmp_path: Path) -> None:
    save(general(), tmp_path / "m.npz")
    changed(tmp_path / "m.npz", header=np.array("[" * 100_000))
    for read in (load, load_regions):
        with pytest.raises(ModelFileError, match=r"m\.npz"):
            read(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("part", "numbers"),
    [
        ("indptr", [0, 1, 2, 5, 5, 7, -1]),  # the rows end before they begin; SciPy lets it pass
        ("indptr", [0, 5, 2, 5, 5, 7, 0]),
        ("indptr", [0, 2**30, 2, 5, 5, 7, 0]),
        ("indptr", [0, 1, 2, 5, 5, 7, 8]),
        ("indptr", [1, 1, 2, 5, 5, 7, 7]),
        ("indices", [1, 0, 0, 1, 2, 0, 3]),
        ("indices", [1, 0, 0, 1, 2, 0, -1]),
    ],
)
def test_sparse_matrices(part: str, numbers: list[int], tmp_path: Path) -> None:
    """Parts that contradict each other once broke the memory of the process."""
    path = tmp_path / "net.npz"
    save(general(), path)
    arrays = dict(np.load(path))
    assert len(arrays[f"layer1.from0.{part}"]) == len(numbers)
    arrays[f"layer1.from0.{part}"] = np.array(numbers, np.int32)
    np.savez(path, **arrays)
    with pytest.raises(ModelFileError, match=r"net\.npz") as caught:
        load(path)
    assert "fewer than nnz" not in str(caught.value)  # said by SciPy when it is too late


def test_sparse_matrices_of_users() -> None:
    matrix = sp.csr_array(np.eye(3))
    matrix.indptr[-1] = 0
    with pytest.raises(InvalidNetworkError, match="one after the other"):
        Affine({0: matrix})
    matrix = sp.csr_array(np.eye(3))
    matrix.indices[0] = 7
    with pytest.raises(InvalidNetworkError, match="beyond its last column"):
        Affine({0: matrix})


def test_embedding_that_does_not_fit(tmp_path: Path) -> None:
    save(general().restrict(Slice([1, 0, 0], [[0, 1, 1]])), tmp_path / "m.npz")
    changed(tmp_path / "m.npz", **{"embedding.offset": np.zeros(6)})
    with pytest.raises(ModelFileError, match="embedding"):
        load(tmp_path / "m.npz")
    network = perceptron(2, 3, 1)
    for matrix, offset in ((np.eye(2), np.zeros(3)), (np.zeros(2), np.zeros(2))):
        with pytest.raises(InvalidNetworkError, match="embedding"):
            Network(2, network.layers, network.output, embedding=AffineMap(matrix, offset))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("corners.ends", lambda ends: ends[::-1], "one after the other"),
        ("corners.ends", lambda ends: ends + 1, "one after the other"),
        ("facet_lines.ends", lambda ends: ends.astype(float), "whole numbers"),
        ("corners", lambda corners: corners[:, :2], "row for every region"),
        ("volumes", lambda volumes: volumes[1:], "row for every region"),
        ("witnesses", lambda points: points.astype(int), "type int64"),
        ("words", lambda words: np.hstack([words, words]), "do not fit the network"),
        ("domain.low", lambda low: np.full(5, -1.0), "do not fit together"),
    ],
)
@pytest.mark.parametrize("mapped", [False, True])
def test_columns_of_regions(
    name: str, change: Any, message: str, mapped: bool, tmp_path: Path
) -> None:
    path = tmp_path / "r.npz"
    regions = enumerate_regions(perceptron(2, 5, 4, 1), Box([-1, -1], [1, 1]))
    regions.volumes  # noqa: B018 - so that it is written
    regions.save(path)
    changed(path, **{name: change(np.load(path)[name])})
    with pytest.raises(ModelFileError, match=message) as caught:
        load_regions(path, mapped=mapped)
    assert "r.npz" in str(caught.value)


def test_patterns_with_pieces_that_do_not_exist(tmp_path: Path) -> None:
    """Two bits can name four pieces; a hard tanh has three."""
    path = tmp_path / "r.npz"
    enumerate_regions(perceptron(2, 3, 1, activation="hard_tanh")).save(path)
    words = np.load(path)["words"]
    changed(path, words=np.full_like(words, 0b111111))
    with pytest.raises(ModelFileError, match="patterns do not fit"):
        load_regions(path)
    changed(path, words=words)
    changed_header(path, bits=1)
    with pytest.raises(ModelFileError, match="patterns do not fit"):
        load_regions(path)
    changed_header(path, bits=2, domain="sphere")
    with pytest.raises(ModelFileError, match="'sphere' is not known"):
        load_regions(path)
