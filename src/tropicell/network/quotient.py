"""The space that matters: fewer inputs with the same regions, and nothing is rounded.

Let A be all matrices that read the input, on top of each other: those of the first layer, of skips
from the input, and the inequalities of the domain. On which side of a boundary a point x lies
depends on A x alone. Let the columns P of A span all of its columns. Then every x has the same A x
as exactly one point that is 0 outside of P, so the regions in R^n are the regions of the network
with these inputs alone, times the kernel of A. Its matrices have the columns P of the others: the
same float64 numbers.

Which columns to take is a guess in floats, for columns that are far from being dependent; that they
span all others is proved, modulo a prime or by exact elimination. The proof is on the page
docs/quotient.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import fmpq_mat, nmod_mat
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.geometry.arithmetic import Matrix, to_fractions, to_rationals
from tropicell.geometry.convolutions import Convolution
from tropicell.network.domains import Box, Domain, Polytope, WholeSpace
from tropicell.network.layers import Affine, Layer
from tropicell.network.maps import AffineMap
from tropicell.network.network import Network

#: Matrices with more entries are looked at for columns of zeros alone; and there is no exact
#: elimination that takes more products than this.
_LARGE, _MANY_PRODUCTS = 1 << 22, 3_000_000

#: In the guess, a column of which so little is left depends on those before.
_NOTHING = 1e-11

#: A prime: what is not 0 modulo it is not 0. And what makes a float64 number whole.
_PRIME, _WHOLE = 2_147_483_629, 1_200


@dataclass(frozen=True, eq=False)
class Quotient:
    """A network on a domain, and the same with fewer inputs: its regions, times a linear space.

    Parameters
    ----------
    whole, around : Network, Domain
        With all inputs.
    inputs : ndarray of int64
        The inputs that are kept, ascending. They must span; see `spans`.

    Examples
    --------
    >>> wide = Network.mlp([[[1.0, 2.0, 4.0]], [[1.0]]])
    >>> quotient = quotient_of(wide, WholeSpace())
    >>> quotient.inputs, quotient.network, quotient.lift([[5.0]])
    (array([2]), Network(1 → 1 → 1), array([[0., 0., 5.]]))

    Along these directions nothing changes:

    >>> [[str(x) for x in direction] for direction in quotient.kernel]
    [['1', '0', '-1/4'], ['0', '1', '-1/2']]
    """

    whole: Network
    around: Domain
    inputs: NDArray[np.int64]

    @classmethod
    def trivial(cls, network: Network, domain: Domain) -> Quotient:
        """All inputs are kept."""
        return cls(network, domain, np.arange(network.n_inputs))

    @property
    def dimension(self) -> int:
        """Number of inputs that are kept."""
        return len(self.inputs)

    @property
    def is_trivial(self) -> bool:
        """Whether these are all."""
        return self.dimension == self.whole.n_inputs

    @cached_property
    def network(self) -> Network:
        """The network with the kept inputs alone."""
        whole, kept = self.whole, self.inputs
        if self.is_trivial:
            return whole
        if whole.embedding is not None:
            embedding = AffineMap(whole.embedding.matrix[:, kept], whole.embedding.offset)
            width = int(whole.embedding.matrix.shape[0])
            return Network(width, whole.layers, whole.output, embedding=embedding)

        def narrow(affine: Affine) -> Affine:
            terms = {
                k: affine.terms[k][:, kept] if k == 0 else m for k, m in affine.operators.items()
            }
            return affine if 0 not in terms else Affine(terms, affine.bias)

        layers = [Layer(narrow(x.affine), x.activation, x.name) for x in whole.layers]
        return Network(len(kept), layers, narrow(whole.output))

    @cached_property
    def domain(self) -> Domain:
        """The domain in the kept inputs; it has as many inequalities, in the same order."""
        around, kept = self.around, self.inputs
        if isinstance(around, Box) and not self.is_trivial:
            low, high = around.corners(self.whole.n_inputs)
            return Box(low[kept], high[kept])
        if isinstance(around, Polytope) and not self.is_trivial:
            return Polytope(around.A[:, kept], around.b)
        return around

    def lift(self, points: ArrayLike) -> NDArray[Any]:
        """Points, or directions (rows), in all coordinates: those that are not kept are 0."""
        kept = np.asarray(points)
        if self.is_trivial:
            return kept
        zero: Any = Fraction(0) if kept.dtype == object else 0
        found = np.full((*kept.shape[:-1], self.whole.n_inputs), zero, dtype=kept.dtype)
        found[..., self.inputs] = kept
        return found

    @cached_property
    def kernel(self) -> NDArray[Any]:
        """Directions (rows of Fractions) along which no pre-activation changes: a basis of them."""
        n = self.whole.n_inputs
        others = np.setdiff1d(np.arange(n), self.inputs)
        order = np.concatenate([self.inputs, others])
        reduced, rank = _columns(_exact(self.whole, self.around), order).rref()
        found = np.full((len(others), n), Fraction(0), dtype=object)
        found[np.arange(len(others)), others] = Fraction(1)
        # The pivots are among the kept inputs, and the other columns are in terms of them now.
        rows = np.array(reduced.tolist(), dtype=object).reshape(-1, n)[:rank, self.dimension :]
        found[:, self.inputs[_pivots(reduced, rank)]] = to_fractions(-rows.T)
        return found

    def moves(self, matrix: Matrix) -> NDArray[np.bool_]:
        """Which rows of a matrix that reads layer 0 change along the `kernel`.

        Examples
        --------
        >>> quotient = quotient_of(Network.mlp([[[1.0, 2.0]], [[1.0]]]), WholeSpace())
        >>> quotient.moves(np.array([[2.0, 4.0], [1.0, 0.0]]))
        array([False,  True])
        """
        rows = _rationals(matrix.toarray() if isinstance(matrix, sp.csr_array) else matrix)
        if self.whole.embedding is not None:
            rows = rows * _rationals(self.whole.embedding.matrix)
        along = (rows * _rationals(self.kernel).transpose()).tolist()
        return np.array([any(row) for row in along], dtype=np.bool_)


def quotient_of(network: Network, domain: Domain) -> Quotient:
    """The quotient with the fewest inputs; with all of them, if it is not known that less will do.

    Parameters
    ----------
    network : Network
    domain : Domain
        Not a `Slice`; see `tropicell.network.domains.resolve`.

    Notes
    -----
    In a bounded domain all inputs matter. Matrices with millions of entries are only looked at for
    inputs that nobody reads.

    Examples
    --------
    >>> from tropicell import Box
    >>> network = Network.mlp([[[1.0, 1.0], [2.0, 2.0]], [[1.0, 1.0]]])
    >>> quotient_of(network, WholeSpace()).dimension, quotient_of(network, Box(0, 1)).dimension
    (1, 2)
    """
    n = network.n_inputs
    bounded = isinstance(domain, Box) and bool(np.isfinite([*domain.corners(n)]).all())
    if n == 1 or bounded or not isinstance(domain, WholeSpace | Box | Polytope):
        return Quotient.trivial(network, domain)
    a, b = domain.inequalities(n)
    key = ("quotient", type(domain).__name__, a.tobytes(), b.tobytes())
    found: Quotient = network.remember(
        key, lambda: Quotient(network, domain, _choose(network, domain))
    )
    return found


def spans(network: Network, domain: Domain, inputs: Sequence[int] | NDArray[np.int64]) -> bool:
    """Whether all columns of what reads the input are combinations of these; decided exactly.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 2.0, 4.0]], [[1.0]]])
    >>> spans(network, WholeSpace(), [1]), spans(network, WholeSpace(), [])
    (True, False)
    """
    kept = np.asarray(inputs, dtype=np.int64)
    n = network.n_inputs
    if kept.size and not (kept.min() >= 0 and kept.max() < n and len(set(kept)) == len(kept)):
        return False
    if network.embedding is None:
        reads = _reads(network, domain)
        if not _used(reads[:, np.setdiff1d(np.arange(n), kept)]).size:
            return True
        rows = different(reads)
        if len(rows) <= len(kept) and rank_modulo(rows[:, kept]) == len(rows):
            return True
    table = _exact(network, domain)
    return bool(_columns(table, kept).rank() == table.rank())


def _choose(network: Network, domain: Domain) -> NDArray[np.int64]:
    """The inputs to keep, at least one of them; all, if it is not worth the while."""
    n = network.n_inputs
    reads = _reads(network, domain)
    used, products = _used(reads), reads.shape[0] * n
    if network.embedding is not None:
        used = np.arange(n)  # what is rounded to 0 need not be 0
        products *= len(network.embedding.offset)
    if not used.size:
        return np.zeros(1, np.int64)
    if reads.shape[0] * len(used) > _LARGE:
        return used
    rows = different(reads)
    order, rank = independent_columns(rows[:, used])
    if rank == len(used):
        return used
    if network.embedding is None and rank == len(rows):
        kept = np.sort(used[order[:rank]])
        if rank_modulo(rows[:, kept]) == rank:
            return kept
    if products * rank > _MANY_PRODUCTS:
        return used
    ordered = used[order]
    found = _pivots(*_columns(_exact(network, domain), ordered).rref())
    return np.sort(ordered[found]) if found else np.zeros(1, np.int64)


def _reads(network: Network, domain: Domain) -> Any:
    """All matrices that read the input, on top of each other; behind a slice's map rounded."""
    parts: list[Any] = [x.affine.operators[0] for x in network.layers if 0 in x.affine.operators]
    if network.float_embedding is not None:
        matrix = network.float_embedding.matrix
        with np.errstate(over="ignore", invalid="ignore"):
            parts = [np.nan_to_num(np.asarray(part @ matrix)) for part in parts]
    parts = [part.tocsr() if isinstance(part, Convolution) else part for part in parts]
    parts.append(domain.inequalities(network.n_inputs)[0])
    if any(sp.issparse(part) for part in parts):
        return sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts]))
    return np.concatenate(parts)


def _exact(network: Network, domain: Domain) -> fmpq_mat:
    """The same in rationals."""
    parts = []
    for layer in network.layers:
        if (matrix := layer.affine.terms.get(0)) is not None:
            rows = _rationals(different(matrix))
            if network.embedding is not None:
                rows = rows * _rationals(network.embedding.matrix)
            parts.append(rows)
    parts.append(_rationals(domain.inequalities(network.n_inputs)[0]))
    entries = [entry for part in parts for entry in part.entries()]
    return fmpq_mat(sum(part.nrows() for part in parts), network.n_inputs, entries)


def _rationals(matrix: NDArray[Any]) -> fmpq_mat:
    rows, columns = matrix.shape
    return fmpq_mat(rows, columns, to_rationals(matrix).ravel().tolist())


def _columns(table: fmpq_mat, chosen: NDArray[np.int64]) -> fmpq_mat:
    """Some columns, in this order."""
    rows, places = table.tolist(), chosen.tolist()
    return fmpq_mat(len(rows), len(places), [row[k] for row in rows for k in places])


def _pivots(reduced: fmpq_mat, rank: int) -> list[int]:
    """Of a matrix that was reduced: the columns that do not depend on those before them."""
    found: list[int] = []
    for i in range(rank):
        start = found[-1] + 1 if found else 0
        found.append(next(k for k in range(start, reduced.ncols()) if reduced[i, k] != 0))
    return found


def _used(reads: Any) -> NDArray[np.int64]:
    """The columns that are not 0."""
    return np.unique(reads.nonzero()[1]).astype(np.int64)


def different(reads: Any) -> FloatArray:
    """The rows that are not 0, one of those that are the same or opposite."""
    rows = np.asarray(reads.toarray() if isinstance(reads, sp.csr_array) else reads) + 0.0  # no -0
    rows = rows[rows.any(axis=1)]
    signs = np.sign(rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)])
    return np.unique(rows * signs[:, None] + 0.0, axis=0)


def independent_columns(rows: FloatArray) -> tuple[NDArray[np.intp], int]:
    """An order of the columns, those first that are far from dependent, and how many are."""
    from scipy.linalg import qr  # noqa: PLC0415 - some tenths of a second, like all of the engines

    if not len(rows):
        return np.arange(rows.shape[1]), 0
    scaled = np.ldexp(rows, -np.frexp(np.abs(rows).max(axis=1))[1][:, None])
    triangle, order = qr(scaled, mode="r", pivoting=True, check_finite=False)
    left = np.abs(np.diag(triangle))
    return order, int(np.count_nonzero(left > _NOTHING * left[0]))


def rank_modulo(matrix: FloatArray) -> int:
    """The rank modulo a prime of a matrix times a power of 2: the rank is no less."""
    mantissas, exponents = np.frexp(matrix)
    powers = np.ones(2 * _WHOLE, dtype=np.int64)
    for k in range(1, len(powers)):
        powers[k] = 2 * powers[k - 1] % _PRIME
    whole = np.ldexp(mantissas, 53).astype(np.int64) % _PRIME
    residues = whole * powers[exponents + (_WHOLE - 53)] % _PRIME
    rows, columns = matrix.shape
    return int(nmod_mat(rows, columns, residues.ravel().tolist(), _PRIME).rank())
