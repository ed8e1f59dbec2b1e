"""Maps from the output back are those from the input on, and modules have their gradients."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import networks, random_network
from tropicell import Affine, CachedPredictor, Layer, Network, Slice
from tropicell.regions.columns import PackedPatterns
from tropicell.regions.output_maps import output_maps, packed_maps


def check(network: Network, patterns: np.ndarray) -> None:
    expected = network.maps("float").of_patterns(patterns)
    scale = np.array([size_of(network, pattern) for pattern in patterns]).reshape(-1, 1, 1)
    packed = PackedPatterns.pack(patterns, PackedPatterns.bits_for(network.pieces))
    for found in (output_maps(network, patterns), packed_maps(network, packed)):
        assert found.flags.c_contiguous
        assert found.shape == expected.shape
        assert (abs(found - expected) <= 1e-13 * scale).all()


def size_of(network: Network, pattern: np.ndarray) -> float:
    """How large the numbers are that a map is added up from."""
    sizes = network.maps("float").magnitudes(pattern)
    weights = [abs(matrix).max() for matrix in network.output.terms.values()]
    return float(
        (1 + sum(s.sum() for s in sizes)) * max(weights, default=0) + abs(network.output.bias).max()
    )


@given(networks(), st.integers(0, 2**32 - 1))
def test_both_ways_give_the_same_maps(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    patterns = rng.integers(0, network.pieces, size=(7, network.n_neurons)).astype(np.uint8)
    check(network, patterns)
    assert output_maps(network, patterns[:0]).shape == (0, 2, network.n_inputs + 1)


def test_sparse_unused_and_embedded() -> None:
    rng = np.random.default_rng(0)
    layers = [
        Layer(Affine({0: sp.random_array((5, 8), density=0.4, rng=rng)}, rng.normal(size=5))),
        Layer(Affine({1: rng.normal(size=(3, 5))})),  # which nothing reads
        Layer(Affine({0: rng.normal(size=(4, 8)), 1: rng.normal(size=(4, 5))}), "hard_tanh"),
    ]
    network = Network(8, layers, Affine({3: sp.csr_array(rng.normal(size=(2, 4)))}, [1.0, 2.0]))
    patterns = rng.integers(0, network.pieces, size=(20, 12)).astype(np.uint8)
    check(network, patterns)
    check(network.restrict(Slice(rng.normal(size=8), rng.normal(size=(3, 8)))), patterns)
    check(Network(8, layers, Affine({}, [1.0])), patterns)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_maps_of_wide_layers_do_not_depend_on_the_patterns_before(seed: int, skips: bool) -> None:
    """Layers are sums of sums, of which those stay in which no neuron changed."""
    rng = np.random.default_rng(seed)
    widths = [3, 40, 21, 33]
    layers = []
    for k, width in enumerate(widths[1:], start=1):
        sources = range(k) if skips else [k - 1]
        terms = {s: rng.normal(size=(width, widths[s])) / widths[s] ** 0.5 for s in sources}
        layers.append(Layer(Affine(terms, rng.normal(size=width))))
    network = Network(3, layers, Affine({3: rng.normal(size=(2, 33))}))
    rows = [rng.integers(0, 2, network.n_neurons).astype(np.uint8)]
    for _ in range(19):  # few neurons change, in one layer and the next, or in the last alone
        after = rows[-1].copy()
        after[rng.integers(rng.integers(network.n_neurons), network.n_neurons, 3)] ^= 1
        rows.append(after)
    patterns = np.array(rows)
    check(network, patterns)
    packed = PackedPatterns.pack(patterns, 1)
    together = packed_maps(network, packed)
    for i in range(len(patterns)):
        alone = packed_maps(network, PackedPatterns.pack(patterns[i : i + 1], 1))
        assert (alone[0] == together[i]).all()


def test_modules_predict_and_have_gradients() -> None:
    import torch

    network = random_network(4, "generic", 3, 3, 8)
    predictor = CachedPredictor(network)
    module = predictor.to_torch()
    x = torch.randn(2, 5, 3, generator=torch.manual_seed(0), requires_grad=True)
    y = module(x)
    assert (y.shape, y.dtype) == ((2, 5, 2), torch.float32)
    flat = x.detach().double().numpy().reshape(-1, 3)
    np.testing.assert_allclose(y.detach().numpy().reshape(-1, 2), network(flat), rtol=1e-5)
    assert predictor.hits + predictor.misses == 10
    assert "CachedPredictor" in repr(module)
    double = torch.from_numpy(flat).requires_grad_()
    assert torch.autograd.gradcheck(module, double)
    assert list(module.parameters()) == []
