"""All faces of the zoo: Euler's relation, Betti numbers, boundaries of boundaries, level sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import sign_vectors
from strategies import KINDS, random_network
from tropicell import Box, Regions, WholeSpace, enumerate_regions
from tropicell.analysis.complex import Complex
from zoo.specimens import ZOO, Specimen

#: Where rationals are quick enough to compare all sign vectors.
MOST_REGIONS, MOST_INPUTS = 20, 3
#: Neighbours of regions are counted by another way.
MOST_NEIGHBOURS = 600


def check_whole(complex_: Complex, regions: Regions) -> None:
    """What holds for the complex of all regions of R^n or of a box."""
    d = complex_.dimension
    for k in range(2, d + 1):
        twice = complex_.boundary(k - 1).astype(int) @ complex_.boundary(k).astype(int)
        assert not abs(twice).sum()
    if d:
        # Of an edge with both ends, one is where it starts, and infinity is where others end.
        assert not complex_.boundary(1, infinity=True).astype(int).sum(axis=0).any()
    assert complex_.f_vector[-1] == len(regions)
    assert complex_.euler_characteristic == complex_.expected_characteristic
    assert complex_.bounded_characteristic == 1
    point = (1, *[0] * d)
    assert complex_.betti() == point
    unbounded = bool(complex_.unbounded[-1].any())
    sphere = (1, *[0] * (d - 1), 1) if d and unbounded else point
    assert complex_.betti(unbounded="point") == sphere
    assert complex_.betti(unbounded="open") == ((*[0] * d, 1) if d and unbounded else point)
    stats = complex_.stats
    assert stats.get("mean_degree", 0) <= stats.get("mean_degree_bound", 0)
    if d and len(regions) <= MOST_NEIGHBOURS:
        assert stats["mean_degree"] == 2 * len(regions.neighbours) / len(regions)
        # Every facet has a region on each side, with opposite signs; or the domain ends there.
        sides = complex_.boundary(d).astype(int)
        two = abs(sides).sum(axis=1) == 2
        assert not sides.sum(axis=1)[two].any()
        assert (abs(sides).sum(axis=1)[~two] == 1).all()


def check_surface(level: Complex, whole: Complex) -> None:
    """A level that no vertex has: a manifold, which ends where the domain does."""
    d = whole.dimension
    assert level.dimension in (-1, d - 1)
    if level.dimension < 1:
        return
    sides = level.boundary(d - 1).astype(int)
    around = abs(sides).sum(axis=1)
    at_end = (level.signs(d - 2)[:, : level.lines.first - 1] == 0).any(axis=1)
    assert (around == np.where(at_end, 1, 2)).all()
    assert not sides.sum(axis=1)[~at_end].any()  # oriented consistently
    if d != 3:
        return
    # The faces around a vertex hang together, and are in a circle unless it is on the domain's end.
    ends, faces = abs(level.boundary(1)).tocsr(), abs(level.boundary(2)).tocsr()
    on_end = (level.signs(0)[:, : level.lines.first - 1] == 0).any(axis=1)
    for v in range(level.f_vector[0]):
        edges = ends[[v]].indices
        pairs = [faces[[e]].indices.tolist() for e in edges.tolist()]
        names = {name for pair in pairs for name in pair}
        groups = [{name} for name in names]
        for pair in pairs:
            joined = set().union(*(group for group in groups if group & set(pair)))
            groups = [group for group in groups if not group & set(pair)] + [joined]
        assert len(groups) == 1
        assert len(edges) == len(names) + int(on_end[v])


@pytest.mark.parametrize("animal", ZOO, ids=lambda animal: animal.name)
def test_the_zoo(animal: Specimen) -> None:
    known = animal.known
    regions = enumerate_regions(known.network, known.domain)
    complex_ = regions.complex()
    check_whole(complex_, regions)
    few = len(regions) <= MOST_REGIONS and known.network.n_inputs <= MOST_INPUTS
    if few and complex_.quotient.is_trivial:
        for k, faces in enumerate(sign_vectors(list(regions))):
            assert set(map(tuple, complex_.signs(k).tolist())) == faces
            assert len(faces) == complex_.f_vector[k]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 5), st.booleans())
def test_degenerate_networks(seed: int, kind: str, inputs: int, bounded: bool) -> None:
    network = random_network(seed, kind, inputs, 2 if inputs < 4 else 1, 5 if inputs < 3 else 3)
    regions = enumerate_regions(network, Box(-1, 1) if bounded else WholeSpace())
    complex_ = regions.complex()
    check_whole(complex_, regions)
    if not complex_.quotient.is_trivial or complex_.dimension < 2:
        return
    values = np.unique(network(complex_.vertices)[:, 0])
    gaps = np.diff(values)
    if not len(gaps) or gaps.max() < 1e-6 * (1 + np.abs(values).max()):
        return
    at = int(gaps.argmax())
    check_surface(complex_.level_set(0, float(values[at] + gaps[at] / 2)), complex_)
