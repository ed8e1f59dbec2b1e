"""The exact difference of two networks, over a domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.analysis.measure import extrema
from tropicell.errors import InvalidNetworkError
from tropicell.geometry.arithmetic import Matrix
from tropicell.importers.models import as_network
from tropicell.network.domains import Domain
from tropicell.network.layers import Affine, Layer
from tropicell.network.network import Network
from tropicell.regions.regions import Regions
from tropicell.search.enumeration import all_regions


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

    Nothing is rounded. Weights from a layer of one of the networks to the output stay what they
    are, or change their sign. Where both outputs read the input directly, or have a bias, and
    float64 has no room for the difference of the two numbers, one of them goes by way of
    one more layer, whose neurons are copies of inputs and a constant 1.

    Examples
    --------
    >>> a, b = Network.mlp([[[1.0]], [[2.0]]]), Network.mlp([[[1.0]], [[1.0]]])
    >>> difference(a, b)([[3.0]])
    array([[3.]])
    """
    a, b = as_network(a), as_network(b)
    if (a.n_inputs, a.n_outputs) != (b.n_inputs, b.n_outputs):
        raise InvalidNetworkError(
            f"networks of {a.n_inputs} inputs and {a.n_outputs} outputs and of {b.n_inputs} inputs "
            f"and {b.n_outputs} outputs can't be compared"
        )
    if a.embedding is not None or b.embedding is not None:
        raise InvalidNetworkError("compare the networks themselves, with a Slice as domain")

    def moved(affine: Affine) -> Affine:
        return Affine({k + a.depth if k else 0: m for k, m in affine.terms.items()}, affine.bias)

    layers = [*a.layers]
    layers += [Layer(moved(layer.affine), layer.activation, layer.name) for layer in b.layers]
    terms: dict[int, Matrix] = dict(a.output.terms)
    for source, matrix in moved(b.output).terms.items():
        if source:
            terms[source] = -matrix
    # For the inputs and a bias: what float64 holds, and what is left for one more layer.
    direct, rest = _exact_difference(_direct(a), _direct(b))
    if 0 in a.output.terms or 0 in b.output.terms:
        terms[0] = direct[:, :-1]
    needed = np.flatnonzero(rest.any(axis=0))
    if needed.size:
        copies = sp.csr_array(np.eye(a.n_inputs + 1)[needed])
        affine = Affine({0: copies[:, :-1]}, copies[:, [-1]].toarray().ravel())
        layers.append(Layer(affine, "identity", "exact difference"))
        terms[len(layers)] = rest[:, needed]
    return Network(a.n_inputs, layers, Affine(terms, direct[:, -1]))


def _direct(network: Network) -> FloatArray:
    """What the output takes from the inputs, and its bias, shape (outputs, inputs + 1)."""
    matrix = network.output.terms.get(0, np.zeros((network.n_outputs, network.n_inputs)))
    dense = matrix.toarray() if isinstance(matrix, sp.csr_array) else matrix
    return np.column_stack([dense, network.output.bias])


def _exact_difference(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two arrays whose sum is ``a - b``, the second 0 wherever float64 holds the difference.

    Knuth's sum of two floats has no rounding error; where it overflows both are kept as they are.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = a - b
        other = total - a
        rest = (a - (total - other)) - (b + other)
    fits = np.isfinite(total) & np.isfinite(rest)
    return np.where(fits, total, a), np.where(fits, rest, -b)


def compare(
    a: Network,
    b: Network,
    domain: Domain | None = None,
    *,
    workers: int = 1,
    progress: bool | None = None,
) -> Comparison:
    """The exact largest difference of two networks over a domain, and where it is.

    Parameters
    ----------
    a, b : Network
        With the same inputs and outputs.
    domain : Domain, optional
        A box, polytope or slice; default: all of R^n.
    workers : int
        Threads.
    progress : bool, optional
        Whether to show bars; default: in a terminal.

    Notes
    -----
    The difference is 0.0 if and only if the networks are the same function on the domain (or all
    that is left of a difference is too small for float64), and inf if and only if it has no bound:
    no rounding decides. See `tropicell.analysis.measure.extrema` for how values are worked out.

    Examples
    --------
    >>> from tropicell import Box
    >>> a, b = Network.mlp([[[1.0]], [[2.0]]]), Network.mlp([[[1.0]], [[1.0]]])
    >>> found = compare(a, b, Box(-1, 1))
    >>> found.largest, found.point
    (1.0, array([1.]))
    """
    regions = all_regions(difference(a, b), domain, workers=workers, progress=progress)
    found = extrema(regions, workers=workers, progress=progress)
    sizes = np.maximum(found.maximum, 0.0 - found.minimum)
    output = int(np.argmax(sizes))
    upper = found.maximum[output] >= -found.minimum[output]
    point = found.argmax[output] if upper else found.argmin[output]
    return Comparison(float(sizes[output]), point, output, regions)
