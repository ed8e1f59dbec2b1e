"""Valid certificates of every kind, taken apart and put together again."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import random
import tempfile
import warnings
import zipfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from tropicell import Affine, Box, Layer, Network, Polytope, Slice, WholeSpace, enumerate_regions
from tropicell.certificate._branches import suits
from tropicell.network import activations
from tropicell.network.activations import Activation
from tropicell.network.domains import Domain
from tropicell.network.maps import AffineMap
from tropicell.network.quotient import quotient_of
from tropicell.regions.regions import Regions

SIGNED = ("|i1", "<i2", "<i4", "<i8")

#: What the checker's proofs consist of, beside the regions themselves.
PROOF = ("facets", "neighbours", "bases", "facets.ends", "bases.ends")
TREE = ("bases", "bases.counts")


@dataclass
class File:
    """A certificate taken apart, to be changed and put together again."""

    header: dict[str, Any]
    arrays: dict[str, Any]
    text: str | None = None  # a header that is not simply the JSON of `header`
    tails: dict[str, bytes] = field(default_factory=dict)
    members: list[tuple[str, bytes]] = field(default_factory=list)  # at the end
    shuffle: int | None = None
    packing: int = zipfile.ZIP_STORED

    @property
    def regions(self) -> int:
        return len(self.arrays["words"])

    @property
    def network(self) -> list[str]:
        return [name for name in self.arrays if name.startswith("network.")]

    @property
    def proved(self) -> bool:
        """Whether it still looks like a complete list with its proofs."""
        return all(name in self.arrays for name in PROOF)

    @property
    def tree(self) -> bool:
        """Whether it looks like a complete list with the bases of a tree."""
        return all(name in self.arrays for name in TREE)

    def sign(self) -> None:
        """Make the fingerprint that of the network as it now is."""
        digest = hashlib.sha256(b"tropicell-network-1")
        for name in self.network:
            part = self.arrays[name]
            digest.update(np.array([part.ndim, *part.shape], dtype="<i8").tobytes())
            digest.update(part.tobytes())
        self.header["fingerprint"] = digest.hexdigest()

    def content(self) -> bytes:
        text = json.dumps(self.header) if self.text is None else self.text
        entries = [("header.npy", serialised(np.array(text)))]
        for name, array in self.arrays.items():
            entries.append((f"{name}.npy", serialised(array) + self.tails.get(name, b"")))
        entries += self.members
        if self.shuffle is not None:
            random.Random(self.shuffle).shuffle(entries)
        packed = io.BytesIO()
        with warnings.catch_warnings(), zipfile.ZipFile(packed, "w", self.packing) as archive:
            warnings.simplefilter("ignore")  # of names that are there twice
            for name, data in entries:
                info = zipfile.ZipInfo(name)
                info.compress_type = self.packing
                archive.writestr(info, data)
        return packed.getvalue()


#: Arrays of the seeds, which are never changed, by their ids: most of a file is one of them.
_SERIALISED: dict[int, bytes] = {}


def serialised(array: Any) -> bytes:
    known = _SERIALISED.get(id(array))
    if known is not None:
        return known
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=False)
    return stream.getvalue()


def opened(content: bytes) -> File:
    with np.load(io.BytesIO(content)) as file:
        arrays = dict(file)
    return File(json.loads(str(arrays.pop("header"))), arrays)


def _networks() -> dict[str, tuple[Network, Domain | None]]:
    mlp, piecewise = Network.mlp, activations.piecewise
    plane = [[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, -1.0, 2.0]]]
    deep = [[[1.0, 0.5], [-1.0, 1.0]], [[1.0, -1.0], [1.0, 1.0]], [[1.0, 1.0]]]
    tent = piecewise([0, 1, 2], [0, 1, -1, 0], [0, 0, 2, 0], name="tent")
    steps = piecewise([0, 1, 2, 3, 4], [0, 1, 0, 1, 0, 1], [0, 0, 1, -1, 2, -2], name="steps")
    mixed = activations.clip([-1.0, 0.0, -np.inf], [1.0, 0.0, 2.0])
    skips = Network(
        1,
        [
            Layer(Affine({0: [[1.0], [-1.0]]}, [0.0, 1.0])),
            Layer(Affine({}, [1.0, -1.0]), "abs"),  # takes nothing from any layer
            Layer(Affine({0: [[1.0]], 1: [[1.0, -2.0]], 2: [[1.0, 1.0]]}, [-0.5])),
        ],
        Affine({0: [[1.0]], 3: [[1.0]]}),
    )
    three = Network(
        2,
        [Layer(Affine({0: [[1.0, 0.5], [0.0, 1.0], [1.0, -1.0]]}, [0.0, 0.5, 0.0]), mixed)],
        Affine({1: [[1.0, 1.0, 1.0]]}),
    )
    few = [
        [[1.0, 2.0, 0.0, -1.0], [0.0, 1.0, 1.0, 0.0]],
        [[1.0, -1.0], [1.0, 1.0], [0.0, 0.0]],
        [[1.0, 1.0, 1.0]],
    ]
    cut = Polytope([[2.0, 4.0, 0.0, -2.0], [-1.0, -3.0, -1.0, 1.0]], [1.0, 2.0])
    triangle = Polytope(
        [[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [-2.0, 0.0]],
        [0.0, 0.0, 1.0, 0.0, 5.0, 0.0],  # some rows say nothing, one says the first again
    )
    return {
        "line": (mlp([[[1.0], [1.0]], [[1.0, -1.0]]], [[0.0, -1.0], [0.0]]), None),
        "box": (mlp(plane, [[0.25, -0.25, 0.5], [0.0]]), Box(-1, 1)),
        "deep": (mlp(deep, [[0.0, 0.25], [0.5, 0.0], [0.0]]), None),
        "deep box": (mlp(deep, [[0.0, 0.25], [0.5, 0.0], [0.0]]), Box(-1, 1)),
        "tanh": (
            mlp([[[1.0], [3.0]], [[1.0, 1.0], [1.0, -1.0]], [[1.0, 1.0]]], activation="hard_tanh"),
            Box(-2, 2),
        ),
        "tent": (mlp([[[1.0]], [[2.0]], [[1.0]]], activation=[tent, "abs"]), None),
        "steps": (mlp([[[1.0], [0.5]], [[1.0, 1.0]]], activation=steps), None),
        "mixed": (three, Box(-1, [1, np.inf])),
        "triangle": (mlp(plane, [[-0.25, -0.25, -0.75], [0.0]]), triangle),
        "slice": (mlp(plane, [[0.25, -0.25, 0.5], [0.0]]), Slice([0.5, 0.0], [[1.0, 2.0]])),
        "twins": (
            mlp([[[1.0, 1.0], [-1.0, -1.0], [2.0, 2.0]], [[1.0, 1.0, 1.0]], [[1.0]]]),
            Box(-1, 1),
        ),
        "dead": (
            mlp(
                [[[0.0], [1.0], [0.0]], [[1.0, -1.0, 1.0]], [[1.0]]],
                [[0.0, 0.0, 1.0], [0.0], [0.0]],
            ),
            Box(-1, 1),
        ),
        "skips": (skips, Box(-3, 3)),
        "flat": (mlp([[[1.0]]] * 3, [[-1.0], [-(2.0**-60)], [0.0]]), None),  # no float inside
        "space": (mlp([np.eye(3), np.ones((1, 3))]), Box(-1, np.inf)),
        # some inputs are enough, and the file names them
        "fewer": (mlp(few, [[0.0, 0.5], [0.25, 0.0, 0.0], [0.0]]), None),
        "fewer, cut": (mlp(few, [[0.0, 0.5], [0.25, 0.0, 0.0], [0.0]]), cut),
        "fewer, one": (mlp([[[1.0, 3.0], [3.0, 9.0]], [[1.0, -1.0]]], [[0.0, 1.0], [0.0]]), None),
        "fewer, box": (mlp(few), Box([0.0, -np.inf, -np.inf, -np.inf], np.inf)),
        "nothing": (Network(2, [], Affine({0: [[1.0, 1.0]]})), Box(0, 1)),
        "everything": (Network(1, [], Affine({0: [[1.0]]})), None),
    }


def _regions(network: Network, domain: Domain, fewer: bool) -> Regions:
    """All of them; if so wanted, those in the inputs that are enough."""
    if not fewer:
        return enumerate_regions(network, domain, engine="traverse")
    quotient = quotient_of(network, domain)
    inner = enumerate_regions(quotient.network, quotient.domain, engine="traverse")
    return inner.lifted(quotient)


@cache
def seeds() -> dict[str, bytes]:
    """Valid certificates: all kinds of domains and activations, complete lists and others."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed.npz"
        for name, (network, domain) in _networks().items():
            regions = _regions(network, domain or WholeSpace(), name.startswith("fewer"))
            with patch("tropicell.certificate.prover.suits", lambda _: False):
                regions.certify().save(path)
            found[name] = path.read_bytes()
            if suits(regions):
                regions.certify().save(path)
                found[f"{name}, a tree"] = path.read_bytes()
            if name in ("box", "tanh", "flat"):
                part = enumerate_regions(network, domain, engine="traverse", max_regions=2)
                part.certify().save(path)
                found[f"{name}, not complete"] = path.read_bytes()
    return found


class Untrue(Exception):  # noqa: N818 - not an error of a program
    """What a file claims is not so."""


def network_of(arrays: dict[str, Any]) -> Network:
    """The network that the bytes are, by the types that they have in a fingerprint."""
    names = [f"network.{i}" for i in range(len(arrays))]
    queue = [arrays[name] for name in names if name in arrays]

    def take(kind: str) -> Any:
        if not queue:
            raise Untrue("the network ends too early")
        array = np.ascontiguousarray(queue.pop(0))
        if array.nbytes != 8 * array.size:
            raise Untrue("numbers of the network that have not eight bytes")
        return np.frombuffer(array.tobytes(), dtype=kind).reshape(array.shape)

    depth, inputs = take("<i8").tolist()
    embedding = None
    if queue and queue[0].ndim == 2:
        matrix = take("<f8")
        embedding = AffineMap(matrix, take("<f8"))
    affine, activation = [], []
    for layer in range(depth + 1):
        bias, terms = take("<f8"), {}
        while queue and queue[0].ndim == 1:
            source, *shape = take("<i8").tolist()
            places, values = take("<i8"), take("<f8")
            matrix = np.zeros(shape)
            for (row, column), value in zip(places.T.tolist(), values.tolist(), strict=True):
                if min(row, column) < 0 or matrix[row, column] != 0:
                    raise Untrue("an entry of a matrix is there twice, or nowhere")
                matrix[row, column] = value
            terms[source] = matrix
        affine.append(Affine(terms, bias))
        if layer < depth:
            breaks, slopes, intercepts = take("<f8"), take("<f8"), take("<f8")
            for row in breaks.tolist():
                finite = [t for t in row if t < np.inf]
                padding = [np.inf] * (len(row) - len(finite))
                if row != sorted(set(finite)) + padding or -np.inf in row:
                    raise Untrue(f"breakpoints {row}")
            if not np.isfinite([slopes, intercepts]).all():
                raise Untrue("a function that is not finite")
            activation.append(Activation(breaks, slopes, intercepts, "any"))
    if queue:
        raise Untrue("more than a network")
    layers = [Layer(a, f) for a, f in zip(affine[:-1], activation, strict=True)]
    width = inputs if embedding is None else len(embedding.matrix)
    network = Network(width, layers, affine[-1], embedding=embedding)
    if network.n_inputs != inputs:
        raise Untrue("another number of inputs")
    return network


@cache
def parsed(name: str) -> File:
    file = opened(seeds()[name])
    for array in file.arrays.values():
        array.setflags(write=False)
        _SERIALISED[id(array)] = serialised(array)
    return file


def fresh(name: str) -> File:
    file = parsed(name)
    return File(copy.deepcopy(file.header), dict(file.arrays))
