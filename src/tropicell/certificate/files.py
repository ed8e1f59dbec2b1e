"""Certificates in files: all that `tropicell.verify_certificate` needs, and nothing else."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.npz import write_npz
from tropicell._runtime.paths import path_of
from tropicell.certificate._branches import TreeProofs
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import to_floats
from tropicell.geometry.polyhedra import to_point
from tropicell.network.fingerprint import fingerprint_arrays

if TYPE_CHECKING:
    from tropicell.certificate.prover import Certificate

FORMAT = "tropicell-certificate"

#: Versions: with facets and neighbours of all regions; with the bases of a tree.
FACETS, TREE = 1, 2

_WHOLE = ("facets", "neighbours", "bases")


def save_certificate(certificate: Certificate, path: str | os.PathLike[str]) -> None:
    """Write a certificate to an ``.npz`` file.

    Parameters
    ----------
    certificate : Certificate
        One that is ``ok``.
    path : str or path-like

    Notes
    -----
    ``header`` is JSON: format, version, the network's fingerprint, the number of sources of each
    layer and of the output, whether there is an ``embedding``, ``bits`` of a neuron in the packed
    patterns, ``complete``, and ``exact_witnesses``, numerators and a denominator as hexadecimal
    text. The arrays: ``network.<i>``, what the fingerprint is made of; ``domain.A`` and
    ``domain.b``; ``inputs``, if these are enough, and all that follows has these alone; ``words``,
    the packed patterns; ``witnesses``; and, if complete, ``facets``
    (numbers of lines), ``neighbours`` (parallel to them), ``bases`` (positions in a region's
    facets, -1 for none), with ``facets.ends`` and ``bases.ends``: 0, then where each region's
    part ends; or, in version 2, ``bases`` (numbers of lines, 0 for none) and ``bases.counts``, how
    many of them each cell of the tree has. The checker refuses any other type, shape, array or
    field: docs/certificates.md has the table.

    Examples
    --------
    >>> import tempfile
    >>> from tropicell import Network, enumerate_regions, verify_certificate
    >>> certificate = enumerate_regions(Network.mlp([[[1.0, 2.0]], [[1.0]]])).certify()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_certificate(certificate, folder + "/proof.npz")
    ...     verify_certificate.verify(folder + "/proof.npz")["regions"]
    2
    """
    file = path_of(path)
    if file.suffix.lower() != ".npz":
        raise InvalidInputError(f"{file}: expected the suffix .npz, not {file.suffix!r}")
    if not certificate.ok:
        raise InvalidInputError(f"{file}: nothing was proved, so nothing is written")
    network = certificate.network
    if network.embedding is not None and not network.embedding.is_float:
        raise InvalidInputError(
            f"{file}: the network is on a slice of a slice whose numbers float64 can't hold, and a "
            "certificate's file has no room for others. What certify() proved is true; for a file, "
            "make one Slice of the whole network, with origin and directions rounded to float64"
        )
    arrays = {f"network.{i}": array for i, array in enumerate(fingerprint_arrays(network))}
    for name, part in zip("Ab", certificate.domain.inequalities(network.n_inputs), strict=True):
        arrays[f"domain.{name}"] = np.asarray(part, dtype="<f8")
    if certificate.inputs is not None:
        arrays["inputs"] = np.asarray(certificate.inputs, dtype="<i8")
    arrays["words"] = np.ascontiguousarray(certificate.packed.words, dtype="<u8")
    # Regions without a float64 point have exact witnesses, which count; finite numbers stand there.
    arrays["witnesses"] = np.nan_to_num(to_floats(certificate.witnesses))
    proofs, version = certificate.proofs, FACETS
    if isinstance(proofs, TreeProofs):
        version = TREE
        arrays["bases"], arrays["bases.counts"] = _small(proofs.bases), _small(proofs.counts)
    elif proofs is not None:
        arrays["facets"], arrays["neighbours"] = proofs.facets.values, proofs.neighbours
        arrays["bases"] = proofs.bases.values
        arrays = {
            name: _small(array) if name in _WHOLE else array for name, array in arrays.items()
        }
        arrays["facets.ends"] = np.append(0, proofs.facets.ends).astype("<i8")
        arrays["bases.ends"] = np.append(0, proofs.bases.ends).astype("<i8")
    header = {
        "format": FORMAT,
        "version": version,
        "fingerprint": network.fingerprint,
        "sources": [len(network.affine(i).terms) for i in range(1, network.depth + 2)],
        "embedding": network.embedding is not None,
        "bits": int(certificate.packed.bits),
        "complete": bool(certificate.complete),
        "exact_witnesses": _exact_witnesses(certificate),
    }
    write_npz(file, {"header": np.array(json.dumps(header)), **arrays})


def _small(values: NDArray[Any]) -> NDArray[Any]:
    """The same whole numbers in as few bytes as they need."""
    low, high = values.min(initial=0), values.max(initial=0)
    kinds = ("|i1", "<i2", "<i4")
    fitting = (k for k in kinds if np.iinfo(k).min <= low and high <= np.iinfo(k).max)
    return values.astype(next(fitting, "<i8"))


def _exact_witnesses(certificate: Certificate) -> dict[str, list[str]]:
    """Witnesses that float64 can't hold: numerators and denominator as hexadecimal text."""
    found = dict(certificate.exact_witnesses)
    if certificate.witnesses.dtype == object:
        for i, point in enumerate(certificate.witnesses):
            # An infinite float is no Fraction, but equal to none either.
            if i not in found and (to_floats(point) != point).any():
                found[i] = to_point(Fraction(x) for x in point)
    return {str(i): [hex(x) for x in point] for i, point in found.items()}
