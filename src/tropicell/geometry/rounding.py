"""The constants of float64 that all proved bounds are made of (docs/error-bound.md)."""

from __future__ import annotations

#: The unit roundoff u: a sum, product or quotient is off by at most this part of itself. It is half
#: the distance from 1 to the next float64.
ROUND = 2.0**-53

#: Covers the rounding of the error bounds themselves, which are sums of positive numbers.
INFLATE = 1.0000001

#: Covers underflow; far below every number that matters (see `tropicell.network.flat.is_tame`).
TINY = 1e-200

#: The distance from 0 to the next float64: twice what a product that underflows may be off by.
UNDERFLOW = 2.0**-1074

#: More than what is lost of a Euclidean norm if squares underflow.
UNSEEN = 1e-150
