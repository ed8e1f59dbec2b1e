"""Training small networks, with and without skips, from the same weights on the same batches.

All numbers of a network are one vector of float64, so an optimiser is a few operations on vectors,
and a step of a small network takes a tenth of a millisecond. Skip connections as in the paper have
no weights of their own: with and without them a network has the same vector.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidInputError
from tropicell.network.activations import Activation, as_activation
from tropicell.network.layers import Affine, Layer
from tropicell.network.network import Network
from tropicell.playground.data import PointSet, make_data
from tropicell.playground.settings import Settings

#: Multiplications of a product of matrices that one thread does (OpenBLAS).
_ONE_THREAD = 2**18

#: Networks with more weights or neurons are too large for the page.
_MOST_WEIGHTS, _MOST_NEURONS = 100_000, 1000


@dataclass(frozen=True)
class Slot:
    """A matrix in the vector of all numbers."""

    start: int
    rows: int
    columns: int

    def of(self, vector: FloatArray) -> FloatArray:
        """The matrix, a view."""
        return vector[self.start : self.start + self.rows * self.columns].reshape(
            self.rows, self.columns
        )


@dataclass(frozen=True)
class Term:
    """The first `size` columns of a matrix, multiplied with the first neurons of a layer."""

    source: int
    slot: Slot
    size: int


@dataclass(frozen=True, eq=False)
class Plan:
    """How the numbers of a vector make a network.

    Attributes
    ----------
    n_inputs : int
    terms : tuple of tuples of Term
        For each of the layers 1 … L and the output.
    biases : tuple of slice
    activations : tuple of Activation
        Of the layers 1 … L.
    length : int
        Numbers in the vector.
    embedding : AffineMap or None
        From the plane to the inputs, if the network is looked at on a slice.
    """

    n_inputs: int
    terms: tuple[tuple[Term, ...], ...]
    biases: tuple[slice, ...]
    activations: tuple[Activation, ...]
    length: int
    embedding: Any = None

    @property
    def widths(self) -> tuple[int, ...]:
        """Neurons of the layers 0 … L + 1."""
        return (self.n_inputs, *(bias.stop - bias.start for bias in self.biases))

    @property
    def skips(self) -> tuple[tuple[int, int], ...]:
        """Terms that jump over a layer."""
        return tuple(
            (term.source, layer)
            for layer, terms in enumerate(self.terms, start=1)
            for term in terms
            if term.source < layer - 1
        )

    def with_skips(self, skips: tuple[tuple[int, int], ...]) -> Plan:
        """The same matrices with other skips: those that the plan has, or the paper's."""
        widths = self.widths
        new = []
        for layer, terms in enumerate(self.terms, start=1):
            there = {term.source: term for term in terms}
            row = [term for term in terms if term.source >= layer - 1]
            for source in sorted(k for k, target in skips if target == layer):
                if source in there:
                    row.append(there[source])
                elif row:
                    slot = row[0].slot
                    row.append(Term(source, slot, min(slot.columns, widths[source])))
            new.append(tuple(row))
        return Plan(
            self.n_inputs, tuple(new), self.biases, self.activations, self.length, self.embedding
        )

    def network(self, vector: FloatArray) -> Network:
        """The network, exactly as it is trained.

        Raises
        ------
        InvalidNetworkError
            If a number is not finite.
        """
        widths = self.widths
        parts = []
        for terms, bias in zip(self.terms, self.biases, strict=True):
            matrices = {}
            for term in terms:
                matrix = np.zeros((term.slot.rows, widths[term.source]))
                matrix[:, : term.size] = term.slot.of(vector)[:, : term.size]
                matrices[term.source] = matrix
            parts.append(Affine(matrices, vector[bias].copy()))
        layers = [Layer(a, f) for a, f in zip(parts[:-1], self.activations, strict=True)]
        return Network(self.n_inputs, layers, parts[-1], embedding=self.embedding)


def plan_of(settings: Settings) -> Plan:
    """The plan of a network with two inputs and one output.

    Examples
    --------
    >>> plan = plan_of(Settings(widths=(3, 3), skips=((1, 3),)))
    >>> plan.widths, plan.skips, plan.length
    ((2, 3, 3, 1), ((1, 3),), 25)
    """
    widths = (2, *settings.widths, 1)
    terms, biases, start = [], [], 0
    for layer, (columns, rows) in enumerate(pairwise(widths)):
        slot = Slot(start, rows, columns)
        start += rows * columns
        terms.append((Term(layer, slot, columns),))
        biases.append(slice(start, start + rows))
        start += rows
    activation = as_activation(settings.activation)
    plan = Plan(2, tuple(terms), tuple(biases), (activation,) * len(settings.widths), start)
    return plan.with_skips(settings.skips)


def plan_of_network(network: Network) -> tuple[Plan, FloatArray]:
    """The plan and the numbers of any network with two inputs.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 2.0]], [[3.0]]])
    >>> plan, vector = plan_of_network(network)
    >>> vector.tolist(), plan.network(vector) == network
    ([1.0, 2.0, 0.0, 3.0, 0.0], True)
    """
    if network.n_inputs != 2:
        raise InvalidInputError(
            f"the page shows the plane, and this network has {network.n_inputs} inputs; "
            "give a slice of it: a file for --slice, or network.restrict(Slice(…))"
        )
    neurons = sum(network.widths)
    if neurons > _MOST_NEURONS:
        raise InvalidInputError(
            f"this network has {neurons:,} neurons; the page takes at most {_MOST_NEURONS:,}. "
            "Look at it with tropicell.explore"
        )
    if network.n_weights > _MOST_WEIGHTS:
        raise InvalidInputError(
            f"this network has {network.n_weights:,} weights; the page takes at most "
            f"{_MOST_WEIGHTS:,}. Look at it with tropicell.explore"
        )
    terms: list[tuple[Term, ...]] = []
    values: list[NDArray[Any]] = []
    biases, start = [], 0
    for layer in range(1, network.depth + 2):
        affine = network.affine(layer)
        row: list[Term] = []
        for source in sorted(affine.terms, reverse=True):
            stored: Any = affine.terms[source]
            matrix = np.asarray(stored if isinstance(stored, np.ndarray) else stored.toarray())
            same = next((term for term in row if _equal(term, values, matrix)), None)
            if same is not None:  # the paper's skips share the matrix of their layer
                row.append(Term(source, same.slot, matrix.shape[1]))
                continue
            slot = Slot(start, *matrix.shape)
            start += matrix.size
            values.append(matrix.ravel())
            row.append(Term(source, slot, matrix.shape[1]))
        terms.append(tuple(row))
        biases.append(slice(start, start + len(affine.bias)))
        values.append(np.asarray(affine.bias))
        start += len(affine.bias)
    activations = tuple(layer.activation for layer in network.layers)
    inputs = 2 if network.embedding is None else int(network.embedding.matrix.shape[0])
    plan = Plan(inputs, tuple(terms), tuple(biases), activations, start, network.embedding)
    return plan, np.concatenate(values).astype(np.float64)


def _equal(term: Term, values: list[NDArray[Any]], matrix: NDArray[Any]) -> bool:
    stored = term.slot.of(np.concatenate(values))
    return stored.shape == matrix.shape and bool((stored == matrix).all())


def first_weights(settings: Settings, plan: Plan) -> FloatArray:
    """The numbers at step 0; they do not depend on the skips."""
    rng = np.random.default_rng([settings.seed, 0])
    vector = np.zeros(plan.length)
    for terms, bias in zip(plan.terms, plan.biases, strict=True):
        matrix = terms[0].slot.of(vector)
        rows, columns = matrix.shape
        normal = rng.normal(size=matrix.shape)
        uniform = rng.uniform(-1, 1, size=matrix.shape)
        if settings.init == "he":
            matrix[:] = normal * np.sqrt(2 / columns)
        elif settings.init == "xavier":
            matrix[:] = uniform * np.sqrt(6 / (rows + columns))
        elif settings.init == "uniform":
            matrix[:] = uniform / np.sqrt(columns)
        else:
            matrix[:] = _orthogonal(normal)
        vector[bias] = rng.uniform(-1, 1, size=rows) / np.sqrt(columns)
    return vector * settings.scale


def _orthogonal(normal: FloatArray) -> FloatArray:
    tall = normal if normal.shape[0] >= normal.shape[1] else normal.T
    q, r = np.linalg.qr(tall)
    q = q * np.sign(np.diag(r))
    return q if normal.shape[0] >= normal.shape[1] else q.T


@dataclass(eq=False)
class Learner:
    """One network that is trained: its plan, its numbers, and what its optimiser remembers."""

    plan: Plan
    vector: FloatArray
    first: FloatArray = field(init=False)
    second: FloatArray = field(init=False)
    steps: int = 0

    def __post_init__(self) -> None:
        """Begin with an optimiser that remembers nothing."""
        self.first = np.zeros_like(self.vector)
        self.second = np.zeros_like(self.vector)

    def forward(self, x: FloatArray) -> tuple[list[FloatArray], list[FloatArray], FloatArray]:
        """Values of the layers 0 … L, slopes of the layers 1 … L, and outputs."""
        values, slopes = [x], []
        last = len(self.plan.terms) - 1
        z = x
        for layer, (terms, bias) in enumerate(zip(self.plan.terms, self.plan.biases, strict=True)):
            z = self.vector[bias]
            for term in terms:
                matrix = term.slot.of(self.vector)[:, : term.size]
                z = z + values[term.source][:, : term.size] @ matrix.T
            if layer < last:
                value, slope = _activate(self.plan.activations[layer], z)
                values.append(value)
                slopes.append(slope)
        if z.ndim == 1:  # an output without terms
            z = np.broadcast_to(z, (len(x), len(z)))
        return values, slopes, z

    def outputs(self, x: FloatArray) -> FloatArray:
        """Outputs at many points, some at a time.

        Products of larger matrices are spread over all cores by the libraries below NumPy, whose
        threads then turn idly for a while: the page that draws frames would have to wait for them.
        """
        sizes = [term.slot.rows * term.slot.columns for row in self.plan.terms for term in row]
        some = max(1, _ONE_THREAD // max(sizes, default=1))
        parts = [self.forward(x[at : at + some])[2] for at in range(0, len(x), some)]
        return np.concatenate(parts)

    def gradient(self, x: FloatArray, y: FloatArray, loss: str) -> FloatArray:
        """Of the mean loss on a batch, by all numbers."""
        values, slopes, out = self.forward(x)
        total = np.zeros_like(self.vector)
        behind: list[FloatArray | None] = [None] * len(values)
        delta = _loss_slope(out, y, loss)
        for layer in range(len(self.plan.terms), 0, -1):
            if layer <= len(slopes):
                arrived = behind[layer]
                if arrived is None:
                    continue
                delta = arrived * slopes[layer - 1]
            total[self.plan.biases[layer - 1]] = delta.sum(axis=0)
            for term in self.plan.terms[layer - 1]:
                value = values[term.source][:, : term.size]
                term.slot.of(total)[:, : term.size] += delta.T @ value
                if term.source:
                    back = delta @ term.slot.of(self.vector)[:, : term.size]
                    there = behind[term.source]
                    if there is None:
                        there = behind[term.source] = np.zeros_like(values[term.source])
                    there[:, : term.size] += back
        return total

    def update(self, gradient: FloatArray, settings: Settings) -> None:
        """One step of the optimiser."""
        rate, vector = settings.learning_rate, self.vector
        if settings.penalty == "l2":
            gradient = gradient + settings.strength * vector
        elif settings.penalty == "l1":
            gradient = gradient + settings.strength * np.sign(vector)
        self.steps += 1
        if settings.optimiser == "adam":
            self.first += 0.1 * (gradient - self.first)
            self.second += 0.001 * (gradient * gradient - self.second)
            size = rate * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
            vector -= size * self.first / (np.sqrt(self.second) + 1e-8)
        elif settings.optimiser == "rmsprop":
            self.second += 0.01 * (gradient * gradient - self.second)
            vector -= rate * gradient / (np.sqrt(self.second) + 1e-8)
        elif settings.optimiser == "momentum":
            self.first *= 0.9
            self.first += gradient
            vector -= rate * self.first
        else:
            vector -= rate * gradient

    def measure(self, x: FloatArray, y: FloatArray, loss: str) -> tuple[float, float]:
        """Mean loss, and the share of points on the right side; nan without points."""
        if not len(x):
            return float("nan"), float("nan")
        out = self.outputs(x)
        right = np.sign(out[:, 0]) == np.sign(y) if out.shape[1] == 1 else _chosen(out) == (y > 0)
        return float(_losses(out, y, loss).mean()), float(right.mean())


def _activate(activation: Activation, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    if activation.name == "relu":
        slope = (z > 0).astype(np.float64)
        return z * slope, slope
    pieces = (z[:, :, None] > activation.breakpoints).sum(axis=2)
    rows = np.broadcast_to(np.arange(activation.slopes.shape[0]), pieces.shape)
    rows = rows if activation.slopes.shape[0] > 1 else np.zeros_like(pieces)
    slope = activation.slopes[rows, pieces]
    return slope * z + activation.intercepts[rows, pieces], slope


def _chosen(out: FloatArray) -> NDArray[np.bool_]:
    """Of two outputs or more: whether it is the second class."""
    return np.asarray(out.argmax(axis=1) == 1)


def _losses(out: FloatArray, y: FloatArray, loss: str) -> FloatArray:
    if loss == "squared":
        return ((out[:, 0] - y) ** 2) / 2
    if out.shape[1] == 1:
        return np.logaddexp(0.0, -y * out[:, 0])
    index = (y > 0).astype(np.intp)
    shifted = out - out.max(axis=1, keepdims=True)
    logs = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(y)), index]
    return np.asarray(logs)


def _loss_slope(out: FloatArray, y: FloatArray, loss: str) -> FloatArray:
    delta = np.zeros_like(out)
    if loss == "squared":
        delta[:, 0] = out[:, 0] - y
    elif out.shape[1] == 1:
        delta[:, 0] = -y * np.exp(-np.logaddexp(0.0, y * out[:, 0]))
    else:
        powers = np.exp(out - out.max(axis=1, keepdims=True))
        delta = powers / powers.sum(axis=1, keepdims=True)
        delta[np.arange(len(y)), (y > 0).astype(np.intp)] -= 1.0
    return delta / len(y)


class Training:
    """A run: a network, and if settings ask for it the same without skips beside it.

    Parameters
    ----------
    settings : Settings
    network : Network, optional
        What to begin with, instead of what settings say about layers and weights.

    Attributes
    ----------
    learners : dict from str to Learner
        ``"skips"`` is the network, ``"plain"`` the one without skips.
    first_settings : Settings
        What it began with.
    events : list of (step, name, arguments)
        The calls of `change` and `set_weight` since then: with them, the run can be repeated.

    Examples
    --------
    >>> training = Training(Settings(widths=(6, 6), skips=((1, 3),), data="xor"))
    >>> training.advance(50)
    >>> training.step, training.network(), training.network("plain")
    (50, Network(2 → 6 → 6 → 1, skips 1→3), Network(2 → 6 → 6 → 1))

    The same settings give the same numbers:

    >>> again = Training(training.settings)
    >>> again.advance(50)
    >>> again.network() == training.network()
    True
    """

    def __init__(self, settings: Settings, network: Network | None = None) -> None:
        self.settings = self.first_settings = settings
        self.events: list[tuple[int, str, tuple[Any, ...]]] = []
        self.step = 0
        self.given = network
        self.data: PointSet = make_data(settings)
        if network is None:
            plan = plan_of(settings)
            vector = first_weights(settings, plan)
        else:
            plan, vector = plan_of_network(network)
        self._skips_of_plan = plan
        self.learners = {"skips": Learner(plan, vector)}
        self._embed()
        if settings.compare and plan.skips:
            self._add_plain()
        self._order: NDArray[np.intp] = np.empty(0, np.intp)
        self._at = 0

    def _add_plain(self) -> None:
        main = self.learners["skips"]
        twin = Learner(main.plan.with_skips(()), main.vector.copy())
        twin.first[:], twin.second[:], twin.steps = main.first, main.second, main.steps
        self.learners["plain"] = twin

    def _embed(self) -> None:
        """Points as the network's first layer sees them."""
        embedding = None if self.given is None else self.given.float_embedding
        data = self.data
        self._x = data.x if embedding is None else embedding(data.x)
        self._x_test = data.x_test if embedding is None else embedding(data.x_test)

    def advance(self, steps: int) -> None:
        """Train for some steps, both networks on the same batches.

        Raises
        ------
        InvalidInputError
            If there is nothing to learn, or a number is no longer finite.
        """
        if not len(self._x):
            raise InvalidInputError("there are no points to learn: draw some, or choose a set")
        outputs = self.learners["skips"].plan.widths[-1]
        loss = self.settings.resolved_loss
        if outputs > 1 and loss == "squared":
            raise InvalidInputError(
                f"the network has {outputs} outputs, and numbers are learnt by one; "
                "choose data with two classes"
            )
        for _ in range(steps):
            batch = self._batch()
            x, y = self._x[batch], self.data.y[batch]
            with np.errstate(over="ignore", invalid="ignore"):
                for learner in self.learners.values():
                    before = learner.vector.copy()
                    learner.update(learner.gradient(x, y, loss), self.settings)
                    if not np.isfinite(learner.vector).all():
                        learner.vector[:] = before
                        raise InvalidInputError(
                            f"the weights grew beyond all bounds at step {self.step + 1}; "
                            "choose a smaller learning rate, and start again"
                        )
            self.step += 1

    def _batch(self) -> NDArray[np.intp]:
        """The next points, in an order that the seed and the epoch decide."""
        n, size = len(self._x), min(self.settings.batch, len(self._x))
        first = self.step * size
        epoch, at = divmod(first, n)
        if at + size > n:  # what is left of an epoch joins the next
            rest = self._epoch(epoch)[at:]
            return np.concatenate([rest, self._epoch(epoch + 1)[: size - len(rest)]])
        return self._epoch(epoch)[at : at + size]

    def _epoch(self, epoch: int) -> NDArray[np.intp]:
        if self._at != epoch or len(self._order) != len(self._x):
            rng = np.random.default_rng([self.settings.seed, 2, epoch])
            self._order, self._at = rng.permutation(len(self._x)), epoch
        return self._order

    @property
    def epoch(self) -> float:
        """How often every point was seen."""
        n = len(self._x)
        return self.step * min(self.settings.batch, n) / n if n else 0.0

    @property
    def possible_skips(self) -> list[tuple[int, int]]:
        """The skips that can be switched on and off: none, if settings can't say what they are."""
        if self.given is not None and tuple(self.given.widths) != self.settings.widths:
            return []
        there = self._skips_of_plan
        return [
            (source, layer)
            for layer, terms in enumerate(there.terms, start=1)
            for source in range(layer - 1)
            if any(term.source in (source, layer - 1) for term in terms)
        ]

    def change(self, settings: Settings) -> None:
        """Go on with other data, rates or skips; the layers must be the same ones.

        Raises
        ------
        InvalidInputError
            If a skip can't be switched in the network that was loaded.
        """
        if settings.skips != self.settings.skips:
            switched = set(settings.skips) ^ set(self.settings.skips)
            for source, layer in sorted(switched - set(self.possible_skips)):
                raise InvalidInputError(
                    f"skips: {source}→{layer} can't be switched in {self.given!r}"
                )
        before, self.settings = self.settings, settings
        if settings != before:
            self.events.append((self.step, "change", (settings,)))
        keys = ("data", "samples", "noise", "points", "reach", "seed")
        if any(getattr(before, key) != getattr(settings, key) for key in keys):
            self.data = make_data(settings)
            self._embed()
            self._order = np.empty(0, np.intp)
        main = self.learners["skips"]
        if self.given is None or settings.skips != before.skips:
            main.plan = self._skips_of_plan.with_skips(settings.skips)
        if not (settings.compare and main.plan.skips):
            self.learners.pop("plain", None)
        elif "plain" not in self.learners:
            self._add_plain()

    def set_weight(self, name: str, place: int, value: float) -> None:
        """Change one number of a network."""
        if name not in self.learners:
            raise InvalidInputError(f"there is no network {name!r}")
        vector = self.learners[name].vector
        if not 0 <= place < len(vector) or not abs(value) < 1e6:
            raise InvalidInputError(f"weight {place}: expected a number of at most a million")
        vector[place] = value
        self.events.append((self.step, "set_weight", (name, place, value)))

    def network(self, name: str = "skips") -> Network:
        """A network as it is now."""
        learner = self.learners[name]
        return learner.plan.network(learner.vector)

    def measures(self, name: str) -> dict[str, float]:
        """Loss and accuracy on all points, training and test."""
        learner, loss = self.learners[name], self.settings.resolved_loss
        with np.errstate(over="ignore", invalid="ignore"):
            train = learner.measure(self._x, self.data.y, loss)
            test = learner.measure(self._x_test, self.data.y_test, loss)
        return {"loss": train[0], "accuracy": train[1], "test": test[0], "right": test[1]}
