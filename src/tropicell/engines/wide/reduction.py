"""What is left of a network on a small domain, once neurons that can't change their piece are gone.

Layer by layer, bounds decide which neurons stay on one piece on all of a bounded domain: first
intervals, then linear bounds of the neurons that intervals leave open (in the manner of CROWN).
A neuron that stays on its piece is an affine function of what it reads, so it can be eliminated.
What remains is a small network whose neurons read the inputs and each other::

    z_j(x) = values_j + rows_j · δ + Σ_i links_ji y_i(x),   up to errors_j,

where y_i = activation(z_i) and δ is x, counted from the domain's centre in units of its radius.
That holds for every x of the domain, in real numbers: `errors` covers all roundings, as
docs/wide-proof.md proves. No product of two matrices of bounds is needed for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.errors import InvalidDomainError
from tropicell.geometry.rounding import ROUND, UNSEEN
from tropicell.network.activations import Activation
from tropicell.network.domains import Ball, Box, Domain
from tropicell.network.network import Network

Norm = Literal["linf", "l1", "l2"]

#: Covers underflow; numbers between the other two are far from under- and overflow.
_TINY, _SMALL, _LARGE = 1e-200, 1e-90, 1e90

#: So many neurons are eliminated at a time.
_AT_ONCE = 256


@dataclass(frozen=True)
class Frame:
    """A bounded domain: its points are ``center + scale * δ`` with ``|δ| <= 1`` in some norm.

    For a box the scale is rounded up; for a ball all is exact.

    Attributes
    ----------
    center, scale : ndarray
    norm : {"linf", "l1", "l2"}
    low, high : ndarray
        The box around it, rounded outward.
    """

    center: FloatArray
    scale: FloatArray
    norm: Norm
    low: FloatArray
    high: FloatArray

    def widths(self, rows: FloatArray) -> FloatArray:
        """How far affine functions with these coefficients of δ get from their centre's value."""
        if self.norm == "linf":
            return np.asarray(np.abs(rows).sum(axis=1))
        if self.norm == "l1":
            return np.asarray(np.abs(rows).max(axis=1, initial=0.0))
        return np.asarray(np.sqrt((rows * rows).sum(axis=1)) + rows.any(axis=1) * UNSEEN)


def frame_of(domain: Domain, dimension: int) -> Frame | None:
    """The frame of a bounded box or a ball; None for other domains.

    Examples
    --------
    >>> frame_of(Box(0, 2), 1).center
    array([1.])
    """
    if isinstance(domain, Ball) and domain.norm != "linf":
        center, radius = domain.center, domain.radius
        if center.size != dimension:
            raise InvalidDomainError(
                f"the ball has {center.size} coordinates, the network {dimension} inputs"
            )
        low, high = np.nextafter(center - radius, -np.inf), np.nextafter(center + radius, np.inf)
        return Frame(center, np.full(dimension, radius), domain.norm, low, high)
    box = domain.box if isinstance(domain, Ball) else domain
    if not isinstance(box, Box):
        return None
    low, high = box.corners(dimension)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return None
    center = np.clip(low / 2 + high / 2, low, high)
    scale = np.nextafter(np.maximum(high - center, center - low), np.inf)
    return Frame(center, scale, "linf", low, high)


@dataclass
class Reduced:
    """The neurons that may change their piece, m of them, and how they depend on each other.

    Attributes
    ----------
    frame : Frame
    base : ndarray of uint8
        A pattern of all neurons: right for those that are fixed, the lowest piece for others.
    neurons, layers : ndarray
        Which neurons are left (places in a pattern), and their layers (from 1).
    low_piece, high_piece : ndarray
        The pieces that they may be on.
    rows, values, links, errors : ndarray
        See above; of shapes (m, inputs), (m,), (m, m) and (m,). Errors may be infinite, which
        means that floats prove nothing.
    slopes, intercepts : ndarray, shape (m, pieces)
    breakpoints : ndarray, shape (m, pieces - 1)
    low, high : ndarray
        Bounds of the pre-activations.
    """

    frame: Frame
    base: NDArray[np.uint8]
    neurons: NDArray[np.int64]
    layers: NDArray[np.int64]
    low_piece: NDArray[np.int64]
    high_piece: NDArray[np.int64]
    rows: FloatArray
    values: FloatArray
    links: FloatArray
    errors: FloatArray
    slopes: FloatArray
    intercepts: FloatArray
    breakpoints: FloatArray
    low: FloatArray
    high: FloatArray


def gamma(terms: int) -> float:
    """A bound on the relative error of sums of so many products in any order, with much to spare.

    It covers the roundings of the sums of absolute values that it is multiplied with.
    """
    return 2.02 * (terms + 16) * ROUND


def _most_terms(affine: Any) -> int:
    """Products that are added up for one neuron, at most."""
    total = 1
    for matrix in affine.terms.values():
        if isinstance(matrix, sp.csr_array):
            total += int(np.diff(matrix.indptr).max(initial=0))
        else:
            total += matrix.shape[1]
    return total


class _Reduction:
    """Goes through the layers; see `reduce_network`."""

    def __init__(self, network: Network, frame: Frame) -> None:
        self.network, self.frame = network, frame
        n = network.n_inputs
        self.low: list[FloatArray] = [frame.low]  # of the outputs of every layer
        self.high: list[FloatArray] = [frame.high]
        self.most: list[FloatArray] = []  # |output| at most
        self.sums: list[FloatArray] = [np.empty(0)]  # |weights| · most + |bias|
        self.pieces: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        self.open: list[NDArray[np.intp]] = [np.empty(0, np.intp)]  # neurons that are not fixed
        self.places: list[slice] = [slice(0, 0)]  # of these among all that are not fixed
        self.sane = bool(
            (frame.scale > _SMALL).all()
            and (np.abs(frame.low) < _LARGE).all()
            and (np.abs(frame.high) < _LARGE).all()
        )
        self.rows, self.values = np.empty((0, n)), np.empty(0)
        self.links: list[FloatArray] = []  # one array for every layer
        self.errors, self.z_low, self.z_high = np.empty(0), np.empty(0), np.empty(0)
        # The numbers that are rounded anew wherever a neuron is put into another one.
        self.sizes = np.empty(0)
        self.upper: list[tuple[FloatArray, FloatArray]] = []  # slopes and offsets of linear bounds
        self.lower: list[tuple[FloatArray, FloatArray]] = []
        self.low_piece: list[NDArray[np.int64]] = []
        self.high_piece: list[NDArray[np.int64]] = []
        self._embed()

    def _embed(self) -> None:
        """Layer 0 of a network on a slice is an affine map of the slice's coordinates."""
        embedding = self.network.float_embedding
        if embedding is not None:
            terms = embedding.matrix.shape[1]
            middle, radius = _middle(self.low[0], self.high[0])
            most = np.maximum(np.abs(self.low[0]), np.abs(self.high[0]))
            absolute = np.abs(embedding.matrix)
            sums = absolute @ most + np.abs(embedding.offset)
            center = embedding.matrix @ middle + embedding.offset
            spread = absolute @ radius + gamma(terms) * sums + _TINY
            self.low[0], self.high[0] = center - spread, center + spread
        self.most.append(np.maximum(np.abs(self.low[0]), np.abs(self.high[0])))

    def run(self) -> Reduced:
        """All layers."""
        with np.errstate(over="ignore", invalid="ignore"):
            for layer in range(1, self.network.depth + 1):
                check()
                self._layer(layer)
        return self._result()

    def _layer(self, layer: int) -> None:
        affine = self.network.affine(layer)
        activation = self.network.layers[layer - 1].activation
        rounding = gamma(_most_terms(affine))
        center, spread, sums = affine.bias.copy(), np.zeros(affine.width), np.abs(affine.bias)
        for source, matrix in affine.terms.items():
            middle, radius = _middle(self.low[source], self.high[source])
            absolute: Any = abs(matrix)
            center += matrix @ middle
            both = absolute @ np.column_stack([radius, self.most[source]])
            spread += both[:, 0]
            sums = sums + both[:, 1]
        sums = sums * (1 + rounding) + _TINY
        error = rounding * sums + _TINY
        z_low, z_high = center - spread - error, center + spread + error
        self.sane &= bool((sums < _LARGE).all())
        self.sums.append(sums)
        least, most = _piece_range(activation, z_low, z_high)
        candidates = np.flatnonzero(least < most)
        if not self.sane:
            least[:], most[:] = 0, activation.pieces - 1
            candidates = np.flatnonzero(least < most)
        first = len(self.errors)
        kept, links = [np.empty(0, np.intp)], [np.empty((0, first))]
        for start in range(0, len(candidates), _AT_ONCE):
            check()
            some = candidates[start : start + _AT_ONCE]
            is_open, link = self._eliminate(layer, some, z_low, z_high)
            kept.append(some[is_open])
            links.append(link[is_open])
        least, most = _piece_range(activation, z_low, z_high)
        if not self.sane:
            least[:], most[:] = 0, activation.pieces - 1
        self.open.append(np.concatenate(kept))
        self.links.append(np.concatenate(links))
        self.places.append(slice(first, len(self.errors)))
        self.pieces.append(least)
        self.low_piece.append(least[self.open[-1]])
        self.high_piece.append(most[self.open[-1]])
        if not self.sane:  # nothing is known but the pieces
            self.sums[layer][:] = z_low[:] = z_high[:] = 0.0
            self.z_low = self.z_high = np.zeros(len(self.errors))
        low, high = _output_range(activation, z_low, z_high)
        self.low.append(low)
        self.high.append(high)
        self.most.append(np.maximum(np.abs(low), np.abs(high)))
        self.sane &= bool((self.most[-1] < _LARGE).all())
        self._relax(activation)

    def _eliminate(
        self, layer: int, chosen: NDArray[np.intp], z_low: FloatArray, z_high: FloatArray
    ) -> tuple[NDArray[np.bool_], FloatArray]:
        """Write some neurons of a layer by the inputs and the open neurons before; keep the open.

        Updates the bounds of their pre-activations. Returns which of them are open, and their links
        to those before.
        """
        network, frame = self.network, self.frame
        affine = network.affine(layer)
        count, known = len(chosen), self.places[-1].stop
        if not self.sane:
            self._keep(np.zeros((count, network.n_inputs)), *np.zeros((2, count)))
            self.errors[-count:] = np.inf
            return np.ones(count, np.bool_), np.zeros((count, known))
        links = np.zeros((count, known))
        constant = affine.bias[chosen].copy()
        error = np.zeros(count)
        parts: dict[int, FloatArray] = {}
        for source, matrix in affine.terms.items():
            some = matrix[chosen]
            parts[source] = some.toarray() if sp.issparse(some) else np.array(some)
        for source in range(layer - 1, 0, -1):
            part = parts.pop(source, None)
            if part is None:
                continue
            links[:, self.places[source]] += part[:, self.open[source]]
            self._through(source, part, parts, constant, error)
        rows = parts.get(0, np.zeros((count, len(self.most[0]))))
        embedding = network.float_embedding
        if embedding is not None:
            rounding = gamma(embedding.matrix.shape[0] + embedding.matrix.shape[1])
            exact = network.embedding is embedding
            size = np.abs(embedding.matrix) @ np.maximum(np.abs(frame.low), np.abs(frame.high))
            size = 2 * (size + np.abs(embedding.offset)) + _TINY
            error += rounding * (np.abs(rows) @ size + np.abs(constant)) * (1 if exact else 4)
            constant += rows @ embedding.offset
            rows = rows @ embedding.matrix
        n = network.n_inputs
        rounding = gamma(n + 4)
        most = np.maximum(np.abs(frame.low), np.abs(frame.high)) + np.abs(frame.center)
        error += rounding * (np.abs(rows) @ (most + frame.scale) + np.abs(constant)) + _TINY
        values = rows @ frame.center + constant
        rows = rows * frame.scale
        sizes = np.abs(rows).sum(axis=1) + np.abs(values) + np.abs(constant)
        sizes += np.abs(links) @ self._reach() + self.sums[layer][chosen]
        low, high = self._bounds(rows, values, links, error + self._rounding(known) * sizes)
        z_low[chosen] = np.maximum(z_low[chosen], low)
        z_high[chosen] = np.minimum(z_high[chosen], high)
        activation = network.layers[layer - 1].activation
        least, most_piece = _piece_range(activation, z_low, z_high)
        is_open = (least < most_piece)[chosen]
        self._keep(rows[is_open], values[is_open], error[is_open])
        self.sizes[len(self.sizes) - int(is_open.sum()) :] = sizes[is_open]
        self.z_low = np.append(self.z_low, z_low[chosen][is_open])
        self.z_high = np.append(self.z_high, z_high[chosen][is_open])
        return is_open, links

    def _keep(self, rows: FloatArray, values: FloatArray, errors: FloatArray) -> None:
        self.rows = np.concatenate([self.rows, rows])
        self.values = np.append(self.values, values)
        self.errors = np.append(self.errors, errors)
        self.sizes = np.append(self.sizes, np.zeros(len(errors)))

    def _rounding(self, known: int) -> float:
        """For sums over the inputs and so many open neurons."""
        return gamma(2 * (self.network.n_inputs + known) + 64)

    def _reach(self) -> FloatArray:
        """How large the outputs of open neurons can be, and the parts that they are made of."""
        parts = [np.empty(0)]
        for layer in range(1, len(self.open)):
            activation, chosen = self.network.layers[layer - 1].activation, self.open[layer]
            slopes = np.abs(activation.slopes[chosen]).max(axis=1, initial=0.0)
            offsets = np.abs(activation.intercepts[chosen]).max(axis=1, initial=0.0)
            parts.append(self.most[layer][chosen] + slopes * self.sums[layer][chosen] + offsets)
        return np.concatenate(parts)

    def _through(
        self,
        source: int,
        part: FloatArray,
        parts: dict[int, FloatArray],
        constant: FloatArray,
        error: FloatArray,
    ) -> None:
        """Replace the outputs of a layer's fixed neurons by what these neurons read."""
        affine = self.network.affine(source)
        activation = self.network.layers[source - 1].activation
        width = affine.width
        at = np.arange(width), self.pieces[source]
        slope, intercept = activation.slopes[at].copy(), activation.intercepts[at].copy()
        slope[self.open[source]] = intercept[self.open[source]] = 0.0
        if intercept.any():
            constant += part @ intercept
            error += gamma(width + 1) * (np.abs(part) @ np.abs(intercept) + np.abs(constant))
        used = np.flatnonzero(slope)
        if not len(used):
            return
        through = part[:, used] * slope[used]
        rounding = gamma(len(used) + _most_terms(affine) + 2)
        error += (
            rounding * (2 * np.abs(through) @ self.sums[source][used] + np.abs(constant)) + _TINY
        )
        constant += through @ affine.bias[used]
        for before, matrix in affine.terms.items():
            product = through @ matrix[used]
            if before in parts:
                error += rounding * (np.abs(parts[before]) @ self.most[before])
                parts[before] = parts[before] + product
            else:
                parts[before] = np.asarray(product)

    def _bounds(
        self, rows: FloatArray, values: FloatArray, links: FloatArray, price: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds of neurons, by linear bounds of the open neurons before them."""
        found = []
        prices = self.errors + self._rounding(links.shape[1]) * self.sizes
        for above in (True, False):
            c = links.copy()
            total, at, error = rows.copy(), values.copy(), price.copy()
            for layer in range(len(self.places) - 1, 0, -1):
                place = self.places[layer]
                if place.start == place.stop:
                    continue
                plus, minus = np.maximum(c[:, place], 0.0), np.minimum(c[:, place], 0.0)
                up, down = self.upper[layer - 1], self.lower[layer - 1]
                if not above:
                    up, down = down, up
                into = plus * up[0] + minus * down[0]
                size = np.abs(c[:, place]) @ np.maximum(np.abs(up[1]), np.abs(down[1]))
                at += plus @ up[1] + minus @ down[1] + into @ self.values[place]
                total += into @ self.rows[place]
                error += np.abs(into) @ prices[place] + gamma(2 * c.shape[1] + 8) * (
                    size + np.abs(at)
                )
                link = self.links[layer - 1]
                c[:, : link.shape[1]] += into @ link
            spread = self.frame.widths(total) * (1 + gamma(total.shape[1])) + error * (1 + 1e-7)
            found.append(at + spread if above else at - spread)
        return found[1], found[0]

    def _relax(self, activation: Activation) -> None:
        """Lines above and below the activation of every open neuron of the last layer."""
        chosen, place = self.open[-1], self.places[-1]
        low, high = self.z_low[place], self.z_high[place]
        if not len(chosen):
            self.upper.append((low, low))
            self.lower.append((low, low))
            return
        t = np.where(
            np.isfinite(activation.breakpoints[chosen]),
            activation.breakpoints[chosen],
            low[:, None],
        )
        points = np.clip(np.column_stack([low, high, t]), low[:, None], high[:, None])
        values = np.column_stack(
            [_values_at(activation, chosen, points[:, k]) for k in range(points.shape[1])]
        )
        width = high - low
        chord = np.where(
            width > 0, (values[:, 1] - values[:, 0]) / np.where(width > 0, width, 1), 0
        )
        first = activation.slopes[chosen, self.low_piece[-1]]
        last = activation.slopes[chosen, self.high_piece[-1]]
        tangent = np.where(high > -low, last, first)
        largest = np.abs(activation.intercepts[chosen]).max(axis=1)
        lines = []
        for sign in (1.0, -1.0):
            best = None
            for slope in (chord, tangent):
                gaps = sign * (values - slope[:, None] * points)
                offset = gaps.max(axis=1)
                sizes = np.abs(values) + np.abs(slope[:, None] * points)
                margin = 1e-14 * (sizes.max(axis=1) + largest)
                offset = offset + margin + _TINY
                area = offset + sign * slope * (low + high) / 2
                if best is None:
                    best = slope, offset, area
                else:
                    better = area < best[2]
                    best = (
                        np.where(better, slope, best[0]),
                        np.where(better, offset, best[1]),
                        np.where(better, area, best[2]),
                    )
            assert best is not None
            lines.append((best[0], sign * best[1]))
        self.upper.append(lines[0])
        self.lower.append(lines[1])

    def _result(self) -> Reduced:
        network = self.network
        ends = np.concatenate([[0], np.cumsum(network.widths)]).astype(np.int64)
        numbers = [np.empty(0, np.int64)]
        layers = [np.empty(0, np.int64)]
        most = max((layer.activation.slopes.shape[1] for layer in network.layers), default=2)
        m = len(self.errors)
        slopes, intercepts = np.zeros((m, most)), np.zeros((m, most))
        breakpoints = np.full((m, most - 1), np.inf)
        for layer in range(1, network.depth + 1):
            chosen, place = self.open[layer], self.places[layer]
            numbers.append(ends[layer - 1] + chosen)
            layers.append(np.full(len(chosen), layer, np.int64))
            activation = network.layers[layer - 1].activation
            here = activation.slopes.shape[1]
            slopes[place, :here] = activation.slopes[chosen]
            intercepts[place, :here] = activation.intercepts[chosen]
            breakpoints[place, : here - 1] = activation.breakpoints[chosen]
        links = np.zeros((m, m))
        for layer, link in enumerate(self.links, start=1):
            links[self.places[layer], : link.shape[1]] = link
        joined = [np.empty(0, np.int64)]
        errors = self.errors + self._rounding(m) * self.sizes + _TINY
        if not self.sane:  # floats prove nothing but the pieces of the layers before
            errors = np.full(m, np.inf)
            self.z_low, self.z_high = -errors, errors
        return Reduced(
            frame=self.frame,
            base=np.concatenate([*joined, *self.pieces[1:]]).astype(np.uint8),
            neurons=np.concatenate(numbers),
            layers=np.concatenate(layers),
            low_piece=np.concatenate([*joined, *self.low_piece]),
            high_piece=np.concatenate([*joined, *self.high_piece]),
            rows=self.rows,
            values=self.values,
            links=links,
            errors=errors,
            slopes=slopes,
            intercepts=intercepts,
            breakpoints=breakpoints,
            low=self.z_low,
            high=self.z_high,
        )


def _middle(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The middle of intervals, and how far they reach from it at most."""
    middle = low / 2 + high / 2
    return middle, np.nextafter(np.maximum(high - middle, middle - low), np.inf)


def _piece_range(
    activation: Activation, low: FloatArray, high: FloatArray
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last piece that pre-activations between two bounds may be on."""
    breaks = activation.breakpoints
    least = (low[:, None] > breaks).sum(axis=1)
    most = (high[:, None] > breaks).sum(axis=1)
    return least.astype(np.int64), np.maximum(least, most).astype(np.int64)


def _values_at(activation: Activation, chosen: Any, z: FloatArray) -> FloatArray:
    """The values of some neurons' activations at one pre-activation each."""
    piece = (z[:, None] > activation.breakpoints[chosen]).sum(axis=1)
    return np.asarray(activation.slopes[chosen, piece] * z + activation.intercepts[chosen, piece])


def _output_range(
    activation: Activation, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the outputs of a layer: extreme at the ends, or at a breakpoint between them."""
    every = np.arange(len(low))
    ends = [_values_at(activation, every, z) for z in (low, high)]
    sizes = [np.abs(activation.intercepts).max(axis=1) + np.abs(value) for value in ends]
    least, most = np.minimum(*ends), np.maximum(*ends)
    size = np.maximum(*sizes)
    for t in activation.breakpoints.T:
        inside = (low < t) & (t < high)
        value = _values_at(activation, every, np.where(np.isfinite(t), t, 0.0))
        least = np.where(inside, np.minimum(least, value), least)
        most = np.where(inside, np.maximum(most, value), most)
        size = np.where(inside, np.maximum(size, np.abs(value)), size)
    margin = np.where(size > 0, 8 * ROUND * size + _TINY, 0.0)
    return least - margin, most + margin


def reduce_network(network: Network, domain: Domain) -> Reduced | None:
    """Find the neurons that are fixed on a bounded box or ball; None for other domains.

    Parameters
    ----------
    network : Network
    domain : Domain
        In the network's own coordinates; see `tropicell.network.domains.resolve`.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> reduce_network(network, Box([0.5, -0.5], [1.0, 0.5])).neurons
    array([1])
    """
    frame = frame_of(domain, network.n_inputs)
    return None if frame is None else _Reduction(network, frame).run()
