"""Attacks on the form of a certificate: types, bytes, the header, the archive."""

from __future__ import annotations

import copy
import json
import random
import re
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.certificates import (
    PROOF,
    SIGNED,
    File,
    fresh,
    network_of,
    opened,
    parsed,
    seeds,
    serialised,
)
from tropicell import Polytope, WholeSpace, enumerate_regions
from tropicell.errors import TropicellError
from tropicell.network.quotient import Quotient

#: A change says what it did, and perhaps for which reason (an expression) it must be refused.
Said = tuple[str, str | None] | None


def _kinds(name: str) -> tuple[str, ...]:
    """What the checker takes."""
    return SIGNED if name in PROOF[:3] else ()


def place_of(name: str) -> str:
    return f"^{re.escape(name)}: "


def types(file: File, rng: random.Random) -> Said:
    """The same numbers, more or less, in another type."""
    name = rng.choice(list(file.arrays))
    kind = rng.choice(("<f4", "<f8", ">f8", "<f2", "<i8", ">i8", "<u8", "|u1", "|i1", "<c16", "?"))
    old = file.arrays[name]
    with np.errstate(all="ignore"):
        file.arrays[name] = old.astype(kind)
    same = file.arrays[name].dtype == old.dtype or np.dtype(kind).str in _kinds(name)
    return f"{name} as {kind}", None if same else place_of(name) + "it is "


def reinterpreted(file: File, rng: random.Random) -> Said:
    """The same bytes in another type: the fingerprint stays what it is."""
    wide = [name for name, array in file.arrays.items() if array.dtype.itemsize == 8]
    name = rng.choice([*file.network, *wide])
    kind = rng.choice(("<f8", ">f8", "<i8", ">i8", "<u8", ">u8", "<M8[s]", "<m8[ns]", "<c8", "|V8"))
    old = file.arrays[name]
    file.arrays[name] = np.ascontiguousarray(old).view(kind)
    same = file.arrays[name].dtype == old.dtype or np.dtype(kind).str in _kinds(name)
    return f"{name} seen as {kind}", None if same else place_of(name)


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
    old = parsed(seed)
    new = fresh(seed)
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


def forged(file: File, rng: random.Random) -> Said:
    """The whole proof for other numbers: those that the bytes are in another type."""
    seed = rng.choice([name for name in seeds() if "not complete" not in name])
    old = parsed(seed)
    names = [n for n in old.network if old.arrays[n].ndim == 1 and old.arrays[n].dtype == "<f8"]
    name = rng.choice([*names, "domain.A"])
    kind = rng.choice(("|u1", "<u2", "<u8") if name == "domain.A" else (">f8", "<i8", ">i8"))
    new = _forgery(seed, name, kind)
    if new is None:
        return None
    file.header, file.arrays = copy.deepcopy(new.header), dict(new.arrays)
    return f"{name} forged as {kind}", place_of(name) + "it is "


@cache
def _narrow(seed: str, kept: tuple[int, ...]) -> File | None:
    """A seed with the whole proof for some inputs alone, as if the others did not matter."""
    old = parsed(seed)
    network, rows = network_of(old.arrays), old.arrays["domain.A"]
    domain = Polytope(rows, old.arrays["domain.b"]) if len(rows) else WholeSpace()
    narrow = Quotient(network, domain, np.array(kept))
    try:
        regions = enumerate_regions(narrow.network, narrow.domain, engine="traverse")
        with tempfile.TemporaryDirectory() as folder:
            regions.certify().save(Path(folder) / "proof.npz")
            new = opened((Path(folder) / "proof.npz").read_bytes())
    except TropicellError:  # the domain has no interior there
        return None
    whole = {name: old.arrays[name] for name in (*old.network, "domain.A", "domain.b")}
    others = {k: v for k, v in new.arrays.items() if k not in (*new.network, *whole)}
    header = new.header | {"fingerprint": old.header["fingerprint"]}
    return File(header, {**whole, "inputs": np.array(kept, "<i8"), **others})


def too_few_inputs(file: File, rng: random.Random) -> Said:
    """The whole proof for some inputs, which may or may not be enough."""
    wide = [name for name in seeds() if parsed(name).arrays["network.0"][1] > 1]
    seed = rng.choice([name for name in wide if parsed(name).header["embedding"] is False])
    n = int(parsed(seed).arrays["network.0"][1])
    kept = tuple(sorted(rng.sample(range(n), rng.randint(1, n))))
    new = _narrow(seed, kept)
    if new is None:
        return None
    file.header, file.arrays = copy.deepcopy(new.header), dict(new.arrays)
    return f"inputs {kept} as all that matter", None


def swapped_bytes(file: File, rng: random.Random) -> Said:
    """The same numbers with their bytes in the other order."""
    names = [name for name, array in file.arrays.items() if array.dtype.itemsize > 1]
    name = rng.choice(names)
    file.arrays[name] = file.arrays[name].astype(file.arrays[name].dtype.newbyteorder(">"))
    return f"{name} with swapped bytes", place_of(name) + "it is "


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


def unsigned_domain(file: File, rng: random.Random) -> Said:
    """Unsigned numbers wrap around where they are negated."""
    names = rng.choice((["domain.A"], ["domain.b"], ["domain.A", "domain.b"]))
    for name in names:
        file.arrays[name] = np.abs(file.arrays[name]).astype(rng.choice(("|u1", "<u2", "<u8")))
    return "an unsigned domain", place_of(names[0]) + "it is "


FIELDS: dict[str, tuple[Any, ...]] = {
    "complete": (False, True, 0, 1, "", "no", None, [], 0.0, {}),
    "bits": (0, -1, 63, 64, 65, 128, 2**63, 2**64 + 1, True, 1.0, "1", None, 2, 3, 8, 9),
    "version": (True, 1.0, 2.0, 1, 2, 3, 0, "1", None),
    "format": ("tropicell-regions", "", None, 1, ["tropicell-certificate"]),
    "embedding": (0, 1, "", "x", None, True, False, []),
    "exact_witnesses": ([], None, {"0": []}, {"0": None}, {"x": ["0x1"]}, "", 0),
    "sources": ([], [0], [1], [True], [1.0], [2, 2], [-1, 1], None, {}, "1", [[1]]),
    "fingerprint": ("", "0" * 64, None, 0, []),
}

TYPES = {"complete": bool, "bits": int, "version": int, "format": str, "embedding": bool}
TYPES |= {"exact_witnesses": dict, "sources": list, "fingerprint": str}


def header(file: File, rng: random.Random) -> Said:
    """One field with another value, of its type or of another one."""
    name = rng.choice(list(FIELDS))
    value = rng.choice(FIELDS[name])
    same = file.header.get(name) == value and type(file.header.get(name)) is type(value)
    file.header[name] = value
    wrong_type = type(value) is not TYPES[name]
    reason = "^header: expected" if wrong_type else None
    if name in ("version", "format") and value not in (1, 2) and not wrong_type:
        reason = "^header: its layout"
    if name == "fingerprint" and not wrong_type:
        reason = "the fingerprint is wrong"
    return f"{name} = {value!r}", None if same else reason


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


def key_gone(file: File, rng: random.Random) -> Said:
    name = rng.choice(list(file.header))
    file.header.pop(name)
    return f"no {name}", "^header: expected"


def swapped(file: File, rng: random.Random) -> Said:
    """Two arrays in each other's place."""
    first, second = rng.sample(list(file.arrays), 2)
    a = file.arrays
    a[first], a[second] = a[second], a[first]
    return f"{first} and {second} swapped", None


def spliced(file: File, rng: random.Random) -> Said:
    """Parts of another certificate."""
    other = fresh(rng.choice(list(seeds())))
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


def strangers(file: File, rng: random.Random) -> Said:
    """Members that do not belong there."""
    names = (
        "extra.npy", "network.99.npy", "network.00.npy", "words", "header", "readme.txt",
        "facets.npy.npy", "../words.npy", "domain.C.npy", "network.-1.npy", "Words.npy",
    )  # fmt: skip
    name = rng.choice(names)
    data = serialised(np.zeros(rng.randrange(3))) if rng.random() < 0.7 else b"text"
    file.members.append((name, data))
    readable = data != b"text"
    return f"{name} added", "and then, not expected" if readable else "^file: "


def missing(file: File, rng: random.Random) -> Said:
    name = rng.choice(list(file.arrays))
    del file.arrays[name]
    if name == "witnesses":  # the number of inputs is compared with it, before all else
        return f"no {name}", "witnesses"
    if name == "inputs":  # without it, all inputs are meant, and the points have too few
        return f"no {name}", "witnesses"
    return f"no {name}", None if name.startswith("network.") else place_of(name)


def tails(file: File, rng: random.Random) -> Said:
    """Bytes behind an array."""
    name = rng.choice(list(file.arrays))
    file.tails[name] = rng.choice((b"\0", b"\0" * 8, serialised(np.zeros(1))))
    return f"bytes behind {name}", "^file: .*: not one array"


def packing(file: File, rng: random.Random) -> Said:
    """The same file, compressed or in another order."""
    file.shuffle = rng.randrange(1000)
    file.packing = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    return "packed in another way", None
