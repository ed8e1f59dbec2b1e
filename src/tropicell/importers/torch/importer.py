"""From PyTorch: any module that `torch.export` can export, and ``.pt2`` files."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import logging
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.paths import check_file, in_file, path_of
from tropicell.errors import (
    ImportMismatchError,
    ModelImportError,
    UnsupportedOperatorError,
    require,
)
from tropicell.importers.check import (
    FLOAT32_TOLERANCE,
    FLOAT64_TOLERANCE,
    compare,
    sample_points,
)
from tropicell.importers.expressions import MAX_INPUTS
from tropicell.importers.operators import EMBEDDING_ADVICE, UNKNOWN_ADVICE
from tropicell.importers.torch import graph as torch_graph
from tropicell.importers.torch.graph import from_exported
from tropicell.importers.torch.pt2 import read_pt2
from tropicell.network.network import Network

#: What to do with things that are nearly a module.
_ADVICE = {
    "dict": "; load the weights into the module first",
    "OrderedDict": "; load the weights into the module first",
    "ExportedProgram": "; write it with torch.export.save, and use tropicell.load",
    "str": "; use tropicell.load for files",
    "type": "; give a module, not its class",
    "function": "; make it the forward of a module",
}


def from_torch(
    module: Any, example_input: Any = None, *, tolerance: float = FLOAT64_TOLERANCE
) -> Network:
    """The network of a PyTorch module.

    The module is exported with `torch.export`, so any ``forward`` works that it can trace:
    residual adds, concatenations and slices included. A float64 copy is used; the module itself
    is not touched. What can't be imported is refused before any matrix is made.

    Parameters
    ----------
    module : torch.nn.Module
        In evaluation mode, if it has batch normalisation or dropout. A compiled module
        (`torch.compile`) is read as what was compiled.
    example_input : Tensor, array_like, shape, tuple or dict, optional
        What the module takes: a batch, with the batch on the first axis, of which one example is
        used; or, for modules without a batch axis, a 1-D tensor. Only its shape matters, so a
        tuple of whole numbers, the shape, will do. For a module with several inputs: a tuple or
        list of tensors, a tuple of shapes, or a dictionary by the names of ``forward``. It may be
        left out if the module begins with a linear layer.
    tolerance : float
        Largest difference between the module's outputs in float64 and the network's, relative to
        the outputs. A module that casts to float32 on its way is compared at 1e-3.

    Returns
    -------
    Network
        Its inputs are the entries of one example in row-major order, its outputs likewise. Several
        inputs stand one after the other, in the order in which ``forward`` takes them, and so do
        several outputs, be they in tuples or dictionaries: ``input_parts`` and ``output_parts``
        say which entries belong to which.

    Raises
    ------
    UnsupportedOperatorError
        If the module uses an operator that is not piecewise linear, or not supported.
    ModelImportError
        If it can't be exported, is too large, or mixes the rows of a batch.
    ImportMismatchError
        If the network's outputs are not the module's.

    Notes
    -----
    Maxima are written with ReLUs, so each comparison counts as a boundary of regions; see
    ``docs/operators.md``.

    Examples
    --------
    >>> import torch
    >>> class Residual(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.a, self.b = torch.nn.Linear(2, 4), torch.nn.Linear(4, 2)
    ...     def forward(self, x):
    ...         return x + self.b(torch.relu(self.a(x)))
    >>> from_torch(Residual(), torch.zeros(1, 2))
    Network(2 → 4 → 2, skips 0→2)

    Two inputs and two outputs:

    >>> class Two(torch.nn.Module):
    ...     def forward(self, x, y):
    ...         return {"sum": x + y, "largest": torch.maximum(x, y).amax(1)}
    >>> network = from_torch(Two(), (torch.zeros(1, 3), torch.zeros(1, 3)))
    >>> network.input_parts["y"], network.output_parts["['largest']"]
    (slice(3, 6, None), slice(3, 4, None))
    """
    torch = require("torch", extra="torch", why="importing a torch module")
    module = getattr(module, "_orig_mod", module)  # compiled by torch.compile
    if not isinstance(module, torch.nn.Module):
        raise ModelImportError(
            f"expected a torch.nn.Module, got {type(module).__name__}"
            + _ADVICE.get(type(module).__name__, "")
        )
    _refuse_modules(module, torch)
    inputs = _Inputs(_example_of(module, torch) if example_input is None else example_input, module)
    what = f"the module {type(module).__name__}"
    copied = _copy_of(module, torch)
    copied.double()
    old = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)  # for what a forward makes itself
        return _import(copied, inputs, what, tolerance, torch)
    finally:
        torch.set_default_dtype(old)


def _import(module: Any, inputs: _Inputs, what: str, tolerance: float, torch: Any) -> Network:
    """The network of a module in float64, compared with it."""

    def run(points: FloatArray) -> FloatArray:
        try:
            with torch.no_grad():
                return _rows(inputs.call(module, inputs.split(row)) for row in points)
        except RuntimeError as error:  # exports are not as strict about types as torch itself
            kind = _MixedPrecisionError if "dtype" in str(error) else ModelImportError
            raise kind(f"{what} can't be run in float64: {error}") from error

    groups = sample_points(inputs.size, inputs.flat())
    try:
        program = _quietly(lambda: _export(module, inputs, torch))
        network, allowed = _first_that_works(program, run, what, (groups, tolerance))
    except _MixedPrecisionError as error:
        return _import_mixed(module, inputs, what, tolerance, error)
    if inputs.has_batch:
        _check_batch(network, module, inputs, what, allowed)
    return network


def _import_mixed(
    module: Any, inputs: _Inputs, what: str, tolerance: float, error: ModelImportError
) -> Network:
    """The network of a module that insists on float32 somewhere: its graph is made in float32.

    It is compared with that graph, run in float64, and with the module itself in float32.
    """
    torch = require("torch", extra="torch", why="importing a torch module")
    torch.set_default_dtype(torch.float32)
    module.float()
    single = inputs.single()
    try:
        program = _quietly(lambda: _export(module, single, torch))
    except ModelImportError:
        raise ModelImportError(str(error)) from error.__cause__
    graph = from_exported(_prepared(lambda: program.run_decompositions({}), what))

    def run_graph(points: FloatArray) -> FloatArray:
        return _rows(torch_graph.evaluate(graph, inputs.split(row)) for row in points)

    def run(points: FloatArray) -> FloatArray:
        rows = points.astype(np.float32)
        with torch.no_grad():
            return _rows(single.call(module, single.split(row)) for row in rows)

    network = torch_graph.build(graph)
    compare(network, run_graph, what=what, tolerance=tolerance)
    compare(network, run, what=what, tolerance=FLOAT32_TOLERANCE, precision=np.float32)
    return network


def _rows(outputs: Iterable[Any]) -> FloatArray:
    """What a model returns at several points, each as one row."""
    return np.stack(
        [np.concatenate([t.double().numpy().ravel() for t in _tensors(o)]) for o in outputs]
    )


def _tensors(output: Any) -> list[Any]:
    """The tensors in what a module returns, alone or in tuples and dictionaries."""
    tree = require("torch.utils._pytree", extra="torch", why="importing a torch module")
    return [leaf for leaf in tree.tree_leaves(output) if hasattr(leaf, "numpy")]


def _copy_of(module: Any, torch: Any) -> Any:
    """A copy in plain form: nothing compiled, weights of reparametrised layers as they are now."""
    # a weight that a hook works out before each call (weight_norm, prune) can't be copied as it is
    memo = {
        id(value): value.detach().clone()
        for part in module.modules()
        for value in vars(part).values()
        if isinstance(value, torch.Tensor) and not value.is_leaf
    }
    try:
        copied = _quietly(lambda: copy.deepcopy(module, memo).cpu())
    except Exception as error:  # whatever the module's parts raise when they are copied
        raise ModelImportError(
            f"the module {type(module).__name__} can't be copied: {error}"
        ) from error
    parametrize = torch.nn.utils.parametrize
    for part in copied.modules():
        part._compiled_call_impl = None
        for name, child in part.named_children():
            setattr(part, name, getattr(child, "_orig_mod", child))
    for part in copied.modules():
        _fix_hooked_weights(part, torch)
        if parametrize.is_parametrized(part):
            _fix_parametrized_weights(part, torch)
    return copied


def _fix_hooked_weights(part: Any, torch: Any) -> None:
    """Weights that a hook works out before each call become parameters (weight_norm, prune)."""
    prune = require("torch.nn.utils.prune", extra="torch", why="importing")
    pruning = prune.BasePruningMethod
    norms = (
        require("torch.nn.utils.weight_norm", extra="torch", why="importing").WeightNorm,
        require("torch.nn.utils.spectral_norm", extra="torch", why="importing").SpectralNorm,
    )
    for key, hook in list(part._forward_pre_hooks.items()):
        if not isinstance(hook, (pruning, *norms)):
            continue
        with torch.no_grad():
            hook(part, ())
        name = hook._tensor_name if isinstance(hook, pruning) else hook.name
        weight = getattr(part, name).detach().clone()
        del part._forward_pre_hooks[key]
        vars(part).pop(name, None)
        part._buffers.pop(name, None)
        part.register_parameter(name, torch.nn.Parameter(weight, requires_grad=False))


def _fix_parametrized_weights(part: Any, torch: Any) -> None:
    """Weights that are worked out from others whenever they are read become parameters.

    (`remove_parametrizations` changes the class, which is the original's, too.)
    """
    with torch.no_grad():
        weights = {name: getattr(part, name).detach().clone() for name in part.parametrizations}
    part.__class__ = type(part).__bases__[0]
    del part.parametrizations
    for name, weight in weights.items():
        part.register_parameter(name, torch.nn.Parameter(weight, requires_grad=False))


class _Inputs:
    """What a module takes: one tensor or several, each an example in float64."""

    def __init__(self, example: Any, module: Any, kind: Any = None) -> None:
        torch = require("torch", extra="torch", why="importing a torch module")
        tree = require("torch.utils._pytree", extra="torch", why="importing a torch module")
        self._example, self._module = example, module
        args, kwargs = _arguments(example, torch)
        if kwargs:
            try:
                bound = inspect.signature(module.forward).bind(*args, **kwargs)
            except TypeError as error:
                raise ModelImportError(
                    f"example_input does not fit the module's forward: {error}"
                ) from None
            args, kwargs = bound.args, bound.kwargs
        leaves, self._structure = tree.tree_flatten((args, kwargs))
        self._tensors = [_example_tensor(leaf, torch, kind or torch.float64) for leaf in leaves]
        self._tree = tree
        self.shapes = [tuple(t.shape) for t in self._tensors]
        self.size = sum(t.numel() for t in self._tensors)
        if self.size > MAX_INPUTS:
            raise ModelImportError(
                f"example_input has {self.size} numbers; at most {MAX_INPUTS} are supported. Give "
                "a smaller one"
            )
        self.has_batch = all(len(shape) > 1 for shape in self.shapes)

    def single(self) -> _Inputs:
        """The same in float32."""
        torch = require("torch", extra="torch", why="importing a torch module")
        return _Inputs(self._example, self._module, torch.float32)

    def arguments(self, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Tensors as positional and keyword arguments of a forward."""
        args, kwargs = self._tree.tree_unflatten(list(tensors), self._structure)
        return tuple(args), dict(kwargs)

    @property
    def examples(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The example as arguments."""
        return self.arguments(self._tensors)

    def call(self, module: Any, tensors: Sequence[Any]) -> Any:
        """What the module returns for these inputs."""
        args, kwargs = self.arguments(tensors)
        return module(*args, **kwargs)

    def flat(self) -> FloatArray:
        """The example as one row."""
        return np.concatenate([t.double().numpy().ravel() for t in self._tensors])

    def split(self, points: FloatArray) -> list[Any]:
        """One point (a row) as tensors, or several (rows) as batches."""
        torch = require("torch", extra="torch", why="importing a torch module")
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = np.split(points, ends, axis=-1)
        if points.ndim == 1:
            wanted = self.shapes
        else:
            wanted = [(len(points), *shape[1:]) for shape in self.shapes]
        return [
            torch.from_numpy(part.copy()).reshape(shape)
            for part, shape in zip(parts, wanted, strict=True)
        ]


def _arguments(example: Any, torch: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """An example as positional and keyword arguments."""
    if isinstance(example, Mapping):
        return (), {name: _zeros(v, torch) if _is_shape(v) else v for name, v in example.items()}
    if _is_shape(example):
        return (_zeros(example, torch),), {}
    if isinstance(example, (tuple, list)):
        if not example:
            raise ModelImportError("example_input is empty; give what the module takes")
        if isinstance(example, tuple) and all(map(_is_shape, example)):
            return tuple(_zeros(shape, torch) for shape in example), {}
        leaves = torch.utils._pytree.tree_leaves(example)
        if any(isinstance(leaf, (torch.Tensor, np.ndarray)) for leaf in leaves):
            return tuple(example), {}
        try:
            return (np.asarray(example, dtype=np.float64),), {}
        except (TypeError, ValueError):
            raise ModelImportError(
                "example_input is neither numbers nor a shape nor several tensors"
            ) from None
    return (example,), {}


def _is_shape(example: Any) -> bool:
    return isinstance(example, tuple) and example != () and all(type(n) is int for n in example)


def _zeros(shape: tuple[int, ...], torch: Any) -> Any:
    """An example of some shape."""
    if min(shape) < 1:
        raise ModelImportError(f"example_input is the shape {shape}; expected sizes from 1 on")
    if math.prod(shape) > MAX_INPUTS:
        raise ModelImportError(
            f"example_input is the shape {tuple(shape)}; at most {MAX_INPUTS} numbers are supported"
        )
    return torch.zeros(shape)


def _example_tensor(leaf: Any, torch: Any, kind: Any) -> Any:
    if isinstance(leaf, (bool, int, float)):
        raise ModelImportError(
            f"example_input has the number {leaf!r} among its parts; only tensors can be inputs of "
            "a network: wrap the module in one that takes tensors only, and fixes that number"
        )
    try:
        given = torch.as_tensor(leaf).detach().cpu()
        example = given.real.to(kind)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ModelImportError(f"example_input is not a tensor: {error}") from None
    if given.is_complex():
        raise ModelImportError("example_input is complex; expected real numbers")
    if example.ndim == 0 or example.numel() == 0:
        raise ModelImportError(
            f"example_input has shape {tuple(example.shape)}; expected a batch of examples, or one "
            "flat example"
        )
    return example[:1].clone() if example.ndim > 1 else example


def _example_of(module: Any, torch: Any) -> Any:
    """An input for a module that begins with a linear layer."""
    for part in module.modules():
        if isinstance(part, torch.nn.Linear):
            return torch.zeros(1, part.in_features)
        if next(part.parameters(recurse=False), None) is not None:
            break
    raise ModelImportError(
        f"the shape of the input of the module {type(module).__name__} can't be inferred; give an "
        "example: tropicell.from_torch(module, example_input)"
    )


def _first_that_works(
    program: Any,
    run: Callable[[FloatArray], FloatArray],
    what: str,
    how: tuple[list[tuple[str, FloatArray]], float],
) -> tuple[Network, float]:
    """The network of the graph as exported, of one without in-place operators, or of core ATen.

    torch's own decompositions make some operators readable that the table does not have, and
    others unreadable (they write softshrink with comparisons), so the plain graph comes first.
    An operator that is known and refused is refused at once.
    """
    groups, tolerance = how
    first: ModelImportError | None = None
    for prepare in (
        lambda: program,
        lambda: program.run_decompositions({}),
        program.run_decompositions,
    ):
        in_place = True
        try:
            graph = from_exported(_prepared(prepare, what))
            in_place = any(call.in_place for call in graph.calls)
            network = torch_graph.build(graph)
            allowed = max(tolerance, FLOAT32_TOLERANCE) if torch_graph.rounds(graph) else tolerance
            compare(network, run, what=what, tolerance=allowed, groups=groups)
            return network, allowed
        except UnsupportedOperatorError as error:
            if first is None:
                first = error
            elif error.advice != UNKNOWN_ADVICE and isinstance(first, UnsupportedOperatorError):
                first = error  # what the operator is made of says why it can't be read
            if error.advice != UNKNOWN_ADVICE:
                break
        except ImportMismatchError as error:
            if graph.changes:
                raise ModelImportError(
                    f"{what} changes its buffer {graph.changes[0]!r} whenever it is called, and "
                    "its outputs with it; a network is one function"
                ) from error
            if not in_place:  # else a view was overwritten; the next graph has none
                raise
            first = first or error
        except ModelImportError:
            if first is None:
                raise
            break  # what was wrong with the plain graph says more
    assert first is not None
    raise first


def _prepared(prepare: Callable[[], Any], what: str) -> Any:
    """An exported program in the form that is wanted."""
    try:
        return _quietly(prepare)
    except Exception as error:  # torch's decompositions raise many kinds
        message = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelImportError(
            f"torch could not decompose the graph of {what}: {message}"
        ) from error


def _quietly(make: Callable[[], Any]) -> Any:
    """Without torch's own warnings about its own internals.

    Where an export fails, torch writes tracebacks and graphs to standard error, too; what is wrong
    is said by the error that is raised. What a ``forward`` that works has printed is kept.
    """
    handlers = _log_handlers()
    printed = io.StringIO()
    for handler in handlers:
        handler.addFilter(_nothing)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(printed):
            warnings.simplefilter("ignore")
            made = make()
    finally:
        for handler in handlers:
            handler.removeFilter(_nothing)
    if printed.getvalue():
        print(printed.getvalue(), end="", file=sys.stderr)
    return made


def _log_handlers() -> list[logging.Handler]:
    """Of torch's own logs."""
    return [
        handler
        for name, logger in list(logging.root.manager.loggerDict.items())
        if name.partition(".")[0] == "torch" and isinstance(logger, logging.Logger)
        for handler in logger.handlers
    ]


def _nothing(record: logging.LogRecord) -> bool:
    """A filter for records of a log that lets none of them pass."""
    return False


def from_pt2(path: str | Path, *, tolerance: float = FLOAT64_TOLERANCE) -> Network:
    """The network of a ``.pt2`` file, as written by ``torch.export.save``.

    Nothing in the file is run and nothing is unpickled: ``torch.export.load`` would do both, so
    the archive is read here instead (JSON for the graph, plain bytes for the weights). The model's
    own outputs come from its ATen operators, run by torch in float64.

    Parameters
    ----------
    path : str or Path
    tolerance : float
        As for `from_torch`.

    Returns
    -------
    Network
    """
    torch = require("torch", extra="torch", why="reading a .pt2 file")
    file = path_of(path)
    check_file(file)

    def run(points: FloatArray) -> FloatArray:
        ends = np.cumsum([math.prod(shape) for shape in graph.inputs.values()])[:-1]
        outputs = []
        for row in points:
            parts = zip(np.split(row, ends), graph.inputs.values(), strict=True)
            inputs = [torch.from_numpy(part.copy()).reshape(shape) for part, shape in parts]
            outputs.append(torch_graph.evaluate(graph, inputs))
        return _rows(outputs)

    with in_file(file):
        graph = read_pt2(file)
        network = torch_graph.build(graph)
        try:
            compare(network, run, what="the model", tolerance=tolerance)
        except ImportMismatchError as error:
            if any(call.in_place for call in graph.calls):  # perhaps of a part of another tensor
                raise ModelImportError(
                    "the model overwrites parts of tensors in place; save it without: "
                    "torch.export.save(program.run_decompositions({}), …)"
                ) from error
            raise
    return network


def _refuse_modules(module: Any, torch: Any) -> None:
    """Refuse what is random, quantised or depends on the batch, before torch trips over it."""
    norms = torch.nn.utils.parametrizations._SpectralNorm
    old_norm = require("torch.nn.utils.spectral_norm", extra="torch", why="importing").SpectralNorm
    for name, part in module.named_modules():
        kind, where = type(part).__name__, f"module {name!r}" if name else "the module itself"
        if isinstance(part, torch.jit.ScriptModule):
            raise ModelImportError(
                f"{where} is TorchScript, which can't be exported again; import the module that it "
                "was made from"
            )
        if any(torch.nn.parameter.is_lazy(value) for value in part.parameters(recurse=False)):
            raise ModelImportError(
                f"{where} ({kind}) does not know the sizes of its weights yet; call the module once"
            )
        fakes = "quantization" in type(part).__module__ and "FakeQuant" in kind
        if "quantized" in type(part).__module__ or kind == "QuantStub" or fakes:
            raise UnsupportedOperatorError(
                f"{kind} (quantised)",
                where,
                "it rounds, so it jumps; import the module before quantisation",
            )
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and (
            part.training or part.running_mean is None
        ):
            advice = (
                "it normalises by the batch it sees; call .eval() on the module first"
                if part.training
                else "it has no running statistics, so it normalises by the batch it sees"
            )
            raise UnsupportedOperatorError(f"{kind} (training mode)", where, advice)
        if isinstance(part, torch.nn.modules.dropout._DropoutNd) and part.training and part.p > 0:
            raise UnsupportedOperatorError(
                f"{kind} (training mode)",
                where,
                "its output is random; call .eval() on the module first",
            )
        spectral = isinstance(part, norms) or any(
            isinstance(hook, old_norm) for hook in part._forward_pre_hooks.values()
        )
        if spectral and part.training:
            raise UnsupportedOperatorError(
                "spectral norm (training mode)",
                where,
                "its weights change with every call; call .eval() on the module first",
            )


class _MixedPrecisionError(ModelImportError):
    """A module whose forward insists on float32 in one place, and can't run in float64."""


def _export(module: Any, inputs: _Inputs, torch: Any) -> Any:
    shapes = require("torch.fx.experimental.symbolic_shapes", extra="torch", why="exporting")
    name = type(module).__name__
    args, kwargs = inputs.examples
    try:
        return torch.export.export(module, args, kwargs, strict=False)
    except shapes.GuardOnDataDependentSymNode as error:
        raise UnsupportedOperatorError(
            "data-dependent control flow",
            f"module {name}",
            "which branch is taken depends on the input; write it with relu, clamp, maximum or "
            "minimum",
        ) from error
    except Exception as error:  # torch raises many kinds here
        message = str(error).strip() or type(error).__name__
        for path, part in module.named_modules():
            if isinstance(part, (torch.nn.Embedding, torch.nn.EmbeddingBag)) and (
                "indices" in message or "Embedding" in message or "embedding" in message
            ):
                raise UnsupportedOperatorError(
                    type(part).__name__,
                    f"module {path!r}" if path else "the module itself",
                    EMBEDDING_ADVICE,
                ) from error
        kind = _MixedPrecisionError if "type" in message else ModelImportError
        shape = ", ".join(str(shape) for shape in inputs.shapes)
        said = message.splitlines()[0].rstrip(".")
        raise kind(
            f"torch.export could not export the module {name} with an input of "
            f"shape {shape}: {said}. torch.export.export(module, (example,)) "
            "says more; a forward must work on tensors only, whatever their numbers"
        ) from error


def _check_batch(
    network: Network, module: Any, inputs: _Inputs, what: str, tolerance: float
) -> None:
    """A module whose rows influence each other is not a function of one example."""
    torch = require("torch", extra="torch", why="importing a torch module")
    points = np.concatenate([points for _, points in sample_points(network.n_inputs)])
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = _tensors(inputs.call(module, inputs.split(points)))
    except Exception:  # a forward that is written for one example is fine
        return
    if any(part.ndim == 0 or part.shape[0] != len(points) for part in parts):
        return
    expected = np.concatenate([part.reshape(len(points), -1).numpy() for part in parts], axis=1)
    if expected.shape[1] != network.n_outputs:
        return
    try:
        compare(network, lambda _: expected, what=what, tolerance=tolerance, groups=[("", points)])
    except ImportMismatchError:
        raise ModelImportError(
            f"{what} mixes the rows of a batch: one row's output depends on the others. Only "
            "functions of a single example can be imported"
        ) from None
