"""Training many networks at once: all networks of a figure, or of a row of a table.

Networks of one shape are trained in stacks (see `tropicell.lab.stack`), each with its own
initialisation, its own order of the examples and its own Adam. Adam works number by number, so one
call on the numbers of a stack is exactly Adam on each network. On the CPU several stacks are
trained side by side, one per thread, each small enough to stay in the processor's cache.

Network i of a task depends on its seed alone, not on the networks beside it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from tropicell._runtime.threads import ThreadPool
from tropicell.errors import InvalidInputError
from tropicell.lab.examples import Examples
from tropicell.lab.losses import LossName, check_loss, loss, slope
from tropicell.lab.stack import Stack, Tensor, Values, check_shape, torch
from tropicell.network.network import Network

#: Numbers of one stack on the CPU (parameters, batch and layers) in bytes: about a core's share
#: of the last cache.
_CACHE = 8 * 2**20
_MEMORY = 2 * 2**30
_MOST = 32


@dataclass(frozen=True, eq=False)
class Task:
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
class Part:
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
    tasks: Sequence[Task],
    schedule: Schedule,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    workers: int | None = None,
    progress: bool = False,
    finished: Callable[[Part], None] | None = None,
) -> list[Training]:
    """Train the networks of several tasks.

    Parameters
    ----------
    tasks : sequence of Task
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
    >>> task = Task([1, 4, 1], seeds=[0, 1, 2], inputs=x, targets=np.abs(x))
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
    parts: list[Part] = []
    with (
        _own_threads(device),
        tqdm(total=total, unit=" steps", disable=not progress, smoothing=0.05) as bar,
        ThreadPool(threads) as pool,
    ):

        def run(job: _Job) -> None:
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


def _jobs(index: int, task: Task, schedule: Schedule, device: str) -> list[_Job]:
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
        _Job(index, task, range(a, b), examples, tests, steps, checkpoints)
        for a, b in pairwise(cuts)
    ]


@dataclass(eq=False)
class _Job:
    """One stack to train."""

    index: int
    task: Task
    networks: range
    examples: Examples
    tests: Examples | None
    steps: int
    checkpoints: list[int]
    kept: list[list[Network]] = field(default_factory=list)
    losses: list[tuple[Any, Any]] = field(default_factory=list)

    def run(
        self, schedule: Schedule, device: str, dtype: str, bar: Any, stop: threading.Event
    ) -> Part | None:
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
        return Part(self.index, self.networks, stack, self._training())

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


def _joined(parts: list[Part]) -> Training:
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
