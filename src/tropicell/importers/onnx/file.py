"""Reads ONNX files: external data only from next to the model, everything as float64."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tropicell.errors import ModelFileError, ModelImportError, require
from tropicell.importers.expressions import MAX_ENTRIES, Shape, check_shape

#: The oldest operator set that is read: before it, broadcasting worked differently.
OLDEST_OPSET = 7

_FLOATS = (1, 10, 16)  # float32, float16, bfloat16
_DOUBLE = 11


def read_model(path: Path) -> Any:
    """The ``ModelProto`` in a file, with its external data."""
    onnx = require("onnx", extra="onnx", why="reading an ONNX file")
    google = require("google.protobuf.message", extra="onnx", why="reading an ONNX file")
    try:
        model = onnx.load(str(path), load_external_data=False)
    except google.DecodeError as error:
        raise ModelFileError(f"{path}: not an ONNX model, or a truncated one ({error})") from None
    except OSError as error:
        raise ModelFileError(f"{path}: can't be read: {error}") from None
    if not model.graph.output or not model.opset_import:
        raise ModelFileError(f"{path}: not an ONNX model: it has no graph with an output")
    versions = [o.version for o in model.opset_import if o.domain in ("", "ai.onnx")]
    if not versions:
        raise ModelImportError("the model does not say which operator set of ONNX it uses")
    if min(versions) < OLDEST_OPSET:
        raise ModelImportError(
            f"operator set {min(versions)} is too old; convert the model with "
            f"onnx.version_converter to {OLDEST_OPSET} or later"
        )
    newest = onnx.defs.onnx_opset_version()
    if max(versions) > newest:  # shapes of its results could not be worked out in advance
        raise ModelImportError(
            f"operator set {max(versions)} is newer than {newest}, the newest that onnx "
            f"{onnx.__version__} knows; install a newer onnx"
        )
    for tensor in _every_tensor(model):  # before anything else reads one, from wherever it likes
        _load_tensor(tensor, path)
    if model.functions:
        inliner = require("onnx.inliner", extra="onnx", why="reading an ONNX file")
        model = inliner.inline_local_functions(model)
    return model


def _every_tensor(message: Any) -> Iterator[Any]:
    """All tensors anywhere in a model: in functions and sparse tensors too."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for part in [value] if hasattr(value, "ListFields") else value:
            yield from _every_tensor(part)


def _tensors(graph: Any) -> Iterator[Any]:
    """All tensors of a graph, those in attributes and inner graphs included."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            if attribute.HasField("g"):
                yield from _tensors(attribute.g)


def _load_tensor(tensor: Any, path: Path) -> None:
    size = int(np.prod(tensor.dims, dtype=object))
    if size > MAX_ENTRIES or any(n < 0 for n in tensor.dims):
        raise ModelFileError(
            f"{path}: the tensor {tensor.name!r} claims the shape {tuple(tensor.dims)}; at most "
            f"{MAX_ENTRIES} entries are supported"
        )
    if tensor.data_location != 1:
        return
    helper = require("onnx.external_data_helper", extra="onnx", why="reading an ONNX file")
    location = {e.key: e.value for e in tensor.external_data}.get("location", "")
    folder = path.resolve().parent
    target = (folder / location).resolve()
    if not location or Path(location).is_absolute() or not target.is_relative_to(folder):
        raise ModelFileError(
            f"{path}: the tensor {tensor.name!r} keeps its data in {location!r}, outside the "
            "model's folder; only files next to the model are read"
        )
    if not target.is_file():
        raise ModelFileError(
            f"{path}: the tensor {tensor.name!r} keeps its data in {location!r}, which is missing"
        )
    try:
        helper.load_external_data_for_tensor(tensor, str(folder))
    except Exception as error:  # onnx raises several kinds, its checker's own among them
        raise ModelFileError(
            f"{path}: the external data {location!r} of {tensor.name!r} can't be read: {error}"
        ) from None
    tensor.data_location = 0
    del tensor.external_data[:]


def input_and_output(model: Any) -> tuple[str, Shape, str]:
    """Name and shape of the one input, with a batch of one, and name of the one output."""
    stored = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in stored]
    for values, kind in ((inputs, "input"), (model.graph.output, "output")):
        if len(values) != 1:
            names = ", ".join(value.name for value in values)
            raise ModelImportError(
                f"the model has {len(values)} {kind}s ({names}); expected one. Export it "
                f"with one {kind} (several tensors can be joined in one by concatenation)"
            )
    tensor = inputs[0].type.tensor_type
    if tensor.elem_type not in (*_FLOATS, _DOUBLE):
        raise ModelImportError(f"the input {inputs[0].name!r} is not a tensor of floats")
    if not tensor.HasField("shape"):
        raise ModelImportError(f"the input {inputs[0].name!r} has no shape")
    shape = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
    if None in shape[1:]:
        raise ModelImportError(
            f"the input {inputs[0].name!r} has an axis of unknown length after the first "
            f"({[d.dim_param or d.dim_value for d in tensor.shape.dim]}); export it with a fixed "
            "shape"
        )
    return (
        inputs[0].name,
        check_shape([n if n else 1 for n in shape]),
        model.graph.output[0].name,
    )


def as_double(model: Any, path: Path) -> Any:
    """A copy of the model in which every float is a float64; numbers stay what they are."""
    onnx = require("onnx", extra="onnx", why="reading an ONNX file")
    double = onnx.ModelProto()
    double.CopyFrom(model)
    del double.graph.value_info[:]
    for tensor in _tensors(double.graph):
        if tensor.data_type in _FLOATS:
            _widen(tensor, path)
    for value in [*double.graph.input, *double.graph.output]:
        if value.type.tensor_type.elem_type in _FLOATS:
            value.type.tensor_type.elem_type = _DOUBLE
    for node in double.graph.node:
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype") and attribute.i in _FLOATS:
                attribute.i = _DOUBLE
            if node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
                single = attribute.name == "value_float"
                numbers = attribute.f if single else list(attribute.floats)
                tensor = onnx.numpy_helper.from_array(np.asarray(numbers, dtype=np.float64))
                attribute.CopyFrom(onnx.helper.make_attribute("value", tensor))
        if node.op_type == "ConstantOfShape" and not node.attribute:
            zero = onnx.numpy_helper.from_array(np.zeros(1))
            node.attribute.append(onnx.helper.make_attribute("value", zero))
    return double


def to_array(tensor: Any, path: Path) -> Any:
    """A tensor's numbers; floats as float64."""
    helper = require("onnx.numpy_helper", extra="onnx", why="reading an ONNX file")
    try:
        array = np.asarray(helper.to_array(tensor))
    except Exception as error:  # whatever is wrong with the bytes
        raise ModelFileError(f"{path}: the tensor {tensor.name!r} can't be read: {error}") from None
    kind = array.dtype.kind
    if kind in "iub" and tensor.data_type not in _FLOATS:
        return array
    if tensor.data_type in (*_FLOATS, _DOUBLE):
        wide = array.astype(np.float64)
        if np.isnan(wide).any():
            at = tuple(int(i) for i in np.argwhere(np.isnan(wide))[0])
            raise ModelImportError(f"the tensor {tensor.name!r} is not a number at {at}")
        return wide
    return array


def _widen(tensor: Any, path: Path) -> None:
    helper = require("onnx.numpy_helper", extra="onnx", why="reading an ONNX file")
    tensor.CopyFrom(helper.from_array(to_array(tensor, path), name=tensor.name))
