"""Activation patterns: which linear piece of each neuron is in use.

A pattern is a row of piece indices (``uint8``), one per neuron, layer after layer. For ReLU
1 means active (pre-activation > 0) and 0 inactive. As text the layers are separated by bars,
``"11|10"``; pieces beyond 9 are written as letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.errors import InvalidPatternError

PatternArray = NDArray[np.uint8]
#: What functions take as a pattern: text, one flat sequence, or one sequence per layer.
PatternLike = str | Sequence[int] | Sequence[Sequence[int]] | NDArray[Any]

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def to_text(pattern: Iterable[int], widths: Sequence[int]) -> str:
    """A flat pattern as text.

    Examples
    --------
    >>> to_text([1, 1, 1, 0], [2, 2])
    '11|10'
    """
    indices = [int(index) for index in pattern]
    if indices and max(indices) >= len(_DIGITS):
        raise InvalidPatternError(
            f"piece {max(indices)} has no digit: text patterns go up to piece {len(_DIGITS) - 1}"
        )
    text = "".join(_DIGITS[index] for index in indices)
    ends = np.cumsum(widths).tolist()
    return "|".join(text[end - width : end] for end, width in zip(ends, widths, strict=True))


def to_characters(patterns: PatternArray, widths: Sequence[int]) -> NDArray[np.uint8]:
    """Flat patterns (rows) as the characters of their texts, shape (patterns, characters).

    Examples
    --------
    >>> to_characters(np.array([[1, 1, 0]], np.uint8), [2, 1]).tobytes()
    b'11|0'
    """
    most = int(patterns.max(initial=0))
    if most >= len(_DIGITS):
        raise InvalidPatternError(
            f"piece {most} has no digit: text patterns go up to piece {len(_DIGITS) - 1}"
        )
    digits = np.frombuffer(_DIGITS.encode(), np.uint8)
    length = patterns.shape[1] + max(0, len(widths) - 1)
    found = np.full((len(patterns), length), ord("|"), np.uint8)
    start = 0
    for layer, part in enumerate(split_layers(patterns, widths)):
        place = found[:, start + layer : start + layer + part.shape[1]]
        if most <= 9:
            np.add(part, ord("0"), out=place)
        else:
            place[:] = digits[part]
        start += part.shape[1]
    return found


def to_texts(patterns: PatternArray, widths: Sequence[int]) -> list[str]:
    """Flat patterns (rows) as text, all at once.

    Examples
    --------
    >>> to_texts(np.array([[1, 1, 0], [0, 1, 1]], np.uint8), [2, 1])
    ['11|0', '01|1']
    """
    characters = to_characters(patterns, widths)
    length = characters.shape[1]
    text = characters.tobytes().decode("ascii")
    return [text[i * length : (i + 1) * length] for i in range(len(characters))]


def split_layers(pattern: PatternArray, widths: Sequence[int]) -> list[PatternArray]:
    """A flat pattern (or an array of them, one per row) cut into layers.

    Examples
    --------
    >>> [part.tolist() for part in split_layers(np.array([1, 1, 0], np.uint8), [2, 1])]
    [[1, 1], [0]]
    """
    return np.split(pattern, np.cumsum(widths)[:-1], axis=-1) if len(widths) else []


def parse(pattern: PatternLike, widths: Sequence[int], pieces: NDArray[np.intp]) -> PatternArray:
    """Check a pattern in any of its forms and make it flat.

    Parameters
    ----------
    pattern : str, flat sequence or one sequence per layer
        The pattern as the user wrote it.
    widths : sequence of int
        Neurons per layer.
    pieces : ndarray
        Number of pieces of each neuron.

    Returns
    -------
    ndarray of uint8, shape (neurons,)

    Raises
    ------
    InvalidPatternError
        If lengths do not fit the layers, or a piece does not exist.

    Examples
    --------
    >>> parse("11|10", [2, 2], np.array([2, 2, 2, 2]))
    array([1, 1, 1, 0], dtype=uint8)
    """
    if not isinstance(pattern, Iterable):
        raise InvalidPatternError(f"expected a pattern such as '10|01', got {pattern!r}")
    layers = _layers_of(pattern)
    flat = [index for layer in layers for index in layer]
    if len(layers) != 1 and [len(layer) for layer in layers] != list(widths):
        raise InvalidPatternError(
            f"the pattern has layers of {[len(layer) for layer in layers]} neurons, "
            f"the network of {list(widths)}"
        )
    if len(flat) != len(pieces):
        raise InvalidPatternError(
            f"the pattern has {len(flat)} entries, the network {len(pieces)} neurons"
        )
    ends = np.cumsum(widths).tolist()
    for position, (index, limit) in enumerate(zip(flat, pieces.tolist(), strict=True)):
        if index != int(index) or not 0 <= index < limit:
            layer = int(np.searchsorted(ends, position, side="right"))
            neuron = position - (ends[layer] - widths[layer])
            raise InvalidPatternError(
                f"layer {layer + 1}, neuron {neuron}: piece {index} does not exist; "
                f"expected a whole number from 0 to {limit - 1}"
            )
    return np.array(flat, dtype=np.uint8)


def _layers_of(pattern: PatternLike) -> list[list[Any]]:
    if isinstance(pattern, str):
        try:
            return [[_DIGITS.index(c) for c in part] for part in pattern.strip().lower().split("|")]
        except ValueError:
            raise InvalidPatternError(
                f"pattern {pattern!r}: expected digits, with bars between layers, like '11|10'"
            ) from None
    entries = list(pattern)
    if any(np.ndim(entry) == 1 for entry in entries):
        if not all(np.ndim(entry) == 1 for entry in entries):
            raise InvalidPatternError("expected one sequence per layer, or one flat sequence")
        return [[_number(index) for index in layer] for layer in entries]
    return [[_number(index) for index in entries]]


def _number(index: Any) -> Any:
    if isinstance(index, (bool, int, np.integer, np.bool_)):
        return int(index)
    if isinstance(index, (float, np.floating)):
        return float(index)
    raise InvalidPatternError(f"pattern entry {index!r} is not a number")


def paper_v(pattern: PatternArray, pieces: NDArray[np.intp]) -> NDArray[np.int8]:
    """The paper's vector v, as its Theorem 2.2 and Algorithm 1 define it.

    There ``v = +1`` means H <= G, the neuron is inactive, and ``v = -1`` active (the paper's
    own walkthrough uses the opposite sign).

    Examples
    --------
    >>> paper_v(np.array([1, 0], np.uint8), np.array([2, 2]))
    array([-1,  1], dtype=int8)
    """
    if (pieces > 2).any():
        raise InvalidPatternError(
            "the paper's v is defined for neurons with two linear pieces only"
        )
    return (1 - 2 * pattern.astype(np.int8)).astype(np.int8)


def from_paper_v(v: Sequence[int] | NDArray[Any]) -> PatternArray:
    """A pattern from the paper's v (+1 inactive, -1 active).

    Examples
    --------
    >>> from_paper_v([-1, 1])
    array([1, 0], dtype=uint8)
    """
    values = np.asarray(v)
    if not np.isin(values, (-1, 1)).all():
        raise InvalidPatternError(
            f"the paper's v has entries -1 and +1 only, got {values.tolist()}"
        )
    return (values < 0).astype(np.uint8)
