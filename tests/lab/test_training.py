"""Training many networks at once is training each of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tropicell.errors import InvalidInputError, InvalidNetworkError
from tropicell.lab.training import Schedule, Stack, StackPart, Training, TrainingTask, train

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(5)
POINTS = RNG.normal(size=(50, 4))
IMAGES = RNG.integers(0, 256, size=(50, 4), dtype=np.uint8)
CLASSES = RNG.integers(0, 3, size=50)
SHAPES = [
    ((4, 5, 3), ()),
    ((4, 5, 5, 5, 5, 3), ((1, 3), (2, 4))),
    ((4, 5, 5, 5, 3), ((1, 3), (1, 4), (2, 4))),
    ((4, 4, 4, 3), ((0, 2), (0, 3), (1, 3))),
    ((4, 3), ()),
]


@pytest.fixture(autouse=True)
def _one_thread():
    """Tiny networks: threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Plain(torch.nn.Module):
    """One network, as one would write it."""

    def __init__(self, sizes: tuple[int, ...], skips: tuple[tuple[int, int], ...]) -> None:
        super().__init__()
        self.linear = torch.nn.ModuleList(torch.nn.Linear(m, n) for m, n in pairwise(sizes))
        self.skips = skips

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values = [x]
        for index, linear in enumerate(self.linear, start=1):
            into = values[-1] + sum(values[k] for k, target in self.skips if target == index)
            out = linear(into)
            values.append(out.relu() if index < len(self.linear) else out)
        return values[-1]


def plain_loop(
    task: TrainingTask, schedule: Schedule, dtype: torch.dtype
) -> tuple[list[Plain], list[float]]:
    """Networks one after the other, with torch.optim.Adam and automatic differentiation."""
    inputs = torch.as_tensor(np.asarray(task.inputs))
    x = inputs.to(dtype) / 127.5 - 1 if inputs.dtype == torch.uint8 else inputs.to(dtype)
    targets = torch.as_tensor(np.asarray(task.targets))
    measure = torch.nn.CrossEntropyLoss()
    if schedule.loss == "mse":
        measure, targets = torch.nn.MSELoss(), targets.to(dtype)
    modules, losses = [], []
    for index, seed in enumerate(task.seeds):
        y = targets[index] if targets.ndim == 3 else targets
        generator = torch.manual_seed(seed)
        torch.set_default_dtype(dtype)
        module = Plain(tuple(task.sizes), tuple(task.skips))
        torch.set_default_dtype(torch.float32)
        optimiser = torch.optim.Adam(module.parameters(), lr=schedule.learning_rate)
        for _ in range(schedule.epochs):
            size, order = len(x), torch.arange(len(x))
            if schedule.batch_size is not None:
                size, order = schedule.batch_size, torch.randperm(len(x), generator=generator)
            for start in range(0, len(x), size):
                chosen = order[start : start + size]
                optimiser.zero_grad()
                measure(module(x[chosen]), y[chosen]).backward()
                optimiser.step()
        modules.append(module)
        losses.append(measure(module(x), y).item())
    return modules, losses


def assert_same(training: Training, modules: list[Plain], tolerance: float) -> None:
    for network, module in zip(training.networks[-1], modules, strict=True):
        for layer, linear in enumerate(module.linear, start=1):
            affine = network.affine(layer)
            bias, weight = linear.bias.detach().numpy(), linear.weight.detach().numpy()
            np.testing.assert_allclose(affine.bias, bias, rtol=0, atol=tolerance)
            for matrix in affine.terms.values():
                np.testing.assert_allclose(matrix, weight, rtol=0, atol=tolerance)


@pytest.mark.parametrize(("sizes", "skips"), SHAPES)
@pytest.mark.parametrize("batch_size", [None, 16])
@pytest.mark.parametrize("loss", ["mse", "cross-entropy"])
def test_a_stack_trains_like_a_plain_loop(sizes, skips, batch_size, loss) -> None:
    targets = CLASSES if loss == "cross-entropy" else np.sin(POINTS[:, :3] + RNG.normal())
    task = TrainingTask(sizes, [3, 1, 4], POINTS, targets, skips)
    schedule = Schedule(6, 0.01, loss, batch_size)
    (training,) = train([task], schedule, dtype="float64")
    modules, losses = plain_loop(task, schedule, torch.float64)
    assert_same(training, modules, 1e-9)
    np.testing.assert_allclose(training.train_loss[-1], losses, rtol=1e-9)


def test_float32_bytes_and_own_targets() -> None:
    sizes, skips = SHAPES[1]
    own = np.stack([np.cos(i + POINTS[:, :3]) for i in range(3)])
    task = TrainingTask(sizes, [7, 8, 9], IMAGES, own, skips)
    for batch_size in (None, 20):
        schedule = Schedule(5, 0.003, "mse", batch_size)
        (training,) = train([task], schedule)
        assert_same(training, plain_loop(task, schedule, torch.float32)[0], 1e-5)


def test_first_weights_are_those_of_linear_layers() -> None:
    task = TrainingTask((4, 6, 2), [11, 12], POINTS, CLASSES % 2)
    (training,) = train([task], Schedule(0, 0.1, "cross-entropy", 16))
    modules, _ = plain_loop(task, Schedule(0, 0.1, "cross-entropy"), torch.float32)
    assert_same(training, modules, 0.0)


def test_checkpoints_and_test_losses() -> None:
    sizes, skips = SHAPES[2]
    targets = np.sin(POINTS[:, :3])
    task = TrainingTask(sizes, [1, 2], POINTS, targets, skips, POINTS[:9] + 0.1, targets[:9])
    (training,) = train([task], Schedule(4, 0.01, "mse", 20, checkpoints=[12, 0, 5]))
    assert training.steps.tolist() == [0, 5, 12]
    for row, networks in enumerate(training.networks):
        for column, network in enumerate(networks):
            train_loss = np.mean((network(POINTS) - targets) ** 2)
            test_loss = np.mean((network(POINTS[:9] + 0.1) - targets[:9]) ** 2)
            assert training.train_loss[row, column] == pytest.approx(train_loss, rel=1e-5)
            assert training.test_loss[row, column] == pytest.approx(test_loss, rel=1e-5)
    (whole,) = train([task], Schedule(4, 0.01, "mse", 20))
    same = [
        a.fingerprint == b.fingerprint
        for a, b in zip(training.networks[-1], whole.networks[0], strict=True)
    ]
    assert same == [True, True], "looking at networks on the way must not change them"


def test_results_depend_on_the_seed_alone(monkeypatch) -> None:
    tasks = [
        TrainingTask((4, 5, 5, 5, 3), list(range(9)), IMAGES, CLASSES, skips)
        for skips in ((), [(1, 3)])
    ]
    schedule = Schedule(3, 0.01, "cross-entropy", 16)
    first = train(tasks, schedule, workers=1)
    again = train(tasks, schedule, workers=2)
    for a, b in zip(first, again, strict=True):
        assert [n.fingerprint for n in a.networks[0]] == [n.fingerprint for n in b.networks[0]]
    monkeypatch.setattr("tropicell.lab.training._MOST", 2)
    parts: list[StackPart] = []
    small = train(tasks, schedule, workers=2, finished=parts.append)
    assert sorted((part.task, part.networks.start) for part in parts)[:3] == [
        (0, 0),
        (0, 1),
        (0, 3),
    ]
    for a, b in zip(first, small, strict=True):
        for one, other in zip(a.networks[0], b.networks[0], strict=True):
            np.testing.assert_allclose(one(POINTS), other(POINTS), atol=1e-5)
    assert torch.get_num_threads() >= 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")
def test_a_gpu_trains_the_same_networks() -> None:
    own = np.stack([np.cos(i + POINTS[:, :3]) for i in range(3)])
    for task, loss in (
        (TrainingTask(*SHAPES[1][:1], [1, 2, 3], IMAGES, CLASSES, SHAPES[1][1]), "cross-entropy"),
        (TrainingTask(*SHAPES[3][:1], [1, 2, 3], POINTS, own, SHAPES[3][1]), "mse"),
    ):
        for batch_size in (None, 16):
            schedule = Schedule(5, 0.01, loss, batch_size)
            (here,) = train([task], schedule, dtype="float64")
            (there,) = train([task], schedule, dtype="float64", device="cuda")
            np.testing.assert_allclose(here.train_loss, there.train_loss, rtol=1e-9)
            for one, other in zip(here.networks[0], there.networks[0], strict=True):
                np.testing.assert_allclose(one(POINTS), other(POINTS), atol=1e-9)


def test_threads_of_torch_are_given_back() -> None:
    before = torch.get_num_threads()
    train([TrainingTask((4, 3), [0], POINTS, CLASSES)], Schedule(1, 0.1, "cross-entropy"))
    assert torch.get_num_threads() == before


def test_an_error_in_a_thread_ends_the_training() -> None:
    def fail(part: StackPart) -> None:
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        train(
            [TrainingTask((4, 3), [0], POINTS, CLASSES)],
            Schedule(1, 0.1, "cross-entropy"),
            finished=fail,
        )


@pytest.mark.parametrize(
    ("change", "schedule", "words"),
    [
        ({"sizes": (3, 3)}, {}, "inputs of shape (50, 4): expected (examples, 3)"),
        ({"sizes": (4,)}, {}, "sizes (4,)"),
        ({"targets": CLASSES + 1}, {}, "classes from 1 to 3"),
        ({"targets": CLASSES * 1.0}, {}, "float64: expected 50 classes"),
        ({"targets": CLASSES[:4]}, {}, "targets of shape (4,)"),
        ({}, {"loss": "hinge"}, "loss 'hinge'"),
        ({}, {"loss": "mse"}, "expected (50, 3), or (2, 50, 3)"),
        ({"targets": np.full((50, 3), np.nan)}, {"loss": "mse"}, "targets hold numbers that"),
        ({}, {"checkpoints": [9]}, "checkpoints from 9 to 9: expected steps from 0 to 1"),
        ({}, {"batch_size": -1}, "batches of -1"),
        ({"seeds": []}, {}, "a task has no seeds"),
        ({}, {"learning_rate": 1e300, "epochs": 2}, "the training has diverged before step 2"),
    ],
)
def test_bad_input_is_named(change, schedule, words) -> None:
    task = TrainingTask(
        **{"sizes": (4, 3), "seeds": [0, 1], "inputs": POINTS, "targets": CLASSES, **change}
    )
    plan = Schedule(**{"epochs": 1, "learning_rate": 0.1, "loss": "cross-entropy", **schedule})
    with pytest.raises(InvalidInputError) as caught:
        train([task], plan)
    assert words in str(caught.value)


def test_impossible_skips_are_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="skip 1→3"):
        Stack([2, 4, 5, 1], [(1, 3)], 2)
