"""Random networks of every shape, generic and degenerate; for `strategies`, and for benchmarks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tropicell import Affine, Layer, Network
from tropicell.network import activations
from tropicell.network.activations import Activation

#: How weights are drawn; all but the first make degenerate networks likely.
KINDS = ("generic", "integer", "tenths", "zero_bias", "repeated", "dead", "scaled")


def weights(
    rng: np.random.Generator, kind: str, rows: int, columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """A matrix and a bias of one kind."""
    if kind in ("generic", "zero_bias", "scaled"):
        matrix, bias = rng.normal(size=(rows, columns)), rng.normal(size=rows)
    elif kind == "tenths":
        matrix = rng.integers(-5, 6, size=(rows, columns)) * 0.1
        bias = rng.integers(-5, 6, size=rows) * 0.1
    else:
        matrix = rng.integers(-2, 3, size=(rows, columns)).astype(float)
        bias = rng.integers(-2, 3, size=rows).astype(float)
    if kind == "zero_bias":
        bias = np.zeros(rows)
    if kind == "scaled":
        scale = 10.0 ** rng.integers(-6, 7)
        matrix, bias = matrix * scale, bias * scale
    if kind == "repeated" and rows > 1:
        factor = rng.choice([1.0, -1.0, 3.0, 0.1])
        matrix[-1], bias[-1] = factor * matrix[0], factor * bias[0]
    if kind == "dead" and rows > 1:
        matrix[0], bias[0] = 0.0, rng.choice([-1.0, 0.0, 1.0])
    return matrix, bias


def activation(rng: np.random.Generator, width: int) -> Activation:
    """One of the package's activations, ReLU half of the time."""
    choices = [
        activations.relu(),
        activations.relu(),
        activations.relu(),
        activations.leaky_relu(0.25),
        activations.hard_tanh(),
        activations.absolute(),
        activations.relu6(),
        activations.prelu(rng.choice([-0.5, 0.1, 1.0, 2.0], size=width)),
        activations.hard_sigmoid(),
        activations.clip(0.0, np.where(np.arange(width) % 2, 1.0, np.inf)),
        activations.piecewise([0, 1, 2], [0, 1, -1, 0], [0, 0, 2, 0], name="tent"),
    ]
    return choices[rng.integers(len(choices))]


def random_network(
    seed: int, kind: str, inputs: int, depth: int, width: int, *, relu: bool = False
) -> Network:
    """A network whose layers take their input from random earlier layers."""
    rng = np.random.default_rng(seed)
    widths = [inputs]
    layers = []
    for layer in range(1, depth + 1):
        size = int(rng.integers(1, width + 1))
        sources = {layer - 1} | {k for k in range(layer - 1) if rng.random() < 0.35}
        if rng.random() < 0.1 and layer > 1:
            sources = {int(rng.integers(layer))}
        parts = {k: weights(rng, kind, size, widths[k]) for k in sorted(sources)}
        bias = next(iter(parts.values()))[1]
        function = activations.relu() if relu else activation(rng, size)
        layers.append(Layer(Affine({k: part[0] for k, part in parts.items()}, bias), function))
        widths.append(size)
    sources = {depth} | {k for k in range(depth) if rng.random() < 0.3}
    parts = {k: weights(rng, kind, 2, widths[k]) for k in sorted(sources)}
    output = Affine({k: part[0] for k, part in parts.items()}, next(iter(parts.values()))[1])
    return Network(inputs, layers, output)


#: Weights that cancel, all or nearly, in exact arithmetic and in float64.
CANCELLING = (
    (0.1, 0.2, -0.3),
    (1e16, 1.0, -1e16),
    (1.0, 2.0**-52, -1.0),
    (1.0 + 2.0**-52, -1.0, -(2.0**-52)),
    (1e12 + 0.1, -1e12, 0.1),
    (3.0, 1e-20, -3.0),
    (1.0, 5e-324, -1.0),
    (1e200, -1e200, 1e-200),
    (1e16, -6e15, -4e15),
    (0.75, -0.5, -0.25),
    (-1.0, -2.0, 0.5),
)


def cancelling_network(seed: int, inputs: int, groups: int = 2, *, skip: bool = False) -> Network:
    """Groups of three equal neurons, whose weights to the outputs cancel, all or nearly.

    With `skip` the outputs also read the inputs.
    """
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, size=(groups, inputs)).astype(float)
    offsets = rng.integers(-1, 2, size=groups).astype(float)
    chosen = rng.integers(len(CANCELLING), size=(2, groups))
    signs = rng.choice([1.0, -1.0], size=(2, groups, 1))
    output = (np.array(CANCELLING)[chosen] * signs).reshape(2, 3 * groups)
    if rng.random() < 0.3:
        output[1] = rng.choice([1.0, -1.0]) * output[0]
    layer = Layer(Affine({0: np.repeat(rows, 3, axis=0)}, np.repeat(offsets, 3)))
    terms = {1: output}
    if skip:
        terms[0] = rng.choice([0.0, 1.0, 1.0 + 2.0**-52, 1e16, 1e-20, 0.1], size=(2, inputs))
    return Network(inputs, [layer], Affine(terms, rng.choice([0.0, 1.0, 1e16, 0.1, 1e-20], size=2)))


def default_network(sizes: list[int], seed: int = 0) -> Network:
    """PyTorch's default initialisation."""
    rng = np.random.default_rng(seed)
    weights, biases = [], []
    for m, n in pairwise(sizes):
        bound = 1 / np.sqrt(m)
        weights.append(rng.uniform(-bound, bound, (n, m)))
        biases.append(rng.uniform(-bound, bound, n))
    return Network.mlp(weights, biases)
