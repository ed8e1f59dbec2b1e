"""F, G and H of every neuron as tropical polynomials: Proposition 2.1, multiplied out.

The recurrences of `tropicell.paper.recurrences`, with ⊗ for sums and powers for weights. What a
layer hands on is kept as a product of powers, ``m ⊗ P_1^w_1 ⊗ P_2^w_2 …`` with polynomials P that
earlier neurons made, and multiplied out only where a maximum is taken or somebody asks: so factors
that numerator and denominator share are seen, and can be cancelled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from flint import fmpq
from numpy.typing import NDArray

from tropicell._runtime.interruption import check
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import EXACT
from tropicell.paper.polynomials import TropicalPolynomial, TropicalRationalFunction

if TYPE_CHECKING:
    from tropicell.network.network import Network
    from tropicell.paper.recurrences import SkipForm

Function = TropicalPolynomial | TropicalRationalFunction

#: So many monomials a product may have before redundant ones are removed.
MOST = 20_000

#: Sizes with more bits than this are not worked out.
_BITS = 4_096


@dataclass(frozen=True, eq=False)
class TropicalLayer:
    """F, G and H of the neurons of a layer, as tropical polynomials.

    Attributes
    ----------
    F, G, H : tuple of TropicalPolynomial
        One for each neuron: the pre-activation is H ⊘ G, the output F ⊘ G_after. With
        ``form="paper"`` those behind a skip are `TropicalRationalFunction`.
    G_after : tuple of TropicalPolynomial
        The denominator after the activation; for ReLU it is G.

    Examples
    --------
    >>> from tropicell import Network
    >>> layer = Network.mlp([[[2.0, -1.0]], [[1.0]]], [[3.0], None]).tropical().layers[0]
    >>> print(layer.F[0], "|", layer.G[0], "|", layer.H[0])
    x2 ⊕ 3⊗x1^2 | x2 | 3⊗x1^2
    """

    F: tuple[Function, ...]
    G: tuple[Function, ...]
    H: tuple[Function, ...]
    G_after: tuple[Function, ...]


@dataclass(frozen=True, eq=False)
class TropicalNetwork:
    """A network as tropical polynomials; made by `Network.tropical`.

    Attributes
    ----------
    network : Network
    layers : tuple of TropicalLayer
        The layers 1 … L, or up to the one that was asked for.
    output : tuple of TropicalRationalFunction
        One for each output; empty if only some layers were asked for.
    sizes : list of dict
        For every neuron and output the number of monomials: ``layer``, ``neuron``, ``symbol``,
        ``before`` (all of them, or infinity if that number has thousands of digits) and ``after``
        (without redundant ones, and without shared factors if they were cancelled).

    Examples
    --------
    The paper's walkthrough:

    >>> from tropicell import Network
    >>> network = Network.mlp([[[-4, 1], [-4, -1]], [[-8, 3], [-21/4, 19/4]], [[1, -1]]],
    ...                       [[2, 3], [3, -11/4], [0]])
    >>> tropical = network.tropical()
    >>> print(tropical.layers[0].F[0])
    2⊗x2 ⊕ x1^4
    >>> len(tropical.output[0].numerator), len(tropical.output[0].denominator)
    (5, 4)
    >>> print(tropical)
    layer   neuron     monomials  needed
    1            0  F          2       2
    ...
    output       0  F          8       5
    output       0  G          8       4
    """

    network: Network
    layers: tuple[TropicalLayer, ...]
    output: tuple[TropicalRationalFunction, ...]
    sizes: list[dict[str, Any]]

    def __str__(self) -> str:
        rows = [("layer", "neuron", "", "monomials", "needed")]
        for size in self.sizes:
            layer = "output" if size["layer"] > self.network.depth else str(size["layer"])
            many, left = _many(size["before"]), f"{size['after']:,}"
            rows.append((layer, str(size["neuron"]), size["symbol"], many, left))
        widths = [max(len(row[k]) for row in rows) for k in range(5)]
        lines = []
        for row in rows:
            cells = [row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].ljust(widths[2])]
            cells += [row[3].rjust(widths[3]), row[4].rjust(widths[4])]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"TropicalNetwork({len(self.layers)} layers, {len(self.output)} outputs)"


def _power_of_ten(size: float) -> str:
    if size == float("inf"):
        return f"> 10^{int(_BITS * 0.30103)}"
    return f"≈ 10^{len(str(size)) - 1}"


@dataclass
class _Product:
    """A monomial (coefficients, then the constant) times powers of polynomials, by number."""

    monomial: NDArray[Any]
    powers: dict[int, fmpq] = field(default_factory=dict)

    def times(self, other: _Product, k: Any = 1) -> _Product:
        """The product with a power of another one."""
        powers = dict(self.powers)
        for atom, w in other.powers.items():
            powers[atom] = powers.get(atom, fmpq(0)) + w * k
        return _Product(self.monomial + other.monomial * k, {a: w for a, w in powers.items() if w})

    def over(self, shared: dict[int, fmpq]) -> _Product:
        """What is left without some powers."""
        powers = {a: w - shared.get(a, fmpq(0)) for a, w in self.powers.items()}
        powers |= {a: -w for a, w in shared.items() if a not in powers}
        return _Product(self.monomial, {a: w for a, w in powers.items() if w})


class Expansion:
    """Builds F, G and H layer by layer; see `Network.tropical`."""

    def __init__(
        self, network: Network, form: SkipForm, *, reduce: bool, cancel: bool, most: int
    ) -> None:
        if form not in ("paper", "polynomial"):
            raise InvalidInputError(f"form must be 'paper' or 'polynomial', not {form!r}")
        asked: Any = most
        if not isinstance(asked, Integral) or most < 1:
            raise InvalidInputError(f"max_monomials must be a whole number from 1 on, not {most!r}")
        self.network, self.form, self.reduce, self.cancel, self.most = (
            network,
            form,
            reduce,
            cancel,
            most,
        )
        self.maps = network.maps("exact")
        columns, self.one = self.maps.coordinates()
        self.unit = _Product(self.one - self.one)
        self.atoms: list[TropicalPolynomial] = []
        self.expanded: dict[tuple[Any, ...], TropicalPolynomial] = {}
        self.F: list[list[_Product]] = [[_Product(row) for row in columns]]
        self.G: list[list[_Product]] = [[self.unit for _ in columns]]
        self.where = ""

    # --- the recurrences ------------------------------------------------------------------------

    def before(self, layer: int) -> tuple[list[_Product], list[_Product]]:
        """G and H of a layer's neurons (of the outputs, if it is L + 1)."""
        affine = self.network.affine(layer)
        bias = EXACT.array(affine.bias)
        G = [self.unit for _ in bias]
        H = [_Product(self.one * b) for b in bias]
        for source, matrix in affine.terms.items():
            weights = EXACT.array(matrix.toarray() if isinstance(matrix, sp.csr_array) else matrix)
            skip = self.form == "paper" and source != layer - 1
            for i, row in enumerate(weights):
                check()
                for j in np.flatnonzero(row != 0).tolist():
                    w, F, below = row[j], self.F[source][j], self.G[source][j]
                    if skip:  # as printed: ν = F - G goes to one of them
                        nu = F.times(below, -1)
                        if w > 0:
                            H[i] = H[i].times(nu, w)
                        else:
                            G[i] = G[i].times(nu, -w)
                    elif w > 0:
                        H[i], G[i] = H[i].times(F, w), G[i].times(below, w)
                    else:
                        H[i], G[i] = H[i].times(below, -w), G[i].times(F, -w)
        if self.cancel:
            for i, (g, h) in enumerate(zip(G, H, strict=True)):
                shared = {a: min(w, h.powers[a]) for a, w in g.powers.items() if a in h.powers}
                G[i], H[i] = g.over(shared), h.over(shared)
        return G, H

    def after(self, layer: int, G: list[_Product], H: list[_Product]) -> None:
        """F, and G after the activation, of a layer's neurons."""
        breakpoints, slopes, intercepts = self.maps.activation(layer)
        pieces = self.network.layers[layer - 1].activation.pieces
        F_after, G_after = [], []
        for i, (g, h) in enumerate(zip(G, H, strict=True)):
            row = i if len(slopes) > 1 else 0
            s, c = slopes[row], intercepts[row]
            self.where = f"layer {layer}, neuron {i}"
            F, below = _Product(self.one * c[0]), self.unit
            F, below = (
                F.times(h if s[0] > 0 else g, abs(s[0])),
                below.times(g if s[0] > 0 else h, abs(s[0])),
            )
            for j in range(int(pieces[i if len(pieces) > 1 else 0]) - 1):
                change = s[j + 1] - s[j]
                if change == 0:
                    continue
                shifted = _Product(h.monomial - self.one * breakpoints[row][j], h.powers)
                larger = self.larger(shifted, g)
                up, down = (larger, g) if change > 0 else (g, larger)
                F, below = F.times(up, abs(change)), below.times(down, abs(change))
            F_after.append(F)
            G_after.append(below)
        self.F.append(F_after)
        self.G.append(G_after)

    def larger(self, h: _Product, g: _Product) -> _Product:
        """The maximum of both, a new polynomial; what both are divided by stays a denominator."""
        powers = {*h.powers, *g.powers}
        lowest = {a: min(h.powers.get(a, fmpq(0)), g.powers.get(a, fmpq(0))) for a in powers}
        below = {a: w for a, w in lowest.items() if w < 0}
        total = self.multiplied(h.over(below)) + self.multiplied(g.over(below))
        polynomial = total.reduced() if self.reduce else total
        if len(polynomial) == 1:
            own = _Product(np.append(polynomial._a[0], polynomial._c[0]))
        else:
            self.atoms.append(polynomial)
            own = _Product(self.one - self.one, {len(self.atoms) - 1: fmpq(1)})
        return own.times(_Product(self.one - self.one, below))

    # --- products -------------------------------------------------------------------------------

    def multiplied(self, product: _Product) -> TropicalPolynomial:
        """A product without negative powers as one polynomial."""
        m = product.monomial
        key = (*m.tolist(), *sorted(product.powers.items()))
        if key not in self.expanded:
            total = TropicalPolynomial.of(m[-1:], m[None, :-1], is_reduced=True)
            factors = [self.atoms[a]._power(w) for a, w in product.powers.items()]
            for factor in sorted(factors, key=len):
                if len(total) * len(factor) > self.most:
                    raise InvalidInputError(
                        f"{self.where}: a product with {len(total) * len(factor):,} monomials "
                        f"({len(total):,} times {len(factor):,}) is needed, more than "
                        f"max_monomials = {self.most:,}; ask for an earlier layer, restrict the "
                        "network to a slice, use cancel=True, or allow more"
                    )
                total = total.times(factor, self.most)
                if self.reduce:
                    total = total.reduced()
            self.expanded[key] = total
        return self.expanded[key]

    def function(self, product: _Product, where: str) -> Function:
        """A product as a polynomial, or as a fraction if powers are negative."""
        self.where = where
        below = {a: -w for a, w in product.powers.items() if w < 0}
        above = _Product(product.monomial, {a: w for a, w in product.powers.items() if w > 0})
        if not below:
            return self.multiplied(above)
        return TropicalRationalFunction(
            self.multiplied(above), self.multiplied(_Product(self.unit.monomial, below))
        )


def expand(
    network: Network,
    layer: int | None = None,
    *,
    form: SkipForm = "polynomial",
    reduce: bool = True,
    cancel: bool = False,
    max_monomials: int = MOST,
) -> TropicalNetwork:
    """F, G and H of a network's neurons and outputs; see `Network.tropical`."""
    last = network.depth + 1 if layer is None else layer
    asked: Any = last
    if not isinstance(asked, Integral) or not 1 <= last <= network.depth + 1:
        raise InvalidInputError(
            f"layer must be between 1 and {network.depth} (or {network.depth + 1}, the output), "
            f"not {layer!r}"
        )
    formal = formal_sizes(network, last)
    if not reduce:
        for row in formal:
            if row["before"] > max_monomials:
                raise InvalidInputError(
                    f"{_place(network, row)} has {_many(row['before'])} monomials if none is left "
                    f"out, more than max_monomials = {max_monomials:,}; use reduce=True, ask for "
                    "an earlier layer, or allow more"
                )
    work = Expansion(network, form, reduce=reduce, cancel=cancel, most=max_monomials)
    layers, output = [], []
    found: dict[tuple[int, int, str], int] = {}
    for number in range(1, last + 1):
        G, H = work.before(number)
        if number <= network.depth:
            work.after(number, G, H)
            parts = (work.F[number], G, H, work.G[number])
            functions = [
                tuple(work.function(p, f"layer {number}, neuron {i}") for i, p in enumerate(part))
                for part in parts
            ]
            layers.append(TropicalLayer(*functions))
            for symbol, own in zip(("F", "G", "H"), functions, strict=False):
                found |= {(number, i, symbol): _size(f) for i, f in enumerate(own)}
        else:
            for i, (g, h) in enumerate(zip(G, H, strict=True)):
                above, below = (work.function(part, f"output {i}") for part in (h, g))
                output.append(_fraction(above, below))
                found[number, i, "F"] = len(output[-1].numerator)
                found[number, i, "G"] = len(output[-1].denominator)
    sizes = [row | {"after": found[row["layer"], row["neuron"], row["symbol"]]} for row in formal]
    return TropicalNetwork(network, tuple(layers), tuple(output), sizes)


def _size(f: Function) -> int:
    if isinstance(f, TropicalPolynomial):
        return len(f)
    return len(f.numerator) + len(f.denominator)


def _fraction(above: Function, below: Function) -> TropicalRationalFunction:
    if isinstance(above, TropicalPolynomial) and isinstance(below, TropicalPolynomial):
        return TropicalRationalFunction(above, below)
    one = TropicalPolynomial.constant(0, above.n_variables)
    return TropicalRationalFunction(one, one) * above / below


def _place(network: Network, row: dict[str, Any]) -> str:
    if row["layer"] > network.depth:
        return f"{row['symbol']} of output {row['neuron']}"
    return f"{row['symbol']} of layer {row['layer']}, neuron {row['neuron']}"


def _many(size: float) -> str:
    return f"{size:,}" if size < 10**12 else _power_of_ten(size)


def formal_sizes(network: Network, last: int | None = None) -> list[dict[str, Any]]:
    """How many monomials F, G and H have if none is left out, from the recurrences alone.

    Parameters
    ----------
    network : Network
    last : int, optional
        Up to which layer; default: the output.

    Examples
    --------
    >>> from tropicell import Network
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]])
    >>> [(row["layer"], row["symbol"], row["before"]) for row in formal_sizes(network)][-2:]
    [(2, 'F', 4), (2, 'G', 1)]
    """
    end = network.depth + 1 if last is None else last
    F: list[list[Any]] = [[1] * network.maps("exact").coordinates()[0].shape[0]]
    G: list[list[Any]] = [[1] * len(F[0])]
    rows = []
    for layer in range(1, end + 1):
        check()
        affine = network.affine(layer)
        above: list[Any] = [1] * affine.width
        below: list[Any] = [1] * affine.width
        for source, matrix in affine.terms.items():
            dense = matrix.toarray() if isinstance(matrix, sp.csr_array) else matrix
            for i, j in zip(*(index.tolist() for index in np.nonzero(dense)), strict=True):
                f, g = F[source][j], G[source][j]
                if dense[i, j] < 0:
                    f, g = g, f
                above[i], below[i] = _times(above[i], f), _times(below[i], g)
        if layer > network.depth:
            for i, (f, g) in enumerate(zip(above, below, strict=True)):
                rows += [_row(layer, i, "F", f), _row(layer, i, "G", g)]
            break
        slopes = network.maps("exact").activation(layer)[1]
        pieces = network.layers[layer - 1].activation.pieces
        F.append([])
        G.append([])
        for i, (h, g) in enumerate(zip(above, below, strict=True)):
            s = slopes[i if len(slopes) > 1 else 0]
            first = (1, 1) if s[0] == 0 else (h, g) if s[0] > 0 else (g, h)
            up, down = first
            for j in range(int(pieces[i if len(pieces) > 1 else 0]) - 1):
                change = s[j + 1] - s[j]
                if change != 0:
                    larger = h + g
                    parts = (larger, g) if change > 0 else (g, larger)
                    up, down = _times(up, parts[0]), _times(down, parts[1])
            F[-1].append(up)
            G[-1].append(down)
            rows += [_row(layer, i, "F", up), _row(layer, i, "G", g), _row(layer, i, "H", h)]
    return rows


def _row(layer: int, neuron: int, symbol: str, size: Any) -> dict[str, Any]:
    return {"layer": layer, "neuron": neuron, "symbol": symbol, "before": size}


def _times(a: Any, b: Any) -> Any:
    """A product of sizes, infinite if it has thousands of digits."""
    if float("inf") in (a, b) or a.bit_length() + b.bit_length() > _BITS:
        return float("inf")
    return a * b
