"""The zoo: networks that break tools, each with its right number of regions.

A specimen is a function that returns a network, where to look, and the count with the reason for
it; what is hard about it is its docstring. Where no theorem gives the count, `by_oracle` stands
for the exact enumeration of the paper's Algorithm 2.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from tropicell import Affine, Box, Layer, Network, WholeSpace, enumerate_regions
from tropicell.network.domains import Domain
from tropicell.network.families import Known, cones, folding, general_position, parallel, sawtooth

BY_ORACLE = "by the oracle, Algorithm 2 in exact rationals"

#: About 3e-151: scaling by it rounds nothing, so that regions stay what they are.
TINY = 2.0**-500


@dataclass(frozen=True, eq=False)
class Specimen:
    """One network of the zoo."""

    make: Callable[[], Known]

    @property
    def name(self) -> str:
        return self.make.__name__

    @property
    def hard(self) -> str:
        return " ".join((self.make.__doc__ or "").split())

    @cached_property
    def known(self) -> Known:
        return self.make()


ZOO: list[Specimen] = []


def specimen(make: Callable[[], Known]) -> Callable[[], Known]:
    ZOO.append(Specimen(make))
    return make


def whole(network: Network, count: int, reason: str) -> Known:
    return Known(network, WholeSpace(), count, reason)


def by_oracle(network: Network, domain: Domain | None = None) -> Known:
    domain = domain or WholeSpace()
    count = len(enumerate_regions(network, domain, engine="traverse"))
    return Known(network, domain, count, BY_ORACLE)


def lines(count: int, dimension: int) -> int:
    """Zaslavsky's number for hyperplanes in general position."""
    return sum(comb(count, j) for j in range(dimension + 1))


def arrays(known: Known) -> tuple[np.ndarray, np.ndarray]:
    """Matrix and bias of the first layer."""
    affine = known.network.layers[0].affine
    return np.array(affine.terms[0]), np.array(affine.bias)


def shallow(normals: np.ndarray, offsets: np.ndarray) -> Network:
    return Network.mlp([normals, np.ones((1, len(normals)))], [offsets, np.zeros(1)])


def whole_numbers(seed: int, sizes: list[int], largest: int = 2) -> tuple[list, list]:
    """Weights and biases that are small whole numbers."""
    rng = np.random.default_rng(seed)
    pairs = list(itertools.pairwise(sizes))
    weights = [rng.integers(-largest, largest + 1, (n, m)).astype(float) for m, n in pairs]
    return weights, [rng.integers(-largest, largest + 1, n).astype(float) for _, n in pairs]


# --- next to nothing ------------------------------------------------------------------------------


@specimen
def no_hidden_layer() -> Known:
    """There is nothing to cut."""
    return whole(Network.mlp([[[1.0, 2.0]]], [[3.0]]), 1, "the network is one affine map")


@specimen
def one_neuron() -> Known:
    """Two half-planes, no corner anywhere."""
    return whole(Network.mlp([[[1.0, 2.0]], [[1.0]]], [[3.0], [0.0]]), 2, "a line has two sides")


@specimen
def one_input_one_neuron() -> Known:
    """Regions are two rays of the line."""
    return whole(Network.mlp([[[2.0]], [[1.0]]], [[3.0], [0.0]]), 2, "a point has two sides")


@specimen
def more_inputs_than_neurons() -> Known:
    """All regions contain lines: they have no corners, whatever box is drawn around."""
    known = general_position(9, 4)
    return whole(known.network, 16, "independent hyperplanes: every pattern, 2^4")


@specimen
def all_zero_weights() -> Known:
    """Every pre-activation is exactly 0 everywhere: neither side of anything."""
    shapes = [(3, 2), (3, 3), (1, 3)]
    return whole(Network.mlp([np.zeros(s) for s in shapes]), 1, "no neuron makes a boundary")


@specimen
def dead_layer() -> Known:
    """A layer that is off everywhere, with layers after it that see constants."""
    matrix, bias = arrays(general_position(2, 6))
    weights = [matrix, -np.ones((4, 6)), np.ones((3, 4)), np.ones((1, 3))]
    network = Network.mlp(weights, [bias, -np.ones(4), np.array([-1.0, 0.0, 1.0]), np.zeros(1)])
    return whole(network, lines(6, 2), "the first layer's 6 lines in general position")


@specimen
def constant_layer() -> Known:
    """A layer of positive constants: on everywhere, with maps of rank 0 behind it."""
    matrix, bias = arrays(general_position(2, 6))
    weights = [matrix, np.zeros((4, 6)), np.ones((3, 4)), np.ones((1, 3))]
    network = Network.mlp(weights, [bias, np.ones(4), np.array([-4.0, -9.0, 1.0]), np.zeros(1)])
    return whole(network, lines(6, 2), "the first layer's 6 lines in general position")


# --- boundaries that coincide ---------------------------------------------------------------------


@specimen
def duplicate_neurons() -> Known:
    """Every line is there three times, at other scales: no slivers in between."""
    matrix, bias = arrays(general_position(2, 6))
    factors = (1.0, 2.0, 0.25)
    network = shallow(
        np.concatenate([f * matrix for f in factors]), np.concatenate([f * bias for f in factors])
    )
    return whole(network, lines(6, 2), "6 different lines in general position")


@specimen
def opposite_neurons() -> Known:
    """relu(x) next to relu(-x): crossing their line changes both."""
    matrix, bias = arrays(general_position(2, 6))
    network = shallow(np.concatenate([matrix, -matrix]), np.concatenate([bias, -bias]))
    return whole(network, lines(6, 2), "6 different lines in general position")


@specimen
def almost_duplicate_neurons() -> Known:
    """Rows times 0.1, 3 and 0.7 in floats: equal but for rounding, so lines cross somewhere."""
    rng = np.random.default_rng(3)
    matrix, bias = rng.normal(size=(3, 2)), rng.normal(size=3)
    factors = (1.0, 0.1, 3.0, 0.7)
    network = shallow(
        np.concatenate([f * matrix for f in factors]), np.concatenate([f * bias for f in factors])
    )
    return by_oracle(network)


@specimen
def identical_layers() -> Known:
    """The same matrix and bias four times: boundaries of one layer fall on those of another."""
    weights, biases = whole_numbers(5, [3, 3])
    pair = [(weights[0], biases[0])] * 4
    network = Network.mlp([*(w for w, _ in pair), np.ones((1, 3))], [*(b for _, b in pair), None])
    return by_oracle(network)


@specimen
def identity_layers() -> Known:
    """Layers that hand on what they get: every boundary comes three times."""
    matrix, bias = arrays(general_position(2, 5))
    network = Network.mlp([matrix, np.eye(5), np.eye(5), np.ones((1, 5))], [bias, None, None, None])
    return whole(network, lines(5, 2), "relu(relu(x)) = relu(x): the first layer's 5 lines")


@specimen
def thousand_parallel_lines() -> Known:
    """A thousand strips without a single corner."""
    return parallel(1000)


@specimen
def parallel_planes() -> Known:
    """Eighty slabs in space without corners or edges."""
    return parallel(80, inputs=3)


@specimen
def rank_one_layers() -> Known:
    """All matrices have rank 1: strips within strips, nowhere a corner."""
    rng = np.random.default_rng(1)
    across = rng.integers(1, 4, size=(5, 1)) * np.array([[1.0, 2.0]])
    deeper = rng.integers(-2, 3, size=(4, 1)) * np.array([[1.0, -1.0, 1.0, -1.0, 1.0]])
    biases = [np.arange(5.0), np.array([1.0, 2.0, -3.0, -1.0]), np.zeros(1)]
    return by_oracle(Network.mlp([across, deeper.astype(float), np.ones((1, 4))], biases))


# --- many lines through one point -----------------------------------------------------------------


@specimen
def zero_biases() -> Known:
    """All boundaries pass through the origin: regions are cones with one common corner."""
    return cones(2, 12)


@specimen
def zero_biases_in_3d() -> Known:
    """Cones in space, twenty planes through one corner."""
    return cones(3, 20)


@specimen
def deep_zero_biases() -> Known:
    """Cones cut by bent boundaries that all pass through the origin."""
    rng = np.random.default_rng(0)
    sizes = [(6, 2), (5, 6), (4, 5), (1, 4)]
    return by_oracle(Network.mlp([rng.normal(size=size) for size in sizes]))


@specimen
def forty_lines_through_one_point() -> Known:
    """Whole-number lines through (3, 5): a corner of forty lines away from the origin."""
    return cones(2, 40, [3.0, 5.0])


@specimen
def planes_through_one_point() -> Known:
    """Whole-number planes through (1, -2, 3)."""
    return cones(3, 12, [1.0, -2.0, 3.0])


@specimen
def small_whole_numbers() -> Known:
    """Weights in -1, 0, 1 in three layers: lines meet in threes and fours everywhere."""
    return by_oracle(Network.mlp(*whole_numbers(7, [2, 6, 5, 4, 1], largest=1)))


@specimen
def small_whole_numbers_in_3d() -> Known:
    """The same with three inputs."""
    return by_oracle(Network.mlp(*whole_numbers(2, [3, 6, 4, 1], largest=1)))


# --- near misses and scales -----------------------------------------------------------------------


@specimen
def nearly_parallel_lines() -> Known:
    """Lines at angles of 1e-12: they meet, a million million units away."""
    k = np.arange(6.0)
    network = shallow(np.column_stack([k * 2.0**-40, np.ones(6)]), -k * k)
    return whole(network, lines(6, 2), "any two meet, no three in one point (Vandermonde)")


@specimen
def nearly_one_point() -> Known:
    """Lines that miss a common point by 1e-15: triangles of that size between them."""
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(6, 2))
    return by_oracle(shallow(matrix, -(matrix @ np.array([0.3, 0.7]))))


@specimen
def regions_of_size_1e_9() -> Known:
    """A grid of squares with sides of 1e-9 around (1, 1)."""
    k = np.arange(5) * 2.0**-30
    normals = np.repeat(np.eye(2), 5, axis=0)
    network = shallow(normals, -1 - np.concatenate([k, k]))
    return whole(network, 36, "5 lines each way cut the plane in 6 · 6")


@specimen
def tiny_weights() -> Known:
    """Everything times 1e-150: squares of weights underflow."""
    matrix, bias = arrays(general_position(2, 8))
    return whole(shallow(matrix * TINY, bias * TINY), lines(8, 2), "8 lines in general position")


@specimen
def huge_weights() -> Known:
    """Three layers, each times 1e150: products of weights overflow."""
    return _scaled([1 / TINY] * 3)


@specimen
def mixed_scales_of_layers() -> Known:
    """Layers times 1e-150, 1e150 and 1e-150."""
    return _scaled([TINY, 1 / TINY, TINY])


def _scaled(factors: list[float]) -> Known:
    """A network with every layer at another scale."""
    weights, biases = whole_numbers(11, [2, 4, 4, 3, 1], largest=3)
    plain = by_oracle(Network.mlp(weights, [biases[0], None, None, None]))
    scaled = [w * factor for w, factor in zip(weights, [*factors, 1.0], strict=True)]
    network = Network.mlp(scaled, [biases[0] * factors[0], None, None, None])
    reason = "positive factors change no pattern; without them " + BY_ORACLE
    return whole(network, plain.count, reason)


@specimen
def mixed_scales_of_neurons() -> Known:
    """Neighbouring neurons at scales from 1e-150 to 1e150, and inputs likewise."""
    matrix, bias = arrays(general_position(2, 7))
    factors = 2.0 ** np.linspace(-500, 500, 7).round()
    columns = np.array([2.0**-200, 2.0**200])
    network = shallow(matrix * factors[:, None] * columns, bias * factors)
    return whole(network, lines(7, 2), "scaled rows and axes: 7 lines in general position")


@specimen
def float32_model() -> Known:
    """Weights of a float32 model on a grid of tenths: degenerate but for rounding."""
    rng = np.random.default_rng(6)
    sizes = [(5, 2), (5, 5), (1, 5)]
    weights = [(rng.integers(-5, 6, size) * np.float32(0.1)).astype(np.float32) for size in sizes]
    biases = [(rng.integers(-5, 6, n) * np.float32(0.1)).astype(np.float32) for n, _ in sizes]
    return by_oracle(Network.mlp(weights, biases))


# --- known counts ---------------------------------------------------------------------------------


@specimen
def shallow_1d() -> Known:
    """One input, 40 neurons."""
    return general_position(1, 40)


@specimen
def shallow_2d() -> Known:
    """40 lines in general position, with corners far out."""
    return general_position(2, 40)


@specimen
def shallow_3d() -> Known:
    """14 planes in general position."""
    return general_position(3, 14)


@specimen
def shallow_4d() -> Known:
    """9 hyperplanes in general position."""
    return general_position(4, 9)


@specimen
def shallow_8d() -> Known:
    """9 hyperplanes in 8 dimensions."""
    return general_position(8, 9)


@specimen
def sawtooth_with_1024_teeth() -> Known:
    """Telgarsky's network: ten layers of two neurons, 2^10 pieces."""
    return sawtooth(10, whole=True)


@specimen
def deep_sawtooth_in_a_box() -> Known:
    """Forty layers, pieces of width 1e-12: layers are near-copies of each other."""
    network = sawtooth(40).network
    return Known(network, Box(0, 3 * 2.0**-40), 3, "three of 2^40 pieces of the same width")


@specimen
def folded_plane() -> Known:
    """Montúfar's network: a grid of squares, four of them at every corner."""
    return folding([3, 2, 3], inputs=2, whole=True)


@specimen
def folded_space() -> Known:
    """Montúfar's network with three inputs: eight cubes at every corner."""
    return folding([2, 3], inputs=3, whole=True)


@specimen
def folded_square_in_a_box() -> Known:
    """Boundaries lie exactly on the box."""
    return folding([4, 4], inputs=2)


# --- skip connections -----------------------------------------------------------------------------


@specimen
def skip_in_disguise() -> Known:
    """A skip 1→3 that a plain network does with neurons that hand layer 1 on."""
    (first, second, third, last), biases = whole_numbers(11, [2, 4, 4, 3, 1], largest=3)
    skip = whole_numbers(12, [4, 3], largest=3)[0][0]
    layers = [
        Layer(Affine({0: first}, biases[0])),
        Layer(Affine({1: second}, biases[1])),
        Layer(Affine({1: skip, 2: third}, biases[2])),
    ]
    handing_on = np.concatenate([second, np.eye(4)])
    plain = Network.mlp(
        [first, handing_on, np.concatenate([third, skip], axis=1), last],
        [biases[0], np.append(biases[1], np.zeros(4)), biases[2], biases[3]],
    )
    network = Network(2, layers, Affine({3: last}, biases[3]))
    return whole(network, by_oracle(plain).count, "as many as the plain network, " + BY_ORACLE)


@specimen
def skip_that_cancels() -> Known:
    """Layer 2 sees the input minus itself: the skip makes a dead layer of a live one."""
    matrix, bias = arrays(general_position(2, 5))
    layers = [
        Layer(Affine({0: np.concatenate([np.eye(2), -np.eye(2)])})),
        Layer(Affine({0: -np.eye(2), 1: np.concatenate([np.eye(2), -np.eye(2)]).T})),
        Layer(Affine({0: matrix, 2: np.ones((5, 2))}, bias)),
    ]
    network = Network(2, layers, Affine({3: np.ones((1, 5))}))
    plain = shallow(np.concatenate([np.eye(2), matrix]), np.append([0.0, 0.0], bias))
    reason = "relu(x) - relu(-x) = x, so layer 2 is 0: the lines of layers 1 and 3, " + BY_ORACLE
    return whole(network, by_oracle(plain).count, reason)
