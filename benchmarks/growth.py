"""How time and memory grow: with the number of regions, with width, depth and dimension.

    python -m benchmarks.growth

Each point is counted in a process of its own. Writes GROWTH.md and growth.png beside this file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

from benchmarks.cases import Case
from benchmarks.side_by_side import Contestant

mpl.use("Agg")
from matplotlib import pyplot

HERE = Path(__file__).parent

SERIES = {
    "regions: 2-D, one layer of n neurons": [
        Case(f"[{n}]", (2, n, 1)) for n in (100, 300, 1000, 3000, 5000, 8000, 10000)
    ],
    "width: 2-D, three layers of n neurons": [
        Case(f"3×[{n}]", (2, n, n, n, 1)) for n in (8, 16, 32, 64, 128, 256)
    ],
    "depth: 2-D, n layers of 64 neurons": [
        Case(f"{n}×[64]", (2, *[64] * n, 1), spread=2.0) for n in (1, 2, 4, 8, 12)
    ],
    "dimension: n inputs, two layers of 10 neurons, all of R^n": [
        Case(f"{n}-D", (n, 10, 10, 1), None) for n in (1, 2, 3, 4, 5, 6, 8, 10)
    ],
}


def main() -> None:
    counting = Contestant("Tropicell", "run_tropicell.py", options={"mode": "count"})
    results: dict[str, list[dict[str, Any]]] = {}
    lines = [
        "# Growth",
        "",
        "Counting, exact arithmetic, one core; each point in a process of its own.",
        "",
    ]
    for name, cases in SERIES.items():
        lines += [
            f"## {name}",
            "",
            "| network | regions | seconds | regions a second | peak memory |",
        ]
        lines += ["| --- | --- | --- | --- | --- |"]
        results[name] = []
        for case in cases:
            result = counting.run(case, 600)
            print(name, case.name, result, flush=True)
            results[name].append({"case": case.name, **result})
            rate = result["regions"] / result["seconds"]
            lines.append(
                f"| {case.name} | {result['regions']:,} | {result['seconds']:.3g} | {rate:,.0f} | "
                f"{result['peak_mb']:.0f} MB |"
            )
        lines.append("")
    lines.append("![time and memory against the number of regions](growth.png)")
    (HERE / "GROWTH.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (HERE / "growth.json").write_text(json.dumps(results, indent=1) + "\n")
    draw(results)


def draw(results: dict[str, list[dict[str, Any]]]) -> None:
    """Time and memory against the number of regions, one line a series."""
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    for name, points in results.items():
        regions = [point["regions"] for point in points]
        label = name.split(":")[0]
        axes[0].loglog(regions, [point["seconds"] for point in points], "o-", label=label)
        axes[1].semilogx(regions, [point["peak_mb"] for point in points], "o-", label=label)
    axes[0].set(xlabel="regions", ylabel="seconds", title="time to count")
    axes[1].set(xlabel="regions", ylabel="peak memory of the process, MB", ylim=(0, None))
    axes[1].set_title("memory to count")
    axes[0].legend(title="what grows")
    for ax in axes:
        ax.grid(alpha=0.3)
    figure.savefig(HERE / "growth.png", dpi=150)


if __name__ == "__main__":
    main()
