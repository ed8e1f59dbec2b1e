"""Every public object can be pickled and copied, or says why not; copies give the same answers."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tropicell
from strategies import random_network
from tropicell import (
    Ball,
    Box,
    CachedPredictor,
    Checkpoint,
    DataRegions,
    InvalidInputError,
    LastRegionPredictor,
    Network,
    Polytope,
    Region,
    RegionFolder,
    RegionLocator,
    Regions,
    RegionTracker,
    Slice,
    TropicalRationalMap,
    WholeSpace,
    compare,
    enumerate_regions,
    estimate_regions,
    find_region,
    integrated_gradients,
    nearest_boundary,
    robustness,
)

WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
NETWORK = random_network(3, "generic", 2, 2, 4)
BOX = Box(-1, 1)
SMALL = Network.mlp([np.eye(2), [[1.0, -1.0]]])
POINTS = np.random.default_rng(0).uniform(-1.5, 1.5, size=(50, 2))


def network_now() -> Network:
    """What a tracker looks at."""
    return NETWORK


def tracker() -> RegionTracker:
    made = RegionTracker(network_now, BOX, every=1)
    made.record(0)
    return made


def regions() -> Regions:
    return enumerate_regions(NETWORK, BOX)


#: An instance of every class, and what must be the same of a copy; parameter: an empty folder.
CASES: dict[str, tuple[Callable[[Path], Any], Callable[[Any], Any]]] = {
    "Affine": (lambda _: NETWORK.output, lambda a: [a.bias, *a.terms.values()]),
    "AffineMap": (lambda _: regions()[0].affine_map, lambda m: [m.matrix, m.offset]),
    "Ball": (lambda _: Ball([0.0, 0.5], 1.0, "l2"), lambda b: [repr(b), b.contains(POINTS)]),
    "Box": (lambda _: BOX, repr),
    "CachedPredictor": (
        lambda _: CachedPredictor(NETWORK).fit(POINTS[:9]),
        lambda p: [p.contains(POINTS), p.predict(POINTS)],
    ),
    "Certificate": (lambda _: regions().certify(), lambda c: [c.ok, c.complete, c.counts]),
    "Checkpoint": (Checkpoint, lambda c: c.path),
    "Comparison": (lambda _: compare(NETWORK, NETWORK, BOX), lambda c: [c.largest, c.point]),
    "DataRegions": (lambda _: DataRegions(NETWORK, POINTS), lambda d: d.distance(POINTS)),
    "EmptyRegion": (
        lambda _: find_region(Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]]), "11"),
        lambda e: [e.pattern, e.layer, bool(e)],
    ),
    "Estimate": (lambda _: estimate_regions(NETWORK, BOX), repr),
    "IntegratedGradients": (
        lambda _: integrated_gradients(NETWORK, POINTS[0]),
        lambda g: [g.attributions, g.completeness],
    ),
    "LastRegionPredictor": (
        lambda _: LastRegionPredictor(regions()),
        lambda p: [p.predict(POINTS), p.locate(POINTS), p.last, p.walked, p.searched, p.nbytes],
    ),
    "Layer": (lambda _: NETWORK.layers[0], lambda layer: [layer.name, layer.affine.bias]),
    "NearestBoundary": (
        lambda _: nearest_boundary(NETWORK, POINTS),
        lambda n: [n.distances, n.points, str(n.boundary(0))],
    ),
    "Network": (lambda _: NETWORK, lambda n: [n.fingerprint, n(POINTS)]),
    "Path": (lambda _: tropicell.Path(POINTS[:3]), lambda p: p.regions(NETWORK).texts()),
    "PathRegions": (
        lambda _: tropicell.Path(POINTS[:3]).regions(NETWORK),
        lambda p: [p.texts(), p.lengths],
    ),
    "Polytope": (lambda _: Polytope(np.eye(2), [1.0, 1.0]), lambda p: [p.A, p.b]),
    "Complex": (lambda _: regions().complex(), lambda c: [c.f_vector, c.vertices, c.betti()]),
    "DecisionBoundary": (lambda _: tropicell.DecisionBoundary(0, 1), repr),
    "DecisionRegion": (lambda _: tropicell.DecisionRegion(0), repr),
    "GraphStatistics": (lambda _: tropicell.graph_statistics(regions()), repr),
    "Homology": (lambda _: regions().complex().homology(), repr),
    "Level": (lambda _: tropicell.Level(0.5), repr),
    "Persistence": (lambda _: regions().complex().persistence(), repr),
    "PiecewiseAffine": (lambda _: tropicell.piecewise_affine(regions()), repr),
    "PolygonMesh": (
        lambda _: regions().complex().to_mesh(),
        lambda m: [m.vertices, repr(m)],
    ),
    "Sublevel": (lambda _: tropicell.Sublevel(0.5), repr),
    "Superlevel": (lambda _: tropicell.Superlevel(0.5), repr),
    "TropicalNetwork": (lambda _: SMALL.tropical(), repr),
    "TropicalPolynomial": (lambda _: SMALL.tropical().output[0].numerator, repr),
    "TropicalRationalFunction": (lambda _: SMALL.tropical().output[0], repr),
    "Region": (
        lambda _: Region(NETWORK, regions()[0].text, BOX),
        lambda r: [r.vertices, r.witness, r.affine_map.matrix, r.contains(POINTS)],
    ),
    "RegionFolder": (lambda folder: RegionFolder(folder / "r"), lambda f: str(f.path)),
    "RegionLocator": (
        lambda _: RegionLocator(regions(), outside="nan"),
        lambda p: [p.predict(POINTS), p.locate(POINTS), p.predict_one(POINTS[0]), p.nbytes],
    ),
    "RegionTracker": (lambda _: tracker(), lambda t: t.record(1).count),
    "Regions": (
        lambda _: regions(),
        lambda r: [r.packed.words, r.witnesses, r.volumes, r.neighbours.pairs, r.locate(POINTS)],
    ),
    "BoundaryCertificate": (
        lambda _: robustness(Network.mlp([np.eye(2), np.eye(2)]), [3.0, 1.0], gap=0).certify(),
        lambda c: [c.verify(), repr(c)],
    ),
    "Robustness": (
        lambda _: robustness(Network.mlp([np.eye(2), np.eye(2)]), [3.0, 1.0]),
        lambda r: [r.complete, r.lower, r.upper, r.point],
    ),
    "Slice": (lambda _: Slice([0.0, 0.0], [[1.0, 1.0]], BOX), lambda s: [s.origin, s.directions]),
    "StoredRegions": (
        lambda folder: enumerate_regions(NETWORK, BOX, out=folder / "stored"),
        lambda s: [len(s), s.to_regions().packed.words],
    ),
    "TropicalRationalMap": (lambda _: TropicalRationalMap(NETWORK), lambda m: m(POINTS)),
    "WholeSpace": (lambda _: WholeSpace(), repr),
}
ERRORS = {
    name: kind
    for name, kind in ((name, getattr(tropicell, name)) for name in tropicell.__all__)
    if isinstance(kind, type) and issubclass(kind, Exception)
}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "IncompleteError": (3, "max_regions"),
    "UnsupportedOperatorError": ("Sin", "node 1", "leave it out"),
    "FileWriteError": ("net.npz: can't be written", 28),
}


def test_all_public_classes_are_here() -> None:
    classes = {name for name in tropicell.__all__ if isinstance(getattr(tropicell, name), type)}
    assert classes - {"Player"} == set(CASES) | set(ERRORS)  # a player is a running server


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", WAYS)
def test_copies_give_the_same_answers(name: str, way: str, tmp_path: Path) -> None:
    make, answers = CASES[name]
    made = make(tmp_path)
    got = WAYS[way](made)  # before anything is worked out
    assert type(got) is type(made)
    expected = answers(made)
    np.testing.assert_equal(answers(got), expected)


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("way", WAYS)
def test_errors(name: str, way: str) -> None:
    made = ERRORS[name](*ARGUMENTS.get(name, ("what is wrong",)))
    got = WAYS[way](made)
    assert (type(got), str(got), vars(got)) == (type(made), str(made), vars(made))
    assert getattr(got, "errno", None) == getattr(made, "errno", None)


@pytest.mark.parametrize("way", WAYS)
def test_a_path_of_its_own(way: str) -> None:
    """A copy of a predictor that follows a path does not move with the other."""
    first = LastRegionPredictor(regions())
    first.predict_one([0.5, 0.5])
    other = WAYS[way](first)
    before = (other.last, other.searched)
    assert before == (first.last, first.searched)
    first.predict_one([-0.9, -0.9])
    assert (other.last, other.searched) == before
    other.reset()
    assert first.last >= 0


def test_neighbours_of_a_pickled_region() -> None:
    found = regions()
    alone = WAYS["pickle"](found[0])
    with pytest.raises(InvalidInputError, match="asked for before"):
        _ = alone.neighbours
    expected = found[0].neighbours
    assert expected
    assert WAYS["pickle"](found[0]).neighbours == expected
    assert WAYS["pickle"](WAYS["pickle"](found[0])).neighbours == expected
    size = len(pickle.dumps(found[0]))
    assert size < 2 * len(pickle.dumps(Region(NETWORK, found[0].text, BOX)))  # not all regions
    for way in ("copy", "deepcopy"):
        assert WAYS[way](regions()[0]).neighbours == expected


def test_a_tracker_of_a_lambda_says_what_to_do() -> None:
    made = RegionTracker(lambda: NETWORK, BOX, every=1)
    with pytest.raises(TypeError, match="defined at the top of a module"):
        pickle.dumps(made)
    assert copy.deepcopy(made).record(0).count == made.record(0).count
