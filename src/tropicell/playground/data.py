"""Points in the plane to learn: the usual sets, the paper's functions, and one's own."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidInputError
from tropicell.lab.functions import FUNCTIONS, RADIUS
from tropicell.playground.settings import MOST_POINTS, Settings

#: Half of the side of the box around data with two classes.
_HALF = 1.5

#: With fewer points in that box, somebody may be drawing them: it must not move under the mouse.
_FEW = 30


@dataclass(frozen=True, eq=False)
class PointSet:
    """Points with labels, for training and for testing.

    Attributes
    ----------
    x, x_test : ndarray, shape (points, 2)
    y, y_test : ndarray, shape (points,)
        Classes -1 and 1, or numbers.
    low, high : ndarray, shape (2,)
        The box in which regions are shown.
    """

    x: FloatArray
    y: FloatArray
    x_test: FloatArray
    y_test: FloatArray
    low: FloatArray
    high: FloatArray


def make_data(settings: Settings) -> PointSet:
    """The points that settings ask for; the same settings give the same points.

    Examples
    --------
    >>> points = make_data(Settings(data="xor", samples=50))
    >>> points.x.shape, sorted(set(points.y.tolist())), points.high
    ((50, 2), [-1.0, 1.0], array([1.5, 1.5]))
    """
    rng = np.random.default_rng([settings.seed, 1])
    n = settings.samples
    if settings.data == "own":
        rows = np.array(settings.points, dtype=np.float64).reshape(-1, 3)
        low, high = _box_around(rows[:, :2])
        empty = np.empty((0, 3))
        train, test = (
            (rows, empty) if len(rows) < 50 else (rows[np.arange(len(rows)) % 5 > 0], rows[::5])
        )
        sets = [train, test]
    elif settings.data in _FUNCTIONS:
        function = _FUNCTIONS[settings.data]
        sets = []
        for _ in range(2):
            x = rng.uniform(-RADIUS, RADIUS, size=(n, 2))
            y = function(x) + settings.noise * rng.normal(size=n)
            sets.append(np.column_stack([x, y]))
        low, high = np.full(2, -RADIUS), np.full(2, RADIUS)
    else:
        sets = [_CLASSES[settings.data](rng, n, settings.noise) for _ in range(2)]
        low, high = np.full(2, -_HALF), np.full(2, _HALF)
    centre, half = (low + high) / 2, (high - low) / 2 * settings.reach
    train, test = sets
    return PointSet(
        train[:, :2], train[:, 2], test[:, :2], test[:, 2], centre - half, centre + half
    )


def _box_around(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    if not len(points):
        return np.full(2, -_HALF), np.full(2, _HALF)
    low, high = points.min(axis=0), points.max(axis=0)
    centre, half = (low + high) / 2, (high - low).max() / 2
    half = max(1.25 * half, 1e-3 * float(np.abs(centre).max()), 1e-3)
    if np.abs(points).max() <= _HALF and (len(points) < _FEW or half > _HALF / 4):
        return np.full(2, -_HALF), np.full(2, _HALF)
    return centre - half, centre + half


def _classes(rng: np.random.Generator, n: int) -> FloatArray:
    labels: FloatArray = np.where(np.arange(n) % 2 == 0, -1.0, 1.0)
    return labels


def _moons(rng: np.random.Generator, n: int, noise: float) -> FloatArray:
    y = _classes(rng, n)
    angle = rng.uniform(0, np.pi, size=n)
    x = np.where(y < 0, np.cos(angle) - 0.5, 0.5 - np.cos(angle))
    z = np.where(y < 0, np.sin(angle) - 0.25, 0.25 - np.sin(angle))
    points = 0.8 * np.column_stack([x, z]) + 0.8 * noise * rng.normal(size=(n, 2))
    return np.column_stack([points, y])


def _circles(rng: np.random.Generator, n: int, noise: float) -> FloatArray:
    y = _classes(rng, n)
    radius = np.where(y > 0, rng.uniform(0, 0.5, size=n), rng.uniform(0.8, 1.2, size=n))
    angle = rng.uniform(0, 2 * np.pi, size=n)
    points = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.column_stack([points + 0.5 * noise * rng.normal(size=(n, 2)), y])


def _spirals(rng: np.random.Generator, n: int, noise: float) -> FloatArray:
    y = _classes(rng, n)
    way = np.sqrt(rng.uniform(0.01, 1, size=n))
    angle = 1.75 * 2 * np.pi * way + np.where(y > 0, 0, np.pi)
    points = 1.2 * way[:, None] * np.column_stack([np.sin(angle), np.cos(angle)])
    return np.column_stack([points + 0.2 * noise * rng.normal(size=(n, 2)), y])


def _xor(rng: np.random.Generator, n: int, noise: float) -> FloatArray:
    points = rng.uniform(-1.2, 1.2, size=(n, 2))
    points += np.where(points > 0, 0.08, -0.08)
    y = np.where(points[:, 0] * points[:, 1] >= 0, 1.0, -1.0)
    return np.column_stack([points + 0.5 * noise * rng.normal(size=(n, 2)), y])


_CLASSES = {"moons": _moons, "circles": _circles, "spirals": _spirals, "xor": _xor}
_FUNCTIONS = {f"phi{i}": function for i, function in enumerate(FUNCTIONS, start=1)}


def read_csv(text: str) -> tuple[tuple[float, float, float], ...]:
    r"""Points and labels from the text of a CSV file.

    Parameters
    ----------
    text : str
        Rows of x, y and a label, with commas, semicolons or tabs between them (numbers may have a
        decimal comma where no comma is between them); a first row of names is left out. Two
        different labels, words or numbers, are two classes; more different numbers are learnt as
        they are.

    Returns
    -------
    tuple of (x, y, label)
        Classes are -1 and 1.

    Raises
    ------
    InvalidInputError
        Names the line that can't be read.

    Examples
    --------
    >>> read_csv("x,y,kind\n0,0,cat\n1,0.5,dog\n")
    ((0.0, 0.0, -1.0), (1.0, 0.5, 1.0))
    >>> read_csv("0,0,1\n1,z,2\n")
    Traceback (most recent call last):
    ...
    tropicell.errors.InvalidInputError: line 2 of the CSV file: expected two numbers and a label...
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    between = ";" if first.count(";") >= 2 else max(",\t", key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=between, skipinitialspace=True)
    try:
        filled = ((reader.line_num, row) for row in reader if any(part.strip() for part in row))
        rows = list(islice(filled, MOST_POINTS + 2))  # a name for each column, and one too many
    except csv.Error as error:
        raise InvalidInputError(f"the CSV file can't be read: {error}") from None
    if len(rows) > MOST_POINTS + 1:
        raise InvalidInputError(f"the CSV file has more than {MOST_POINTS:,} rows: too many here")
    places: list[tuple[float, float]] = []
    labels: list[str] = []
    for number, (line, row) in enumerate(rows):
        if number == 0 and not any(map(_is_number, row[:2])):  # the names of the columns
            continue
        try:
            x, y, label = row if between == "," else (part.replace(",", ".") for part in row)
            place = float(x), float(y)
        except ValueError:
            raise InvalidInputError(
                f"line {line} of the CSV file: expected two numbers and a label (x,y,label), "
                f"got {','.join(row)[:60]!r}"
            ) from None
        places.append(place)
        labels.append(label.strip())
    return labelled(places, labels)


def labelled(
    places: Sequence[Sequence[float]], labels: Sequence[Any], what: str = "the CSV file"
) -> tuple[tuple[float, float, float], ...]:
    """Points with their labels as numbers: of two different ones the first is -1, the other 1.

    Examples
    --------
    >>> labelled([(0.0, 0.0), (1.0, 0.5)], ["dog", "cat"])
    ((0.0, 0.0, 1.0), (1.0, 0.5, -1.0))
    """
    if not len(places):
        raise InvalidInputError(f"{what}: there are no points; expected rows of x,y,label")
    words = [str(label) for label in labels]
    kinds = sorted(set(words), key=_as_number)
    if len(kinds) <= 2:
        values = [1.0 if word == kinds[-1] and len(kinds) == 2 else -1.0 for word in words]
    else:
        values = [_as_number(word)[1] for word in words]
        if any(_as_number(word)[0] for word in words):
            raise InvalidInputError(
                f"{what}: there are {len(kinds)} different labels that are not all numbers; "
                "expected two classes, or numbers"
            )
    return tuple((x, y, value) for (x, y), value in zip(places, values, strict=True))


def _is_number(text: str) -> bool:
    return not _as_number(text)[0]


def _as_number(text: str) -> tuple[bool, float, str]:
    """Whether it is none, its value, and itself: numbers come first, in their order."""
    try:
        return False, float(text), text
    except ValueError:
        return True, 0.0, text
