"""All that a run depends on, as one value: checked, and written to links and files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from tropicell.errors import InvalidInputError
from tropicell.network.activations import BY_NAME

#: What the page offers; a network with more is one for `tropicell.enumerate_regions`.
MOST_LAYERS, MOST_WIDE, MOST_NEURONS = 8, 64, 256

#: Points that are drawn by hand or read from a file.
MOST_POINTS = 5000

DATA = ("moons", "circles", "spirals", "xor", "phi1", "phi2", "phi3", "phi4", "own")
#: The paper's functions: numbers are learnt there, and two classes in the other sets.
FUNCTIONS = ("phi1", "phi2", "phi3", "phi4")
INITIALISATIONS = ("he", "xavier", "uniform", "orthogonal")
OPTIMISERS = ("adam", "sgd", "momentum", "rmsprop")
PENALTIES = ("none", "l1", "l2")
LOSSES = ("auto", "squared", "logistic")

_CHOICES = {
    "activation": tuple(BY_NAME),
    "init": INITIALISATIONS,
    "data": DATA,
    "optimiser": OPTIMISERS,
    "penalty": PENALTIES,
    "loss": LOSSES,
}
#: Smallest and largest numbers.
_FLOATS = {
    "scale": (0.0, 100.0),
    "noise": (0.0, 1.0),
    "learning_rate": (1e-8, 10.0),
    "strength": (0.0, 10.0),
    "reach": (0.01, 100.0),
}
_INTEGERS = {
    "seed": (0, 2**31 - 1),
    "samples": (10, MOST_POINTS),
    "batch": (1, MOST_POINTS),
    "speed": (1, 1000),
}


@dataclass(frozen=True)
class Settings:
    """What a run depends on: the network, its data, and how it is trained.

    Attributes
    ----------
    widths : tuple of int
        Neurons of the layers 1 … L.
    skips : tuple of (k, ℓ)
        The output of layer k is added to the input of layer ℓ, as in the paper. Where the widths
        differ, the first neurons are added.
    activation : str
        A name of `tropicell.network.activations`.
    init : {"he", "xavier", "uniform", "orthogonal"}
        How weights are drawn; biases are drawn uniformly, up to 1/√inputs.
    scale : float
        A factor for all that is drawn.
    seed : int
        Of weights, data and batches.
    data : str
        ``moons``, ``circles``, ``spirals``, ``xor``; ``phi1`` … ``phi4``, the paper's functions;
        ``own``: `points`.
    samples : int
        How many points are drawn.
    noise : float
    points : tuple of (x, y, label)
        Data of one's own.
    optimiser : {"adam", "sgd", "momentum", "rmsprop"}
    learning_rate : float
    batch : int
        Points in a batch.
    penalty : {"none", "l1", "l2"}
    strength : float
        What the penalty is multiplied with.
    loss : {"auto", "squared", "logistic"}
        ``auto``: logistic for two classes, squared for numbers.
    speed : int
        Training steps a frame.
    reach : float
        Half of the side of the box, in units of the data's.
    compare : bool
        Train the same network without skips beside it.

    Examples
    --------
    >>> Settings(widths=(4, 4), skips=((0, 2),)).neurons
    8
    >>> Settings.read({"learning_rate": float("nan")})
    Traceback (most recent call last):
    ...
    tropicell.errors.InvalidInputError: learning_rate: expected a number from 1e-08 to 10, got nan
    """

    widths: tuple[int, ...] = (8, 8, 8)
    skips: tuple[tuple[int, int], ...] = ((1, 3),)
    activation: str = "relu"
    init: str = "he"
    scale: float = 1.0
    seed: int = 1
    data: str = "circles"
    samples: int = 200
    noise: float = 0.1
    points: tuple[tuple[float, float, float], ...] = ()
    optimiser: str = "adam"
    learning_rate: float = 0.01
    batch: int = 32
    penalty: str = "none"
    strength: float = 0.001
    loss: str = "auto"
    speed: int = 4
    reach: float = 1.0
    compare: bool = True

    def __post_init__(self) -> None:
        """Refuse what can't be run."""
        _check_widths(self.widths)
        _check_skips(self.skips, len(self.widths))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise InvalidInputError(
                    f"{name}: expected one of {', '.join(choices)}, got {getattr(self, name)!r}"
                )
        for name, (low, high) in _FLOATS.items():
            if not low <= getattr(self, name) <= high:  # also nan
                raise InvalidInputError(
                    f"{name}: expected a number from {low:g} to {high:g}, got {getattr(self, name)}"
                )
        for name, limits in _INTEGERS.items():
            if not limits[0] <= getattr(self, name) <= limits[1]:
                raise InvalidInputError(
                    f"{name}: expected a whole number from {limits[0]} to {limits[1]}, "
                    f"got {getattr(self, name)}"
                )
        if len(self.points) > MOST_POINTS:
            raise InvalidInputError(
                f"points: expected at most {MOST_POINTS:,}, got {len(self.points):,}"
            )
        if not all(math.isfinite(value) and abs(value) < 1e6 for p in self.points for value in p):
            raise InvalidInputError("points: expected numbers of at most a million")

    @property
    def neurons(self) -> int:
        """Neurons in all layers."""
        return sum(self.widths)

    @property
    def learns_numbers(self) -> bool:
        """Whether labels are numbers rather than two classes."""
        if self.data == "own":
            return any(label not in (-1.0, 1.0) for _, _, label in self.points)
        return self.data in FUNCTIONS

    @property
    def resolved_loss(self) -> str:
        """``squared`` or ``logistic``."""
        if self.loss == "auto":
            return "squared" if self.learns_numbers else "logistic"
        return self.loss

    def changed(self, values: Mapping[str, Any]) -> Settings:
        """These settings with some others; names and types are checked.

        Examples
        --------
        >>> Settings().changed({"widths": [5], "skips": []}).widths
        (5,)
        >>> Settings().changed({"width": [5]})
        Traceback (most recent call last):
        ...
        tropicell.errors.InvalidInputError: there is no setting 'width'; there are widths, ...
        """
        known = {field.name for field in fields(self)}
        if not isinstance(values, Mapping):
            raise InvalidInputError(f"expected settings by name, got {type(values).__name__}")
        if unknown := [name for name in values if name not in known]:
            raise InvalidInputError(
                f"there is no setting {unknown[0]!r}; there are {', '.join(_ORDER)}"
            )
        return replace(self, **{name: _typed(name, value) for name, value in values.items()})

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Settings:
        """Settings from plain values, as in a message of the page; the rest is the default."""
        return cls().changed(values)

    def plain(self) -> dict[str, Any]:
        """As plain values: `read` gives the same settings again.

        Examples
        --------
        >>> Settings.read(Settings().plain()) == Settings()
        True
        """
        return asdict(self)

    def differences(self, base: Settings | None = None) -> dict[str, Any]:
        """What is not as in other settings, or not the default.

        Examples
        --------
        >>> Settings(seed=7).differences()
        {'seed': 7}
        """
        other = Settings() if base is None else base
        return {n: v for n, v in self.plain().items() if v != getattr(other, n)}


_ORDER = [field.name for field in fields(Settings)]


def _check_widths(widths: tuple[int, ...]) -> None:
    neurons = sum(min(width, 10**9) for width in widths)  # longer numbers are nothing to read
    if neurons > MOST_NEURONS:
        raise InvalidInputError(
            f"widths: {neurons:,} neurons are more than the page can show; expected at most "
            f"{MOST_NEURONS}. Larger networks are for tropicell.enumerate_regions"
        )
    if not 1 <= len(widths) <= MOST_LAYERS or not all(1 <= w <= MOST_WIDE for w in widths):
        raise InvalidInputError(
            f"widths: expected 1 to {MOST_LAYERS} layers of 1 to {MOST_WIDE} neurons each, "
            f"got {_short(list(widths))}"
        )


def _check_skips(skips: tuple[tuple[int, int], ...], depth: int) -> None:
    for source, target in skips:
        if not (source >= 0 and source + 2 <= target <= depth + 1):
            raise InvalidInputError(
                f"skips: {source}→{target} is none: expected k→ℓ with 0 ≤ k and k + 2 ≤ ℓ ≤ "
                f"{depth + 1} (the output)"
            )
    if len(set(skips)) != len(skips):
        raise InvalidInputError("skips: one of them is there twice")


def _typed(name: str, value: Any) -> Any:
    """A plain value with the type of its setting; numbers and arrays of NumPy are plain, too."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if name in _INTEGERS:
        return _integer(name, value)
    if name in _FLOATS:
        return as_number(name, value)
    if name == "compare":
        if not isinstance(value, bool):
            raise InvalidInputError(f"{name}: expected true or false, got {_short(value)}")
        return value
    if name in _CHOICES:
        if not isinstance(value, str):
            raise InvalidInputError(f"{name}: expected a name, got {_short(value)}")
        return value
    if not isinstance(value, list | tuple):
        raise InvalidInputError(f"{name}: expected a list, got {_short(value)}")
    if len(value) > MOST_POINTS:
        raise InvalidInputError(f"{name}: expected at most {MOST_POINTS:,}, got {len(value):,}")
    if name == "widths":
        return tuple(_integer(name, width) for width in value)
    size, kind = (2, _integer) if name == "skips" else (3, as_number)
    value = [row.tolist() if isinstance(row, np.ndarray) else row for row in value]
    for row in value:
        if not isinstance(row, list | tuple) or len(row) != size:
            raise InvalidInputError(f"{name}: expected {size} numbers each, got {_short(row)}")
    rows = tuple(tuple(kind(name, part) for part in row) for row in value)
    return tuple(sorted(rows)) if name == "skips" else rows


def _integer(name: str, value: Any) -> int:
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise InvalidInputError(f"{name}: expected a whole number, got {_short(value)}")
    return int(value)


def as_number(name: str, value: Any) -> float:
    """A plain value as a float; refuses what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise InvalidInputError(f"{name}: expected a number, got {_short(value)}")
    try:
        return float(value)
    except OverflowError:
        raise InvalidInputError(f"{name}: the number is too large") from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
