"""Domains: what they contain and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from tropicell import Ball, Box, InvalidDomainError, Network, Polytope, Slice, WholeSpace
from tropicell.network.domains import Domain, resolve


def test_box_takes_scalars_arrays_and_infinite_bounds() -> None:
    assert Box(-1, [1, 2]).contains([[1, 2], [2, 2]]).tolist() == [True, False]
    half = Box([0, -np.inf], np.inf)
    assert half.contains([[0, -1e300], [-1, 0]]).tolist() == [True, False]
    assert len(half.inequalities(2)[1]) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Box(1, 1), "below its high bound"),
        (lambda: Box([0, 2], [1, 1]), "below its high bound"),
        (lambda: Box(np.nan, 1), "below its high bound"),
        (lambda: Box([0, 0], [1, 1, 1]), "do not fit together"),
        (lambda: Box([[0]], [[1]]), "flat arrays"),
        (lambda: Box([0, 0], 1).inequalities(3), "2 coordinates, the network 3 inputs"),
        (lambda: Polytope([[1, 0]], [1, 2]), "expected A of shape"),
        (lambda: Polytope([[1, np.inf]], [1]), "finite"),
        (lambda: Polytope([[1, 0]], [1]).inequalities(3), "2 coordinates, the network 3"),
        (lambda: Slice([0, 0], [[1, 0], [2, 0]]), "linearly dependent"),
        (lambda: Slice([0, 0], [[1, 0, 0]]), "expected directions of shape"),
        (lambda: Slice([0, np.nan], [[1, 0]]), "finite"),
        (lambda: Slice([0], [[1]], Slice([0], [[1]])), "inside must be"),
        (lambda: Slice.through([[0, 0]]), "at least two points"),
        (lambda: Slice([0, 0], [[1, 0]]).inequalities(2), "1 coordinates"),
        (lambda: resolve(Network.mlp([[[1.0]]]), "box"), "not str"),
    ],
)
def test_bad_domains_are_refused(make: object, message: str) -> None:
    with pytest.raises(InvalidDomainError, match=message):
        make()


@pytest.mark.parametrize("domain", [WholeSpace(), Box(-1, 1), Polytope([[1, 1]], [1])])
def test_domains_contain_what_their_inequalities_say(domain: Domain) -> None:
    points = np.random.default_rng(0).uniform(-2, 2, size=(50, 2))
    a, b = domain.inequalities(2)
    expected = [all(row @ x <= bound for row, bound in zip(a, b, strict=True)) for x in points]
    assert domain.contains(points).tolist() == expected


def test_slice_through_images_flattens_them() -> None:
    images = np.random.default_rng(0).normal(size=(3, 4, 4))
    plane = Slice.through(images, inside=Box(0, 1))
    np.testing.assert_allclose(plane.embed(np.eye(2)), images[1:].reshape(2, 16))
    assert plane.contains([[0.5, 0.5], [2, 0]]).tolist() == [True, False]


@pytest.mark.parametrize(("center", "radius"), [(1e308, 1e308), (1e20, 1.0), (-1e308, 1e308)])
def test_balls_whose_corners_float64_cannot_hold_are_refused(center: float, radius: float) -> None:
    """A corner at infinity would be another domain, an unbounded one."""
    with pytest.raises(InvalidDomainError, match="corners"):
        Ball([center, 0.0], radius)
    assert Ball([center, 0.0], radius, "l2").contains([[center, 0.0]]).all()
