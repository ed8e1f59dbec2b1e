"""Numbers with twice the digits of float64: a number is the sum of two floats, high and low.

Sums and products of floats are taken without error (Knuth, Dekker): s = fl(a + b) and
a + b - s are floats, and so are p = fl(a b) and a b - p.
"""

from __future__ import annotations

from tropicell._runtime.jit import fma, kernel


@kernel(inner=True, inlined=True)
def exact_sum(a: float, b: float) -> tuple[float, float]:
    """The sum as two floats, without error."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel(inner=True, inlined=True)
def exact_product(a: float, b: float) -> tuple[float, float]:
    """The product as two floats, without error."""
    p = a * b
    return p, fma(a, b, -p)
