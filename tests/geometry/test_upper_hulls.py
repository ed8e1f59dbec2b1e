"""Monomials that are needed, by guesses with proofs, are those that linear programs alone find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tropicell.geometry import upper_hulls
from tropicell.geometry.arithmetic import to_rationals
from tropicell.geometry.upper_hulls import needed


@st.composite
def affine_functions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["generic", "integer", "flat", "line", "zonotope", "tiny"]))
    dimension, count = draw(st.integers(1, 3)), draw(st.integers(1, 14))
    if kind == "zonotope":  # sums of pairs: many on common facets
        steps = rng.integers(-2, 3, size=(3, dimension + 1))
        bits = (np.arange(8)[:, None] >> np.arange(3)) & 1
        points = bits @ steps
    elif kind == "generic":
        points = rng.normal(size=(count, dimension + 1))
    else:
        points = rng.integers(-2, 3, size=(count, dimension + 1)).astype(float)
    if kind == "flat":
        points[:, -1] = points[:, :-1].sum(axis=1)
    if kind == "line":
        points[:, :-1] = points[:, :1]
    if kind == "tiny":
        points *= 2.0**-1070
    _, first = np.unique(points[:, :-1], axis=0, return_index=True)
    return points[first, -1], points[first, :-1]


@given(affine_functions())
def test_guesses_change_nothing(functions: tuple[np.ndarray, np.ndarray]) -> None:
    heights, points = (to_rationals(part) for part in functions)
    found = needed(heights, points)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upper_hulls, "_QHULL", 0)
        patch.setattr(
            upper_hulls, "_on_a_line", lambda c, a: upper_hulls._Hull(c, a[:, None]).needed()
        )
        assert needed(heights, points).tolist() == found.tolist()


@given(affine_functions(), st.integers(0, 99))
def test_the_maximum_stays(functions: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    heights, points = (to_rationals(part) for part in functions)
    keep = needed(heights, points)
    at = np.random.default_rng(seed).integers(-9, 10, size=(20, points.shape[1]))
    values = to_rationals(at) @ points.T + heights
    assert (values[:, keep].max(axis=1) == values.max(axis=1)).all()


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_bowl_needs_all_and_its_lid_two_layers_none(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    a = rng.integers(-50, 51, size=(60, dimension))
    a = np.unique(a, axis=0)
    bowl = to_rationals(-(a**2).sum(axis=1))
    assert needed(bowl, to_rationals(a)).all()
    # The same bowl a little lower is below it, but for its rim, where it is at the same exponents.
    both = np.concatenate([2 * a, 2 * a[:-1] + 2 * a[1:] + 1])
    both, first = np.unique(both, axis=0, return_index=True)
    heights = np.concatenate([-2 * (a**2).sum(axis=1), np.full(len(a) - 1, -(10**9))])[first]
    found = needed(to_rationals(heights), to_rationals(both))
    assert found[heights > -(10**9)].all()
