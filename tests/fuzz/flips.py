"""Single bits that flip in files with checksums: the content stays the same, or it is refused."""

from __future__ import annotations

import copy
import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import tropicell
from fuzz.seeds import LOADERS, general, perceptron, suffix_of, write_seeds
from tropicell import (
    Box,
    CachedPredictor,
    Network,
    Regions,
    Slice,
    TropicellError,
    enumerate_regions,
)

Answers = list[Any]


def answers_of(result: Any) -> Answers:
    """What is asked of whatever a loader gives."""
    if isinstance(result, Network):
        with np.errstate(all="ignore"):
            values = result(np.ones((3, result.n_inputs)))
        return [result.fingerprint, repr(result), values]
    if isinstance(result, Regions):
        return _regions(result)
    if isinstance(result, CachedPredictor):
        points = np.random.default_rng(5).normal(size=(200, result.network.n_inputs))
        asked = copy.deepcopy(result)  # it learns from what it is asked
        return [result.max_bytes, result.policy, *result.columns(), asked.predict(points)]
    if isinstance(result, Slice):
        return [result.origin, result.directions, repr(result.inside)]
    return [result]


def _regions(regions: Regions) -> Answers:
    columns = [regions.packed.words, np.asarray(regions.witnesses), regions.bounded]
    columns += [regions.volumes, regions.corners.values, regions.corners.ends]
    columns += [regions.facet_lines.values, regions.facet_lines.ends]
    about = [regions.network.fingerprint, repr(regions.domain), regions.complete, regions.stats]
    return [*about, *columns]


#: Formats with checksums: the loader's name among `LOADERS`, and how a file is made.
CHECKED: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "networks": ("npz", lambda path: tropicell.save(general(), path)),
    "networks (safetensors)": ("safetensors", lambda path: tropicell.save(general(), path)),
    "regions": (
        "regions",
        lambda path: enumerate_regions(perceptron(2, 12, 8, 1), Box(-1, 1)).save(path),
    ),
    "mapped regions": (
        "mapped regions",
        lambda path: enumerate_regions(perceptron(2, 40, 30, 1, seed=1)).save(path),
    ),
    "predictor caches": ("cache", lambda path: _seed("cache", path)),
    "slices": ("slice", lambda path: _seed("slice", path)),
    "points": ("points", lambda path: _seed("points", path)),
    "results of the lab": ("lab", lambda path: _seed("lab", path)),
}


def _seed(kind: str, path: Path) -> None:
    """The first file of those that are damaged by the fuzzer."""
    path.write_bytes(write_seeds(path.parent / "seeds", [kind])[kind][0])


def digest(answers: Answers) -> str:
    """What tells one list of answers from another, bit for bit."""
    found = hashlib.sha256()
    for answer in answers:
        if isinstance(answer, np.ndarray):
            found.update(f"{answer.dtype}{answer.shape}".encode())
            found.update(np.ascontiguousarray(answer).tobytes())
        elif isinstance(answer, dict):
            parts = [part for pair in sorted(answer.items()) for part in pair]
            found.update(digest(parts).encode())
        else:
            found.update(repr(answer).encode())
    return found.hexdigest()


def flip(
    kind: str, folder: Path, bits: int | None, seed: int = 0
) -> tuple[Counter[str], list[str]]:
    """Flip single bits of a file, so many at random or all of them; outcomes, and what was wrong.

    The outcomes are "same" and "refused"; all others are troubles.
    """
    loader, make = CHECKED[kind]
    suffix = suffix_of(loader)

    def ask(path: Path) -> Answers:
        return answers_of(LOADERS[loader](path))

    whole, path = folder / f"whole{suffix}", folder / f"flipped{suffix}"
    make(whole)
    content = whole.read_bytes()
    expected = digest(ask(whole))
    size = 8 * len(content)
    chosen: Iterable[int] = (
        range(size)
        if bits is None
        else random.Random(f"{kind} {seed}").choices(range(size), k=bits)
    )
    outcomes: Counter[str] = Counter()
    troubles = []
    for bit in chosen:
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.unlink(missing_ok=True)  # a mapped file may still be in use
        path.write_bytes(damaged)
        outcome, trouble = _outcome(ask, path, expected)
        outcomes[outcome] += 1
        if trouble:
            troubles.append(f"bit {bit} of {size}: {trouble}")
    return outcomes, troubles


def _outcome(ask: Callable[[Path], Answers], path: Path, expected: str) -> tuple[str, str]:
    try:
        same = digest(ask(path)) == expected
    except TropicellError as error:
        named = path.name in str(error)
        return ("refused", "") if named else ("names no file", str(error))
    except Exception as error:
        return "another error", f"{type(error).__name__}: {error}"
    return ("same", "") if same else ("wrong", "other content")
