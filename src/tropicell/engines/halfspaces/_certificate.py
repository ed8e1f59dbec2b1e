"""Float proofs that a cut misses a cell, by identities in coordinates that fit.

In x the multipliers of a certificate are often exactly 0 (see docs/halfspaces-proof.md, section 4):
here the rows are written by pre-activations instead, and multipliers that are 0 do not occur.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from tropicell._runtime.jit import inner_function, is_set
from tropicell.geometry.rounding import ROUND

#: Absolute slack that covers underflow.
_TINY = 1e-280


@inner_function
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


@inner_function
def compose_formal(program, maps, layer):
    """A layer's pre-activations as functions of those of the first layer (offset last)."""
    n_in, width = program.inputs.shape[0], program.first_neuron[1]
    for j in range(program.first_neuron[layer], program.first_neuron[layer + 1]):
        f, g = maps.formal[j], maps.formal_bound[j]
        for k in range(width + 1):
            f[k] = 0.0
            g[k] = 0.0
        if layer == 0:
            f[j] = 1.0
            g[j] = 1.0
            continue
        f[width] = program.bias[j]
        g[width] = abs(program.bias[j])
        for e in range(program.indptr[j], program.indptr[j + 1]):
            u, weight = program.indices[e] - n_in, program.weights[e]
            p = maps.piece[u]
            slope, intercept = program.slopes[u, p], program.intercepts[u, p]
            f[width] += weight * intercept
            g[width] += abs(weight * intercept)
            if slope != 0.0:
                weight *= slope
                for k in range(width + 1):
                    f[k] += weight * maps.formal[u, k]
                    g[k] += abs(weight) * maps.formal_bound[u, k]
    maps.formal_ready[layer] = True


@inner_function
def formal_rows(program, maps, layer, h, support, count, cert):
    """Gather rows written by the first layer's pre-activations; False if one can't be."""
    base = program.inputs.shape[1] - 1 + program.domain.shape[0]
    width = program.first_neuron[1]
    if not program.through_first:
        return False
    for k in range(count):
        if support[k] < base:
            return False
    for level in range(layer + 1):
        if not maps.formal_ready[level]:
            compose_formal(program, maps, level)
    for k in range(count + 1):
        cut = (h if k == count else support[k]) - base
        j, t = program.cut_neuron[cut], program.cut_break[cut]
        for q in range(width + 1):
            cert.coef[k, q] = maps.formal[j, q]
            cert.bound[k, q] = maps.formal_bound[j, q]
        cert.coef[k, width] -= t
        cert.bound[k, width] += abs(t)
    return True


@inner_function
def used_columns(cert, width, count):
    """How many coordinates occur in the rows; the first `count` are listed in cert.columns."""
    n_columns = 0
    for q in range(width):
        for k in range(count + 1):
            if cert.bound[k, q] != 0.0:
                if n_columns < count:
                    cert.columns[n_columns] = q
                n_columns += 1
                break
    return n_columns


@inner_function
def certify(program, maps, sign, layer, h, s, support, count, cert, halt):
    """Prove ``s * row_h = sum_i l_i * sign_i * row_i + l_0`` with all l_i >= 0 and l_0 > 0.

    The rows are written by the pre-activations of layer `layer`, then of earlier ones, down to x,
    until there are as many coordinates as multipliers (`count`, rows in `support`): rows that
    depend on few neurons are dependent in x, but not there, and rounding cannot hide it. The
    first layer is tried first: there it is mostly decided how many coordinates matter.
    """
    n_in, d = program.inputs.shape[0], program.inputs.shape[1] - 1
    n_neurons = program.bias.shape[0]
    n_domain = program.domain.shape[0]
    width = d + n_in + n_neurons + 1
    coef, bound = cert.coef, cert.bound
    if not np.isfinite(program.roundoff[layer]):
        return False
    if formal_rows(program, maps, layer, h, support, count, cert):
        n_columns = used_columns(cert, program.first_neuron[1], count)
        eps = program.roundoff[layer]
        if n_columns == count and _solves(
            sign, s, support, count, cert, eps, program.first_neuron[1] + 1, halt
        ):
            return True
    eps = 2.0 * (layer + 2) * (2 * n_neurons + 2 * n_in + d + 8) * ROUND
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
                if is_set(halt):
                    return False
                _expand(program, maps.piece, coef[k], bound[k], level + 1, n_in, d)
        elif level == -2:
            for k in range(count + 1):
                if is_set(halt):
                    return False
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
        n_columns = used_columns(cert, width - 1, count)
        if n_columns == count and _solves(sign, s, support, count, cert, eps, width, halt):
            return True
    return False


@inner_function
def _solves(sign, s, support, count, cert, eps, width, halt):
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
        if abs(full[p, c]) < 1e-200 or is_set(halt):
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
    gamma = 2.0 * (count + 4) * ROUND + eps
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
