"""Attacks on the checker of certificates; writes ATTACK.json and the figures of docs/reliability.md.

    python -m benchmarks.attack_certificates [--cases 100000] [--workers 2] [--first 0]
    python -m benchmarks.attack_certificates --checker other.py   # another checker, nothing is written

Valid certificates are changed in structure: types, bytes seen as other types, wrap-arounds, header fields, patterns, domains,
activations, links, members of the archive, whole proofs for other numbers; one to four changes at once. Each case has a number and
can be run again. What a checker accepts is enumerated anew from the file's own bytes by Algorithm 2, in exact arithmetic.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from fuzz.attacks import CHANGES, case  # noqa: E402
from fuzz.certificates import seeds  # noqa: E402
from fuzz.judge import Outcome, judge  # noqa: E402
from tropicell import verify_certificate  # noqa: E402

CHECKER = str(verify_certificate.__file__)
#: Cases that a process takes at a time.
CHUNK = 500
FINE = ("refused", "true")
#: Files are written and read once: in memory, where that is possible.
SHARED = Path("/dev/shm")


def load(path: str) -> ModuleType:
    """A checker from its file."""
    spec = importlib.util.spec_from_file_location("attacked_checker", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(dir=SHARED if SHARED.is_dir() else None)


def attack(checker: ModuleType, numbers: range, path: Path) -> Iterator[tuple[int, Any, Outcome]]:
    """All cases of a range, with what became of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in numbers:
            found = case(number)
            yield number, found, judge(found, checker, path)


def run_chunk(job: tuple[str, int, int]) -> tuple[Counter[str], list[dict[str, Any]]]:
    path, first, last = job
    checker = load(path)
    counts: Counter[str] = Counter()
    problems = []
    with folder() as name:
        for number, found, outcome in attack(checker, range(first, last), Path(name) / "case.npz"):
            counts[outcome.verdict] += 1
            if outcome.verdict not in FINE:
                text = f"{found.seed}: {', '.join(found.changes)}"
                problems.append(
                    {"case": number, "verdict": outcome.verdict, "what": text, "said": outcome.said}
                )
    return counts, problems


def run(path: str, first: int, cases: int, workers: int) -> dict[str, Any]:
    started = time.perf_counter()
    last = first + cases
    jobs = [(path, at, min(last, at + CHUNK)) for at in range(first, last, CHUNK)]
    counts: Counter[str] = Counter()
    problems: list[dict[str, Any]] = []
    seeds()  # before the processes are made: then all of them have it
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        for done, (found, wrong) in enumerate(pool.imap_unordered(run_chunk, jobs), start=1):
            counts += found
            problems += wrong
            if done % 10 == 0 or done == len(jobs):
                print(f"{sum(counts.values()):,} cases: {dict(counts)}", flush=True)
    return {
        "cases": sum(counts.values()),
        "refused": counts["refused"],
        "accepted, true": counts["true"],
        "accepted, false": counts["false"],
        "accepted, not of the one form": counts["loose"],
        "refused for another reason": counts["reason"],
        "seconds": round(time.perf_counter() - started),
        "problems": sorted(problems, key=lambda p: p["case"])[:50],
    }


def table(content: dict[str, Any]) -> str:
    """The figures in words and numbers, for docs/reliability.md."""
    keys = (
        "refused",
        "accepted, true",
        "accepted, false",
        "accepted, not of the one form",
        "refused for another reason",
    )
    lines = [f"| files | {' | '.join(keys)} |", "| ---: " * (1 + len(keys)) + "|"]
    lines.append(f"| {content['cases']:,} | {' | '.join(f'{content[k]:,}' for k in keys)} |")
    return "\n".join(lines)


def write_page(content: dict[str, Any]) -> None:
    page = HERE.parent / "docs" / "reliability.md"
    before, _, rest = page.read_text(encoding="utf-8").partition("<!-- attack -->\n")
    after = rest.partition("<!-- end of attack -->")[2]
    text = f"{before}<!-- attack -->\n{table(content)}\n<!-- end of attack -->{after}"
    page.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--checker", default=CHECKER, help="another checker's file")
    parser.add_argument("--out", type=Path, default=HERE / "ATTACK.json")
    arguments = parser.parse_args()
    found = run(arguments.checker, arguments.first, arguments.cases, arguments.workers)
    content = {"kinds of changes": len(CHANGES), **found}
    if arguments.checker == CHECKER:
        arguments.out.write_text(json.dumps(content, indent=1) + "\n")
        if arguments.out.name == "ATTACK.json":
            write_page(content)
    else:
        print(json.dumps({k: v for k, v in content.items() if k != "problems"}, indent=1))
    sys.exit(bool(found["problems"]))


if __name__ == "__main__":
    main()
