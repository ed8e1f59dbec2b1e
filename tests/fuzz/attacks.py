"""Attacks on the checker of certificates: valid files, changed in structure.

Case i is always the same. A change may say for which reason the checker must refuse it; whether a
file that is accepted is true is for `fuzz.judge` to say.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import random
import re
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tropicell import (
    Affine,
    Box,
    Layer,
    Network,
    Polytope,
    Slice,
    WholeSpace,
    activations,
    enumerate_regions,
)
from tropicell.domains import Domain
from tropicell.errors import TropicellError
from tropicell.maps import AffineMap
from tropicell.piecewise import Activation

SIGNED = ("|i1", "<i2", "<i4", "<i8")
#: What the checker's proofs consist of, beside the regions themselves.
PROOF = ("facets", "neighbours", "bases", "facets.ends", "bases.ends")


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


# --- valid certificates ---------------------------------------------------------------------------


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
            mlp([[[0.0], [1.0], [0.0]], [[1.0, -1.0, 1.0]], [[1.0]]], [[0.0, 0.0, 1.0], [0.0], [0.0]]),
            Box(-1, 1),
        ),
        "skips": (skips, Box(-3, 3)),
        "flat": (mlp([[[1.0]]] * 3, [[-1.0], [-(2.0**-60)], [0.0]]), None),  # no float inside
        "space": (mlp([np.eye(3), np.ones((1, 3))]), Box(-1, np.inf)),
        "nothing": (Network(2, [], Affine({0: [[1.0, 1.0]]})), Box(0, 1)),
        "everything": (Network(1, [], Affine({0: [[1.0]]})), None),
    }


@cache
def seeds() -> dict[str, bytes]:
    """Valid certificates: all kinds of domains and activations, complete lists and others."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed.npz"
        for name, (network, domain) in _networks().items():
            regions = enumerate_regions(network, domain or WholeSpace(), engine="traverse")
            regions.certify().save(path)
            found[name] = path.read_bytes()
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


# --- changes --------------------------------------------------------------------------------------

#: A change says what it did, and perhaps for which reason (an expression) it must be refused.
Said = tuple[str, str | None] | None
Change = Callable[[File, random.Random], Said]
CHANGES: list[Change] = []


def change(function: Change) -> Change:
    CHANGES.append(function)
    return function


def _kinds(name: str) -> tuple[str, ...]:
    """What the checker takes."""
    return SIGNED if name in PROOF[:3] else ()


def _place(name: str) -> str:
    return f"^{re.escape(name)}: "


@change
def types(file: File, rng: random.Random) -> Said:
    """The same numbers, more or less, in another type."""
    name = rng.choice(list(file.arrays))
    kind = rng.choice(("<f4", "<f8", ">f8", "<f2", "<i8", ">i8", "<u8", "|u1", "|i1", "<c16", "?"))
    old = file.arrays[name]
    with np.errstate(all="ignore"):
        file.arrays[name] = old.astype(kind)
    same = file.arrays[name].dtype == old.dtype or np.dtype(kind).str in _kinds(name)
    return f"{name} as {kind}", None if same else _place(name) + "it is "


@change
def reinterpreted(file: File, rng: random.Random) -> Said:
    """The same bytes in another type: the fingerprint stays what it is."""
    wide = [name for name, array in file.arrays.items() if array.dtype.itemsize == 8]
    name = rng.choice([*file.network, *wide])
    kind = rng.choice(("<f8", ">f8", "<i8", ">i8", "<u8", ">u8", "<M8[s]", "<m8[ns]", "<c8", "|V8"))
    old = file.arrays[name]
    file.arrays[name] = np.ascontiguousarray(old).view(kind)
    same = file.arrays[name].dtype == old.dtype or np.dtype(kind).str in _kinds(name)
    return f"{name} seen as {kind}", None if same else _place(name)


@change
def biases(file: File, rng: random.Random) -> Said:
    """All one-dimensional floats of the network as other numbers of the same bytes."""
    kind = rng.choice((">f8", "<i8", ">i8"))
    for name in file.network:
        array = file.arrays[name]
        if array.ndim == 1 and array.dtype == "<f8":
            file.arrays[name] = array.view(kind)
    return f"biases seen as {kind}", r"^network\.\d+: it is "


@cache
def _forgery(seed: str, name: str, kind: str) -> File | None:
    """A right certificate of what one array would be, were its bytes of another type."""
    old = _parsed(seed)
    new = _opened(seed)
    if name == "domain.A":  # where unsigned numbers are negated, they wrap around
        new.arrays[name] = np.abs(old.arrays[name]).astype(kind)
        read = -(-new.arrays[name]).astype("<f8")
    else:
        new.arrays[name] = old.arrays[name].view(kind)
        read = new.arrays[name].astype("<f8")
    if not np.isfinite(read).all():
        return None
    arrays = {**old.arrays, name: read}
    a, b = arrays["domain.A"], arrays["domain.b"]
    try:
        network = network_of(arrays)
        domain = Polytope(a, b) if len(b) else WholeSpace()
        certificate = enumerate_regions(network, domain, engine="traverse").certify()
    except TropicellError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        certificate.save(Path(folder) / "forged.npz")
        found = opened((Path(folder) / "forged.npz").read_bytes())
    for part in ("words", "witnesses", *PROOF):
        new.arrays[part] = found.arrays[part]
    for key in ("bits", "exact_witnesses"):
        new.header[key] = found.header[key]
    return new


@change
def forged(file: File, rng: random.Random) -> Said:
    """The whole proof for other numbers: those that the bytes are in another type."""
    seed = rng.choice([name for name in seeds() if "not complete" not in name])
    old = _parsed(seed)
    names = [n for n in old.network if old.arrays[n].ndim == 1 and old.arrays[n].dtype == "<f8"]
    name = rng.choice([*names, "domain.A"])
    kind = rng.choice(("|u1", "<u2", "<u8") if name == "domain.A" else (">f8", "<i8", ">i8"))
    new = _forgery(seed, name, kind)
    if new is None:
        return None
    file.header, file.arrays = copy.deepcopy(new.header), dict(new.arrays)
    return f"{name} forged as {kind}", _place(name) + "it is "


@change
def swapped_bytes(file: File, rng: random.Random) -> Said:
    """The same numbers with their bytes in the other order."""
    names = [name for name, array in file.arrays.items() if array.dtype.itemsize > 1]
    name = rng.choice(names)
    file.arrays[name] = file.arrays[name].astype(file.arrays[name].dtype.newbyteorder(">"))
    return f"{name} with swapped bytes", _place(name) + "it is "


@change
def shapes(file: File, rng: random.Random) -> Said:
    name = rng.choice(list(file.arrays))
    old = file.arrays[name]
    ways = {
        "flat": old.ravel(),
        "with an axis": old[None],
        "with an axis behind": old[..., None],
        "transposed": old.T,
        "in columns": np.asfortranarray(old),
        "cut": old[:-1],
        "repeated": np.concatenate([old, old[-1:]]),
    }
    way = rng.choice(list(ways))
    file.arrays[name] = ways[way]
    return f"{name} {way}", None


@change
def unsigned_domain(file: File, rng: random.Random) -> Said:
    """Unsigned numbers wrap around where they are negated."""
    names = rng.choice((["domain.A"], ["domain.b"], ["domain.A", "domain.b"]))
    for name in names:
        file.arrays[name] = np.abs(file.arrays[name]).astype(rng.choice(("|u1", "<u2", "<u8")))
    return "an unsigned domain", _place(names[0]) + "it is "


@change
def domain(file: File, rng: random.Random) -> Said:
    """Another domain; perhaps the regions stay the same, perhaps not."""
    a, b = file.arrays["domain.A"].copy(), file.arrays["domain.b"].copy()
    way, reason = rng.randrange(8), None
    if way == 0:
        a, b = rng.choice((-1.0, 2.0, 0.5)) * a, rng.choice((-1.0, 2.0, 0.5)) * b
    elif way == 1 and len(b):
        b[rng.randrange(len(b))] += rng.choice((-1.0, 1.0, 1e-9, -1e-9, 100.0))
    elif way == 2 and a.size:
        a.flat[rng.randrange(a.size)] = rng.choice((0.0, -1.0, 1.0, 5e-324, 1e308))
    elif way == 3 and b.size:
        target = rng.choice((a, b))
        target.flat[rng.randrange(target.size)] = rng.choice((np.nan, np.inf, -np.inf))
        reason = r"^domain\.[Ab]: cannot convert"
    elif way == 4:  # a row that says nothing, or that the domain is empty
        a = np.concatenate([a, np.zeros((1, a.shape[1]))])
        b = np.append(b, rng.choice((0.0, 1.0, -1.0, -0.0, -5e-324)))
    elif way == 5 and len(b):
        return _drop_row(file, rng)
    elif way == 6:
        a, b = a * 0.0, b * 0.0
    else:
        b = -b
    file.arrays["domain.A"], file.arrays["domain.b"] = a, b
    return f"domain {way}", reason


def _drop_row(file: File, rng: random.Random) -> Said:
    """The domain without one of its rows, and the proofs without that line."""
    gone = rng.randrange(len(file.arrays["domain.b"]))
    for name in ("domain.A", "domain.b"):
        file.arrays[name] = np.delete(file.arrays[name], gone, axis=0)
    if file.proved:
        lines = file.arrays["facets"].astype(np.int64)
        _keep_facets(file, lines != gone + 1)
        lines = file.arrays["facets"].astype(np.int64)
        file.arrays["facets"] = lines - (lines > gone + 1)
    return "a row of the domain dropped", None


def _keep_facets(file: File, kept: Any) -> None:
    """Leave out some facets, and the bases that use them."""
    a = file.arrays
    if len(kept) != len(a["facets"]) or len(a["neighbours"]) != len(kept):
        return
    ends, base_ends = a["facets.ends"].tolist(), a["bases.ends"].tolist()
    counts, bases, base_counts = [], [], []
    for i in range(len(ends) - 1):
        mine = kept[ends[i] : ends[i + 1]]
        place = np.cumsum(mine) - 1
        counts.append(int(mine.sum()))
        own = []
        for basis in a["bases"][base_ends[i] : base_ends[i + 1]].tolist():
            if all(k < 0 or (k < len(mine) and mine[k]) for k in basis):
                own.append([-1 if k < 0 else int(place[k]) for k in basis])
        bases += own
        base_counts.append(len(own))
    a["facets"], a["neighbours"] = a["facets"][kept], a["neighbours"][kept]
    a["bases"] = np.array(bases, dtype=np.int64).reshape(-1, a["bases"].shape[1])
    a["facets.ends"] = np.append(0, np.cumsum(counts)).astype("<i8")
    a["bases.ends"] = np.append(0, np.cumsum(base_counts)).astype("<i8")


FIELDS: dict[str, tuple[Any, ...]] = {
    "complete": (False, True, 0, 1, "", "no", None, [], 0.0, {}),
    "bits": (0, -1, 63, 64, 65, 128, 2**63, 2**64 + 1, True, 1.0, "1", None, 2, 3, 8, 9),
    "version": (True, 1.0, 2, 0, "1", None),
    "format": ("tropicell-regions", "", None, 1, ["tropicell-certificate"]),
    "embedding": (0, 1, "", "x", None, True, False, []),
    "exact_witnesses": ([], None, {"0": []}, {"0": None}, {"x": ["0x1"]}, "", 0),
    "sources": ([], [0], [1], [True], [1.0], [2, 2], [-1, 1], None, {}, "1", [[1]]),
    "fingerprint": ("", "0" * 64, None, 0, []),
}
TYPES = {"complete": bool, "bits": int, "version": int, "format": str, "embedding": bool}
TYPES |= {"exact_witnesses": dict, "sources": list, "fingerprint": str}


@change
def header(file: File, rng: random.Random) -> Said:
    """One field with another value, of its type or of another one."""
    name = rng.choice(list(FIELDS))
    value = rng.choice(FIELDS[name])
    same = file.header.get(name) == value and type(file.header.get(name)) is type(value)
    file.header[name] = value
    wrong_type = type(value) is not TYPES[name]
    reason = "^header: expected" if wrong_type else None
    if name in ("version", "format") and not same and not wrong_type:
        reason = "^header: its layout"
    if name == "fingerprint" and not wrong_type:
        reason = "the fingerprint is wrong"
    return f"{name} = {value!r}", None if same else reason


@change
def incomplete(file: File, rng: random.Random) -> Said:
    """A list that is not complete: with its proofs, without them, or short of a region."""
    file.header["complete"] = rng.choice((False, 0, "", None))
    if rng.random() < 0.6:
        for name in PROOF:
            file.arrays.pop(name, None)
    if rng.random() < 0.3 and file.regions > 1:
        for name in ("words", "witnesses"):
            file.arrays[name] = file.arrays[name][:1]
    return f"complete = {file.header['complete']!r}", None


@change
def header_text(file: File, rng: random.Random) -> Said:
    """JSON that says the same, or one thing twice."""
    text = json.dumps(file.header)
    ways = {
        "a key twice": text[:-1] + ', "complete": true}',
        "another key": text[:-1] + ', "note": 1}',
        "a key first": '{"complete": false, ' + text[1:],
        "spaces": text.replace(":", " :"),
        "an order": json.dumps(dict(sorted(file.header.items()))),
        "escapes": text.replace("tropicell-c", "tropicell-\\u0063"),
        "infinity": text[:-1] + ', "bits": Infinity}',
        "a list": f"[{text}]",
        "cut": text[:-1],
    }
    way = rng.choice(list(ways))
    file.text = ways[way]
    return f"header: {way}", None if ways[way] == text else "^header: "


@change
def key_gone(file: File, rng: random.Random) -> Said:
    name = rng.choice(list(file.header))
    file.header.pop(name)
    return f"no {name}", "^header: expected"


@change
def collapsed(file: File, rng: random.Random) -> Said:
    """One region, all neurons on pieces below 0 once a shift has wrapped around."""
    if not file.proved:
        return None
    bits = rng.choice((1, 8, 16, 32, 63, 64, 65, 128, 256))
    neurons = _neurons(file)
    rows = len(file.arrays["domain.b"])
    size = file.arrays["witnesses"].shape[1]
    width = max(1, -(-neurons * bits // 64))
    fill = rng.choice((0, 2**64 - 1, 2**63, 1))
    file.header["bits"] = bits
    file.header["exact_witnesses"] = {}
    file.arrays["words"] = np.full((1, width), fill, dtype="<u8")
    file.arrays["witnesses"] = file.arrays["witnesses"][:1]
    lines = [i + 1 for i in range(rows) if file.arrays["domain.A"][i].any()]
    file.arrays["facets"] = np.array(lines, dtype=np.int8)
    file.arrays["neighbours"] = np.full(len(lines), -1, dtype=np.int8)
    file.arrays["bases"] = np.empty((0, size), dtype=np.int8)
    file.arrays["facets.ends"] = np.array([0, len(lines)], dtype="<i8")
    file.arrays["bases.ends"] = np.array([0, 0], dtype="<i8")
    return f"one region with {bits} bits", "^words: no such piece" if bits > 8 else None


def _neurons(file: File) -> int:
    """Rows of the two-dimensional floats that come in threes, or of a network without layers 0."""
    flat = [file.arrays[name] for name in file.network]
    tables = [a for a in flat if a.ndim == 2 and a.dtype == "<f8"]
    skip = 1 if file.header.get("embedding") is True else 0
    return sum(len(a) for a in tables[skip::3])


@change
def patterns(file: File, rng: random.Random) -> Said:
    """Bits of a pattern flipped: another piece, one that is not there, or a bit of no neuron."""
    words = file.arrays["words"].copy()
    if words.dtype != "<u8" or not words.size:
        return None
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.randrange(64) if rng.random() < 0.3 else rng.randrange(8)
        words.flat[rng.randrange(words.size)] ^= np.uint64(1 << place)
    file.arrays["words"] = words
    return "bits of patterns flipped", None


@change
def one_region_less(file: File, rng: random.Random) -> Said:
    """A region left out, and what led to it leads elsewhere."""
    if not file.proved or file.regions < 2:
        return None
    gone = rng.randrange(file.regions)
    if not _drop_region(file, gone, rng.choice(("drop", "domain", "self", "other")), rng):
        return None
    if rng.random() < 0.5:
        _guess_bases(file, rng)
    return "one region less", None


def _guess_bases(file: File, rng: random.Random) -> None:
    """Bases of any facets, also fewer than there are inputs, and with one of them twice."""
    counts, size = np.diff(file.arrays["facets.ends"]).tolist(), file.arrays["bases"].shape[1]
    each = 6
    found = [[rng.randrange(-1, n) for _ in range(size)] for n in counts for _ in range(each)]
    file.arrays["bases"] = np.array(found, dtype=np.int64).reshape(-1, size)
    file.arrays["bases.ends"] = np.arange(0, each * len(counts) + 1, each).astype("<i8")


@change
def guessed_bases(file: File, rng: random.Random) -> Said:
    if not file.proved:
        return None
    _guess_bases(file, rng)
    return "other bases", None


@change
def flipped_neuron(file: File, rng: random.Random) -> Said:
    """One neuron on another piece in all regions; if it is constant, nothing else changes."""
    words, bits = file.arrays["words"], file.header["bits"]
    if words.dtype != "<u8" or type(bits) is not int or not 1 <= bits <= 8 or not _neurons(file):
        return None
    bit = rng.randrange(_neurons(file)) * bits + rng.randrange(bits)
    words = words.copy()
    words[:, bit // 64] ^= np.uint64(1 << bit % 64)
    file.arrays["words"] = words
    return "a neuron flipped everywhere", None


def _drop_region(file: File, gone: int, way: str, rng: random.Random) -> bool:
    a = file.arrays
    count = file.regions
    counts = np.diff(a["facets.ends"])
    if len(counts) != count or counts.sum() != len(a["neighbours"]) or len(counts) < 2:
        return False
    owner = np.repeat(np.arange(count), counts)
    behind = a["neighbours"].astype(np.int64)
    lost = behind == gone
    behind = np.where(behind > gone, behind - 1, behind)
    if way == "domain":
        behind[lost] = -1
    if way == "self":
        behind[lost] = owner[lost] - (owner[lost] > gone)
    if way == "other":
        behind[lost] = rng.randrange(count - 1)
    a["neighbours"] = behind
    if way == "drop":
        _keep_facets(file, ~lost | (owner == gone))
    _take_regions(file, [i for i in range(count) if i != gone], links=False)
    return True


def _take_regions(file: File, rows: list[int], *, links: bool = True) -> None:
    """Some regions, in some order, with their proofs; with `links` these follow them."""
    a = file.arrays
    number = {old: new for new, old in enumerate(rows)}
    a["words"], a["witnesses"] = a["words"][rows], a["witnesses"][rows]
    exact = file.header.get("exact_witnesses")
    if isinstance(exact, dict):
        file.header["exact_witnesses"] = {
            str(number[int(k)]): v for k, v in exact.items() if k.isdigit() and int(k) in number
        }
    if links:
        behind = a["neighbours"].tolist()
        a["neighbours"] = np.array([number.get(x, -1) for x in behind], dtype=np.int64)
    for name, others in (("facets", ("facets", "neighbours")), ("bases", ("bases",))):
        ends = a[f"{name}.ends"].tolist()
        every = range(len(a[name]))
        places = [list(every[ends[i] : ends[i + 1]]) for i in rows]
        for other in others:
            a[other] = a[other][[k for part in places for k in part]]
        a[f"{name}.ends"] = np.append(0, np.cumsum([len(p) for p in places])).astype("<i8")


@change
def repeated_region(file: File, rng: random.Random) -> Said:
    if not file.proved:
        return None
    rows = [*range(file.regions), rng.randrange(file.regions)]
    _take_regions(file, rows, links=False)
    return "a region twice", "^words: no regions, or one twice"


@change
def reordered(file: File, rng: random.Random) -> Said:
    """All regions in another order: still true, if the links follow."""
    if not file.proved:
        return None
    rows = list(range(file.regions))
    rng.shuffle(rows)
    _take_regions(file, rows, links=rng.random() < 0.5)
    return "regions in another order", None


@change
def merged(file: File, rng: random.Random) -> Said:
    """Facets between regions left out, as if two were one."""
    if not file.proved:
        return None
    lines = file.arrays["facets"]
    if rng.random() < 0.5:
        kept = np.array([rng.random() < 0.7 for _ in lines], dtype=bool)
    else:
        line = rng.choice(lines.tolist() or [0])
        kept = lines != line
    _keep_facets(file, kept)
    return "facets left out", None


@change
def links(file: File, rng: random.Random) -> Said:
    """Neighbours that are others, oneself, the domain's, or none."""
    if not file.proved or not len(file.arrays["neighbours"]):
        return None
    behind = file.arrays["neighbours"].astype(np.int64)
    at, count = rng.randrange(len(behind)), file.regions
    new = rng.choice((-1, -2, 0, count - 1, count, -count, rng.randrange(count), 2**40, -(2**63)))
    domain_line = file.arrays["facets"][at] <= len(file.arrays["domain.b"])
    same = behind[at] == new
    behind[at] = new
    file.arrays["neighbours"] = behind
    wrong = new != -1 if domain_line else not 0 <= new < count
    reason = "^neighbours: there is no such region" if wrong and not same else None
    return f"neighbour {new}", reason


@change
def lines(file: File, rng: random.Random) -> Said:
    if not file.proved or not len(file.arrays["facets"]):
        return None
    facets = file.arrays["facets"].astype(np.int64)
    at = rng.randrange(len(facets))
    facets[at] = rng.choice((0, -1, 1, int(facets[at]) + 1, int(facets[at]) - 1, 99, 2**31, -128))
    file.arrays["facets"] = facets
    reason = "^facets: there is no such line" if not 1 <= facets[at] < 99 else None
    return f"line {facets[at]}", reason


@change
def bases(file: File, rng: random.Random) -> Said:
    if not file.proved or not file.arrays["bases"].size:
        return None
    found = file.arrays["bases"].astype(np.int64)
    at = rng.randrange(found.size)
    new = rng.choice((-1, 0, 1, 2, -2, 99, -(2**62), rng.randrange(8)))
    found.flat[at] = new
    file.arrays["bases"] = found
    return f"basis {new}", "bases: there is no such facet" if new < -1 or new > 50 else None


@change
def ends(file: File, rng: random.Random) -> Said:
    """Parts of regions that begin or end elsewhere."""
    if not file.proved:
        return None
    name = rng.choice(PROOF[3:])
    found = file.arrays[name].copy()
    at = rng.randrange(len(found))
    new = rng.choice((-1, 0, 1, int(found[at]) + 1, int(found[at]) - 1, 10**6, -(2**63), 2**62))
    same = found[at] == new
    found[at] = new
    file.arrays[name] = found
    fine = same or (0 < at < len(found) - 1 and found[at - 1] <= new <= found[at + 1])
    return f"{name} {new}", None if fine else _place(name) + "no order"


@change
def witnesses(file: File, rng: random.Random) -> Said:
    points = file.arrays["witnesses"].copy()
    if points.dtype != "<f8" or not points.size:
        return None
    at = rng.randrange(points.size)
    way = rng.randrange(4)
    if way == 0:
        points.flat[at] = rng.choice((np.nan, np.inf, -np.inf))
        file.arrays["witnesses"] = points
        return "a witness that is none", "^witnesses: cannot convert"
    if way == 1:
        points = points[::-1].copy()
    elif way == 2:
        points.flat[at] += rng.choice((1.0, -1.0, 1e-3, 100.0, 2.0**-60))
    else:
        points[at // points.shape[1]] = 0.0
    file.arrays["witnesses"] = points
    return f"witnesses {way}", None


@change
def exact_witnesses(file: File, rng: random.Random) -> Said:
    """Rational points: of other regions, or not written as they must be."""
    size = file.arrays["witnesses"].shape[1]
    point = [hex(rng.randrange(-3, 4)) for _ in range(size)] + [hex(rng.randrange(1, 5))]
    key = str(rng.randrange(file.regions or 1))
    wrong = (
        ("-0x0", 0), ("0X1", 0), ("0x01", 0), (" 0x1", 0), ("1", 0), ("0xF", 0), ("0x1_0", 0),
        ("+0x1", 0), (1, 0), (None, 0), ("0x0", -1), ("-0x1", -1), ("nan", 0), ("", -1),
    )  # fmt: skip
    reason = None
    way = rng.randrange(5)
    if way == 0:
        text, at = rng.choice(wrong)
        point[at] = text  # type: ignore[call-overload]
        reason = "exact_witnesses|int\\(\\)|invalid literal"
    elif way == 1:
        point = rng.choice((point[:-1], [*point, "0x1"], []))
        reason = "exact_witnesses|index"
    elif way == 2:
        key = rng.choice((f"0{key}", f" {key}", f"+{key}", "-1", str(file.regions), "x", "", "٠"))
        reason = "exact_witnesses"
    file.header["exact_witnesses"] = {**_dict(file.header.get("exact_witnesses")), key: point}
    return f"exact witness {key}: {point}", reason


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


@change
def numbers(file: File, rng: random.Random) -> Said:
    """One number somewhere in the network is another one."""
    names = [name for name in file.network if file.arrays[name].size]
    if not names:
        return None
    name = rng.choice(names)
    array = file.arrays[name].copy()
    if array.dtype.str not in ("<f8", "<i8"):
        return None
    at = rng.randrange(array.size)
    if array.dtype == "<f8":
        new: Any = rng.choice(
            (0.0, -0.0, 1.0, -1.0, 2.0, np.nan, np.inf, -np.inf, 5e-324, 1e308, 0.1, -array.flat[at])
        )
    else:
        old = int(array.flat[at])
        new = rng.choice((old + 1, old - 1, 0, -1, 1, 2, 2**40, -(2**63), 2**63 - 1))
        new = min(new, 2**63 - 1)
    array.flat[at] = new
    file.arrays[name] = array
    return f"{name} has {new}", None


@change
def functions(file: File, rng: random.Random) -> Said:
    """Activations: their breakpoints, slopes and intercepts in rows."""
    names = [n for n in file.network if file.arrays[n].ndim == 2 and file.arrays[n].dtype == "<f8"]
    names = names[1:] if file.header.get("embedding") is True else names
    if len(names) < 3:
        return None
    first = rng.randrange(len(names) // 3) * 3
    t, s, c = (file.arrays[name].copy() for name in names[first : first + 3])
    way = rng.randrange(6)
    row = rng.randrange(len(t))
    if way == 0 and t.shape[1]:
        t[row] = t[row][::-1]
    elif way == 1 and t.shape[1]:
        t[row, rng.randrange(t.shape[1])] = rng.choice((np.inf, np.nan, -np.inf, 0.0, 1.0))
    elif way == 2:
        s[row, rng.randrange(s.shape[1])] = rng.choice((0.0, 1.0, -1.0, 0.5, np.nan))
    elif way == 3:
        c[row, rng.randrange(c.shape[1])] = rng.choice((0.0, 1.0, -1.0, np.inf))
    elif way == 4:  # padding
        t = np.column_stack([t, np.full(len(t), rng.choice((np.inf, 7.0, np.nan)))])
        s, c = np.column_stack([s, s[:, -1]]), np.column_stack([c, c[:, -1]])
    else:
        s[row] = 1.0
    for name, array in zip(names[first : first + 3], (t, s, c), strict=True):
        file.arrays[name] = array
    return f"activation {way}", None


@change
def entries(file: File, rng: random.Random) -> Said:
    """Where the entries of a matrix are, and how many."""
    names = [n for n in file.network if file.arrays[n].ndim == 2 and file.arrays[n].dtype == "<i8"]
    names = [n for n in names if file.arrays[n].size]
    if not names:
        return None
    name = rng.choice(names)
    behind = f"network.{int(name.split('.')[1]) + 1}"
    at, values = file.arrays[name].copy(), file.arrays[behind].copy()
    if values.shape != at.shape[1:]:
        return None
    k, reason = rng.randrange(at.shape[1]), None
    way = rng.randrange(5)
    if way == 0:
        at[:, k] = at[:, rng.randrange(at.shape[1])]
    elif way == 1:
        at[rng.randrange(2), k] = rng.choice((-1, 99, -(2**63), 2**62))
        reason = _place(name) + "invalid entry"
    elif way == 2:
        order = list(range(at.shape[1]))
        rng.shuffle(order)
        at, values = at[:, order], values[order]
    elif way == 3:
        at, values = np.delete(at, k, axis=1), np.delete(values, k)
    else:
        at, values = np.insert(at, k, at[:, k], axis=1), np.insert(values, k, 1.0)
        reason = _place(name) + "entries are not in order"
    file.arrays[name], file.arrays[behind] = at, values
    return f"entries of a matrix {way}", reason


@change
def swapped(file: File, rng: random.Random) -> Said:
    """Two arrays in each other's place."""
    first, second = rng.sample(list(file.arrays), 2)
    a = file.arrays
    a[first], a[second] = a[second], a[first]
    return f"{first} and {second} swapped", None


@change
def spliced(file: File, rng: random.Random) -> Said:
    """Parts of another certificate."""
    other = _opened(rng.choice(list(seeds())))
    parts: list[tuple[str, ...]] = [
        ("words", "witnesses"), PROOF, ("words", "witnesses", *PROOF), ("domain.A", "domain.b"),
        tuple(other.network), ("words",), ("witnesses",), ("domain.b",), ("facets",), ("bases",),
    ]  # fmt: skip
    chosen = rng.choice(parts)
    if chosen == tuple(other.network):
        for name in file.network:
            del file.arrays[name]
        for name in ("sources", "embedding", "fingerprint"):
            if rng.random() < 0.8:
                file.header[name] = other.header[name]
    for name in chosen:
        if name in other.arrays:
            file.arrays[name] = other.arrays[name]
    return f"{', '.join(chosen[:3])} of another file", None


@change
def doubled(file: File, rng: random.Random) -> Said:
    """A member of the archive twice, the same or not; the order may be any."""
    name = rng.choice(["header", *file.arrays])
    array = file.arrays.get(name, np.array(json.dumps(file.header)))
    if rng.random() < 0.5 and array.dtype.kind in "fiu":
        array = array[:0] if rng.random() < 0.3 else array + array.dtype.type(1)
    elif rng.random() < 0.5 and name == "header":
        array = np.array(json.dumps({**file.header, "complete": False}))
    file.members.append((f"{name}.npy", serialised(array)))
    return f"{name} twice", "^file: .*: not one array"


@change
def strangers(file: File, rng: random.Random) -> Said:
    """Members that do not belong there."""
    names = ("extra.npy", "network.99.npy", "network.00.npy", "words", "header", "readme.txt",
             "facets.npy.npy", "../words.npy", "domain.C.npy", "network.-1.npy", "Words.npy")  # fmt: skip
    name = rng.choice(names)
    data = serialised(np.zeros(rng.randrange(3))) if rng.random() < 0.7 else b"text"
    file.members.append((name, data))
    readable = data != b"text"
    return f"{name} added", "and then, not expected" if readable else "^file: "


@change
def missing(file: File, rng: random.Random) -> Said:
    name = rng.choice(list(file.arrays))
    del file.arrays[name]
    return f"no {name}", None if name.startswith("network.") else _place(name)


@change
def tails(file: File, rng: random.Random) -> Said:
    """Bytes behind an array."""
    name = rng.choice(list(file.arrays))
    file.tails[name] = rng.choice((b"\0", b"\0" * 8, serialised(np.zeros(1))))
    return f"bytes behind {name}", "^file: .*: not one array"


@change
def packing(file: File, rng: random.Random) -> Said:
    """The same file, compressed or in another order."""
    file.shuffle = rng.randrange(1000)
    file.packing = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    return "packed in another way", None


@cache
def _parsed(name: str) -> File:
    file = opened(seeds()[name])
    for array in file.arrays.values():
        array.setflags(write=False)
        _SERIALISED[id(array)] = serialised(array)
    return file


def _opened(name: str) -> File:
    file = _parsed(name)
    return File(copy.deepcopy(file.header), dict(file.arrays))


@dataclass(frozen=True)
class Case:
    """A file, what was done to it, and why it must be refused if that is known."""

    seed: str
    changes: tuple[str, ...]
    reason: str | None
    content: bytes


def case(number: int) -> Case:
    """The file of this number."""
    rng = random.Random(f"attack {number}")
    seed = rng.choice(list(seeds()))
    file = _opened(seed)
    wanted = rng.choice((1, 1, 1, 2, 2, 3, 4))
    said: list[tuple[str, str | None]] = []
    for _ in range(40):
        if len(said) == wanted:
            break
        try:
            with warnings.catch_warnings():  # of numbers that do not fit
                warnings.simplefilter("ignore")
                done = rng.choice(CHANGES)(file, rng)
        except (IndexError, ValueError, KeyError, TypeError, OverflowError):
            done = ("half a change", None)  # of what an earlier one left in no fit state
        if done is not None:
            said.append(done)
    reason = said[0][1] if len(said) == 1 else None
    if rng.random() < 0.6 and not any("fingerprint" in text for text, _ in said):
        file.sign()
    return Case(seed, tuple(text for text, _ in said), reason, file.content())
