"""Tuples that kernels are given lie in memory: what is read of them is what was put in."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from tropicell._runtime.bundles import Bundle


class Inner(NamedTuple):
    flag: bool
    rows: NDArray[np.float64]
    axes: tuple[int, ...]


class Outer(NamedTuple):
    small: Any
    inner: Inner
    scale: float
    places: NDArray[np.int64]


Inner.__module__ = Outer.__module__ = "tropicell.made_for_this_test"  # only these are bundles


class Foreign(NamedTuple):
    x: float
    y: float


def outer(n: int = 4, *, flag: bool = True) -> Outer:
    inner = Inner(flag, np.arange(2.0 * n).reshape(2, n), (3, 4, 5))
    return Outer(np.uint8(7), inner, 0.5, np.arange(n))


@numba.njit
def weighted(bundle: Any, k: int) -> float:
    total = float(bundle.small) + len(bundle.inner.axes) + bundle.inner.axes[1]
    for i in range(len(bundle.places)):
        total += bundle.scale * bundle.inner.rows[k, bundle.places[i]]
    return total if bundle.inner.flag else -total


@numba.njit
def fill(bundle: Any) -> None:
    """Stores to arrays of a bundle, which is read again after each of them."""
    for i in range(bundle.inner.rows.shape[1]):
        bundle.places[i] = 10 * i
        bundle.inner.rows[0, i] = bundle.places[i] + bundle.scale


@numba.njit
def twice(bundle: Any) -> Any:
    return 2 * bundle.inner.rows


@pytest.mark.parametrize("flag", [True, False])
def test_members_are_read(flag: bool) -> None:
    value = outer(flag=flag)
    sign = 1 if flag else -1
    assert weighted(value, 1) == sign * (7 + 3 + 4 + 0.5 * (4 + 5 + 6 + 7))


def test_each_call_has_its_own_tuple() -> None:
    assert [weighted(outer(n), 0) for n in (1, 3, 2)] == [14.0, 15.5, 14.5]


def test_arrays_are_those_of_python() -> None:
    value = outer()
    fill(value)
    assert value.places.tolist() == [0, 10, 20, 30]
    assert value.inner.rows[0].tolist() == [0.5, 10.5, 20.5, 30.5]


def test_arrays_are_not_lost_and_not_kept() -> None:
    value = outer()
    before = sys.getrefcount(value.inner.rows)
    for _ in range(100):
        made = twice(value)
    after = sys.getrefcount(value.inner.rows)
    assert after == before
    assert made.tolist() == (2 * value.inner.rows).tolist()


def test_only_tuples_of_the_package_are_bundles() -> None:
    assert isinstance(weighted.typeof_pyval(outer()), Bundle)
    assert not isinstance(weighted.typeof_pyval(Foreign(1.0, 2.0)), Bundle)

    @numba.njit
    def both(one: Any) -> Any:
        x, y = one
        return x + y

    assert both(Foreign(1.0, 2.0)) == 3.0


def test_types_that_differ_in_a_member_differ() -> None:
    typeof: Any = weighted.typeof_pyval
    value = outer()
    other = value._replace(places=value.places.astype(np.int32))
    assert typeof(value) == typeof(outer(9))
    assert typeof(value) != typeof(other)
    assert weighted(other, 1) == weighted(value, 1)


def test_what_is_no_tuple_for_kernels_is_refused() -> None:
    with pytest.raises(numba.TypingError):
        weighted(outer()._replace(scale=object()), 0)
