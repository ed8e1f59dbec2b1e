"""From ONNX files."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.paths import check_file, in_file, path_of
from tropicell.errors import (
    ImportMismatchError,
    InvalidInputError,
    MissingDependencyError,
    ModelFileError,
    ModelImportError,
    UnsupportedOperatorError,
    WeakComparisonWarning,
    require,
)
from tropicell.importers.builder import Builder
from tropicell.importers.check import (
    FLOAT32_TOLERANCE,
    FLOAT64_TOLERANCE,
    compare,
    sample_points,
)
from tropicell.importers.expressions import MAX_ENTRIES, Shape, check_shape
from tropicell.importers.onnx import handlers
from tropicell.importers.onnx.node import Node, registry
from tropicell.importers.operators import CONSTANTS, OPERATORS, REFUSED, refusal
from tropicell.importers.walk import import_graph, numbered, refuse_operators
from tropicell.network.network import Network

# --- reads ONNX files: external data only from next to the model, everything as float64 -----------

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
    _drop_unused_nodes(model.graph)
    for index, node in enumerate(model.graph.node):
        if node.op_type == "Split":  # onnxruntime ends the process where a part has no name
            node.output[:] = [name or f"split {index} {i}" for i, name in enumerate(node.output)]
    return model


def _drop_unused_nodes(graph: Any) -> None:
    """Without what no output needs, such as a softmax behind logits that were made the output."""
    needed, kept = {value.name for value in graph.output}, []
    for node in reversed(graph.node):
        if needed.isdisjoint(node.output) and any(node.output):
            continue
        kept.append(node)
        needed.update(node.input)
        for attribute in node.attribute:  # inner graphs see names of the outer one
            for inner in (attribute.g, *attribute.graphs):
                needed.update(name for part in inner.node for name in part.input)
                needed.update(value.name for value in inner.output)
    if len(kept) < len(graph.node):
        nodes = [type(node).FromString(node.SerializeToString()) for node in reversed(kept)]
        del graph.node[:]
        graph.node.extend(nodes)


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


def inputs_and_outputs(model: Any) -> tuple[dict[str, Shape], list[str]]:
    """Names and shapes of the inputs, with a batch of one, and names of the outputs."""
    stored = {tensor.name for tensor in model.graph.initializer}
    inputs = {v.name: _input_shape(v) for v in model.graph.input if v.name not in stored}
    if not inputs:
        raise ModelImportError("the model has no inputs: it is a constant")
    return inputs, [value.name for value in model.graph.output]


def _input_shape(value: Any) -> Shape:
    """Shape of one input, with a batch of one."""
    tensor = value.type.tensor_type
    if tensor.elem_type not in (*_FLOATS, _DOUBLE):
        raise ModelImportError(
            f"the input {value.name!r} is not a tensor of floats; if it chooses rows of a table "
            "(an embedding), import what comes after that, with the vectors as inputs"
        )
    if not tensor.HasField("shape"):
        raise ModelImportError(f"the input {value.name!r} has no shape")
    # a length of -1 is no length, but some exporters write it
    known = [d.HasField("dim_value") and d.dim_value >= 0 for d in tensor.shape.dim]
    shape = [d.dim_value if is_ else None for d, is_ in zip(tensor.shape.dim, known, strict=True)]
    if None in shape[1:]:
        raise ModelImportError(
            f"the input {value.name!r} has an axis of unknown length after the first "
            f"({[d.dim_param or d.dim_value for d in tensor.shape.dim]}); export it with a fixed "
            "shape"
        )
    return check_shape([n if n else 1 for n in shape])


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


#: Operators that may be run on constants; whatever else has no constant results anyway.
_FOLDED = frozenset(
    {"Constant", "ConstantOfShape", "Range", "EyeLike", "And", "Or", "Xor", "OneHot"}
) | frozenset(s for row in OPERATORS for s in row.onnx)
_FOLDED |= frozenset(
    s
    for row in REFUSED
    for s in row.onnx
    if row.name
    not in ("random numbers", "control flow", "quantisation", "weights in whole numbers")
)


#: Both evaluators work out the weights of a Resize in float32, in a model of float64, too.
_RESIZE_TOLERANCE = 1e-5

#: Constants up to this size may be shapes.
_SHAPE_SIZE = 64

#: The reference evaluator is pure Python: larger inputs would take it minutes.
_MOST_FOR_REFERENCE = 2**18


def from_onnx(path: str | Path, *, tolerance: float = FLOAT64_TOLERANCE) -> Network:
    """The network of an ONNX file.

    Parameters
    ----------
    path : str or Path
        External data is read only from the model's own folder.
    tolerance : float
        Largest difference between the model's outputs in float64 and the network's, relative to
        the outputs.

    Returns
    -------
    Network
        Its inputs are the entries of the model's inputs, one after the other in their order in the
        file, each in row-major order; its outputs likewise (``input_parts``, ``output_parts``).
        A first axis of unknown length is a batch and becomes 1; a fixed one stays what it is.

    Raises
    ------
    UnsupportedOperatorError
        If the model uses an operator that is not piecewise linear, or not supported.
    ModelFileError
        If the file is missing, truncated, or no ONNX model.
    ModelImportError
        If the model is too large, or does not fit together.
    ImportMismatchError
        If the network's outputs are not the model's.

    Notes
    -----
    Models are mostly float32. The network has the same numbers, as float64, so it is the model in
    exact arithmetic up to float64 rounding. It is compared twice: at `tolerance` with a float64
    version of the model, and at 1e-3 with the model as it is, in onnxruntime where that is
    installed. The float64 version is run by onnxruntime if it has float64 kernels for all of the
    operators, and by the reference evaluator of onnx if not, or if the two disagree (some of those
    kernels compute in float32). One of the comparisons must be possible.

    Examples
    --------
    >>> import onnx, tempfile
    >>> from onnx import helper, TensorProto
    >>> node = helper.make_node("Relu", ["x"], ["y"])
    >>> value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 2])
    >>> graph = helper.make_graph([node], "g", [value("x")], [value("y")])
    >>> opset = [helper.make_opsetid("", 17)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    ...     onnx.save(model, folder + "/m.onnx")
    ...     from_onnx(folder + "/m.onnx")
    Network(2 → 2 → 2)
    """
    onnx = require("onnx", extra="onnx", why="reading an ONNX file")
    if isinstance(path, onnx.ModelProto):
        raise InvalidInputError(
            "expected the name of an ONNX file, not a model in memory; write it with onnx.save, "
            "and give the file's name"
        )
    file = path_of(path)
    check_file(file)
    with in_file(file):
        model = read_model(file)
        inputs, outputs = inputs_and_outputs(model)
        steps = _steps(model, inputs, file)
        labels = dict(zip(numbered(outputs), outputs, strict=True))
        refuse_operators(steps, inputs)
        double = as_double(model, file)
        constants: dict[str, Any] = {t.name: to_array(t, file) for t in double.graph.initializer}
        network = import_graph(_steps(double, inputs, file), inputs, constants, labels)
        what = f"the model {file.name!r}"
        _check(network, [model, double], inputs, what=what, tolerance=tolerance)
    return network


def _steps(model: Any, inputs: Mapping[str, Shape], file: Path) -> list[_Step]:
    """The nodes of a graph as steps of a walk; all that they take must be there."""
    there = {"", *inputs, *(tensor.name for tensor in model.graph.initializer)}
    steps = []
    for index, node in enumerate(model.graph.node):
        where = f"node {node.name or f'{node.op_type} number {index}'!r}"
        missing = [key for key in node.input if key not in there]
        if missing:
            raise ModelFileError(f"{file}: {where} takes {missing[0]!r}, which nothing produces")
        there.update(node.output)
        steps.append(_Step(node, model, where))
    for value in model.graph.output:
        if value.name not in there:
            raise ModelFileError(f"{file}: nothing produces the output {value.name!r}")
    return steps


class _Step:
    """One node of a graph as a step of a walk (`importers.walk`)."""

    overwrites = None

    def __init__(self, node: Any, model: Any, where: str) -> None:
        self.node, self.model, self.where = node, model, where
        self.uses, self.outputs = list(node.input), list(node.output)
        self.gives_constants = node.op_type in CONSTANTS["onnx"]

    def refusal(self) -> UnsupportedOperatorError | None:
        """Why the operator can't take what depends on the input, if it can't."""
        kind = self.node.op_type
        if self.node.domain not in ("", "ai.onnx"):
            return refusal("onnx", kind, f"{self.node.domain}::{kind}", self.where)
        return None if kind in registry.handlers else refusal("onnx", kind, kind, self.where)

    def handle(self, builder: Builder, values: Mapping[str, Any]) -> list[Any]:
        """Its results, if something that it takes depends on the input."""
        inputs = [values.get(key) for key in self.uses]
        lost = [key for key, value in zip(self.uses, inputs, strict=True) if key and value is None]
        if lost:
            raise UnsupportedOperatorError(
                self.node.op_type, self.where, "it uses indices that depend on the input"
            )
        attributes = _attributes(self.node)
        node = Node(self.node.op_type, inputs, attributes, self.where, len(self.outputs))
        return handlers.run(builder, node)

    def fold(self, values: Mapping[str, Any]) -> list[Any]:
        """Its results on constants, run by onnx itself."""
        if self.node.domain not in ("", "ai.onnx"):
            operator = f"{self.node.domain}::{self.node.op_type}"
            raise refusal("onnx", self.node.op_type, operator, self.where)
        inputs = [values.get(key) for key in self.uses]
        return _fold(self.node, inputs, self.model, self.where)


def _attributes(node: Any) -> dict[str, Any]:
    onnx = require("onnx", extra="onnx", why="reading an ONNX file")
    values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    return {k: v.decode() if isinstance(v, bytes) else v for k, v in values.items()}


def _fold(node: Any, inputs: list[Any], model: Any, where: str) -> list[Any]:
    """Run a node whose inputs are constants with the reference evaluator of onnx."""
    onnx = require("onnx", extra="onnx", why="reading an ONNX file")
    reference = require("onnx.reference", extra="onnx", why="reading an ONNX file")
    if node.op_type not in _FOLDED:
        raise refusal("onnx", node.op_type, node.op_type, where)
    if node.op_type == "CumSum" and np.size(inputs[1]) == 1:
        inputs = [inputs[0], np.reshape(inputs[1], ())]  # some exporters write a list of one axis
    names = [key for key in dict.fromkeys(node.input) if key]
    values = [onnx.helper.make_tensor_value_info(key, 0, None) for key in names]
    outputs = [onnx.helper.make_tensor_value_info(key, 0, None) for key in node.output if key]
    graph = onnx.helper.make_graph([node], "constants", values, outputs)
    single = onnx.helper.make_model(graph, opset_imports=list(model.opset_import))
    _check_claims(single, dict(zip(node.input, inputs, strict=True)), f"{where}: {node.op_type}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = reference.ReferenceEvaluator(single).run(
                None, dict(zip(node.input, inputs, strict=True))
            )
    except Exception as error:  # the evaluator raises what its operators raise
        raise ModelImportError(f"{where}: {node.op_type} can't be evaluated: {error}") from error
    found = iter(results)
    return [np.asarray(next(found)) if key else None for key in node.output]


def _check_claims(model: Any, inputs: dict[str, Any], what: str) -> None:
    """Refuse results of a size that no model means, before memory is taken for them.

    Shapes are inferred by onnx, which is told the values of small inputs: they may be shapes.
    """
    onnx = require("onnx", extra="onnx", why="reading an ONNX file")
    known = onnx.ModelProto()
    known.CopyFrom(model)
    for value in known.graph.input:
        array = np.asarray(inputs[value.name])
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, kind, array.shape))
        if array.size <= _SHAPE_SIZE:
            known.graph.initializer.append(onnx.numpy_helper.from_array(array, value.name))
    try:
        inferred = onnx.shape_inference.infer_shapes(known, strict_mode=True, data_prop=True)
    except Exception as error:  # onnx has errors of its own for this
        raise ModelImportError(f"{what} does not fit its inputs: {error}") from error
    given = sum(np.asarray(value).size for value in inputs.values())
    for value in inferred.graph.output:
        shape = [max(d.dim_value, 1) for d in value.type.tensor_type.shape.dim]
        if math.prod(shape) > given:
            check_shape(shape)


# --- the comparison -----------------------------------------------------------------------------

Run = Callable[[FloatArray], FloatArray]


def _check(
    network: Network,
    models: list[Any],
    given: Mapping[str, Shape],
    *,
    what: str,
    tolerance: float,
) -> None:
    """Compare with the model as it is, and with its float64 version."""
    model, double = models
    if any(node.op_type in ("Resize", "Upsample") for node in model.graph.node):
        tolerance = max(tolerance, _RESIZE_TOLERANCE)
    plans = (
        ([_runtime, _reference], double, np.float64, tolerance),
        ([_runtime], model, np.float32, max(tolerance, FLOAT32_TOLERANCE)),
    )
    problems: list[str] = []
    compared = set()
    first = _runtime(model, given, np.float32, [])
    size = None if first is None else first(np.zeros((1, network.n_inputs))).shape[1]
    for makers, wanted, kind, allowed in plans:
        mismatch: ImportMismatchError | None = None
        for maker in makers:
            run = maker(wanted, given, kind, problems)
            if run is not None and size not in (
                None,
                run(np.zeros((1, network.n_inputs))).shape[1],
            ):
                problems.append(
                    f"{maker.__name__[1:]}: it gives another number of outputs than the model"
                )
                run = None
            if run is None:
                continue
            if maker is _reference and first is not None and not _agree(first, run, network):
                # it has its own reading of an operator, and is not what runs the model
                problems.append("reference evaluator: its outputs are not those of onnxruntime")
                continue
            compared.add(kind)
            try:
                compare(
                    network,
                    run,
                    what=what,
                    tolerance=allowed,
                    precision=kind,
                    groups=_groups(network, maker),
                )
            except ImportMismatchError as error:
                mismatch = mismatch or error
            else:
                # some float64 kernels of onnxruntime compute in float32: the reference decides
                mismatch = None
                break
        if mismatch is not None:
            raise mismatch
    if not compared:
        raise ModelImportError(
            f"{what} can't be run, so the network can't be compared with it: {'; '.join(problems)}"
        )
    if np.float64 not in compared:
        warnings.warn(
            f"{what} could not be run in float64 ({'; '.join(problems)}): the network was compared "
            f"with it within {FLOAT32_TOLERANCE:g} only",
            WeakComparisonWarning,
            stacklevel=3,
        )


def _agree(run: Run, other: Run, network: Network) -> bool:
    """Whether two evaluators of a model say the same, up to rounding to float32."""
    points = np.stack([points[0] for _, points in sample_points(network.n_inputs)])
    expected, got = run(points), other(points)
    allowed = FLOAT32_TOLERANCE * np.abs(expected).max(axis=1, keepdims=True, initial=0.0)
    return bool((np.abs(got - expected) <= allowed).all())


def _groups(network: Network, maker: Any) -> list[tuple[str, FloatArray]]:
    groups = sample_points(network.n_inputs)
    if maker is _reference:  # pure Python, and slow for convolutions: one point of each scale
        return [(name, points[:1]) for name, points in groups]
    return groups


def _runtime(model: Any, given: Mapping[str, Shape], kind: Any, problems: list[str]) -> Run | None:
    """The model in onnxruntime, or None if it can't run there in this precision."""
    try:
        runtime = require("onnxruntime", extra="onnx", why="running an ONNX model")
    except MissingDependencyError as error:
        problems.append(str(error))
        return None
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        session.run(None, {name: np.zeros(shape, kind) for name, shape in given.items()})
    except Exception as error:  # no kernel for this precision, operator set too new, …
        problems.append(f"onnxruntime: {error}")
        return None

    def run(points: FloatArray) -> FloatArray:
        return _rows(session, points.astype(kind), given)

    return run


def _rows(session: Any, points: Any, given: Mapping[str, Shape]) -> FloatArray:
    """The outputs of a model at points, each as one row."""
    ends = np.cumsum([math.prod(shape) for shape in given.values()])[:-1]
    rows = []
    for point in points:
        parts = zip(np.split(point, ends), given.items(), strict=True)
        feed = {name: part.reshape(shape) for part, (name, shape) in parts}
        rows.append(np.concatenate([np.ravel(part) for part in session.run(None, feed)]))
    return np.stack(rows)


def _reference(
    model: Any, given: Mapping[str, Shape], kind: Any, problems: list[str]
) -> Run | None:
    """The model in the reference evaluator of onnx, or None if that can't run it."""
    reference = require("onnx.reference", extra="onnx", why="running an ONNX model")
    if sum(math.prod(shape) for shape in given.values()) > _MOST_FOR_REFERENCE:
        problems.append("reference evaluator: too slow for an input of this size")
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = reference.ReferenceEvaluator(model)
            session.run(None, {name: np.zeros(shape, kind) for name, shape in given.items()})
    except Exception as error:  # the evaluator raises what its operators raise
        problems.append(f"reference evaluator: {error}")
        return None

    def run(points: FloatArray) -> FloatArray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _rows(session, points.astype(kind), given)

    return run
