"""Runs cases of one format in a process of its own; started by `benchmarks/fuzz.py` and the tests.

    python worker.py FOLDER KIND FIRST LAST

Before each case its number is printed, after it one letter: ``n`` for a network or regions, ``e``
for an error as it should be, or ``x`` with what was wrong (as JSON). So whoever reads this knows
which case a crash or a hang belongs to. Case i of a format is always the same.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from fuzz import flips, folders
from fuzz.guard import Guard, limit_memory
from fuzz.mutations import mutate, mutates_bytes
from fuzz.seeds import LOADERS, cached, suffix_of
from tropicell import CachedPredictor, Network, Regions, Slice, TropicellError
from tropicell.predict.cached import POLICIES
from tropicell.verify_certificate import RejectedError

#: A case that takes longer than this is reported, in seconds of processor time.
SLOW = 20.0


#: Formats in which damage of single bytes may not change what is loaded: they have checksums.
CHECKED = {loader for loader, _ in flips.CHECKED.values()}


def case(kind: str, number: int, seeds: list[bytes]) -> tuple[bytes, bytes, bool]:
    """A damaged file, the good one, and whether checksums cover the damage."""
    rng = random.Random(f"{kind} {number}")
    seed = rng.choice(seeds)
    if kind in folders.LOADERS:
        return folders.damage(seed, rng), seed, False
    state = rng.getstate()
    bytes_only = kind in CHECKED and mutates_bytes(rng)
    rng.setstate(state)
    return mutate(kind, seed, rng), seed, bytes_only


def put(kind: str, path: Path, content: bytes) -> None:
    """Write a file, or all files of a folder."""
    if kind in folders.LOADERS:
        folders.put(path, content)
    else:
        path.write_bytes(content)


def use(result: Any) -> None:
    """What is loaded must be usable: wrong numbers may not crash compiled code later."""
    if isinstance(result, Network):
        repr(result)
        with np.errstate(all="ignore"):
            result(np.zeros((1, result.n_inputs)))
    elif isinstance(result, Regions):
        repr(result)
        if len(result):
            np.asarray(result.witnesses[-1])
            result.packed.find(result.packed[:2])
            for name in ("corners", "facet_lines"):
                column = result.known(name)
                if column is not None:
                    np.asarray(column[len(result) - 1])
                    column.owners()
    elif isinstance(result, (CachedPredictor, Slice, np.ndarray, dict)):
        flips.answers_of(result)
    else:
        raise TypeError(f"a loader returned {type(result).__name__}")


def cached_kernels() -> None:
    """Use the kernels of caches, those of full ones too."""
    points = np.random.default_rng(0).normal(size=(300, 3))
    for policy in POLICIES:
        for limit in (10_000, 2**20):
            flips.answers_of(CachedPredictor(cached(), limit, policy).fit(points))


def changed(result: Any, expected: str | None) -> str:
    """What is wrong if a file was damaged in a way that its checksums cover, but accepted."""
    if expected is None or flips.digest(flips.answers_of(result)) == expected:
        return ""
    return "other content than the undamaged file, in silence"


def claim(proved: dict[str, Any]) -> tuple[str, ...]:
    """What a certificate is about: the network and the domain."""
    return (str(proved["fingerprint"]), str(proved["domain"]))


def check(
    kind: str, path: Path, guard: Guard, truth: dict[Any, int], expected: str | None = None
) -> tuple[str, str]:
    """The letter of one case, and what was wrong."""
    started = time.process_time()
    try:
        with guard:
            result = LOADERS[kind](path)
            if kind != "certificate" and kind not in folders.LOADERS:
                use(result)
        letter, trouble = "n", changed(result, expected)
        if kind in folders.LOADERS and result not in truth:
            trouble = "gives other regions than the undamaged folder"
        if kind == "certificate" and result["complete"]:
            # a proof may be about another network, but what it proves must be true
            expected = truth.get(claim(result), result["regions"])
            if result["regions"] != expected:
                trouble = f"proves {result['regions']} regions, there are {expected}"
    except RejectedError:
        letter, trouble = "e", ""
    except TropicellError as error:
        letter, trouble = "e", "" if path.name in str(error) else f"names no file: {error}"
        if isinstance(error.__cause__, MemoryError):
            trouble = f"took all memory: {error}"
    except BaseException as error:
        letter, trouble = "e", f"{type(error).__name__}: {error}"
    if guard.violations:
        trouble = "; ".join(guard.violations)
    seconds = time.process_time() - started
    if seconds > SLOW and not trouble:
        trouble = f"took {seconds:.0f} s"
    return (letter, "") if not trouble else ("x", trouble[:500])


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print what they like
    folder, kind, first, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    seeds = [path.read_bytes() for path in sorted((folder / "seeds" / kind).iterdir())]
    work = folder / f"case {kind} {first}"
    work.mkdir(exist_ok=True)
    # what attacks point at: next to the folder, not in it
    canary = folder / "canary.txt"
    canary.write_text("secret")
    warnings.simplefilter("ignore")
    path = work / f"m{suffix_of(kind)}"
    (work / "weights.bin").write_bytes(b"\0" * 4096)
    (work / "canary.txt").write_bytes(b"\0" * 64)
    truth: dict[Any, int] = {}
    answers: dict[bytes, str] = {}
    for seed in seeds:  # whatever is imported or compiled lazily
        put(kind, path, seed)
        result = LOADERS[kind](path)
        if kind in CHECKED:
            answers[seed] = flips.digest(flips.answers_of(result))
        if kind == "certificate":
            truth[claim(result)] = result["regions"]
        elif kind in folders.LOADERS:
            truth[result] = 1
        else:
            use(result)
    if kind == "cache":  # compiled code is loaded by Numba, which has pickles of its own
        cached_kernels()
    guard = Guard(work, canary, writes=kind in folders.LOADERS)
    limit_memory()
    for number in range(first, last):
        print(number, end=" ", flush=True, file=out)
        content, seed, bytes_only = case(kind, number, seeds)
        if kind not in folders.LOADERS:
            path.unlink(missing_ok=True)  # what was mapped may still be in use
        put(kind, path, content)
        expected = answers.get(seed) if bytes_only else None
        letter, trouble = check(kind, path, guard, truth, expected)
        print(letter, json.dumps(trouble) if trouble else "", flush=True, file=out)
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True, file=out)


if __name__ == "__main__":
    main()
