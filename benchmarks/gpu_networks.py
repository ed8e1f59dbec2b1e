"""The networks of the GPU benchmark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tropicell import Affine, Box, Layer, Network, Polytope, Slice, WholeSpace, count_regions
from tropicell.network import activations

KINDS = ("generic", "integer", "tenths", "zero biases", "repeated", "skips", "activations", "slice")


class Case(NamedTuple):
    name: str
    make: Callable[[], Network]
    domain: Any
    arithmetics: Sequence[str] = ("exact", "float")
    repeats: int = 4
    store: bool = False
    known: Callable[[Network], int | None] = lambda network: None
    cpu: bool = True


def random_network(
    depth: int,
    width: int,
    seed: int = 0,
    *,
    skips: bool = False,
    activation: str = "relu",
    bias: float = 0.3,
) -> Network:
    """Normal weights and biases."""
    rng = np.random.default_rng(seed)
    widths = [2] + [width] * depth + [1]
    weights = [rng.normal(size=(b, a)) * np.sqrt(2 / a) for a, b in pairwise(widths)]
    biases = [rng.normal(size=b) * bias for b in widths[1:]]
    pairs = [(k, k + 2) for k in range(1, depth - 1, 2)] if skips else []
    return Network.mlp(weights, biases, skips=pairs, activation=activation)


def folding_network(folds: int, depth: int, width: int, last: Network) -> Network:
    """Fold the unit square `folds` times along either axis in each of `depth` layers, then apply `last`.

    Montúfar et al. (2014). The first neuron of every axis is active everywhere, so that no boundary runs along the edge of
    another; neurons beyond 2 * folds are dead.
    """
    matrix, bias = np.zeros((width, 2)), np.full(width, -1.0)
    for axis in range(2):
        at = axis * folds
        matrix[at : at + folds, axis] = 1.0
        bias[at : at + folds] = [0.5, *(-j / folds for j in range(1, folds))]
    heights = folds * np.array([1.0] + [2.0 * (-1) ** j for j in range(1, folds)])
    fold, offset = np.zeros((2, width)), np.full(2, -0.5 * folds)
    for axis in range(2):
        fold[axis, axis * folds : (axis + 1) * folds] = heights
    layers = [Layer(Affine({0: matrix}, bias), activations.relu())]
    for _ in range(depth - 1):
        layers.append(
            Layer(Affine({len(layers): matrix @ fold}, matrix @ offset + bias), activations.relu())
        )
    first = last.layers[0].affine
    layers.append(
        Layer(
            Affine({depth: first.terms[0] @ fold}, first.terms[0] @ offset + first.bias),
            activations.relu(),
        )
    )
    return Network(2, layers, Affine({depth + 1: np.ones((1, first.bias.size))}))


def lines_in_square(lines: int, width: int, seed: int = 0) -> Network:
    """A layer of `width` neurons, `lines` of which bend in the unit square."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, width)
    matrix = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    through = rng.uniform(0.25, 0.75, (width, 2))
    bias = -(matrix * through).sum(axis=1)
    bias[lines:] = 3.0
    return Network.mlp([matrix, np.ones((1, width))], [bias, np.zeros(1)])


def _folded(folds: int, depth: int, width: int, lines: int, name: str, **options: Any) -> Case:
    last = lines_in_square(lines, width)

    def known(network: Network) -> int:
        return folds ** (2 * depth) * count_regions(last, Box(0, 1))

    def make() -> Network:
        return folding_network(folds, depth, width, last)

    return Case(name, make, Box(0, 1), known=known, **options)


def cases() -> list[Case]:
    box = Box(-1, 1)
    return [
        Case("4×[100]", lambda: random_network(4, 100), WholeSpace(), store=True),
        Case("4×[256]", lambda: random_network(4, 256), WholeSpace()),
        Case("8×[100]", lambda: random_network(8, 100), WholeSpace()),
        Case("12×[64]", lambda: random_network(12, 64, bias=0.5), WholeSpace(), cpu=False),
        Case("16×[64]", lambda: random_network(16, 64, bias=0.5), WholeSpace(), cpu=False),
        Case(
            "16×[64], skips",
            lambda: random_network(16, 64, skips=True, bias=0.5),
            WholeSpace(),
            cpu=False,
        ),
        Case("30×[20]", lambda: random_network(30, 20, bias=0.5), WholeSpace(), cpu=False),
        Case("16×[256]", lambda: random_network(16, 256), WholeSpace(), repeats=2),
        Case("16×[256], another", lambda: random_network(16, 256, 1), WholeSpace(), repeats=2),
        Case(
            "8×[100], skips", lambda: random_network(8, 100, skips=True), WholeSpace(), ("exact",)
        ),
        Case(
            "4×[100], hard tanh, box",
            lambda: random_network(4, 100, activation="hard_tanh"),
            box,
            ("exact",),
        ),
        Case("4×[100], box", lambda: random_network(4, 100), box, ("exact",), store=True),
        _folded(3, 4, 100, 36, "folding 3, 5×[100]"),
        _folded(4, 7, 100, 4, "folding 4, 8×[100]", repeats=1),
        _folded(3, 7, 100, 36, "folding 3, 8×[100]", repeats=1),
    ]


def small(kind: str, seed: int) -> tuple[Network, Any]:
    """A small network of a kind, and a domain."""
    rng = np.random.default_rng(seed)
    inputs = 5 if kind == "slice" else 2
    widths = [inputs, *rng.integers(2, 12, size=rng.integers(1, 5)), 2]
    pairs = list(pairwise(widths))
    weights = [rng.normal(size=(b, a)) for a, b in pairs]
    biases = [rng.normal(size=b) for _, b in pairs]
    if kind == "integer":
        weights = [rng.integers(-2, 3, size=w.shape).astype(float) for w in weights]
        biases = [rng.integers(-2, 3, size=b.shape).astype(float) for b in biases]
    if kind == "tenths":
        weights = [rng.integers(-5, 6, size=w.shape) * 0.1 for w in weights]
        biases = [rng.integers(-5, 6, size=b.shape) * 0.1 for b in biases]
    if kind == "zero biases":
        biases = [np.zeros_like(b) for b in biases]
    if kind == "repeated":
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            w[-1], b[-1] = 3 * w[0], 3 * b[0]
    depth = len(widths) - 2
    layers = [
        Layer(Affine({k: w}, b), activations.relu())
        for k, (w, b) in enumerate(zip(weights[:-1], biases[:-1], strict=True))
    ]
    if kind == "skips":
        skips = [(j, k) for k in range(2, depth + 1) for j in range(k - 1) if rng.random() < 0.6]
        for j, k in skips:
            affine = layers[k - 1].affine
            terms = {**affine.terms, j: rng.normal(size=(widths[k], widths[j]))}
            layers[k - 1] = Layer(Affine(terms, affine.bias), activations.relu())
    if kind == "activations":
        some = [
            activations.hard_tanh(),
            activations.absolute(),
            activations.relu6(),
            activations.leaky_relu(0.25),
        ]
        layers = [Layer(layer.affine, some[rng.integers(len(some))]) for layer in layers]
    network = Network(inputs, layers, Affine({depth: weights[-1]}, biases[-1]))
    domains = [WholeSpace(), Box(-1, 1), Box(0, np.inf), Polytope([[1.0, 1.0]], [1.0])]
    domain: Any = domains[seed % len(domains)]
    if kind == "slice":
        domain = Slice(rng.normal(size=5), rng.normal(size=(2, 5)), domain)
    return network, domain
