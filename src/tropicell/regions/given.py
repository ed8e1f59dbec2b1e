"""Whatever is given where regions are expected: regions, or a file of them."""

from __future__ import annotations

import os
from typing import Any

from tropicell.errors import InvalidInputError
from tropicell.regions.files import load_regions
from tropicell.regions.regions import Regions


def as_regions(given: Any) -> Regions:
    """Regions: themselves, or those in a file.

    Parameters
    ----------
    given : Regions, str or path-like
        A file of ``Regions.save`` or ``tropicell enumerate``.

    Returns
    -------
    Regions

    Raises
    ------
    InvalidInputError
        For anything else; the message says how to come by regions.

    Examples
    --------
    >>> from tropicell import Network
    >>> as_regions(Network.mlp([[[1.0]]]))
    Traceback (most recent call last):
    tropicell.errors.InvalidInputError: expected Regions, not Network; enumerate_regions ...
    """
    if isinstance(given, Regions):
        return given
    if isinstance(given, (str, os.PathLike)):
        return load_regions(given)
    name = type(given).__name__
    if name == "StoredRegions":
        advice = (
            "regions in a folder have methods of their own (extrema, locate, …), and "
            "to_regions() or batches() give them in memory"
        )
    else:
        advice = "enumerate_regions finds them"
    raise InvalidInputError(f"expected Regions, not {name}; {advice}")
