"""Deep, real and degenerate networks, made from seeds: what `benchmarks.depth` measures, and tests may reuse."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from tropicell import Affine, Box, Layer, Network, WholeSpace, load
from tropicell.network.domains import Domain

#: The variable that names the folder of models which are not part of the project.
MODELS = "TROPICELL_MODELS"

#: Half the width of the boxes.
REACH = 3.0

Kind = Literal["he", "zero biases", "integers", "twins", "tenths", "dead layer"]
Arrays = tuple[np.ndarray, np.ndarray]

#: How weights are drawn that make degenerate networks.
DEGENERATE_KINDS: tuple[Kind, ...] = ("zero biases", "integers", "twins", "tenths", "dead layer")


class MissingModelError(Exception):
    """A file of a case is not there."""


@dataclass(frozen=True)
class DeepCase:
    """A network and a domain.

    Attributes
    ----------
    name : str
    sizes : tuple of int
        Inputs, the width of every hidden layer, outputs.
    kind : str
        How weights and biases are drawn, see `draw`.
    box : float or None
        The domain is [-box, box]^n; None: all of R^n.
    seed : int
    residual : int
        Every so many layers, what comes out of a layer is added to what goes into a later one; 0: never.
    file : str
        A model in the folder that `MODELS` names, instead of a random network.
    bounds : pair of sequences, optional
        Of the box, instead of `box`.
    """

    name: str
    sizes: tuple[int, ...] = ()
    kind: Kind = "he"
    box: float | None = REACH
    seed: int = 0
    residual: int = 0
    file: str = ""
    bounds: tuple[Sequence[float], Sequence[float]] | None = None

    @property
    def inputs(self) -> int:
        return len(self.bounds[0]) if self.bounds is not None else self.sizes[0]

    def domain(self) -> Domain:
        if self.bounds is not None:
            return Box(*self.bounds)
        return WholeSpace() if self.box is None else Box(-self.box, self.box)

    def network(self, models: Path | None = None) -> Network:
        """The network.

        Raises
        ------
        MissingModelError
            If its file is not there.
        """
        if self.file:
            return _from_file(self.file, models)
        arrays = draw(self.sizes, self.kind, self.seed)
        if not self.residual:
            return Network.mlp([w for w, _ in arrays], [b for _, b in arrays])
        return residual_network(arrays, self.residual)


def _from_file(name: str, models: Path | None) -> Network:
    folder = models or (Path(os.environ[MODELS]) if MODELS in os.environ else None)
    if folder is None or not (folder / name).exists():
        raise MissingModelError(f"{name}: set {MODELS} to a folder that has it, or give --models")
    return load(folder / name)


def draw(sizes: Sequence[int], kind: Kind = "he", seed: int = 0) -> list[Arrays]:
    """Weights and biases of every layer.

    All kinds begin with He's initialisation and biases N(0, 1/2) (a standard deviation of 1/2).

    - "zero biases": all boundaries pass through 0.
    - "integers": weights -2 … 2, biases -1 … 1, so that many boundaries meet in one point.
    - "twins": every second neuron is a multiple of the one before it, with the same boundary.
    - "tenths": weights and biases are multiples of 0.1, which float64 rounds.
    - "dead layer": in the middle all neurons are off everywhere on the box, or on everywhere.

    Examples
    --------
    >>> [weights.shape for weights, _ in draw((2, 3, 1))]
    [(3, 2), (1, 3)]
    """
    rng = np.random.default_rng(seed)
    layers = []
    for m, n in pairwise(sizes):
        weights, biases = rng.normal(size=(n, m)) * np.sqrt(2 / m), rng.normal(size=n) * 0.5
        if kind == "integers":
            weights = rng.integers(-2, 3, size=(n, m)).astype(float)
            biases = rng.integers(-1, 2, size=n).astype(float)
        elif kind == "tenths":
            weights, biases = np.round(weights, 1), np.round(biases, 1)
        elif kind == "zero biases":
            biases = np.zeros(n)
        elif kind == "twins":
            factors = rng.choice([1.0, -1.0, 2.0, -0.5], size=n // 2)
            weights[1::2] = factors[:, None] * weights[: 2 * (n // 2) : 2]
            biases[1::2] = factors * biases[: 2 * (n // 2) : 2]
        layers.append((weights, biases))
    if kind == "dead layer":
        weights, biases = layers[(len(sizes) - 2) // 2]
        # Half of it is off, half of it is on, whatever comes in.
        biases[:] = np.where(np.arange(len(biases)) % 2, 1e3, -1e3)
    return layers


def residual_network(arrays: Sequence[Arrays], every: int) -> Network:
    """Layers of one width; every so many layers, what a block began with is added before the ReLU."""
    hidden, (last, offset) = arrays[:-1], arrays[-1]
    layers = []
    for index, (weights, biases) in enumerate(hidden, start=1):
        terms = {index - 1: weights}
        if index > every and index % every == 0:
            terms[index - every] = np.eye(len(biases))
        layers.append(Layer(Affine(terms, biases)))
    return Network(hidden[0][0].shape[1], layers, Affine({len(hidden): last}, offset))


def _deep(dimension: int, depth: int, width: int, **options: object) -> DeepCase:
    sizes = (dimension, *[width] * depth, 1)
    return DeepCase(f"{dimension}-D {depth}×[{width}]", sizes, **options)  # type: ignore[arg-type]


_ACAS = "acasxu_1_1.onnx"

#: Boxes of the properties of ACAS Xu, in the inputs of the networks.
_PROPERTY_1 = ((0.6, -0.5, -0.5, 0.45, -0.5), (0.6798577687, 0.5, 0.5, 0.5, -0.45))
_PROPERTY_3 = (
    (-0.303531156, -0.009549297, 0.493380324, 0.3, 0.3),
    (-0.298552812, 0.009549297, 0.5, 0.5, 0.5),
)

#: Networks in general position, up to 30 layers deep.
GENERIC = (
    _deep(2, 16, 64),
    DeepCase("2-D 16×[64], residual every 2", (2, *[64] * 16, 1), residual=2),
    _deep(2, 30, 20),
    _deep(3, 8, 24),
    _deep(3, 30, 10),
    _deep(4, 6, 16),
    _deep(4, 30, 8),
    _deep(5, 4, 14),
    _deep(5, 16, 8),
    DeepCase("4-D 3×[6], all of R⁴", (4, 6, 6, 6, 1), box=None),
    DeepCase("ACAS Xu 1_1, property 1", file=_ACAS, bounds=_PROPERTY_1),
    DeepCase("ACAS Xu 1_1, property 3", file=_ACAS, bounds=_PROPERTY_3),
)

#: The size of the paper's networks, on all of R²; they are measured together.
SMALL = tuple(
    DeepCase(f"2-D 5×[5], all of R², seed {seed}", (2, 5, 5, 5, 5, 5, 1), box=None, seed=seed)
    for seed in range(12)
)

#: All boundaries through 0.
BIAS_FREE = (
    DeepCase("3-D [10,10], bias-free", (3, 10, 10, 1), "zero biases"),
    DeepCase("4-D [8,8], bias-free", (4, 8, 8, 1), "zero biases"),
    DeepCase("6-D [6,6], bias-free", (6, 6, 6, 1), "zero biases"),
)

_DEGENERATE_SIZES = {2: (2, 48, 48, 48, 1), 3: (3, 18, 18, 18, 1), 4: (4, 10, 10, 10, 1)}

#: Families in which boundaries meet more often than they do by chance.
DEGENERATE = tuple(
    DeepCase(f"{n}-D {len(sizes) - 2}×[{sizes[1]}], {kind}", sizes, kind, seed=1)
    for n, sizes in _DEGENERATE_SIZES.items()
    for kind in DEGENERATE_KINDS
)

#: Larger ones of these families, for two threads.
THREADED = (
    DeepCase("2-D 4×[96], integers", (2, *[96] * 4, 1), "integers"),
    DeepCase("2-D 4×[96], tenths", (2, *[96] * 4, 1), "tenths"),
    DeepCase("2-D 5×[128], twins", (2, *[128] * 5, 1), "twins"),
    DeepCase("3-D 3×[64], zero biases", (3, *[64] * 3, 1), "zero biases"),
    DeepCase("3-D 3×[64], twins", (3, *[64] * 3, 1), "twins"),
    DeepCase("3-D 3×[32], integers", (3, *[32] * 3, 1), "integers"),
    DeepCase("4-D 3×[16], integers", (4, *[16] * 3, 1), "integers"),
    DeepCase("4-D 3×[24], zero biases", (4, *[24] * 3, 1), "zero biases"),
)


def _varied(
    seed: int, dimension: int, widths: Sequence[int], kind: Kind, box: float | None
) -> DeepCase:
    text = ",".join(map(str, widths))
    if len(set(widths)) == 1 and len(widths) > 3:
        text = f"{len(widths)}×[{widths[0]}]"
    else:
        text = f"[{text}]"
    more = "" if kind == "he" else f", {kind}"
    where = "" if box is not None else ", all of Rⁿ"
    return DeepCase(f"{dimension}-D {text}{more}{where}", (dimension, *widths, 1), kind, box, seed)


#: What the choice between engines is tried on. None of these was used to fit it: see `FITTED`.
HELD_OUT = (
    _varied(301, 4, (7, 5), "he", 1.0),
    _varied(302, 4, (24, 16), "he", REACH),
    _varied(303, 4, [7] * 12, "he", REACH),
    _varied(304, 4, (18, 9), "he", None),
    _varied(305, 4, (10, 8), "zero biases", REACH),
    _varied(306, 5, (15, 13), "he", REACH),
    _varied(307, 5, (34,), "he", 1.0),
    _varied(308, 5, [8] * 5, "he", REACH),
    _varied(309, 5, (9, 8, 5), "integers", REACH),
    _varied(310, 5, (12, 10), "he", None),
    _varied(311, 6, (14, 10), "he", REACH),
    _varied(312, 6, (8, 5), "zero biases", REACH),
    _varied(313, 6, (7, 7, 7, 7), "he", REACH),
    _varied(314, 6, (18,), "he", None),
    _varied(315, 7, (11, 9), "he", 1.0),
    _varied(316, 7, (9, 7), "he", None),
    _varied(317, 8, (11, 8), "he", REACH),
    _varied(318, 8, (8, 6, 6), "he", REACH),
    DeepCase("ACAS Xu 4_3, property 1", file="acasxu_4_3.onnx", bounds=_PROPERTY_1),
    DeepCase("ACAS Xu 4_3, property 3", file="acasxu_4_3.onnx", bounds=_PROPERTY_3),
)

#: What the choice between engines is fitted to.
FITTED = (
    *(
        _varied(seed, n, widths, kind, box)
        for seed, (n, widths, kind, box) in enumerate(
            [
                (4, (16, 16), "he", REACH),
                (4, (12, 12), "he", None),
                (4, [8] * 6, "he", REACH),
                (4, (8, 8), "zero biases", REACH),
                (5, (12, 12), "he", REACH),
                (5, (30,), "he", REACH),
                (5, [6] * 6, "he", REACH),
                (5, (8, 8), "he", None),
                (5, (8, 6), "zero biases", REACH),
                (6, (10, 10), "he", REACH),
                (6, (6, 6), "zero biases", REACH),
                (6, (14,), "he", REACH),
                (6, (8, 8), "he", None),
                (7, (10, 8), "he", REACH),
                (7, (8, 8, 8), "he", 1.0),
                (8, (9, 9), "he", REACH),
                (8, (10, 4), "he", None),
            ]
        )
    ),
    _varied(106, 5, (14, 14), "he", REACH),
    _varied(107, 5, (40,), "he", 1.0),
    _varied(108, 5, [7] * 8, "he", REACH),
    _varied(110, 5, (10, 10), "he", None),
    _varied(111, 6, (12, 12), "he", REACH),
    _varied(113, 6, (5, 5, 5, 5), "he", REACH),
    _varied(114, 6, (16,), "he", None),
    _varied(115, 7, (12, 8), "he", REACH),
    _varied(116, 7, (8, 8), "he", None),
    _varied(117, 8, (10, 10), "he", 1.0),
    _varied(118, 8, (14,), "he", REACH),
    DeepCase("ACAS Xu 1_1, property 1", file=_ACAS, bounds=_PROPERTY_1),
    DeepCase("ACAS Xu 1_1, property 3", file=_ACAS, bounds=_PROPERTY_3),
)


def available(
    cases: Sequence[DeepCase], models: Path | None = None, say: Callable[[str], None] = print
) -> list[tuple[DeepCase, Network]]:
    """The cases whose networks are there; why others are left out is said."""
    found = []
    for case in cases:
        try:
            found.append((case, case.network(models)))
        except MissingModelError as missing:
            say(f"{case.name}: left out ({missing})")
    return found
