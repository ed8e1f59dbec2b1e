"""Allocation of the kernels' arrays, and the way cells go in and regions come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tropicell._runtime.interruption import check
from tropicell._runtime.memory import Blueprint
from tropicell.engines import tuning
from tropicell.engines._unit_kernels import RESULT_SIZE, pattern_rows
from tropicell.engines.cells._exact_cells import ExactCell, polygon, ray_basis
from tropicell.engines.cells._focus import no_focus
from tropicell.engines.cells._signs import fine_room
from tropicell.engines.cells._state import (
    BIT_WORDS,
    CONE_SIDES_ROWS,
    INFINITE,
    MASK_ROWS,
    MOST_AT_ONCE,
    MOST_COUNTED,
    MOST_FACETS,
    POLYGON_SIZE,
    RECORD_SIZE,
    SIDES_ROWS,
    STATE_SIZE,
    TERM_PLACES,
    UNSURE,
    Arrangement,
    CellBatch,
    CellRoom,
    ConeStack,
    PlaneStack,
    Seeds,
    Unsure,
)
from tropicell.engines.cells._where import where_room
from tropicell.network._layer_maps import layer_maps, spare
from tropicell.network._plain_maps import PlainMaps, plain_maps
from tropicell.network._residues import Moduli, moduli_of
from tropicell.network.flat import FlatNetwork
from tropicell.regions.columns import PackedPatterns

#: Cells for exact arithmetic that a kernel has room for.
_UNSURE_CELLS = 1024

#: Records of a stack, at first.
_RECORDS = 256

#: Arrays of a stack whose length has a meaning.
_FIXED = (
    "rows",
    "frame",
    "frame_lines",
    "frame_sizes",
    "places",
    "masks",
    "levels",
    "open_bits",
    "sides",
    "minors",
    "terms",
    "pivots",
    "margin",
    "square",
    "axes",
    "fine",
    "arrangement",
    "focus",
    "halt",
)

#: Dimensions for which the kernels of cones are compiled apart.
_COMPILED_FOR = (3, 4)

#: A cell that needs exact arithmetic: layer, pattern before it, its pieces, facets, and the
#: boundaries that may cross it.
UnsureCell = tuple[int, bytes, bytearray, list[int], list[int]]


# --- all arrays of a worker -----------------------------------------------------------------------


def room_for(
    flat: FlatNetwork,
    exact: bool,
    store: bool,
    bits: int,
    *,
    residues: bool = True,
    functions: int = 0,
    grains: Sequence[int] | None = None,
) -> Blueprint[CellRoom]:
    """How to make what a worker needs.

    `residues`: whether its rows may be known modulo primes; `functions`: how many describe the
    wanted set; `grains`: those of the terms, if they are known.

    Kernels write numbers before they read them. With float arithmetic they read error bounds of 0
    that nobody writes; and places of other things are 0 at first, so that a unit from a damaged
    file does not lead anywhere.
    """
    d, moduli = flat.dimension, moduli_of(flat, exact=exact and residues, terms=grains)

    def make(unused: Callable[[Any], Any]) -> CellRoom:
        def free(array: Any) -> Any:
            return unused(array) if exact else array

        return CellRoom(
            maps=layer_maps(d, flat.maps.row_start, exact=exact, free=free),
            stack=(
                plane_stack(flat, moduli, free)
                if d == 2
                else cone_stack(
                    flat,
                    moduli,
                    # Where regions are stored, every frame is made of finer rows anyway.
                    plain_maps(
                        flat.maps,
                        exact=exact,
                        free=free,
                        domain=flat.lines.domain_rows,
                        carried=not store,
                    ),
                    Arrangement(*map(unused, arrangement_arrays(d, store))),
                    free,
                )
            ),
            out=CellBatch(*map(unused, batch_arrays(flat, store, bits))),
            unsure=Unsure(*map(unused, unsure_arrays(flat))),
            where=where_room(d, flat.rows, flat.width, flat.depth, functions),
            state=np.zeros(STATE_SIZE, np.int64),
            result=np.zeros(RESULT_SIZE, np.int64),
        )

    return Blueprint(make)


def plane_stack(flat: FlatNetwork, moduli: Moduli, free: Callable[[Any], Any]) -> PlaneStack:
    """Stack of the plane kernel; it grows when the kernel asks for it. For `free`: `Blueprint`."""
    zeros = np.zeros
    width, lines = flat.width, flat.most_lines
    corners = 1024 + 4 * len(flat.lines.domain_rows)
    return PlaneStack(
        records=zeros((_RECORDS, RECORD_SIZE), np.int64),
        corners=free(zeros((corners, POLYGON_SIZE))),
        tags=zeros(corners, np.int64),
        conflicts=zeros(16 * lines + 64, np.int64),
        patterns=zeros(64 * width + 64, np.uint8),
        facets=zeros(0, np.int64),
        table=zeros((0, POLYGON_SIZE)),
        table_labels=zeros(0, np.int64),
        old_corners=free(zeros((corners, POLYGON_SIZE))),
        old_tags=zeros(corners, np.int64),
        values=free(zeros(corners)),
        handed=zeros(lines + 8, np.int64),
        sides=free(zeros((SIDES_ROWS, width))),
        margin=np.array([lines, width]),
        fine=fine_room(flat, moduli, _minor_terms(2), free),
        focus=no_focus(),
    )


def joined(room: CellRoom) -> CellRoom:
    """Let the rows that rays are tested against be those of the maps, unless they are plain."""
    maps, stack = room.maps, room.stack
    if not isinstance(stack, ConeStack) or len(stack.rows.errors):
        return room
    rows = stack.rows._replace(before=maps.before, pattern=maps.pattern)
    return room._replace(stack=stack._replace(rows=rows))


def cone_stack(
    flat: FlatNetwork,
    moduli: Moduli,
    rows: PlainMaps,
    arrangement: Arrangement,
    free: Callable[[Any], Any],
) -> ConeStack:
    """Stack of the cone kernel; it grows when the kernel asks for it. For `free`: `Blueprint`."""
    zeros = np.zeros
    d = flat.dimension
    width, lines = flat.width, flat.most_lines
    rays = 1024
    words = max(1, -(-lines // 64))
    total = len(flat.lines.line_row)

    def places() -> Any:
        return zeros(rays, np.int64)

    def sets() -> Any:
        return zeros(rays, np.uint64)

    return ConeStack(
        records=zeros((_RECORDS, RECORD_SIZE), np.int64),
        corners=places(),
        tags=sets(),
        conflicts=zeros(16 * lines + 64, np.int64),
        patterns=zeros(64 * width + 64, np.uint8),
        facets=zeros(2048, np.int64),
        table=free(zeros((256, d + 2))),
        table_labels=zeros(256, np.int64),
        rays=free(zeros((rays, d + 2))),
        bases=zeros((rays, d), np.int64),
        rows=rows,
        bits=zeros((rays, BIT_WORDS * words), np.uint64),
        frame=free(zeros((total, d + 3))),
        frame_lines=zeros(total, np.int64),
        frame_sizes=zeros(flat.depth + 2, np.int64),
        places=zeros(total, np.int64),
        old_corners=places(),
        old_tags=sets(),
        low_corners=places(),
        low_tags=sets(),
        on_corners=places(),
        on_tags=sets(),
        new_tags=sets(),
        masks=zeros((MASK_ROWS, words), np.uint64),
        section_bits=zeros((rays, BIT_WORDS), np.uint64),
        section_tags=sets(),
        section_values=zeros((rays, MOST_COUNTED + spare(MOST_COUNTED))),
        section_errors=free(zeros(rays)),
        levels=zeros(d + 1, np.int64),
        open_bits=zeros(d + 1, np.uint64),
        values=free(zeros(rays)),
        handed=zeros(lines + 8, np.int64),
        sides=free(zeros((CONE_SIDES_ROWS, width + spare(width)))),
        minors=zeros(1 << (d + 1)),
        terms=_minor_terms(d),
        pivots=zeros((MOST_FACETS + 2, d + 2)),
        margin=np.array([lines, width]),
        faces=zeros((d + 3, rays), np.int64),
        square=zeros((d, d)),
        fine=fine_room(flat, moduli, _minor_terms(d), free),
        arrangement=arrangement,
        axes=tuple(range(d)) if d in _COMPILED_FOR else (),
        halt=zeros(1, np.uint8),
    )


def arrangement_arrays(d: int, store: bool) -> Arrangement:
    """Room for what boundaries make of a cell; none if regions are not stored."""
    regions = points = MOST_AT_ONCE if store else 0
    corners, facets = 16 * regions, MOST_FACETS if store else 0

    def numbers(*shape: int) -> Any:
        return np.zeros(shape, np.int64)

    def sets(*shape: int) -> Any:
        return np.zeros(shape, np.uint64)

    return Arrangement(
        rays=numbers(points),
        tags=sets(points),
        sides=sets(BIT_WORDS, points),
        errors=np.zeros(facets),
        squares=np.zeros(facets),
        table_at=numbers(facets),
        edges=numbers(corners),
        crossing=sets(corners),
        places=np.zeros((points, d + 1)),
        rows=numbers(MOST_COUNTED),
        table=numbers(4 * regions),
        keys=sets(regions),
        ends=numbers(regions),
        shares=np.zeros(regions),
        used=sets(regions),
        middles=np.zeros((regions, max(d, 4))),
        signs=np.zeros(facets),
        labels=numbers(facets),
        facet_rows=np.zeros((d + 2, facets + 8)),
        order=numbers(points),
        spare=numbers(points),
        pairs=numbers(corners),
        corners=numbers(corners),
    )


@cache
def _minor_terms(d: int) -> Any:
    """Laplace expansion of all minors of d rows of length d + 1, column sets as bits.

    Every term is (row, column, columns of the smaller minor, columns of the minor, sign): see
    `TERM_ROW`.
    """
    terms = []
    for columns in sorted(range(1, 1 << (d + 1)), key=int.bit_count):
        check()
        row = columns.bit_count() - 1
        if row >= d:
            continue
        members = [c for c in range(d + 1) if columns >> c & 1]
        for place, c in enumerate(members):
            sign = 1 if (row + place) % 2 == 0 else -1
            terms.append((row, c, columns ^ (1 << c), columns, sign))
    return np.array(terms, np.int64).reshape(-1, TERM_PLACES)


def batch_arrays(flat: FlatNetwork, store: bool, bits: int) -> CellBatch:
    """Buffers for regions whose patterns have so many bits a neuron; tiny ones for counting.

    They are not cleared: memory that is not used costs nothing.
    """
    neurons = flat.neurons
    d = flat.dimension
    now = tuning.current
    n = min(now.batch_regions, max(64, now.batch_bytes // max(neurons, 1))) if store else 1
    corners = max(n * (8 if d <= 3 else 24), 4096) if store else 1
    return CellBatch(
        words=np.empty((n, PackedPatterns.words_for(neurons, bits)), np.uint64),
        witnesses=np.empty((n, d)),
        bounded=np.empty(n, np.bool_),
        volumes=np.empty(n),
        vertices=np.empty((corners, d + 1)),
        places=np.empty(corners, np.int32),
        vertex_counts=np.empty(n, np.int64),
        lines=np.empty(corners, np.int32),
        facet_counts=np.empty(n, np.int64),
        pattern=pattern_rows(1, neurons)[0],
    )


def unsure_arrays(flat: FlatNetwork) -> Unsure:
    """Buffers for the cells that need exact arithmetic."""
    neurons = flat.neurons
    lines = flat.most_lines
    n = max(16, min(_UNSURE_CELLS, tuning.current.batch_bytes // max(neurons, 1)))
    return Unsure(
        layers=np.empty(n, np.int64),
        patterns=np.empty((n, neurons), np.uint8),
        labels=np.empty(64 * n + 4 * len(flat.lines.domain_rows), np.int64),
        facet_ends=np.empty(n, np.int64),
        conflicts=np.empty(4 * lines + 16 * n, np.int64),
        conflict_ends=np.empty(n, np.int64),
    )


def grown(arrays: Any) -> Any:
    """The same arrays, twice as long, contents kept."""
    larger = {}
    for name, array in zip(arrays._fields, arrays, strict=True):
        if name in _FIXED:
            larger[name] = array
        elif name == "faces":
            larger[name] = np.zeros((array.shape[0], 2 * array.shape[1]), np.int64)
        else:
            larger[name] = twice(array)
    return type(arrays)(**larger)


def twice(array: Any) -> Any:
    """An array of twice the length that begins with the old one."""
    return np.concatenate([array, np.zeros_like(array)])


# --- cells in and out -----------------------------------------------------------------------------


def plane_seeds(flat: FlatNetwork, cells: Sequence[ExactCell]) -> Seeds:
    """Seeds for the plane kernel from pointed cells."""
    neurons = flat.neurons
    patterns = np.zeros((len(cells), neurons), np.uint8)
    labels: list[int] = []
    ends: list[int] = []
    infinite: list[float] = []
    for k, cell in enumerate(cells):
        patterns[k, : len(cell.pattern)] = np.frombuffer(cell.pattern, np.uint8)
        order = polygon(cell.cone)
        labels += [cell.cone.labels[f] for f in order]
        ends.append(len(labels))
        corners = dict(zip(cell.cone.tight, cell.cone.rays, strict=True))
        for i, f in enumerate(order):
            infinite.append(float(corners[1 << f | 1 << order[i - 1]][-1] == 0))
    return Seeds(
        layers=np.array([cell.layer for cell in cells], np.int64),
        patterns=patterns.ravel(),
        labels=np.array(labels, np.int64),
        facet_ends=np.array(ends, np.int64),
        bases=np.zeros((0, flat.dimension), np.int64),
        signs=np.array(infinite),
        tight=np.zeros(0, np.uint64),
        ray_ends=np.zeros(len(cells), np.int64),
    )


def cone_seeds(flat: FlatNetwork, cells: Sequence[ExactCell]) -> Seeds:
    """Seeds for the cone kernel from pointed cells."""
    neurons = flat.neurons
    d = flat.dimension
    patterns = np.zeros((len(cells), neurons), np.uint8)
    labels: list[int] = []
    ends, ray_ends, tight = [], [], []
    bases: list[list[int]] = []
    signs: list[float] = []
    for k, cell in enumerate(cells):
        patterns[k, : len(cell.pattern)] = np.frombuffer(cell.pattern, np.uint8)
        labels += cell.cone.labels
        ends.append(len(labels))
        for ray, bits in zip(cell.cone.rays, cell.cone.tight, strict=True):
            basis, sign = ray_basis(cell.cone, ray, bits)
            bases.append(basis)
            signs.append(sign)
            tight.append(bits | (int(INFINITE) if ray[-1] == 0 else 0))
        ray_ends.append(len(tight))
    return Seeds(
        layers=np.array([cell.layer for cell in cells], np.int64),
        patterns=patterns.ravel(),
        labels=np.array(labels, np.int64),
        facet_ends=np.array(ends, np.int64),
        bases=np.array(bases, np.int64).reshape(-1, d),
        signs=np.array(signs),
        tight=np.array(tight, np.uint64),
        ray_ends=np.array(ray_ends, np.int64),
    )


def unsure_cells(flat: FlatNetwork, unsure: Unsure, state: Any) -> list[UnsureCell]:
    """The cells handed out."""
    found = []
    facets = conflicts = 0
    for k in range(int(state[UNSURE])):
        layer = int(unsure.layers[k])
        prefix, end = flat.first_neuron(layer), flat.first_neuron(layer + 1)
        pattern = unsure.patterns[k].tobytes()
        facet_end, conflict_end = int(unsure.facet_ends[k]), int(unsure.conflict_ends[k])
        found.append(
            (
                layer,
                pattern[:prefix],
                bytearray(pattern[prefix:end]),
                unsure.labels[facets:facet_end].tolist(),
                unsure.conflicts[conflicts:conflict_end].tolist(),
            )
        )
        facets, conflicts = facet_end, conflict_end
    return found
