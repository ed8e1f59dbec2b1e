"""Signs that float64 leaves in doubt: twice its digits, then whole numbers modulo primes.

The sign of an inequality's row at the point where d others meet is, up to one factor, that of the
determinant of these d + 1 rows. It is worked out in twice the digits of float64 with a bound on its
error, from the rows in two halves. Where that does not decide, the determinant is a whole number
with a bound on its size, once rows are multiplied by the powers of two that make them whole; and
what it is modulo enough primes says its sign: docs/certificate-proof.md, "Doubtful signs". So a
zero is proved to be one.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from functools import cache
from math import frexp, ldexp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel
from tropicell.certificate._flat import SOURCE, FilterNetwork, WholeNumbers
from tropicell.geometry._double import exact_product, exact_sum
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network._residues import (
    BITS,
    BREAKPOINT,
    Moduli,
    ResidueRows,
    add,
    bring_up,
    multiply,
    reduce,
    residue,
    sign_of,
)

#: The sign that could not be worked out.
UNKNOWN = 2

#: The place of the row (0, …, 0, 1), with which others meet at infinity.
INFINITY = -1

#: In more dimensions there are too many minors.
_MOST_DIMENSIONS = 10

#: Products below this may have lost digits to underflow, at most `_LOST` each.
_SMALL, _LOST = 1e-250, 1e-290

#: Numbers in three parts: two halves, and a bound on the error of their sum.
_HIGH, _LOW, _BOUND, _PARTS = range(4)

#: Columns of `FineSigns.terms`.
_ROW, _COLUMN, _SMALLER, _MINOR, _SIGN = range(5)


class FineSigns(NamedTuple):
    """Room for the signs at one point, and what they are worked out from.

    Attributes
    ----------
    whole, moduli, residues : WholeNumbers, Moduli, ResidueRows
    terms : ndarray, shape (terms, 5)
        How minors are expanded: row, column, the smaller minor, the minor, the sign. Minors are
        numbered by their columns, as bits.
    usable : ndarray of bool, shape (1,)
        Whether there are not too many dimensions.
    places : ndarray, shape (d + 1,)
        The inequalities that meet at the point, and one more; see `INFINITY`.
    rows : ndarray, shape (3, d + 1, d + 1)
        Their rows, scaled by powers of two: two halves and bounds.
    shifts : ndarray, shape (d + 1,)
        Exponents of these powers.
    minors : ndarray, shape (3, 2^(d + 1))
    corner : ndarray, shape (3, d + 1)
        The point, homogeneous, with weight last: the largest minors, with signs.
    turned : ndarray, shape (1,)
        -1 where the corner was multiplied by -1, else 1.
    spans : ndarray of bool, shape (layers + 1,)
        See `find_spans`.
    """

    whole: WholeNumbers
    moduli: Moduli
    residues: ResidueRows
    terms: NDArray[np.int64]
    usable: NDArray[np.bool_]
    places: NDArray[np.int64]
    rows: NDArray[np.float64]
    shifts: NDArray[np.int64]
    minors: NDArray[np.float64]
    corner: NDArray[np.float64]
    turned: NDArray[np.int64]
    spans: NDArray[np.bool_]


def fine_signs(flat: FilterNetwork, whole: WholeNumbers, moduli: Moduli) -> FineSigns:
    """Room for one thread."""
    d, units, zeros = flat.inputs.shape[1] - 1, int(flat.starts[-1]), np.zeros
    usable = d <= _MOST_DIMENSIONS
    masks, count = 1 << (d + 1) if usable else 1, len(moduli.primes) if usable else 0
    widest = int(np.diff(flat.starts).max(initial=1))
    return FineSigns(
        whole=whole,
        moduli=moduli,
        residues=ResidueRows(
            before=zeros((count, d + 1, units)),
            after=zeros((count, d + 1, units)),
            pattern=zeros((count, len(flat.bias)), np.uint8),
            known=zeros(count, np.int64),
            weights=zeros(widest),
            corner=zeros((count, d + 1)),
            corners=zeros(1, np.int64),
            minors=zeros(masks),
            values=zeros(count),
            digits=zeros(count),
        ),
        terms=_expansion(d) if usable else np.zeros((0, 5), np.int64),
        usable=np.array([usable]),
        places=zeros(d + 1, np.int64),
        rows=zeros((_PARTS, d + 1, d + 1)),
        shifts=zeros(d + 1, np.int64),
        minors=zeros((_PARTS, masks)),
        corner=zeros((_PARTS, d + 1)),
        turned=np.ones(1, np.int64),
        spans=zeros(len(flat.starts) - 1, np.bool_),
    )


@cache
def _expansion(d: int) -> NDArray[np.int64]:
    """Minors of the first 1, 2, …, d rows, each expanded along its last row."""
    terms = []
    for mask in sorted(range(1, (1 << (d + 1)) - 1), key=int.bit_count):
        columns = [c for c in range(d + 1) if mask >> c & 1]
        for k, c in enumerate(columns):
            sign = (-1) ** (len(columns) - 1 - k)
            terms.append((len(columns) - 1, c, mask ^ (1 << c), mask, sign))
    return np.array(terms, dtype=np.int64)


# --- twice the digits -----------------------------------------------------------------------------


@kernel(inner=True)
def _write_row(flat, state, fine, place, i):  # pragma: no cover - compiled
    """Write the row of an inequality to place i, its largest coefficient between 1/2 and 1."""
    d, rows = flat.inputs.shape[1] - 1, fine.rows
    fine.places[i] = place
    for c in range(d + 1):
        rows[_LOW, i, c] = rows[_BOUND, i, c] = 0.0
    if place < 0:
        for c in range(d + 1):
            rows[_HIGH, i, c] = 1.0 if c == d else 0.0
    elif place < len(flat.domain):
        for c in range(d + 1):
            rows[_HIGH, i, c] = flat.domain[place, c]
    else:
        line = state.inequalities.lines[place]
        j = flat.neurons[line]
        breakpoint = line - flat.first_lines[j]
        sign = 1.0 if state.pattern[j] > breakpoint else -1.0
        for c in range(d + 1):
            rows[_HIGH, i, c] = sign * state.rows[c, j]
            rows[_LOW, i, c] = sign * state.lows[c, j]
            rows[_BOUND, i, c] = state.errors[flat.layers[j], c]
        t = flat.breakpoints[j, breakpoint]
        if t != 0.0:
            # R - t adds 4 u² (|R| + |t|).
            value = rows[_HIGH, i, d]
            s, rest = exact_sum(value, -sign * t)
            rows[_HIGH, i, d], rows[_LOW, i, d] = exact_sum(s, rest + rows[_LOW, i, d])
            rows[_BOUND, i, d] += 4.0 * ROUND * ROUND * (abs(value) + abs(t)) * INFLATE
    largest = 0.0
    for c in range(d + 1):
        largest = max(largest, abs(rows[_HIGH, i, c]))
    _, shift = frexp(largest)
    fine.shifts[i] = shift
    factor = ldexp(1.0, -shift)
    for part in range(_PARTS):
        for c in range(d + 1):
            rows[part, i, c] *= factor


@kernel(inner=True)
def _add_product(to, m, a, i, b, j, sign):  # pragma: no cover - compiled
    """Add sign * a[i] * b[j] to to[m], all of them in three parts."""
    x, y = sign * a[_HIGH, i], b[_HIGH, j]
    p, e = exact_product(x, y)
    e += x * b[_LOW, j] + sign * a[_LOW, i] * y
    s, t = exact_sum(to[_HIGH, m], p)
    bound = abs(x) * b[_BOUND, j] + abs(y) * a[_BOUND, i] + a[_BOUND, i] * b[_BOUND, j]
    # The low halves are in the errors of the factors' high ones: (1 + u) covers them.
    bound += 24.0 * ROUND * ROUND * (abs(to[_HIGH, m]) + abs(p) + abs(s))
    if abs(p) < _SMALL and x != 0.0 and y != 0.0:
        bound += _LOST
    to[_HIGH, m], to[_LOW, m] = exact_sum(s, to[_LOW, m] + (t + e))
    to[_BOUND, m] = (to[_BOUND, m] + bound) * INFLATE


@kernel(inner=True)
def meet(flat, state, fine):  # pragma: no cover - compiled
    """Work out the point where the first d of ``fine.places`` meet, up to a factor."""
    d, minors, terms, corner = flat.inputs.shape[1] - 1, fine.minors, fine.terms, fine.corner
    for i in range(d):
        _write_row(flat, state, fine, fine.places[i], i)
    for m in range(1, 1 << (d + 1)):
        minors[_HIGH, m] = minors[_LOW, m] = minors[_BOUND, m] = 0.0
    minors[_HIGH, 0], minors[_LOW, 0], minors[_BOUND, 0] = 1.0, 0.0, 0.0
    for k in range(len(terms)):
        i, c = terms[k, _ROW], terms[k, _COLUMN]
        sign = float(terms[k, _SIGN])
        _add_product(minors, terms[k, _MINOR], fine.rows[:, i], c, minors, terms[k, _SMALLER], sign)
    everything = (1 << (d + 1)) - 1
    for c in range(d + 1):
        m, sign = everything ^ (1 << c), 1.0 if c % 2 == 0 else -1.0
        corner[_HIGH, c], corner[_LOW, c] = sign * minors[_HIGH, m], sign * minors[_LOW, m]
        corner[_BOUND, c] = minors[_BOUND, m]
    fine.turned[0] = 1
    fine.residues.corners[0] = 0


@kernel(inner=True)
def turn(fine):  # pragma: no cover - compiled
    """Multiply the point by -1."""
    fine.turned[0] = -fine.turned[0]
    for c in range(fine.corner.shape[1]):
        fine.corner[_HIGH, c] = -fine.corner[_HIGH, c]
        fine.corner[_LOW, c] = -fine.corner[_LOW, c]


@kernel(inner=True)
def rounded_point(fine, point):  # pragma: no cover - compiled
    """The point divided by its size, d + 1 numbers; a bound on their errors, inf if in doubt."""
    corner = fine.corner
    size, bound = 0.0, 0.0
    for c in range(corner.shape[1]):
        size += abs(corner[_HIGH, c])
        bound = max(bound, corner[_BOUND, c])
    if not size > 0.0:
        return np.inf
    for c in range(corner.shape[1]):
        point[c] = corner[_HIGH, c] / size
    return (bound / size + 4.0 * ROUND) * INFLATE


@kernel(inner=True)
def fine_sign(flat, state, fine, place):  # pragma: no cover - compiled
    """The sign of an inequality's row at the point, or `UNKNOWN`."""
    d, minors = flat.inputs.shape[1] - 1, fine.minors
    lines = state.inequalities.lines
    for i in range(d):
        other = fine.places[i]
        if other == place:
            return 0
        neurons = other >= len(flat.domain) and place >= len(flat.domain)
        if neurons and flat.twins[lines[other]] == flat.twins[lines[place]]:
            return 0
    _write_row(flat, state, fine, place, d)
    minors[_HIGH, 0] = minors[_LOW, 0] = minors[_BOUND, 0] = 0.0  # which is free now
    for c in range(d + 1):
        _add_product(minors, 0, fine.rows[:, d], c, fine.corner, c, 1.0)
    value, bound = minors[_HIGH, 0], minors[_BOUND, 0]
    bound += 2.0 * ROUND * abs(value)  # the low half
    if value > bound:
        return 1
    if value < -bound:
        return -1
    size = (abs(value) + bound) * INFLATE
    if size == 0.0:
        return 0
    if not size < 1.0e9:  # or not a number
        return UNKNOWN
    sign = _whole_sign(flat, state, fine, size)
    return sign if sign == UNKNOWN else fine.turned[0] * sign


@kernel(inner=True)
def surely_positive(flat, state, fine, place, point):  # pragma: no cover - compiled
    """Whether an inequality's row is surely positive at a point, d floats."""
    d, minors, corner = flat.inputs.shape[1] - 1, fine.minors, fine.corner
    _write_row(flat, state, fine, place, d)
    minors[_HIGH, 0] = minors[_LOW, 0] = minors[_BOUND, 0] = 0.0
    for c in range(d + 1):
        corner[_HIGH, c] = point[c] if c < d else 1.0
        corner[_LOW, c] = corner[_BOUND, c] = 0.0
        _add_product(minors, 0, fine.rows[:, d], c, corner, c, 1.0)
    return minors[_HIGH, 0] > minors[_BOUND, 0] + 2.0 * ROUND * abs(minors[_HIGH, 0])


# --- no digits ------------------------------------------------------------------------------------


@kernel(inner=True)
def find_spans(flat, state, fine):  # pragma: no cover - compiled
    """Find the layers such that the rows that meet span all that it reads; whether there are any.

    docs/certificate-proof.md, "Few sources". The rows that meet are the first d of
    ``fine.places``. What a layer reads are the rows of the neurons that are on in its sources, and
    (0, …, 0, 1) unless nothing has an offset: at most so many dimensions as there are of these. If
    as many of the rows that meet are made of them, they span them all.
    """
    d, any_span = flat.inputs.shape[1] - 1, False
    for layer in range(1, len(flat.starts) - 1):
        rank = 0 if flat.homogeneous else 1
        for term in range(flat.term_starts[layer - 1], flat.term_starts[layer]):
            rank += state.on[flat.terms[term, SOURCE]]
        if rank <= d:
            for i in range(d):
                rank -= 1 if _is_made_of(flat, state, fine.places[i], layer) else 0
        fine.spans[layer] = rank <= 0
        any_span = any_span or rank <= 0
    return any_span


@kernel(inner=True)
def is_spanned(flat, state, fine, place):  # pragma: no cover - compiled
    """Whether the row of an inequality is surely 0 at the point; `find_spans` comes first."""
    for layer in range(1, len(flat.starts) - 1):
        if fine.spans[layer] and _is_made_of(flat, state, place, layer):
            return True
    return False


@kernel(inner=True)
def _is_made_of(flat, state, place, layer):  # pragma: no cover - compiled
    """Whether an inequality's row is a combination of what a layer reads, as `find_spans` says."""
    if place < 0:
        return not flat.homogeneous  # the row (0, …, 0, 1)
    if place < len(flat.domain):
        return False
    neuron = flat.neurons[state.inequalities.lines[place]]
    at = flat.layers[neuron]
    is_on = flat.slopes[neuron, state.pattern[neuron]] != 0.0
    return flat.made_of[layer, at] or (flat.reads[layer, at] and is_on)


# --- all digits -----------------------------------------------------------------------------------


@kernel(inner=True)
def _whole_sign(flat, state, fine, size):  # pragma: no cover - compiled
    """The sign of the determinant of the rows in `fine`, which is at most `size`."""
    d, moduli, residues = flat.inputs.shape[1] - 1, fine.moduli, fine.residues
    if len(moduli.primes) == 0:
        return UNKNOWN
    _, bits = frexp(size)
    layer = 0
    for i in range(d + 1):
        place = fine.places[i]
        bits += fine.shifts[i]
        if place >= len(flat.domain):
            at = flat.layers[flat.neurons[state.inequalities.lines[place]]]
            layer = max(layer, at)
            bits += moduli.grain[at]
        elif place >= 0:
            bits += moduli.grain[0]
    if bits <= 0:
        return 0  # a whole number below 1
    n = (bits + BITS) // BITS
    if n > len(moduli.primes):
        return UNKNOWN
    zero = True
    for k in range(n):
        if layer > 0:
            bring_up(fine.whole, moduli, residues, k, layer, state.pattern)
        if k >= residues.corners[0]:
            _whole_corner(flat, state, fine, k)
            residues.corners[0] = k + 1
        residues.values[k] = _whole_value(flat, state, fine, k)
        zero = zero and residues.values[k] == 0.0
    return 0 if zero else sign_of(moduli, residues, n)


@kernel(inner=True)
def _coefficient(flat, state, fine, i, c, k):  # pragma: no cover - compiled
    """A coefficient of one of the rows, made whole, modulo prime k."""
    moduli, place, d = fine.moduli, fine.places[i], flat.inputs.shape[1] - 1
    p, inverse = moduli.primes[k], moduli.inverses[k]
    if place < 0:
        return 1.0 if c == d else 0.0
    if place < len(flat.domain):
        return reduce(flat.domain[place, c] * moduli.domain_scale, p, inverse)
    line = state.inequalities.lines[place]
    j = flat.neurons[line]
    breakpoint = line - flat.first_lines[j]
    x = fine.residues.before[k, c, j + flat.starts[1]]
    t = flat.breakpoints[j, breakpoint]
    if c == d and t != 0.0:
        x -= residue(moduli, BREAKPOINT, flat.layers[j], t, k)
        x = x + p if x < 0.0 else x
    if state.pattern[j] <= breakpoint and x > 0.0:
        x = p - x
    return x


@kernel(inner=True)
def _whole_corner(flat, state, fine, k):  # pragma: no cover - compiled
    """What `meet` works out, modulo prime k."""
    d, moduli, terms, minors = (
        flat.inputs.shape[1] - 1,
        fine.moduli,
        fine.terms,
        fine.residues.minors,
    )
    p, inverse = moduli.primes[k], moduli.inverses[k]
    for m in range(1, 1 << (d + 1)):
        minors[m] = 0.0
    minors[0] = 1.0
    for t in range(len(terms)):
        x = _coefficient(flat, state, fine, terms[t, _ROW], terms[t, _COLUMN], k)
        x = multiply(x, minors[terms[t, _SMALLER]], p, inverse)
        if terms[t, _SIGN] < 0 and x > 0.0:
            x = p - x
        m = terms[t, _MINOR]
        minors[m] = add(minors[m], x, p)
    everything = (1 << (d + 1)) - 1
    for c in range(d + 1):
        x = minors[everything ^ (1 << c)]
        fine.residues.corner[k, c] = p - x if c % 2 == 1 and x > 0.0 else x


@kernel(inner=True)
def _whole_value(flat, state, fine, k):  # pragma: no cover - compiled
    """The value of the last row there, modulo prime k: the determinant of all rows."""
    d, moduli, total = flat.inputs.shape[1] - 1, fine.moduli, 0.0
    p, inverse = moduli.primes[k], moduli.inverses[k]
    for c in range(d + 1):
        x = _coefficient(flat, state, fine, d, c, k)
        total = add(total, multiply(x, fine.residues.corner[k, c], p, inverse), p)
    return total
