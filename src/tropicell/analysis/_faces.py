"""Kernels that make a complex of regions: which facets are the same, which corners lie on which.

Docs: docs/exactness.md, "Faces". A *half-facet* is a facet as one region sees it; two of them are
one facet. Corners of regions that share a facet are the same where they lie on the same lines: that
glues all corners into vertices. In the plane not even that is needed, since the corners of a
polygon are in order. Faces of a region are sets of its corners, found from the top: the facets of a
face are its largest intersections with facets of the region.

A corner's *mask* says on which facets of its region it lies: bit 0 is the hyperplane at infinity,
bit i + 1 the region's facet i; masks have as many words as the largest of them needs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import bit_count, kernel
from tropicell.analysis._flips import FlipRoom, _behind, load_pattern, write_row, write_rows
from tropicell.geometry.rounding import INFLATE, ROUND

#: What is behind a half-facet: the domain ends there; or it takes exact arithmetic to tell.
OUTSIDE, UNSURE = -1, -2

#: At a corner every facet but its d is so many times larger than what it may be wrong by.
_APART = 4.0

_ONE = np.uint64(1)
_NONE = np.uint64(0)


# --- which half-facets are one facet --------------------------------------------------------------


@kernel
def match_facets(flips: Any, known: Any, facets: Any, ends: Any, part: Any, other: Any) -> int:
    """For the half-facets of some regions the other half.

    Parameters
    ----------
    flips : FlipLines
    known : KnownPatterns
    facets, ends : ndarray
        Lines of all facets, and where those of each region end.
    part : tuple
        Which regions (the first one, and the one after the last); room for one pattern.
    other : ndarray, shape (half-facets,)
        Gets the other half, or `OUTSIDE`, or `UNSURE`.

    Returns
    -------
    int
        How many are `UNSURE`.
    """
    first, last, query = part
    unsure = 0
    for region in range(first, last):
        for h in range(ends[region - 1] if region else 0, ends[region]):
            line = int(facets[h])
            if line < flips.first:
                other[h] = OUTSIDE
                continue
            other[h] = UNSURE
            line = int(flips.twin[line])
            behind = _behind(flips, known, region, line, query)
            if behind >= 0:
                for g in range(ends[behind - 1] if behind else 0, ends[behind]):
                    if flips.twin[facets[g]] == line:
                        other[h] = g
            unsure += other[h] == UNSURE
    return unsure


# --- polygons -------------------------------------------------------------------------------------


@kernel
def walk_polygons(rays: Any, corner_ends: Any, facet_ends: Any, start: Any, end: Any) -> int:
    """The corners between which each half-facet of a polygon runs, counter-clockwise.

    Parameters
    ----------
    rays : ndarray of bool, shape (corners,)
        Whether a corner is a ray. Corners are in order around each region, and half-facet i runs
        from corner i to the next one; the line at infinity is none of them.
    corner_ends, facet_ends : ndarray
        Where the corners and half-facets of each region end.
    start, end : ndarray, shape (half-facets,)
        Get the corners.

    Returns
    -------
    int
        A region whose corners and facets do not fit together; -1 if they all do.
    """
    for region in range(len(corner_ends)):
        first = corner_ends[region - 1] if region else 0
        n = corner_ends[region] - first
        h = facet_ends[region - 1] if region else 0
        for i in range(n):
            following = first + (i + 1 if i + 1 < n else 0)
            if rays[first + i] and rays[following]:
                continue  # the line at infinity
            if h == facet_ends[region]:
                return region
            start[h], end[h] = first + i, following
            h += 1
        if h != facet_ends[region] or n < 3:
            return region
    return -1


@kernel(inner=True)
def _root(parent: Any, i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return int(i)


@kernel(inner=True)
def _join(parent: Any, i: int, j: int) -> None:
    """The smaller number stands for both."""
    i, j = _root(parent, i), _root(parent, j)
    if i < j:
        parent[j] = i
    elif j < i:
        parent[i] = j


@kernel
def glue_polygons(other: Any, start: Any, end: Any, parent: Any) -> None:
    """Join the corners of half-facets that are one: the end of each is the start of the other."""
    for h in range(len(other)):
        g = other[h]
        if g > h:
            _join(parent, start[h], end[g])
            _join(parent, end[h], start[g])


@kernel
def number_classes(parent: Any, rays: Any, labels: Any) -> tuple[int, int]:
    """Number the classes of corners, vertices first, in the order of their first corners.

    Returns how many there are, vertices and rays; `parent` is spoilt.
    """
    vertices = 0
    total = 0
    for turn in range(2):
        for i in range(len(parent)):
            if rays[i] != (turn == 1):
                continue
            root = _root(parent, i)
            if root == i:
                labels[i] = total
                total += 1
            else:
                labels[i] = labels[root]
        if turn == 0:
            vertices = total
    return vertices, total


# --- on which facets the corners of a region lie --------------------------------------------------


class CornerRoom(NamedTuple):
    """What one thread needs.

    Attributes
    ----------
    flip : FlipRoom
    place : ndarray, shape (lines,)
        Which row is that of a line.
    rows : ndarray, shape (facets, inputs + 1)
        The rows of the facets.
    errors : ndarray, shape (facets,)
        What their coefficients may be wrong by.
    chosen : ndarray, shape (inputs,)
        The facets on which a corner seems to lie.
    matrix, inverse : ndarray, shape (inputs, inputs)
    offsets, point, apart : ndarray, shape (inputs,)
    """

    flip: FlipRoom
    place: IntArray
    rows: FloatArray
    errors: FloatArray
    chosen: IntArray
    matrix: FloatArray
    inverse: FloatArray
    offsets: FloatArray
    point: FloatArray
    apart: FloatArray


def corner_room(flip: FlipRoom, facets: int) -> CornerRoom:
    """Room for one thread, for regions with at most so many facets."""
    d = len(flip.point)
    return CornerRoom(
        flip,
        place=np.zeros(len(flip.lines) + 1, np.int64),
        rows=np.zeros((facets, d + 1)),
        errors=np.zeros(facets),
        chosen=np.zeros(d, np.int64),
        matrix=np.zeros((d, d)),
        inverse=np.zeros((d, d)),
        offsets=np.zeros(d),
        point=np.zeros(d),
        apart=np.zeros(d),
    )


@kernel
def prove_corners(
    flat: Any, flips: Any, patterns: Any, corners: Any, facets: Any, part: Any, found: Any
) -> None:
    """On which facets the corners of some regions lie, where each surely lies on d facets only.

    Parameters
    ----------
    flat : FlatNetwork
    flips : FlipLines
    patterns : tuple
        Packed patterns of all regions, and the bits of a neuron.
    corners : tuple
        Corners in homogeneous coordinates, and where those of each region end. They are sharpened.
    facets : tuple
        Lines of all facets, and where those of each region end.
    part : tuple
        Which regions (the first one, and the one after the last); a `CornerRoom`.
    found : tuple
        Gets the masks of the corners; how far these may be off, in scaled coordinates; and of
        every region whether all that is proved.
    """
    words, bits = patterns
    points, ends = corners
    lines, line_ends = facets
    first, last, room = part
    masks, radii, proved = found
    flip, d, scale = room.flip, len(room.point), flat.lines.scale
    flip.maps.changes[:] = -1
    for region in range(first, last):
        load_pattern(flat, words[region], bits, region == first, flip)
        count = write_rows(flat, flips, flip)
        for k in range(count):
            room.place[flip.lines[k]] = k
        begin = line_ends[region - 1] if region else 0
        m = line_ends[region] - begin
        for f in range(m):
            k = room.place[lines[begin + f]]
            for c in range(d + 1):
                room.rows[f, c] = flip.rows[k, c]
            room.errors[f] = flip.errors[k]
        start = ends[region - 1] if region else 0
        good = True
        for i in range(start, ends[region]):
            good = good and _prove_corner(room, points[i], scale, m)
            if not good:
                break
            ray = points[i, d] == 0.0
            for w in range(masks.shape[1]):
                masks[i, w] = _NONE
            if ray:
                masks[i, 0] = _ONE
            for j in range(d - 1 if ray else d):
                f = room.chosen[j] + 1
                masks[i, f >> 6] |= _ONE << np.uint64(f & 63)
            radius = 0.0
            for c in range(d):
                points[i, c] = room.point[c] / scale[c]
                radius = max(radius, room.apart[c] + ROUND * abs(room.point[c]))
            radii[i] = radius
            for other in range(start, i):
                good = good and not _same(masks, i, other)
        proved[region] = good


@kernel
def sharpen_vertices(
    flat: Any, flips: Any, patterns: Any, vertices: Any, part: Any, found: Any
) -> None:
    """Vertices that are given by d lines of a region, as sharp as float64 can have them.

    Parameters
    ----------
    flat : FlatNetwork
    flips : FlipLines
    patterns : tuple
        Packed patterns of all regions, and the bits of a neuron.
    vertices : tuple
        Which vertices, in the order of their regions; the regions of all vertices; their lines,
        shape (vertices, d).
    part : tuple
        Which of them (the first one, and the one after the last); a `CornerRoom`.
    found : tuple
        Points and their radii, which become smaller where that is proved.
    """
    words, bits = patterns
    order, owners, lines = vertices
    first, last, room = part
    points, radii = found
    flip, d, scale = room.flip, len(room.point), flat.lines.scale
    flip.maps.changes[:] = -1
    for i in range(first, last):
        v = order[i]
        region = owners[v]
        if i == first or region != owners[order[i - 1]]:
            load_pattern(flat, words[region], bits, i == first, flip)
        for j in range(d):
            write_row(flat, flips, flip, lines[v, j], j)
            room.chosen[j], room.errors[j] = j, flip.errors[j]
            room.point[j] = points[v, j] * scale[j]
            for c in range(d):
                room.matrix[j, c] = flip.rows[j, c]
            room.offsets[j] = flip.rows[j, d]
        if not _locate(room, 1.0, d):
            continue
        better = True
        for c in range(d):
            radius = (room.apart[c] + 2.0 * ROUND * abs(room.point[c])) / scale[c] * INFLATE
            better = better and radius < radii[v, c]
        if better:
            for c in range(d):
                points[v, c] = room.point[c] / scale[c]
                radii[v, c] = (
                    (room.apart[c] + 2.0 * ROUND * abs(room.point[c])) / scale[c] * INFLATE
                )


@kernel(inner=True)
def _same(masks: Any, i: int, j: int) -> bool:
    for w in range(masks.shape[1]):
        if masks[i, w] != masks[j, w]:
            return False
    return True


@kernel(inner=True)
def _prove_corner(room: Any, corner: Any, scale: Any, m: int) -> bool:
    """Find the facets of one corner; whether it surely lies on these and no others.

    The corner is where d rows are 0; of a ray, where the slopes of d - 1 rows are 0 and one
    coordinate is 1 or -1. As in docs/exactness.md, "Volumes".
    """
    rows, errors, x, chosen = room.rows, room.errors, room.point, room.chosen
    matrix, offsets, apart = room.matrix, room.offsets, room.apart
    d = len(x)
    w = corner[d]
    largest, pivot = 0.0, 0
    for c in range(d):
        x[c] = corner[c] * scale[c]
        if abs(x[c]) > largest:
            largest, pivot = abs(x[c]), c
    if not (largest < np.inf and (largest > 0.0 or w != 0.0)):
        return False
    if w == 0.0:
        for c in range(d):
            x[c] /= largest
    need = d if w != 0.0 else d - 1
    if m < need:
        return False
    for j in range(need):  # the smallest rows
        best, least = -1, np.inf
        for f in range(m):
            taken = False
            for b in range(j):
                taken |= chosen[b] == f
            if taken:
                continue
            value = rows[f, d] * w
            for c in range(d):
                value += rows[f, c] * x[c]
            if abs(value) < least:
                best, least = f, abs(value)
        if best < 0:
            return False
        chosen[j] = best
        for c in range(d):
            matrix[j, c] = rows[best, c]
        offsets[j] = rows[best, d] * w
    if need < d:
        for c in range(d):
            matrix[d - 1, c] = 0.0
        matrix[d - 1, pivot] = 1.0
        offsets[d - 1] = -1.0 if x[pivot] > 0.0 else 1.0
    if not _locate(room, w, need):
        return False
    reach = abs(w)
    for c in range(d):
        reach += abs(x[c])
    for f in range(m):
        on = False
        for j in range(need):
            on |= chosen[j] == f
        if on:
            continue
        value = rows[f, d] * w
        size = abs(value)
        for c in range(d):
            term = rows[f, c] * x[c]
            value += term
            size += abs(term)
        error = errors[f] * reach + (d + 4) * ROUND * size
        for c in range(d):
            error += (abs(rows[f, c]) + errors[f]) * apart[c]
        if not value > _APART * error * INFLATE:
            return False
    return True


@kernel(inner=True)
def _locate(room: Any, w: float, need: int) -> bool:
    """Go to where all rows of `matrix` are 0, and say how far from there the point may be.

    The first `need` rows are those of the facets in `chosen`, and have their errors.
    """
    errors, x, chosen = room.errors, room.point, room.chosen
    matrix, inverse, offsets, apart = room.matrix, room.inverse, room.offsets, room.apart
    d = len(x)
    if not _invert(matrix, inverse):
        return False
    for _ in range(2):  # two steps nearer to it
        for c in range(d):
            apart[c] = offsets[c]
            for i in range(d):
                apart[c] += matrix[c, i] * x[i]
        for c in range(d):
            for i in range(d):
                x[c] -= inverse[c, i] * apart[i]
    reach = abs(w)
    for c in range(d):
        reach += abs(x[c])
    gap, defect = 0.0, 0.0
    for i in range(d):
        value, size, error = offsets[i], abs(offsets[i]), errors[chosen[i]] if i < need else 0.0
        for c in range(d):
            term = matrix[i, c] * x[c]
            value += term
            size += abs(term)
        gap = max(gap, abs(value) + error * reach + (d + 4) * ROUND * size)
        total = 0.0
        for j in range(d):
            product, size, column = -1.0 if i == j else 0.0, 1.0, 0.0
            for c in range(d):
                term = matrix[i, c] * inverse[c, j]
                product += term
                size += abs(term)
                column += abs(inverse[c, j])
            total += abs(product) + (d + 4) * ROUND * size + error * column
        defect = max(defect, total * INFLATE)
    if not defect < 0.5:
        return False
    for c in range(d):  # the corner is at most so far away
        total = 0.0
        for i in range(d):
            total += abs(inverse[c, i])
        apart[c] = total * gap / (1.0 - defect) * INFLATE
    return True


@kernel(inner=True)
def _invert(matrix: Any, inverse: Any) -> bool:
    """Write the inverse, as well as float64 can; False where that fails. The matrix stays."""
    d = len(matrix)
    # The columns of the inverse are solved for one after the other, on a copy in `inverse` itself:
    # Gauss and Jordan in place, with rows exchanged by size.
    for i in range(d):
        for j in range(d):
            inverse[i, j] = matrix[i, j]
    # `order[k]` of the textbook is kept in bits: at most 16 rows of 4 bits each.
    if d > 16:
        return False
    order = _NONE
    for k in range(d):
        best, size = k, abs(inverse[k, k])
        for i in range(k + 1, d):
            if abs(inverse[i, k]) > size:
                best, size = i, abs(inverse[i, k])
        if not size > 1e-14:
            return False
        order |= np.uint64(best) << np.uint64(4 * k)
        if best != k:
            for j in range(d):
                inverse[k, j], inverse[best, j] = inverse[best, j], inverse[k, j]
        pivot = 1.0 / inverse[k, k]
        inverse[k, k] = 1.0
        for j in range(d):
            inverse[k, j] *= pivot
        for i in range(d):
            if i != k:
                factor = inverse[i, k]
                inverse[i, k] = 0.0
                for j in range(d):
                    inverse[i, j] -= factor * inverse[k, j]
    for back in range(d):
        k = d - 1 - back
        best = int(order >> np.uint64(4 * k) & np.uint64(15))
        if best != k:
            for i in range(d):
                inverse[i, k], inverse[i, best] = inverse[i, best], inverse[i, k]
    return True


# --- gluing corners of regions that share a facet -------------------------------------------------


@kernel
def glue_corners(
    twin: Any,
    other: Any,
    owner: Any,
    corners: Any,
    facets: Any,
    parent: Any,
    doubtful: Any,
    room: Any,
) -> int:
    """Join the corners of half-facets that are one, where they lie on the same lines.

    Parameters
    ----------
    twin : ndarray, shape (lines,)
        The first of the lines that are the same.
    other, owner : ndarray, shape (half-facets,)
        Their other halves, and their regions.
    corners : tuple
        The masks of all corners, and where those of each region end.
    facets : tuple
        Lines of all facets, and where those of each region end.
    parent : ndarray, shape (corners,)
        The forest of classes.
    doubtful : ndarray of bool, shape (half-facets,)
        Gets the smaller of two halves whose corners lie on different lines.
    room : tuple
        Scratch: a number for every line, 0 to begin with, and one mask.

    Returns
    -------
    int
        How many are doubtful.
    """
    masks, ends = corners
    lines, line_ends = facets
    # Of lines the bit of the second region's facet; a corner's mask, as that region would have it.
    place, seen = room
    left = 0
    for h in range(len(other)):
        g = other[h]
        doubtful[h] = False
        if g < h:
            continue
        a, b = owner[h], owner[g]
        at_a, at_b = line_ends[a - 1] if a else 0, line_ends[b - 1] if b else 0
        bit_a, bit_b = h - at_a + 1, g - at_b + 1
        first_b, last_b = ends[b - 1] if b else 0, ends[b]
        for i in range(at_b, line_ends[b]):
            place[twin[lines[i]]] = i - at_b + 1
        good, count = True, 0
        for i in range(ends[a - 1] if a else 0, ends[a]):
            if not _has(masks, i, bit_a):
                continue
            count += 1
            n = _translate(twin, masks[i], lines, at_a, line_ends[a], place, seen)
            match = -1
            for j in range(first_b, last_b):
                if _has(masks, j, bit_b) and _on_same_lines(seen, n, masks[j]):
                    match = j
                    break
            if match < 0:
                good = False
                break
            _join(parent, i, match)
        for j in range(first_b, last_b):
            count -= _has(masks, j, bit_b)
        for i in range(at_b, line_ends[b]):
            place[twin[lines[i]]] = 0
        if not good:
            doubtful[h] = True
            left += 1
        elif count != 0:
            return -1 - h
    return left


@kernel(inner=True)
def _has(masks: Any, i: int, bit: int) -> bool:
    return bool(masks[i, bit >> 6] >> np.uint64(bit & 63) & _ONE)


@kernel(inner=True)
def _translate(
    twin: Any, mask: Any, lines: Any, first: int, last: int, place: Any, seen: Any
) -> int:
    """Write a corner's mask with the bits of another region; returns how many it has itself."""
    n = int(mask[0] & _ONE)
    for w in range(len(seen)):
        seen[w] = _NONE
    seen[0] = mask[0] & _ONE
    for f in range(1, last - first + 1):
        if mask[f >> 6] >> np.uint64(f & 63) & _ONE:
            n += 1
            bit = place[twin[lines[first + f - 1]]]
            if bit:
                seen[bit >> 6] |= _ONE << np.uint64(bit & 63)
    return n


@kernel(inner=True)
def _on_same_lines(seen: Any, n: int, mask: Any) -> bool:
    """Whether all lines of one corner are lines of the other: on a common facet they are one."""
    if seen[0] & _ONE != mask[0] & _ONE:
        return False
    own, common = 0, 0
    for w in range(len(mask)):
        own += bit_count(mask[w])
        common += bit_count(mask[w] & seen[w])
    return bool(common == min(n, own))


# --- all faces of a region ------------------------------------------------------------------------


class LatticeRoom(NamedTuple):
    """Faces of one region, level by level.

    Attributes
    ----------
    facets : ndarray of uint64, shape (facets + 1, words)
        The corners on each facet, and on the hyperplane at infinity (the first).
    candidates : ndarray of uint64, shape (facets + 1, words)
        Intersections of a face with facets.
    sets : ndarray of uint64, shape (levels, faces, words)
        The corners of each face.
    counts : ndarray, shape (levels,)
        How many faces there are so far.
    """

    facets: NDArray[np.uint64]
    candidates: NDArray[np.uint64]
    sets: NDArray[np.uint64]
    counts: IntArray


def lattice_room(d: int, facets: int, corners: int, faces: int) -> LatticeRoom:
    """Room for regions with so many facets, corners, and faces of a dimension."""
    words = -(-corners // 64)
    return LatticeRoom(
        np.zeros((facets + 1, words), np.uint64),
        np.zeros((facets + 1, words), np.uint64),
        np.zeros((d + 1, faces, words), np.uint64),
        np.zeros(d + 1, np.int64),
    )


@kernel
def list_faces(
    d: int, corners: Any, facet_ends: Any, part: Any, faces: Any, sides: Any, totals: Any
) -> int:
    """The faces of some regions of dimensions 1 … d - 1, each with the faces that bound it.

    Faces at infinity are left out. Facets are in the order of the half-facets, corners likewise.

    Parameters
    ----------
    d : int
    corners : tuple
        The masks of all corners, and where those of each region end.
    facet_ends : ndarray
    part : tuple
        Which regions (the first one, and the one after the last); a `LatticeRoom`.
    faces : ndarray, shape (d, faces)
        Gets where the sides of each face end, for each dimension.
    sides : ndarray, shape (d, sides)
        Gets the sides: numbers of faces of one dimension less, counted from the first region of
        the part; of an edge numbers of corners (rays included), likewise.
    totals : ndarray, shape (d, 2)
        How many faces and sides there are; to begin with, none.

    Returns
    -------
    int
        The region for which there was no room; the one after the last if there was.
    """
    masks, ends = corners
    first, last, room = part
    sets, counts = room.sets, room.counts
    words = room.facets.shape[1]
    base = ends[first - 1] if first else 0
    for region in range(first, last):
        start = ends[region - 1] if region else 0
        n = ends[region] - start
        m = facet_ends[region] - (facet_ends[region - 1] if region else 0)
        for f in range(m + 1):
            for w in range(words):
                room.facets[f, w] = _NONE
            for i in range(n):
                if _has(masks, start + i, f):
                    room.facets[f, i >> 6] |= _ONE << np.uint64(i & 63)
        for k in range(d + 1):
            counts[k] = 0
        if m > sets.shape[1] or totals[d - 1, 0] + m > faces.shape[1]:
            return region
        for f in range(m):
            for w in range(words):
                sets[d - 1, f, w] = room.facets[f + 1, w]
        counts[d - 1] = m
        for k in range(d - 1, 0, -1):
            below = totals[k - 1, 0]
            for face in range(counts[k]):
                at = totals[k, 1]
                if k == 1:
                    for i in range(n):
                        if sets[1, face, i >> 6] >> np.uint64(i & 63) & _ONE:
                            if at == sides.shape[1]:
                                return region
                            sides[1, at] = start + i - base
                            at += 1
                else:
                    kept = _maximal(room, sets[k, face], m)
                    for i in range(kept):
                        if _at_infinity(room.facets[0], room.candidates[i]):
                            continue
                        which = _number(sets[k - 1], counts, k - 1, room.candidates[i])
                        if which < 0 or at == sides.shape[1]:
                            return region
                        sides[k, at] = below + which
                        at += 1
                if totals[k, 0] == faces.shape[1]:
                    return region
                totals[k, 1] = at
                faces[k, totals[k, 0]] = at
                totals[k, 0] += 1
    return int(last)


@kernel(inner=True)
def _at_infinity(infinity: Any, face: Any) -> bool:
    """Whether all corners of a face are rays."""
    for w in range(len(face)):
        if face[w] & ~infinity[w] != _NONE:
            return False
    return True


@kernel(inner=True)
def _maximal(room: Any, face: Any, m: int) -> int:
    """The largest intersections of a face with facets, less than all of it: how many there are."""
    candidates, words, kept = room.candidates, room.facets.shape[1], 0
    for f in range(m + 1):
        empty, whole = True, True
        for w in range(words):
            common = room.facets[f, w] & face[w]
            candidates[kept, w] = common
            empty &= common == _NONE
            whole &= common == face[w]
        if empty or whole:
            continue
        # Is it contained in one that is kept, or does it contain some?
        inside, at = False, 0
        for c in range(kept):
            within, around = True, True
            for w in range(words):
                within &= candidates[kept, w] & ~candidates[c, w] == _NONE
                around &= candidates[c, w] & ~candidates[kept, w] == _NONE
            if within:
                inside = True
                break
            if not around:
                if at != c:
                    for w in range(words):
                        candidates[at, w] = candidates[c, w]
                at += 1
        if inside:
            continue
        if at != kept:
            for w in range(words):
                candidates[at, w] = candidates[kept, w]
        kept = at + 1
    return kept


@kernel(inner=True)
def _number(sets: Any, counts: Any, level: int, face: Any) -> int:
    """The number of a face on its level; a new one if it is not there; -1: there is no room."""
    for i in range(counts[level]):
        same = True
        for w in range(len(face)):
            if sets[i, w] != face[w]:
                same = False
                break
        if same:
            return i
    if counts[level] == sets.shape[0]:
        return -1
    for w in range(len(face)):
        sets[counts[level], w] = face[w]
    counts[level] += 1
    return int(counts[level] - 1)


@kernel
def gather(ends: Any, sides: Any, below: Any, found: Any) -> None:
    """What faces have from their sides.

    Parameters
    ----------
    ends, sides : ndarray
        The sides of each face.
    below : tuple
        Of the sides: masks, whether they are unbounded, regions.
    found : tuple
        Gets the same of the faces: what all masks have in common, whether one is unbounded, the
        region.
    """
    masks, rays, owners = below
    to, is_open, regions = found
    at = 0
    for face in range(len(ends)):
        regions[face] = owners[sides[at]]
        is_open[face] = False
        for w in range(masks.shape[1]):
            to[face, w] = masks[sides[at], w]
        while at < ends[face]:
            side = sides[at]
            is_open[face] |= rays[side]
            for w in range(masks.shape[1]):
                to[face, w] &= masks[side, w]
            at += 1


@kernel
def count_lines(masks: Any, counts: Any) -> None:
    """How many facets masks have."""
    for i in range(len(masks)):
        total = -int(masks[i, 0] & _ONE)
        for w in range(masks.shape[1]):
            total += bit_count(masks[i, w])
        counts[i] = total


@kernel
def write_lines(masks: Any, owners: Any, lines: Any, line_ends: Any, to: Any) -> None:
    """Write the lines of the facets that masks have, one mask after the other."""
    at = 0
    for i in range(len(masks)):
        region = owners[i]
        first = line_ends[region - 1] if region else 0
        for f in range(line_ends[region] - first):
            if _has(masks, i, f + 1):
                to[at] = lines[first + f]
                at += 1


@kernel
def two_smallest(ends: Any, sides: Any, ids: Any, keys: Any) -> None:
    """For each face the two smallest numbers of its sides; they are those of no other face."""
    at = 0
    for face in range(len(ends)):
        small, next_one = np.int64(2**62), np.int64(2**62)
        while at < ends[face]:
            side = ids[sides[at]]
            if side < small:
                small, next_one = side, small
            elif side < next_one:
                next_one = side
            at += 1
        keys[face, 0], keys[face, 1] = small, next_one


# --- orientation ----------------------------------------------------------------------------------


def ridge_room(count: int) -> tuple[NDArray[Any], ...]:
    """Scratch of `orient`: in which two sides each of them is, its signs, the face."""
    return (
        np.empty(count, np.int32),
        np.empty(count, np.int32),
        np.empty(count, np.int8),
        np.empty(count, np.int64),
    )


@kernel
def orient(ends: Any, sides: Any, below: Any, signs: Any, scratch: Any, ridges: Any) -> int:
    """Signs of the sides of each face, such that the boundary of its boundary is 0.

    The first side of each face has the sign 1.

    Parameters
    ----------
    ends, sides : ndarray
        The sides of each face.
    below : tuple
        Of the sides, their own sides (ends, numbers, signs).
    signs : ndarray of int8
        Gets the signs.
    scratch : ndarray, shape (at least the most sides of a face,)
    ridges : tuple of ndarray
        Scratch for the sides of sides (`ridge_room`).

    Returns
    -------
    int
        A face whose sides do not close; -1: there is none.
    """
    low_ends, low, low_signs = below
    first, second, turn, stamp = ridges
    stamp[:] = -1
    for face in range(len(ends)):
        begin, end = ends[face - 1] if face else 0, ends[face]
        if begin == end:
            continue
        # Each side of a side is one of two sides of the face.
        for i in range(begin, end):
            signs[i] = 0
            p = sides[i]
            for r in range(low_ends[p - 1] if p else 0, low_ends[p]):
                ridge = low[r]
                if stamp[ridge] != face:
                    stamp[ridge] = face
                    first[ridge], second[ridge], turn[ridge] = i - begin, -1, -low_signs[r]
                elif second[ridge] < 0:
                    second[ridge] = i - begin
                    turn[ridge] *= low_signs[r]
                else:
                    return face
        signs[begin] = 1
        scratch[0] = begin
        done, known = 0, 1
        while done < known:
            i = scratch[done]
            done += 1
            p = sides[i]
            for r in range(low_ends[p - 1] if p else 0, low_ends[p]):
                ridge = low[r]
                if second[ridge] < 0:
                    continue  # unbounded: the rest is at infinity
                j = begin + first[ridge]
                if j == i:
                    j = begin + second[ridge]
                sign = signs[i] * turn[ridge]
                if signs[j] == 0:
                    signs[j] = sign
                    scratch[known] = j
                    known += 1
                elif signs[j] != sign:
                    return face
        if known != end - begin:
            return face
    return -1


@kernel
def agree(ends: Any, facets: Any, signs: Any, other: Any, queue: Any, turned: Any) -> int:
    """Turn regions over until each facet has different signs in its two regions.

    Parameters
    ----------
    ends : ndarray
        Where the half-facets of each region end.
    facets : ndarray
        The region of each half-facet.
    signs : ndarray of int8, shape (half-facets,)
        Are changed.
    other : ndarray, shape (half-facets,)
    queue, turned : ndarray, shape (regions,)
        Scratch; `turned` is 0 to begin with, and 1 or -1 in the end.

    Returns
    -------
    int
        A region that can't be oriented; -1: there is none.
    """
    for seed in range(len(ends)):
        if turned[seed] != 0:
            continue
        turned[seed] = 1
        queue[0] = seed
        done, known = 0, 1
        while done < known:
            region = queue[done]
            done += 1
            for h in range(ends[region - 1] if region else 0, ends[region]):
                g = other[h]
                if g < 0:
                    continue
                behind = facets[g]
                sign = -turned[region] * signs[h] * signs[g]
                if turned[behind] == 0:
                    turned[behind] = sign
                    queue[known] = behind
                    known += 1
                elif turned[behind] != sign:
                    return int(region)
    for region in range(len(ends)):
        if turned[region] < 0:
            for h in range(ends[region - 1] if region else 0, ends[region]):
                signs[h] = -signs[h]
    return -1


@kernel
def loops(ends: Any, sides: Any, signs: Any, edges: Any, to: Any) -> int:
    """The vertices of bounded polygons, in order.

    Parameters
    ----------
    ends, sides, signs : ndarray
        The sides of each polygon.
    edges : ndarray, shape (edges, 2)
        Where each edge starts and ends.
    to : ndarray, shape (sides,)
        Gets the vertices.

    Returns
    -------
    int
        A polygon that is not closed; -1: there is none.
    """
    for face in range(len(ends)):
        begin, end = ends[face - 1] if face else 0, ends[face]
        if begin == end:
            continue
        e = sides[begin]
        to[begin], here = (
            (edges[e, 0], edges[e, 1]) if signs[begin] > 0 else (edges[e, 1], edges[e, 0])
        )
        for at in range(begin + 1, end):
            to[at] = here
            found = False
            for i in range(begin + 1, end):
                e = sides[i]
                if edges[e, 0 if signs[i] > 0 else 1] == here:
                    here = edges[e, 1 if signs[i] > 0 else 0]
                    found = True
                    break
            if not found:
                return face
        if here != to[begin]:
            return face
    return -1
