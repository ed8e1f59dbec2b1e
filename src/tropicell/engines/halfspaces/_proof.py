"""Float proofs for `halfspaces`: that a vertex is where it is, that a cut misses a cell.

All follow one scheme (Rump's verified linear systems): an approximate inverse ``X`` of a
matrix ``B`` that is known up to entrywise errors, and a bound ``rho < 1`` on ``|I - B X|``, give
a rigorous bound on the distance of an approximate solution from the exact one. All bounds are
inflated to cover their own rounding. Sections are those of docs/halfspaces-proof.md, which has the
reasoning in full.

That a cut misses a cell is shown by a *Farkas vector*: factors, none negative, with which rows of
the cell, and a constant, add up to the cut. `proves_in_x` looks for it among d rows. With fewer
rows than inputs, that system is not square; `proves` solves a part of it, where it is known that
the rest follows.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from tropicell._runtime.jit import is_set, kernel
from tropicell.engines.halfspaces._flat import BOTH, NEGATIVE, OFFSET, POSITIVE, SLOPE, VALUE
from tropicell.geometry.rounding import ROUND

UNSURE, SIMPLE, DEGENERATE = range(3)

#: Absolute slack that covers underflow (section 3).
_UNDERFLOW = 1e-280

#: Cover the roundings of bounds: of sums in `rho`, and of what follows from `rho` and `eta`.
_SUMS, _BOUNDS = 1.01, 1.1

#: Relative errors of rows from here on prove nothing.
_LARGEST_ERROR = 1e-3

#: Up to this `rho` the exact matrix is known to be regular.
_LARGEST_RHO = 0.5

#: Values of rows (of size 1) that may be rounding; they are if they are so small a part of their
#: terms.
_NEARLY, _ROUNDING = 1e-9, 1e-13

#: A smaller pivot means that a matrix is not to be inverted.
_SINGULAR = 1e-200


@kernel(sums="in any order", inner=True)
def _product_error(n):
    """Relative error of a scalar product of n terms: `gamma` of section 3."""
    return 2.0 * (n + 4) * ROUND


@kernel(sums="in any order", inner=True)
def vertex_error(maps, table, layer, d, delta):
    """Bound each coordinate's distance from the exact vertex; -1 if nothing can be proved.

    Section 3: `rho`, which is returned, bounds the row sums of |I - B* X|, `eta` the residuals
    |B* v + b*|, and |v* - v| <= delta = (row sums of |X|) * eta / (1 - rho). Comparisons are such
    that a NaN fails. The vertex table.x is 0, and `delta` too, if all rows vanish at 0.
    """
    T, nonbasic = table.T[layer], table.nonbasic[layer]
    gamma = _product_error(d)
    rho, eta, at_zero = 0.0, 0.0, True
    for a in range(1, d + 1):
        at_zero = at_zero and maps.bounds[nonbasic[a], OFFSET] == 0.0
    if at_zero:
        for k in range(d):
            table.x[k] = 0.0
    for k in range(d):
        total = 0.0
        for c in range(1, d + 1):
            total += abs(T[c, k])
        delta[k] = total
    for a in range(1, d + 1):  # row a of B
        row = nonbasic[a]
        eps = maps.row_error[row] + gamma
        if not eps < _LARGEST_ERROR or is_set(table.halt):
            return -1.0
        total, fuzz = 0.0, 0.0
        for c in range(1, d + 1):
            entry = -1.0 if c == a else 0.0
            for k in range(d):
                entry += maps.rows[row, SLOPE + k] * T[c, k]
            total += abs(entry)
        value, size = maps.rows[row, OFFSET], maps.bounds[row, OFFSET]
        for k in range(d):
            value += maps.rows[row, SLOPE + k] * table.x[k]
            size += maps.bounds[row, SLOPE + k] * abs(table.x[k])
            fuzz += maps.bounds[row, SLOPE + k] * delta[k]
        if not total + fuzz + abs(value) + size < np.inf:
            return -1.0
        rho = max(rho, _SUMS * (total + eps * (fuzz + d)))
        eta = max(eta, abs(value) + eps * size)
    if not rho < _LARGEST_RHO:  # else B* X is regular (Neumann), and the rows are independent
        return -1.0
    factor = 0.0 if at_zero else _BOUNDS * eta / (1.0 - rho) + _UNDERFLOW
    for k in range(d):
        delta[k] *= factor
    return rho


@kernel(sums="in any order", inner=True)
def place_vertex(maps, table, layer, d):
    """The dictionary's vertex in table.x; in table.delta the same sums in absolute values.

    It is worked out from the offsets of its rows, not pivot by pivot: where these are 0, so is the
    vertex, and a coordinate in which large terms cancel is known to be off by more than its size
    says.
    """
    T, nonbasic, x, delta = table.T[layer], table.nonbasic[layer], table.x, table.delta
    for k in range(d):
        x[k] = 0.0
        delta[k] = 0.0
    for c in range(1, d + 1):
        offset = maps.rows[nonbasic[c], OFFSET]
        if offset != 0.0:
            for k in range(d):
                x[k] -= T[c, k] * offset
                delta[k] += abs(T[c, k] * offset)


@kernel(sums="in any order", inner=True)
def tidy(maps, table, layer, d, n_rows):
    """Make values of the dictionary 0 that are nothing but rounding, so that no step is as short.

    It steers the simplex method where many boundaries meet in a vertex, and proves nothing.
    """
    T, column_of, x, delta = table.T[layer], table.column_of[layer], table.x, table.delta
    known = False
    for i in range(d, n_rows):
        value = T[VALUE, i]
        if value == 0.0 or abs(value) > _NEARLY or column_of[i] != 0:
            continue
        if not known:
            place_vertex(maps, table, layer, d)
            known = True
        value, size = maps.rows[i, OFFSET], abs(maps.rows[i, OFFSET])
        for k in range(d):
            value += maps.rows[i, SLOPE + k] * x[k]
            size += abs(maps.rows[i, SLOPE + k]) * delta[k]
        T[VALUE, i] = value if abs(value) > _ROUNDING * size else 0.0


@kernel(sums="in any order", inner=True)
def edge_error(table, layer, d, k, rho, step):
    """How far a point is off the edge, in coordinate k, besides the error of the vertex.

    Section 3: |X* - X| <= (row sums of |X|) * rho / (1 - rho), and the rounding of the point.
    """
    total = 0.0
    for c in range(1, d + 1):
        total += abs(table.T[layer, c, k])
    return _BOUNDS * abs(step) * total * (rho / (1.0 - rho) + _product_error(d))


@kernel(sums="in any order", inner=True)
def classify(maps, table, options, layer, first_row, n_rows, moved, step, out):
    """Signs of this layer's cuts at a point of the closed cell, as three bit masks in `out`.

    The point is the dictionary's vertex, or (`moved` > 0) that on the edge of a column where the
    column's row is `step`; it is in table.x afterwards. Masks: surely `POSITIVE`, surely
    `NEGATIVE`, zero with `BOTH` sides in reach. SIMPLE means that no other row vanishes at the
    vertex, so all combinations of signs of the vanishing cuts occur around it. UNSURE: not known to
    lie in the cell.
    """
    exact, relative, d = options.exact, options.relative, maps.rows.shape[1] - 1
    column_of, sign = table.column_of[layer], table.sign[layer]
    x, delta = table.x, table.delta
    n_words = out.shape[1]
    for w in range(n_words):
        out[POSITIVE, w] = np.uint64(0)
        out[NEGATIVE, w] = np.uint64(0)
        out[BOTH, w] = np.uint64(0)
    for k in range(d):
        x[k] = table.T[layer, VALUE, k]
    if exact:
        rho = vertex_error(maps, table, layer, d, delta)
        if rho < 0.0:
            return UNSURE
    else:
        place_vertex(maps, table, layer, d)
    if moved > 0:
        for k in range(d):
            if exact:
                delta[k] += edge_error(table, layer, d, k, rho, step)
            x[k] += step * table.T[layer, moved, k]
            if not exact:
                delta[k] = abs(x[k])
    gamma = _product_error(d)
    simple = moved == 0
    for i in range(d, n_rows):
        c = column_of[i]
        bit = i - first_row
        if c not in (0, moved):  # nonbasic, so exactly 0 at the vertex
            if bit >= 0:
                out[BOTH, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
            continue
        if maps.ignored[i] or (bit < 0 and sign[i] == 0.0):
            continue
        value, size, spread = maps.rows[i, OFFSET], maps.bounds[i, OFFSET], 0.0
        for k in range(d):
            value += maps.rows[i, SLOPE + k] * x[k]
            size += maps.bounds[i, SLOPE + k] * (abs(x[k]) if exact else delta[k])
        if exact:
            for k in range(d):
                spread += maps.bounds[i, SLOPE + k] * delta[k]
            # The last bound of section 3: of the row itself, and of the vertex. It is 0 if all is.
            error = _BOUNDS * ((maps.row_error[i] + gamma) * size + 2.0 * spread)
            if size + spread > 0.0:
                error += _UNDERFLOW
        else:
            error = relative * size
        if value > error or value < -error:  # the sign at the exact vertex is certain
            if sign[i] * value < 0.0:  # outside the cell
                return UNSURE
            if bit >= 0:
                side = POSITIVE if value > 0.0 else NEGATIVE
                out[side, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
        elif exact and error != 0.0:  # or not a number
            return UNSURE
        else:  # 0: surely so, or within the tolerance
            simple = False
    if simple:
        return SIMPLE
    for w in range(n_words):
        out[BOTH, w] = np.uint64(0)
    return DEGENERATE


@kernel(sums="in any order", inner=True)
def proves_in_x(maps, table, layer, d, h, s):
    """Prove ``s * row_h = sum_c l_c * sign_c * row_c + l_0``, all l_c >= 0 and l_0 > 0, in x.

    The d rows are the nonbasic ones; multipliers and inverse are those of the dictionary.
    Section 4, d multipliers: |l* - l| <= (column sums of |X|) * eta / (1 - rho).
    """
    T, nonbasic, sign = table.T[layer], table.nonbasic[layer], table.sign[layer]
    gamma = _product_error(d)
    eps = maps.row_error[h]
    for c in range(1, d + 1):
        eps = max(eps, maps.row_error[nonbasic[c]])
    eps += gamma
    if not eps < _LARGEST_ERROR:
        return False
    rho, eta = 0.0, 0.0
    for q in range(SLOPE, SLOPE + d):  # row q of B^T: its part of |I - B^T X^T| and of the residual
        residual, size, fuzz, total = maps.rows[h, q], maps.bounds[h, q], 0.0, 0.0
        if is_set(table.halt):
            return False
        for k in range(d):
            table.x[k] = 0.0
        table.x[q - SLOPE] = -1.0
        for c in range(1, d + 1):
            f, g = maps.rows[nonbasic[c], q], maps.bounds[nonbasic[c], q]
            residual -= T[c, h] * f
            size += abs(T[c, h]) * g
            for k in range(d):
                table.x[k] += f * T[c, k]
                fuzz += g * abs(T[c, k])
        for k in range(d):
            total += abs(table.x[k])
        if not total + fuzz + abs(residual) + size < np.inf:
            return False
        rho = max(rho, _SUMS * (total + eps * (fuzz + d)))
        eta = max(eta, abs(residual) + eps * size)
    if not rho < _LARGEST_RHO:
        return False
    factor = _BOUNDS * eta / (1.0 - rho) + _UNDERFLOW
    rest, error = s * maps.rows[h, OFFSET], eps * maps.bounds[h, OFFSET]
    offsets = maps.bounds[h, OFFSET]
    for c in range(1, d + 1):
        row = nonbasic[c]
        offsets += maps.bounds[row, OFFSET]
        slack = 0.0
        for k in range(d):
            slack += abs(T[c, k])
        slack *= factor
        if not s * sign[row] * T[c, h] > slack:  # else the exact multiplier is positive
            return False
        rest -= s * T[c, h] * maps.rows[row, OFFSET]
        error += maps.bounds[row, OFFSET] * (eps * abs(T[c, h]) + _BOUNDS * slack)
    # l_0 = s h_0 - sum l_i s_i b_i, with the errors of rows and of multipliers taken off; it is
    # exactly 0 if all rows vanish at 0.
    return offsets == 0.0 or rest > _BOUNDS * error + _UNDERFLOW


@kernel(sums="in any order", inner=True)
def _span(flat, maps, table, space, layer, h, count):
    """Whether the slopes of the support and of row h surely lie in a space of `count` dimensions.

    They are combinations of those of the neurons themselves, of the neurons that these read and
    that are on, of those that these read, and so on down to the inputs: until there are so few.
    Section 4, fewer than d multipliers.
    """
    n_in, marked, total = flat.width_0, space.marked, 0
    for k in range(count + 1):
        row = h if k == count else table.support[k]
        if row < flat.cuts_at:
            total += 1  # of the domain: its own direction
        elif not marked[n_in + flat.cut_neuron[row - flat.cuts_at]]:
            marked[n_in + flat.cut_neuron[row - flat.cuts_at]] = True
            total += 1
    level = layer
    while total > count and level >= 0:
        for j in range(flat.first_neuron[level], flat.first_neuron[level + 1]):
            if not marked[n_in + j]:
                continue
            marked[n_in + j] = False
            total -= 1
            for e in range(flat.indptr[j], flat.indptr[j + 1]):
                u = flat.indices[e]
                if not (marked[u] or (u >= n_in and maps.constant_output[u - n_in])):
                    marked[u] = True
                    total += 1
        level -= 1
    for u in range(n_in + flat.first_neuron[level + 1]):
        marked[u] = False
    if total <= count:
        return True
    total = 0
    for q in range(SLOPE, SLOPE + flat.dimension):
        used = maps.bounds[h, q] != 0.0  # else the coefficient is exactly 0
        for k in range(count):
            used = used or maps.bounds[table.support[k], q] != 0.0
        total += used
    return total <= count


@kernel(sums="in any order", inner=True)
def proves(flat, maps, table, space, layer, h, s, count):
    """Prove ``s * row_h = sum_i l_i * sign_i * row_i + l_0`` with fewer than d rows.

    The rows (`count`, in table.support) span a space that contains h, if they are independent: then
    as many coordinates as there are rows determine the multipliers. Those are taken in which the
    rows are most clearly independent. Section 4, fewer than d multipliers.
    """
    d, full, columns = flat.dimension, space.full, space.columns
    if count == 0 or count >= d or not _span(flat, maps, table, space, layer, h, count):
        return False
    eps = maps.row_error[h]
    for k in range(count + 1):
        row = h if k == count else table.support[k]
        eps = max(eps, maps.row_error[row])
        for q in range(d + 1):
            place = d if q == OFFSET else q - SLOPE
            space.coef[k, place] = maps.rows[row, q]
            space.bound[k, place] = maps.bounds[row, q]
    if not eps < _LARGEST_ERROR:
        return False
    for k in range(count):
        for q in range(d):
            full[k, q] = space.coef[k, q]
    for q in range(d):
        space.taken[q] = False
    for k in range(count):
        best, column = _SINGULAR, -1
        for q in range(d):
            if not space.taken[q] and abs(full[k, q]) > best:
                best, column = abs(full[k, q]), q
        if column < 0 or is_set(table.halt):
            return False
        space.taken[column] = True
        columns[k] = column
        for e in range(k + 1, count):
            f = full[e, column] / full[k, column]
            for q in range(d):
                full[e, q] -= f * full[k, q]
    return _solves(space, table, layer, s, count, eps, d + 1)


@kernel(sums="in any order", inner=True)
def _solves(space, table, layer, s, count, eps, width):
    """Whether the square system of `proves` has surely nonnegative multipliers (section 4).

    The scheme of section 3: invert, bound `rho` and `eta`, compare with the errors.
    """
    m, X, full = space.matrix, space.inverse, space.full
    coef, bound, columns, lam = space.coef, space.bound, space.columns, space.multipliers
    sign, support, halt = table.sign[layer], table.support, table.halt
    for e in range(count):
        for k in range(count):
            m[e, k] = sign[support[k]] * coef[k, columns[e]]
            full[e, k] = m[e, k]
            full[e, count + k] = 1.0 if e == k else 0.0
    for c in range(count):
        p = c
        for e in range(c + 1, count):
            if abs(full[e, c]) > abs(full[p, c]):
                p = e
        if abs(full[p, c]) < _SINGULAR or is_set(halt):
            return False
        for q in range(2 * count):
            full[p, q], full[c, q] = full[c, q], full[p, q]
        inverse = 1.0 / full[c, c]
        for q in range(c, 2 * count):
            full[c, q] *= inverse
        for e in range(count):
            f = full[e, c]
            if e != c and f != 0.0:
                for q in range(c, 2 * count):
                    full[e, q] -= f * full[c, q]
    for i in range(count):
        total, size = 0.0, 0.0
        for e in range(count):
            X[i, e] = full[i, count + e]
            total += X[i, e] * s * coef[count, columns[e]]
            size += abs(X[i, e])
        lam[i] = total
        space.sizes[i] = size
    gamma = _product_error(count) + eps
    rho, eta = 0.0, 0.0
    for e in range(count):
        if is_set(halt):
            return False
        total, fuzz = 0.0, 0.0
        residual = s * coef[count, columns[e]]
        size = bound[count, columns[e]]
        for k in range(count):
            residual -= m[e, k] * lam[k]
            size += bound[k, columns[e]] * abs(lam[k])
            fuzz += bound[k, columns[e]] * space.sizes[k]
        for q in range(count):
            entry = -1.0 if q == e else 0.0
            for k in range(count):
                entry += m[e, k] * X[k, q]
            total += abs(entry)
        if not total + fuzz + abs(residual) + size < np.inf:
            return False
        rho = max(rho, _SUMS * (total + gamma * (fuzz + count)))
        eta = max(eta, abs(residual) + gamma * size)
    if not rho < _LARGEST_RHO:
        return False
    factor = _BOUNDS * eta / (1.0 - rho) + _UNDERFLOW
    rest = s * coef[count, width - 1]
    error = gamma * bound[count, width - 1]
    offsets = bound[count, width - 1]
    for k in range(count):
        offsets += bound[k, width - 1]
        slack = space.sizes[k] * factor
        if not lam[k] > slack:  # else the exact multiplier is positive
            return False
        rest -= lam[k] * sign[support[k]] * coef[k, width - 1]
        error += bound[k, width - 1] * (gamma * lam[k] + slack * _BOUNDS)
    # l_0, with the errors of rows and of multipliers taken off; 0 if all rows vanish at 0.
    return offsets == 0.0 or rest > _BOUNDS * error + _UNDERFLOW
