"""The exact difference of two networks, over a domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tropicell.arithmetic import Matrix
from tropicell.domains import Domain
from tropicell.enumeration import enumerate_regions
from tropicell.errors import InvalidNetworkError
from tropicell.layers import Affine, Layer
from tropicell.measure import extrema
from tropicell.network import Network
from tropicell.regions import Regions


@dataclass(frozen=True, eq=False)
class Comparison:
    """The largest difference of two networks.

    Attributes
    ----------
    largest : float
        The largest absolute difference of any output; inf if it has no bound on the domain.
    point : ndarray
        Where it is attained.
    output : int
        For which output.
    regions : Regions
        The regions of the difference: the common refinement of both networks' regions.

    Examples
    --------
    >>> from tropicell import Box
    >>> a, b = Network.mlp([[[1.0]], [[2.0]]]), Network.mlp([[[1.0]], [[1.0]]])
    >>> found = compare(a, b, Box(-1, 3))
    >>> found.largest, found.point, found.output
    (3.0, array([3.]), 0)
    """

    largest: float
    point: NDArray[np.float64]
    output: int
    regions: Regions


def difference(a: Network, b: Network) -> Network:
    """The network ``a - b``: both side by side.

    Examples
    --------
    >>> a, b = Network.mlp([[[1.0]], [[2.0]]]), Network.mlp([[[1.0]], [[1.0]]])
    >>> difference(a, b)([[3.0]])
    array([[3.]])
    """
    if (a.n_inputs, a.n_outputs) != (b.n_inputs, b.n_outputs):
        raise InvalidNetworkError(
            f"networks of {a.n_inputs} inputs and {a.n_outputs} outputs and of {b.n_inputs} inputs "
            f"and {b.n_outputs} outputs can't be compared"
        )
    if a.embedding is not None or b.embedding is not None:
        raise InvalidNetworkError("compare the networks themselves, with a Slice as domain")

    def moved(affine: Affine, sign: float = 1.0) -> Affine:
        terms = {k + a.depth if k else 0: sign * m for k, m in affine.terms.items()}
        return Affine(terms, sign * affine.bias)

    layers = [*a.layers]
    layers += [Layer(moved(layer.affine), layer.activation, layer.name) for layer in b.layers]
    terms: dict[int, Matrix] = dict(a.output.terms)
    minus = moved(b.output, -1.0)
    for source, matrix in minus.terms.items():
        terms[source] = terms[source] + matrix if source in terms else matrix
    return Network(a.n_inputs, layers, Affine(terms, a.output.bias + minus.bias))


def compare(a: Network, b: Network, domain: Domain | None = None) -> Comparison:
    """The exact largest difference of two networks over a domain, and where it is.

    Parameters
    ----------
    a, b : Network
        With the same inputs and outputs.
    domain : Domain, optional
        A box, polytope or slice; default: all of R^n.

    Examples
    --------
    >>> from tropicell import Box
    >>> a, b = Network.mlp([[[1.0]], [[2.0]]]), Network.mlp([[[1.0]], [[1.0]]])
    >>> found = compare(a, b, Box(-1, 1))
    >>> found.largest, found.point
    (1.0, array([1.]))
    """
    regions = enumerate_regions(difference(a, b), domain)
    found = extrema(regions)
    sizes = np.maximum(found.maximum, -found.minimum)
    output = int(np.argmax(sizes))
    upper = found.maximum[output] >= -found.minimum[output]
    point = found.argmax[output] if upper else found.argmin[output]
    return Comparison(float(sizes[output]), point, output, regions)
