"""Sub-complexes: closures of faces, and what an affine function of the outputs cuts out.

On every face the function is affine, so all is known from its signs at vertices and along unbounded
edges. These signs are proved: by float64 with bounds, or in rationals. What the cut looks like is
combinatorics. A face F on which both signs occur is cut into F⁻, where the function is at most 0,
and F⁺; between them lies F⁰, of one dimension less. The sides of F⁻ are those of F that have a
negative part, and F⁰. The sides of F⁰ are those faces G⁰ that belong to sides G of F, and the
faces of F of two dimensions less on which the function is 0. Docs: docs/exactness.md, "Faces".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.analysis.chosen import is_whole, numbers_of
from tropicell.analysis.cut_functions import CutFunction, ExactRows
from tropicell.analysis.faces import Sides
from tropicell.analysis.map_bounds import has_tame_outputs, output_bounds
from tropicell.analysis.residues import fingerprints, residues
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import to_floats, to_fractions, to_rationals
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network.flat import flatten, is_tame
from tropicell.network.network import Network
from tropicell.regions.columns import Ragged

if TYPE_CHECKING:
    from tropicell.analysis.complex import Complex

#: What is known of a face: the function is positive somewhere, negative somewhere; it grows along
#: an unbounded edge, stays the same, falls.
_UP, _DOWN, _GROWS, _STAYS, _FALLS = 1, 2, 4, 8, 16

#: Which part of a cut is kept.
Part = Literal["zero", "below", "both"]

#: Regions whose maps are worked out at once.
_AT_ONCE = 1 << 16

#: So many regions with one map are looked at together.
_FEW = 4


# --- closures -------------------------------------------------------------------------------------


def closure(whole: Complex, chosen: Mapping[int, ArrayLike]) -> Complex:
    """The smallest sub-complex that has some faces of each dimension."""
    counts = [len(sides.ends) for sides in whole.sides]
    masks = [np.zeros(count, np.bool_) for count in counts]
    for k, some in chosen.items():
        if not is_whole(k) or not 0 <= k < len(counts):
            raise InvalidInputError(f"there are no faces of dimension {k!r}")
        masks[k][numbers_of(some, counts[k], f"faces of dimension {k}")] = True
    for k in range(len(counts) - 1, 0, -1):
        kept = np.flatnonzero(masks[k])
        sides = whole.sides[k]
        masks[k - 1][sides.faces[Ragged(sides.faces, sides.ends).places(kept)]] = True
    return _restricted(whole, masks)


def _restricted(whole: Complex, masks: list[NDArray[np.bool_]]) -> Complex:
    """The faces of some masks, which are closed."""
    while len(masks) > 1 and not masks[-1].any():
        masks = masks[:-1]
    sides, unbounded, carriers, levels = [], [], [], []
    numbers = np.empty(0, np.int64)
    for k, mask in enumerate(masks):
        kept = np.flatnonzero(mask)
        own = whole.sides[k]
        ragged = Ragged(own.faces, own.ends)
        places = ragged.places(kept)
        below = numbers[own.faces[places]] if k else own.faces[places]
        sides.append(Sides(np.cumsum(ragged.counts[kept]), below, own.signs[places]))
        numbers = np.cumsum(mask) - 1
        unbounded.append(whole.unbounded[k][kept])
        dims, faces = whole.carriers[k]
        carriers.append((dims[kept], faces[kept]))
        levels.append(whole.on_levels[k][kept])
    directions = whole.directions[masks[1]] if len(masks) > 1 else whole.directions[:0]
    return replace(
        whole,
        vertices=whole.vertices[masks[0]],
        radii=whole.radii[masks[0]],
        sides=sides,
        unbounded=unbounded,
        carriers=carriers,
        on_levels=levels,
        directions=directions,
        direction_errors=whole.direction_errors[masks[1] if len(masks) > 1 else slice(0)],
    )


# --- signs of a function --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LevelSigns:
    """A function at the vertices of a complex, and along its unbounded edges.

    Attributes
    ----------
    signs : ndarray of int8, shape (vertices,)
        Proved.
    values, errors : ndarray, shape (vertices,)
        Values in float64, and what they may be wrong by.
    slopes : ndarray of int8, shape (edges,)
        Whether the function grows along unbounded edges: 1, 0 or -1; 0 for other edges.
    rates : ndarray, shape (edges,)
        How fast, about.
    """

    signs: NDArray[np.int8]
    values: FloatArray
    errors: FloatArray
    slopes: NDArray[np.int8]
    rates: FloatArray


def level_signs(complex_: Complex, level: CutFunction, *, sharp: bool = False) -> LevelSigns:
    """The signs of a function on a complex, all of them proved.

    `sharp`: the values are wanted as exact as float64 can have them, too.
    """
    _check_outputs(complex_, level)
    owners = complex_.owners(0)
    maps = _LevelMaps(complex_, level, owners)
    rows, errors = maps.of(owners)
    x, radii = complex_.vertices, complex_.radii
    if sharp:
        old = complex_.carriers[0][0] == 0
        which, (points, off) = complex_.carriers[0][1][old], complex_.faces.sharp
        x, radii = x.copy(), radii.copy()
        x[old], radii[old] = points[which], off[which]
    with np.errstate(over="ignore", invalid="ignore"):
        terms = rows[:, :-1] * x
        values = terms.sum(axis=1) + rows[:, -1]
        sizes = np.abs(terms).sum(axis=1) + np.abs(rows[:, -1])
        bound = (np.abs(rows[:, :-1]) * radii).sum(axis=1)
        bound += (errors[:, :-1] * (np.abs(x) + radii)).sum(axis=1) + errors[:, -1]
        bound += (x.shape[1] + 4) * ROUND * sizes
        bound = bound * INFLATE + 1e-300
        sure = np.abs(values) > bound
    signs = np.where(sure, np.sign(values), 0).astype(np.int8)
    if not sure.all():
        known = _vanishing(complex_, level, owners, sure)
        exact = ExactRows(complex_)
        left = np.flatnonzero(~sure & ~known)
        values[known], bound[known] = 0.0, 0.0
        for v in left[np.argsort(owners[left], kind="stable")].tolist():
            check()
            point = exact.vertex(v)
            row = exact.level_row(level)
            value = row[:-1] @ point + row[-1]
            signs[v] = (value > 0) - (value < 0)
            values[v], bound[v] = float(to_floats(np.array([value]))[0]), 0.0
            bound[v] = 2 * ROUND * abs(values[v])
    slopes = np.zeros(len(complex_.directions), np.int8)
    rates = np.zeros(len(slopes))
    if len(complex_.unbounded) > 1 and complex_.unbounded[1].any():
        _slopes(complex_, level, maps, slopes, rates)
    return LevelSigns(signs, values, bound, slopes, rates)


def _check_outputs(complex_: Complex, level: CutFunction) -> None:
    """Refuse a function that changes along directions that no boundary sees."""
    quotient = complex_.quotient
    network = quotient.whole
    if quotient.is_trivial:
        return
    direct = 0 in network.output.terms
    direct |= not all((layer.activation.pieces > 1).all() for layer in network.layers)
    if not direct:
        return
    region = complex_.faces.whole[0]
    weights = to_fractions(to_rationals(level.weights))
    if ((weights @ region.affine_map.matrix) @ region.lineality.T).any():
        raise InvalidInputError(
            f"{level.text} changes along directions in which the regions are unbounded both ways, "
            "so its level sets are no complexes of bounded faces; give the regions a domain, such "
            "as a Box"
        )


class _LevelMaps:
    """The rows of a level on regions, with bounds on their errors."""

    def __init__(self, complex_: Complex, level: CutFunction, owners: NDArray[np.int64]) -> None:
        regions = complex_.regions
        self._complex, self._level = complex_, level
        tame = is_tame(regions.network, regions.domain) and has_tame_outputs(regions.network)
        d = complex_.faces.vertices.shape[1]
        self._known = np.full(len(regions), -1, np.int64)
        self._rows, self._errors = np.empty((2, 0, d + 1))
        self._tame = tame and regions.stats.get("arithmetic") == "exact"
        plain = np.abs(level.weights[level.weights != 0])
        # The kernel has room for the roundings of a sum of two outputs.
        few = len(plain) <= 2 and bool((plain == 1).all()) and regions.network.depth > 0
        self._make = self._walk if few and self._tame and d else self._sum
        self._add(np.unique(owners))

    def _add(self, some: NDArray[np.int64]) -> None:
        rows, errors = [self._rows], [self._errors]
        for start in range(0, len(some), _AT_ONCE):
            check()
            own, wrong = self._make(some[start : start + _AT_ONCE])
            rows.append(own)
            errors.append(wrong)
        self._known[some] = len(self._rows) + np.arange(len(some))
        self._rows, self._errors = np.concatenate(rows), np.concatenate(errors)
        if not self._tame:
            self._errors[:] = np.inf

    def _walk(self, some: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Rows and errors of some regions, from one to the next."""
        from tropicell.analysis import _level_rows, _level_signs  # noqa: PLC0415 - imports Numba

        regions, level = self._complex.regions, self._level
        network = regions.network
        flat = flatten(network, regions.domain)
        output = _level_signs.Difference(*_as_sum(network, level, flat.maps.row_start))
        words = np.ascontiguousarray(regions.packed.words[some], dtype=np.uint64)
        rows, errors = np.empty((2, len(some), network.n_inputs + 1))
        room = _level_signs.sign_room(flat.maps)
        packed = words, regions.packed.bits
        _level_rows.level_rows(flat.maps, output, packed, flat.lines.scale, room, rows, errors)
        sizes = np.abs(level.weights) @ np.abs(network.output.bias) + abs(level.value)
        errors[:, -1] += 4 * ROUND * sizes
        return rows, errors

    def _sum(self, some: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """The same from the maps of all outputs."""
        regions, level = self._complex.regions, self._level
        maps = output_bounds(regions.network, regions.packed.take(some))
        w, d = level.weights, self._rows.shape[1] - 1
        with np.errstate(over="ignore", invalid="ignore"):
            slopes, offsets = maps.slopes @ w, maps.offsets @ w - level.value
            # A sum of products rounds by at most so much of all of them.
            share = (len(w) + 2) * ROUND
            sizes = (np.abs(maps.slopes) @ np.abs(w)).max(axis=1, initial=0.0)
            wrong = maps.slope_error @ np.abs(w) + share * sizes
            sizes = np.abs(maps.offsets) @ np.abs(w) + abs(level.value)
            off = maps.offset_error @ np.abs(w) + share * sizes
        rows = np.concatenate([slopes[:, :d], offsets[:, None]], axis=1)
        return rows, np.concatenate([np.tile(wrong[:, None], (1, d)), off[:, None]], 1) * INFLATE

    def of(self, owners: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Rows of some regions, and what their numbers may be wrong by."""
        new = np.unique(owners[self._known[owners] < 0])
        if new.size:
            self._add(new)
        at = self._known[owners]
        return self._rows[at], self._errors[at]


def _as_sum(
    network: Network, level: CutFunction, row_start: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, float]:
    """A function of the outputs: weights of all neurons, their length in each layer, the bias."""
    weights, lengths = np.zeros(int(row_start[-1])), np.zeros(network.depth + 1)
    for source, matrix in network.output.terms.items():
        own = np.asarray(level.weights @ matrix).ravel()
        weights[row_start[source] : row_start[source + 1]] = own
        lengths[source] = np.sqrt((own**2).sum()) * (1 + 1e-9) + 1e-140
    return weights, lengths, float(level.weights @ network.output.bias - level.value)


def _vanishing(
    complex_: Complex, level: CutFunction, owners: NDArray[np.int64], sure: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Vertices of regions on which the function surely is 0 throughout."""
    found = np.zeros(len(sure), np.bool_)
    constants = constant_values(complex_, level, np.unique(owners[~sure]))
    zero = np.array([region for region, value in constants.items() if value == 0], np.int64)
    found[~sure] = np.isin(owners[~sure], zero)
    return found


def constant_values(
    complex_: Complex, level: CutFunction, some: NDArray[np.int64]
) -> dict[int, Fraction]:
    """Regions among some on which a function is constant, and its value there.

    Regions with one and the same map are found by residues, and one of them is looked at in
    rationals; those whose maps are all different are left out.
    """
    if len(some) < _FEW:
        return {}
    regions = complex_.regions
    packed = regions.packed.take(some)
    prints = fingerprints(regions.network, packed)
    _, first, group = np.unique(prints, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    many = np.bincount(group) >= _FEW
    if not many.any():
        return {}
    same = many[group]
    for maps in residues(regions.network, packed):
        check()
        same &= (maps == maps[first[group]]).all(axis=(1, 2))
    exact, found = ExactRows(complex_), dict[int, Fraction]()
    for g in np.flatnonzero(many).tolist():
        row = exact.row_in(int(some[first[g]]), level)
        if not row[:-1].any():
            own = some[same & (group == g)]
            found |= dict.fromkeys(own.tolist(), row[-1])
    return found


def _slopes(
    complex_: Complex,
    level: CutFunction,
    maps: _LevelMaps,
    slopes: NDArray[np.int8],
    rates: FloatArray,
) -> None:
    """Whether a function grows along unbounded edges."""
    edges = np.flatnonzero(complex_.unbounded[1])
    owners = complex_.owners(1)[edges]
    rows, errors = maps.of(owners)
    directions = complex_.directions[edges]
    with np.errstate(over="ignore", invalid="ignore"):
        rates[edges] = (rows[:, :-1] * directions).sum(axis=1)
        wrong = complex_.direction_errors[edges]
        bound = np.abs(rows[:, :-1]).sum(axis=1) * wrong
        bound += (errors[:, :-1] * (np.abs(directions) + wrong[:, None])).sum(axis=1)
        bound += (directions.shape[1] + 4) * ROUND * np.abs(rows[:, :-1] * directions).sum(axis=1)
        sure = np.abs(rates[edges]) > bound * INFLATE + 1e-300
    slopes[edges[sure]] = np.sign(rates[edges[sure]])
    exact = ExactRows(complex_)
    for i in np.flatnonzero(~sure).tolist():
        check()
        direction = exact.direction(int(edges[i]))
        rate = exact.row_in(int(owners[i]), level)[:-1] @ direction
        slopes[edges[i]] = (rate > 0) - (rate < 0)
        length = float(np.abs(to_floats(direction)).max())
        rates[edges[i]] = (
            float(to_floats(np.array([rate]))[0])
            / length
            * np.abs(complex_.directions[edges[i]]).max()
        )


# --- cuts -----------------------------------------------------------------------------------------


def cut(complex_: Complex, level: CutFunction, part: Part) -> Complex:
    """What a function cuts out of a complex.

    Parameters
    ----------
    complex_ : Complex
    level : CutFunction
    part : {"zero", "below", "both"}
        Where the function is 0; at most 0; or everything, with faces cut in two.
    """
    return _Cut(complex_, level, part).made()


def ends_of(complex_: Complex, levels: Sequence[CutFunction]) -> Complex:
    """The faces on which one of some functions is 0, oriented as the boundary of cells.

    Those of one dimension less than the largest that lie between two cells stay as they are.
    """
    masks = [np.zeros(len(sides.ends), np.bool_) for sides in complex_.sides]
    for level in levels:
        for mask, zero in zip(masks, _Cut(complex_, level, "zero").zero, strict=True):
            np.logical_or(mask, zero, out=mask)
    found, k = closure(complex_, dict(enumerate(masks))), len(masks) - 2
    if k < 1 or not masks[k].any():
        return found
    above = complex_.sides[k + 1]
    total = np.bincount(above.faces, weights=above.signs, minlength=len(masks[k]))
    turn = np.where(total[masks[k]] == -1, -1, 1).astype(np.int8)
    sides = found.sides[k]
    sides.signs[:] *= np.repeat(turn, np.diff(sides.ends, prepend=0))
    if len(found.sides) > k + 1:
        found.sides[k + 1].signs[:] *= turn[found.sides[k + 1].faces]
    return found


class _Cut:
    def __init__(self, complex_: Complex, level: CutFunction, part: Part) -> None:
        self.old, self.level, self.part = complex_, level, part
        self.at = level_signs(complex_, level)
        self.flags = self._flags()
        self.both = [(f & (_UP | _DOWN)) == (_UP | _DOWN) for f in self.flags]
        zero = [(f & (_UP | _DOWN)) == 0 for f in self.flags]
        below = [(f & _UP) == 0 for f in self.flags]
        above = [(f & _DOWN) == 0 for f in self.flags]
        self.zero = zero
        counts = [len(f) for f in self.flags]
        # Which faces are kept as they are, and whether negative and positive halves are.
        halves = [np.zeros(n, np.bool_) for n in counts]
        if part == "zero":
            self.kept, self.low, self.high = zero, halves, halves
        elif part == "below":
            self.kept, self.low, self.high = below, self.both, halves
        else:
            kept = [b | a for b, a in zip(below, above, strict=True)]
            self.kept, self.low, self.high = kept, self.both, self.both
        self.number()

    def _flags(self) -> list[NDArray[np.uint8]]:
        """What is known of each face; see `_UP`."""
        signs = self.at.signs
        flags = [np.where(signs > 0, _UP, np.where(signs < 0, _DOWN, 0)).astype(np.uint8)]
        for k in range(1, len(self.old.sides)):
            sides = self.old.sides[k]
            starts = sides.ends - np.diff(sides.ends, prepend=0)
            own = np.zeros(len(starts), np.uint8)
            if len(starts):
                own = np.bitwise_or.reduceat(flags[-1][sides.faces], starts)
            if k == 1:
                for sign, flag in ((1, _UP | _GROWS), (0, _STAYS), (-1, _DOWN | _FALLS)):
                    own[self.old.unbounded[1] & (self.at.slopes == sign)] |= flag
            flags.append(own)
        return flags

    def number(self) -> None:
        """Give numbers to all new faces: those that are kept, lower and upper halves, cuts."""
        top = len(self.flags)
        self.kept_as: list[NDArray[np.int64]] = []
        self.low_as: list[NDArray[np.int64]] = []
        self.high_as: list[NDArray[np.int64]] = []
        self.cut_as: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        self.counts = []
        for k in range(top):
            total = 0
            for masks, to in (
                (self.kept, self.kept_as),
                (self.low, self.low_as),
                (self.high, self.high_as),
            ):
                to.append(np.where(masks[k], total + np.cumsum(masks[k]) - 1, -1))
                total += int(masks[k].sum())
            if k + 1 < top:
                cuts = self.both[k + 1]
                self.cut_as.append(np.where(cuts, total + np.cumsum(cuts) - 1, -1))
                total += int(cuts.sum())
            self.counts.append(total)

    def made(self) -> Complex:
        """The new complex."""
        old = self.old
        bit = np.uint64(1 << len(old.levels))
        sides, unbounded, carriers, levels = [], [], [], []
        for k in range(len(self.flags)):
            check()
            sides.append(self._sides(k))
            masks = [self.kept[k], self.low[k], self.high[k]]
            flags = self.flags[k]
            falls, grows = (flags & (_STAYS | _FALLS)) != 0, (flags & (_STAYS | _GROWS)) != 0
            open_ones = [old.unbounded[k][masks[0]], falls[masks[1]], grows[masks[2]]]
            dims = [old.carriers[k][0][mask] for mask in masks]
            faces = [old.carriers[k][1][mask] for mask in masks]
            on = [old.on_levels[k][mask] for mask in masks]
            if k + 1 < len(self.flags):
                cuts = self.both[k + 1]
                above = self.flags[k + 1][cuts]
                ways = _GROWS | _FALLS
                open_ones.append(((above & _STAYS) != 0) | ((above & ways) == ways))
                dims.append(old.carriers[k + 1][0][cuts])
                faces.append(old.carriers[k + 1][1][cuts])
                on.append(old.on_levels[k + 1][cuts] | bit)
            unbounded.append(np.concatenate(open_ones))
            carriers.append((np.concatenate(dims), np.concatenate(faces)))
            levels.append(np.concatenate(on))
        if self.part == "zero":
            self._turn(sides)
        vertices, radii = self._vertices()
        directions = self._directions(sides)
        errors = np.full(len(directions), np.inf)
        kept = self.kept[1].sum() if len(sides) > 1 else 0
        errors[:kept] = old.direction_errors[self.kept[1]] if kept else 0.0
        while len(sides) > 1 and not len(sides[-1].ends):
            sides, unbounded = sides[:-1], unbounded[:-1]
            carriers, levels = carriers[:-1], levels[:-1]
        return replace(
            old,
            vertices=vertices,
            radii=radii,
            sides=sides,
            unbounded=unbounded,
            carriers=carriers,
            on_levels=levels,
            directions=directions if len(sides) > 1 else directions[:0],
            direction_errors=errors if len(sides) > 1 else errors[:0],
            levels=(*old.levels, self.level),
        )

    def _sides(self, k: int) -> Sides:
        """The sides of all new faces of dimension k."""
        count = self.counts[k]
        owners: list[NDArray[Any]] = [np.empty(0, np.int64)]
        below: list[NDArray[Any]] = [np.empty(0, np.int64)]
        signs: list[NDArray[Any]] = [np.empty(0, np.int8)]

        def add(owner: Any, side: Any, sign: Any) -> None:
            owners.append(owner)
            below.append(side)
            signs.append(sign)

        old = self.old.sides
        if k:
            face = Ragged(old[k].faces, old[k].ends).owners()
            side, sign = old[k].faces, old[k].signs
            lower = [m[k - 1][side] for m in (self.kept_as, self.low_as, self.high_as)]
            # Faces that are kept: all of their sides are.
            own = self.kept_as[k][face]
            which = own >= 0
            add(own[which], lower[0][which], sign[which])
            flags = self.flags[k - 1][side]
            cuts = self.cut_as[k]
            wheel = self._ends() if k == 1 else np.ones(len(cuts), np.int8)
            for halves, half, wrong, turn in (
                (self.low_as[k], lower[1], _UP, 1),
                (self.high_as[k], lower[2], _DOWN, -1),
            ):
                own = halves[face]
                there = own >= 0
                # Whole sides on this side of the cut, halves of those that are cut, and the cut.
                whole = there & ((flags & wrong) == 0)
                add(own[whole], lower[0][whole], sign[whole])
                cut_too = there & (half >= 0)
                add(own[cut_too], half[cut_too], sign[cut_too])
                mine = np.flatnonzero(halves >= 0)
                add(halves[mine], cuts[mine], (turn * wheel[mine]).astype(np.int8))
        if 0 < k < len(old) - 1:
            self._sides_of_cuts(k, add)
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        ends = np.cumsum(np.bincount(owner, minlength=count))
        return Sides(ends, np.concatenate(below)[order], np.concatenate(signs)[order])

    def _turn(self, sides: list[Sides]) -> None:
        """Orient the faces that are kept as those that are cut: as sides of what is negative.

        Those between two negative faces, or two positive ones, are sides of nothing, and stay.
        """
        k = len(self.flags) - 2
        if k < 1 or not self.kept[k].any():
            return
        above = self.old.sides[k + 1]
        flags = self.flags[k + 1][Ragged(above.faces, above.ends).owners()] & (_UP | _DOWN)
        turns = np.zeros((2, len(self.flags[k])), np.int64)
        for own, which, sign in zip(turns, (_DOWN, _UP), (1, -1), strict=True):
            some = flags == which
            np.add.at(own, above.faces[some], sign * above.signs[some])
        wrong = np.where(turns[0] != 0, turns[0], turns[1]) < 0
        turn = np.ones(self.counts[k], np.int8)
        turn[self.kept_as[k][wrong & self.kept[k]]] = -1
        sides[k].signs[:] *= np.repeat(turn, np.diff(sides[k].ends, prepend=0))
        sides[k + 1].signs[:] *= turn[sides[k + 1].faces]

    def _ends(self) -> NDArray[np.int8]:
        """For edges that are cut the sign of the new vertex as the end of the lower half."""
        sides, signs = self.old.sides[1], self.at.signs
        face = Ragged(sides.faces, sides.ends).owners()
        found = np.zeros(len(sides.ends), np.int8)
        down = signs[sides.faces] < 0
        found[face[down]] = -sides.signs[down]
        # The negative end is at infinity: there is a positive vertex, and it comes with that sign.
        up = (signs[sides.faces] > 0) & (found[face] == 0)
        found[face[up]] = sides.signs[up]
        return found

    def _sides_of_cuts(self, k: int, add: Any) -> None:
        """The sides of the cuts of faces of dimension k + 1."""
        old = self.old.sides
        cuts, flags = self.cut_as[k + 1], self.flags[k]
        face = Ragged(old[k + 1].faces, old[k + 1].ends).owners()
        side, sign = old[k + 1].faces, old[k + 1].signs
        own = cuts[face]
        wheel = self._ends() if k == 1 else np.ones(len(flags), np.int8)
        through = (own >= 0) & self.both[k][side]
        add(
            own[through],
            self.cut_as[k][side[through]],
            (-sign[through] * wheel[side[through]]).astype(np.int8),
        )
        # Faces of two dimensions less on which the function is 0, from the negative side.
        lower = (own >= 0) & ((flags[side] & (_UP | _DOWN)) == _DOWN)
        own, side, sign = own[lower], side[lower], sign[lower]
        ragged = Ragged(old[k].faces, old[k].ends)
        places, counts = ragged.places(side), ragged.counts[side]
        ridge, ridge_sign = old[k].faces[places], old[k].signs[places]
        zero = self.zero[k - 1][ridge]
        add(
            np.repeat(own, counts)[zero],
            self.kept_as[k - 1][ridge[zero]],
            (-np.repeat(sign, counts) * ridge_sign)[zero].astype(np.int8),
        )

    def _vertices(self) -> tuple[FloatArray, FloatArray]:
        """Coordinates of the new vertices, and how far they may be off."""
        old, at = self.old, self.at
        kept = self.kept[0]
        if len(self.flags) < 2 or not self.both[1].any():
            return old.vertices[kept], old.radii[kept]
        edges = np.flatnonzero(self.both[1])
        sides = old.sides[1]
        last = sides.ends[edges] - 1
        b = sides.faces[last]
        bounded = ~old.unbounded[1][edges]
        a = np.where(bounded, sides.faces[np.maximum(last - 1, 0)], b)
        with np.errstate(all="ignore"):
            va, vb = np.abs(at.values[a]), np.abs(at.values[b])
            ea, eb = at.errors[a], at.errors[b]
            share = (va / (va + vb))[:, None]
            points = old.vertices[a] * (1 - share) + old.vertices[b] * share
            # The share is off by at most this; the point lies between the two in any case.
            wrong = ((ea + eb) / np.maximum(va + vb - ea - eb, 0.0))[:, None] + 4 * ROUND
            wrong = np.where(wrong <= 1.0, wrong, 1.0)
            apart = np.abs(old.vertices[b] - old.vertices[a])
            radii = np.maximum(old.radii[a], old.radii[b]) * 2 + apart * wrong
            radii += 8 * ROUND * (np.abs(old.vertices[a]) + np.abs(old.vertices[b]))
            length = (vb / np.abs(at.rates[edges]))[:, None]
            far = old.vertices[b] + length * old.directions[edges]
            points = np.where(bounded[:, None], points, far)
            radii = np.where(bounded[:, None], radii, np.inf) * INFLATE
        bad = ~np.isfinite(points).all(axis=1)
        points[bad], radii[bad] = old.vertices[b[bad]], np.inf
        return (
            np.concatenate([old.vertices[kept], points]),
            np.concatenate([old.radii[kept], radii]),
        )

    def _directions(self, sides: list[Sides]) -> FloatArray:
        """Where new unbounded edges lead to."""
        old, at = self.old, self.at
        d = old.vertices.shape[1]
        if len(sides) < 2:
            return np.zeros((0, d))
        whole = [old.directions[self.kept[1]]]
        # A half keeps the direction if that is on its side.
        for mask, wrong in ((self.low[1], _GROWS), (self.high[1], _FALLS)):
            own = old.directions[mask].copy()
            own[(self.flags[1][mask] & wrong) != 0] = 0.0
            whole.append(own)
        if len(self.flags) > 2:
            faces = np.flatnonzero(self.both[2])
            found = np.zeros((len(faces), d))
            open_ones = np.flatnonzero(old.unbounded[2][faces])
            ragged = Ragged(old.sides[2].faces, old.sides[2].ends)
            for i in open_ones.tolist():
                edges = ragged[int(faces[i])]
                edges = edges[old.unbounded[1][edges]]
                stays = edges[at.slopes[edges] == 0]
                up, down = edges[at.slopes[edges] > 0], edges[at.slopes[edges] < 0]
                if stays.size:
                    found[i] = old.directions[stays[0]]
                elif up.size and down.size:
                    p, q = old.directions[up[0]], old.directions[down[0]]
                    found[i] = p * abs(at.rates[down[0]]) + q * abs(at.rates[up[0]])
                    size = np.abs(found[i]).max()
                    found[i] = found[i] / size if size > 0 else p - q
            whole.append(found)
        return np.concatenate(whole)
