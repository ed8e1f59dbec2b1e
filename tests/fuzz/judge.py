"""Whether a certificate that a checker accepted is true, without a line of the checker.

Everything is read here once more: numbers of the network by the types that its fingerprint stands
for, whatever type the file gives them; patterns as whole numbers of any size. The regions of that
network come from Algorithm 2 in exact arithmetic (`tropicell.paper.algorithm2`).
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import runpy
import sys
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from fuzz.attacks import Case
from fuzz.certificates import Untrue, network_of
from tropicell import Network, Polytope, WholeSpace
from tropicell.errors import InvalidDomainError
from tropicell.paper.algorithm2 import traverse

SIGNED = ("|i1", "<i2", "<i4", "<i8")
KINDS = {"domain.A": ("<f8",), "domain.b": ("<f8",), "words": ("<u8",), "witnesses": ("<f8",)}
PROOFS = {"facets": SIGNED, "neighbours": SIGNED, "bases": SIGNED}
PROOFS |= {"facets.ends": ("<i8",), "bases.ends": ("<i8",)}
TREE = {"bases": SIGNED, "bases.counts": SIGNED}
TYPES = {"format": str, "version": int, "fingerprint": str, "sources": list, "embedding": bool}
TYPES |= {"bits": int, "complete": bool, "exact_witnesses": dict}


class Loose(Exception):  # noqa: N818 - not an error of a program
    """It may be true, but the file is not of the one form that a certificate has."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    `verdict` is "refused", "true" (accepted, rightly), or what went wrong: "false", "loose",
    "reason" (refused, but for another reason than the one stated).
    """

    verdict: str
    said: str


def judge(case: Case, checker: ModuleType, path: Path) -> Outcome:
    """Let a checker look at a case, and look at what it says."""
    path.unlink(missing_ok=True)  # to cut a file that is there can take longer than all the rest
    path.write_bytes(case.content)
    try:
        proved = checker.verify(str(path))
    except checker.RejectedError as error:
        said = str(error)
        if case.reason is not None and not re.search(case.reason, said):
            return Outcome("reason", f"{said!r}, expected {case.reason!r}")
        return Outcome("refused", said)
    try:
        check_truth(case.content, proved, *_run(checker, path))
    except Untrue as error:
        return Outcome("false", str(error))
    except Loose as error:
        return Outcome("loose", str(error))
    except Exception as error:  # accepted, but nobody can say what it claims
        return Outcome("false", f"it can't be read: {error!r}")
    if case.reason is not None:
        return Outcome("reason", f"accepted, expected {case.reason!r}")
    return Outcome("true", f"{proved['regions']} regions")


def _run(checker: ModuleType, path: Path) -> tuple[int, str]:
    """Exit status and first line of the checker as a program."""
    printed, arguments = io.StringIO(), sys.argv
    sys.argv = [str(checker.__file__), str(path)]
    status: Any = 0
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(checker.__file__), run_name="__main__")
    except SystemExit as end:
        status = end.code
    finally:
        sys.argv = arguments
    status = 0 if status is None else status if isinstance(status, int) else 1
    return status, printed.getvalue().splitlines()[0]


def check_truth(content: bytes, proved: dict[str, Any], status: int, words: str) -> None:
    """Raise `Untrue` or `Loose` unless an accepted file deserves it, in all that was said."""
    header, arrays, loose = _parts(content)
    complete = header["complete"]
    if status == 0 and (complete is not True or not words.startswith("proved")):
        raise Untrue(f"complete is {complete!r}, but the exit status is 0 and it says {words!r}")
    if status != 0 and (complete is True or "not complete" not in words):
        raise Untrue(f"complete is {complete!r}, the exit status {status} with {words!r}")
    network = network_of(arrays)
    if _digest(arrays) != header["fingerprint"]:
        raise Untrue("the fingerprint of another network")
    a, b = arrays["domain.A"], arrays["domain.b"]
    rows = [[-_exact(x) for x in row] + [_exact(c)] for row, c in zip(a, b, strict=True)]
    if str([[str(x) for x in row] for row in proved["domain"]]) != str(
        [[str(x) for x in row] for row in rows]
    ):
        raise Untrue("the domain that it names is not the file's")
    bits, size = header["bits"], network.n_neurons
    codes = [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in arrays["words"]]
    claimed = [tuple(c >> bits * k & (1 << bits) - 1 for k in range(size)) for c in codes]
    if any(code >> bits * size for code in codes):
        loose.append("bits of no neuron are set")
    if (proved["regions"], proved["fingerprint"]) != (len(claimed), header["fingerprint"]):
        raise Untrue("other regions, or another network, than the file's")
    true = _truth(_key(network), a.astype(np.float64).tobytes(), b.astype(np.float64).tobytes())
    if len(set(claimed)) != len(claimed) or not claimed:
        raise Untrue("a region is there twice, or there is none")
    if not set(claimed) <= true:
        raise Untrue(f"{len(set(claimed) - true)} of {len(claimed)} are no regions")
    if complete is True and set(claimed) != true:
        raise Untrue(f"{len(claimed)} regions as all, there are {len(true)}")
    if loose:
        raise Loose("; ".join(loose))


def _digest(arrays: dict[str, Any]) -> str:
    """What the fingerprint must be: of the arrays' shapes and bytes."""
    digest = hashlib.sha256(b"tropicell-network-1")
    for i in range(len(arrays)):
        part = arrays.get(f"network.{i}")
        if part is not None:
            digest.update(np.array([part.ndim, *part.shape], dtype="<i8").tobytes())
            digest.update(part.tobytes())
    return digest.hexdigest()


def _exact(value: Any) -> Any:
    from flint import fmpq

    return fmpq(*float(value).as_integer_ratio())


def _parts(content: bytes) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Header and arrays, and what is not as it must be in their form."""
    loose: list[str] = []
    arrays: dict[str, Any] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            name, dot, suffix = info.filename.rpartition(".")
            if (dot, suffix) != (".", "npy") or name in arrays:
                loose.append(f"member {info.filename}")
            with archive.open(info) as stream:
                try:
                    arrays[name] = np.lib.format.read_array(stream)
                except ValueError as error:
                    loose.append(f"{name}: {error}")
                    continue
                if stream.read(1):
                    loose.append(f"bytes behind {name}")
    text = str(arrays.pop("header"))
    pairs: list[str] = []
    header = json.loads(text, object_pairs_hook=lambda p: pairs.extend(k for k, _ in p) or dict(p))
    if len(pairs) != len(set(pairs)) or json.dumps(header) != text:
        loose.append("header")
    if {key: type(value) for key, value in header.items()} != TYPES:
        loose.append("types in the header")
    proofs = TREE if header["version"] == 2 else PROOFS
    kinds = KINDS | (proofs if header["complete"] is True else {})
    if "inputs" in arrays and header["embedding"] is False:
        kinds = {**kinds, "inputs": ("<i8",)}
        named = arrays["inputs"].tolist()
        if named != sorted({x for x in named if 0 <= x < arrays["network.0"][1]}):
            loose.append(f"inputs {named}")
    count = len([name for name in arrays if name.startswith("network.")])
    expected = {*kinds, *(f"network.{i}" for i in range(count))}
    if set(arrays) != expected:
        loose.append(f"arrays {set(arrays) ^ expected}")
    for name, allowed in kinds.items():
        if name in arrays and arrays[name].dtype.str not in allowed:
            loose.append(f"{name} is {arrays[name].dtype}")
    return header, arrays, loose


_NETWORKS: dict[bytes, Network] = {}


def _key(network: Network) -> bytes:
    from tropicell.network.fingerprint import fingerprint_arrays

    parts = [np.array(a.shape).tobytes() + a.tobytes() for a in fingerprint_arrays(network)]
    key = b"|".join(parts)
    if len(_NETWORKS) > 2000:
        _NETWORKS.clear()
    _NETWORKS[key] = network
    return key


@lru_cache(maxsize=2000)
def _truth(network: bytes, a: bytes, b: bytes) -> frozenset[tuple[int, ...]]:
    """The patterns of all regions."""
    known = _NETWORKS[network]
    rows = np.frombuffer(a).reshape(-1, known.n_inputs)
    domain = Polytope(rows, np.frombuffer(b)) if len(rows) else WholeSpace()
    try:
        return frozenset(tuple(pattern.tolist()) for pattern, _ in traverse(known, domain))
    except InvalidDomainError:
        return frozenset()
