"""How much faster networks train in stacks than one after the other, in the same run.

Run it with ``python -m benchmarks.training``. The plain loop is what one would write: a module with
``nn.Linear`` layers, automatic differentiation, ``torch.optim.Adam``. Both see random images of
MNIST's size in batches of 64, or a grid in the plane all at once, and both may use all processors.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch

from tropicell.lab.training import Schedule, TrainingTask, train

IMAGES = np.random.default_rng(0).integers(0, 256, size=(1280, 784), dtype=np.uint8)
CLASSES = np.random.default_rng(1).integers(0, 10, size=len(IMAGES))
LINE = np.linspace(-10, 10, 101)
GRID = np.stack(np.meshgrid(LINE, LINE), axis=-1).reshape(-1, 2)
HEIGHTS = np.sin(np.cos(GRID[:, :1] / 2)) * np.sin(np.cos(GRID[:, 1:] / 2))

#: Name, task for a number of networks, schedule.
CASES = {
    "images, 4×8": (
        (784, 8, 8, 8, 8, 10),
        ((1, 3), (2, 4)),
        Schedule(1, 5e-4, "cross-entropy", 64, losses=False),
    ),
    "images, 3×16": (
        (784, 16, 16, 16, 10),
        ((1, 3),),
        Schedule(1, 5e-4, "cross-entropy", 64, losses=False),
    ),
    "images, 3×32": (
        (784, 32, 32, 32, 10),
        ((1, 3),),
        Schedule(1, 5e-4, "cross-entropy", 64, losses=False),
    ),
    "plane, 5×4": (
        (2, 4, 4, 4, 4, 4, 1),
        ((1, 3), (2, 4)),
        Schedule(20, 0.01, "mse", losses=False),
    ),
}


class Plain(torch.nn.Module):
    def __init__(self, sizes: tuple[int, ...], skips: tuple[tuple[int, int], ...]) -> None:
        super().__init__()
        self.linear = torch.nn.ModuleList(torch.nn.Linear(m, n) for m, n in pairwise(sizes))
        self.skips = skips

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values = [x]
        for index, linear in enumerate(self.linear, start=1):
            into = values[-1]
            for k, target in self.skips:
                into = into + values[k] if target == index else into
            out = linear(into)
            values.append(out.relu() if index < len(self.linear) else out)
        return values[-1]


def plain_loop(task: TrainingTask, schedule: Schedule, device: str) -> None:
    x, y = torch.as_tensor(task.inputs, device=device), torch.as_tensor(task.targets, device=device)
    x = x.float() / 127.5 - 1 if x.dtype == torch.uint8 else x.float()
    y = y.float() if schedule.loss == "mse" else y
    measure = torch.nn.MSELoss() if schedule.loss == "mse" else torch.nn.CrossEntropyLoss()
    for seed in task.seeds:
        torch.manual_seed(seed)
        module = Plain(tuple(task.sizes), tuple(task.skips)).to(device)
        optimiser = torch.optim.Adam(module.parameters(), lr=schedule.learning_rate)
        size = schedule.batch_size or len(x)
        for _ in range(schedule.epochs):
            order = torch.randperm(len(x), device=device)
            for start in range(0, len(x), size):
                chosen = order[start : start + size]
                optimiser.zero_grad()
                measure(module(x[chosen]), y[chosen]).backward()
                optimiser.step()


def stacks(task: TrainingTask, schedule: Schedule, device: str) -> None:
    train([task], schedule, device=device)


def seconds(function: Callable[..., None], *arguments: object) -> float:
    start = time.perf_counter()
    function(*arguments)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    print(
        f"{asked.networks} networks, {asked.device}, {torch.get_num_threads()} threads, best of {asked.repeats}"
    )
    print("| case | plain loop | stacks | ratio |\n| --- | ---: | ---: | ---: |")
    for name, (sizes, skips, schedule) in CASES.items():
        inputs, targets = (GRID, HEIGHTS) if sizes[0] == 2 else (IMAGES, CLASSES)
        task = TrainingTask(sizes, range(asked.networks), inputs, targets, skips)
        few = TrainingTask(sizes, range(2), inputs, targets, skips)
        stacks(few, schedule, asked.device)
        plain_loop(few, schedule, asked.device)
        # alternating, so that other work on the machine slows both alike
        times = []
        for _ in range(asked.repeats):
            loop = seconds(plain_loop, task, schedule, asked.device)
            times.append((loop, seconds(stacks, task, schedule, asked.device)))
        best = [min(column) for column in zip(*times, strict=True)]
        print(
            f"| {name} | {best[0]:.2f} s | {best[1]:.2f} s | {best[0] / best[1]:.1f} |", flush=True
        )


if __name__ == "__main__":
    main()
