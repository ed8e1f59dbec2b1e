"""A layer's cuts and outputs as affine functions of x on one cell, with running bounds."""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from tropicell._runtime.jit import inner_function, kernel_function
from tropicell.engines.halfspaces._tree import has_bit


@kernel_function
def compose(program, maps, layer, snap):
    """The layer's cuts as rows in x on this cell, with running bounds on their size.

    Coefficients below `snap` times their bound are rounding only and become 0. Rows are scaled by
    powers of two. Returns the first cut that may be constant without being plainly so, or -1; where
    numbers may over- or underflow (`snap` is infinite) none is known to be what it seems.
    """
    n_in, d = program.inputs.shape[0], program.inputs.shape[1] - 1
    base = d + program.domain.shape[0]
    unsure = -1 if np.isfinite(snap[layer]) else program.first_cut[layer]
    for j in range(program.first_neuron[layer], program.first_neuron[layer + 1]):
        z, g = maps.z[j], maps.z_bound[j]
        for k in range(d + 1):
            z[k] = 0.0
            g[k] = 0.0
        z[0] = program.bias[j]
        g[0] = abs(program.bias[j])
        for e in range(program.indptr[j], program.indptr[j + 1]):
            u, weight = program.indices[e], program.weights[e]
            if u >= n_in and maps.flat[u - n_in]:
                z[0] += weight * maps.y[u, 0]
                g[0] += abs(weight) * maps.y_bound[u, 0]
                continue
            size = abs(weight)
            for k in range(d + 1):
                z[k] += weight * maps.y[u, k]
                g[k] += size * maps.y_bound[u, k]
        largest, doubtful = 0.0, False
        for k in range(1, d + 1):
            if abs(z[k]) <= snap[layer] * g[k]:
                doubtful = doubtful or g[k] > 0.0
            else:
                largest = max(largest, abs(z[k]))
        for cut in range(program.neuron_cut[j], program.neuron_cut[j + 1]):
            row = base + cut
            maps.constant[row] = largest == 0.0
            t = program.cut_break[cut]
            offset, size = z[0] - t, g[0] + abs(t)
            if largest == 0.0:
                near = abs(offset) <= snap[layer] * size
                if (doubtful or (near and size > 0.0)) and unsure < 0:
                    unsure = cut
                offset = 0.0 if near else offset
            scale = 1.0
            if largest > 0.0:
                scale = 2.0 ** -np.floor(np.log2(largest))
            maps.rows[row, 0] = offset * scale
            maps.bounds[row, 0] = size * scale
            for k in range(1, d + 1):
                big = abs(z[k]) > snap[layer] * g[k]
                maps.rows[row, k] = z[k] * scale if big else 0.0
                maps.bounds[row, k] = g[k] * scale
            maps.row_error[row] = 2.0 * program.roundoff[layer]
    return unsure


@kernel_function
def activate(program, maps, decided, layer):
    """Read the pieces off the decided cuts, and write the layer's outputs as functions of x."""
    n_in, d = program.inputs.shape[0], program.inputs.shape[1] - 1
    first = program.first_cut[layer]
    for j in range(program.first_neuron[layer], program.first_neuron[layer + 1]):
        p = 0
        for cut in range(program.neuron_cut[j], program.neuron_cut[j + 1]):
            if has_bit(decided[0], cut - first):
                p += 1
        maps.piece[j] = p
        if layer == program.first_neuron.shape[0] - 2:
            continue
        slope, intercept = program.slopes[j, p], program.intercepts[j, p]
        maps.flat[j] = slope == 0.0
        for k in range(d + 1):
            maps.y[n_in + j, k] = slope * maps.z[j, k]
            maps.y_bound[n_in + j, k] = abs(slope) * maps.z_bound[j, k]
        maps.y[n_in + j, 0] += intercept
        maps.y_bound[n_in + j, 0] += abs(intercept)


@inner_function
def signs_of_node(program, constant, decided, sign, layer):
    """What the node asks of this layer's cuts, for the linear program."""
    first = program.first_cut[layer]
    base = program.inputs.shape[1] - 1 + program.domain.shape[0] + first
    for b in range(program.first_cut[layer + 1] - first):
        value = 0.0
        if not constant[base + b]:
            if has_bit(decided[0], b):
                value = 1.0
            elif has_bit(decided[1], b):
                value = -1.0
        sign[base + b] = value
