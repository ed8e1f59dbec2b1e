"""Float proofs for `halfspaces`: that a vertex is where it is, that a cut misses a cell.

Both follow the same scheme (Rump's verified linear systems): an approximate inverse ``X`` of a
matrix ``B`` that is known up to entrywise errors, and a bound ``rho < 1`` on ``|I - B X|``, give
a rigorous bound on the distance of an approximate solution from the exact one. All bounds are
inflated to cover their own rounding. docs/halfspaces-proof.md has the reasoning in full.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from tropicell._runtime.jit import inner_function, is_set
from tropicell.geometry.rounding import ROUND

#: Absolute slack that covers underflow.
_TINY = 1e-280
UNSURE, SIMPLE, DEGENERATE = 0, 1, 2


@inner_function
def vertex_error(maps, table, layer, d, delta):
    """Bound each coordinate's distance from the exact vertex; False if nothing can be proved."""
    T, nonbasic = table.T[layer], table.nonbasic[layer]
    gamma = 2.0 * (d + 4) * ROUND
    rho, eta = 0.0, 0.0
    for k in range(d):
        total = 0.0
        for c in range(1, d + 1):
            total += abs(T[c, k])
        delta[k] = total
    for a in range(1, d + 1):
        row = nonbasic[a]
        eps = maps.row_error[row] + gamma
        if not eps < 1e-3 or is_set(table.halt):
            return False
        total, fuzz = 0.0, 0.0
        for c in range(1, d + 1):
            entry = -1.0 if c == a else 0.0
            for k in range(d):
                entry += maps.rows[row, k + 1] * T[c, k]
            total += abs(entry)
        value, size = maps.rows[row, 0], maps.bounds[row, 0]
        for k in range(d):
            value += maps.rows[row, k + 1] * T[0, k]
            size += maps.bounds[row, k + 1] * abs(T[0, k])
            fuzz += maps.bounds[row, k + 1] * delta[k]
        if not total + fuzz + abs(value) + size < np.inf:
            return False
        rho = max(rho, 1.01 * (total + eps * (fuzz + d)))
        eta = max(eta, abs(value) + eps * size)
    if not rho < 0.5:
        return False
    factor = 1.1 * eta / (1.0 - rho) + _TINY
    for k in range(d):
        delta[k] *= factor
    return True


@inner_function
def classify(maps, table, options, layer, first_row, n_rows, moved, out):
    """Signs of this layer's cuts at a point of the closed cell, as three bit masks in `out`.

    The point is the dictionary's vertex, or (`moved` > 0, floats only) table.x on the edge of that
    column. Masks: 0 surely positive, 1 surely negative, 2 zero with both sides in reach. SIMPLE
    means that no other row vanishes at the vertex, so all combinations of signs of the
    vanishing cuts occur around it. UNSURE: not known to lie in the cell.
    """
    exact, relative, d = options.exact, options.relative, maps.rows.shape[1] - 1
    column_of, sign = table.column_of[layer], table.sign[layer]
    x, delta = table.x, table.delta
    n_words = out.shape[1]
    for w in range(n_words):
        out[0, w] = np.uint64(0)
        out[1, w] = np.uint64(0)
        out[2, w] = np.uint64(0)
    if moved == 0:
        for k in range(d):
            x[k] = table.T[layer, 0, k]
    if exact and not vertex_error(maps, table, layer, d, delta):
        return UNSURE
    gamma = 2.0 * (d + 4) * ROUND
    simple = moved == 0
    for i in range(d, n_rows):
        c = column_of[i]
        bit = i - first_row
        if c not in (0, moved):
            if bit >= 0:
                out[2, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
            continue
        if maps.constant[i] or (bit < 0 and sign[i] == 0.0):
            continue
        value, size, spread = maps.rows[i, 0], maps.bounds[i, 0], 0.0
        for k in range(d):
            value += maps.rows[i, k + 1] * x[k]
            size += maps.bounds[i, k + 1] * abs(x[k])
        if exact:
            for k in range(d):
                spread += maps.bounds[i, k + 1] * delta[k]
            error = 1.1 * ((maps.row_error[i] + gamma) * size + 2.0 * spread) + _TINY
        else:
            error = relative * size
        if value > error or value < -error:
            if sign[i] * value < 0.0:
                return UNSURE
            if bit >= 0:
                side = 0 if value > 0.0 else 1
                out[side, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
        elif exact:
            return UNSURE
        else:
            simple = False
    if simple:
        return SIMPLE
    for w in range(n_words):
        out[2, w] = np.uint64(0)
    return DEGENERATE


@inner_function
def certify_in_x(maps, table, layer, d, h, s):
    """Prove ``s * row_h = sum_c l_c * sign_c * row_c + l_0``, all l_c >= 0 and l_0 > 0, in x.

    The d rows are the nonbasic ones; multipliers and inverse are those of the dictionary.
    """
    T, nonbasic, sign = table.T[layer], table.nonbasic[layer], table.sign[layer]
    gamma = 2.0 * (d + 4) * ROUND
    eps = maps.row_error[h]
    for c in range(1, d + 1):
        eps = max(eps, maps.row_error[nonbasic[c]])
    eps += gamma
    if not eps < 1e-3:
        return False
    rho, eta = 0.0, 0.0
    for q in range(1, d + 1):
        residual, size, fuzz, total = maps.rows[h, q], maps.bounds[h, q], 0.0, 0.0
        if is_set(table.halt):
            return False
        for k in range(d):
            table.x[k] = 0.0
        table.x[q - 1] = -1.0
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
        rho = max(rho, 1.01 * (total + eps * (fuzz + d)))
        eta = max(eta, abs(residual) + eps * size)
    if not rho < 0.5:
        return False
    factor = 1.1 * eta / (1.0 - rho) + _TINY
    rest, error = s * maps.rows[h, 0], eps * maps.bounds[h, 0]
    for c in range(1, d + 1):
        row = nonbasic[c]
        slack = 0.0
        for k in range(d):
            slack += abs(T[c, k])
        slack *= factor
        if not s * sign[row] * T[c, h] > slack:
            return False
        rest -= s * T[c, h] * maps.rows[row, 0]
        error += maps.bounds[row, 0] * (eps * abs(T[c, h]) + 1.1 * slack)
    return rest > 1.1 * error + _TINY
