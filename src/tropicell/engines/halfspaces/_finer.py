"""Linear programs with twice the digits of float64, and modulo primes: for `halfspaces`, compiled.

Where many boundaries meet, values that are exactly 0 are rounding in float64, and neither the
simplex method nor the proofs of `_proof` can do anything with them. Here all numbers of a
dictionary (see `_lp`) are known with twice the digits, and modulo a prime: those that are 0 modulo
the prime count as 0, the others have the sign that the digits show. So the criss-cross method,
which is that of `_exact`, is not led astray. What it finds is proved afterwards: signs by a bound
on the errors of the digits, zeros modulo so many primes that the whole number which they stand for
can't be anything else. Section 5 of docs/halfspaces-proof.md.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from math import frexp, ldexp

import numpy as np

from tropicell._runtime.jit import fma, is_set, kernel
from tropicell.engines.halfspaces._flat import OFFSET, SLOPE, VALUE
from tropicell.geometry._double import exact_product, exact_sum
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network._residues import (
    BITS,
    BREAKPOINT,
    add,
    bring_up,
    multiply,
    power_of_two,
    reduce,
    residue,
)

#: What a linear program found: nothing that is certain; the cut stays on its side; it does not.
UNKNOWN, FORCED, CROSSES = range(3)

#: A smaller pivot (rows have size 1) is not taken on the way to a basis.
_SINGULAR = 1e-20

#: Up to this `rho` the exact matrix is known to be regular.
_LARGEST_RHO = 0.5

#: Cover the roundings of bounds: of sums in `rho`, and of what follows from `rho` and `eta`.
_SUMS, _BOUNDS = 1.01, 1.1

#: Absolute slack that covers underflow.
_UNDERFLOW = 1e-280


# --- rows -----------------------------------------------------------------------------------------


@kernel(inner=True)
def _row_modulo(net, residues, i, k, to):
    """A row, made whole, modulo prime k, in scaled coordinates."""
    d, moduli = net.maps.dimension, net.moduli
    p, inverse = moduli.primes[k], moduli.inverses[k]
    if i < d:
        for c in range(d + 1):
            to[c] = 0.0
        to[SLOPE + i] = 1.0
    elif i < net.cuts_at:
        for c in range(d + 1):
            x = net.domain_rows[i - d, d if c == OFFSET else c - SLOPE]
            to[c] = reduce(x * moduli.domain_scale, p, inverse)
    else:
        row, t = net.cut_row[i - net.cuts_at], net.cut_break[i - net.cuts_at]
        for c in range(d + 1):
            to[c] = residues.before[k, d if c == OFFSET else c - SLOPE, row]
        if t != 0.0:
            layer = net.cut_layer[i - net.cuts_at]
            x = to[OFFSET] - residue(moduli, BREAKPOINT, layer, t, k)
            to[OFFSET] = x + p if x < 0.0 else x


@kernel(inner=True)
def _extra_modulo(net, residues, h, exponent, s, k, to):
    """The same for the last row: s times row h, which this power of two makes whole, and 1."""
    p, inverse = net.moduli.primes[k], net.moduli.inverses[k]
    _row_modulo(net, residues, h, k, to)
    factor = power_of_two(-exponent, p, inverse)  # 1 for exponents from 0 on
    one = power_of_two(exponent, p, inverse)
    for c in range(len(to)):
        x = multiply(to[c], factor, p, inverse)
        to[c] = p - x if s < 0.0 and x > 0.0 else x
    to[OFFSET] = add(to[OFFSET], one, p)


@kernel(inner=True)
def _load(net, residues, finer, maps, layer, n_rows, h, s):
    """Begin with the coordinates as nonbasic rows.

    The last row is ``s * row_h + 1``: as long as it must not be negative, there is a minimum.
    """
    d, moduli, last = net.maps.dimension, net.moduli, n_rows
    rows, low, bounds, whole = finer.rows, finer.rows_low, finer.bounds, finer.whole
    bring_up(net.maps, moduli, residues, 0, layer + 1, maps.piece)
    for i in range(n_rows):
        if i < net.cuts_at:  # exact, with some power of two
            for c in range(d + 1):
                rows[i, c] = maps.rows[i, c]
                low[i, c] = bounds[i, c] = 0.0
            whole[i] = net.exponent[i]
        else:
            _fine_row(net, finer, maps, i)
    for c in range(d + 1):
        rows[last, c], low[last, c], bounds[last, c] = s * rows[h, c], s * low[h, c], bounds[h, c]
    value = rows[last, OFFSET]
    total, rest = exact_sum(value, 1.0)
    rows[last, OFFSET], low[last, OFFSET] = exact_sum(total, rest + low[last, OFFSET])
    bounds[last, OFFSET] += 4.0 * ROUND * ROUND * (abs(value) + 1.0) * INFLATE
    whole[last] = max(0, whole[h])
    place = finer.slack
    for i in range(n_rows + 1):
        if i < n_rows:
            _row_modulo(net, residues, i, 0, place)
        else:
            _extra_modulo(net, residues, h, whole[h], s, 0, place)
        finer.column_of[i] = 0
        for c in range(d + 1):
            zero = place[c] == 0.0
            finer.modular[c, i] = place[c]
            finer.high[c, i] = 0.0 if zero else rows[i, c]
            finer.low[c, i] = 0.0 if zero else low[i, c]
    for c in range(1, d + 1):
        finer.nonbasic[c] = c - 1
        finer.column_of[c - 1] = c


@kernel(inner=True)
def _fine_row(net, finer, maps, i):
    """The row of a cut with twice the digits, of size 1."""
    d, cut = net.maps.dimension, i - net.cuts_at
    rows, low, bounds = finer.rows, finer.rows_low, finer.bounds
    layer, t, j = net.cut_layer[cut], net.cut_break[cut], net.cut_row[cut] - net.maps.row_start[1]
    largest = 0.0
    for c in range(d + 1):
        rows[i, c], low[i, c] = maps.z[j, c], maps.z_low[j, c]
        bounds[i, c] = net.fine[layer - 1] * maps.z_bound[j, c]
        if c != OFFSET:
            largest = max(largest, abs(rows[i, c]))
    if t != 0.0:
        value = rows[i, OFFSET]
        total, rest = exact_sum(value, -t)
        rows[i, OFFSET], low[i, OFFSET] = exact_sum(total, rest + low[i, OFFSET])
        bounds[i, OFFSET] += 4.0 * ROUND * ROUND * (abs(value) + abs(t)) * INFLATE
    _, exponent = frexp(largest)
    factor = ldexp(1.0, -exponent)
    for c in range(d + 1):
        rows[i, c] *= factor
        low[i, c] *= factor
        bounds[i, c] *= factor
    finer.whole[i] = net.moduli.grain[layer] + exponent


# --- the dictionary -------------------------------------------------------------------------------


@kernel(inner=True)
def _inverse_modulo(a, p, inverse):
    """1 / a modulo p: a to the power of p - 2 (Fermat)."""
    total, square, exponent = 1.0, a, int(p) - 2
    while exponent > 0:
        if exponent & 1:
            total = multiply(total, square, p, inverse)
        square = multiply(square, square, p, inverse)
        exponent >>= 1
    return total


@kernel(inner=True)
def _pivot(finer, n, c, r):
    """Make row `r` nonbasic instead of the one in column `c`; all n rows."""
    high, low, modular = finer.high, finer.low, finer.modular
    p, inverse = finer.prime[0], finer.prime[1]
    one = 1.0 / high[c, r]
    rest = one * (fma(-one, high[c, r], 1.0) - one * low[c, r])
    of_pivot = _inverse_modulo(modular[c, r], p, inverse)
    for i in range(n):
        if modular[c, i] != 0.0:
            modular[c, i] = multiply(modular[c, i], of_pivot, p, inverse)
            a, e = exact_product(high[c, i], one)
            e += high[c, i] * rest + low[c, i] * one
            high[c, i], low[c, i] = exact_sum(a, e)
    for j in range(len(finer.nonbasic)):
        f, g, m = high[j, r], low[j, r], modular[j, r]
        if j == c or m == 0.0:
            continue
        m = p - m
        for i in range(n):
            if modular[c, i] == 0.0:
                continue
            modular[j, i] = add(modular[j, i], multiply(m, modular[c, i], p, inverse), p)
            a, e = exact_product(f, high[c, i])
            e += f * low[c, i] + g * high[c, i]
            total, t = exact_sum(high[j, i], -a)
            high[j, i], low[j, i] = exact_sum(total, low[j, i] + (t - e))
            if modular[j, i] == 0.0:
                high[j, i] = low[j, i] = 0.0
        high[j, r] = low[j, r] = modular[j, r] = 0.0
    for i in range(n):
        if modular[c, i] == 0.0:
            high[c, i] = low[c, i] = 0.0
    high[c, r], low[c, r], modular[c, r] = 1.0, 0.0, 1.0
    finer.column_of[finer.nonbasic[c]] = 0
    finer.nonbasic[c] = r
    finer.column_of[r] = c


@kernel(inner=True)
def _go_to(finer, n, d, target):
    """Pivot until the nonbasic rows are those in `target`, as far as they are independent."""
    for k in range(d):
        r = target[k]
        if finer.column_of[r] != 0:
            continue
        best, column = _SINGULAR, 0
        for c in range(1, d + 1):
            wanted = False
            for q in range(d):
                wanted = wanted or target[q] == finer.nonbasic[c]
            if not wanted and finer.modular[c, r] != 0.0 and abs(finer.high[c, r]) > best:
                best, column = abs(finer.high[c, r]), c
        if column > 0:
            _pivot(finer, n, column, r)


@kernel(inner=True)
def _free_columns_out(finer, n, d):
    """Make rows with no sign basic, wherever a row with one can take their place."""
    count = 0
    for c in range(1, d + 1):
        if finer.sign[finer.nonbasic[c]] != 0.0:
            continue
        best, row = 0.0, -1
        for i in range(n):
            if finer.sign[i] != 0.0 and finer.column_of[i] == 0 and abs(finer.high[c, i]) > best:
                best, row = abs(finer.high[c, i]), i
        if row >= 0:
            _pivot(finer, n, c, row)
            count += 1
    return count


@kernel(inner=True)
def _criss_cross(finer, n, d, objective, s, most, halt):
    """Minimise ``s * row_objective`` (0 if `objective` < 0) over all rows' signs.

    The least-index criss-cross method, as in `_exact`. Returns whether it ended with a minimum.
    """
    high, sign, nonbasic, column_of = finer.high, finer.sign, finer.nonbasic, finer.column_of
    turns = _free_columns_out(finer, n, d)
    while True:
        if turns > most or is_set(halt):
            return False, turns
        turns += 1
        best, column, row = n, 0, -1
        if objective >= 0:
            for c in range(1, d + 1):
                r = nonbasic[c]
                if r < best and s * sign[r] * high[c, objective] < 0.0:
                    best, column = r, c
        for i in range(best):
            if sign[i] * high[VALUE, i] < 0.0 and column_of[i] == 0:
                column, row = 0, i
                break
        if row >= 0:
            best = n
            for c in range(1, d + 1):
                r = nonbasic[c]
                if r < best and sign[row] * sign[r] * high[c, row] > 0.0:
                    best, column = r, c
            if column == 0:
                return False, turns
        elif column > 0:
            wanted = sign[nonbasic[column]]
            for i in range(n):
                if sign[i] * wanted * high[column, i] < 0.0 and column_of[i] == 0:
                    row = i
                    break
            if row < 0:
                return False, turns
        else:
            return True, turns
        _pivot(finer, n, column, row)


# --- proofs ---------------------------------------------------------------------------------------


@kernel(inner=True)
def _regular(finer, d):
    """A bound `rho` below 1 that shows that the nonbasic rows are independent, or -1.

    It is that of `_proof.proves_in_x`, and ``finer.sums`` the column sums of the inverse.
    """
    high, nonbasic, rho = finer.high, finer.nonbasic, 0.0
    gamma = 2.0 * (d + 4) * ROUND
    for c in range(1, d + 1):
        finer.sums[c] = 0.0
        for k in range(d):
            finer.sums[c] += abs(high[c, k])
    for q in range(SLOPE, SLOPE + d):
        total, fuzz = 0.0, 0.0
        for k in range(d):
            entry = -1.0 if k == q - SLOPE else 0.0
            for c in range(1, d + 1):
                entry += finer.rows[nonbasic[c], q] * high[c, k]
            total += abs(entry)
        for c in range(1, d + 1):
            row = nonbasic[c]
            # Low halves are left out, in the row and in the inverse.
            fuzz += (2.0 * gamma * abs(finer.rows[row, q]) + finer.bounds[row, q]) * finer.sums[c]
        rho = max(rho, _SUMS * (total + fuzz + gamma))
    return rho if rho < _LARGEST_RHO else -1.0


@kernel(inner=True)
def _errors(finer, d, rho, i):
    """Bound the errors of the dictionary's numbers for row i, in ``finer.slack``.

    The residual of ``row_i = T[0, i] + sum_c T[c, i] row_c`` is worked out with twice the digits.
    """
    high, low, nonbasic, slack = finer.high, finer.low, finer.nonbasic, finer.slack
    eta, offset = 0.0, 0.0
    for q in range(d + 1):
        total, rest = finer.rows[i, q], finer.rows_low[i, q]
        error, size = finer.bounds[i, q], abs(total)
        if q == OFFSET:
            total, t = exact_sum(total, -high[VALUE, i])
            rest += t - low[VALUE, i]
            size += abs(high[VALUE, i])
        for c in range(1, d + 1):
            x, y = high[c, i], finer.rows[nonbasic[c], q]
            p, e = exact_product(x, y)
            e += x * finer.rows_low[nonbasic[c], q] + low[c, i] * y
            total, t = exact_sum(total, -p)
            rest += t - e
            size += abs(p)
            error += abs(x) * finer.bounds[nonbasic[c], q] * _SUMS
        residual = abs(total + rest)
        residual += error * _SUMS + 16.0 * (d + 4) * (d + 4) * ROUND * ROUND * size + _UNDERFLOW
        if q == OFFSET:
            offset = residual
        else:
            eta = max(eta, residual)
    if not eta + offset < np.inf:
        return False
    factor = _BOUNDS * eta / (1.0 - rho)
    for c in range(1, d + 1):
        slack[c] = finer.sums[c] * factor
        row = nonbasic[c]
        offset += _SUMS * (abs(finer.rows[row, OFFSET]) + finer.bounds[row, OFFSET]) * slack[c]
    slack[VALUE] = _BOUNDS * offset
    return True


@kernel(inner=True)
def _proved_sign(finer, i, c):
    """Sign of a number of the dictionary whose errors are in ``finer.slack``; 0: not certain."""
    value = finer.high[c, i]
    error = finer.slack[c] + 2.0 * ROUND * abs(value)
    if value > error:
        return 1.0
    return -1.0 if value < -error else 0.0


@kernel(inner=True)
def _primes_for(scale, finer, d, i, c):
    """How many primes prove that a number of the dictionary is 0, whose error is in `slack`.

    Times the determinant of the nonbasic rows (at most the product of their lengths, Hadamard), and
    made whole, it is a whole number.
    """
    nonbasic = finer.nonbasic
    _, bits = frexp((abs(finer.high[c, i]) + finer.slack[c]) * INFLATE)
    bits += finer.whole[i]
    for k in range(1, d + 1):
        row, square = nonbasic[k], 0.0
        for q in range(SLOPE, SLOPE + d):
            size = abs(finer.rows[row, q]) + finer.bounds[row, q]
            square += size * size
        _, exponent = frexp(square * _BOUNDS)
        bits += (exponent + 1) // 2 + (finer.whole[row] if k != c else 0)
        _, exponent = frexp(scale[k - 1])
        bits -= exponent - 1
    return 0 if bits <= 0 else bits // BITS + 1


@kernel(inner=True)
def _vanish(net, residues, finer, pattern, layer, h, s, n_rows, count, primes):
    """Whether the numbers that are claimed to be 0 are, modulo so many primes.

    ``finer.claims`` are `count` rows, and ``finer.entries`` says which of their numbers. They are 0
    modulo the first prime.
    """
    d, moduli, vectors = net.maps.dimension, net.moduli, finer.matrix
    for prime in range(1, primes):
        p, inverse = moduli.primes[prime], moduli.inverses[prime]
        bring_up(net.maps, moduli, residues, prime, layer + 1, pattern)
        for k in range(d + count):
            i = finer.nonbasic[k + 1] if k < d else finer.claims[k - d]
            if i < n_rows:
                _row_modulo(net, residues, i, prime, vectors[k])
            else:
                _extra_modulo(net, residues, h, finer.whole[h], s, prime, vectors[k])
        # Eliminate without dividing: coordinate by coordinate (a column here), all but the offset.
        for k in range(d):
            pivot = -1
            for q in range(SLOPE + k, SLOPE + d):
                if vectors[k, q] != 0.0:
                    pivot = q
                    break
            if pivot < 0:
                return False
            for v in range(d + count):
                vectors[v, pivot], vectors[v, SLOPE + k] = vectors[v, SLOPE + k], vectors[v, pivot]
            a = vectors[k, SLOPE + k]
            for q in range(d + 1):
                f = vectors[k, q]
                if q == SLOPE + k or f == 0.0:
                    continue
                f = p - f
                for v in range(d + count):
                    x = multiply(vectors[v, q], a, p, inverse)
                    y = multiply(vectors[v, SLOPE + k], f, p, inverse)
                    vectors[v, q] = add(x, y, p)
        for k in range(count):
            for c in range(d + 1):
                if finer.entries[k, c] and vectors[d + k, c] != 0.0:
                    return False
    return True


@kernel(inner=True)
def _forced(net, residues, finer, pattern, layer, h, s, n_rows):
    """Prove that row h never leaves its side, by the numbers of the dictionary for it."""
    d = net.maps.dimension
    rho = _regular(finer, d)
    if rho < 0.0 or not _errors(finer, d, rho, h):
        return False
    primes = 0
    for c in range(d + 1):
        zero = finer.modular[c, h] == 0.0
        finer.entries[0, c] = zero
        if zero:
            primes = max(primes, _primes_for(net.scale, finer, d, h, c))
        else:
            wanted = s if c == VALUE else s * finer.sign[finer.nonbasic[c]]
            if _proved_sign(finer, h, c) * wanted <= 0.0:
                return False
    if primes > len(net.moduli.primes):
        return False
    finer.claims[0] = h
    return _vanish(net, residues, finer, pattern, layer, h, s, n_rows, 1, primes)


@kernel(inner=True)
def _inside(net, residues, finer, maps, layer, first_row, h, s, n_rows):
    """Prove that the vertex lies in the closed cell, with row h on the other side.

    And the signs, zeros included, of all cuts of the layer there: a point without a sign counts as
    one on the boundary, which belongs to the cells on both sides.
    """
    d = net.maps.dimension
    rho = _regular(finer, d)
    if rho < 0.0:
        return False
    count, primes = 0, 0
    for i in range(d, n_rows):
        zero = finer.modular[VALUE, i] == 0.0
        if finer.column_of[i] != 0 or maps.ignored[i] or (i < first_row and finer.sign[i] == 0.0):
            continue
        if not _errors(finer, d, rho, i):
            return False
        if zero:
            needed = _primes_for(net.scale, finer, d, i, VALUE)
            if needed > 1:
                finer.claims[count] = i
                for c in range(d + 1):
                    finer.entries[count, c] = c == VALUE
                count += 1
                primes = max(primes, needed)
        elif _proved_sign(finer, i, VALUE) == 0.0:
            return False
    if primes > len(net.moduli.primes):
        return False
    return count == 0 or _vanish(
        net, residues, finer, maps.piece, layer, h, s, n_rows, count, primes
    )


# --- what is asked --------------------------------------------------------------------------------


@kernel(inner=True)
def decide(net, residues, finer, maps, nonbasic, halt, exact, layer, first_row, n_rows, h, s):
    """Whether ``s * row_h >= 0`` on the cell of ``finer.sign``, from where another method ended.

    `FORCED`: the numbers in column h of the dictionary are the Farkas vector. `CROSSES`: the
    dictionary's vertex is a point on the other side, and the signs of ``finer.high[VALUE]`` those
    of the rows there. If `exact`, both are proved. Returns what was found, and how many pivots.
    """
    d = net.maps.dimension
    n, last, most = n_rows + 1, n_rows, 200 + 40 * d
    if not net.fine[layer] < np.inf:
        return UNKNOWN, 0
    finer.prime[0], finer.prime[1] = net.moduli.primes[0], net.moduli.inverses[0]
    _load(net, residues, finer, maps, layer, n_rows, h, s)
    _go_to(finer, n, d, nonbasic[1:])
    finer.sign[last] = 0.0
    found, turns = _criss_cross(finer, n, d, -1, s, most, halt)
    if not found:
        return UNKNOWN, turns
    if s * finer.high[VALUE, h] >= 0.0:
        finer.sign[last] = 1.0
        found, more = _criss_cross(finer, n, d, h, s, most, halt)
        turns += more
        if not found:
            return UNKNOWN, turns
        if s * finer.high[VALUE, h] >= 0.0:
            if exact and not _forced(net, residues, finer, maps.piece, layer, h, s, n_rows):
                return UNKNOWN, turns
            return FORCED, turns
    if exact and not _inside(net, residues, finer, maps, layer, first_row, h, s, n_rows):
        return UNKNOWN, turns
    return CROSSES, turns


@kernel(inner=True)
def leave_extra(finer, n_rows, h, s):
    """Make the last row basic, if it is not: along the edge as far as the other half reaches."""
    c = finer.column_of[n_rows]
    if c == 0:
        return
    finer.sign[n_rows], finer.sign[h] = 0.0, -s
    for direction in (-1.0, 1.0):
        step, row = np.inf, -1
        for i in range(n_rows):
            rate = -finer.sign[i] * finer.high[c, i] * direction
            if rate > 0.0 and finer.column_of[i] == 0:
                limit = finer.sign[i] * finer.high[VALUE, i] / rate
                if limit < step:
                    step, row = limit, i
        if row >= 0:
            _pivot(finer, n_rows + 1, c, row)
            break
    finer.sign[h] = 0.0
    if finer.column_of[n_rows] != 0:  # any row will do
        for i in range(n_rows):
            if finer.column_of[i] == 0 and abs(finer.high[c, i]) > _SINGULAR:
                _pivot(finer, n_rows + 1, c, i)
                break


@kernel(inner=True)
def simple(finer, ignored, d, first_row, n_rows):
    """Whether the vertex surely lies in the node, and no other row vanishes there."""
    if finer.column_of[n_rows] != 0:
        return False
    rho = -1.0
    for proving in range(2):
        if proving == 1:
            rho = _regular(finer, d)
            if rho < 0.0:
                return False
        for i in range(d, n_rows):
            value, sign = finer.high[VALUE, i], finer.sign[i]
            if ignored[i] or finer.column_of[i] != 0 or (i < first_row and sign == 0.0):
                continue
            if proving == 0:
                if value == 0.0 or sign * value < 0.0:
                    return False
            elif not _errors(finer, d, rho, i) or _proved_sign(finer, i, VALUE) == 0.0:
                return False
    return True


# --- coefficients that may be 0 -------------------------------------------------------------------


@kernel(inner=True)
def vanishes(net, residues, z, z_bound, pattern, layer, j, c):
    """Whether a coefficient of neuron j's row, which may be rounding only, is surely 0."""
    moduli, d = net.moduli, net.maps.dimension
    size = (abs(z[j, c]) + net.fine[layer] * z_bound[j, c]) * _SUMS
    if not size < np.inf or len(moduli.primes) == 0:
        return False
    _, bits = frexp(size)
    bits += moduli.grain[layer + 1]
    if c != OFFSET:
        _, exponent = frexp(net.scale[c - SLOPE])
        bits -= exponent - 1
    primes = 0 if bits <= 0 else bits // BITS + 1
    if primes > len(moduli.primes):
        return False
    column = d if c == OFFSET else c - SLOPE
    for k in range(primes):
        bring_up(net.maps, moduli, residues, k, layer + 1, pattern)
        if residues.before[k, column, net.maps.row_start[1] + j] != 0.0:
            return False
    return True
