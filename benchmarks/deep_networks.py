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

#: Larger ones of these families, for two threads: one takes half a second or more, or the figure means nothing.
THREADED = (
    DeepCase("2-D 5×[160], integers", (2, *[160] * 5, 1), "integers"),
    DeepCase("2-D 5×[144], tenths", (2, *[144] * 5, 1), "tenths"),
    DeepCase("2-D 6×[160], twins", (2, *[160] * 6, 1), "twins"),
    DeepCase("3-D 4×[96], zero biases", (3, *[96] * 4, 1), "zero biases"),
    DeepCase("3-D 3×[96], twins", (3, *[96] * 3, 1), "twins"),
    DeepCase("3-D 3×[84], integers", (3, *[84] * 3, 1), "integers"),
    DeepCase("4-D 3×[24], integers", (4, *[24] * 3, 1), "integers"),
    DeepCase("4-D 3×[42], zero biases", (4, *[42] * 3, 1), "zero biases"),
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


#: Regions that are stored and counted, a thousand to a million of them. No code was tuned on these.
STORED = (
    DeepCase("3-D [14,12]", (3, 14, 12, 1), seed=301),
    DeepCase("3-D 4×[14]", (3, *[14] * 4, 1), seed=302),
    DeepCase("3-D [22,18], all of R³", (3, 22, 18, 1), box=None, seed=303),
    DeepCase("3-D 3×[34]", (3, *[34] * 3, 1), seed=304),
    DeepCase("3-D [70,60]", (3, 70, 60, 1), seed=305),
    DeepCase("4-D [9,8]", (4, 9, 8, 1), seed=306),
    DeepCase("4-D 3×[10]", (4, *[10] * 3, 1), seed=307),
    DeepCase("4-D [13,11], all of R⁴", (4, 13, 11, 1), box=None, seed=308),
    DeepCase("4-D [22,18]", (4, 22, 18, 1), seed=309),
    DeepCase("4-D [26,26]", (4, 26, 26, 1), seed=310),
)

#: What the choice between engines is tried on. None of these was used to fit it: see `FITTED`.
HELD_OUT = (
    _varied(901, 4, (11, 8, 4), "he", 1.0),
    _varied(902, 4, (9, 8), "twins", None),
    _varied(903, 5, (13, 14), "he", REACH),
    _varied(904, 5, (12, 13), "he", None),
    _varied(905, 5, (32,), "he", 1.0),
    _varied(906, 5, (10, 9, 8), "he", REACH),
    _varied(907, 5, [6] * 8, "he", REACH),
    _varied(908, 5, (10, 6), "zero biases", None),
    _varied(909, 5, (10, 9, 7), "integers", REACH),
    _varied(910, 5, (16, 10), "twins", REACH),
    _varied(911, 6, (11, 11), "he", 1.0),
    _varied(912, 6, (8, 6), "zero biases", REACH),
    _varied(913, 6, [7] * 5, "he", REACH),
    _varied(914, 6, (15, 6), "he", None),
    _varied(915, 6, (9, 8), "integers", REACH),
    _varied(916, 7, (11, 8), "he", REACH),
    _varied(917, 7, (9, 5), "zero biases", REACH),
    _varied(918, 8, (10, 7), "tenths", None),
    DeepCase("ACAS Xu 4_3, property 1", file="acasxu_4_3.onnx", bounds=_PROPERTY_1),
    DeepCase("ACAS Xu 4_3, property 3", file="acasxu_4_3.onnx", bounds=_PROPERTY_3),
)

_FITTED: tuple[tuple[int, Sequence[int], Kind, float | None], ...] = (
    (5, (6, 6), "he", REACH),
    (5, (12, 12), "he", REACH),
    (5, (16, 10), "he", 1.0),
    (5, (30,), "he", REACH),
    (5, (18,), "he", None),
    (5, (8, 8), "he", None),
    (5, (13, 9), "he", None),
    (5, [6] * 6, "he", REACH),
    (5, [7] * 8, "he", REACH),
    (5, [5] * 4, "he", None),
    (5, (10, 8, 6), "he", REACH),
    (5, (8, 6), "zero biases", REACH),
    (5, (9, 7), "zero biases", None),
    (5, (6, 5, 5), "zero biases", REACH),
    (5, (14,), "zero biases", REACH),
    (5, (7, 6), "integers", REACH),
    (5, (10, 8, 5), "integers", REACH),
    (5, (8, 8), "integers", None),
    (5, (12,), "integers", 1.0),
    (5, (8, 7, 6), "integers", None),
    (5, (12, 10), "twins", REACH),
    (5, (8, 8, 8), "twins", None),
    (5, (9, 9), "tenths", REACH),
    (5, (10, 6), "tenths", None),
    (5, (8, 8, 8), "dead layer", REACH),
    (6, (7, 5), "he", REACH),
    (6, (10, 10), "he", REACH),
    (6, (13, 9), "he", 1.0),
    (6, (14,), "he", REACH),
    (6, (20,), "he", None),
    (6, (8, 8), "he", None),
    (6, (6, 6), "he", None),
    (6, (5, 5, 5, 5), "he", REACH),
    (6, [6] * 6, "he", REACH),
    (6, [7] * 4, "he", 1.0),
    (6, (6, 6), "zero biases", REACH),
    (6, (7, 6), "zero biases", REACH),
    (6, (9, 5), "zero biases", None),
    (6, (12,), "zero biases", REACH),
    (6, (7, 6), "integers", REACH),
    (6, (9, 7, 5), "integers", REACH),
    (6, (8, 6), "integers", None),
    (6, (10, 8), "twins", REACH),
    (6, (8, 6), "twins", None),
    (6, (8, 8), "tenths", REACH),
    (7, (8, 5), "he", REACH),
    (7, (10, 8), "he", REACH),
    (7, (8, 8, 8), "he", 1.0),
    (7, (8, 8), "he", None),
    (7, (7, 5), "zero biases", REACH),
    (7, (9, 6), "zero biases", None),
    (7, (8, 6), "integers", REACH),
    (7, (7, 7), "integers", None),
    (7, (10, 8), "twins", REACH),
    (7, [5] * 5, "he", REACH),
    (7, (16,), "he", REACH),
    (8, (9, 9), "he", REACH),
    (8, (10, 4), "he", None),
    (8, (8, 5), "zero biases", REACH),
    (8, (8, 6), "integers", REACH),
    (8, (14,), "he", REACH),
    (8, [5] * 4, "he", REACH),
    (8, (10, 8), "twins", REACH),
)

#: Small ones: for the rule that decides where a probe would take too long.
_FITTED_SMALL: tuple[tuple[int, Sequence[int], Kind, float | None], ...] = (
    (5, [4] * 4, "he", REACH),
    (5, [4] * 5, "he", REACH),
    (5, [3] * 6, "he", REACH),
    (5, [4] * 6, "he", None),
    (5, [5] * 4, "he", REACH),
    (5, (6, 5, 4), "he", REACH),
    (5, [4] * 4, "zero biases", REACH),
    (5, (5, 5, 4), "integers", REACH),
    (5, [4] * 4, "integers", None),
    (5, (8, 6), "tenths", REACH),
    (5, (7, 7), "twins", REACH),
    (5, (8, 6), "dead layer", REACH),
    (5, (7, 5), "he", 1.0),
    (5, (16,), "he", 1.0),
    (6, [4] * 4, "he", REACH),
    (6, (6, 5), "he", 1.0),
    (6, (6, 4), "integers", REACH),
    (6, (5, 4), "zero biases", None),
    (6, [3] * 6, "he", REACH),
    (6, (7, 6), "tenths", None),
    (7, (6, 5), "he", REACH),
    (7, [3] * 5, "he", REACH),
    (7, (6, 5), "integers", REACH),
    (7, (7, 4), "zero biases", REACH),
)

#: What the choice between engines is fitted to.
FITTED = (
    *(_varied(500 + k, *given) for k, given in enumerate(_FITTED)),
    *(_varied(700 + k, *given) for k, given in enumerate(_FITTED_SMALL)),
    _varied(801, 4, (9, 9, 6), "he", None),
    _varied(802, 4, (8, 7), "integers", REACH),
    _varied(803, 5, (14, 11), "he", REACH),
    _varied(804, 5, (11, 12), "he", None),
    _varied(805, 5, (26,), "he", REACH),
    _varied(806, 5, (9, 7, 7), "he", 1.0),
    _varied(807, 5, [7] * 6, "he", REACH),
    _varied(808, 5, (11, 7), "zero biases", REACH),
    _varied(809, 5, (9, 9, 6), "integers", REACH),
    _varied(810, 5, (14, 12), "twins", REACH),
    _varied(811, 6, (12, 9), "he", REACH),
    _varied(812, 6, (9, 6), "zero biases", REACH),
    _varied(813, 6, [6] * 5, "he", REACH),
    _varied(814, 6, (17,), "he", None),
    _varied(815, 6, (8, 7), "integers", None),
    _varied(816, 7, (12, 7), "he", 1.0),
    _varied(817, 7, (8, 6), "zero biases", None),
    _varied(818, 8, (9, 7, 5), "he", REACH),
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
