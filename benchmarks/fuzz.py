"""Damaged and hostile files for every loader; writes FUZZ.json and the table of docs/reliability.md.

    python -m benchmarks.fuzz [--cases 100000] [--only onnx,pt2] [--first 0]

Case i of a format is always the same; `--first` goes on where another run ended. With `--only`, the figures of other formats
stay what they are.

Each format is read by a process of its own, with limits on memory and time, that is started anew if it dies. The
only right outcomes: a network (or regions), or an error of `tropicell.errors` that names the file.
"""

from __future__ import annotations

import argparse
import json
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TESTS = HERE.parent / "tests"
sys.path.insert(0, str(TESTS))
from fuzz.guard import MEMORY  # noqa: E402
from fuzz.seeds import LOADERS, write_seeds  # noqa: E402
from fuzz.worker import SLOW  # noqa: E402

#: How many of all cases each format gets.
SHARES = {
    "npz": 14,
    "safetensors": 12,
    "onnx": 7,
    "pt2": 1,
    "regions": 3,
    "mapped regions": 2,
    "certificate": 1,
    "folder": 2,
    "checkpoint": 2,
    "cache": 3,
    "slice": 3,
    "points": 2,
    "lab": 2,
    "idx": 2,
}
#: A worker that is silent for so long hangs, however busy the machine is.
PATIENCE = 600.0
#: Cases of one process; a fresh one now and then keeps memory of one case from another.
CHUNK = 5000


@dataclass
class Report:
    """What happened to the cases of one format."""

    kind: str
    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    problems: list[dict[str, Any]] = field(default_factory=list)
    peak_mb: float = 0.0
    seconds: float = 0.0

    def add(self, number: int, letter: str, trouble: str) -> None:
        self.cases += 1
        self.outcomes[letter] += 1
        if trouble:
            self.problems.append({"case": number, "trouble": trouble})
            print(f"{self.kind} {number}: {trouble}", flush=True)

    def as_json(self) -> dict[str, Any]:
        return {
            "format": self.kind,
            "cases": self.cases,
            "loaded": self.outcomes["n"],
            "refused": self.outcomes["e"],
            "problems": self.problems,
            "peak_mb": round(self.peak_mb),
            "seconds": round(self.seconds),
        }


def run(folder: Path, kind: str, first: int, last: int, report: Report) -> None:
    """All cases of a range, by as many processes as it takes."""
    started = time.perf_counter()
    while first < last:
        first = _one_process(folder, kind, first, min(last, first + CHUNK), report)
    report.seconds += time.perf_counter() - started


def _one_process(folder: Path, kind: str, first: int, last: int, report: Report) -> int:
    """Run cases until the process ends; the number of the next case."""
    command = [sys.executable, str(TESTS / "fuzz" / "worker.py"), str(folder), kind]
    log = folder / "stderr.txt"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*command, str(first), str(last)], stdout=subprocess.PIPE, stderr=errors, bufsize=0
        )
    assert process.stdout is not None
    line, number, ended = b"", first - 1, False
    while not ended:
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        part = process.stdout.read(65536) if ready else b""
        if not part:
            process.kill()
            code = process.wait()
            head = line.split(b" ")[0]
            if head.isdigit():
                what = f"died with {code}" if ready else f"silent for {PATIENCE:.0f} s"
                report.add(int(head), "x", f"{what}: {_tail(log)}")
                return int(head) + 1
            if number + 1 < last:
                raise RuntimeError(f"the worker for {kind} failed: {_tail(log)}")
            break
        line += part
        *done, line = line.split(b"\n")
        for text in done:
            head, _, rest = text.decode().partition(" ")
            if head == "peak":
                report.peak_mb = max(report.peak_mb, int(rest) / 1024)
                ended = True
                continue
            number = int(head)
            letter, _, trouble = rest.partition(" ")
            report.add(number, letter, json.loads(trouble) if trouble else "")
    process.wait()
    return number + 1


def _tail(log: Path) -> str:
    return log.read_text(errors="replace").strip()[-300:]


def fuzz(cases: int, only: str = "", first: int = 0) -> list[Report]:
    kinds = [kind for kind in LOADERS if not only or kind in only.split(",")]
    total = sum(SHARES.values())
    reports = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_seeds(folder / "seeds", kinds)
        for kind in kinds:
            report = Report(kind)
            run(folder, kind, first, first + -(-cases * SHARES[kind] // total), report)
            print(kind, report.cases, dict(report.outcomes), f"{report.seconds:.0f} s", flush=True)
            reports.append(report)
    return reports


def table(content: dict[str, Any]) -> str:
    """The figures as a table, for the page docs/reliability.md."""
    lines = [
        "| format | files | loaded | refused | problems | most memory of the process |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for entry in content["formats"]:
        numbers = [entry["cases"], entry["loaded"], entry["refused"], len(entry["problems"])]
        cells = [entry["format"], *(f"{n:,}" for n in numbers), f"{entry['peak_mb']:,} MB"]
        lines.append(f"| {' | '.join(cells)} |")
    total = [sum(e[k] for e in content["formats"]) for k in ("cases", "loaded", "refused")]
    problems = sum(len(e["problems"]) for e in content["formats"])
    lines.append(f"| all | {' | '.join(f'{n:,}' for n in [*total, problems])} | |")
    return "\n".join(lines)


def write_page(content: dict[str, Any]) -> None:
    page = HERE.parent / "docs" / "reliability.md"
    before, _, rest = page.read_text(encoding="utf-8").partition("<!-- fuzz -->\n")
    after = rest.partition("<!-- end of fuzz -->")[2]
    text = f"{before}<!-- fuzz -->\n{table(content)}\n<!-- end of fuzz -->{after}"
    page.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=Path, default=HERE / "FUZZ.json")
    arguments = parser.parse_args()
    reports = fuzz(arguments.cases, arguments.only, arguments.first)
    known = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    formats = {entry["format"]: entry for entry in known.get("formats", [])}
    formats |= {report.kind: report.as_json() for report in reports}
    content = {
        "cases": sum(entry["cases"] for entry in formats.values()),
        "memory_limit_mb": MEMORY // 2**20,
        "seconds_limit": SLOW,
        "formats": [formats[kind] for kind in LOADERS if kind in formats],
    }
    arguments.out.write_text(json.dumps(content, indent=1) + "\n")
    if arguments.out.name == "FUZZ.json":
        write_page(content)
    sys.exit(any(report.problems for report in reports))


if __name__ == "__main__":
    main()
