"""`Network`, the one canonical form of a piecewise-linear network.

Layer 0 is the input. Each of the layers 1 … L is an affine map of any earlier layers followed by a
piecewise-linear activation; the output is an affine map of any layers. Residual adds,
concatenations, skips from the input and the paper's skips k→ℓ are all special cases.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.durable import replacing
from tropicell._runtime.parts import in_parts
from tropicell._runtime.paths import path_of
from tropicell._runtime.plain import html_table
from tropicell._runtime.progress import bar_of
from tropicell.errors import InvalidDomainError
from tropicell.geometry.arithmetic import ArithmeticName, get_arithmetic, to_floats
from tropicell.network import patterns as _patterns
from tropicell.network.activations import Activation
from tropicell.network.checks import check_layers, checked_points
from tropicell.network.diagram import draw, summary
from tropicell.network.domains import Slice
from tropicell.network.export import network_to_onnx, network_to_torch
from tropicell.network.fingerprint import fingerprint
from tropicell.network.layers import Affine, Layer, mlp_parts, shared
from tropicell.network.maps import AffineMap, NetworkMaps
from tropicell.network.patterns import PatternArray, PatternLike

if TYPE_CHECKING:
    from tropicell.paper.expansion import TropicalNetwork

_MOST_REMEMBERED = 8

#: What is made from the layers of networks with more numbers is not kept for other slices.
_MOST_NUMBERS_KEPT = 2**23
#: Well below the largest float64.
_LARGE = 1e300
_REMEMBERING = Lock()

#: From so many points on, and up to so many weights, patterns are worked out by a kernel.
_MANY_POINTS, _MANY_WEIGHTS = 1024, 200_000
#: Points that are worked on at a time: at least, and by the values of their widest layer.
_LEAST_POINTS, _VALUES = 256, 2**21
#: The same in rationals.
_EXACT_POINTS = 256


class Network:
    """A piecewise-linear network in canonical form.

    Parameters
    ----------
    n_inputs : int
        Width of layer 0.
    layers : sequence of Layer
        The layers 1 … L.
    output : Affine
        The output, an affine map of any layers.
    embedding : AffineMap, optional
        If given, the network's inputs are mapped through it first; see `restrict`.

    Attributes
    ----------
    embedding : AffineMap or None
        With float64 numbers if these hold all of it, else with `fractions.Fraction`.
    float_embedding : AffineMap or None
        The same rounded to float64. What is not 0 stays so, and all is finite: numbers that are too
        small or too large for float64 become its smallest and largest ones.
    input_parts, output_parts : dict from str to slice
        Of an imported model: which inputs and outputs belong to which tensor of the model, by the
        tensor's name. They are not kept in files.
    kind : tuple
        Equal for networks that differ in weights and biases, output and embedding only.

    See Also
    --------
    Network.mlp : from lists of matrices, as in the paper.
    tropicell.load : from a file.

    Examples
    --------
    ``relu(x) + x``, a skip from the input to the output:

    >>> network = Network(1, [Layer(Affine({0: [[1.0]]}))], Affine({0: [[1.0]], 1: [[1.0]]}))
    >>> network([[-1.0], [2.0]])
    array([[-1.],
           [ 4.]])
    """

    def __init__(
        self,
        n_inputs: int,
        layers: Iterable[Layer],
        output: Affine,
        *,
        embedding: AffineMap | None = None,
    ) -> None:
        self.layers: tuple[Layer, ...] = tuple(layers)
        self.output = output
        self.embedding = embedding
        self.float_embedding: AffineMap | None = None
        self.input_parts: dict[str, slice] = {}
        self.output_parts: dict[str, slice] = {}
        self._input_width = int(n_inputs)
        self._remembered: dict[Hashable, Any] = {}
        self._of_layers: dict[Hashable, Any] = {}  # shared with restrictions to slices
        check_layers(self._input_width, self.layers, output, embedding)
        if embedding is not None:
            self.embedding = embedding.simplified()
            self.float_embedding = self.embedding
            if not self.embedding.is_float:
                matrix, offset = self.embedding.matrix, self.embedding.offset
                self.float_embedding = AffineMap(_close_to(matrix), _close_to(offset))
        self.kind = shared((self._input_width, *(layer.kind for layer in self.layers)))

    @classmethod
    def mlp(
        cls,
        weights: Sequence[ArrayLike],
        biases: Sequence[ArrayLike | None] | None = None,
        *,
        skips: Iterable[tuple[int, int]] = (),
        activation: str | Activation | Sequence[str | Activation] = "relu",
    ) -> Network:
        """A network given by the matrices of its layers, with the paper's skip connections.

        Parameters
        ----------
        weights : sequence of array_like
            The L hidden layers' matrices and then the output's.
        biases : sequence of array_like or None, optional
            One for each matrix; None stands for zeros.
        skips : iterable of (k, ℓ)
            The output of layer k is added to the input of layer ℓ. k = 0 is the input,
            ℓ = L + 1 the output.
        activation : str, Activation or a sequence of them
            One for all hidden layers, or one for each.

        Returns
        -------
        Network

        Raises
        ------
        InvalidNetworkError
            If shapes do not fit; the message names the layers.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> sizes = [2, 4, 4, 4, 1]
        >>> weights = [rng.normal(size=(n, m)) for m, n in zip(sizes, sizes[1:])]
        >>> Network.mlp(weights, skips=[(1, 3)])
        Network(2 → 4 → 4 → 4 → 1, skips 1→3)
        """
        return cls(*mlp_parts(weights, biases, skips, activation))

    def __getstate__(self) -> dict[str, Any]:
        """All but what is remembered, which is for this object in this process."""
        forgotten = ("_remembered", "_of_layers")
        return {name: value for name, value in vars(self).items() if name not in forgotten}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._remembered, self._of_layers = {}, {}

    # --- what it is made of -------------------------------------------------------------------

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return self._input_width if self.embedding is None else self.embedding.matrix.shape[1]

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.output.width

    @property
    def depth(self) -> int:
        """Number of layers with an activation, the paper's L."""
        return len(self.layers)

    @property
    def widths(self) -> tuple[int, ...]:
        """Neurons of the layers 1 … L."""
        return tuple(layer.width for layer in self.layers)

    @property
    def n_neurons(self) -> int:
        """Number of neurons in all layers."""
        return sum(self.widths)

    @property
    def n_weights(self) -> int:
        """Number of weights in the matrices of all layers; zeros of sparse ones do not count.

        Examples
        --------
        >>> Network.mlp([[[1.0], [2.0]], [[3.0, 4.0]]]).n_weights
        2
        """
        return sum(int(m.size) for layer in self.layers for m in layer.affine.operators.values())

    @property
    def pieces(self) -> NDArray[np.intp]:
        """Number of linear pieces of every neuron."""
        parts = [layer.activation.pieces for layer in self.layers]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.intp)

    def affine(self, layer: int) -> Affine:
        """The affine part of layer 1 … L, or of the output (layer L + 1).

        Examples
        --------
        >>> network = Network.mlp([[[1.0]], [[3.0]]], skips=[(0, 2)])
        >>> list(network.affine(2).terms)
        [0, 1]
        """
        return self.output if layer == self.depth + 1 else self.layers[layer - 1].affine

    @property
    def skips(self) -> list[tuple[int, int]]:
        """All connections k→ℓ that jump over at least one layer; ℓ = L + 1 is the output.

        Examples
        --------
        >>> Network.mlp([[[1.0]]] * 4, skips=[(1, 3), (0, 4)]).skips
        [(1, 3), (0, 4)]
        """
        return [
            (source, layer)
            for layer in range(1, self.depth + 2)
            for source in self.affine(layer).terms
            if source < layer - 1
        ]

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that tell this network from others (`network.fingerprint`)."""
        digits: str = self.remember("fingerprint", lambda: fingerprint(self))
        return digits

    # --- what it computes ---------------------------------------------------------------------

    def __call__(self, points: ArrayLike) -> FloatArray:
        """Outputs at points (rows), in float64: what overflows, or is nan, stays so.

        Parameters
        ----------
        points : array_like, shape (points, inputs) or (inputs,)

        Returns
        -------
        ndarray, shape (points, outputs) or (outputs,)

        Examples
        --------
        >>> Network.mlp([[[1.0, 1.0]], [[2.0]]])([0, 1])
        array([2.])
        """
        try:
            single = np.ndim(points) == 1
        except (ValueError, RuntimeError):  # `check_points` says what is wrong
            single = False
        if single:
            row: Any = [points]
            return np.asarray(self(row)[0])
        return self.output(self._forward(points)[0])

    def to_torch(self) -> Any:
        """The network as a torch module: its weights, skips and activations, in float64.

        Returns
        -------
        torch.nn.Module
            It takes points (rows). `from_torch` makes this network of it again, but for matrices
            of zeros and layers that do not reach the output, which it leaves out.

        Examples
        --------
        >>> from tropicell import from_torch
        >>> network = Network.mlp([[[1.0], [2.0]], [[1.0, 1.0]]], activation="hard_tanh")
        >>> from_torch(network.to_torch(), (1, 1)) == network
        True
        """
        return network_to_torch(self)

    def to_onnx(self, path: str | os.PathLike[str] | None = None) -> Any:
        """The network as an ONNX model: its weights, skips and activations, in float64.

        Parameters
        ----------
        path : str or path-like, optional
            Where to write the model; default: it is only returned.

        Returns
        -------
        onnx.ModelProto
            With the input ``x`` and the output ``y``. `from_onnx` makes this network of it again,
            but for matrices of zeros and layers that do not reach the output, which it leaves out.

        See Also
        --------
        tropicell.to_onnx : regions as an ONNX model, which finds the region and applies its map.

        Examples
        --------
        >>> model = Network.mlp([[[1.0]], [[2.0]]]).to_onnx()
        >>> [node.op_type for node in model.graph.node]
        ['Gemm', 'Relu', 'Gemm', 'Identity']
        """
        model = network_to_onnx(self)
        if path is not None:
            with replacing(path_of(path)) as temporary:
                temporary.write_bytes(model.SerializeToString())
        return model

    def __eq__(self, other: object) -> bool:
        """Whether another network has the same numbers: layers, output and embedding."""
        if not isinstance(other, Network):
            return NotImplemented
        return self is other or (
            self.n_inputs == other.n_inputs
            and self.widths == other.widths
            and self.n_outputs == other.n_outputs
            and self.fingerprint == other.fingerprint
        )

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def patterns(
        self,
        points: ArrayLike,
        *,
        arithmetic: ArithmeticName = "float",
        workers: int = 1,
        progress: bool | None = None,
    ) -> PatternArray:
        """Activation patterns at points (rows).

        Parameters
        ----------
        points : array_like, shape (points, inputs)
            Floats, or Fractions if exact.
        arithmetic : {"float", "exact"}
            In float64, rounding may decide on which side of a boundary a point next to it lies.
            Points that are too large for float64 (see `overflows`) are worked out exactly.
        workers : int
            Number of threads for many points, besides those that NumPy has.
        progress : bool, optional
            Show a progress bar if it takes longer than two seconds; default: if standard error is
            a terminal.

        Returns
        -------
        ndarray of uint8, shape (points, neurons)
            Besides that, memory does not grow with the number of points.

        Raises
        ------
        InvalidInputError
            Names a point with an infinite coordinate, or nan: it has no pattern.

        Examples
        --------
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]])
        >>> network.patterns([[3.0], [-3.0], [0.0]])
        array([[1, 0],
               [0, 1],
               [0, 0]], dtype=uint8)
        """
        exact = arithmetic != "float"
        x = self.check_points(points, exact=exact, finite=True)
        found = np.empty((len(x), self.n_neurons), np.uint8)
        kernel = None if exact or len(x) < _MANY_POINTS else self._compiled_patterns()

        def fill(part: slice) -> None:
            if exact:
                found[part] = self.maps(arithmetic).at_points(x[part])[0]
                return
            lost = self.overflows(x[part])
            if not lost.any():
                found[part] = self._forward(x[part])[1] if kernel is None else kernel(x[part])
                return
            found[part][~lost] = self._forward(x[part][~lost])[1]
            found[part][lost] = self.maps("exact").at_points(x[part][lost])[0]

        def work(part: slice) -> None:
            fill(part)
            bar.update(part.stop - part.start)

        most = max(self._input_width, *self.widths, 1)
        step = _EXACT_POINTS if exact else max(_LEAST_POINTS, _VALUES // most)
        if len(x) <= step:  # soon done
            progress = False
        with bar_of(len(x), " points", progress) as bar:
            in_parts(work, len(x), workers, step)
        return found

    def _compiled_patterns(self) -> Callable[[FloatArray], PatternArray] | None:
        """What gives the patterns of many points; None where NumPy's products are faster."""
        if self.n_weights > _MANY_WEIGHTS:
            return None
        from tropicell.network import _point_patterns as kernels  # noqa: PLC0415 - imports Numba

        flat = self.remember("point network", lambda: kernels.flatten_for_points(self))
        fill: Any = kernels.point_patterns

        def patterns(x: FloatArray) -> PatternArray:
            embedding = self.float_embedding
            inner = np.ascontiguousarray(x if embedding is None else embedding(x))
            found = np.empty((len(x), self.n_neurons), np.uint8)
            values = np.empty(int(flat.neurons.row_start[-1]) * kernels.SIDE_BY_SIDE)
            fill(inner, flat, values, found)
            return found

        return patterns

    def evaluate(self, points: ArrayLike, *, arithmetic: ArithmeticName = "exact") -> NDArray[Any]:
        """Outputs at points (rows), in exact rationals.

        Examples
        --------
        >>> Network.mlp([[[0.5]], [[0.5]]]).evaluate([[1.0]])
        array([[Fraction(1, 4)]], dtype=object)
        """
        if arithmetic == "float":
            return self(points)
        maps = self.maps(arithmetic)
        x = self.check_points(points, exact=True, finite=True)
        return maps.arithmetic.public(maps.at_points(x)[1])

    def overflows(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Which points (rows) are so large that a number on the way to the output overflows.

        Examples
        --------
        >>> network = Network.mlp([[[8.0], [-8.0]], [[1.0, 1.0]]])
        >>> network.overflows([[1.0], [1e308]])
        array([False,  True])
        """
        x = self.check_points(points)
        lost = np.zeros(len(x), dtype=np.bool_)
        if not np.abs(x).max(initial=0.0) <= self._safe_size:
            large = np.flatnonzero(~(np.abs(x) <= self._safe_size).all(axis=1))
            with np.errstate(over="ignore", invalid="ignore"):
                values, _ = self._forward(x[large])
                values.append(self.output(values))
                # A neuron that is off hides what overflowed before it.
                before = [layer.affine(values) for layer in self.layers]
                parts = [np.isfinite(part).all(axis=1) for part in (*values, *before)]
            lost[large] = ~np.all(parts, axis=0)
        return lost

    @property
    def _safe_size(self) -> float:
        """Points with no larger coordinate do not overflow, as sums of absolute values say."""
        size: float = self.remember("safe size", self._find_safe_size)
        return size

    def _find_safe_size(self) -> float:
        # For coordinates of size X >= 1, all numbers of a layer are at most X times its growth.
        embedding = self.float_embedding
        growths = [1.0]
        with np.errstate(over="ignore", invalid="ignore"):
            if embedding is not None:
                sums = np.abs(embedding.matrix).sum(axis=1) + np.abs(embedding.offset)
                growths = [max(1.0, float(sums.max()))]
            largest = growths[0]
            for index in range(1, self.depth + 2):
                affine = self.affine(index)
                sums = np.abs(affine.bias)
                for source, matrix in affine.operators.items():
                    absolute: Any = abs(matrix)
                    sums = sums + growths[source] * absolute.sum(axis=1)
                growth = float(sums.max())
                if index <= self.depth:
                    activation = self.layers[index - 1].activation
                    slopes, offsets = np.abs(activation.slopes), np.abs(activation.intercepts)
                    growths.append(growth * float(slopes.max()) + float(offsets.max()))
                    growth = max(growth, growths[-1])
                largest = max(largest, growth)
        size = _LARGE / largest
        return size if size >= 1.0 else -1.0  # or nan: then no point is sure to be fine

    def affine_map(
        self, pattern: PatternLike, *, arithmetic: ArithmeticName = "exact"
    ) -> AffineMap:
        """The affine map that the network is on the region of a pattern.

        The pattern need not have a region: the map is what the network would be on it.

        Parameters
        ----------
        pattern : str, flat sequence or one sequence per layer
        arithmetic : {"exact", "float"}
            Exact rationals (`fractions.Fraction`), or float64.

        Examples
        --------
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
        >>> network.affine_map("01").matrix
        array([[Fraction(-2, 1)]], dtype=object)
        """
        maps = self.maps(arithmetic)
        columns = maps.arithmetic.public(maps.of_pattern(self.parse_pattern(pattern)))
        return AffineMap(columns[:, :-1], columns[:, -1])

    def tropical(
        self,
        layer: int | None = None,
        *,
        form: Literal["paper", "polynomial"] = "polynomial",
        reduce: bool = True,
        cancel: bool = False,
        max_monomials: int = 20_000,
    ) -> TropicalNetwork:
        """F, G and H of every neuron, and the outputs F ⊘ G, as tropical polynomials.

        Parameters
        ----------
        layer : int, optional
            Up to which layer; default: all of them, and the outputs.
        form : {"polynomial", "paper"}
            How skip connections enter; see `recurrences`. With ``"polynomial"`` F, G and H are
            tropical polynomials, convex functions; with ``"paper"`` those behind a skip are
            fractions.
        reduce : bool
            Whether redundant monomials are removed, exactly, as soon as they arise.
        cancel : bool
            Whether what numerator and denominator share is taken out of both at every neuron. H ⊘ G
            and F ⊘ G stay the same functions, with fewer monomials.
        max_monomials : int
            The most monomials of a product before redundant ones are removed.

        Returns
        -------
        TropicalNetwork

        Raises
        ------
        InvalidInputError
            If more monomials are needed, with their number and the neuron, before they are made.

        Notes
        -----
        Without `reduce` the numbers of monomials grow doubly exponentially with depth; with it,
        they are the numbers of linear regions of F, G and H. A network 2-8-8-1 takes seconds.

        Examples
        --------
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, -2.0]]])
        >>> print(network.tropical().output[0])
        (x1^2 ⊕ x1^3) ⊘ (0 ⊕ x1^2)
        """
        from tropicell.network import comfort  # noqa: PLC0415 - looks upward

        return comfort.tropical(
            self,
            layer,
            form=form,
            reduce=reduce,
            cancel=cancel,
            max_monomials=max_monomials,
        )

    def parse_pattern(self, pattern: PatternLike) -> PatternArray:
        """A pattern in any form, checked and made flat; see `tropicell.network.patterns`.

        Examples
        --------
        >>> Network.mlp([[[1.0], [2.0]], [[1.0, 1.0]]]).parse_pattern("10")
        array([1, 0], dtype=uint8)
        """
        return _patterns.parse(pattern, self.widths, self.pieces)

    def restrict(self, domain: Slice) -> Network:
        """The network on a slice: its inputs are the slice's coordinates.

        Neurons and patterns stay what they are, and nothing is rounded: the slice is kept as a map
        in front of layer 0. That of a slice of a slice may have numbers that float64 can't hold; it
        is then kept in Fractions.

        Examples
        --------
        >>> network = Network.mlp([[[1.0, 2.0, 3.0]], [[1.0]]])
        >>> line = network.restrict(Slice([1, 0, 0], [[0, 1, 1]]))
        >>> line([[2.0]])
        array([[11.]])
        """
        if domain.origin.size != self.n_inputs:
            raise InvalidDomainError(
                f"the slice lies in R^{domain.origin.size}, the network has {self.n_inputs} inputs"
            )
        embedding = AffineMap(domain.directions.T.copy(), domain.origin.copy())
        if self.embedding is not None:
            embedding = self.embedding.after(embedding)
        restricted = Network(self._input_width, self.layers, self.output, embedding=embedding)
        restricted._of_layers = self._of_layers
        return restricted

    def first_layers(self, layer: int) -> Network:
        """The network up to a layer: its outputs are that layer's.

        Examples
        --------
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]], [[1.0]]])
        >>> network.first_layers(1)
        Network(1 → 2 → 2)
        >>> network.first_layers(1)([[3.0]])
        array([[3., 0.]])
        """
        width = self.widths[layer - 1] if layer else self._input_width
        output = Affine({layer: np.eye(width)})
        return Network(self._input_width, self.layers[:layer], output, embedding=self.embedding)

    def without_last_bends(self) -> Network:
        """The layers before the last one, then two without an activation.

        The first of these two is what the last layer's neurons get, the second one what is left of
        the outputs without that layer.

        Examples
        --------
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]], [[1.0]]], [[0.0] * 2, [0.0], [3]])
        >>> cells = network.without_last_bends()
        >>> cells.widths, cells.first_layers(2)([[3.0]]), cells([[3.0]])
        ((2, 1, 1), array([[3.]]), array([[3.]]))
        """
        last, depth, output = self.layers[-1], self.depth, self.output
        direct = {k: matrix for k, matrix in output.operators.items() if k != depth}
        flat = [Layer(last.affine, "identity"), Layer(Affine(direct, output.bias), "identity")]
        return Network(
            self._input_width,
            [*self.layers[:-1], *flat],
            Affine({depth + 1: np.eye(self.n_outputs)}),
            embedding=self.embedding,
        )

    def maps(self, arithmetic: ArithmeticName) -> NetworkMaps:
        """The recursion over the layers in one arithmetic; made once, then kept.

        Examples
        --------
        >>> maps = Network.mlp([[[2.0]], [[1.0]]]).maps("float")
        >>> maps.of_pattern(np.array([1], dtype=np.uint8))
        array([[2., 0.]])
        """
        maps: NetworkMaps = self.remember(
            ("maps", arithmetic), lambda: NetworkMaps(self, get_arithmetic(arithmetic))
        )
        return maps

    def remember(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What `make` returns, kept for the next call with the same key (a few of them).

        Networks do not change, so what is made from one can be used again.

        Examples
        --------
        >>> network = Network.mlp([[[2.0]], [[1.0]]])
        >>> network.remember("sum", lambda: 1 + 1), network.remember("sum", lambda: 1 / 0)
        (2, 2)
        """
        found = self._remembered.get(key)
        if found is None:
            found = make()
            with _REMEMBERING:
                while len(self._remembered) >= _MOST_REMEMBERED:
                    self._remembered.pop(next(iter(self._remembered)))
                self._remembered[key] = found
        return found

    def remember_of_layers(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The same for what is made from the layers alone: it is known on every slice.

        Large networks are left out: what is kept would be larger than they are.

        Examples
        --------
        >>> network = Network.mlp([[[2.0, 1.0]], [[1.0]]])
        >>> line = network.restrict(Slice([0, 0], [[1, 1]]))
        >>> network.remember_of_layers("sum", lambda: 1 + 1)
        2
        >>> line.remember_of_layers("sum", lambda: 1 / 0)
        2
        """
        if key not in self._of_layers:
            made = make()
            if sum(layer.affine.n_numbers for layer in self.layers) > _MOST_NUMBERS_KEPT:
                return made
            self._of_layers[key] = made
        return self._of_layers[key]

    def _forward(self, points: ArrayLike) -> tuple[list[FloatArray], PatternArray]:
        """Outputs of all layers, and the patterns, at points."""
        x = self.check_points(points)
        values = [x if self.float_embedding is None else self.float_embedding(x)]
        parts = [np.empty((len(x), 0), np.uint8)]
        for layer in self.layers:
            before = layer.affine(values)
            parts.append(layer.activation.pattern(before))
            values.append(layer.activation(before))
        return values, np.concatenate(parts, axis=1)

    def check_points(
        self, points: ArrayLike, *, exact: bool = False, finite: bool = False
    ) -> NDArray[Any]:
        """Points as an array of shape (points, inputs): float64, or as they are if exact.

        If `finite`, infinities and nan are refused.

        Examples
        --------
        >>> Network.mlp([[[2.0]], [[1.0]]]).check_points([[1], [2]])
        array([[1.],
               [2.]])
        >>> Network.mlp([[[2.0]], [[1.0]]]).check_points([[float("nan")]], finite=True)
        Traceback (most recent call last):
        tropicell.errors.InvalidInputError: point 0 has the value nan at input 0; expected ...
        """
        return checked_points(points, self.n_inputs, exact=exact, finite=finite)

    # --- how it looks -------------------------------------------------------------------------

    def diagram(self) -> str:
        """Layers and skips as text, one line a layer, skips as arcs on the right.

        Examples
        --------
        >>> print(Network.mlp([[[1.0]]] * 4, skips=[(1, 3)]).diagram())
        input   1
          1     1  relu   ──┐
          2     1  relu     │
          3     1  relu   ←─┘
        output  1
        """
        return draw(self)

    def __repr__(self) -> str:
        return f"Network({summary(self)})"

    def _repr_html_(self) -> str:
        """A short table for notebooks."""
        rows = {
            "inputs, outputs": f"{self.n_inputs:,}, {self.n_outputs:,}",
            "neurons": f"{self.n_neurons:,} in {self.depth} layers",
            "layers": self.diagram(),
        }
        return html_table("Network", rows)


def _close_to(exact: NDArray[Any]) -> FloatArray:
    """Rationals in float64: rounded, but what is not 0 stays so, and nothing is infinite."""
    numbers = np.finfo(np.float64)
    floats = to_floats(exact)
    lost = (floats == 0) & (exact != 0)
    floats[lost] = np.where(
        exact[lost] > 0, numbers.smallest_subnormal, -numbers.smallest_subnormal
    )
    return np.clip(floats, numbers.min, numbers.max)
