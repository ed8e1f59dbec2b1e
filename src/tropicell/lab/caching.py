"""Which test examples are cached: their pattern also occurs among the training examples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell.lab.examples import Examples
from tropicell.lab.stack import Stack, torch
from tropicell.network.patterns import PatternArray
from tropicell.regions.columns import PackedPatterns


@dataclass(frozen=True, eq=False)
class Cached:
    """What the networks of a stack do with a data set.

    Attributes
    ----------
    hits : ndarray of bool, shape (networks, test examples)
        Whether the example lies in a region that also holds a training example.
    right : ndarray of bool, shape (networks, test examples)
        Whether its class is predicted.
    regions : ndarray of int64, shape (networks,)
        Regions that hold training examples.
    """

    hits: NDArray[np.bool_]
    right: NDArray[np.bool_]
    regions: NDArray[np.int64]


def cached(
    stack: Stack,
    x_train: ArrayLike,
    y_train: ArrayLike,
    x_test: ArrayLike,
    y_test: ArrayLike,
) -> Cached:
    """Look up the patterns of test examples among those of training examples.

    Patterns are those of the networks in the precision in which they were trained.

    Parameters
    ----------
    stack : Stack
    x_train, y_train, x_test, y_test : array_like
        As for `tropicell.lab.training.Task`.

    Returns
    -------
    Cached

    Examples
    --------
    >>> stack = Stack([1, 2, 2], [], 1)
    >>> stack.weights[0][0] = torch.tensor([[1.0], [-1.0]])
    >>> found = cached(stack, [[1.0], [2.0]], [0, 0], [[3.0], [-3.0]], [0, 1])
    >>> found.hits, found.regions
    (array([[ True, False]]), array([1]))
    """
    known, _ = _look(stack, x_train, y_train)
    asked, right = _look(stack, x_test, y_test)
    hits, regions = [], []
    for patterns, queries in zip(known, asked, strict=True):
        packed = PackedPatterns.pack(patterns, 1)
        hits.append(packed.find(queries) >= 0)
        # of equal patterns the first is found, so every region is found once
        regions.append(np.count_nonzero(packed.find(patterns) == np.arange(len(patterns))))
    return Cached(np.array(hits), right, np.array(regions, np.int64))


def _look(stack: Stack, x: ArrayLike, y: ArrayLike) -> tuple[PatternArray, NDArray[np.bool_]]:
    """Patterns (networks, examples, neurons), and whether the prediction is right."""
    examples = Examples.of(x, y, stack.sizes, stack.count, "cross-entropy")
    examples = examples.on(stack, range(stack.count))
    patterns = np.empty((stack.count, len(examples), sum(stack.sizes[1:-1])), np.uint8)
    right = np.empty(patterns.shape[:2], np.bool_)
    start = 0
    for inputs, targets in examples.chunks():
        values = stack.forward(inputs)
        part = slice(start, start + len(inputs))
        active = torch.cat([layer > 0 for layer in values.layers[1:]], dim=1)
        patterns[:, part] = active.mT.cpu().numpy()
        right[:, part] = (values.outputs.argmax(dim=1) == targets).cpu().numpy()
        start = part.stop
    return patterns, right
