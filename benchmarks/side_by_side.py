"""All contestants on the same networks, each in a process of its own; writes RESULTS.md.

    python -m benchmarks.side_by_side [--seconds 60] [--only "2-D"]
    python -m benchmarks.side_by_side --again       the page anew from RESULTS.json, without measuring

Contestants other than Tropicell are found through the environment: RELUCENT_PYTHON (a Python with relucent),
EDGE_SUBDIVISION (a checkout), SPLINECAM and SPLINECAM_PYTHON (a checkout, and a Python with graph-tool). Those
that are not there are left out, with a note.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tropicell
from benchmarks import sections
from benchmarks.cases import CASES, Case
from benchmarks.contestants.protocol import Task

HERE = Path(__file__).parent


@dataclass
class Contestant:
    """How to start a contestant."""

    name: str
    script: str
    python: str = sys.executable
    options: dict[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        return [name for name in self.needs if name not in os.environ]

    def run(self, case: Case, seconds: float) -> dict[str, Any]:
        weights, biases = case.arrays()
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "task.npz")
            Task(weights, biases, case.box, seconds, self.options).write(path)
            threads = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE)}
            try:
                done = subprocess.run(
                    [self.python, str(HERE / "contestants" / self.script), path],
                    env=os.environ | threads | self.environment,
                    capture_output=True,
                    text=True,
                    timeout=3 * seconds + 60,
                    check=True,
                )
                return dict(json.loads(done.stdout.strip().splitlines()[-1]))
            except subprocess.TimeoutExpired:
                return {"note": f"> {3 * seconds + 60:.0f} s"}
            except subprocess.CalledProcessError as error:
                return {"note": "failed: " + error.stderr.strip().splitlines()[-1][:60]}


def contestants() -> list[Contestant]:
    relucent = os.environ.get("RELUCENT_PYTHON", "")
    splinecam = os.environ.get("SPLINECAM_PYTHON", "")
    count, store = {"mode": "count"}, {"mode": "store"}
    return [
        Contestant("Tropicell, exact", "run_tropicell.py", options=count),
        Contestant("Tropicell, float", "run_tropicell.py", options=count | {"arithmetic": "float"}),
        Contestant(
            "Tropicell, exact, two workers", "run_tropicell.py", options=count | {"workers": 2}
        ),
        Contestant("Tropicell, exact, storing all", "run_tropicell.py", options=store),
        Contestant("edge subdivision", "run_edge_subdivision.py", needs=("EDGE_SUBDIVISION",)),
        Contestant(
            "SplineCam",
            "run_splinecam.py",
            splinecam,
            needs=("SPLINECAM", "SPLINECAM_PYTHON"),
            environment={"PYTORCH_JIT": "0"},
        ),
        Contestant("relucent", "run_relucent.py", relucent, needs=("RELUCENT_PYTHON",)),
        Contestant("grid of a million points", "run_grid.py"),
    ]


def cell(result: dict[str, Any], base: dict[str, Any], *, own: bool) -> str:
    """Regions, regions a second, and how many times slower than Tropicell."""
    if "regions" not in result or result.get("note"):
        return str(result.get("note", "–"))
    regions, seconds = result["regions"], result["seconds"]
    rate = regions / max(seconds, 1e-9)
    count = f"{regions:,}" if result["complete"] else f"≥ {regions:,}"
    text = f"{count} in {seconds:.3g} s, {rate:,.0f}/s"
    if not own and base.get("regions"):
        text += f" (× {base['regions'] / base['seconds'] / rate:,.0f})"
    if own:
        text += f" (first run {result['first']:.3g} s)"
    if own and "bytes" in result:
        text += f", {result['bytes'] / max(1, regions):.0f} bytes a region"
    return text


#: The page on other tools shows what stands between these lines.
BEGIN, END = "<!-- summary -->", "<!-- end of the summary -->"


def summary(raw: list[dict[str, Any]]) -> str:
    """One line a case: how many times slower the others are."""
    names = [c.name for c in contestants() if not c.name.startswith("Tropicell")]
    head = ["network", "regions", "Tropicell, regions/s", *names]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for entry in raw:
        base = entry["results"]["Tropicell, exact"]
        rate = base["regions"] / base["seconds"]
        cells = [entry["case"], f"{base['regions']:,}", f"{rate:,.0f}"]
        for name in names:
            other = entry["results"].get(name, {})
            if not other.get("regions"):
                cells.append("–")
                continue
            times = rate * other["seconds"] / other["regions"]
            cells.append(f"×\u00a0{times:,.0f}" + ("" if other["complete"] else "\u00a0†"))
        lines.append("| " + " | ".join(cells) + " |")
    legend = "×: times slower per region than Tropicell in exact arithmetic. †: stopped at the time limit, or not able to know whether these are all. –: not made for it."
    return "\n".join([BEGIN, "", *lines, "", legend, "", END])


def report(raw: list[dict[str, Any]]) -> str:
    """The results of all cases as a page."""
    lines = [
        "# Side by side",
        "",
        "Random networks with PyTorch's default initialisation, on a box unless said otherwise, one core (two where said),",
        "each contestant in a process of its own, without imports and compilation. Tropicell: best of the runs on the same",
        "network within a second; the first run also prepares the network. × n: n times slower per region than Tropicell in",
        "exact arithmetic, in the same run. ≥: stopped at the time limit, or not able to know.",
        "",
        f"Tropicell {tropicell.__version__}, Python {platform.python_version()}, {platform.machine()}. Made by `make bench`.",
        "",
        summary(raw),
    ]
    present = {name for entry in raw for name in entry["results"]}
    absent = [c for c in contestants() if c.name not in present]
    lines += [f"\nLeft out: {c.name} (set {', '.join(c.missing)})." for c in absent]
    for entry in raw:
        results = entry["results"]
        base = results["Tropicell, exact"]
        agree = {r["regions"] for r in results.values() if r.get("regions") and r["complete"]}
        lines.append(f"\n### {entry['case']}\n")
        for name, result in results.items():
            lines.append(f"- **{name}**: {cell(result, base, own=name.startswith('Tropicell'))}")
        verdict = "yes" if len(agree) == 1 else f"no: {sorted(agree)}"
        lines.append(f"- complete counts agree: {verdict}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="time limit for each run")
    parser.add_argument("--only", default="", help="only cases with this in their name")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    parser.add_argument("--again", action="store_true", help="write the page from RESULTS.json")
    arguments = parser.parse_args()
    store = arguments.out.with_suffix(".json")
    keep = (arguments.only or arguments.again) and store.exists()
    known = json.loads(store.read_text(encoding="utf-8")) if keep else []
    found = {entry["case"]: entry for entry in known}
    for case in CASES:
        if arguments.only in case.name and not arguments.again:
            present = [c for c in contestants() if not c.missing]
            results = {c.name: c.run(case, arguments.seconds) for c in present}
            print(case.name, results, flush=True)
            found[case.name] = {"case": case.name, "results": results}
    raw = [found[case.name] for case in CASES if case.name in found]
    arguments.out.write_text(report(raw) + sections.kept(arguments.out), encoding="utf-8")
    store.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
