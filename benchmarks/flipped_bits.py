"""Single bits that flip on a disk; writes FLIPPED_BITS.json and a table of docs/reliability.md.

    python -m benchmarks.flipped_bits [--flips 3000] [--only "predictor caches,mapped regions"]

For every format with checksums: how many flips are refused, change nothing (a time stamp, a length that nobody reads), or
give other content in silence, which must never happen. Of slice files every single bit is flipped. Then what comparing
checksums costs: loading a large file of regions, mapped.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from fuzz.flips import CHECKED, flip  # noqa: E402
from tropicell._runtime.npz import read_npz, write_npz  # noqa: E402

#: Formats whose files are small enough to flip all bits.
ALL_BITS = ("slices",)
START, END = "<!-- flips -->\n", "<!-- end of flips -->"


def flips(number: int, only: str = "") -> list[dict[str, Any]]:
    found = []
    for kind in CHECKED:
        if only and kind not in only.split(","):
            continue
        with tempfile.TemporaryDirectory() as name:
            outcomes, troubles = flip(kind, Path(name), None if kind in ALL_BITS else number)
        entry = {
            "format": kind,
            "flips": sum(outcomes.values()),
            "refused": outcomes.pop("refused", 0),
            "same": outcomes.pop("same", 0),
            "wrong": outcomes.pop("wrong", 0),
            "other": dict(outcomes),
            "troubles": troubles[:20],
        }
        print(entry, flush=True)
        found.append(entry)
    return found


def cost(megabytes: int = 512, repeats: int = 12) -> dict[str, float]:
    """Seconds to map a large file with its checksums compared; the system has it in its memory."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "large.npz"
        rng = np.random.default_rng(0)
        write_npz(file, {"corners": rng.random((megabytes * 2**20 // 24, 3))})
        times = []
        for _ in range(repeats + 1):  # the first one is not counted
            started = time.perf_counter()
            read_npz(file, mapped=True)
            times.append(time.perf_counter() - started)
        size = file.stat().st_size
    seconds = min(times[1:])  # whatever else the machine does only adds
    return {
        "bytes": size,
        "seconds": round(seconds, 4),
        "gb_per_second": round(size / seconds / 1e9, 2),
    }


def table(content: dict[str, Any]) -> str:
    lines = [
        "| format | flipped bits | refused | same content | other content, in silence |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for entry in content["formats"]:
        numbers = [entry[key] for key in ("flips", "refused", "same")]
        wrong = entry["wrong"] + sum(entry["other"].values())
        cells = [entry["format"], *(f"{n:,}" for n in [*numbers, wrong])]
        lines.append(f"| {' | '.join(cells)} |")
    spent = content["cost"]
    lines += [
        "",
        f"Comparing the checksums of a mapped file took {spent['seconds']:.2f} s for {spent['bytes'] / 1e6:,.0f} MB "
        f"({spent['gb_per_second']:.1f} GB a second), once for each time that it is loaded; from a slow disk it takes as long as "
        "reading the file.",
    ]
    return "\n".join(lines)


def write_page(content: dict[str, Any]) -> None:
    page = HERE.parent / "docs" / "reliability.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{START}{table(content)}\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flips", type=int, default=3000)
    parser.add_argument("--only", default="")
    parser.add_argument("--again", action="store_true", help="write the page without measuring")
    parser.add_argument("--out", type=Path, default=HERE / "FLIPPED_BITS.json")
    arguments = parser.parse_args()
    known = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    if not arguments.again:
        formats = {entry["format"]: entry for entry in known.get("formats", [])}
        formats |= {entry["format"]: entry for entry in flips(arguments.flips, arguments.only)}
        known = {"formats": [formats[kind] for kind in CHECKED if kind in formats], "cost": cost()}
        arguments.out.write_text(json.dumps(known, indent=1) + "\n")
    if arguments.out.name == "FLIPPED_BITS.json":
        write_page(known)
    sys.exit(any(entry["wrong"] or entry["other"] for entry in known["formats"]))


if __name__ == "__main__":
    main()
