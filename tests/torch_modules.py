"""What the tests of the torch importer share: functions as modules, fixed tensors, a comparison."""

import copy

import numpy as np
import torch
from torch import nn


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def t(*shape):
    """Fixed numbers, made of a list so that an export sees a constant."""
    numbers = np.random.default_rng(sum(shape) + len(shape)).normal(size=shape) + 0.1
    return torch.tensor(numbers.tolist(), dtype=torch.float64)


def mask(*shape):
    return t(*shape) > 0


class First(nn.Module):
    """The first output of a module with several."""

    def __init__(self, inner, inputs=1):
        super().__init__()
        self.inner, self.inputs = inner, inputs

    def forward(self, x):
        return self.inner(*[x] * self.inputs)[0]


def assert_same(network, module, shape, rng):
    module = copy.deepcopy(module).double()
    points = rng.normal(size=(5, *shape)) * 3
    with torch.no_grad():
        expected = np.stack([module(torch.from_numpy(p)).numpy().ravel() for p in points])
    got = network(points.reshape(5, -1))
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
