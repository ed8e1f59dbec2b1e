"""Algorithm 1 of the paper, `FindLinearRegion`: a pattern's inequalities, or "empty"."""

from __future__ import annotations

import numpy as np

from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.geometry.float_geometry import Tolerance, interior_point
from tropicell.geometry.polyhedra import Cell
from tropicell.importers.models import as_network
from tropicell.network.domains import Domain, resolve
from tropicell.network.inequalities import cut_by, domain_inequalities, layer_inequalities
from tropicell.network.network import Network
from tropicell.network.patterns import PatternLike, split_layers
from tropicell.paper.recurrences import Recurrence, by_pattern
from tropicell.regions.region import EmptyRegion, Region


def find_region(
    network: Network,
    pattern: PatternLike,
    domain: Domain | None = None,
    *,
    arithmetic: ArithmeticName = "exact",
    tolerance: Tolerance | None = None,
) -> Region | EmptyRegion:
    """Algorithm 1 of the paper, `FindLinearRegion`: the region of a pattern, or where it is empty.

    Parameters
    ----------
    network : Network
    pattern : str, flat sequence or one sequence per layer
        1 = active, 0 = inactive (for the paper's v see `tropicell.network.patterns.from_paper_v`).
    domain : Domain, optional
        Default: all of R^n.
    arithmetic : {"exact", "float"}
        Exact rationals, or float64 with HiGHS for networks with many inputs.
    tolerance : Tolerance, optional
        For float arithmetic: from which margin on an answer counts as certain.

    Returns
    -------
    Region or EmptyRegion
        An `EmptyRegion` is false in a condition, and its ``layer`` says where the region became
        empty (had no interior points any more).

    Examples
    --------
    >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, -1.0]]], [[0.0, -1.0], [0.0]])
    >>> region = find_region(network, "10")
    >>> region.vertices.tolist()
    [[Fraction(0, 1)], [Fraction(1, 1)]]
    >>> find_region(network, "01").layer
    1
    """
    network = as_network(network)
    network, inside = resolve(network, domain)
    v = network.parse_pattern(pattern)
    if arithmetic == "float":
        region = Region(network, v, inside, arithmetic="float", tolerance=tolerance)
        empty = _empty_in_floats(region)
        return region if empty is None else empty
    # Lines 2 and 3: initial values, and S, the region so far, to be cut by inequalities.
    recurrence = Recurrence(network, "exact", "paper")
    recurrence.start(*recurrence.maps.coordinates())
    S = cut_by(
        Cell.whole_space(network.n_inputs), domain_inequalities(inside, network.n_inputs, "exact")
    )
    if S is None:
        return EmptyRegion(v, 0)
    # Line 4: for every layer …
    for layer, pieces in enumerate(split_layers(v, network.widths), start=1):
        # Lines 5 to 7: the recurrences, with this layer's weights and bias.
        G, H = recurrence.before(layer)
        # Lines 8 to 20: with α·x + β = H - G, an inequality for every neuron; F from G and H.
        inequalities = layer_inequalities(network, layer, H - G, pieces, "exact")
        recurrence.after(layer, G, H, by_pattern(pieces))
        # Lines 21 and 22: if the intersection of all inequalities is empty, say at which layer.
        S = cut_by(S, inequalities)
        if S is None:
            return EmptyRegion(v, layer)
    # Line 23: the region.
    return Region(network, v, inside, cell=S)


def _empty_in_floats(region: Region) -> EmptyRegion | None:
    """The first layer at which a region has no interior, as far as float64 can tell."""
    inequalities = region.inequalities
    layers = np.array([source.layer for source in inequalities.sources], dtype=np.intp)
    for layer in range(region.network.depth + 1):
        rows = layers <= layer
        _, margin = interior_point(inequalities.A[rows], inequalities.b[rows])
        if margin <= 0:
            certain = margin < -region.tolerance.margin and not region.noisy()[rows].any()
            return EmptyRegion(region.pattern, layer, certain)
    return None
