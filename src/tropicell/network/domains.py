"""Where to look: all of R^n, a box, a polytope, or a plane through a high-dimensional space.

Every domain is a set of points with ``A x <= b``. A `Slice` has coordinates of its own:
its points are ``origin + t @ directions``, and regions on it are regions in ``t``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from flint import fmpq_mat
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.errors import InvalidDomainError
from tropicell.geometry.arithmetic import to_rationals
from tropicell.geometry.containment import by_parts, satisfy
from tropicell.geometry.rounding import ROUND

if TYPE_CHECKING:
    from tropicell.network.network import Network


Norm = Literal["linf", "l1", "l2"]
NORMS: tuple[Norm, ...] = get_args(Norm)

#: A smallest singular value of rows of size 1 that rounding errors can't feign.
_CLEARLY = 1e-6


class Domain(ABC):
    """Base class of all domains."""

    @abstractmethod
    def inequalities(self, dimension: int) -> tuple[FloatArray, FloatArray]:
        """``A`` and ``b`` with the domain = points with ``A x <= b``.

        Parameters
        ----------
        dimension : int
            Number of inputs; a domain that has a dimension of its own refuses another one.

        Examples
        --------
        >>> a, b = Box(-1, 2).inequalities(1)
        >>> a.tolist(), b.tolist()
        ([[1.0], [-1.0]], [2.0, 1.0])
        """

    def key(self, dimension: int) -> tuple[bytes, ...]:
        """Equal for equal domains.

        Examples
        --------
        >>> Box(0, 1).key(2) == Box([0, 0], [1, 1]).key(2)
        True
        """
        a, b = self.inequalities(dimension)
        return np.ascontiguousarray(a + 0.0).tobytes(), np.ascontiguousarray(b + 0.0).tobytes()

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Which points (rows) lie in the domain, boundary included; no rounding decides.

        A point with an infinite coordinate, or nan, lies in no domain.

        Examples
        --------
        >>> Polytope([[1.0, 1.0]], [1.0]).contains([[0.5, 0.5], [1.0, 0.5]])
        array([ True, False])
        """
        x = np.atleast_2d(np.asarray(points, dtype=np.float64))
        return satisfy(*self.inequalities(x.shape[1]), x)


def _numbers(values: ArrayLike, what: str) -> FloatArray:
    """A copy as an array of floats."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDomainError(f"{what}: expected numbers: {error}") from None


class WholeSpace(Domain):
    """All of R^n.

    Examples
    --------
    >>> WholeSpace().contains([[1.0, 2.0]])
    array([ True])
    """

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        return np.asarray(np.isfinite(np.atleast_2d(np.asarray(points, np.float64))).all(axis=1))

    def inequalities(self, dimension: int) -> tuple[FloatArray, FloatArray]:
        return np.empty((0, dimension)), np.empty(0)

    def __repr__(self) -> str:
        return "WholeSpace()"


class Box(Domain):
    """All points between two corners.

    Parameters
    ----------
    low, high : float or array_like
        The corners; a scalar holds for every coordinate. Infinite bounds are allowed.

    Examples
    --------
    >>> Box(-1, 1).contains([[0.5, 0.5], [0.5, 2.0]])
    array([ True, False])
    """

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        lower, upper = _numbers(low, "Box: low"), _numbers(high, "Box: high")
        try:
            lows, highs = np.broadcast_arrays(lower, upper)
        except ValueError as error:
            raise InvalidDomainError(f"Box: low and high do not fit together: {error}") from None
        if lows.ndim > 1 or lows.size == 0:
            raise InvalidDomainError(
                f"Box: corners must be scalars or flat arrays, got shape {lows.shape}"
            )
        if not (lows < highs).all():
            raise InvalidDomainError(
                "Box: every low bound must be below its high bound, got "
                f"low={lows.tolist()}, high={highs.tolist()}"
            )
        self.low = lows.copy()
        self.high = highs.copy()

    def inequalities(self, dimension: int) -> tuple[FloatArray, FloatArray]:
        low, high = self.corners(dimension)
        a = np.concatenate([np.eye(dimension), -np.eye(dimension)])
        b = np.concatenate([high, -low])
        finite = np.isfinite(b)
        return a[finite], b[finite]

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        x = np.atleast_2d(np.asarray(points, dtype=np.float64))
        low, high = self.corners(x.shape[1])

        def decide(x: FloatArray) -> NDArray[np.bool_]:
            return np.asarray(((x >= low) & (x <= high) & np.isfinite(x)).all(axis=1))

        return by_parts(decide, x, x.shape[1])

    def key(self, dimension: int) -> tuple[bytes, ...]:
        return tuple((corner + 0.0).tobytes() for corner in self.corners(dimension))

    def corners(self, dimension: int) -> tuple[FloatArray, FloatArray]:
        """The two corners as arrays of length `dimension`.

        Examples
        --------
        >>> Box(0, [1, 2]).corners(2)
        (array([0., 0.]), array([1., 2.]))
        """
        if self.low.ndim == 1 and self.low.size != dimension:
            raise InvalidDomainError(
                f"the box has {self.low.size} coordinates, the network {dimension} inputs"
            )
        return (
            np.broadcast_to(self.low, dimension).copy(),
            np.broadcast_to(self.high, dimension).copy(),
        )

    def __repr__(self) -> str:
        return f"Box({self.low.tolist()}, {self.high.tolist()})"


class Polytope(Domain):
    """All points with ``A x <= b``, bounded or not.

    Examples
    --------
    >>> triangle = Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
    >>> triangle.contains([[0.25, 0.25], [1.0, 1.0]])
    array([ True, False])
    """

    def __init__(self, A: ArrayLike, b: ArrayLike) -> None:
        self.A = np.atleast_2d(_numbers(A, "Polytope: A"))
        self.b = np.atleast_1d(_numbers(b, "Polytope: b"))
        if self.A.ndim != 2 or self.b.shape != self.A.shape[:1] or self.A.shape[1] == 0:
            raise InvalidDomainError(
                f"Polytope: expected A of shape (rows, inputs) and b of shape (rows,), "
                f"got {self.A.shape} and {self.b.shape}"
            )
        if not (np.isfinite(self.A).all() and np.isfinite(self.b).all()):
            raise InvalidDomainError("Polytope: A and b must be finite numbers")

    def inequalities(self, dimension: int) -> tuple[FloatArray, FloatArray]:
        if self.A.shape[1] != dimension:
            raise InvalidDomainError(
                f"the polytope has {self.A.shape[1]} coordinates, the network {dimension} inputs"
            )
        return self.A, self.b

    def __repr__(self) -> str:
        return f"Polytope({self.A.shape[0]} inequalities in R^{self.A.shape[1]})"


class Ball(Domain):
    """All points within some distance of a point.

    Parameters
    ----------
    center : array_like, shape (inputs,)
    radius : float
    norm : {"linf", "l1", "l2"}
        How distances are measured. For ``"linf"`` the ball is a box, whose corners
        ``center - radius`` and ``center + radius`` are rounded to float64; the others are exact.

    Notes
    -----
    A ball has no list of inequalities: an l1 ball has 2^n of them, an l2 ball is round. What asks
    for one (Algorithm 2, certificates, facets) refuses it.

    Examples
    --------
    >>> Ball([0.0, 0.0], 1.0, "l1").contains([[0.5, 0.5], [0.75, 0.5]])
    array([ True, False])
    """

    def __init__(self, center: ArrayLike, radius: float, norm: Norm = "linf") -> None:
        self.center = _numbers(center, "Ball: the center").ravel()
        self.radius = float(_numbers(radius, "Ball: the radius").reshape(()))
        self.norm: Norm = norm
        if norm not in NORMS:
            raise InvalidDomainError(f"Ball: norm must be 'linf', 'l1' or 'l2', not {norm!r}")
        if not self.center.size or not np.isfinite(self.center).all():
            raise InvalidDomainError("Ball: the center must be finite numbers, one for each input")
        if not 0 < self.radius < np.inf:
            raise InvalidDomainError(f"Ball: the radius must be positive, got {radius!r}")
        if norm == "linf":
            with np.errstate(over="ignore"):
                corners = np.stack([self.center - self.radius, self.center + self.radius])
            if not np.isfinite(corners).all() or (corners[0] == corners[1]).any():
                raise InvalidDomainError(
                    f"Ball: float64 can't hold its corners, the center plus and minus {radius!r}; "
                    "take a smaller center, or another radius"
                )
            self.box = Box(*corners)

    def inequalities(self, dimension: int) -> tuple[FloatArray, FloatArray]:
        if self.norm == "linf":
            return self.box.inequalities(dimension)
        raise InvalidDomainError(
            f"a ball in the norm {self.norm} has no list of inequalities, which this needs; "
            "take a Box, or Ball(…, norm='linf')"
        )

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        x = np.atleast_2d(np.asarray(points, dtype=np.float64))
        if x.shape[1] != self.center.size:
            raise InvalidDomainError(
                f"the ball has {self.center.size} coordinates, the points {x.shape[1]}"
            )
        if self.norm == "linf":
            return self.box.contains(x)
        return by_parts(self._contains, x, x.shape[1])

    def _contains(self, x: FloatArray) -> NDArray[np.bool_]:
        """Which of some points are within the radius; not for ``"linf"``."""
        finite = np.asarray(np.isfinite(x).all(axis=1))
        found = finite.copy()
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            away = np.abs(x[finite] - self.center) / self.radius
            sums = away.sum(axis=1) if self.norm == "l1" else (away * away).sum(axis=1)
            margin = 4.0 * (x.shape[1] + 8) * ROUND
            inside = sums <= 1.0 - margin
            unsure = np.flatnonzero(~inside & ~(sums >= 1.0 + 2 * margin))
        near = x[finite][unsure]
        for place, point in zip(unsure.tolist(), near, strict=True):
            check()
            inside[place] = self._has(point)
        found[finite] = inside
        return found

    def key(self, dimension: int) -> tuple[bytes, ...]:
        if self.norm == "linf":
            return self.box.key(dimension)
        return (self.center + 0.0).tobytes(), np.float64(self.radius).tobytes(), self.norm.encode()

    def _has(self, point: FloatArray) -> bool:
        """Whether a point is inside, in exact arithmetic."""
        away = to_rationals(point) - to_rationals(self.center)
        radius = to_rationals(self.radius).item()
        if self.norm == "l1":
            return bool(sum(abs(q) for q in away) <= radius)
        return bool((away * away).sum() <= radius * radius)

    def __repr__(self) -> str:
        return f"Ball({self.center.tolist()}, {self.radius!r}, norm={self.norm!r})"


class Slice(Domain):
    """A line, plane or 3-space through a high-dimensional input space.

    Its points are ``origin + t @ directions``; regions on it are given in the coordinates ``t``.

    Parameters
    ----------
    origin : array_like, shape (inputs,)
        The point with ``t = 0``.
    directions : array_like, shape (dimension, inputs)
        Linearly independent rows.
    inside : Domain, optional
        A box or polytope in the coordinates ``t``; default: the whole plane.

    Examples
    --------
    >>> plane = Slice(origin=[0, 0, 1], directions=[[1, 0, 0], [0, 1, 0]], inside=Box(-1, 1))
    >>> plane.embed([[0.5, 0.25]])
    array([[0.5 , 0.25, 1.  ]])
    """

    def __init__(
        self, origin: ArrayLike, directions: ArrayLike, inside: Domain | None = None
    ) -> None:
        self.origin = _numbers(origin, "Slice: the origin").ravel()
        self.directions = np.atleast_2d(_numbers(directions, "Slice: directions"))
        self.inside = WholeSpace() if inside is None else inside
        if isinstance(self.inside, Slice):
            raise InvalidDomainError("Slice: inside must be a box, polytope or the whole space")
        if (
            self.directions.ndim != 2
            or self.directions.shape[1] != self.origin.size
            or not 1 <= self.directions.shape[0] <= self.origin.size
        ):
            raise InvalidDomainError(
                f"Slice: expected directions of shape (dimension, {self.origin.size}) with "
                f"1 <= dimension <= {self.origin.size}, got {self.directions.shape}"
            )
        if not (np.isfinite(self.origin).all() and np.isfinite(self.directions).all()):
            raise InvalidDomainError("Slice: origin and directions must be finite numbers")
        if not _independent(self.directions):
            raise InvalidDomainError("Slice: the directions are linearly dependent")

    @classmethod
    def through(cls, points: ArrayLike, inside: Domain | None = None) -> Slice:
        """The slice through points: the first is the origin, the others are at t = e_1, e_2, ….

        Parameters
        ----------
        points : array_like, shape (dimension + 1, ...)
            Points, or images: everything after the first axis is flattened.
        inside : Domain, optional
            A box or polytope in the coordinates of the slice.

        Examples
        --------
        >>> Slice.through([[0, 0, 0], [1, 0, 0], [0, 0, 2]]).embed([[1.0, 0.5]])
        array([[1., 0., 1.]])
        """
        flat = _numbers(points, "Slice: points")
        if flat.ndim < 2 or flat.shape[0] < 2:
            raise InvalidDomainError(
                f"Slice.through: expected at least two points, got an array of shape {flat.shape}"
            )
        flat = flat.reshape(flat.shape[0], -1)
        return cls(flat[0], flat[1:] - flat[0], inside)

    @property
    def dimension(self) -> int:
        """Number of coordinates of the slice."""
        return int(self.directions.shape[0])

    def inequalities(self, dimension: int) -> tuple[FloatArray, FloatArray]:
        if dimension != self.dimension:
            raise InvalidDomainError(f"the slice has {self.dimension} coordinates, got {dimension}")
        return self.inside.inequalities(dimension)

    def embed(self, t: ArrayLike) -> FloatArray:
        """Points of the input space for coordinates `t` (rows).

        Examples
        --------
        >>> Slice(origin=[0, 0, 1], directions=[[1, 0, 0]]).embed([[0.0], [2.0]])
        array([[0., 0., 1.],
               [2., 0., 1.]])
        """
        coordinates = np.atleast_2d(np.asarray(t, dtype=np.float64))
        return self.origin + coordinates @ self.directions

    def __repr__(self) -> str:
        return f"Slice({self.dimension}-D in R^{self.origin.size}, inside={self.inside!r})"


def _independent(directions: FloatArray) -> bool:
    """Whether rows are linearly independent: clearly so in floats, or else in exact arithmetic."""
    sizes = np.abs(directions).max(axis=1)
    if not sizes.all():
        return False
    scaled = np.ldexp(directions, -np.frexp(sizes)[1][:, None])  # underflow is far below the limit
    least = np.linalg.svd(scaled, compute_uv=False)[-1]
    if least > _CLEARLY:
        return True
    rows, columns = directions.shape
    exact = fmpq_mat(rows, columns, to_rationals(directions).ravel().tolist())
    return bool(exact.rank() == rows)


def resolve(network: Network, domain: Domain | None) -> tuple[Network, Domain]:
    """The network and domain that engines work on: slices are composed with the network.

    Examples
    --------
    >>> from tropicell import Network
    >>> network = Network.mlp([[[1.0, 2.0, 3.0]], [[1.0]]], [[0.0], [0.0]])
    >>> on_line, inside = resolve(network, Slice([0, 0, 0], [[1, 1, 1]], Box(-1, 1)))
    >>> on_line.n_inputs, inside
    (1, Box(-1.0, 1.0))
    """
    if domain is None:
        return network, WholeSpace()
    if not isinstance(domain, Domain):
        raise InvalidDomainError(
            f"domain must be WholeSpace, Box, Ball, Polytope or Slice, not {type(domain).__name__}"
        )
    if isinstance(domain, Slice):
        return resolve(network.restrict(domain), domain.inside)
    if isinstance(domain, Ball) and domain.norm == "linf":
        return network, domain.box
    return network, domain
