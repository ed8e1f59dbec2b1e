"""All faces and Betti numbers: beside relucent's, and of large networks.

    python -m benchmarks.complex             small networks, beside relucent's, and large ones; writes a section of RESULTS.md
    python -m benchmarks.complex --again     the section anew from complex.json, without measuring

relucent is found through RELUCENT_PYTHON, as in `benchmarks.side_by_side`; without it what is known of it stays.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any

import tropicell
from benchmarks import sections
from benchmarks.cases import Case
from benchmarks.side_by_side import Contestant

HERE = Path(__file__).parent
STORE = HERE / "complex.json"
TITLE = "Faces and topology"

#: All of R^n: relucent does not know the sides of a box as faces.
SMALL = (
    Case("2-D [12,12], all of R²", (2, 12, 12, 1), None, seed=81),
    Case("2-D [18,18], all of R²", (2, 18, 18, 1), None, seed=81),
    Case("3-D [8,8], all of R³", (3, 8, 8, 1), None, seed=82),
    Case("3-D [9,9], all of R³", (3, 9, 9, 1), None, seed=82),
    Case("4-D [6,5], all of R⁴", (4, 6, 5, 1), None, seed=83),
)

LARGE = (
    Case("2-D [600,600,600], box", (2, 600, 600, 600, 1), 4.0, seed=84),
    Case("3-D [56,56,56], box", (3, 56, 56, 56, 1), 3.0, seed=85),
    Case("3-D [80,80,80], box", (3, 80, 80, 80, 1), 3.0, seed=85),
    Case("4-D [28,28,28], box", (4, 28, 28, 28, 1), 3.0, seed=86),
)

#: What shall be reached: the case, cells at least, seconds at most for all faces and Betti numbers.
WANTED = ((LARGE[0].name, 1_000_000, 30), (LARGE[1].name, 200_000, 60))


def contestants() -> list[Contestant]:
    python = os.environ.get("RELUCENT_PYTHON", "")
    options = {"persistence": True}
    own = os.pathsep.join([str(HERE), str(Path(tropicell.__file__).parents[1])])
    return [
        Contestant(
            "Tropicell",
            "topology_tropicell.py",
            options=options,
            environment={"PYTHONPATH": own},
        ),
        Contestant("relucent", "topology_relucent.py", python, needs=("RELUCENT_PYTHON",)),
    ]


def measured(cases: tuple[Case, ...], seconds: float, known: list[Any], *, alone: bool) -> Any:
    """What the contestants say of some cases; of those that are missing, what is known."""
    found = []
    for case in cases:
        old: dict[str, Any] = next((e["results"] for e in known if e["case"] == case.name), {})
        results = {}
        for contestant in contestants()[: 1 if alone else 2]:
            missing = contestant.missing
            entry = old.get(contestant.name) if missing else contestant.run(case, seconds)
            if entry:
                results[contestant.name] = entry
                print(case.name, contestant.name, entry, flush=True)
        found.append({"case": case.name, "results": results})
    return found


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def _seconds(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def report(data: dict[str, Any]) -> str:
    """All that was measured, as a section."""
    lines = [
        f"`python -m benchmarks.complex` with Tropicell {data['version']}, Python {data['python']}, {data['machine']}; load of the machine {data['load']}.",
        "CPU seconds of one thread, each contestant in a process of its own, which has done the same for a tiny network before, so that nothing is imported or compiled any more: the regions, then all faces of all dimensions with their incidences, then Betti numbers over GF(2) with unbounded cells truncated, with "
        "one point at infinity, and Borel–Moore.",
        "",
    ]
    rows, same, others = [], [], []
    for entry in data["small"]:
        ours = entry["results"]["Tropicell"]
        for name, result in entry["results"].items():
            if "regions" not in result:
                rows.append([entry["case"], name, str(result.get("note", "–")), *[""] * 5])
                continue
            s, base = result["seconds"], ours["seconds"]
            topology = s["faces"] + s["betti"]
            rows.append([
                entry["case"], name, f"{result['regions']:,}", f"{sum(result['faces']):,}", _seconds(s["regions"]), _seconds(s["faces"]), _seconds(s["betti"]),
                f"{topology / (base['faces'] + base['betti']):,.0f}",
            ])  # fmt: skip
            if name != "Tropicell":
                agree = all(result[key] == ours[key] for key in ("regions", "faces", "betti"))
                (same if agree else others).append(entry["case"])
    head = ["network", "tool", "regions", "faces", "regions, s", "faces, s", "Betti numbers, s", "times Tropicell's, faces and Betti numbers"]  # fmt: skip
    lines += _table(head, rows)
    if same or others:
        lines += [
            f"Numbers of faces of each dimension and all Betti numbers are the same: {', '.join(same) or 'nowhere'}."
            + (f" They differ: {', '.join(others)}." if others else ""),
            "",
        ]
    rows = []
    for entry in data["large"]:
        r = entry["results"]["Tropicell"]
        if "regions" not in r:
            rows.append([entry["case"], str(r.get("note", "–")), *[""] * 8])
            continue
        s = r["seconds"]
        rows.append([
            entry["case"], " / ".join(f"{n:,}" for n in r["faces"]), _seconds(s["regions"]), _seconds(s["faces"]), _seconds(s["betti"] / 3),
            _seconds(s["level set"]), _seconds(s["persistence"]) if "persistence" in s else "–", f"{r['bytes'] / r['regions']:,.0f}", f"{r['peak growth'] / r['regions']:,.0f}",
            f"{r['mean degree']:.2f}",
        ])  # fmt: skip
    head = ["network", "faces (vertices / … / cells)", "regions, s", "faces, s", "Betti numbers, s", "a level set and its Betti numbers, s", "persistence, s", "bytes a cell", "peak, bytes a cell", "mean degree"]  # fmt: skip
    lines += [
        f"Larger ones, Tropicell alone (Betti numbers once; load {data['load, large']}):",
        "",
        *_table(head, rows),
    ]
    known = {e["case"]: e["results"]["Tropicell"] for e in data["large"]}
    for name, cells, most in WANTED:
        r = known.get(name, {})
        if "regions" in r:
            took = r["seconds"]["faces"] + r["seconds"]["betti"] / 3
            reached = r["regions"] >= cells and took <= most
            lines.append(
                f"{name}: {r['regions']:,} cells, all faces and Betti numbers in {_seconds(took)} s. At least {cells:,} cells in at most {most} s: {'reached' if reached else '**not reached**'}."
            )
    lines.append("")
    wrong = [
        e["case"]
        for e in data["large"]
        if "euler" in (r := e["results"]["Tropicell"]) and r["euler"][0] != r["euler"][1]
    ]
    lines += [
        "Euler's relation holds for all of them." if not wrong else f"Euler's relation fails: {', '.join(wrong)}.",
        "",
    ]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120, help="time limit for each run")
    parser.add_argument("--small", action="store_true", help="without the large networks")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    parser.add_argument("--again", action="store_true", help="write the section from the data")
    arguments = parser.parse_args()
    store = arguments.out.with_name(STORE.name)
    data = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
    if not arguments.again:
        data |= {
            "version": tropicell.__version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "load": round(os.getloadavg()[0], 1),
            "small": measured(SMALL, arguments.seconds, data.get("small", []), alone=False),
        }
        if not arguments.small:
            data["load, large"] = data["load"]
            data["large"] = measured(LARGE, arguments.seconds, data.get("large", []), alone=True)
        store.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sections.put(arguments.out, TITLE, report(data))
    print(report(data))


if __name__ == "__main__":
    main()
