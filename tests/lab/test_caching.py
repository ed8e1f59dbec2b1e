"""Cached test examples, against sets of patterns."""

from __future__ import annotations

import numpy as np
import pytest

from tropicell.lab.trained import cached
from tropicell.lab.training import Stack

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("neurons", [3, 40])  # one word of bits, and two
def test_hits_are_patterns_that_occur_twice(neurons) -> None:
    rng = np.random.default_rng(neurons)
    stack = Stack([5, neurons, neurons, 4], [(1, 3)], 3, dtype="float64")
    stack.initialise([torch.Generator().manual_seed(i) for i in range(3)])
    stack.weights[0][:, 1] = stack.weights[0][:, 0]  # a neuron that is twice there
    stack.biases[0][:, 1] = stack.biases[0][:, 0]
    x_train, x_test = rng.integers(0, 256, (2, 3000, 5), dtype=np.uint8)
    x_test[:50] = x_train[:50]
    y_train, y_test = rng.integers(0, 4, (2, 3000))
    found = cached(stack, x_train, y_train, x_test, y_test)
    for index, network in enumerate(stack.networks()):
        known = {row.tobytes() for row in network.patterns(x_train / 127.5 - 1)}
        hits = [row.tobytes() in known for row in network.patterns(x_test / 127.5 - 1)]
        assert found.hits[index].tolist() == hits
        assert found.regions[index] == len(known)
        right = network(x_test / 127.5 - 1).argmax(axis=1) == y_test
        assert found.right[index].tolist() == right.tolist()
    assert found.hits[:, :50].all()
    if neurons == 40:
        assert not found.hits.all()
