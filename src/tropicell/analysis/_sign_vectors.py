"""A kernel that says which neurons are at their breakpoints at vertices of regions."""

from __future__ import annotations

from typing import Any

from tropicell._runtime.jit import kernel
from tropicell.analysis._flips import load_pattern, value_of, write_rows
from tropicell.geometry.rounding import INFLATE, ROUND

#: What is known of a line at a vertex: it does not go through it, it does, nobody knows.
APART, THROUGH, DOUBTFUL = 0, 1, 2


@kernel
def lines_at(flat: Any, flips: Any, patterns: Any, vertices: Any, room: Any, found: Any) -> None:
    """Which lines go through some vertices.

    Parameters
    ----------
    flat : FlatNetwork
    flips : FlipLines
    patterns : tuple
        Packed patterns of all regions, and the bits of a neuron.
    vertices : tuple
        A region of each vertex (vertices of one region in a row); coordinates; how far they may be
        off; the lines of that region's facets on which each lies, and where these end.
    room : FlipRoom
    found : ndarray of uint8, shape (vertices, lines)
        Gets what is known; infinity is not looked at.
    """
    words, bits = patterns
    owners, points, radii, lines, ends = vertices
    scale, d = flat.lines.scale, flat.lines.dimension
    room.maps.changes[:] = -1
    count, x = 0, room.point
    for v in range(len(owners)):
        if v == 0 or owners[v] != owners[v - 1]:
            load_pattern(flat, words[owners[v]], bits, v == 0, room)
            count = write_rows(flat, flips, room)
        reach = 1.0
        for c in range(d):
            x[c] = points[v, c] * scale[c]
            reach += abs(x[c]) + radii[v, c] * scale[c]
        for line in range(found.shape[1]):
            found[v, line] = APART
        for k in range(count):
            value, size = value_of(room.rows, k, x, d)
            error = room.errors[k] * reach + (d + 4) * ROUND * size
            for c in range(d):
                error += abs(room.rows[k, c]) * radii[v, c] * scale[c]
            if not abs(value) > error * INFLATE:
                found[v, room.lines[k]] = DOUBTFUL
        for i in range(ends[v - 1] if v else 0, ends[v]):
            twin = flips.twin[lines[i]]
            found[v, lines[i]] = THROUGH
            for k in range(flips.start[twin], flips.start[twin + 1]):
                if found[v, flips.members[k]] == DOUBTFUL:
                    found[v, flips.members[k]] = THROUGH
