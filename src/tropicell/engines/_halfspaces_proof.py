"""Float proofs for `halfspaces`: that a vertex is where it is, that a cut misses a cell.

Both follow the same scheme (Rump's verified linear systems): an approximate inverse ``X`` of a
matrix ``B`` that is known up to entrywise errors, and a bound ``rho < 1`` on ``|I - B X|``, give
a rigorous bound on the distance of an approximate solution from the exact one. All bounds are
inflated to cover their own rounding. docs/halfspaces-proof.md has the reasoning in full.
"""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: PLR0917 - kernels take their arrays one by one
from __future__ import annotations

import numpy as np

from tropicell.engines._jit import kernel_function

_U = 2.0**-53
#: Absolute slack that covers underflow.
_TINY = 1e-280
UNSURE, SIMPLE, DEGENERATE = 0, 1, 2


@kernel_function
def vertex_error(maps, table, layer, d, delta):
    """Bound each coordinate's distance from the exact vertex; False if nothing can be proved."""
    T, nonbasic = table.T[layer], table.nonbasic[layer]
    gamma = 2.0 * (d + 4) * _U
    rho, eta = 0.0, 0.0
    for k in range(d):
        total = 0.0
        for c in range(1, d + 1):
            total += abs(T[c, k])
        delta[k] = total
    for a in range(1, d + 1):
        row = nonbasic[a]
        eps = maps.row_error[row] + gamma
        if not eps < 1e-3:
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


@kernel_function
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
    gamma = 2.0 * (d + 4) * _U
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


@kernel_function
def _expand(program, piece, coef, bound, layer, n_in, d):
    """Write the pre-activations of one layer (in one function) by those of earlier layers."""
    last = coef.shape[0] - 1
    base = d + n_in
    for j in range(program.first_neuron[layer], program.first_neuron[layer + 1]):
        g = bound[base + j]
        if g == 0.0:
            continue
        f = coef[base + j]
        coef[base + j] = 0.0
        bound[base + j] = 0.0
        offset, size = program.bias[j], abs(program.bias[j])
        for e in range(program.indptr[j], program.indptr[j + 1]):
            u, weight = program.indices[e], program.weights[e]
            if u < n_in:
                coef[d + u] += f * weight
                bound[d + u] += g * abs(weight)
                continue
            p = piece[u - n_in]
            slope, intercept = program.slopes[u - n_in, p], program.intercepts[u - n_in, p]
            if slope != 0.0:
                coef[d + u] += f * weight * slope
                bound[d + u] += g * abs(weight) * abs(slope)
            if intercept != 0.0:
                offset += weight * intercept
                size += abs(weight) * abs(intercept)
        coef[last] += f * offset
        bound[last] += g * size


@kernel_function
def certify(program, maps, sign, layer, h, s, support, count, cert):
    """Prove ``s * row_h = sum_i l_i * sign_i * row_i + l_0`` with all l_i >= 0 and l_0 > 0.

    The rows are written by the pre-activations of layer `layer`, then of earlier ones, down to x,
    until there are as many coordinates as multipliers (`count`, rows in `support`): rows that
    depend on few neurons are dependent in x, but not there, and rounding cannot hide it. With d
    multipliers x itself is tried first: its rows are there already.
    """
    n_in, d = program.inputs.shape[0], program.inputs.shape[1] - 1
    n_neurons = program.bias.shape[0]
    n_domain = program.domain.shape[0]
    width = d + n_in + n_neurons + 1
    coef, bound = cert.coef, cert.bound
    if not np.isfinite(program.roundoff[layer]):
        return False
    if count == d:
        eps = 0.0
        for k in range(count + 1):
            row = h if k == count else support[k]
            eps = max(eps, maps.row_error[row])
            for q in range(d + 1):
                coef[k, (q - 1) % (d + 1)] = maps.rows[row, q]
                bound[k, (q - 1) % (d + 1)] = maps.bounds[row, q]
        for q in range(d):
            cert.columns[q] = q
        if _solves(sign, s, support, count, cert, eps, d + 1):
            return True
    eps = 2.0 * (layer + 2) * (2 * n_neurons + 2 * n_in + d + 8) * _U
    for k in range(count + 1):
        row = h if k == count else support[k]
        for q in range(width):
            coef[k, q] = 0.0
            bound[k, q] = 0.0
        if row < d + n_domain:
            for q in range(d):
                coef[k, q] = program.domain[row - d, q + 1]
                bound[k, q] = abs(coef[k, q])
            coef[k, width - 1] = program.domain[row - d, 0]
        else:
            cut = row - d - n_domain
            coef[k, d + n_in + program.cut_neuron[cut]] = 1.0
            bound[k, d + n_in + program.cut_neuron[cut]] = 1.0
            coef[k, width - 1] = -program.cut_break[cut]
        bound[k, width - 1] = abs(coef[k, width - 1])
    for level in range(layer, -3, -1):
        if level < layer and level >= -1:
            for k in range(count + 1):
                _expand(program, maps.piece, coef[k], bound[k], level + 1, n_in, d)
        elif level == -2:
            for k in range(count + 1):
                for u in range(n_in):
                    f, g = coef[k, d + u], bound[k, d + u]
                    if g != 0.0:
                        coef[k, d + u] = 0.0
                        bound[k, d + u] = 0.0
                        for q in range(d):
                            coef[k, q] += f * program.inputs[u, q + 1]
                            bound[k, q] += g * abs(program.inputs[u, q + 1])
                        coef[k, width - 1] += f * program.inputs[u, 0]
                        bound[k, width - 1] += g * abs(program.inputs[u, 0])
        n_columns = 0
        for q in range(width - 1):
            for k in range(count + 1):
                if bound[k, q] != 0.0:
                    if n_columns < count:
                        cert.columns[n_columns] = q
                    n_columns += 1
                    break
        if n_columns == count and _solves(sign, s, support, count, cert, eps, width):
            return True
    return False


@kernel_function
def _solves(sign, s, support, count, cert, eps, width):
    """Whether the square system of `certify` has surely nonnegative multipliers."""
    m, X, full = cert.matrix, cert.inverse, cert.full
    coef, bound, columns, lam = cert.coef, cert.bound, cert.columns, cert.multipliers
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
        if abs(full[p, c]) < 1e-200:
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
        cert.sizes[i] = size
    gamma = 2.0 * (count + 4) * _U + eps
    rho, eta = 0.0, 0.0
    for e in range(count):
        total, fuzz = 0.0, 0.0
        residual = s * coef[count, columns[e]]
        size = bound[count, columns[e]]
        for k in range(count):
            residual -= m[e, k] * lam[k]
            size += bound[k, columns[e]] * abs(lam[k])
            fuzz += bound[k, columns[e]] * cert.sizes[k]
        for q in range(count):
            entry = -1.0 if q == e else 0.0
            for k in range(count):
                entry += m[e, k] * X[k, q]
            total += abs(entry)
        if not total + fuzz + abs(residual) + size < np.inf:
            return False
        rho = max(rho, 1.01 * (total + gamma * (fuzz + count)))
        eta = max(eta, abs(residual) + gamma * size)
    if not rho < 0.5:
        return False
    factor = 1.1 * eta / (1.0 - rho) + _TINY
    rest = s * coef[count, width - 1]
    error = gamma * bound[count, width - 1]
    for k in range(count):
        slack = cert.sizes[k] * factor
        if not lam[k] > slack:
            return False
        rest -= lam[k] * sign[support[k]] * coef[k, width - 1]
        error += bound[k, width - 1] * (gamma * lam[k] + slack * 1.1)
    return rest > 1.1 * error + _TINY
