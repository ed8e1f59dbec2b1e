"""Which candidates have points in the box: points that prove it, Farkas vectors that disprove it.

A candidate is a region of the network whose inputs are ``u = M x`` (`tropicell.network.shadow`),
with a point u of it. Three things are tried, the cheapest first:

1. The shortest δ with ``M (c + ρ δ) = u``.
2. The shortest δ in the box for which M (c + ρ δ) is in the candidate: coordinates that are too
   large are held at the bounds, which leaves a quadratic program in m dimensions, until the same
   ones are held (Newton's method for a piecewise quadratic function). If the candidate has no
   points in the box, the factors of one of these programs are a Farkas vector.
3. A linear program in all dimensions: the point of the box where the candidate's inequalities are
   as large as can be. If that is negative, its factors are a Farkas vector.
4. Neither is proved: the kernel says so, and the question is decided in rationals.

Whatever x comes out of it, the signs of all neurons there are proved with bounds on rounding; and
so are Farkas vectors. See docs/shadow-proof.md.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tropicell._runtime.jit import is_set, kernel
from tropicell.engines.wide._programs import BEST, maximise, nearest

#: What became of a candidate.
OUTSIDE, INSIDE, DOUBT = range(3)

#: Places of the counters: candidates, quadratic programs, linear programs.
CANDIDATES, STEPS, PROGRAMS = range(3)
COUNTERS = 3

_ROUND = 2.0**-53
_TINY = 1e-200

#: Preimages stay this far inside of the box.
_INSIDE = 1.0 - 1e-7
#: Rounds of step 2; and the part of the way to its known point that it stays away from a side.
_ROUNDS, _MARGIN = 30, 0.01
#: Pivots of a program.
_PIVOTS = 600


class ShadowFlat(NamedTuple):
    """A network and its shadow in a box, as arrays; neurons are in order, after the m inputs.

    Attributes
    ----------
    rows, scaled : ndarray, shape (m, n)
        M, and M times the radii.
    gram, inverse : ndarray, shape (m, m)
        ``scaled @ scaled.T`` and its inverse, about.
    center, scale, low, high : ndarray, shape (n,)
    u_center, u_most : ndarray, shape (m,)
        M c, and a bound on |M x| and all numbers on the way to it.
    weights : ndarray, shape (neurons, m + neurons)
    first, last : ndarray
        The columns of a neuron's weights that are not 0 lie between these.
    bias, gamma : ndarray, shape (neurons,)
        And a bound on the relative rounding error of the sum.
    slopes, intercepts, breakpoints : ndarray
        Breakpoints that a neuron does not have are infinite.
    big_gamma : float
        The same for sums over everything.
    """

    rows: Any
    scaled: Any
    gram: Any
    inverse: Any
    center: Any
    scale: Any
    low: Any
    high: Any
    u_center: Any
    u_most: Any
    weights: Any
    first: Any
    last: Any
    bias: Any
    gamma: Any
    slopes: Any
    intercepts: Any
    breakpoints: Any
    big_gamma: float
    halt: Any


class ShadowWork(NamedTuple):
    """Memory for one candidate."""

    y: Any
    rest: Any
    matrix: Any
    delta: Any
    x: Any
    value: Any  # of inputs and neurons, after their activations
    error: Any
    still: Any  # those that are 0 all around the point
    map: Any  # of neurons, after their activations: slopes
    offset: Any
    map_error: Any
    size: Any
    row: Any  # of the candidate's inequalities: slopes in u
    row_size: Any
    G: Any
    v: Any
    e: Any
    sizes: Any
    margin: Any
    held: Any  # coordinates at a bound: 1 or -1
    small: Any  # the quadratic program
    small_value: Any
    small_size: Any
    H: Any
    counters: Any


def shadow_work(m: int, n: int, neurons: int, rows: int) -> ShadowWork:
    """Room for candidates with so many inequalities."""
    return ShadowWork(
        np.zeros(m),
        np.zeros(m),
        np.zeros((m, m)),
        np.zeros(n),
        np.zeros(n),
        np.zeros(m + neurons),
        np.zeros(m + neurons),
        np.zeros(m + neurons, np.bool_),
        np.zeros((neurons, m)),
        np.zeros(neurons),
        np.zeros(neurons),
        np.zeros(neurons),
        np.zeros((rows, m)),
        np.zeros(rows),
        np.zeros((rows, n + 1)),
        np.zeros(rows),
        np.zeros(rows),
        np.zeros(rows),
        np.zeros(rows),
        np.zeros(n),
        np.zeros((rows, m)),
        np.zeros(rows),
        np.zeros(rows),
        np.zeros(n + 1),
        np.zeros(COUNTERS, np.int64),
    )


@kernel(sums="in any order", inner=True)
def _has_pattern(flat, work, pattern):
    """Whether the point of `delta` is inside the box and surely has a pattern; it goes to `x`."""
    m, n = flat.rows.shape
    x, value, error, still = work.x, work.value, work.error, work.still
    inside = True
    for j in range(n):
        x[j] = flat.center[j] + flat.scale[j] * work.delta[j]
        inside &= flat.low[j] < x[j] < flat.high[j]
    if not inside:
        return False
    for r in range(m):
        total, row = 0.0, flat.rows[r]
        for j in range(n):
            total += row[j] * x[j]
        value[r] = total
        error[r] = flat.big_gamma * flat.u_most[r] + _TINY
        still[r] = False
    for i in range(len(flat.bias)):
        z, e, size, moves = flat.bias[i], 0.0, abs(flat.bias[i]), False
        weights = flat.weights[i]
        for k in range(flat.first[i], flat.last[i]):
            if weights[k] != 0.0 and not still[k]:
                z += weights[k] * value[k]
                e += abs(weights[k]) * error[k]
                size += abs(weights[k] * value[k])
                moves = True
        if moves:
            e = (e + flat.gamma[i] * size) * (1.0 + 1e-9) + _TINY
        piece = pattern[i]
        if piece > 0:
            t = flat.breakpoints[i, piece - 1]
            if not (z - t > e + 4.0 * _ROUND * abs(t) if moves else z > t):
                return False
        if piece < flat.breakpoints.shape[1]:
            t = flat.breakpoints[i, piece]
            if t < np.inf and not (t - z > e + 4.0 * _ROUND * abs(t) if moves else z <= t):
                return False
        slope, intercept = flat.slopes[i, piece], flat.intercepts[i, piece]
        value[m + i] = slope * z + intercept
        rounding = 4.0 * _ROUND * (abs(slope * z) + abs(intercept)) + _TINY
        error[m + i] = (abs(slope) * e + rounding) * (1.0 + 1e-9)
        still[m + i] = slope == 0.0 and intercept == 0.0
    return True


@kernel(sums="in any order", inner=True)
def _is_near(flat, work, u):
    """Whether the shortest δ with ``M (c + ρ δ) = u`` is in the box, about; it goes to `delta`."""
    m, n = flat.rows.shape
    for r in range(m):
        work.y[r] = 0.0
        for k in range(m):
            work.y[r] += flat.inverse[r, k] * (u[k] - flat.u_center[k])
    _spread(flat, work)
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(work.delta[j]))
    return largest < _INSIDE


@kernel(sums="in any order", inner=True)
def _spread(flat, work):
    """The product of `y` and all columns goes to `delta`."""
    m, n = flat.rows.shape
    delta = work.delta
    for j in range(n):
        delta[j] = 0.0
    for r in range(m):
        f, row = work.y[r], flat.scaled[r]
        for j in range(n):
            delta[j] += f * row[j]


@kernel(inner=True)
def _factor(matrix, m):
    """Cholesky's factor of a symmetric matrix, in its place; False if it is not positive."""
    for c in range(m):
        for k in range(c):
            matrix[c, c] -= matrix[c, k] * matrix[c, k]
        if not matrix[c, c] > 0.0:
            return False
        matrix[c, c] = np.sqrt(matrix[c, c])
        for r in range(c + 1, m):
            for k in range(c):
                matrix[r, c] -= matrix[r, k] * matrix[c, k]
            matrix[r, c] /= matrix[c, c]
    return True


@kernel(sums="in any order", inner=True)
def _hold(flat, work):
    """What is left of the Gram matrix, and where u starts, with some coordinates held."""
    m, n = flat.rows.shape
    for r in range(m):
        work.rest[r] = 0.0
        for k in range(r + 1):
            work.matrix[r, k] = flat.gram[r, k]
    for j in range(n):
        if work.held[j] != 0.0:
            at = _INSIDE * work.held[j]
            for r in range(m):
                f = flat.scaled[r, j]
                work.rest[r] += f * at
                for k in range(r + 1):
                    work.matrix[r, k] -= f * flat.scaled[k, j]
    return _factor(work.matrix, m)


@kernel(sums="in any order", inner=True)
def _pull(flat, work, program, pattern, u, rows):
    """Step 2: the candidate's point that is nearest, while coordinates at the bounds are held."""
    m, n = flat.rows.shape
    small, matrix, y, delta, held = work.small, work.matrix, work.y, work.delta, work.held
    for r in range(rows):
        value = work.v[r]
        for c in range(m):
            value += work.row[r, c] * (u[c] - flat.u_center[c])
        work.margin[r] = _MARGIN * max(value, 0.0)
    for j in range(n):
        held[j] = 0.0
    for _ in range(_ROUNDS):
        work.counters[STEPS] += 1
        if not _hold(flat, work):
            return DOUBT
        for r in range(rows):
            value, size = work.v[r] - work.margin[r], 0.0
            for c in range(m):
                value += work.row[r, c] * work.rest[c]
                total = 0.0
                for k in range(c, m):
                    total += work.row[r, k] * matrix[k, c]
                small[r, c] = total
                size += abs(total)
            work.small_value[r] = value
            work.small_size[r] = size + abs(value) + _TINY
        code = nearest(program, small, work.small_value, work.small_size, rows, m, _PIVOTS)
        if code != BEST:
            return DOUBT
        for r in range(m - 1, -1, -1):
            y[r] = program.eta[r]
            for k in range(r + 1, m):
                y[r] -= matrix[k, r] * y[k]
            y[r] /= matrix[r, r]
        _spread(flat, work)
        width, value, changes = 0.0, 0.0, 0
        for j in range(n):
            width += abs(delta[j])
            now = 0.0
            if abs(delta[j]) > _INSIDE:
                now = 1.0 if delta[j] > 0.0 else -1.0
                delta[j] = _INSIDE * now
            if now != held[j]:
                changes += 1
                held[j] = now
        for r in range(rows):
            value += program.lam[r] * work.v[r]
        if value + width < 0.0 and _is_empty(flat, work, program, rows):
            return OUTSIDE
        if changes == 0:
            return INSIDE if _has_pattern(flat, work, pattern) else DOUBT
    return DOUBT


@kernel(sums="in any order", inner=True)
def _write_rows(flat, work, pattern):
    """The inequalities of a candidate, positive inside, in u; returns their number."""
    m = flat.rows.shape[0]
    still, at = work.still, 0
    for r in range(m):
        still[r] = False
    for i in range(len(flat.bias)):
        out, offset, e, size, moves = work.map[i], flat.bias[i], 0.0, abs(flat.bias[i]), False
        for c in range(m):
            out[c] = 0.0
        for k in range(flat.first[i], flat.last[i]):
            w = flat.weights[i, k]
            if w == 0.0 or still[k]:
                continue
            moves = True
            if k < m:
                out[k] += w
                size += abs(w) * flat.u_most[k]
            else:
                source = k - m
                for c in range(m):
                    out[c] += w * work.map[source, c]
                offset += w * work.offset[source]
                e += abs(w) * work.map_error[source]
                size += abs(w) * work.size[source]
        e = (e + flat.gamma[i] * size) * (1.0 + 1e-9) + _TINY
        piece = pattern[i]
        if moves:
            at = _write_row(flat, work, i, offset, e, piece, at)
        slope, intercept = flat.slopes[i, piece], flat.intercepts[i, piece]
        work.offset[i] = slope * offset + intercept
        total = abs(slope * offset) + abs(intercept)
        for c in range(m):
            out[c] *= slope
            total += abs(out[c]) * flat.u_most[c]
        work.size[i] = total * (1.0 + 1e-9)
        work.map_error[i] = (abs(slope) * e + 4.0 * _ROUND * total) * (1.0 + 1e-9) + _TINY
        still[m + i] = slope == 0.0 and intercept == 0.0
    return at


@kernel(sums="in any order", inner=True)
def _write_columns(flat, work, rows):
    """The same inequalities in δ, for the linear program."""
    m, n = flat.rows.shape
    for r in range(rows):
        G = work.G[r]
        for j in range(n + 1):
            G[j] = 0.0
        for c in range(m):
            f, source = work.row[r, c], flat.scaled[c]
            for j in range(n):
                G[j] += f * source[j]
        size = abs(work.v[r]) + _TINY
        for j in range(n):
            size += abs(G[j])
        work.sizes[r] = size
        G[n] = -size


@kernel(inner=True)
def _write_row(flat, work, i, offset, e, piece, at):
    """What bounds the piece of neuron i from below and from above."""
    m = flat.rows.shape[0]
    for above in (True, False):
        which = piece - 1 if above else piece
        if which < 0 or which >= flat.breakpoints.shape[1]:
            continue
        t = flat.breakpoints[i, which]
        if t == np.inf:
            continue
        sign = 1.0 if above else -1.0
        value, size = offset - t, abs(offset) + abs(t)
        for c in range(m):
            work.row[at, c] = sign * work.map[i, c]
            value += work.map[i, c] * flat.u_center[c]
            size += abs(work.map[i, c]) * flat.u_most[c]
        work.v[at] = sign * value
        work.row_size[at] = size
        work.e[at] = e + flat.big_gamma * size
        at += 1
    return at


@kernel(sums="in any order", inner=True)
def _is_empty(flat, work, program, rows):
    """Whether a program's factors prove that the rows are nowhere positive in the box."""
    m, n = flat.rows.shape
    value, error, size = 0.0, 0.0, 0.0
    for c in range(m):
        work.y[c] = 0.0
    for r in range(rows):
        f = program.lam[r]
        if f > 0.0:
            value += f * work.v[r]
            error += f * (work.e[r] + 2.0 * flat.big_gamma * work.row_size[r])
            size += f
            for c in range(m):
                work.y[c] += f * work.row[r, c]
    delta = work.delta
    for j in range(n):
        delta[j] = 0.0
    for c in range(m):
        f, source = work.y[c], flat.rows[c]
        for j in range(n):
            delta[j] += f * source[j]
    width = 0.0
    for j in range(n):
        width += abs(delta[j]) * flat.scale[j]
    # A NaN, or an infinite error, proves nothing.
    return value + width * (1.0 + 1e-9) + error * (1.0 + 1e-9) < 0.0 and 1e-60 < size < 1e90


@kernel(sums="in any order", inner=True)
def _ask_program(flat, work, program, pattern, rows):
    """Step 3."""
    n = flat.rows.shape[1]
    _write_columns(flat, work, rows)
    work.counters[PROGRAMS] += 1
    for j in range(n):
        work.H[j] = 0.0
    work.H[n] = 1.0
    maximise(
        program, work.G, work.v, work.sizes, work.e, rows, work.H, 0.0, 0.0, n + 1, 0.0, False,
        1.0, _PIVOTS,
    )  # fmt: skip
    return _judge(flat, work, program, pattern, rows)


@kernel(sums="in any order", inner=True)
def _judge(flat, work, program, pattern, rows):
    """What the factors and the point of a linear program prove."""
    n = flat.rows.shape[1]
    if _is_empty(flat, work, program, rows):
        return OUTSIDE
    height = program.eta[n]
    if height > 0.0:
        for j in range(n):
            work.delta[j] = (1.0 - 0.5 * min(height, 1.0)) * program.eta[j]
        if _has_pattern(flat, work, pattern):
            return INSIDE
    return DOUBT


@kernel
def write_candidate(flat, work, pattern):
    """The linear program of a candidate, for somebody else to solve; returns its rows."""
    rows = _write_rows(flat, work, pattern)
    _write_columns(flat, work, rows)
    return rows


@kernel
def judge_candidate(flat, work, program, pattern, rows):
    """What becomes of a candidate by factors and a point that somebody has put into a program."""
    return _judge(flat, work, program, pattern, rows)


@kernel
def decide_candidates(flat, work, program, patterns, points, begin, answers, found):
    """What becomes of candidates from `begin` on: rows of patterns, and points u of them.

    Points of the box go to `found`, if it has rows. Returns how many are decided: fewer than all
    if somebody has set the flag.
    """
    for k in range(begin, len(patterns)):
        if is_set(flat.halt):
            return k
        work.counters[CANDIDATES] += 1
        pattern = patterns[k]
        if _is_near(flat, work, points[k]) and _has_pattern(flat, work, pattern):
            answer = INSIDE
        else:
            rows = _write_rows(flat, work, pattern)
            answer = _pull(flat, work, program, pattern, points[k], rows)
            if answer == DOUBT:
                answer = _ask_program(flat, work, program, pattern, rows)
        answers[k] = answer
        if answer == INSIDE and len(found) > 0:
            for j in range(len(work.x)):
                found[k, j] = work.x[j]
    return len(patterns)
