"""What two tropical polynomials share: a common factor as the optimum of a linear program.

A common factor is affine wherever either polynomial is, so it is one number for every wall that
both have: how much it bends there, between 0 and the smaller bend of the two. Around every closed
path of cells these changes cancel. The largest sum of shares leaves no room for a further factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from tropicell.geometry.arithmetic import to_rationals
from tropicell.geometry.exact_programs import solved, zeros
from tropicell.geometry.polyhedra import Row, integer_row

if TYPE_CHECKING:
    from tropicell.paper.polynomials import TropicalPolynomial


class _Shared(NamedTuple):
    """A common wall of the cells of two polynomials, between parts where factors are affine.

    Attributes
    ----------
    left, right : int
        The parts, numbered.
    row : tuple of int
        What a factor's monomial changes by from left to right is a multiple of this.
    most : rational
        The largest such multiple: more of it and one of the quotients would not be convex.
    """

    left: int
    right: int
    row: Row
    most: fmpq


def _shared_walls(f: TropicalPolynomial, g: TropicalPolynomial) -> list[_Shared]:
    """Where a common factor of two reduced polynomials may bend.

    A factor is affine wherever the polynomial is: f = p ⊗ q with p and q convex, and where a sum
    of convex functions is affine, both are. So a common factor is one affine function on every cell
    of f and on every cell of g, and the same on two of them that overlap.
    """
    both = (f * g).reduced().subdivision()
    at = np.array(both.inside(), dtype=object).reshape(len(both.cells), f.n_variables)
    i, j = f.active(at), g.active(at)
    size = len(f) + len(g)
    overlap = sp.coo_array((np.ones(len(i)), (i, len(f) + j)), (size, size))
    part = connected_components(overlap, directed=False)[1][i].tolist()
    most: dict[tuple[int, int, Row], fmpq] = {}
    for m, k in both.pairs:
        if part[m] == part[k]:
            continue
        a, b = (m, k) if part[m] < part[k] else (k, m)
        row = integer_row([*(f._a[i[b]] - f._a[i[a]]), f._c[i[b]] - f._c[i[a]]])
        place = next(d for d, value in enumerate(row) if value)
        times = min((h._a[n[b]] - h._a[n[a]])[place] / row[place] for h, n in ((f, i), (g, j)))
        key = (part[a], part[b], row)
        most[key] = min(times, most.get(key, times))
    return [_Shared(*key, times) for key, times in most.items()]


def common_factor(f: TropicalPolynomial, g: TropicalPolynomial) -> NDArray[Any]:
    """The factor whose bends are the largest shares of what f and g allow, in sum.

    Parameters
    ----------
    f, g : TropicalPolynomial
        Without redundant monomials.

    Returns
    -------
    ndarray of fmpq, shape (monomials, variables + 1)
        Its exponents, then its coefficients; redundant monomials are possible.

    Examples
    --------
    >>> from tropicell import TropicalPolynomial
    >>> x = TropicalPolynomial.variables(1)[0]
    >>> common_factor((0 + x) * (1 + x), (0 + x) * (2 + x)).tolist()
    [[0, 0], [1, 0]]
    """
    walls = _shared_walls(f, g)
    size = f.n_variables + 1
    paths, closed = _paths(walls)
    # Around every closed path of parts the changes of the factor's monomial cancel.
    equations = fmpq_mat(len(closed) * size, len(walls))
    for place, path in enumerate(closed):
        for wall, sign in path.items():
            for d in range(size):
                equations[place * size + d, wall] = sign * walls[wall].row[d]
    bends = _largest(equations, [wall.most for wall in walls])
    monomials = to_rationals(np.zeros((len(paths), size), dtype=np.int64))
    for place, path in enumerate(paths.values()):
        for wall, sign in path.items():
            monomials[place] += to_rationals(np.array(walls[wall].row, dtype=object)) * (
                sign * bends[wall]
            )
    return monomials


def _paths(walls: Sequence[_Shared]) -> tuple[dict[int, dict[int, int]], list[dict[int, int]]]:
    """From part 0 to each part the walls on the way, with signs; and closed paths, a basis."""
    doors: dict[int, list[tuple[int, int, int]]] = {}
    for number, wall in enumerate(walls):
        doors.setdefault(wall.left, []).append((number, wall.right, 1))
        doors.setdefault(wall.right, []).append((number, wall.left, -1))
    paths: dict[int, dict[int, int]] = {0: {}}
    tree, todo = set(), [0]
    for part in todo:
        for number, other, sign in doors.get(part, ()):
            if other not in paths:
                paths[other] = paths[part] | {number: sign}
                tree.add(number)
                todo.append(other)
    closed = []
    for number, wall in enumerate(walls):
        if number not in tree:
            path = dict(paths[wall.left])
            for step, sign in [*((s, -x) for s, x in paths[wall.right].items()), (number, 1)]:
                path[step] = path.get(step, 0) + sign
            closed.append({step: sign for step, sign in path.items() if sign})
    return paths, closed


def _largest(equations: fmpq_mat, most: Sequence[fmpq]) -> list[fmpq]:
    """Numbers from 0 to their most that solve equations, the sum of their shares largest."""
    count = len(most)
    solved_form, rank = equations.rref() if equations.nrows() else (equations, 0)
    pivots = [next(k for k in range(count) if solved_form[r, k] != 0) for r in range(int(rank))]
    free = [k for k in range(count) if k not in set(pivots)]
    # t = from_free · (the free ones)
    from_free = to_rationals(np.zeros((count, len(free)), dtype=np.int64))
    for place, k in enumerate(free):
        from_free[k, place] = fmpq(1)
        for r, pivot in enumerate(pivots):
            from_free[pivot, place] = -solved_form[r, k]
    limits = np.empty(count, dtype=object)
    limits[:] = list(most)
    bound = [k for k in pivots if any(value != 0 for value in from_free[k].tolist())]
    if not free:
        return [fmpq(0)] * count
    rows = np.concatenate([from_free[bound], -from_free[bound]])
    offsets = np.concatenate([zeros(len(bound)), limits[bound]])
    objective = (from_free / limits[:, None]).sum(axis=0)
    found = solved(rows, offsets, objective, zeros(len(free)), limits[free])
    return list(from_free @ found.point)
