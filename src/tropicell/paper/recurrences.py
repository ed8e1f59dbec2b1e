"""The paper's mathematics: the network as a tropical rational map F ⊘ G, by its recurrences.

In tropical arithmetic ``a ⊕ b = max(a, b)``, ``a ⊗ b = a + b`` and ``a ⊘ b = a - b``. Every layer
of a piecewise-linear network is a tropical rational map ``ν = F ⊘ G`` of the input, with the
recurrences of Proposition 2.1 (ReLU, plain network)::

    G(ℓ+1) = A₊ G(ℓ) + A₋ F(ℓ)
    H(ℓ+1) = A₊ F(ℓ) + A₋ G(ℓ) + b          pre-activation ρ = H - G
    F(ℓ+1) = max(H(ℓ+1), G(ℓ+1))            post-activation ν = F - G

Once a pattern is fixed, F, G and H are affine, ``F = F_A x + f_b`` and so on: the decomposed
recurrences. Here both are one recurrence over columns (see `tropicell.network.maps`).

Two things are more general than in the paper. *Skip connections*: a layer may take its input from
any earlier layers. *Activations*: any continuous piecewise-linear function with slopes s_0, …, s_m
and breakpoints t_1, …, t_m is ``s_0 z + c + Σ_j δ_j relu(z - t_j)`` with ``δ_j = s_j - s_{j-1}``,
and ``relu(z - t) = max(H - t, G) - G``; positive terms go to F, negative ones to G. For ReLU this
gives the paper's formulas, and G after the activation is the G before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import ArithmeticName, Matrix
from tropicell.importers.models import as_network
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray, PatternLike, split_layers

#: How skip connections enter the recurrences; see `recurrences`.
SkipForm = Literal["paper", "polynomial"]


def positive_part(matrix: Matrix) -> Matrix:
    """A₊, with entries max(a, 0).

    Examples
    --------
    >>> positive_part(np.array([[2.0, -3.0]]))
    array([[2., 0.]])
    """
    return matrix.maximum(0) if isinstance(matrix, sp.csr_array) else np.maximum(matrix, 0.0)


def negative_part(matrix: Matrix) -> Matrix:
    """A₋, with entries max(-a, 0), so that A = A₊ - A₋.

    Examples
    --------
    >>> negative_part(np.array([[2.0, -3.0]]))
    array([[0., 3.]])
    """
    return positive_part(-matrix)


@dataclass(frozen=True, eq=False)
class LayerRecurrence:
    """F, G and H of one layer, on a pattern: matrices and vectors as in the paper.

    Attributes
    ----------
    F, G, H : ndarray, shape (neurons, inputs + 1)
        ``[F_A | f_b]`` and so on.
    G_after : ndarray
        The denominator after the activation: ν = F - G_after. For ReLU it is G.
    """

    F: NDArray[Any]
    G: NDArray[Any]
    H: NDArray[Any]
    G_after: NDArray[Any]

    @property
    def F_A(self) -> NDArray[Any]:  # noqa: N802 - the paper's names
        """Matrix of F."""
        return self.F[:, :-1]

    @property
    def f_b(self) -> NDArray[Any]:
        """Vector of F."""
        return self.F[:, -1]

    @property
    def G_A(self) -> NDArray[Any]:  # noqa: N802
        """Matrix of G."""
        return self.G[:, :-1]

    @property
    def g_b(self) -> NDArray[Any]:
        """Vector of G."""
        return self.G[:, -1]

    @property
    def H_A(self) -> NDArray[Any]:  # noqa: N802
        """Matrix of H."""
        return self.H[:, :-1]

    @property
    def h_b(self) -> NDArray[Any]:
        """Vector of H."""
        return self.H[:, -1]


#: Chooses max(H - t, G), given H - t, G, the neurons (rows) and the number of the breakpoint t.
_Choice = Callable[[NDArray[Any], NDArray[Any], NDArray[np.intp], int], NDArray[Any]]


class Recurrence:
    """The recurrences for F, G and H, layer by layer, in one arithmetic."""

    def __init__(self, network: Network, arithmetic: ArithmeticName, form: SkipForm) -> None:
        if form not in ("paper", "polynomial"):
            raise InvalidInputError(f"form must be 'paper' or 'polynomial', not {form!r}")
        self.network = network
        self.maps = network.maps(arithmetic)
        self.form = form

    def start(self, columns: NDArray[Any], one: NDArray[Any]) -> None:
        """The initial values: F(0) = x, G(0) = 0."""
        self.one = one
        self.F = [columns]
        self.G_after = [columns - columns]

    def before(self, layer: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """G and H of a layer (L + 1 is the output), from F and G of the layers before it."""
        affine = self.network.affine(layer)
        arithmetic = self.maps.arithmetic
        H = arithmetic.array(affine.bias)[:, None] * self.one[None, :]
        G = H - H
        for source, matrix in affine.terms.items():
            plus = arithmetic.matrix(positive_part(matrix))
            minus = arithmetic.matrix(negative_part(matrix))
            F_k, G_k = self.F[source], self.G_after[source]
            if self.form == "paper" and source != layer - 1:
                # A skip, as the paper has it: its ν = F - G is added to the layer's input.
                nu = F_k - G_k
                G = G + arithmetic.matmul(minus, nu)
                H = H + arithmetic.matmul(plus, nu)
            else:
                G = G + arithmetic.matmul(plus, G_k) + arithmetic.matmul(minus, F_k)
                H = H + arithmetic.matmul(plus, F_k) + arithmetic.matmul(minus, G_k)
        return G, H

    def after(self, layer: int, G: NDArray[Any], H: NDArray[Any], choose: _Choice) -> None:
        """F, and G after the activation, of a layer."""
        breakpoints, slopes, intercepts = self.maps.activation(layer)
        first = slopes[:, :1]
        F_after = _positive(first) * H + _positive(-first) * G
        F_after = F_after + intercepts[:, :1] * self.one[None, :]
        G_after = _positive(first) * G + _positive(-first) * H
        counts = self.network.layers[layer - 1].activation.pieces
        for j in range(breakpoints.shape[1]):
            rows = np.flatnonzero(counts > j + 1)
            change = (slopes[rows, j + 1] - slopes[rows, j])[:, None]
            shifted = H[rows] - breakpoints[rows, j, None] * self.one[None, :]
            larger = choose(shifted, G[rows], rows, j)
            F_after[rows] = (
                F_after[rows] + _positive(change) * larger + _positive(-change) * G[rows]
            )
            G_after[rows] = (
                G_after[rows] + _positive(change) * G[rows] + _positive(-change) * larger
            )
        self.F.append(F_after)
        self.G_after.append(G_after)


def _positive(values: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.maximum(values, values - values))


def by_pattern(pieces: PatternArray) -> _Choice:
    """The larger of H - t and G as the pattern says it is."""

    def choose(
        shifted: NDArray[Any], G: NDArray[Any], rows: NDArray[np.intp], j: int
    ) -> NDArray[Any]:
        return np.where((pieces[rows] > j)[:, None], shifted, G)

    return choose


def _larger(
    shifted: NDArray[Any], G: NDArray[Any], _rows: NDArray[np.intp], _j: int
) -> NDArray[Any]:
    return np.asarray(np.maximum(shifted, G))


def recurrences(
    network: Network,
    pattern: PatternLike,
    *,
    arithmetic: ArithmeticName = "exact",
    form: SkipForm = "paper",
) -> list[LayerRecurrence]:
    """F_A, f_b, G_A, g_b, H_A and h_b of every layer, on a pattern.

    Parameters
    ----------
    network : Network
    pattern : str, flat sequence or one sequence per layer
    arithmetic : {"exact", "float"}
        F and G grow with depth, so H - G cancels badly in float64: for inequalities and maps use
        `find_region` and `Network.affine_map`, which work with the difference.
    form : {"paper", "polynomial"}
        How skip connections enter. ``"paper"`` adds A₋ (F - G) and A₊ (F - G) to G and H, as
        printed; these are differences of tropical polynomials. ``"polynomial"`` treats every source
        like the layer before, so that F, G and H stay tropical polynomials. H - G is the same.

    Returns
    -------
    list of LayerRecurrence
        For the layers 1 … L.

    Examples
    --------
    >>> network = Network.mlp([[[-4, 1], [-4, -1]], [[1, 1]]], [[2, 3], [0]])
    >>> recurrences(network, "11", arithmetic="float")[0].G_A
    array([[4., 0.],
           [4., 1.]])
    """
    network = as_network(network)
    recurrence = Recurrence(network, arithmetic, form)
    recurrence.start(*recurrence.maps.coordinates())
    public = recurrence.maps.arithmetic.public
    parts = split_layers(network.parse_pattern(pattern), network.widths)
    result = []
    for layer, pieces in enumerate(parts, start=1):
        G, H = recurrence.before(layer)
        recurrence.after(layer, G, H, by_pattern(pieces))
        arrays = (recurrence.F[-1], G, H, recurrence.G_after[-1])
        result.append(LayerRecurrence(*(public(array) for array in arrays)))
    return result


class TropicalRationalMap:
    """The network as F ⊘ G, a difference of two convex piecewise-linear maps.

    Parameters
    ----------
    network : Network
    arithmetic : {"exact", "float"}
        Exact values are `fractions.Fraction`.

    Examples
    --------
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, -1.0]]])
    >>> tropical = TropicalRationalMap(network)
    >>> tropical.numerator([[-2.0]]), tropical.denominator([[-2.0]])
    (array([[Fraction(-2, 1)]], dtype=object), array([[Fraction(0, 1)]], dtype=object))
    >>> tropical([[-2.0]])
    array([[Fraction(-2, 1)]], dtype=object)
    """

    def __init__(self, network: Network, *, arithmetic: ArithmeticName = "exact") -> None:
        self.network = as_network(network)
        self.arithmetic: ArithmeticName = arithmetic

    def __call__(self, points: ArrayLike) -> NDArray[Any]:
        """Values of the network at points (rows): F - G."""
        F, G = self._evaluate(points)
        return np.asarray(F - G)

    def numerator(self, points: ArrayLike) -> NDArray[Any]:
        """Values of F at points (rows), a tropical polynomial in every coordinate.

        Examples
        --------
        >>> TropicalRationalMap(Network.mlp([[[1.0]], [[-2.0]]])).numerator([[3.0]])
        array([[Fraction(0, 1)]], dtype=object)
        """
        return self._evaluate(points)[0]

    def denominator(self, points: ArrayLike) -> NDArray[Any]:
        """Values of G at points (rows), a tropical polynomial in every coordinate.

        Examples
        --------
        >>> TropicalRationalMap(Network.mlp([[[1.0]], [[-2.0]]])).denominator([[3.0]])
        array([[Fraction(6, 1)]], dtype=object)
        """
        return self._evaluate(points)[1]

    def _evaluate(self, points: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        network = self.network
        recurrence = Recurrence(network, self.arithmetic, "polynomial")
        exact = self.arithmetic == "exact"
        x = network.check_points(points, exact=exact, finite=exact)
        recurrence.start(*recurrence.maps.values(x))
        for layer in range(1, network.depth + 1):
            G, H = recurrence.before(layer)
            recurrence.after(layer, G, H, _larger)
        G, H = recurrence.before(network.depth + 1)
        public = recurrence.maps.arithmetic.public
        return public(H.T), public(G.T)
