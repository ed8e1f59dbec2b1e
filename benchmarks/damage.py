"""Damage to folders of regions and to checkpoints, and faults while they are written.

    python -m benchmarks.damage                     all
    python -m benchmarks.damage --flips 100         fewer flipped bits
    python -m benchmarks.damage --again             the page anew from DAMAGE.json, without measuring

*Flips*: one bit of one file is another one; then the folder is opened and read, and the same call goes on. Files get the
same number of flips, whatever their sizes. *Faults*: at every step of writing (a file opened, half a file written, flushed, renamed,
removed) the process is killed, loses its power (what was not flushed is gone), finds the disk full once or no memory once, or has trouble and is killed
a little later; then the same call goes on. Writes DAMAGE.json next to this file, and two tables of docs/reliability.md.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import fsspec

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
import faults  # noqa: E402
from fuzz import folders  # noqa: E402

#: Name, what is written, whether at a URL, after how many regions it is broken off.
SUBJECTS: list[tuple[str, str, bool, int | None]] = [
    ("folder", "folder", False, None),
    ("folder, not complete", "folder", False, 60),
    ("folder at a URL", "folder", True, None),
    ("folder at a URL, not complete", "folder", True, 60),
    ("checkpoint", "checkpoint", False, None),
    ("checkpoint, not complete", "checkpoint", False, 60),
]


def flips(kind: str, url: bool, budget: int | None, count: int, work: Path) -> dict[str, Any]:
    """Flip one bit of a file, so many times, and look what comes of it."""
    system = fsspec.filesystem("memory" if url else "file")
    path = f"memory://{work.name}" if url else str(work / "run")
    folders.write(kind, path, budget)
    names = [n.rsplit("/", 1)[-1] for n in system.ls(path, detail=False)]
    good = {name: system.cat_file(f"{path}/{name}") for name in sorted(names)}
    load = folders.LOADERS[kind]
    rng, outcomes, wrong = random.Random(0), Counter[str](), []

    def put(files: dict[str, bytes]) -> None:
        system.rm(path, recursive=True)
        system.makedirs(path)
        for name, content in files.items():
            system.pipe_file(f"{path}/{name}", content)

    put(good)
    truth = load(path)  # type: ignore[arg-type]
    for number in range(count):
        name = sorted(good)[number % len(good)]
        put(good | {name: folders.flip(good[name], rng)})
        outcome = folders.outcome(load, path, truth)
        named = outcome.startswith("refused") and (name in outcome or path in outcome)
        fine = named or outcome in ("same", "warned")
        outcomes[outcome.partition(":")[0]] += fine
        if not fine:
            wrong.append({"file": name, "flip": number, "outcome": outcome})
    return {
        "flips": count,
        "files": len(good),
        "refused": outcomes["refused"],
        "warned": outcomes["warned"],
        "same": outcomes["same"],
        "wrong": wrong,
    }


def all_faults(work: Path) -> list[dict[str, Any]]:
    """Every fault at every step."""
    results = []
    for kind in faults.KINDS:
        folder = work / "faults"
        whole = faults.run(kind, folder, 0, "kill")
        for fault in faults.FAULTS:
            if kind == "url" and fault == "power cut":
                continue  # whether a store of objects keeps what it took is its own promise
            wrong = []
            for at in range(1, whole["steps"] + 1):
                found = faults.run(kind, folder, at, fault)
                if trouble := faults.check(kind, folder, found, whole["digest"]):
                    wrong.append({"step": at, "trouble": trouble})
            results.append({"what": kind, "fault": fault, "steps": whole["steps"], "wrong": wrong})
            print(json.dumps(results[-1]), flush=True)
    return results


def tables(content: dict[str, Any]) -> str:
    """The figures for the page docs/reliability.md."""
    lines = [
        "| one bit flipped in a | flips | refused | warning, the state before | same | wrong |"
    ]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for entry in content["flips"]:
        numbers = [entry["flips"], entry["refused"], entry["warned"], entry["same"]]
        numbers.append(len(entry["wrong"]))
        lines.append(f"| {' | '.join([entry['what'], *map(str, numbers)])} |")
    lines += [
        "",
        "| a fault while it is written | at each of | ends with other regions, or loses some |",
    ]
    lines.append("| --- | ---: | ---: |")
    names = {"url": "folder at a URL"}
    for entry in content["faults"]:
        what = f"{names.get(entry['what'], entry['what'])}: {entry['fault']}"
        lines.append(f"| {what} | {entry['steps']} steps | {len(entry['wrong'])} |")
    return "\n".join(lines)


def write_page(content: dict[str, Any]) -> None:
    page = HERE.parent / "docs" / "reliability.md"
    before, _, rest = page.read_text(encoding="utf-8").partition("<!-- damage -->\n")
    after = rest.partition("<!-- end of damage -->")[2]
    text = f"{before}<!-- damage -->\n{tables(content)}\n<!-- end of damage -->{after}"
    page.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flips", type=int, default=600)
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    file = HERE / "DAMAGE.json"
    if arguments.again:
        write_page(json.loads(file.read_text()))
        return
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        for what, kind, url, budget in SUBJECTS:
            work = Path(name) / what
            work.mkdir()
            found.append({"what": what} | flips(kind, url, budget, arguments.flips, work))
            print(json.dumps(found[-1]), flush=True)
        content = {"flips": found, "faults": all_faults(Path(name))}
    file.write_text(json.dumps(content, indent=1) + "\n")
    write_page(content)
    sys.exit(any(entry["wrong"] for entries in content.values() for entry in entries))


if __name__ == "__main__":
    main()
