"""From PyTorch: any module that `torch.export` can export, and ``.pt2`` files."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
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
}


def from_torch(module: Any, example_input: Any, *, tolerance: float = FLOAT64_TOLERANCE) -> Network:
    """The network of a PyTorch module.

    The module is exported with `torch.export`, so any ``forward`` works that it can trace:
    residual adds, concatenations and slices included. A float64 copy is used; the module itself
    is not touched.

    Parameters
    ----------
    module : torch.nn.Module
        In evaluation mode, if it has batch normalisation or dropout.
    example_input : Tensor or array_like
        What the module takes: a batch, with the batch on the first axis, of which one example is
        used; or, for modules without a batch axis, a 1-D tensor. Only its shape matters.
    tolerance : float
        Largest difference between the module's outputs in float64 and the network's, relative to
        the outputs. A module that casts to float32 on its way is compared at 1e-3.

    Returns
    -------
    Network
        Its inputs are the entries of one example in row-major order, its outputs likewise.

    Raises
    ------
    UnsupportedOperatorError
        If the module uses an operator that is not piecewise linear, or not supported.
    ModelImportError
        If it can't be exported, has several inputs or outputs, or mixes the rows of a batch.
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
    """
    torch = require("torch", extra="torch", why="importing a torch module")
    if not isinstance(module, torch.nn.Module):
        raise ModelImportError(
            f"expected a torch.nn.Module, got {type(module).__name__}"
            + _ADVICE.get(type(module).__name__, "")
        )
    example = _example(example_input, torch)
    _refuse_training(module, torch)
    double = _double_copy(module)
    program = _quietly(lambda: _export(double, example, torch))
    shape = tuple(example.shape)

    def run(points: FloatArray) -> FloatArray:
        rows = torch.from_numpy(points).reshape(len(points), *shape)
        with torch.no_grad():
            return np.stack([_tensor(double(row)).numpy().ravel() for row in rows])

    what = f"the module {type(module).__name__}"
    groups = sample_points(example.numel(), example.numpy().ravel())
    network, allowed = _first_that_works(program, shape, run, what, (groups, tolerance))
    if example.ndim > 1:
        _check_batch(network, double, shape, what, allowed)
    return network


def _tensor(output: Any) -> Any:
    """The one tensor in what a module returns, be it alone or in a dict or tuple."""
    tree = require("torch.utils._pytree", extra="torch", why="importing a torch module")
    return tree.tree_leaves(output)[0]


def _double_copy(module: Any) -> Any:
    try:
        return copy.deepcopy(module).cpu().double()
    except Exception as error:  # whatever the module's parts raise when they are copied
        raise ModelImportError(
            f"the module {type(module).__name__} can't be copied: {error}"
        ) from error


def _first_that_works(
    program: Any,
    shape: tuple[int, ...],
    run: Callable[[FloatArray], FloatArray],
    what: str,
    how: tuple[list[tuple[str, FloatArray]], float],
) -> tuple[Network, float]:
    """The network of the graph as exported, of one without in-place operators, or of core ATen.

    torch's own decompositions make some operators readable that the table does not have, and
    others unreadable (they write softshrink with comparisons), so the plain graph comes first.
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
            graph = from_exported(_quietly(prepare))
            in_place = any(call.in_place for call in graph.calls)
            network = torch_graph.build(graph, shape)
            allowed = max(tolerance, FLOAT32_TOLERANCE) if torch_graph.rounds(graph) else tolerance
            compare(network, run, what=what, tolerance=allowed, groups=groups)
            return network, allowed
        except UnsupportedOperatorError as error:
            first = first or error
        except ImportMismatchError as error:
            if not in_place:  # else a view was overwritten; the next graph has none
                raise
            first = first or error
    assert first is not None
    raise first


def _quietly(make: Callable[[], Any]) -> Any:
    """Without torch's own warnings about its own internals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


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
        rows = torch.from_numpy(points).reshape(len(points), *shape)
        return np.stack([torch_graph.evaluate(graph, row.clone()).numpy().ravel() for row in rows])

    with in_file(file):
        graph, shape = read_pt2(file)
        network = torch_graph.build(graph, shape)
        compare(network, run, what="the model", tolerance=tolerance)
    return network


def _example(example_input: Any, torch: Any) -> Any:
    if isinstance(example_input, (tuple, list)) and any(
        isinstance(part, torch.Tensor) for part in example_input
    ):
        raise ModelImportError(
            f"example_input holds {len(example_input)} tensors; expected one. Wrap a module with "
            "several inputs in one that takes a single tensor and splits it"
        )
    try:
        example = torch.as_tensor(example_input).detach().cpu().double()
    except (TypeError, ValueError, RuntimeError) as error:
        raise ModelImportError(f"example_input is not a tensor: {error}") from None
    if example.ndim == 0 or example.numel() == 0:
        raise ModelImportError(
            f"example_input has shape {tuple(example.shape)}; expected a batch of examples, or one "
            "flat example"
        )
    return example[:1].clone() if example.ndim > 1 else example


def _refuse_training(module: Any, torch: Any) -> None:
    """Refuse what is random, or depends on the batch, before torch trips over it."""
    for name, part in module.named_modules():
        kind, where = type(part).__name__, f"module {name!r}" if name else "the module itself"
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


def _export(module: Any, example: Any, torch: Any) -> Any:
    shapes = require("torch.fx.experimental.symbolic_shapes", extra="torch", why="exporting")
    try:
        return torch.export.export(module, (example,), strict=False)
    except shapes.GuardOnDataDependentSymNode as error:
        raise UnsupportedOperatorError(
            "data-dependent control flow",
            f"module {type(module).__name__}",
            "which branch is taken depends on the input; write it with relu, clamp, maximum or "
            "minimum",
        ) from error
    except Exception as error:  # torch raises many kinds here
        raise ModelImportError(
            f"torch.export could not export the module {type(module).__name__} with an input of "
            f"shape {tuple(example.shape)}: {str(error).strip().splitlines()[0]}"
        ) from error


def _check_batch(
    network: Network, module: Any, shape: tuple[int, ...], what: str, tolerance: float
) -> None:
    """A module whose rows influence each other is not a function of one example."""
    torch = require("torch", extra="torch", why="importing a torch module")
    points = np.concatenate([points for _, points in sample_points(network.n_inputs)])
    batch = torch.from_numpy(points).reshape(len(points), *shape[1:])
    try:
        with torch.no_grad():
            rows = _tensor(module(batch))
    except Exception:  # a forward that is written for one example is fine
        return
    if rows.ndim == 0 or rows.shape[0] != len(points):
        return
    expected = rows.reshape(len(points), -1).numpy()
    if expected.shape[1] != network.n_outputs:
        return
    try:
        compare(network, lambda _: expected, what=what, tolerance=tolerance, groups=[("", points)])
    except ImportMismatchError:
        raise ModelImportError(
            f"{what} mixes the rows of a batch: one row's output depends on the others. Only "
            "functions of a single example can be imported"
        ) from None
