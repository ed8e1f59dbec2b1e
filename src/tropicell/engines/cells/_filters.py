"""A convolution times rows of two halves each, for `tropicell.engines.cells.focus`."""

from __future__ import annotations

from typing import Any

from tropicell._runtime.jit import fma, kernel


@kernel
def add_filters(
    filters: Any, read: Any, out: Any, out_low: Any, room: Any, first: int, last: int
) -> None:
    """What `tropicell.engines.cells._focus.add_terms` does, for a convolution.

    Parameters
    ----------
    filters : tuple of ndarray
        Which position each tap sees from each place (places, taps), -1 for none; and the numbers
        of the taps (taps, channels, filters).
    read : tuple of ndarray
        Which rows of the factor are not 0, and the two halves of the factor.
    out, out_low : ndarray
        What is added to; it may have more columns.
    room : ndarray, shape (2, columns, filters)
        Scratch.
    first, last : int
        Only places first … last - 1.
    """
    sources, numbers = filters
    alive, high, low = read
    places, taps = sources.shape
    channels, count = numbers.shape[1], numbers.shape[2]
    positions, width = len(high) // channels, high.shape[1]
    total, rest = room[0], room[1]
    for place in range(first, last):
        for f in range(count):
            row = f * places + place
            for c in range(width):
                total[c, f] = out[row, c]
                rest[c, f] = out_low[row, c]
        for tap in range(taps):
            position = sources[place, tap]
            if position < 0:
                continue
            for channel in range(channels):
                j = channel * positions + position
                if not alive[j]:
                    continue
                weights = numbers[tap, channel]
                for c in range(width):
                    if high[j, c] != 0.0 or low[j, c] != 0.0:
                        _add_all(weights, high[j, c], low[j, c], total[c], rest[c])
        for f in range(count):
            row = f * places + place
            for c in range(width):
                out[row, c] = total[c, f]
                out_low[row, c] = rest[c, f]


@kernel(inner=True)
def _add_all(weights: Any, factor: float, rest: float, out: Any, low: Any) -> None:
    """The same factor times the weights of all filters."""
    for f in range(len(out)):
        w, a = weights[f], out[f]
        b = fma(w, factor, a)
        low[f] += fma(w, rest, fma(w, factor, a - b))
        out[f] = b
