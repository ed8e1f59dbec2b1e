"""Training many networks at once: all networks of a figure, or of a row of a table.

Networks of one shape are trained in stacks (see `tropicell.lab.training`), each with its own
initialisation, its own order of the examples and its own Adam. Adam works number by number, so one
call on the numbers of a stack is exactly Adam on each network. On the CPU several stacks are
trained side by side, one per thread, each small enough to stay in the processor's cache.

Network i of a task depends on its seed alone, not on the networks beside it.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from tropicell._runtime.threads import ThreadPool
from tropicell.errors import InvalidInputError, require
from tropicell.network.network import Network

# --- many networks of one shape as a few tensors: values, gradients, Networks ---------------------

# Every tensor has the networks on its first axis. Layers are stored with neurons as rows and
# examples as columns, shape (networks, neurons, examples), so that each layer of all networks is
# one batched matrix product. Gradients are written out by hand: for layers of a few neurons the
# bookkeeping of automatic differentiation would take longer than the numbers.

torch = require("torch", extra="lab", why="training networks")

#: A torch.Tensor.
Tensor = Any
Skips = Sequence[tuple[int, int]]


class Stack:
    """Networks of one shape, to be trained together.

    Parameters
    ----------
    sizes : sequence of int
        Inputs, neurons of the layers 1 … L, outputs.
    skips : sequence of (k, ℓ)
        The output of layer k is added to the input of layer ℓ; ℓ = L + 1 is the output.
    networks : int
    device, dtype : str
        As torch names them.

    Examples
    --------
    >>> stack = Stack([2, 3, 3, 1], [(1, 3)], 4)
    >>> stack.initialise([torch.Generator().manual_seed(i) for i in range(4)])
    >>> stack.networks()[0]
    Network(2 → 3 → 3 → 1, skips 1→3)
    """

    def __init__(
        self,
        sizes: Sequence[int],
        skips: Skips,
        networks: int,
        *,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> None:
        self.sizes = tuple(sizes)
        self.skips = tuple(skips)
        self.count = networks
        self.depth = len(self.sizes) - 2
        kind = getattr(torch, dtype)
        shapes = [(networks, n, m) for m, n in pairwise(self.sizes)]
        shapes += [(networks, n, 1) for n in self.sizes[1:]]
        total = sum(math.prod(shape) for shape in shapes)
        # One tensor for all numbers: an optimiser that works number by number needs one call.
        self.parameters = torch.zeros(total, dtype=kind, device=device)
        self.gradients = torch.zeros_like(self.parameters)
        parts, slopes = _views(self.parameters, shapes), _views(self.gradients, shapes)
        matrices = self.depth + 1
        self.weights, self.biases = parts[:matrices], parts[matrices:]
        self.weight_gradients, self.bias_gradients = slopes[:matrices], slopes[matrices:]
        # What feeds layer ℓ besides layer ℓ - 1, and whom layer k feeds besides layer k + 1.
        self._into = [[k for k, target in skips if target == i] for i in range(self.depth + 2)]
        self._from = [[target for k, target in skips if k == i] for i in range(self.depth + 1)]
        # Raises the errors of Network for impossible skips, before any training.
        self.network(0)

    def initialise(self, generators: Sequence[Any]) -> None:
        """PyTorch's default initialisation: each network as its ``nn.Linear`` layers would be.

        Parameters
        ----------
        generators : sequence of torch.Generator
            One for each network, on the CPU: every device starts from the same numbers.
        """
        for index, generator in enumerate(generators):
            for weight, bias in zip(self.weights, self.biases, strict=True):
                matrix = torch.empty(weight.shape[1:], dtype=weight.dtype)
                torch.nn.init.kaiming_uniform_(matrix, a=math.sqrt(5), generator=generator)
                bound = 1 / math.sqrt(matrix.shape[1])
                vector = torch.empty(bias.shape[1:2], dtype=bias.dtype)
                torch.nn.init.uniform_(vector, -bound, bound, generator=generator)
                weight[index] = matrix.to(weight.device)
                bias[index, :, 0] = vector.to(bias.device)

    def forward(self, inputs: Tensor) -> Values:
        """Values of all layers; see `Values` for what `inputs` may be."""
        return Values(self, inputs).forward(inputs)

    def network(self, index: int) -> Network:
        """One of the networks; float32 numbers are float64 numbers, so nothing is rounded."""
        weights = [weight[index].double().cpu().numpy() for weight in self.weights]
        biases = [bias[index, :, 0].double().cpu().numpy() for bias in self.biases]
        return Network.mlp(weights, biases, skips=self.skips)

    def networks(self) -> list[Network]:
        """All networks."""
        return [self.network(index) for index in range(self.count)]


class Values:
    """The layers' values at a batch of examples, and the way back to the gradients.

    Its tensors are used again and again for batches of the same shape.

    Parameters
    ----------
    stack : Stack
    inputs : Tensor
        Of shape (examples, inputs) if all networks see the same examples, or (networks, examples,
        inputs) if each has its own. Only its shape matters here.

    Attributes
    ----------
    outputs : Tensor, shape (networks, outputs, examples)
    layers : list of Tensor
        Outputs of the layers 0 … L likewise; a neuron is active where its value is positive.
    """

    def __init__(self, stack: Stack, inputs: Tensor) -> None:
        examples = inputs.shape[-2]
        self._stack = stack
        self.layers = [inputs.mT, *(self._empty(n, examples) for n in stack.sizes[1:-1])]
        self.outputs = self._empty(stack.sizes[-1], examples)
        self._fed: list[Tensor] = [
            self._empty(stack.sizes[i - 1], examples) if stack._into[i] else None
            for i in range(stack.depth + 2)
        ]
        # Made when `backward` is called for the first time.
        self._slopes: list[Tensor] = []
        self._before: list[Tensor] = []

    def forward(self, inputs: Tensor) -> Values:
        """Compute all layers at examples of the shape that was said."""
        stack, layers = self._stack, self.layers
        layers[0] = inputs.mT
        for i in range(1, stack.depth + 2):
            into = layers[i - 1]
            for k in stack._into[i]:
                into = torch.add(into, layers[k], out=self._fed[i])
            out = self.outputs if i == stack.depth + 1 else layers[i]
            _affine(stack.weights[i - 1], into, stack.biases[i - 1], out)
            if i <= stack.depth:
                out.relu_()
        return self

    def backward(self, slope: Tensor) -> None:
        """Write the gradients of the weights and biases into the stack.

        Parameters
        ----------
        slope : Tensor
            The gradient of each network's loss with respect to `outputs`.
        """
        stack, layers = self._stack, self.layers
        if not self._slopes:
            self._slopes = [None, *(torch.empty_like(layer) for layer in layers[1:])]
            self._before = [None, *(torch.empty_like(layer) for layer in layers[1:])]
        for i in range(stack.depth + 1, 0, -1):
            into = layers[i - 1] if self._fed[i] is None else self._fed[i]
            _product(slope, into.mT, stack.weight_gradients[i - 1])
            torch.sum(slope, dim=2, keepdim=True, out=stack.bias_gradients[i - 1])
            if i == 1:
                return
            # _slopes[k] is the gradient of what comes into layer k + 1: layer k's and its skips'.
            torch.bmm(stack.weights[i - 1].mT, slope, out=self._slopes[i - 1])
            total = self._slopes[i - 1]
            for target in stack._from[i - 1]:
                total = torch.add(total, self._slopes[target - 1], out=self._before[i - 1])
            slope = torch.ops.aten.threshold_backward.grad_input(
                total, layers[i - 1], 0, grad_input=self._before[i - 1]
            )

    def _empty(self, neurons: int, examples: int) -> Tensor:
        numbers = self._stack.parameters
        shape = (self._stack.count, neurons, examples)
        return torch.empty(shape, dtype=numbers.dtype, device=numbers.device)


def check_shape(sizes: Sequence[int]) -> None:
    """Refuse sizes that make no network."""
    if len(sizes) < 2 or any(int(n) != n or n < 1 for n in sizes):
        raise InvalidInputError(
            f"sizes {tuple(sizes)}: expected the numbers of inputs, of the hidden layers' neurons "
            "and of outputs, all at least 1"
        )


def _views(flat: Tensor, shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    parts = torch.split(flat, [math.prod(shape) for shape in shapes])
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]


def _product(left: Tensor, right: Tensor, out: Tensor) -> None:
    """The product left @ right; right may be one matrix for all networks."""
    if right.ndim == 2:
        torch.mm(left.flatten(0, 1), right, out=out.flatten(0, 1))
    else:
        torch.bmm(left, right, out=out)


def _affine(weight: Tensor, values: Tensor, bias: Tensor, out: Tensor) -> None:
    if values.ndim == 2:
        torch.addmm(bias.flatten(0, 1), weight.flatten(0, 1), values, out=out.flatten(0, 1))
    else:
        torch.baddbmm(bias, weight, values, out=out)


# --- losses of many networks at once, with their gradients ----------------------------------------

LossName = Literal["cross-entropy", "mse"]


def loss(name: LossName, outputs: Tensor, targets: Tensor) -> Tensor:
    """The sum over the examples of each network's loss.

    Parameters
    ----------
    name : {"cross-entropy", "mse"}
    outputs : Tensor, shape (networks, outputs, examples)
    targets : Tensor
        Classes (1 or networks, examples), or numbers (1 or networks, outputs, examples).

    Returns
    -------
    Tensor, shape (networks,)
        For "mse" the mean over the outputs.

    Examples
    --------
    >>> loss("mse", torch.tensor([[[1.0, 3.0]]]), torch.tensor([[[0.0, 0.0]]])).tolist()
    [10.0]
    """
    if name == "mse":
        return (outputs - targets).square().mean(dim=1).sum(dim=1)
    wanted = targets.expand(outputs.shape[0], -1).unsqueeze(1)
    chosen = outputs.gather(1, wanted).squeeze(1)
    return (outputs.logsumexp(dim=1) - chosen).sum(dim=1)


def slope(name: LossName, outputs: Tensor, targets: Tensor) -> Tensor:
    """The gradient of each network's mean loss with respect to its outputs.

    Examples
    --------
    >>> slope("mse", torch.tensor([[[1.0, 3.0]]]), torch.tensor([[[0.0, 0.0]]])).tolist()
    [[[1.0, 3.0]]]
    """
    examples = outputs.shape[2]
    if name == "mse":
        return torch.sub(outputs, targets).mul_(2 / (outputs.shape[1] * examples))
    wanted = targets.expand(outputs.shape[0], -1).unsqueeze(1)
    gradient = torch.softmax(outputs, dim=1)
    gradient.scatter_add_(1, wanted, gradient.new_full((), -1.0).expand(wanted.shape))
    return gradient.div_(examples)


def check_loss(name: str) -> None:
    """Refuse an unknown name."""
    if name not in ("cross-entropy", "mse"):
        raise InvalidInputError(f"loss {name!r}: expected 'cross-entropy' or 'mse'")


# --- examples to learn from: batches for many networks, each in its own order ---------------------

#: Examples that are taken at once where no gradients are needed.
_CHUNK = 2048


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs and targets.

    Attributes
    ----------
    inputs : Tensor, shape (examples, inputs)
        Numbers, or bytes that stand for x / 127.5 - 1.
    targets : Tensor
        Classes (1, examples), or numbers (1 or networks, outputs, examples).
    dtype : torch.dtype
        Of the batches.

    Examples
    --------
    >>> data = Examples.of([[0.0], [1.0]], [3, 4], (1, 5), 1, "cross-entropy")
    >>> len(data)
    2
    """

    inputs: Tensor
    targets: Tensor
    dtype: Any

    @classmethod
    def of(
        cls,
        inputs: ArrayLike,
        targets: ArrayLike,
        sizes: Sequence[int],
        networks: int,
        loss: LossName,
    ) -> Examples:
        """Check arrays and make tensors of them; see `tropicell.lab.training.Task`."""
        x, y = np.asarray(inputs), np.asarray(targets)
        if x.ndim != 2 or x.shape[1] != sizes[0] or not len(x):
            raise InvalidInputError(
                f"inputs of shape {x.shape}: expected (examples, {sizes[0]}), at least one example"
            )
        if loss == "cross-entropy":
            if y.shape != (len(x),) or y.dtype.kind not in "iu":
                raise InvalidInputError(
                    f"targets of shape {y.shape} and type {y.dtype}: expected {len(x)} classes, "
                    "whole numbers"
                )
            if y.min() < 0 or y.max() >= sizes[-1]:
                raise InvalidInputError(
                    f"classes from {y.min()} to {y.max()}: the networks have the outputs 0 to "
                    f"{sizes[-1] - 1}"
                )
            return cls(_tensor(x), torch.from_numpy(y.astype(np.int64))[None], torch.float64)
        shape = (len(x), sizes[-1])
        if y.shape not in (shape, (networks, *shape)):
            raise InvalidInputError(
                f"targets of shape {y.shape}: expected {shape}, or {(networks, *shape)} if every "
                "network has its own"
            )
        y = np.moveaxis(y.reshape(-1, *shape).astype(np.float64), 1, 2)
        for name, array in (("inputs", x), ("targets", y)):
            if not np.isfinite(array).all():
                raise InvalidInputError(f"the {name} hold numbers that are not finite; drop them")
        return cls(_tensor(x), _tensor(y), torch.float64)

    def __len__(self) -> int:
        return int(self.inputs.shape[0])

    def on(self, stack: Stack, networks: range) -> Examples:
        """The examples of some networks, on their stack's device and in its precision."""
        numbers = stack.parameters
        inputs = self.inputs.to(numbers.device)
        targets = self.targets if len(self.targets) == 1 else self.targets[list(networks)]
        if inputs.is_floating_point():
            inputs = inputs.to(numbers.dtype)
        if targets.is_floating_point():
            targets = targets.to(numbers.dtype)
        return Examples(inputs, targets.to(numbers.device).contiguous(), numbers.dtype)

    def chunks(self) -> Iterator[tuple[Tensor, Tensor]]:
        """All examples in their order, a few at a time, the same for all networks."""
        for start in range(0, len(self), _CHUNK):
            part = slice(start, start + _CHUNK)
            yield self._numbers(self.inputs[part]), self.targets[..., part]

    def batches(
        self, size: int | None, generators: Sequence[Any]
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches of one epoch.

        Parameters
        ----------
        size : int, optional
            Without it there is one batch, with all examples in their order.
        generators : sequence of torch.Generator
            One for each network, for its order.

        Notes
        -----
        A batch is overwritten by the next one.
        """
        if size is None:
            yield self._numbers(self.inputs), self.targets
            return
        count, networks = len(self), len(generators)
        orders = torch.stack([torch.randperm(count, generator=g) for g in generators])
        orders = orders.to(self.inputs.device)
        width = self.inputs.shape[1]
        # The same two tensors for all batches: fresh ones would cost as much as the products.
        raw = self.inputs.new_empty(networks * min(size, count), width)
        numbers = raw if raw.dtype == self.dtype else torch.empty_like(raw, dtype=self.dtype)
        for start in range(0, count, size):
            chosen = orders[:, start : start + size]
            used = chosen.numel()
            torch.index_select(self.inputs, 0, chosen.flatten(), out=raw[:used])
            batch = raw[:used] if numbers is raw else _scaled(raw[:used], numbers[:used])
            yield batch.view(networks, -1, width), self._chosen(chosen)

    def _chosen(self, chosen: Tensor) -> Tensor:
        if self.targets.ndim == 2:
            return self.targets[0][chosen]
        outputs = self.targets.shape[1]
        targets = self.targets.expand(len(chosen), -1, -1)
        return targets.gather(2, chosen.unsqueeze(1).expand(-1, outputs, -1))

    def _numbers(self, inputs: Tensor) -> Tensor:
        if inputs.dtype != torch.uint8:
            return inputs
        return _scaled(inputs, torch.empty_like(inputs, dtype=self.dtype))


def _scaled(inputs: Tensor, out: Tensor) -> Tensor:
    return out.copy_(inputs).div_(127.5).sub_(1)


def _tensor(array: np.ndarray[Any, Any]) -> Tensor:
    kept = array if array.dtype == np.uint8 else array.astype(np.float64)
    return torch.from_numpy(np.ascontiguousarray(kept))


#: Numbers of one stack on the CPU (parameters, batch and layers) in bytes: about a core's share
#: of the last cache.
_CACHE = 8 * 2**20
_MEMORY = 2 * 2**30
_MOST = 32


@dataclass(frozen=True, eq=False)
class TrainingTask:
    """Networks of one shape, and what they learn.

    Attributes
    ----------
    sizes : sequence of int
        Inputs, neurons of the layers 1 … L, outputs.
    seeds : sequence of int
        One for each network: it decides the first weights and the order of the examples.
    inputs : array_like, shape (examples, inputs)
        Numbers; or bytes (uint8), which stand for x / 127.5 - 1.
    targets : array_like
        For "cross-entropy" classes (examples,); for "mse" numbers (examples, outputs), or
        (networks, examples, outputs) if each network learns its own.
    skips : sequence of (k, ℓ)
        As in `Network.mlp`.
    test_inputs, test_targets : array_like, optional
        For the test losses.
    """

    sizes: Sequence[int]
    seeds: Sequence[int]
    inputs: ArrayLike
    targets: ArrayLike
    skips: Sequence[tuple[int, int]] = ()
    test_inputs: ArrayLike | None = None
    test_targets: ArrayLike | None = None


#: The name under which `TrainingTask` is documented.
Task = TrainingTask


@dataclass(frozen=True)
class Schedule:
    """How networks are trained.

    Attributes
    ----------
    epochs : int
    learning_rate : float
        Of Adam.
    loss : {"cross-entropy", "mse"}
        The mean over a batch is made small.
    batch_size : int, optional
        Default: all examples at once. The last batch of an epoch may be shorter; every network
        shuffles anew for every epoch.
    checkpoints : sequence of int, optional
        Steps after which networks and losses are kept; 0 is before the first. Default: the last.
    losses : bool
        Whether to compute losses (on all examples) at the checkpoints.
    """

    epochs: int
    learning_rate: float
    loss: LossName
    batch_size: int | None = None
    checkpoints: Sequence[int] | None = None
    losses: bool = True

    def steps(self, examples: int) -> int:
        """Number of steps of the whole training."""
        return self.epochs * -(-examples // (self.batch_size or examples))


@dataclass(frozen=True, eq=False)
class Training:
    """What came out for the networks of a task.

    Attributes
    ----------
    steps : ndarray of int64, shape (checkpoints,)
    networks : list of lists of Network
        ``networks[c][i]`` is network i at checkpoint c.
    train_loss, test_loss : ndarray, shape (checkpoints, networks)
        NaN where none was asked for.
    """

    steps: NDArray[np.int64]
    networks: list[list[Network]]
    train_loss: NDArray[np.float64]
    test_loss: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StackPart:
    """A stack whose training has ended.

    Attributes
    ----------
    task : int
        Index of the task.
    networks : range
        Which of the task's networks these are.
    stack : Stack
        At the end of the training.
    training : Training
    """

    task: int
    networks: range
    stack: Stack
    training: Training


def train(
    tasks: Sequence[TrainingTask],
    schedule: Schedule,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    workers: int | None = None,
    progress: bool = False,
    finished: Callable[[StackPart], None] | None = None,
) -> list[Training]:
    """Train the networks of several tasks.

    Parameters
    ----------
    tasks : sequence of TrainingTask
    schedule : Schedule
    device : str
        ``"cpu"``, ``"cuda"``, …
    dtype : {"float32", "float64"}
    workers : int, optional
        Threads on the CPU. Default: as many as there are processors. Results do not depend on it.
    progress : bool
        Show a bar.
    finished : callable, optional
        Called with each stack as soon as it is ready, in the thread that has trained it.

    Returns
    -------
    list of Training
        One for each task.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 21)[:, None]
    >>> task = TrainingTask([1, 4, 1], seeds=[0, 1, 2], inputs=x, targets=np.abs(x))
    >>> training, = train([task], Schedule(300, 0.01, "mse", checkpoints=[0, 300]))
    >>> training.networks[-1][2]
    Network(1 → 4 → 1)
    >>> bool((training.train_loss[-1] < training.train_loss[0]).all())
    True
    """
    jobs = [job for index, task in enumerate(tasks) for job in _jobs(index, task, schedule, device)]
    threads = 1 if device != "cpu" else max(1, min(len(jobs), workers or os.cpu_count() or 1))
    total = sum(job.steps * len(job.networks) for job in jobs)
    stop = threading.Event()
    parts: list[StackPart] = []
    with (
        _own_threads(device),
        tqdm(total=total, unit=" steps", disable=not progress, smoothing=0.05) as bar,
        ThreadPool(threads) as pool,
    ):

        def run(job: _TrainingJob) -> None:
            if stop.is_set():
                return
            if device == "cpu":
                torch.set_num_threads(1)
            part = job.run(schedule, device, dtype, bar, stop)
            if part is not None:
                if finished is not None:
                    finished(part)
                parts.append(part)

        futures = [pool.submit(run, job) for job in jobs]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()  # Ctrl-C, or an error in one of the threads: the others end soon
        for future in futures:
            future.result()
    return [_joined([part for part in parts if part.task == i]) for i in range(len(tasks))]


@contextmanager
def _own_threads(device: str) -> Iterator[None]:
    """Give torch's settings back: each of our threads computes alone."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        if device == "cpu":
            torch.set_num_threads(before)


def _jobs(index: int, task: TrainingTask, schedule: Schedule, device: str) -> list[_TrainingJob]:
    """A task cut into stacks. Their size is the same whatever the number of threads."""
    check_shape(task.sizes)
    check_loss(schedule.loss)
    examples = Examples.of(task.inputs, task.targets, task.sizes, len(task.seeds), schedule.loss)
    tests = None
    if task.test_inputs is not None and task.test_targets is not None:
        tests = Examples.of(
            task.test_inputs, task.test_targets, task.sizes, len(task.seeds), schedule.loss
        )
    if not len(task.seeds):
        raise InvalidInputError("a task has no seeds: expected one for each network")
    batch = schedule.batch_size or len(examples)
    if batch < 1 or schedule.epochs < 0:
        raise InvalidInputError(
            f"batches of {batch} examples, {schedule.epochs} epochs: expected at least 1 and 0"
        )
    steps = schedule.steps(len(examples))
    checkpoints = sorted(set([steps] if schedule.checkpoints is None else schedule.checkpoints))
    if checkpoints and not 0 <= checkpoints[0] <= checkpoints[-1] <= steps:
        raise InvalidInputError(
            f"checkpoints from {checkpoints[0]} to {checkpoints[-1]}: expected steps from 0 to "
            f"{steps}"
        )
    # per network: parameters, gradients and two moments; the layers' values, slopes and sums
    numbers = 4 * sum((m + 1) * n for m, n in pairwise(task.sizes)) + 3 * batch * sum(
        task.sizes[1:]
    )
    numbers += 0 if schedule.batch_size is None else batch * task.sizes[0]
    room = _CACHE if device == "cpu" else _MEMORY
    size = max(1, min(room // (4 * numbers), _MOST if device == "cpu" else len(task.seeds)))
    count = -(-len(task.seeds) // size)
    cuts = [len(task.seeds) * i // count for i in range(count + 1)]
    return [
        _TrainingJob(index, task, range(a, b), examples, tests, steps, checkpoints)
        for a, b in pairwise(cuts)
    ]


@dataclass(eq=False)
class _TrainingJob:
    """One stack to train."""

    index: int
    task: TrainingTask
    networks: range
    examples: Examples
    tests: Examples | None
    steps: int
    checkpoints: list[int]
    kept: list[list[Network]] = field(default_factory=list)
    losses: list[tuple[Any, Any]] = field(default_factory=list)

    def run(
        self, schedule: Schedule, device: str, dtype: str, bar: Any, stop: threading.Event
    ) -> StackPart | None:
        """Train; None if stopped before the end."""
        seeds = self.task.seeds
        generators = [torch.Generator().manual_seed(int(seeds[i])) for i in self.networks]
        stack = Stack(
            self.task.sizes, self.task.skips, len(self.networks), device=device, dtype=dtype
        )
        stack.initialise(generators)
        examples = self.examples.on(stack, self.networks)
        tests = self.tests.on(stack, self.networks) if self.tests is not None else None
        optimiser = _adam(stack, schedule.learning_rate)
        wanted = frozenset(self.checkpoints)
        if 0 in wanted:
            self._keep(0, schedule, stack, examples, tests)
        step = 0
        values: dict[tuple[int, ...], Values] = {}
        for _ in range(schedule.epochs):
            for inputs, targets in examples.batches(schedule.batch_size, generators):
                if stop.is_set():
                    return None
                shape = tuple(inputs.shape)
                if shape not in values:
                    values[shape] = Values(stack, inputs)
                now = values[shape].forward(inputs)
                now.backward(slope(schedule.loss, now.outputs, targets))
                optimiser.step()
                step += 1
                if step in wanted:
                    self._keep(step, schedule, stack, examples, tests)
                bar.update(len(self.networks))
        return StackPart(self.index, self.networks, stack, self._training())

    def _keep(
        self,
        step: int,
        schedule: Schedule,
        stack: Stack,
        examples: Examples,
        tests: Examples | None,
    ) -> None:
        """Keep networks and losses at a checkpoint."""
        if not bool(torch.isfinite(stack.parameters).all()):
            raise InvalidInputError(
                f"the training has diverged before step {step}: weights are not finite; try a "
                f"smaller learning rate than {schedule.learning_rate}"
            )
        self.kept.append(stack.networks())
        nothing = np.full(stack.count, np.nan)
        wanted = schedule.losses
        self.losses.append(
            (
                mean_loss(stack, examples, schedule.loss) if wanted else nothing,
                mean_loss(stack, tests, schedule.loss) if wanted and tests is not None else nothing,
            )
        )

    def _training(self) -> Training:
        losses = np.array(self.losses).reshape(len(self.kept), 2, len(self.networks))
        return Training(np.array(self.checkpoints, np.int64), self.kept, losses[:, 0], losses[:, 1])


def mean_loss(stack: Stack, examples: Examples, name: LossName) -> NDArray[np.float64]:
    """Each network's loss, the mean over all examples.

    Parameters
    ----------
    stack : Stack
    examples : Examples
        On the stack's device; see `Examples.on`.
    name : {"cross-entropy", "mse"}
    """
    total = torch.zeros(stack.count, dtype=torch.float64, device=stack.parameters.device)
    for inputs, targets in examples.chunks():
        total += loss(name, stack.forward(inputs).outputs, targets).double()
    return np.asarray((total / len(examples)).cpu().numpy())


def _adam(stack: Stack, learning_rate: float) -> Any:
    parameter: Tensor = torch.nn.Parameter(stack.parameters, requires_grad=True)
    parameter.grad = stack.gradients
    return torch.optim.Adam([parameter], lr=learning_rate, fused=True)


def _joined(parts: list[StackPart]) -> Training:
    """The parts of one task, in the order of its networks."""
    parts = sorted(parts, key=lambda part: part.networks.start)
    runs = [part.training for part in parts]
    networks = [
        [network for run in runs for network in run.networks[c]] for c in range(len(runs[0].steps))
    ]
    return Training(
        runs[0].steps,
        networks,
        np.concatenate([run.train_loss for run in runs], axis=1),
        np.concatenate([run.test_loss for run in runs], axis=1),
    )
