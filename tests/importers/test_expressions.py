"""Expressions, builder and lowering against NumPy on the numbers themselves."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tropicell.errors import ModelImportError
from tropicell.importers import expressions as ex
from tropicell.importers import lowering, nonlinear, shapes
from tropicell.importers.builder import Builder
from tropicell.network.activations import absolute, relu

quick = settings(max_examples=40, deadline=None)


def evaluate(builder, value, x):
    """The value at one input."""
    return builder.finish(value)(x.reshape(1, -1)).reshape(value.shape)


def inputs(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@quick
@given(st.permutations([0, 1, 2]), st.integers(1, 3), st.integers(0, 2), st.integers(0, 100))
def test_moves(axes, step, axis, seed):
    x = inputs((2, 3, 4), seed)
    builder = Builder(x.shape)

    def move(at):
        index = [slice(None)] * 3
        index[axis] = slice(None, None, -step)
        return np.transpose(at, axes)[tuple(index)]

    value = ex.take(builder.input, move)
    np.testing.assert_array_equal(evaluate(builder, value, x), move(x))


@quick
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=2),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.booleans(),
)
def test_products(lead, n, k, m, left):
    x, w = inputs((*lead, n, k)), inputs((*lead[1:], k, m), 1)
    builder = Builder(x.shape)
    if left:
        swapped = ex.take(builder.input, lambda at: np.swapaxes(at, -1, -2))
        value = lowering.matmul(np.swapaxes(w, -1, -2), swapped)
        expected = np.swapaxes(x @ w, -1, -2)
    else:
        value, expected = lowering.matmul(builder.input, w), x @ w
    np.testing.assert_allclose(evaluate(builder, value, x), expected, atol=1e-12)


@quick
@given(st.integers(0, 1000), st.integers(1, 9), st.integers(1, 6))
def test_tournament(seed, entries, groups):
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((groups, 6)) < 0.3, -1, rng.integers(0, entries, (groups, 6)))
    table[:, 3] = rng.integers(0, entries, groups)
    x = inputs((entries,), seed)
    builder = Builder(x.shape)
    value = nonlinear.tournament(builder, builder.input, table, "t")
    expected = np.where(table >= 0, x[table], -np.inf).max(axis=1)
    np.testing.assert_allclose(evaluate(builder, value, x), expected, atol=1e-12)


def test_sums_and_multiples_broadcast():
    x, c = inputs((2, 1, 3)), inputs((4, 1), 1)
    builder = Builder(x.shape)
    value = ex.scale(ex.add(builder.input, c, scale=-2.0), c)
    np.testing.assert_allclose(evaluate(builder, value, x), (x - 2 * c) * c)


def test_dense_and_sparse_terms_mix():
    x = inputs((1, 100))
    builder = Builder(x.shape)
    dense = lowering.matmul(builder.input, inputs((100, 100), 2))
    both = shapes.concatenate([ex.add(dense, builder.input), builder.input], 1)
    expected = np.concatenate([x @ inputs((100, 100), 2) + x, x], axis=1)
    np.testing.assert_allclose(evaluate(builder, both, x), expected)
    network = builder.finish(builder.input)
    assert isinstance(network.output.terms[0], sp.csr_array)
    assert isinstance(builder.finish(dense).output.terms[0], np.ndarray)


def test_unused_layers_go_and_numbers_follow():
    builder = Builder((2,))
    first = builder.activate(builder.input, relu(), "first")
    builder.activate(first, absolute(), "unused")
    last = builder.activate(ex.add(first, builder.input), absolute(), "last")
    network = builder.finish(last)
    assert [layer.name for layer in network.layers] == ["first", "last"]
    assert network.skips == [(0, 2)]


def test_a_term_that_cancels_is_dropped():
    builder = Builder((2,))
    hidden = builder.activate(builder.input, relu(), "gone")
    network = builder.finish(ex.add(ex.add(hidden, builder.input), hidden, scale=-1.0))
    assert network.depth == 0


def test_constant_output():
    network = Builder((2,)).finish(np.array([1.0, 2.0]))
    assert network([[5.0, 5.0]]).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    "bad",
    [
        lambda b: b.input.reshape((7,)),
        lambda b: lowering.matmul(b.input, np.ones((5, 2))),
        lambda b: ex.scale(b.input, np.array([1.0, np.nan, 1.0])),
        lambda b: ex.add(b.input, np.array(np.inf)),
        lambda b: lowering.windows((3,), lowering.Window([5], [1], [(0, 0)], [1])),
        lambda b: lowering.windows((3,), lowering.Window([1], [0], [(0, 0)], [1])),
        lambda b: shapes.pad(b.input, [(1, 1), (0, 0)], "mirror", 0),
        lambda b: shapes.split(b.input, [2, 2], 1),
        lambda b: nonlinear.clip(b, b.input, np.nan, None, "c"),
        lambda b: b.finish(ex.take(b.input, lambda at: at[:0])),
        lambda b: Builder((0, 2)),
        lambda b: Builder((10**6, 10**6)),
    ],
)
def test_errors(bad):
    with pytest.raises(ModelImportError):
        bad(Builder((1, 3)))
