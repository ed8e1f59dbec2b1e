"""The shadow of a network's input: what all layers together read of it, in as few numbers as that.

Let M be all different rows of the matrices that read the input. Pre-activations depend on
``u = M x`` alone, so there is a network with the inputs u that has the same neurons: its matrices
say which of the rows a neuron reads. A box has a shadow too, the zonotope of all M x; see
`tropicell.engines.shadow`. While `tropicell.network.quotient` chooses among the inputs, and so
knows nothing of bounds of those that it leaves out, here every x keeps its u.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq_mat

from tropicell._runtime.arrays import FloatArray
from tropicell.geometry.arithmetic import to_floats, to_rationals
from tropicell.network.layers import Affine, Layer
from tropicell.network.network import Network
from tropicell.network.quotient import different, independent_columns, rank_modulo

#: There is no exact elimination that takes more products than this.
_MANY_PRODUCTS = 1_000_000


@dataclass(frozen=True, eq=False)
class Shadow:
    """A network as a function of ``rows @ x``.

    Attributes
    ----------
    rows : ndarray, shape (dimension, inputs)
        Linearly independent.
    network : Network
        With ``dimension`` inputs, and the same neurons; its output is its last layer's.

    Examples
    --------
    >>> wide = Network.mlp([[[1.0, 2.0, 4.0], [-1.0, -2.0, -4.0]], [[1.0, 1.0]]])
    >>> shadow = shadow_of(wide)
    >>> shadow.rows, shadow.network
    (array([[1., 2., 4.]]), Network(1 → 2 → 2))
    """

    rows: FloatArray
    network: Network

    @property
    def dimension(self) -> int:
        """How many numbers all neurons together know of an input."""
        return len(self.rows)


def shadow_of(network: Network, most: int | None = None) -> Shadow | None:
    """The shadow, if there is one in float64 numbers and fewer dimensions than inputs.

    Parameters
    ----------
    network : Network
    most : int, optional
        The most dimensions.

    Returns
    -------
    Shadow or None
        None: all inputs matter (or more than `most` combinations), the network is one on a slice,
        or a row that reads the input is a combination of others with factors that are no float64
        numbers.
    """
    if network.embedding is not None or not network.depth:
        return None
    limit = network.n_inputs - 1 if most is None else min(most, network.n_inputs - 1)
    readers = [k for k, x in enumerate(network.layers) if 0 in x.affine.terms]
    widths = [network.layers[k].affine.terms[0].shape[0] for k in readers]
    if sum(widths) > 4 * limit + 64:  # before matrices with millions of entries are looked at
        return None
    matrices = [_dense(network.layers[k].affine.terms[0]) for k in readers]
    table = np.concatenate([np.zeros((0, network.n_inputs)), *matrices])
    rows = different(table)
    if not len(rows):
        return None
    order, rank = independent_columns(rows)
    if rank > limit:
        return None
    if rank == len(rows) and rank_modulo(rows[:, np.sort(order[:rank])]) == rank:
        factors: FloatArray | None = _which(table, rows)
    else:
        rows, factors = _combinations(table, rows)
    if factors is None or len(rows) > limit:
        return None
    parts = dict(zip(readers, np.split(factors, np.cumsum(widths)[:-1]), strict=True))
    layers = []
    for k, layer in enumerate(network.layers):
        terms: dict[int, Any] = dict(layer.affine.terms)
        if k in parts:
            terms[0] = parts[k]
        layers.append(Layer(Affine(terms, layer.affine.bias), layer.activation, layer.name))
    width = network.widths[-1]
    output = Affine({network.depth: np.eye(width)}, np.zeros(width))
    return Shadow(rows, Network(len(rows), layers, output))


def _dense(matrix: Any) -> FloatArray:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, np.float64)


def _which(table: FloatArray, rows: FloatArray) -> FloatArray:
    """Rows of a table as rows of another one, times 1, -1 or 0."""
    places = {row.tobytes(): k for k, row in enumerate(rows)}
    factors = np.zeros((len(table), len(rows)))
    for i, row in enumerate(table + 0.0):
        if row.any():
            sign = float(np.sign(row[(row != 0).argmax()]))
            factors[i, places[(sign * row + 0.0).tobytes()]] = sign
    return factors


def _combinations(table: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Independent rows, and all rows as combinations of these; None if float64 can't say them."""
    n = table.shape[1]
    if len(rows) ** 2 * n > _MANY_PRODUCTS:
        return rows, None

    def exact(matrix: FloatArray) -> fmpq_mat:
        rows, columns = matrix.shape
        return fmpq_mat(rows, columns, to_rationals(matrix).ravel().tolist())

    reduced, rank = exact(rows.T).rref()
    kept, start = [], 0
    for i in range(rank):
        start = next(k for k in range(start, len(rows)) if reduced[i, k] != 0)
        kept.append(start)
    base = rows[kept]
    # Factors f with f · base = table: the columns of base span all of R^rank.
    square = exact(base) * exact(base).transpose()
    solved = square.solve(exact(base) * exact(table).transpose()).transpose()
    wanted = np.array(solved.tolist(), dtype=object).reshape(len(table), rank)
    factors = to_floats(wanted)
    return base, factors if (to_rationals(factors) == wanted).all() else None
