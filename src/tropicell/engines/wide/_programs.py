"""Small linear programs over a box with many columns, in Numba; they only make suggestions.

Maximise ``h + H·η`` over ``|η_j| <= 1`` and ``v_i + G_i·η >= 0`` for k rows. There are few rows and
many columns, and every column has two bounds: so the dual simplex method can start with no active
row at all, at the corner of the box that is best for H. It goes on in the space of the factors
λ_i >= 0 of the rows, where it minimises ``h + λ·v + Σ_j |g_j|``, ``g = H + Σ_i λ_i G_i``: along a
line this is a convex function with a bend wherever a g_j is 0, and one step goes past all bends up
to the minimum. Every λ on the way proves an upper bound, so a program whose maximum is negative
ends as soon as that is clear. The other way round, every corner on the way is tried from a point
inside of the cell: where the segment between them reaches a positive value before it leaves the
cell, that is a point, and the program ends too. So most programs end long before their optimum.

The violated row or column that leaves first is chosen by dual steepest edge: the rows of the
inverse are short, so their norms are simply computed.

An l1 ball becomes a box with twice as many columns and one more row; see `_search`. For an l2 ball,
`nearest` finds the point next to 0 that satisfies all rows.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tropicell._runtime.jit import kernel

#: How a program ends: the maximum is surely negative, as far as floats can tell; a best point was
#: found; neither.
NEGATIVE, BEST, STUCK = range(3)

#: Objectives are changed by up to this part, so that fewer steps are equally good.
_NOISE = 1e-7

#: A row counts as violated beyond this part of its size.
_VIOLATED = 1e-10
#: A pivot must be at least this part of the largest.
_PIVOT = 1e-7


class Program(NamedTuple):
    """Memory of a program: numbers of active rows, their columns, factors, and so on."""

    lam: Any  # of all rows
    g: Any
    eta: Any
    alpha: Any
    vals: Any
    rows: Any  # active rows
    columns: Any  # their basic columns
    is_basic: Any
    is_active: Any
    lu: Any
    swaps: Any
    x: Any
    theta: Any  # heap of bends
    bend: Any
    inverse: Any  # of the active rows' basic columns
    noise: Any
    inner: Any  # a point strictly inside the cell, in columns
    inner_vals: Any  # and what the rows are worth there
    counts: Any  # pivots so far


def program(rows: int, columns: int) -> Program:
    """Memory for so many rows and columns."""
    return Program(
        np.zeros(rows),
        np.zeros(columns),
        np.zeros(columns),
        np.zeros(columns),
        np.zeros(rows),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(columns, np.uint8),
        np.zeros(rows, np.uint8),
        np.zeros((rows, rows)),
        np.zeros(rows, np.int64),
        np.zeros(rows),
        np.zeros(columns),
        np.zeros(columns, np.int64),
        np.zeros((rows, rows)),
        np.random.default_rng(0).uniform(0.5, 1.0, columns),
        np.zeros(columns),
        np.zeros(rows),
        np.zeros(1, np.int64),
    )


@kernel(sums="in any order", inner=True)
def dot(a, b, n):
    """A scalar product."""
    total = 0.0
    for j in range(n):
        total += a[j] * b[j]
    return total


@kernel(inner=True)
def _factor(lu, swaps, q):
    """Factors of a matrix with partial pivoting; False if it is singular."""
    for c in range(q):
        best, at = 0.0, c
        for r in range(c, q):
            if abs(lu[r, c]) > best:
                best, at = abs(lu[r, c]), r
        if not best > 1e-250:
            return False
        swaps[c] = at
        if at != c:
            for j in range(q):
                lu[c, j], lu[at, j] = lu[at, j], lu[c, j]
        for r in range(c + 1, q):
            f = lu[r, c] / lu[c, c]
            lu[r, c] = f
            if f != 0.0:
                for j in range(c + 1, q):
                    lu[r, j] -= f * lu[c, j]
    return True


@kernel(inner=True)
def _solve(lu, swaps, q, x):
    """Solve with the matrix itself."""
    for c in range(q):
        if swaps[c] != c:
            x[c], x[swaps[c]] = x[swaps[c]], x[c]
    for r in range(q):
        for c in range(r):
            x[r] -= lu[r, c] * x[c]
    for r in range(q - 1, -1, -1):
        for c in range(r + 1, q):
            x[r] -= lu[r, c] * x[c]
        x[r] /= lu[r, r]


@kernel(inner=True)
def _solve_transposed(lu, swaps, q, x):
    """Solve with the transposed matrix."""
    for r in range(q):
        for c in range(r):
            x[r] -= lu[c, r] * x[c]
        x[r] /= lu[r, r]
    for r in range(q - 1, -1, -1):
        for c in range(r + 1, q):
            x[r] -= lu[c, r] * x[c]
    for c in range(q - 1, -1, -1):
        if swaps[c] != c:
            x[c], x[swaps[c]] = x[swaps[c]], x[c]


@kernel(inner=True)
def _sift(theta, bend, start, n):
    """Put a heap in order, smallest first, below one place."""
    at = start
    while True:
        child = 2 * at + 1
        if child >= n:
            return
        if child + 1 < n and theta[child + 1] < theta[child]:
            child += 1
        if theta[at] <= theta[child]:
            return
        theta[at], theta[child] = theta[child], theta[at]
        bend[at], bend[child] = bend[child], bend[at]
        at = child


@kernel(sums="in any order", inner=True)
def _place(program, G, v, k, q, n):
    """Where the basic columns are, and what the rows are worth there; False: no idea."""
    eta, lu, x = program.eta, program.lu, program.x
    for c in range(q):
        eta[program.columns[c]] = 0.0
    for r in range(q):
        i = program.rows[r]
        x[r] = -v[i] - dot(G[i], eta, n)
        for c in range(q):
            lu[r, c] = G[i, program.columns[c]]
    if q > 0:
        if not _factor(lu, program.swaps, q):
            return False
        _solve(lu, program.swaps, q, x)
        for c in range(q):
            eta[program.columns[c]] = x[c]
        inverse = program.inverse
        for r in range(q):
            x[:q] = 0.0
            x[r] = 1.0
            _solve(lu, program.swaps, q, x)
            for c in range(q):
                inverse[c, r] = x[c]
    for i in range(k):
        program.vals[i] = v[i] + dot(G[i], eta, n)
    return True


@kernel(inner=True)
def _leaving(program, G, sizes, k, q):
    """The row (or k and more: the basic column) that is violated most, by dual steepest edge."""
    inverse, columns, rows = program.inverse, program.columns, program.rows
    best, chosen = 0.0, -1
    for i in range(k):
        if program.is_active[i] == 0 and -program.vals[i] > _VIOLATED * sizes[i]:
            norm = sizes[i] * sizes[i]
            for r in range(q):
                entry = 0.0
                for c in range(q):
                    entry += G[i, columns[c]] * inverse[c, r]
                entry *= sizes[rows[r]]
                norm += entry * entry
            score = program.vals[i] * program.vals[i] / norm
            if score > best:
                best, chosen = score, i
    for c in range(q):
        out = abs(program.eta[columns[c]]) - 1.0
        if out > _VIOLATED:
            norm = 1e-300
            for r in range(q):
                entry = inverse[c, r] * sizes[rows[r]]
                norm += entry * entry
            if out * out / norm > best:
                best, chosen = out * out / norm, k + c
    return chosen


@kernel(sums="in any order", inner=True)
def _shortcut(program, k, q, here, there, n):
    """Go from the inner point, where the objective is `here` < 0, towards the columns' point.

    Sets the columns to a point of the cell where the objective is positive, if there is one.
    """
    if not there > 0.0:
        return False
    least = -here / (there - here)
    most = 1.0
    for i in range(k):
        if program.vals[i] <= 0.0:
            inside = program.inner_vals[i]
            most = min(most, inside / (inside - program.vals[i]))
    if not least < most:
        return False
    for c in range(q):
        j = program.columns[c]
        to, at = program.eta[j], program.inner[j]
        if abs(to) > 1.0:
            side = 1.0 if to > 0.0 else -1.0
            most = min(most, (side - at) / (to - at))
    if not least < 0.999 * most:
        return False
    part = 0.5 * (least + most)
    for j in range(n):
        program.eta[j] = program.inner[j] + part * (program.eta[j] - program.inner[j])
    return True


@kernel(sums="in any order", inner=True)
def maximise(program, G, v, sizes, errors, k, H, h, error, n, rest, noisy, here, most):
    """Maximise over a box and k rows; see above.

    `rest` is where a column is that nothing depends on, if no inner point is known; `noisy` says
    that the objective may be changed a little. `here` is the objective at ``program.inner``;
    positive: there is no such point. At `NEGATIVE` the factors are in ``program.lam``, at `BEST`
    the point is in ``program.eta``.
    """
    lam, g, eta, alpha = program.lam, program.g, program.eta, program.alpha
    rows, columns, theta, bend = program.rows, program.columns, program.theta, program.bend
    pivot = _PIVOT if noisy else 100.0 * _PIVOT
    q = 0
    lam[:k] = 0.0
    program.is_active[:k] = 0
    for j in range(n):
        g[j] = H[j] * (1.0 + _NOISE * program.noise[j]) if noisy else H[j]
        program.is_basic[j] = 0
        if g[j] == 0.0:
            eta[j] = program.inner[j] if here <= 0.0 else rest
        else:
            eta[j] = 1.0 if g[j] > 0.0 else -1.0
    for _step in range(most):
        if not _place(program, G, v, k, q, n):
            return STUCK
        # The bound that is proved by now.
        bound, slack = h, error
        for i in range(k):
            bound += lam[i] * v[i]
            slack += lam[i] * errors[i]
        for j in range(n):
            bound += abs(g[j])
        if bound < -2.0 * slack:
            return NEGATIVE
        if here <= 0.0 and _shortcut(program, k, q, here, h + dot(H, eta, n), n):
            return BEST
        row, column = _leaving(program, G, sizes, k, q), -1
        if row < 0:
            return BEST
        if row >= k:
            row, column = -1, row - k
        program.counts[0] += 1
        # The direction in the space of factors.
        x = program.x
        if row >= 0:
            for c in range(q):
                x[c] = -G[row, columns[c]]
            slope = v[row]
            for j in range(n):
                alpha[j] = G[row, j]
        else:
            side = 1.0 if eta[columns[column]] > 0.0 else -1.0
            for c in range(q):
                x[c] = 0.0
            x[column] = side
            slope = 0.0
            for j in range(n):
                alpha[j] = 0.0
        _solve_transposed(program.lu, program.swaps, q, x)
        largest = 0.0
        for r in range(q):
            slope += x[r] * v[rows[r]]
            f, source = x[r], G[rows[r]]
            for j in range(n):
                alpha[j] += f * source[j]
        for c in range(q):
            alpha[columns[c]] = 0.0
        if column >= 0:
            alpha[columns[column]] = side
        # Bends of the line, and its slope at the beginning.
        bends = 0
        for j in range(n):
            largest = max(largest, abs(alpha[j]))
        for j in range(n):
            a = alpha[j]
            if program.is_basic[j] == 1:
                continue
            slope += eta[j] * a
            if abs(a) <= pivot * largest:
                continue
            if eta[j] * a < abs(a):
                # Of equal steps the one with the largest pivot is taken.
                theta[bends] = max(0.0, -g[j] / a) - 1e-14 * abs(a) / largest
                bend[bends] = j
                bends += 1
        if column >= 0:
            slope += side * side  # |g_j| itself grows
        if slope >= 0.0:
            return STUCK
        for at in range(bends // 2 - 1, -1, -1):
            _sift(theta, bend, at, bends)
        limit, leaving = np.inf, -1
        for r in range(q):
            if x[r] < 0.0 and lam[rows[r]] < -x[r] * limit:
                limit, leaving = max(0.0, lam[rows[r]]) / -x[r], r
        entering, t = -1, limit
        while bends > 0 and theta[0] <= limit:
            j = bend[0]
            jump = abs(alpha[j]) - eta[j] * alpha[j]
            if slope + jump >= 0.0:
                entering, t = j, max(0.0, theta[0])
                break
            slope += jump
            eta[j] = 1.0 if alpha[j] > 0.0 else -1.0
            bends -= 1
            theta[0], bend[0] = theta[bends], bend[bends]
            _sift(theta, bend, 0, bends)
        if entering < 0 and leaving < 0:
            return STUCK  # the rows have no common point
        for r in range(q):
            lam[rows[r]] = max(0.0, lam[rows[r]] + t * x[r])
        for j in range(n):
            g[j] += t * alpha[j]
        for c in range(q):
            if c != column:
                g[columns[c]] = 0.0
        if row >= 0:
            lam[row] = t
            program.is_active[row] = 1
        else:
            program.is_basic[columns[column]] = 0
            eta[columns[column]] = side
        if entering >= 0:
            g[entering] = 0.0
            program.is_basic[entering] = 1
            if row >= 0:
                rows[q] = row
                columns[q] = entering
                q += 1
            else:
                columns[column] = entering
        else:
            lam[rows[leaving]] = 0.0
            program.is_active[rows[leaving]] = 0
            if row >= 0:
                rows[leaving] = row
            else:
                q -= 1
                rows[leaving] = rows[q]
                columns[column] = columns[q]
    return STUCK


@kernel(sums="in any order", inner=True)
def nearest(program, G, v, sizes, k, n, most):
    """The point nearest to 0 that satisfies k rows (Goldfarb and Idnani's dual method).

    At `BEST` it is in ``program.eta``; the factors are in ``program.lam``, also at `NEGATIVE`:
    then the rows have no common point.
    """
    lam, eta, rows, lu, x = program.lam, program.eta, program.rows, program.lu, program.x
    lam[:k] = 0.0
    program.is_active[:k] = 0
    eta[:n] = 0.0
    q, row = 0, -1
    for _ in range(most):
        if row < 0:
            worst = _VIOLATED
            for i in range(k):
                if program.is_active[i] == 0:
                    value = v[i] + dot(G[i], eta, n)
                    if -value > worst * sizes[i]:
                        worst, row = -value / sizes[i], i
            if row < 0:
                return BEST
        program.counts[0] += 1
        for r in range(q):
            x[r] = dot(G[rows[r]], G[row], n)
            for c in range(q):
                lu[r, c] = dot(G[rows[r]], G[rows[c]], n)
        if q > 0:
            if not _factor(lu, program.swaps, q):
                return STUCK
            _solve(lu, program.swaps, q, x)
        z = program.alpha
        for j in range(n):
            z[j] = G[row, j]
        for r in range(q):
            f, source = x[r], G[rows[r]]
            for j in range(n):
                z[j] -= f * source[j]
        square = dot(z, G[row], n)
        full = np.inf
        if square > 1e-14 * sizes[row] * sizes[row]:
            full = -(v[row] + dot(G[row], eta, n)) / square
        t, leaving = full, -1
        for r in range(q):
            if x[r] > 0.0 and lam[rows[r]] < t * x[r]:
                t, leaving = lam[rows[r]] / x[r], r
        if t == np.inf:
            for r in range(q):
                lam[rows[r]] = max(0.0, -x[r])
            lam[row] = 1.0
            return NEGATIVE
        for r in range(q):
            lam[rows[r]] = max(0.0, lam[rows[r]] - t * x[r])
        lam[row] += t
        if full < np.inf:
            for j in range(n):
                eta[j] += t * z[j]
        if leaving < 0:
            rows[q] = row
            program.is_active[row] = 1
            q += 1
            row = -1
        else:
            lam[rows[leaving]] = 0.0
            program.is_active[rows[leaving]] = 0
            q -= 1
            rows[leaving] = rows[q]
    return STUCK
