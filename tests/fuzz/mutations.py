"""Damage: single bytes, and the structure inside (zip entries, array headers, JSON, protobuf)."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from typing import Any

import numpy as np

HUGE = (10**12, 2**63 - 1, -1, 0, 2**31, 2**26, 2**20, -(2**63), 1 << 70)
PATHS = ("../canary.txt", "../../etc/passwd", "/etc/passwd", "canary.txt", "..", "", "a\0b", "~/x")
TEXTS = (*PATHS, "relu", "header", "W0", "é" * 50, "x" * 5000, "<f8", "|O", "layer1.bias")
JUNK = (None, True, [], {}, [[]], 1e308, float("nan"), float("inf"), -0.0, *HUGE, *TEXTS)


def mutates_bytes(rng: random.Random) -> bool:
    """Whether bytes are damaged, whatever they mean; checksums are not made anew then."""
    return rng.random() < 0.3


def mutate(kind: str, content: bytes, rng: random.Random) -> bytes:
    """A damaged copy; mostly the structure is damaged, else some bytes."""
    if mutates_bytes(rng):
        return damage_bytes(content, rng)
    structured = {"onnx": damage_onnx, "safetensors": damage_safetensors}.get(kind, damage_zip)
    try:
        return structured(content, rng)
    except Exception:  # twice damaged: this one can no longer be taken apart
        return damage_bytes(content, rng)


# --- bytes ----------------------------------------------------------------------------------------


def damage_bytes(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        if not data:
            break
        at = rng.randrange(len(data))
        action = rng.randrange(7)
        if action == 0:
            data[at] = rng.randrange(256)
        elif action == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif action == 2:
            del data[at : at + rng.choice((1, 4, 100))]
        elif action == 3:
            data[at:at] = bytes(rng.choices(range(256), k=rng.choice((1, 8, 64))))
        elif action == 4:
            data[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f"))
        elif action == 5:
            del data[at:]
        else:
            other = rng.randrange(len(data))
            data[at : at + 16] = data[other : other + 16]
    return bytes(data)


# --- JSON -----------------------------------------------------------------------------------------


def damage_json(text: str, rng: random.Random) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return damage_bytes(text.encode(), rng).decode(errors="replace")
    if rng.random() < 0.03:
        return "[" * 100_000
    for _ in range(rng.choice((1, 1, 2, 3))):
        value = _damage_value(value, rng)
    return json.dumps(value)


def _damage_value(value: Any, rng: random.Random) -> Any:
    """One place somewhere inside is changed."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        action = rng.random()
        if action < 0.1:
            return {k: v for k, v in value.items() if k != key}
        if action < 0.2:
            return value | {rng.choice(TEXTS): value[key]}
        return value | {key: _damage_value(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        action = rng.random()
        if action < 0.1:
            return value[:at] + value[at + 1 :]
        if action < 0.2:
            return value + value[at : at + 1] * rng.choice((1, 2, 100))
        return [*value[:at], _damage_value(value[at], rng), *value[at + 1 :]]
    if isinstance(value, str) and rng.random() < 0.4:
        return damage_json(value, rng) if value[:1] in "[{" else value[: len(value) // 2]
    if isinstance(value, int) and rng.random() < 0.5:
        return value + rng.choice((-1, 1, 2, 1000))
    return rng.choice(JUNK)


# --- zip archives ---------------------------------------------------------------------------------


def damage_zip(content: bytes, rng: random.Random) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except Exception:
        return damage_bytes(content, rng)
    how = zipfile.ZIP_STORED
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(entries))
        name, data = entries[at]
        action = rng.randrange(8)
        if action < 4:
            entries[at] = (name, _damage_entry(name, data, rng))
        elif action == 4:
            entries[at] = (rng.choice((*TEXTS, f"../{name}", f"{name}.npy")), data)
        elif action == 5:
            del entries[at]
        elif action == 6:
            entries.insert(at, (name, entries[rng.randrange(len(entries))][1]))
        else:
            how = zipfile.ZIP_DEFLATED
        if not entries:
            break
    packed = _zip(entries, how)
    return damage_directory(packed, rng) if rng.random() < 0.15 else packed


def _zip(entries: list[tuple[str, bytes]], how: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", how) as archive:
        for name, data in entries:
            info = zipfile.ZipInfo(name.replace("\0", "") or "x")
            info.compress_type = how
            archive.writestr(info, data)
    return packed.getvalue()


def damage_directory(content: bytes, rng: random.Random) -> bytes:
    """Sizes, offsets and methods in the zip's directory: overlapping entries, false claims."""
    data = bytearray(content)
    places = []
    at = data.find(b"PK\x01\x02")
    while at >= 0:
        places.append(at)
        at = data.find(b"PK\x01\x02", at + 1)
    if not places:
        return content
    at = rng.choice(places)
    # method, packed size, size, name length, extra length, offset of the local header
    offset, form = rng.choice(
        ((10, "<H"), (20, "<I"), (24, "<I"), (28, "<H"), (30, "<H"), (42, "<I"))
    )
    if at + offset + struct.calcsize(form) <= len(data):
        largest = 2 ** (8 * struct.calcsize(form)) - 1
        struct.pack_into(form, data, at + offset, rng.choice((0, 1, 8, 99, largest, largest // 2)))
    return bytes(data)


def _damage_entry(name: str, data: bytes, rng: random.Random) -> bytes:
    if data[:6] == b"\x93NUMPY":
        return _damage_array(data, rng)
    if data[:1] in (b"{", b"["):
        return damage_json(data.decode(errors="replace"), rng).encode(errors="replace")
    return damage_bytes(data, rng)


def _damage_array(data: bytes, rng: random.Random) -> bytes:
    """Another header in front of the same numbers, or other numbers behind it."""
    array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    if array.nbytes < array.size:  # damaged before: items of no bytes, in any number
        return damage_bytes(data, rng)
    if array.dtype.kind == "U" and array.ndim == 0 and rng.random() < 0.8:
        return _array(np.array(damage_json(str(array), rng)))
    action = rng.randrange(7)
    if action == 0:
        return damage_bytes(data, rng)
    if action == 1:
        return _array(array.astype(rng.choice(("<f4", "<i8", "<c16", "S3", "<M8[s]", "?"))))
    if action == 2:
        return _array(np.repeat(array[None] if array.ndim == 0 else array, 2, axis=0))
    if action == 3:
        flat = array.ravel().copy()
        if flat.size and flat.dtype.kind in "fiu":
            with np.errstate(all="ignore"):
                flat[rng.randrange(flat.size)] = np.array(
                    rng.choice((np.nan, np.inf, 1e308, -1.0, 5e-324, 1e6))
                ).astype(flat.dtype)
        return _array(flat.reshape(array.shape))
    if action == 4:
        return _array(np.array([{"a": 1}, print], dtype=object), pickle=True)
    shape = [rng.choice(HUGE) if rng.random() < 0.5 else n for n in array.shape] or [
        rng.choice(HUGE)
    ]
    descr = array.dtype.str if action == 5 else rng.choice(("<f8", "|O", "<U1000000", "|V0", "<f2"))
    header = repr({"descr": descr, "fortran_order": rng.random() < 0.3, "shape": tuple(shape)})
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + array.tobytes()


def _array(array: Any, *, pickle: bool = False) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=pickle)
    return stream.getvalue()


# --- safetensors ----------------------------------------------------------------------------------


def damage_safetensors(content: bytes, rng: random.Random) -> bytes:
    (length,) = struct.unpack("<Q", content[:8])
    header = damage_json(content[8 : 8 + length].decode(), rng).encode(errors="replace")
    claimed = len(header) if rng.random() < 0.9 else rng.choice((0, 10**12, 2**64 - 1))
    return struct.pack("<Q", claimed) + header + content[8 + length :]


# --- ONNX -----------------------------------------------------------------------------------------

OPERATORS = (
    "Relu", "Expand", "Tile", "ConstantOfShape", "Range", "OneHot", "EyeLike", "Loop", "If",
    "Scan", "Pad", "Resize", "Upsample", "Conv", "ConvTranspose", "MaxPool", "AveragePool",
    "Gather", "Where", "CumSum", "Einsum", "NonZero", "Compress", "Unique", "TopK", "Split",
    "Concat", "Shape", "Trilu", "DepthToSpace", "SpaceToDepth", "LRN", "Softmax", "Identity",
    "Constant", "Squeeze", "Unsqueeze", "ScatterND", "GatherND", "MatMul", "Gemm", "Clip",
    "PRelu", "Max", "Min", "Sum", "Mean", "Dropout", "BatchNormalization", "GlobalMaxPool",
    "ReduceMax", "ReduceProd", "Cast", "Div", "Mod", "Pow", "Size",
)  # fmt: skip


def damage_onnx(content: bytes, rng: random.Random) -> bytes:
    import onnx

    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except Exception:
        return damage_bytes(content, rng)
    for _ in range(rng.choice((1, 1, 2, 3))):
        action = rng.randrange(10)
        if action < 5:
            _damage_message(model, rng)
        elif action == 5:
            _rewire(model.graph, rng)
        elif action == 6:
            _external(model.graph, rng)
        elif action == 7:
            _claim(model.graph, rng)
        elif action == 8 and model.graph.node:
            rng.choice(model.graph.node).op_type = rng.choice(OPERATORS)
        else:
            _function(model, rng)
    return model.SerializeToString()


def _damage_message(message: Any, rng: random.Random) -> None:
    """One field somewhere inside a message is changed."""
    fields = [field for field, _ in message.ListFields()]
    if not fields:
        return
    field = rng.choice(fields)
    value = getattr(message, field.name)
    if field.is_repeated if hasattr(field, "is_repeated") else field.label == 3:
        at = rng.randrange(len(value))
        action = rng.random()
        if action < 0.1:
            del value[at]
        elif action < 0.2 and len(value) < 10_000:
            value.extend([value[at]] * rng.choice((1, 2, 20)))
        elif field.message_type is not None:
            _damage_message(value[at], rng)
        else:
            _set(lambda new: value.__setitem__(at, new), value[at], rng)
    elif field.message_type is not None:
        _damage_message(value, rng)
    else:
        _set(lambda new: setattr(message, field.name, new), value, rng)


def _set(put: Any, old: Any, rng: random.Random) -> None:
    if isinstance(old, bytes):
        new: Any = damage_bytes(old, rng)
    elif isinstance(old, str):
        new = rng.choice((*TEXTS, old + "x", "x", "y", "w", ""))
    elif isinstance(old, float):
        new = rng.choice((0.0, float("nan"), float("inf"), 1e38, -old))
    else:
        new = rng.choice((*HUGE, old + 1, old - 1, 1, 2, 3, 11))
    try:
        put(new)
    except (ValueError, TypeError):
        put(type(old)())


def _rewire(graph: Any, rng: random.Random) -> None:
    """Cycles, loops to oneself, missing and repeated names."""
    node = rng.choice(graph.node)
    names = [name for other in graph.node for name in (*other.input, *other.output)]
    target = node.input if node.input and rng.random() < 0.7 else node.output
    if target:
        target[rng.randrange(len(target))] = rng.choice([*names, "missing", ""])


def _external(graph: Any, rng: random.Random) -> None:
    if not graph.initializer:
        return
    tensor = rng.choice(graph.initializer)
    tensor.data_location = 1
    for key, value in (
        ("location", rng.choice((*PATHS, "weights.bin"))),
        ("offset", str(rng.choice((0, 4, *HUGE)))),
        ("length", str(rng.choice((8, *HUGE)))),
    ):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    if rng.random() < 0.5:
        tensor.ClearField("raw_data")


def _claim(graph: Any, rng: random.Random) -> None:
    """Huge shapes: of tensors, of the input, of constants that are made from nothing."""
    from onnx import helper, numpy_helper

    action = rng.randrange(4)
    if action == 0 and graph.initializer:
        tensor = rng.choice(graph.initializer)
        tensor.dims[:] = [rng.choice((10**6, 2**40, 3)) for _ in range(rng.randrange(1, 5))]
    elif action == 1:
        for dim in graph.input[0].type.tensor_type.shape.dim:
            dim.dim_value = rng.choice((10**6, 10**12, 2**11, 3))
    else:
        operator = rng.choice(
            ("ConstantOfShape", "Expand", "Tile", "Range", "OneHot", "Pad", "EyeLike")
        )
        sizes = np.array([rng.choice((10**6, 10**12, 2**12, 3)) for _ in range(2)])
        graph.node.insert(
            0, helper.make_node("Constant", [], ["huge"], value=numpy_helper.from_array(sizes))
        )
        inputs = {"Range": ["huge"] * 3, "OneHot": ["huge"] * 3, "ConstantOfShape": ["huge"]}
        source = rng.choice(("x", "huge"))
        graph.node.insert(
            1, helper.make_node(operator, inputs.get(operator, [source, "huge"]), ["made"])
        )
        node = rng.choice(graph.node)
        if node.input:
            node.input[0] = "made"


def _function(model: Any, rng: random.Random) -> None:
    """A local function, perhaps one that calls itself, perhaps with data of another file in it."""
    from onnx import TensorProto, helper

    inner = rng.choice(("Relu", "F"))
    nodes = [helper.make_node(inner, ["a"], ["b"], domain="here" if inner == "F" else "")]
    if rng.random() < 0.5:
        tensor = TensorProto(data_type=1, dims=[2], data_location=1, name="secret")
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", rng.choice(PATHS)
        nodes.insert(0, helper.make_node("Constant", [], ["s"], value=tensor))
        nodes[-1] = helper.make_node("Add", ["a", "s"], ["b"])
    opset = [helper.make_opsetid("", 17), helper.make_opsetid("here", 1)]
    model.functions.append(helper.make_function("here", "F", ["a"], ["b"], nodes, opset))
    if not any(o.domain == "here" for o in model.opset_import):
        model.opset_import.append(helper.make_opsetid("here", 1))
    if model.graph.node:
        node = rng.choice(model.graph.node)
        node.op_type, node.domain = "F", "here"
        del node.attribute[:]
