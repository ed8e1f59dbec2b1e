"""Deal out cells to runs that share the work: by a hash of their patterns.

Every run sees all cells up to some layer and goes on with those that are dealt to it. The hash
depends on the pattern alone, so the runs need not talk to each other, whatever order they work in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell.engines._jit import kernel


@kernel
def deal(before: Any, pieces: Any) -> int:
    """A number made from the pieces of the layers before, and of one more layer."""
    value = np.uint64(14695981039346656037)
    for piece in before:
        value = (value ^ np.uint64(piece)) * np.uint64(1099511628211)
    for piece in pieces:
        value = (value ^ np.uint64(piece)) * np.uint64(1099511628211)
    value ^= value >> np.uint64(29)
    value *= np.uint64(13787848793156543929)
    return int(value >> np.uint64(33))
