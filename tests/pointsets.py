"""Points at which predictors are compared with networks, and how close they must come."""

from __future__ import annotations

import numpy as np

from tropicell import Network, Regions


def telling_points(regions: Regions, seed: int = 0) -> np.ndarray:
    """Corners, points between them (many on facets), witnesses, random points, whole numbers."""
    rng = np.random.default_rng(seed)
    inputs = regions.network.n_inputs
    corners = regions.corners.values[:60]
    vertices = corners[corners[:, -1] != 0]
    vertices = vertices[:, :-1] / vertices[:, -1:]
    between = (vertices[1:] + vertices[:-1]) / 2
    return np.concatenate(
        [
            vertices,
            between,
            regions.witnesses[:60].astype(float),
            np.zeros((1, inputs)),
            rng.normal(size=(20, inputs)),
            rng.integers(-2, 3, size=(20, inputs)).astype(float),
        ]
    )


def sizes(network: Network, points: np.ndarray) -> np.ndarray:
    """For every output the size of the numbers that it is computed from: absolute values add up."""
    x = np.abs(points)
    if network.embedding is not None:
        x = x @ np.abs(network.embedding.matrix).T + np.abs(network.embedding.offset)
    layers = [x]
    for affine, activation in [
        *((layer.affine, layer.activation) for layer in network.layers),
        (network.output, None),
    ]:
        z = np.abs(affine.bias) + np.zeros((len(x), 1))
        for source, matrix in affine.terms.items():
            z = z + (abs(matrix) @ layers[source].T).T
        if activation is not None:
            z = np.abs(activation.slopes).max(axis=1) * z + np.abs(activation.intercepts).max(
                axis=1
            )
        layers.append(z)
    return layers[-1]


def assert_equal_to_network(
    network: Network, points: np.ndarray, values: np.ndarray, tolerance: float = 1e-12
) -> None:
    """Values are the network's, up to rounding of the numbers that they are computed from."""
    assert values.shape == (len(points), network.n_outputs)
    error = np.abs(values - network(points)) / (sizes(network, points) + 1e-300)
    assert error.max(initial=0.0) <= tolerance, (points[error.max(axis=1).argmax()], error.max())


def slivers() -> tuple[Network, np.ndarray]:
    """A network with boundaries that are equal up to rounding, and points on them.

    Three rows are multiples of each other up to rounding. So there are regions of width 1e-17 or so
    that end where the boundaries cross. A tree that trusts the signs of rounded values sends points
    beyond the end there, where later neurons have another pattern: its values are wrong by 1.7.
    """
    rng = np.random.default_rng(0)
    row = rng.integers(-9, 10, size=2) * 0.1
    rng.integers(-9, 10)
    rng.normal(size=(4, 3))
    bias = rng.normal(size=4)
    first = np.array([row, 3 * row, -0.7 * row / 0.1, [1.0, 0.3]])
    network = Network.mlp(
        [first, rng.normal(size=(4, 4)), [[1.0, 1.0, -1.0, 2.0]]],
        [[0.0, 0.0, 0.0, 0.2], bias, [0.0]],
    )
    x = np.linspace(-9.9, 9.9, 200)
    points = np.stack([x, -row[0] * x / row[1]], axis=1)
    return network, points[(np.abs(points) <= 10).all(axis=1)]
