"""How networks look as named arrays: the general layout, and that of a multi-layer perceptron."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell.errors import InvalidNetworkError, ModelFileError
from tropicell.geometry.arithmetic import Operator
from tropicell.geometry.convolutions import Convolution
from tropicell.network.activations import Activation, piecewise
from tropicell.network.layers import Affine, Layer, finite_numbers
from tropicell.network.maps import AffineMap
from tropicell.network.network import Network

#: The second version has the map of a slice of a slice as text in its header, the third one
#: convolutions that are not written out; see `to_arrays`.
FORMAT, VERSION, EXACT_VERSION, FILTER_VERSION = "tropicell-network", 1, 2, 3

#: Longest side of the input of a convolution in a file, and largest stride, padding and dilation.
_MOST_ON_AN_AXIS = 2**20

#: Sparse matrices could claim any number of columns.
MAX_INPUTS = 2**26

Arrays = Mapping[str, Any]

#: A fraction in the header.
_EXACT = re.compile(r"-?[0-9a-f]{1,100000}/[0-9a-f]{0,100000}[1-9a-f][0-9a-f]{0,100000}")

_MLP_KEY = re.compile(r"[Wb](\d+)")
_MLP_EXTRAS = {"skips", "activation", "n_layers", "box"}


def to_arrays(network: Network) -> tuple[dict[str, NDArray[Any]], str]:
    """A network as named arrays and a JSON header; see `tropicell.save` for the layout."""
    arrays: dict[str, NDArray[Any]] = {}
    layers = []
    for index, layer in enumerate(network.layers, start=1):
        sources = _put_affine(arrays, f"layer{index}", layer.affine)
        _put_activation(arrays, f"layer{index}", layer.activation)
        layers.append({"name": layer.name, "activation": layer.activation.name, "sources": sources})
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": FILTER_VERSION if _has_filters(network) else VERSION,
        "n_inputs": network.n_inputs,
        "layers": layers,
        "output": {"sources": _put_affine(arrays, "output", network.output)},
    }
    if network.embedding is not None:
        embedding = network.embedding
        header["n_inputs"] = int(embedding.matrix.shape[0])
        if embedding.is_float:
            arrays["embedding.matrix"] = np.ascontiguousarray(embedding.matrix)
            arrays["embedding.offset"] = np.ascontiguousarray(embedding.offset)
        else:  # float64 can't hold it: a version of its own, which older programs refuse
            header["version"] = max(header["version"], EXACT_VERSION)
            columns = np.column_stack([embedding.matrix, embedding.offset])
            header["embedding"] = [[_to_text(x) for x in row] for row in columns]
    return arrays, json.dumps(header)


def _to_text(number: Fraction) -> str:
    """A fraction in hexadecimal digits, which can be any number of them."""
    return f"{number.numerator:x}/{number.denominator:x}"


def _exact_embedding(header: dict[str, Any], where: str) -> AffineMap:
    """The map of a slice of a slice, from what `to_arrays` puts into a header."""
    rows = header["embedding"]
    if not (isinstance(rows, list) and rows and all(isinstance(row, list) for row in rows)):
        raise ModelFileError(f"{where}: the embedding must be a list of rows")
    columns = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        if len(row) != columns.shape[1] or len(row) < 2:
            raise ModelFileError(f"{where}: row {i} of the embedding has {len(row)} numbers")
        for j, text in enumerate(row):
            if not (isinstance(text, str) and _EXACT.fullmatch(text)):
                raise ModelFileError(
                    f"{where}: the embedding has {text!r} in row {i}; expected a fraction of "
                    "hexadecimal numbers, such as '-1f/20'"
                )
            numerator, denominator = (int(part, 16) for part in text.split("/"))
            columns[i, j] = Fraction(numerator, denominator)
    return AffineMap(columns[:, :-1], columns[:, -1])


def _put_affine(arrays: dict[str, NDArray[Any]], prefix: str, affine: Affine) -> list[int]:
    arrays[f"{prefix}.bias"] = affine.bias
    for source, matrix in affine.operators.items():
        key = f"{prefix}.from{source}"
        if isinstance(matrix, Convolution):
            sides = [matrix.spatial, matrix.stride, *zip(*matrix.pads, strict=True)]
            arrays[f"{key}.filters"] = matrix.weight
            arrays[f"{key}.window"] = np.array([*sides, matrix.dilation], np.int64)
        elif isinstance(matrix, sp.csr_array):
            arrays[f"{key}.data"] = matrix.data
            arrays[f"{key}.indices"] = matrix.indices
            arrays[f"{key}.indptr"] = matrix.indptr
            arrays[f"{key}.shape"] = np.array(matrix.shape)
        else:
            arrays[key] = np.ascontiguousarray(matrix)
    return list(affine.operators)


def _has_filters(network: Network) -> bool:
    layers = range(1, network.depth + 2)
    operators = (m for layer in layers for m in network.affine(layer).operators.values())
    return any(isinstance(operator, Convolution) for operator in operators)


def _put_activation(arrays: dict[str, NDArray[Any]], prefix: str, activation: Activation) -> None:
    parts = (activation.breakpoints, activation.slopes, activation.intercepts)
    same = all(bool((part == part[:1]).all()) for part in parts)
    names = ("breakpoints", "slopes", "intercepts")
    for name, part in zip(names, parts, strict=True):
        arrays[f"{prefix}.{name}"] = np.ascontiguousarray(part[:1] if same else part)


def to_network(arrays: Arrays, where: str) -> Network:
    """The network in named arrays, in either layout.

    Examples
    --------
    >>> to_network({"W0": np.eye(2), "b0": np.zeros(2)}, "here")
    Network(2 → 2)
    """
    try:
        if "header" in arrays:
            return _general(arrays, where)
        return _perceptron(arrays, where)
    except InvalidNetworkError as error:
        raise ModelFileError(f"{where}: {error}") from None
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, ModelFileError):
            raise
        what = f"no array {error.args[0]!r}" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(f"{where}: the arrays do not make a network: {what}") from error


def refuse_state_dict(keys: list[str], where: str) -> None:
    """Refuse the weights of a torch module, which say nothing about how they are connected."""
    if any(key.endswith((".weight", ".bias")) and not key.startswith(("layer", "output"))
           for key in keys):  # fmt: skip
        raise ModelFileError(
            f"{where}: holds a state dict ({keys[0]!r}, …): weights without activations or skips. "
            "Load it into its module and use tropicell.from_torch, or write a .pt2 or .onnx file"
        )


def _perceptron(arrays: Arrays, where: str) -> Network:
    refuse_state_dict(list(arrays), where)
    unknown = sorted(k for k in arrays if not _MLP_KEY.fullmatch(k) and k not in _MLP_EXTRAS)
    if unknown or "W0" not in arrays:
        raise ModelFileError(
            f"{where}: expected the arrays W0, b0, W1, b1, … (and perhaps "
            f"{', '.join(sorted(_MLP_EXTRAS))}), or a file of tropicell.save; "
            + (f"found {unknown[0]!r}" if unknown else "W0 is missing")
        )
    count = 1 + max(int(k[1:]) for k in arrays if _MLP_KEY.fullmatch(k))
    if "n_layers" in arrays and int(arrays["n_layers"]) != count:
        raise ModelFileError(
            f"{where}: n_layers is {int(arrays['n_layers'])}, but there are {count} matrices"
        )
    weights = [arrays[f"W{i}"] for i in range(count)]
    biases = [arrays.get(f"b{i}") for i in range(count)]
    skips = np.asarray(arrays.get("skips", np.empty((0, 2), int)))
    if skips.size and (skips.ndim != 2 or skips.shape[1] != 2 or skips.dtype.kind not in "iu"):
        raise ModelFileError(
            f"{where}: skips must be whole numbers of shape (skips, 2), got {skips.shape}"
        )
    names = np.asarray(arrays.get("activation", "relu"))
    activation: Any = str(names) if names.ndim == 0 else [str(name) for name in names]
    pairs = [(int(k), int(target)) for k, target in skips.reshape(-1, 2)]
    return Network.mlp(weights, biases, skips=pairs, activation=activation)


def _general(arrays: Arrays, where: str) -> Network:
    try:
        header = json.loads(str(arrays["header"]))
    except json.JSONDecodeError as error:
        raise ModelFileError(f"{where}: the header is not JSON: {error}") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        said = header.get("format") if isinstance(header, dict) else None
        if said == "tropicell-regions":
            raise ModelFileError(
                f"{where}: holds regions, not a model; load_regions reads it, and on the command "
                "line show, plot, explore and certify take it"
            )
        raise ModelFileError(f"{where}: the header does not say {FORMAT!r}")
    if header.get("version") not in (VERSION, EXACT_VERSION, FILTER_VERSION):
        raise ModelFileError(
            f"{where}: version {header.get('version')!r} of the layout is not known; this version "
            f"of tropicell reads {VERSION} to {FILTER_VERSION}"
        )
    layers = []
    for index, entry in enumerate(header["layers"], start=1):
        prefix = f"layer{index}"
        activation = piecewise(
            arrays[f"{prefix}.breakpoints"],
            arrays[f"{prefix}.slopes"],
            arrays[f"{prefix}.intercepts"],
            name=str(entry["activation"]),
        )
        layers.append(
            Layer(_affine(arrays, prefix, entry["sources"]), activation, str(entry["name"]))
        )
    output = _affine(arrays, "output", header["output"]["sources"])
    embedding = None
    if "embedding.matrix" in arrays:
        embedding = AffineMap(
            finite_numbers(arrays["embedding.matrix"], "embedding's matrix"),
            finite_numbers(arrays["embedding.offset"], "embedding's offset"),
        )
    elif "embedding" in header and header["version"] != VERSION:
        embedding = _exact_embedding(header, where)
    inputs = int(header["n_inputs"])
    if inputs > MAX_INPUTS:
        raise ModelFileError(f"{where}: claims {inputs} inputs; at most {MAX_INPUTS} are supported")
    return Network(inputs, layers, output, embedding=embedding)


def _affine(arrays: Arrays, prefix: str, sources: list[int]) -> Affine:
    terms: dict[int, Operator] = {}
    for source in sources:
        key = f"{prefix}.from{int(source)}"
        if f"{key}.filters" in arrays:
            terms[int(source)] = _convolution(arrays, key)
        elif f"{key}.data" in arrays:
            parts = (arrays[f"{key}.data"], arrays[f"{key}.indices"], arrays[f"{key}.indptr"])
            rows, columns = (int(n) for n in arrays[f"{key}.shape"])
            matrix = sp.csr_array(parts, shape=(rows, columns))
            matrix.check_format(full_check=True)
            terms[int(source)] = matrix
        else:
            terms[int(source)] = arrays[key]
    return Affine(terms, arrays[f"{prefix}.bias"])


def _convolution(arrays: Arrays, key: str) -> Convolution:
    """The convolution in two of the arrays, checked: a few bytes could claim any size."""
    weight = finite_numbers(arrays[f"{key}.filters"], "filters of a convolution")
    window = np.asarray(arrays[f"{key}.window"])
    if window.dtype != np.int64 or window.shape != (5, weight.ndim - 2) or weight.ndim < 3:
        raise InvalidNetworkError(
            f"a convolution has filters of shape {weight.shape} and a window of shape "
            f"{window.shape}; expected (filters, channels, …) and (5, axes) whole numbers"
        )
    sides = [[int(n) for n in row] for row in window.tolist()]
    if any(not 0 <= n <= _MOST_ON_AN_AXIS for row in sides for n in row):
        raise InvalidNetworkError(f"the window {sides} of a convolution is not one")
    spatial, stride, before, after, dilation = sides
    pads = list(zip(before, after, strict=True))
    found = Convolution(weight, spatial, stride, pads, dilation)
    if max(found.shape) > MAX_INPUTS:
        raise InvalidNetworkError(f"a convolution of shape {found.shape} is too large")
    return found
