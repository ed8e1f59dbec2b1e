"""The filter for regions of which only patterns and witnesses are known: a tree of cells.

The patterns, sorted, are the leaves of a tree: its root is the domain, and a cell is cut by the
first boundary of the current layer on both sides of which there are patterns. Where all patterns of
a cell are on one side of a boundary, the inequality of that side must follow from those that made
the cell, its *path*: then no pattern is missing there. A small linear program in float64 finds d
inequalities of the path, a *basis*, of which the one in question should be a combination; that it
is one, with factors that are not negative, is then proved with error bounds, and by
`tropicell.certificate._signs` where they do not suffice. docs/certificate-proof.md, "The tree".
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel
from tropicell.certificate._flat import COVER_MORE, FilterNetwork, PatternTable
from tropicell.certificate._kernels import (
    ERROR,
    OFFSET,
    _piece,
    doubtful,
    go_to,
    is_central,
    scaled,
)
from tropicell.certificate._signs import (
    INFINITY,
    FineSigns,
    find_spans,
    fine_sign,
    is_spanned,
    meet,
    surely_positive,
    turn,
)
from tropicell.certificate._vertices import invert, prove_vertex
from tropicell.geometry.rounding import ROUND

#: Ranges of patterns up to this are looked at one by one.
_FEW = 24

#: Pivots of a linear program, and numbers that are taken for 0 there: nothing is proved by it.
_PIVOTS, _NOTHING = 400, 1e-11

#: Inequalities are moved outwards by about so much there, each by something else.
_MOVED = 1e-9

#: What a doubt at the point of a basis counts; one along an edge counts 1.
_AT_THE_POINT = 0.5

#: In a basis: no inequality yet. First in a basis: start from the witness.
_FREE, _RESTART = -1, -2

#: Columns of `TreeRoom.nodes`.
_BEGIN, _END, _LAYER, _PATH, _TRAIL, _LINE, _NODE = range(7)

#: What `TreeProof.used` counts.
BASES, COUNTS, DOUBTS, PATHS, SIGNS, _USED = range(6)

#: Columns of `TreeRoom.stopped`.
_WAITING, _KNOWN, _STOPPED = range(3)

#: Columns of `TreeProof.doubts`.
AT, REGION, CLAIM, PATH_END, _DOUBT = range(5)

# What `prove_cells` says.
DONE, FULL, WRONG = 0, 1, 2


class SortedRegions(NamedTuple):
    """Regions, sorted by their patterns, neuron by neuron.

    Attributes
    ----------
    patterns : PatternTable
        Its hash table is not read.
    ands, ors : ndarray of uint64, shape (2 regions, words)
        Bits that all, or any, of the patterns of a part have: node k has the parts 2 k and 2 k + 1,
        and the patterns themselves are the last ones.
    witnesses : ndarray, shape (regions, inputs)
    unscale : ndarray, shape (inputs,)
        What makes the kernels' coordinates of them.
    """

    patterns: PatternTable
    ands: NDArray[np.uint64]
    ors: NDArray[np.uint64]
    witnesses: NDArray[np.float64]
    unscale: NDArray[np.float64]


class TreeProof(NamedTuple):
    """What is found for the cells whose first patterns are in a part of the list.

    Attributes
    ----------
    used : ndarray, shape (5,)
        How much of the arrays is used; and how many signs were decided.
    bases : ndarray, shape (bases, d)
        Lines.
    counts : ndarray
        The number of bases of each cell in which lines get known.
    doubts : ndarray, shape (doubts, 4)
        What could not be proved: the place in `counts`, a region, the line of the inequality, and
        where the lines of the cell's path end in `paths`.
    paths : ndarray
    inside : ndarray of bool, shape (regions of the part,)
        Whether the witness is surely inside.
    """

    used: NDArray[np.int64]
    bases: NDArray[np.int32]
    counts: NDArray[np.int32]
    doubts: NDArray[np.int64]
    paths: NDArray[np.int32]
    inside: NDArray[np.bool_]


def new_tree_proof(regions: int, dimension: int, room: int) -> TreeProof:
    """Room for a part of the list; `regions` is how many regions parts have at most."""
    return TreeProof(
        used=np.zeros(_USED, np.int64),
        bases=np.zeros((4 * room, dimension), np.int32),
        counts=np.zeros(4 * room, np.int32),
        doubts=np.zeros((room, _DOUBT), np.int64),
        paths=np.zeros(16 * room, np.int32),
        inside=np.zeros(regions, np.bool_),
    )


def larger(proof: TreeProof) -> TreeProof:
    """The same with twice the room, for a kernel that has stopped because it was full."""
    proofs = {name: getattr(proof, name) for name in ("bases", "counts", "doubts", "paths")}
    return proof._replace(
        **{name: np.concatenate([array, np.zeros_like(array)]) for name, array in proofs.items()}
    )


class TreeRoom(NamedTuple):
    """Room for one thread.

    Attributes
    ----------
    nodes : ndarray, shape (nodes, 6)
        Cells that wait: their patterns, the layer, the rows of their paths and of `trail` that are
        known before, and the line that cuts them out, or 0.
    node_bases, node_edges, node_points : ndarray
        For each of them where the linear program starts.
    rows, offsets, lines : ndarray
        The path: rows as those of `gather`, offsets of the linear program, lines.
    slopes : ndarray, shape (d, rows)
        The same rows without offsets, one coordinate after the other: loops over rows are fast.
    stopped : ndarray, shape (2,)
        Where the kernel has stopped because a proof was full: the cells that wait, of which it was
        at the last, and the length of ``trail``; 0 if it has not.
    central : ndarray of bool
        Which rows go through the origin for sure.
    known, trail : ndarray
        Whether a line is in the path or follows from it; these lines in order.
    claims : ndarray
        The inequalities that must follow.
    claim_rows, claim_sizes, claim_bounds : ndarray
        The same, as in `InequalityArrays`, side by side.
    claim_values, claim_doubts : ndarray
        Their values at a column; at how many of the columns that were tried last each of them is
        not surely positive.
    ands, ors : ndarray of uint64, shape (words,)
    basis, edges, point, values, falls, steps, goal, costs : ndarray
        The linear program: places in the path, edges as rows, the point, the path's values there,
        how fast they change along an edge, and how far it is to where they are 0; the inequality,
        and how it changes along edges.
    table, swaps, vertex, columns, shares, wholes, fine : ndarray, FineSigns
        The proof: as in `tropicell.certificate._cone`, for one basis.
    has_twins : bool
        Whether any line has a twin.
    """

    nodes: NDArray[np.int64]
    node_bases: NDArray[np.int64]
    node_edges: NDArray[np.float64]
    node_points: NDArray[np.float64]
    rows: NDArray[np.float64]
    offsets: NDArray[np.float64]
    lines: NDArray[np.int64]
    slopes: NDArray[np.float64]
    stopped: NDArray[np.int64]
    central: NDArray[np.bool_]
    known: NDArray[np.bool_]
    trail: NDArray[np.int64]
    claims: NDArray[np.int64]
    claim_rows: NDArray[np.float64]
    claim_sizes: NDArray[np.float64]
    claim_bounds: NDArray[np.float64]
    claim_values: NDArray[np.float64]
    claim_doubts: NDArray[np.float64]
    ands: NDArray[np.uint64]
    ors: NDArray[np.uint64]
    basis: NDArray[np.int64]
    edges: NDArray[np.float64]
    point: NDArray[np.float64]
    values: NDArray[np.float64]
    falls: NDArray[np.float64]
    steps: NDArray[np.float64]
    goal: NDArray[np.float64]
    costs: NDArray[np.float64]
    table: NDArray[np.float64]
    swaps: NDArray[np.int64]
    vertex: NDArray[np.float64]
    columns: NDArray[np.float64]
    shares: NDArray[np.float64]
    wholes: NDArray[np.float64]
    witness: NDArray[np.float64]
    fine: FineSigns
    has_twins: bool


def new_tree(flat: FilterNetwork, words: int, fine: FineSigns) -> TreeRoom:
    """Room for one thread."""
    d, lines = flat.inputs.shape[1] - 1, len(flat.neurons)
    most, nodes = lines + 1, 2 * lines + len(flat.starts) + 2
    return TreeRoom(
        nodes=np.zeros((nodes, _NODE), np.int64),
        node_bases=np.zeros((nodes, d), np.int64),
        node_edges=np.zeros((nodes, d, d)),
        node_points=np.zeros((nodes, d)),
        rows=np.zeros((most, d + 2)),
        offsets=np.zeros(most),
        lines=np.zeros(most, np.int64),
        slopes=np.zeros((d, most)),
        stopped=np.zeros(_STOPPED, np.int64),
        central=np.zeros(most, np.bool_),
        known=np.zeros(most, np.bool_),
        trail=np.zeros(most, np.int64),
        claims=np.zeros(most, np.int64),
        claim_rows=np.zeros((d + 1, most)),
        claim_sizes=np.zeros(most),
        claim_bounds=np.zeros(most),
        claim_values=np.zeros(most),
        claim_doubts=np.zeros(most),
        ands=np.zeros(words, np.uint64),
        ors=np.zeros(words, np.uint64),
        basis=np.zeros(d, np.int64),
        edges=np.zeros((d, d)),
        point=np.zeros(d),
        values=np.zeros(most),
        falls=np.zeros(most),
        steps=np.zeros(most),
        goal=np.zeros(d + 1),
        costs=np.zeros(d),
        table=np.zeros((d, d)),
        swaps=np.zeros(d, np.int64),
        vertex=np.zeros(d),
        columns=np.zeros((d + 1, d + 1)),
        shares=np.zeros(d + 1),
        wholes=np.zeros(d + 1),
        witness=np.zeros(d),
        fine=fine,
        has_twins=bool((flat.twins != np.arange(len(flat.twins))).any()),
    )


# --- patterns -------------------------------------------------------------------------------------


@kernel
def sort_keys(words, bits, neurons, keys):  # pragma: no cover - compiled
    """Write patterns such that they are sorted as whole numbers, first words first."""
    for i in range(len(words)):
        for w in range(keys.shape[1]):
            keys[i, w] = np.uint64(0)
        for j in range(neurons):
            piece = np.uint64(_piece(words[i], bits, j))
            for b in range(bits):
                at = j * bits + bits - 1 - b  # the highest bit of a neuron comes first
                bit = (piece >> np.uint64(b)) & np.uint64(1)
                keys[i, at >> 6] |= bit << np.uint64(63 - (at & 63))


@kernel
def gather_bits(words, ands, ors):  # pragma: no cover - compiled
    """Fill the trees of `SortedRegions`."""
    n = len(words)
    for w in range(words.shape[1]):
        for i in range(n):
            ands[n + i, w] = ors[n + i, w] = words[i, w]
        for i in range(n - 1, 0, -1):
            ands[i, w] = ands[2 * i, w] & ands[2 * i + 1, w]
            ors[i, w] = ors[2 * i, w] | ors[2 * i + 1, w]


@kernel(inner=True)
def _common_bits(regions, room, begin, end):  # pragma: no cover - compiled
    """Which bits all patterns from `begin` to `end` have, and which any of them has."""
    words, ands, ors = regions.patterns.words, room.ands, room.ors
    n = len(words)
    for w in range(words.shape[1]):
        every, some = words[begin, w], words[begin, w]
        if end - begin <= _FEW:
            for i in range(begin + 1, end):
                every &= words[i, w]
                some |= words[i, w]
        else:
            a, b = begin + n, end + n
            while a < b:
                if a & 1:
                    every &= regions.ands[a, w]
                    some |= regions.ors[a, w]
                    a += 1
                if b & 1:
                    b -= 1
                    every &= regions.ands[b, w]
                    some |= regions.ors[b, w]
                a >>= 1
                b >>= 1
        ands[w], ors[w] = every, some


@kernel(inner=True)
def _first_above(regions, neuron, piece, begin, end):  # pragma: no cover - compiled
    """The first of sorted patterns whose piece of a neuron is higher."""
    words, bits = regions.patterns.words, regions.patterns.bits
    while begin < end:
        middle = (begin + end) >> 1
        if _piece(words[middle], bits, neuron) > piece:
            end = middle
        else:
            begin = middle + 1
    return begin


# --- the path -------------------------------------------------------------------------------------


@kernel(inner=True)
def _append(flat, state, room, place, line, count):  # pragma: no cover - compiled
    """Append an inequality to the path."""
    found, d, row = state.inequalities, flat.inputs.shape[1] - 1, room.rows[count]
    largest = 0.0
    for c in range(d + 1):
        largest = max(largest, abs(found.rows[c, place]))
    for c in range(d + 1):
        row[c] = found.rows[c, place] / largest
    row[ERROR] = found.bounds[place] / largest + 4.0 * ROUND
    for c in range(d):
        room.slopes[c, count] = row[c]
    share = 0.6180339887498949 * (line + 1)
    room.offsets[count] = row[OFFSET] + _MOVED * (1.0 + share - np.floor(share))
    room.lines[count] = line
    room.central[count] = is_central(flat, state, place)


# --- the linear program ---------------------------------------------------------------------------


@kernel(sums="fused", inner=True)
def _start(room, count):  # pragma: no cover - compiled
    """Make the linear program ready: at the witness, if there is nothing better."""
    d = len(room.basis)
    if room.basis[0] == _RESTART:
        for i in range(d):
            room.basis[i] = _FREE
            room.point[i] = room.witness[i]
            for j in range(d):
                room.edges[i, j] = 1.0 if i == j else 0.0
    values = room.values
    for k in range(count):
        values[k] = room.offsets[k]
    _add_slopes(room, count, room.point, 1.0, values)
    for k in range(count):
        values[k] = values[k] if values[k] > 0.0 else 0.0
    for i in range(d):
        if room.basis[i] >= 0:
            values[room.basis[i]] = 0.0


@kernel(sums="fused", inner=True)
def _add_slopes(room, count, along, factor, to):  # pragma: no cover - compiled
    """Add how fast the path's rows change along a vector, times a factor."""
    for j in range(len(along)):
        slopes, step = room.slopes[j], factor * along[j]
        for k in range(count):
            to[k] += slopes[k] * step


@kernel(sums="fused", inner=True)
def _blocking(room, count, slot, sign):  # pragma: no cover - compiled
    """The first row of the path that is met along an edge, or -1."""
    d, edge, falls, values = len(room.basis), room.edges[slot], room.falls, room.values
    size = 0.0
    for j in range(d):
        size += abs(edge[j])
    for k in range(count):
        falls[k] = 0.0
    _add_slopes(room, count, edge, sign, falls)
    for i in range(d):
        if room.basis[i] >= 0:
            falls[room.basis[i]] = 0.0
    steps, nothing = room.steps, -_NOTHING * size
    for k in range(count):
        steps[k] = values[k] / -falls[k] if falls[k] < nothing else np.inf
    best, least = -1, np.inf
    for k in range(count):
        if steps[k] < least:
            best, least = k, steps[k]
    return best


@kernel(sums="fused", inner=True)
def _pivot(room, count, slot, sign, entering):  # pragma: no cover - compiled
    """Go along an edge to where a row of the path is met."""
    d, edges, row, values = len(room.basis), room.edges, room.rows[entering], room.values
    step = values[entering] / -room.falls[entering]
    for j in range(d):
        room.point[j] += sign * step * edges[slot, j]
    for k in range(count):
        value = values[k] + step * room.falls[k]
        values[k] = value if value > 0.0 else 0.0
    if room.basis[slot] >= 0:
        values[room.basis[slot]] = step
    room.basis[slot] = entering
    values[entering] = 0.0
    scale = sign / room.falls[entering]
    cost = room.costs[slot] * scale
    for j in range(d):
        edges[slot, j] *= scale
    for i in range(d):
        if i == slot:
            continue
        product = 0.0
        for j in range(d):
            product += row[j] * edges[i, j]
        for j in range(d):
            edges[i, j] -= product * edges[slot, j]
        room.costs[i] -= product * cost
    room.costs[slot] = cost


@kernel(sums="fused", inner=True)
def _minimise(room, count):  # pragma: no cover - compiled
    """Find the basis where ``room.goal`` is smallest on the path's cell; False if there is none."""
    d = len(room.basis)
    for i in range(d):
        room.costs[i] = 0.0
        for j in range(d):
            room.costs[i] += room.goal[j] * room.edges[i, j]
    for _ in range(_PIVOTS):
        slot, steepest, free = -1, 0.0, -1
        for i in range(d):
            size = 0.0
            for j in range(d):
                size += abs(room.edges[i, j])
            fall = -room.costs[i] / size
            if room.basis[i] == _FREE:
                free, fall = i, abs(fall)
                fall = fall + 1e6 if fall > _NOTHING else 0.0  # these leave first
            if fall > _NOTHING and fall > steepest:
                slot, steepest = i, fall
        if slot < 0 and free < 0:
            return True
        if slot < 0:
            slot = free
        sign = -1.0 if room.basis[slot] == _FREE and room.costs[slot] > 0.0 else 1.0
        entering = _blocking(room, count, slot, sign)
        if entering < 0 and slot == free and not steepest > 0.0:
            sign = -sign
            entering = _blocking(room, count, slot, sign)
        if entering < 0:
            return False
        _pivot(room, count, slot, sign, entering)
    return False


# --- the proof ------------------------------------------------------------------------------------


@kernel(sums="fused", inner=True)
def _prove_basis(flat, room):  # pragma: no cover - compiled
    """Work out the point and the edges of a basis with bounds on their errors; False in doubt."""
    d = len(room.basis)
    for i in range(d):
        for j in range(d):
            room.table[i, j] = room.edges[j, i]
    error, edge_error, sharp = prove_vertex(
        room.rows, room.basis, room.table, room.vertex, flat.rounding, d
    )
    if not sharp:
        if not invert(room.rows, room.basis, room.table, room.swaps, 0.0, d):
            return False
        error, edge_error, _ = prove_vertex(
            room.rows, room.basis, room.table, room.vertex, flat.rounding, d
        )
        for i in range(d):
            for j in range(d):
                room.edges[j, i] = room.table[i, j]
    if not error < np.inf:
        return False
    columns, size = room.columns, 1.0
    for j in range(d):
        columns[d, j] = room.vertex[j]
        size += abs(room.vertex[j])
    columns[d, d] = 1.0
    room.shares[d], room.wholes[d] = error, COVER_MORE * (size + d * error)
    for i in range(d):
        size = 0.0
        for j in range(d):
            columns[i, j] = room.table[j, i]
            size += abs(room.table[j, i])
        columns[i, d] = 0.0
        room.shares[i], room.wholes[i] = edge_error, COVER_MORE * (size + d * edge_error)
    return True


@kernel(sums="fused", inner=True)
def _try_claims(flat, state, room, claims):  # pragma: no cover - compiled
    """Find out which inequalities surely follow from the basis; 0 in ``claim_doubts`` if one does.

    It is not negative at the point of the basis, and along its edges: these are the constant and
    the factors of the combination.
    """
    d, rows, values, doubts = len(room.basis), room.claim_rows, room.claim_values, room.claim_doubts
    sizes, bounds = room.claim_sizes, room.claim_bounds
    for k in range(claims):
        doubts[k] = 0.0
    for column in range(d + 1):
        share, whole = room.shares[column], room.wholes[column]
        for k in range(claims):
            values[k] = 0.0
        for i in range(d + 1):
            row, factor = rows[i], room.columns[column, i]
            for k in range(claims):
                values[k] += row[k] * factor
        weight = 1.0 if column < d else _AT_THE_POINT
        for k in range(claims):
            doubts[k] += 0.0 if values[k] > sizes[k] * share + bounds[k] * whole else weight
    for k in range(claims):
        if doubts[k] == _AT_THE_POINT and _meet_at_origin(flat, state, room, room.claims[k]):
            doubts[k] = 0.0  # there it is 0


@kernel(sums="fused", inner=True)
def _surely_follows(flat, state, room, k):  # pragma: no cover - compiled
    """Whether an inequality follows from the basis; doubtful signs are worked out."""
    found, d, columns, place = state.inequalities, len(room.basis), room.columns, room.claims[k]
    for column in range(d + 1):
        value = 0.0
        for i in range(d + 1):
            value += found.rows[i, place] * columns[column, i]
        slack = found.sizes[place] * room.shares[column] + found.bounds[place] * room.wholes[column]
        if value > slack:
            continue
        if column == d and _meet_at_origin(flat, state, room, place):
            continue  # it is 0
        if value < -slack or not _is_positive(flat, state, room, place, column):
            return False
    return True


@kernel(inner=True)
def _meet_at_origin(flat, state, room, place):  # pragma: no cover - compiled
    """Whether an inequality and the rows of the basis all go through the origin for sure."""
    central = is_central(flat, state, place)
    for i in range(len(room.basis)):
        central = central and room.central[room.basis[i]]
    return central


@kernel(inner=True)
def _is_positive(flat, state, room, place, column):  # pragma: no cover - compiled
    """Whether an inequality is surely not negative at the point (column d), or along an edge."""
    d, fine = len(room.basis), room.fine
    for i in range(d):
        fine.places[i] = state.places[room.lines[room.basis[i]]]
        if fine.places[i] < 0:
            return False
    reference = INFINITY
    if column < d:
        reference = fine.places[column]
        fine.places[column] = INFINITY
    if find_spans(flat, state, fine) and is_spanned(flat, state, fine, place):
        return True
    if not fine.usable[0]:
        return False
    meet(flat, state, fine)
    # The point's weight is positive; along an edge the inequality that is left grows.
    sign = fine_sign(flat, state, fine, reference)
    if sign == -1:
        turn(fine)
    elif sign != 1:
        return False
    return fine_sign(flat, state, fine, place) in (0, 1)


@kernel(inner=True)
def _line_up(state, room, claims):  # pragma: no cover - compiled
    """Copy the inequalities that must follow, side by side."""
    found = state.inequalities
    for k in range(claims):
        place = room.claims[k]
        for i in range(len(room.claim_rows)):
            room.claim_rows[i, k] = found.rows[i, place]
        room.claim_sizes[k], room.claim_bounds[k] = found.sizes[place], found.bounds[place]
        room.claim_doubts[k] = 0.0


@kernel(inner=True)
def _take_out(room, k, claims):  # pragma: no cover - compiled
    """Put the last of the inequalities that must follow to place k; how many are left."""
    last = claims - 1
    room.claims[k], room.claim_doubts[k] = room.claims[last], room.claim_doubts[last]
    for i in range(len(room.claim_rows)):
        room.claim_rows[i, k] = room.claim_rows[i, last]
    room.claim_sizes[k], room.claim_bounds[k] = room.claim_sizes[last], room.claim_bounds[last]
    return last


@kernel(inner=True)
def _prove_twins(flat, state, room, proof, count, claims):  # pragma: no cover - compiled
    """Prove the inequalities that are multiples of one of the path; how many others are left.

    Twins are the same hyperplane on every pattern. They are on the same side of it if the signs of
    a coefficient say so, one that is larger than its error.
    """
    found, used, left = state.inequalities, proof.used, 0
    for c in range(claims):
        place, twin = room.claims[c], -1
        line = found.lines[place]
        for k in range(count):
            other = state.places[room.lines[k]]
            if flat.twins[room.lines[k]] == flat.twins[line] and other >= 0:
                for i in range(len(found.rows) - 1):
                    a, b = found.rows[i, place], found.rows[i, other]
                    if abs(a) > found.bounds[place] and abs(b) > found.bounds[other]:
                        twin = k if (a > 0.0) == (b > 0.0) else -1
                        break
                break
        if twin < 0:
            room.claims[left] = place
            left += 1
            continue
        proof.bases[used[BASES], :] = 0
        proof.bases[used[BASES], 0] = room.lines[twin]
        used[BASES] += 1
        used[SIGNS] += 1
    return left


@kernel(inner=True)
def _prove_claims(flat, state, room, proof, count, claims, region):  # pragma: no cover - compiled
    """Prove that inequalities follow from the path, or note that it is in doubt."""
    found, used, d = state.inequalities, proof.used, len(room.basis)
    before = used[BASES]
    if room.has_twins:
        claims = _prove_twins(flat, state, room, proof, count, claims)
    if claims > 0:
        _start(room, count)
        _line_up(state, room, claims)
    while claims > 0:
        # Next comes the one with the fewest doubts at the last basis: its own is nearby.
        k = 0
        for other in range(1, claims):
            if room.claim_doubts[other] < room.claim_doubts[k]:
                k = other
        place, largest = room.claims[k], 0.0
        for j in range(d):
            largest = max(largest, abs(found.rows[j, place]))
        largest = largest if largest > 0.0 else 1.0
        for j in range(d + 1):
            room.goal[j] = found.rows[j, place] / largest
        if (
            _minimise(room, count)
            and _prove_basis(flat, room)
            and _surely_follows(flat, state, room, k)
        ):
            for j in range(d):
                proof.bases[used[BASES], j] = room.lines[room.basis[j]]
            used[BASES] += 1
            used[SIGNS] += d + 1
            claims = _take_out(room, k, claims)
            _try_claims(flat, state, room, claims)
            for other in range(claims - 1, -1, -1):
                if room.claim_doubts[other] == 0.0:
                    claims = _take_out(room, other, claims)
                    used[SIGNS] += d + 1
            continue
        doubt = proof.doubts[used[DOUBTS]]
        doubt[AT], doubt[REGION], doubt[CLAIM] = used[COUNTS], region, found.lines[place]
        for j in range(count):
            proof.paths[used[PATHS] + j] = room.lines[j]
        used[PATHS] += count
        doubt[PATH_END] = used[PATHS]
        used[DOUBTS] += 1
        claims = _take_out(room, k, claims)
    proof.counts[used[COUNTS]] = used[BASES] - before
    used[COUNTS] += 1


# --- the tree -------------------------------------------------------------------------------------


@kernel(inner=True)
def _push(room, top, begin, end, layer, count, trail, line):  # pragma: no cover - compiled
    """Let a cell wait; how many do."""
    node = room.nodes[top]
    node[_BEGIN], node[_END], node[_LAYER] = begin, end, layer
    node[_PATH], node[_TRAIL], node[_LINE] = count, trail, line
    for i in range(len(room.basis)):
        room.node_bases[top, i], room.node_points[top, i] = room.basis[i], room.point[i]
        for j in range(len(room.basis)):
            room.node_edges[top, i, j] = room.edges[i, j]
    return top + 1


@kernel(inner=True)
def _enter(flat, state, room, count, line):  # pragma: no cover - compiled
    """Append the line that cuts out a cell to its path; False if its pattern has no such line."""
    place = state.places[line]
    if place < 0:
        return False
    _append(flat, state, room, place, line, count)
    if room.basis[0] != _RESTART:
        value = room.offsets[count]
        for j in range(len(room.point)):
            value += room.rows[count, j] * room.point[j]
        if value < 0.0:
            room.basis[0] = _RESTART
    return True


@kernel(inner=True)
def _find_claims(flat, state, room, layer, bits, trail):  # pragma: no cover - compiled
    """List what must follow from the path; how many, the end of the trail, a neuron that varies."""
    claims, varying, most = 0, -1, flat.breakpoints.shape[1]
    for j in range(flat.starts[layer] - flat.starts[1], flat.starts[layer + 1] - flat.starts[1]):
        if _piece(room.ands, bits, j) != _piece(room.ors, bits, j):
            varying = j if varying < 0 else varying
            continue
        for b in range(state.pattern[j] - 1, state.pattern[j] + 1):
            if b < 0 or b >= most or flat.breakpoints[j, b] == np.inf:
                continue
            line = flat.first_lines[j] + b
            if room.known[line]:
                continue
            room.known[line] = True
            room.trail[trail] = line
            trail += 1
            if state.places[line] >= 0:  # else the neuron is constant, and on its piece
                room.claims[claims] = state.places[line]
                claims += 1
    return claims, trail, varying


@kernel(inner=True)
def _is_inside(flat, state, room):  # pragma: no cover - compiled
    """Whether the witness is strictly inside the region."""
    found, size = state.inequalities, 1.0
    for i in range(len(room.witness)):
        size += abs(room.witness[i])
    if doubtful(found, room.witness, 1.0, 0.0, COVER_MORE * size) == 0:
        return True
    for layer in range(len(found.begins)):
        for place in range(found.begins[layer], found.ends[layer]):
            if not surely_positive(flat, state, room.fine, place, room.witness):
                return False
    return True


@kernel(sums="fused")
def prove_cells(flat, state, room, regions, proof, first, last):  # pragma: no cover - compiled
    """Prove all cells whose first patterns are in a part of the list, in the order of the tree.

    Parameters are a `FilterNetwork`, `PatternState`, `TreeRoom`, `SortedRegions` and `TreeProof`;
    `first` and `last` say which part.

    Returns
    -------
    int
        `DONE`; `FULL`, if there is not enough room for the proof: with a `larger` one the next call
        goes on; `WRONG`, if a pattern is.
    """
    layers, d, used = len(flat.starts) - 2, flat.inputs.shape[1] - 1, proof.used
    bits, count = regions.patterns.bits, flat.domain_lines
    top, trail = room.stopped[_WAITING], room.stopped[_KNOWN]
    room.stopped[:] = 0
    if top == 0:
        used[:] = 0
        proof.inside[:] = False
        room.known[:] = False
        for k in range(count):
            _append(flat, state, room, k, k + 1, k)
        room.basis[0] = _RESTART
        top, trail = _push(room, 0, 0, len(regions.patterns.words), 1, count, 0, 0), 0
    while top > 0:
        top -= 1
        node = room.nodes[top]
        begin, end, layer = node[_BEGIN], node[_END], node[_LAYER]
        count, line = node[_PATH], node[_LINE]
        while trail > node[_TRAIL]:
            trail -= 1
            room.known[room.trail[trail]] = False
        for i in range(d):
            room.basis[i], room.point[i] = room.node_bases[top, i], room.node_points[top, i]
            for j in range(d):
                room.edges[i, j] = room.node_edges[top, i, j]
        signs = go_to(flat, state, regions.patterns, begin)
        if signs < 0 or end == begin:
            return WRONG
        if line > 0:
            if not _enter(flat, state, room, count, line):
                return WRONG
            room.known[line], room.trail[trail] = True, line
            count, trail = count + 1, trail + 1
        _common_bits(regions, room, begin, end)
        before = trail
        claims, trail, varying = _find_claims(flat, state, room, layer, bits, trail)
        scaled(regions.witnesses[begin], regions.unscale, room.witness)
        if begin >= first and trail > before:
            if (
                used[BASES] + claims > len(proof.bases)
                or used[COUNTS] == len(proof.counts)
                or used[DOUBTS] + claims > len(proof.doubts)
                or used[PATHS] + claims * count > len(proof.paths)
            ):
                room.stopped[_WAITING], room.stopped[_KNOWN] = top + 1, trail
                return FULL
            _prove_claims(flat, state, room, proof, count, claims, begin)
        if varying >= 0:
            piece = state.pattern[varying]
            line = flat.first_lines[varying] + piece
            middle = _first_above(regions, varying, piece, begin, end)
            if middle < last and end > first:
                top = _push(room, top, middle, end, layer, count, trail, line)
            if middle > first:
                top = _push(room, top, begin, middle, layer, count, trail, line)
        elif layer < layers:
            top = _push(room, top, begin, end, layer + 1, count, trail, 0)
        elif begin >= first:
            proof.inside[begin - first] = _is_inside(flat, state, room)
            used[SIGNS] += signs
    return DONE
