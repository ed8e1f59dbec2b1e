"""The few calls that look upward, for the user's comfort: `Regions.certify`, `Regions.explore`, ….

Imports go from higher rooms to lower ones. A user who holds regions, though, wants to write
``regions.certify()`` and ``tracker.film(…)`` without knowing in which room that is done. All such
calls go through this module, so that they are in one place, and nothing is imported before it is
needed. `import-linter` lets only this module do so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tropicell.analysis.complex import Complex
    from tropicell.analysis.graph import Merged, Neighbours
    from tropicell.analysis.measure import Extrema, Norm
    from tropicell.certificate.prover import Certificate
    from tropicell.explorer.page import Inline
    from tropicell.network.domains import Domain
    from tropicell.network.network import Network
    from tropicell.network.patterns import PatternArray
    from tropicell.predict.locator import RegionFinder
    from tropicell.regions.columns import Ragged
    from tropicell.regions.regions import Regions
    from tropicell.regions.stored.stored_regions import StoredRegions


def neighbours(regions: Regions, **options: Any) -> Neighbours:
    """See `tropicell.analysis.graph.neighbours`."""
    from tropicell.analysis import graph  # noqa: PLC0415

    return graph.neighbours(regions, **options)


def facet_lines(regions: Regions, **options: Any) -> Ragged:
    """See `tropicell.analysis.graph.facet_lines`."""
    from tropicell.analysis import graph  # noqa: PLC0415

    return graph.facet_lines(regions, **options)


def bounded(regions: Regions) -> NDArray[np.bool_]:
    """See `tropicell.analysis.measure.bounded`."""
    from tropicell.analysis import measure  # noqa: PLC0415

    return measure.bounded(regions)


def corners(regions: Regions) -> Ragged:
    """See `tropicell.analysis.measure.corners`."""
    from tropicell.analysis import measure  # noqa: PLC0415

    return measure.corners(regions)


def make_complex(regions: Regions, **options: Any) -> Complex:
    """See `tropicell.Regions.complex`."""
    from tropicell.analysis.complex import complex_of  # noqa: PLC0415

    return complex_of(regions, **options)


def merge(regions: Regions, **options: Any) -> Merged:
    """See `tropicell.analysis.graph.merge`."""
    from tropicell.analysis import graph  # noqa: PLC0415

    return graph.merge(regions, **options)


def patterns_around(
    network: Network, point: NDArray[np.float64], domain: Domain
) -> Iterator[PatternArray]:
    """See `tropicell.analysis.graph.patterns_around`."""
    from tropicell.analysis import graph  # noqa: PLC0415

    return graph.patterns_around(network, point, domain)


def strictly_inside(
    network: Network, points: NDArray[np.float64], patterns: PatternArray
) -> NDArray[np.bool_]:
    """See `tropicell.analysis.map_bounds.strictly_inside`."""
    from tropicell.analysis import map_bounds  # noqa: PLC0415

    return map_bounds.strictly_inside(network, points, patterns)


def finder(regions: Regions) -> RegionFinder:
    """See `tropicell.predict.locator.RegionFinder`."""
    from tropicell.predict.locator import RegionFinder  # noqa: PLC0415

    return RegionFinder(regions)


def volumes(regions: Regions, **options: Any) -> NDArray[np.float64]:
    """See `tropicell.analysis.measure.volumes`."""
    from tropicell.analysis import measure  # noqa: PLC0415

    return measure.volumes(regions, **options)


def lipschitz(regions: Regions, norm: Norm, **options: Any) -> tuple[float, int]:
    """See `tropicell.analysis.measure.lipschitz`."""
    from tropicell.analysis import measure  # noqa: PLC0415

    return measure.lipschitz(regions, norm, **options)


def extrema(regions: Regions, **options: Any) -> Extrema:
    """See `tropicell.analysis.measure.extrema`."""
    from tropicell.analysis import measure  # noqa: PLC0415

    return measure.extrema(regions, **options)


def integral(regions: Regions, **options: Any) -> NDArray[np.float64]:
    """See `tropicell.analysis.measure.integral`."""
    from tropicell.analysis import measure  # noqa: PLC0415

    return measure.integral(regions, **options)


def certify(regions: Regions, **options: Any) -> Certificate:
    """See `tropicell.Regions.certify`."""
    from tropicell.certificate.prover import certify  # noqa: PLC0415

    return certify(regions, **options)


def inline_page(regions: Regions, **options: Any) -> Inline:
    """The explorer's page for a notebook; see `tropicell.Regions.explore`."""
    from tropicell.explorer.page import explore  # noqa: PLC0415

    return explore(regions, None, **options)


def explore(regions: Any, path: str | Path | None, **options: Any) -> Path | Inline:
    """See `tropicell.explore`."""
    from tropicell.explorer.page import explore  # noqa: PLC0415

    return explore(regions, path, **options)


def plot_regions(regions: Regions, *places: Any, **options: Any) -> Any:
    """See `tropicell.plotting.plot_regions`."""
    from tropicell.plotting import plot_regions  # noqa: PLC0415

    return plot_regions(regions, *places, **options)


def open_folder(path: str | os.PathLike[str]) -> StoredRegions:
    """See `tropicell.Regions.open`."""
    from tropicell.regions.stored.stored_regions import StoredRegions  # noqa: PLC0415

    return StoredRegions.open(path)


def save(regions: Regions, path: str | Path) -> None:
    """See `tropicell.Regions.save`."""
    from tropicell.regions.files import save_regions  # noqa: PLC0415

    save_regions(regions, path)
