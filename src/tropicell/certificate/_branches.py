"""The tree of all patterns: what floating point with error bounds can prove about its cells."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.parts import in_parts
from tropicell._runtime.progress import bar_of
from tropicell.certificate._filter import Ground, hinted
from tropicell.certificate._flat import FilterNetwork, PatternTable, new_state
from tropicell.geometry.arithmetic import FLOAT
from tropicell.network.maps import NetworkMaps
from tropicell.regions.columns import PackedPatterns

if TYPE_CHECKING:
    from tropicell.certificate._tree import TreeProof
    from tropicell.regions.regions import Regions

#: Regions of a part.
_AT_ONCE = 2048

#: Regions whose cells say what the tree takes: one of so many, at most so many in all.
_PROBED, _MOST_PROBED = 16, 256

#: Regions whose corners are looked at, about how many of these, how near a boundary they are on
#: it, and the part of them in which no more boundaries meet than must.
_LOOKED_AT, _MOST_POINTS, _NEAR, _MOSTLY = 32, 200, 1e-9, 0.95

#: What a basis of the tree takes, in signs of an inequality at a corner of a region: in space, and
#: beyond, where the other proof has no kernels of its own.
_BASIS_IN_SPACE, _BASIS = 1000, 150


@dataclass(frozen=True, eq=False)
class TreeProofs:
    """What proves that no region is missing: see `tropicell.certificate._tree`.

    Attributes
    ----------
    bases : ndarray, shape (bases, inputs)
        Lines, as in `tropicell.network.inequalities`, filled up with 0.
    counts : ndarray
        How many of them each cell has, cell by cell in the order of the tree; cells in which
        nothing has to be proved are left out.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [[1.0, 1.0]]], [[0, 9], [0]])
    >>> regions = enumerate_regions(network, Box(-1, 1), engine="halfspaces")
    >>> regions.certify().proofs.counts.tolist()  # the second neuron is on, by the box
    [1]
    """

    bases: NDArray[np.int32]
    counts: NDArray[np.int32]


class Implication(NamedTuple):
    """An inequality that should follow from those of a cell: a region in it, lines of both."""

    region: int
    line: int
    path: NDArray[np.int32]


class TreeFound(NamedTuple):
    """What was proved.

    Attributes
    ----------
    proofs : TreeProofs
    doubts : dict of int to list of Implication
        What was not, by its cell's place in ``proofs.counts``.
    inside : ndarray of bool, shape (regions,)
        Whether witnesses are inside.
    signs : int
        Signs that were decided.
    """

    proofs: TreeProofs
    doubts: dict[int, list[Implication]]
    inside: NDArray[np.bool_]
    signs: int

    def with_bases(self, more: dict[int, list[list[int]]]) -> TreeProofs:
        """The proofs, and more bases for some cells."""
        counts, bases = self.proofs.counts.copy(), self.proofs.bases
        rows = [basis + [0] * (bases.shape[1] - len(basis)) for at in more for basis in more[at]]
        where = np.repeat(np.cumsum(counts)[list(more)], [len(some) for some in more.values()])
        for at, some in more.items():
            counts[at] += len(some)
        return TreeProofs(np.insert(bases, where, rows, axis=0) if rows else bases, counts)


def suits(regions: Regions) -> bool:
    """Whether the tree is the cheaper proof."""
    network = regions.network
    if network.n_inputs < 2 or not len(regions) or not network.depth:
        return False
    # In the plane, corners and facets that an engine hands over make the other proof cheaper.
    return network.n_inputs > 2 or hinted(regions, "facet_lines") is None


def prove_tree(
    regions: Regions, workers: int, progress: bool | None = False, ground: Ground | None = None
) -> TreeFound | None:
    """Prove as much of the tree as floating point can; None if another proof is better.

    Parameters
    ----------
    regions : Regions
        With patterns that are all different.
    workers : int
        Number of threads.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; None: if standard error is a
        terminal.
    ground : Ground, optional
        That of the regions, if there is one.
    """
    from tropicell._runtime.jit import Entry  # noqa: PLC0415 - Numba
    from tropicell.certificate._signs import fine_signs  # noqa: PLC0415 - Numba
    from tropicell.certificate._tree import (  # noqa: PLC0415 - Numba
        DONE,
        FULL,
        SIGNS,
        SortedRegions,
        gather_bits,
        larger,
        new_tree,
        new_tree_proof,
        prove_cells,
    )

    ground = ground or Ground(regions)
    exact = regions.witnesses.dtype == object
    witnesses, scale, flat = ground.witnesses, ground.scale, ground.flat
    if flat is None or not np.isfinite(witnesses).all():
        return None
    order = sorted_order(regions.packed)
    words = np.ascontiguousarray(regions.packed.words[order])
    count, inputs = len(words), regions.network.n_inputs
    ands, ors = np.empty((2, 2 * count, words.shape[1]), np.uint64)
    gather_bits(words, ands, ors)
    table = PatternTable(words, regions.packed.bits, np.zeros(1, np.int64))
    columns = SortedRegions(table, ands, ors, witnesses[order], 1.0 / scale)
    whole, moduli = ground.whole
    mine, entry = threading.local(), Entry(prove_cells)
    parts: dict[int, TreeProof] = {}

    def work(part: slice) -> None:
        if not hasattr(mine, "room"):
            fine = fine_signs(flat, whole, moduli)
            mine.room = new_state(flat), new_tree(flat, words.shape[1], fine)
            most = min(_AT_ONCE, count)
            mine.proof = new_tree_proof(most, inputs, 2 * most + 1024)
        while (
            ended := entry(flat, *mine.room, columns, mine.proof, part.start, part.stop)
        ) == FULL:
            mine.proof = larger(mine.proof)
        if ended == DONE:
            parts[part.start] = _trimmed(mine.proof, part.stop - part.start)
        bar.update(part.stop - part.start)

    probed = min(_MOST_PROBED, max(1, count // _PROBED)) if _has_facets(ground, flat) else 0
    with bar_of(count + probed, " regions", progress) as bar:
        if probed:
            work(slice(start := (count - probed) // 2, start + probed))
            probe = parts.pop(start, None)
            if probe is None or _facets_are_cheaper(ground, len(probe.bases) / probed):
                return None
        in_parts(work, count, workers, _AT_ONCE)
    if len(parts) < -(-count // _AT_ONCE):
        return None
    found = [parts[start] for start in sorted(parts)]
    inside = np.empty(count, np.bool_)
    inside[order] = np.concatenate([part.inside for part in found]) & (not exact)
    proofs = TreeProofs(
        np.concatenate([part.bases for part in found]),
        np.concatenate([part.counts for part in found]),
    )
    signs = sum(int(part.used[SIGNS]) for part in found)
    return TreeFound(proofs, _doubts(found, order), inside, signs)


def _has_facets(ground: Ground, flat: FilterNetwork) -> bool:
    """Whether regions could be proved by facets and corners that an engine handed over.

    In space; in more dimensions if hardly more than d boundaries meet in any corner. Twins are 0 at
    many corners, which takes that proof long.
    """
    inputs = ground.regions.network.n_inputs
    twins = (flat.twins[1:] != np.arange(1, len(flat.twins))).any()
    if inputs < 3 or ground.facet_lines is None or ground.corners is None or twins:
        return False
    return inputs == 3 or _are_simple(ground.regions)


def _are_simple(regions: Regions) -> bool:
    """Whether d boundaries, no more, meet in nearly all corners of some regions: a guess.

    Each corner where more of them meet is the vertex of many bases.
    """
    corners, network = hinted(regions, "corners"), regions.network
    assert corners is not None
    looked_at = np.unique(np.linspace(0, len(regions) - 1, _LOOKED_AT).astype(np.int64))
    points = np.concatenate([corners[k] for k in looked_at.tolist()])
    points = points[points[:, -1] != 0.0, :-1]
    points = points[:: max(1, len(points) // _MOST_POINTS)]
    a, b = regions.domain.inequalities(network.n_inputs)
    maps = NetworkMaps(network, FLOAT)
    with np.errstate(all="ignore"):
        slack = np.abs(a) @ np.abs(points.T) + np.abs(b)[:, None]
        meet = (np.abs(a @ points.T - b[:, None]) <= _NEAR * slack).sum(axis=0)
        values, one = maps.values(points)
        columns = [values]
        for layer in range(1, network.depth + 1):
            before = maps.before(layer, columns, one)
            breakpoints = maps.activation(layer)[0][:, :, None]
            away = np.abs(before[:, None] - breakpoints)
            meet += (away <= _NEAR * np.abs(before).max(axis=0, initial=0.0)).sum(axis=(0, 1))
            pieces = (before[:, None] > breakpoints).sum(axis=1)
            columns.append(maps.after(layer, before, pieces, one))
    return bool(len(points) and np.mean(meet == network.n_inputs) > _MOSTLY)


def _facets_are_cheaper(ground: Ground, bases: float) -> bool:
    """Whether all inequalities at all corners take less than so many bases of the tree a region."""
    regions, corners = ground.regions, ground.corners
    assert corners is not None
    signs = len(corners.values) / len(regions) * regions.network.n_neurons
    each = _BASIS_IN_SPACE if regions.network.n_inputs == 3 else _BASIS
    return signs < each * bases


def sorted_order(packed: PackedPatterns) -> NDArray[np.intp]:
    """How to sort patterns, neuron by neuron."""
    from tropicell.certificate._tree import sort_keys  # noqa: PLC0415 - Numba

    words = np.ascontiguousarray(packed.words)
    keys = np.empty_like(words)
    sort_keys(words, packed.bits, packed.neurons, keys)
    return np.lexsort(keys.T[::-1])


def _trimmed(proof: TreeProof, regions: int) -> TreeProof:
    """A copy of what is used for a part's proof."""
    from tropicell.certificate._tree import (  # noqa: PLC0415 - Numba
        BASES,
        COUNTS,
        DOUBTS,
        PATHS,
        TreeProof,
    )

    used = proof.used
    return TreeProof(
        used=used.copy(),
        bases=proof.bases[: used[BASES]].copy(),
        counts=proof.counts[: used[COUNTS]].copy(),
        doubts=proof.doubts[: used[DOUBTS]].copy(),
        paths=proof.paths[: used[PATHS]].copy(),
        inside=proof.inside[:regions].copy(),
    )


def _doubts(parts: list[TreeProof], order: NDArray[np.intp]) -> dict[int, list[Implication]]:
    """`TreeFound.doubts`."""
    found: dict[int, list[Implication]] = {}
    cells = 0
    for part in parts:
        begin = 0
        for at, region, line, end in part.doubts.tolist():
            claim = Implication(int(order[region]), line, part.paths[begin:end])
            found.setdefault(cells + at, []).append(claim)
            begin = end
        cells += len(part.counts)
    return found
