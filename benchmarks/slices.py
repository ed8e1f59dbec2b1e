"""Planes through real classifiers: regions a second, with and without a focus on the neurons that can change.

    python -m benchmarks.slices [--seconds S] [--only NAME] [--before SRC]
    python -m benchmarks.slices --only-before --before SRC [--only NAME]    nothing else is measured
    python -m benchmarks.slices --again    the section anew from slices.json, without measuring

Set OPENBLAS_NUM_THREADS=1, and TROPICELL_MODELS and TROPICELL_DATA to the folders of networks and images (see CONTRIBUTING.md);
what is not there is left out. The ResNet-18 is made here: 64 to 512 channels, 11 million parameters, as torch initialises them.
Times are CPU seconds of one thread, exact arithmetic, counting; what is made once for a network is left out (first columns), or once for all slices of it (now / before). SRC is the folder `src` of another version of this
package, by which the same squares are counted; without it, what is known of that is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks import sections
from benchmarks.slice_of import RESNET, network_of, plane
from tropicell import Network, Slice
from tropicell.engines.cells import focus
from tropicell.engines.cells.task import CellTask
from tropicell.engines.scheduler import UnitRun

HERE = Path(__file__).parent
STORE = HERE / "slices.json"
TITLE = "Planes through real classifiers"

#: Networks, their images, and half the side of the square, in parts of the way from one image to another.
CASES = [
    ("mnist_cnn", "mnist", 0.05),
    ("mnist_cnn", "mnist", 0.2),
    ("mnist_cnn", "mnist", 1.0),
    ("cifar_resnet_3b", "cifar10_gray", 0.02),
    ("cifar_resnet_3b", "cifar10_gray", 0.1),
    ("cifar_resnet_3b", "cifar10_gray", 1.0),
    (RESNET, "cifar10_gray", 1e-4),
    (RESNET, "cifar10_gray", 1e-3),
    (RESNET, "cifar10_gray", 1e-2),
]

_NAMES = list(dict.fromkeys(name for name, *_ in CASES))

Row = dict[str, Any]

#: What another version says of networks that it does not take.
_REFUSED: dict[str, Row] = {}


def speed(network: Network, domain: Slice, seconds: float) -> tuple[int, float, bool]:
    """Regions, CPU seconds, and whether these are all."""
    fresh = Network(network.n_inputs, network.layers, network.output)
    task = CellTask(fresh, domain, store=False)
    assert task.room  # made once
    run = UnitRun(task, max_seconds=seconds)
    started = time.thread_time()
    for _ in run.batches():
        pass
    return run.count, time.thread_time() - started, run.complete


def counted_by(source: str, name: str, data: str, half: float, seconds: float) -> Row:
    """What the front door of a version of this package counts; a network that it does not take is tried once.

    Short counts are repeated in other processes, and the fastest is taken: where memory lies makes a factor of two.
    """
    if name in _REFUSED:
        return _REFUSED[name]
    command = [sys.executable, HERE / "slice_of.py", name, data, str(half), str(seconds)]
    environment, patience = os.environ | {"PYTHONPATH": source}, 60.0 + 6.0 * seconds
    runs: list[Row] = []
    try:
        while len(runs) < 3 and sum(run.get("seconds", patience) for run in runs) < 1.0:
            done = subprocess.run(
                command,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
                timeout=patience,
            )
            runs.append(json.loads(done.stdout.splitlines()[-1]))
        found = min(runs, key=lambda run: run.get("seconds", patience))
    except subprocess.TimeoutExpired:
        found = {"waited": patience}
    if "regions" not in found:
        _REFUSED[name] = found
    return found


def measured(seconds: float, only: str, source: str, known: list[Row]) -> list[Row]:
    rows, kept = [], ("before", "door")
    old = {
        (row["network"], row["half"]): {name: row[name] for name in kept if name in row}
        for row in known
    }
    for name, data, half in CASES:
        network = network_of(name) if only in name else None
        domain = None if network is None else plane(data, network.n_inputs, half)
        if network is None or domain is None:
            continue
        speed(network, domain, min(5.0, seconds))
        row: Row = {"network": name, "neurons": network.n_neurons, "half": half, "limit": seconds}
        row["regions"], row["seconds"], row["complete"] = speed(network, domain, seconds)
        with patch.object(focus, "_is_heavy", lambda _: False):
            speed(network, domain, 0.1)  # its kernel is another one
            row["plain_regions"], row["plain_seconds"], complete = speed(network, domain, seconds)
        row["equal"] = (
            row["regions"] == row["plain_regions"] if complete and row["complete"] else None
        )
        row |= old.get((name, half), {})
        if source:
            row |= compared(source, row)
        print(row, flush=True)
        rows.append(row)
    return rows


def compared(source: str, row: Row) -> Row:
    """What the front doors of another version and of this one count."""
    name, half = row["network"], row["half"]
    data = next(data for one, data, _ in CASES if one == name)
    found = {"before": counted_by(source, name, data, half, row["limit"])}
    if "regions" in found["before"]:
        own = str(HERE.parent / "src")
        found["door"] = counted_by(own, name, data, half, row["limit"])
    return found


def report(data: dict[str, Any]) -> str:
    """The section."""
    about = data["about"]
    lines = [
        "Squares in the plane through the first three images of a test set, around the first one, counted exactly by one thread: by a search that looks at all neurons on every cell, and by one that "
        f"looks at those that can change (`engines/cells/focus.py`, `_narrow.py`). Each search had the seconds of the last column; ≥: not complete then. The ResNet-18 has random weights. {_about_before(about)}"
        f"tropicell {about['version']}, Python {about['python']}, {about['machine']}, load {about['load']}.",
        "",
        "| network | neurons | half the side | regions | regions/s | all neurons on every cell, regions/s | before, regions/s | now / before | same count | seconds it had |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: |",
    ]
    for row in data["rows"]:
        now, plain = row["regions"] / row["seconds"], row["plain_regions"] / row["plain_seconds"]
        old = row.get("before") or {}
        was = old["regions"] / old["seconds"] if "regions" in old else None
        word = "–" if was is None else _rate(was)
        if "refused" in old:
            word = "refused"
        if "waited" in old:
            word = f"not imported in {old['waited']:g} s"
        door = row.get("door") or row
        ratio = f"{door['regions'] / door['seconds'] / was:.1f}" if was else "–"
        equal = [row["equal"]] if row["equal"] is not None else []
        if row["complete"] and old.get("complete"):
            equal.append(row["regions"] == old["regions"])
        same = ("yes" if all(equal) else "**no**") if equal else "–"
        lines.append(
            f"| {row['network']} | {row['neurons']:,} | {row['half']:g} | {'' if row['complete'] else '≥ '}{row['regions']:,} | {_rate(now)} | {_rate(plain)} | {word} | {ratio} | {same} | {row['limit']:g} |"
        )
    return "\n".join(lines)


def _about_before(about: dict[str, Any]) -> str:
    name = about.get("before")
    return (
        f"Before: `count_regions` of commit {name}; now / before is its ratio with `count_regions` of today, both of a network of which another slice was counted before; short counts are repeated, and the fastest is taken. "
        if name
        else ""
    )


def _commit(source: str) -> str:
    """The commit that a folder is a checkout of."""
    command = ["git", "-C", source, "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="the most for one search")
    parser.add_argument("--only", default="", help="networks whose names contain this")
    parser.add_argument("--before", default="", help="the folder src of another version")
    parser.add_argument("--only-before", action="store_true", help="nothing else is measured")
    parser.add_argument("--again", action="store_true", help="write the section anew")
    arguments = parser.parse_args()
    if arguments.only_before:
        data = json.loads(STORE.read_text())
        data["about"]["before"] = _commit(arguments.before)
        for row in data["rows"]:
            if arguments.only in row["network"]:
                row.update(compared(arguments.before, row))
        STORE.write_text(json.dumps(data, indent=1) + "\n")
    elif not arguments.again:
        about = sections.about()
        known = json.loads(STORE.read_text()) if STORE.exists() else {"about": {}, "rows": []}
        about["before"] = (
            _commit(arguments.before) if arguments.before else known["about"].get("before")
        )
        rows = measured(arguments.seconds, arguments.only, arguments.before, known["rows"])
        if arguments.only:
            others = [row for row in known["rows"] if arguments.only not in row["network"]]
            rows = sorted(others + rows, key=lambda row: _NAMES.index(row["network"]))
        STORE.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    sections.put(HERE / "RESULTS.md", TITLE, report(json.loads(STORE.read_text())))


if __name__ == "__main__":
    main()
