"""Hypothesis strategies: random networks of every shape, generic and degenerate, and domains."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from random_networks import (
    KINDS,
    activation,
    cancelling_network,
    default_network,
    random_network,
    weights,
)
from tropicell import Box, Network, Polytope, WholeSpace

__all__ = [
    "KINDS",
    "activation",
    "cancelling_network",
    "cancelling_networks",
    "default_network",
    "domains",
    "networks",
    "random_network",
    "weights",
]


@st.composite
def cancelling_networks(
    draw: st.DrawFn, *, max_inputs: int = 3, inputs: int | None = None, skip: bool = False
) -> Network:
    return cancelling_network(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.integers(1, max_inputs)) if inputs is None else inputs,
        draw(st.integers(1, 3)),
        skip=skip,
    )


@st.composite
def networks(
    draw: st.DrawFn,
    *,
    max_inputs: int = 3,
    max_depth: int = 3,
    max_width: int = 3,
    relu: bool = False,
) -> Network:
    return random_network(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.sampled_from(KINDS)),
        draw(st.integers(1, max_inputs)),
        draw(st.integers(0, max_depth)),
        draw(st.integers(1, max_width)),
        relu=relu,
    )


def domains(inputs: int) -> st.SearchStrategy:
    """The whole space, boxes (bounded or not) and polytopes, one with a row 0 · x <= 0."""
    corner = np.concatenate([-np.eye(inputs), np.ones((1, inputs))])
    return st.sampled_from(
        [
            WholeSpace(),
            Box(-1, 1),
            Box(-10, 10),
            Box(0, np.inf),
            Polytope(corner, np.append(np.zeros(inputs), 1.0)),
            Polytope(np.ones((1, inputs)), [1.0]),
            Polytope(np.stack([np.zeros(inputs), np.ones(inputs)]), [0.0, 1.0]),
        ]
    )
