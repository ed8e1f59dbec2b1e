"""The dual graph (which regions are neighbours): beside relucent's, and of one large network.

    python -m benchmarks.dual_graph             small networks, beside relucent's; writes a section of RESULTS.md
    python -m benchmarks.dual_graph --large     also the network with 3,881,333 regions; takes minutes, and 4 GB
    python -m benchmarks.dual_graph --again     the section anew from dual_graph.json, without measuring

relucent is found through RELUCENT_PYTHON, as in `benchmarks.side_by_side`; without it what is known of it stays.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from benchmarks import sections
from benchmarks.cases import CASES, Case
from benchmarks.side_by_side import Contestant
from tropicell import Network, Regions, WholeSpace, enumerate_regions
from tropicell.analysis import graph as graphs

HERE = Path(__file__).parent
STORE = HERE / "dual_graph.json"
TITLE = "Dual graph"

#: All of R^n: relucent knows no facets of a box. Small ones, and such as take it minutes.
SMALL = (
    Case("5-D [6,4], all of R⁵", (5, 6, 4, 1), None, seed=71),
    Case("8-D [7,2], all of R⁸", (8, 7, 2, 1), None, seed=72),
    Case("5-D [8,6], all of R⁵", (5, 8, 6, 1), None, seed=73),
    Case("8-D [9,3], all of R⁸", (8, 9, 3, 1), None, seed=74),
)

LARGE = next(case for case in CASES if case.sizes == (10, 16, 8, 1))

#: Regions of the large network whose neighbours are worked out once more, in rationals.
CHECKED = 20


def contestants() -> list[Contestant]:
    options = {"mode": "graph"}
    python = os.environ.get("RELUCENT_PYTHON", "")
    return [
        Contestant("Tropicell", "run_tropicell.py", options=options),
        Contestant(
            "relucent", "run_relucent.py", python, options=options, needs=("RELUCENT_PYTHON",)
        ),
    ]


def neighbours_exactly(regions: Regions, index: int) -> set[int]:
    """The neighbours of one region in rationals, each boundary of its pattern by itself."""
    region = regions[index]
    cell, maps = region.cell, regions.network.maps("exact")
    found = set()
    for line in range(regions.lines.first, regions.lines.first + len(regions.lines.neuron)):
        behind = graphs._pattern_behind_line(regions, region, maps, cell, line)
        if behind is not None:
            found.add(int(regions.packed.find(behind[None])[0]))
    return found


def edges_exactly(case: Case) -> int:
    """The number of edges of a small graph in rationals, each boundary of each region by itself."""
    regions = enumerate_regions(Network.mlp(*case.arrays()), WholeSpace(), progress=False)
    found = (len(neighbours_exactly(regions, index)) for index in range(len(regions)))
    return sum(found) // 2  # each edge is found from both of its ends


def large() -> dict[str, Any]:
    """Figures of the large graph, and what was checked."""
    weights, biases = LARGE.arrays()
    network = Network.mlp(weights, biases)
    started = time.process_time()
    regions = enumerate_regions(network, WholeSpace(), progress=False)
    found_after = time.process_time() - started
    started, wall = time.process_time(), time.perf_counter()
    graph = regions.neighbours
    seconds, wall = time.process_time() - started, time.perf_counter() - wall
    count, pairs = len(regions), graph.pairs
    degrees = np.bincount(pairs.ravel(), minlength=count)
    ones = np.ones(len(pairs), dtype=np.int8)
    parts = int(connected_components(coo_array((ones, pairs.T), shape=(count, count)), False)[0])
    del ones
    rng = np.random.default_rng(0)
    some = np.sort(rng.choice(count, CHECKED, replace=False)).tolist()
    at, here = rng.integers(len(pairs), size=100_000), pairs
    one, two = (regions.packed.words[here[at, k]] for k in (0, 1))
    changed = np.unpackbits((one ^ two).view(np.uint8), axis=1).sum(axis=1)
    both = np.sort(pairs[:, 0] * count + pairs[:, 1])
    print(f"{count:,} regions, {len(pairs):,} edges, {seconds:.0f} s, parts: {parts}", flush=True)
    wrong = 0
    for index in some:
        ours = set(pairs[pairs[:, 0] == index, 1].tolist())
        ours |= set(pairs[pairs[:, 1] == index, 0].tolist())
        wrong += ours != neighbours_exactly(regions, index)
        print(f"region {index}: checked, {wrong} wrong until now", flush=True)
    return {
        "network": LARGE.name,
        "regions": count,
        "complete": regions.complete,
        "edges": len(pairs),
        "degrees": np.bincount(degrees).tolist(),
        "components": parts,
        "pairs that occur twice": int((np.diff(both) == 0).sum()),
        "checked exactly": len(some),
        "of these wrong": wrong,
        "pairs sampled": len(at),
        "of these one neuron apart": int((changed == 1).sum()),
        "enumeration, CPU s": found_after,
        "neighbours, CPU s": seconds,
        "neighbours, s": wall,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def _with(data: dict[str, Any], part: str) -> str:
    """What a part was measured with, in words."""
    about = data["about"].get(part, {})
    version, python = about.get("version", "–"), about.get("python", "–")
    machine, load = about.get("machine", "–"), about.get("load", "–")
    return f"Tropicell {version}, Python {python}, {machine}; load of the machine {load}."


def report(data: dict[str, Any]) -> str:
    """All that was measured, as a section."""
    lines = [
        f"`python -m benchmarks.dual_graph` with {_with(data, 'small')}",
        "The pairs of regions that share a facet, from the regions on. One core, one run, each contestant in a process of its own.",
        "",
    ]
    rows = []
    for entry in data.get("small", []):
        base = entry["results"]["Tropicell"]
        for name, result in entry["results"].items():
            if "regions" not in result:
                rows.append([entry["case"], name, str(result.get("note", "–")), "", "", "", ""])
                continue
            per = 1e6 / max(1, result["regions"])
            whole = result["seconds"] + result["graph_seconds"]
            times = "–"
            if "regions" in base:
                ours = (base["seconds"] + base["graph_seconds"]) / base["regions"]
                times = f"{whole / result['regions'] / ours:,.0f}"
            rows.append([
                entry["case"], name, f"{result['regions']:,}" + ("" if result["complete"] else " †"), f"{result['edges']:,}",
                f"{per * result['seconds']:,.1f}", f"{per * result['graph_seconds']:,.1f}", times,
            ])  # fmt: skip
    head = [
        "network",
        "tool",
        "regions",
        "edges",
        "regions, µs each",
        "graph, µs a region",
        "times Tropicell's, both",
    ]
    lines += _table(head, rows)
    if any("†" in row[2] for row in rows):
        lines += ["†: stopped at the time limit.", ""]
    agree = [
        entry["case"]
        for entry in data.get("small", [])
        if len(done := [r for r in entry["results"].values() if r.get("complete")]) > 1
        and len({(r["regions"], r["edges"]) for r in done}) == 1
    ]
    for entry in data.get("small", []):
        right = entry.get("edges in rationals")
        theirs = {n: r["edges"] for n, r in entry["results"].items() if r.get("complete")}
        if right is not None:
            said = ", ".join(
                f"{name} has {edges - right:+,}" if edges != right else f"{name} has these"
                for name, edges in theirs.items()
            )
            lines += [
                f"{entry['case']}: {right:,} edges in rationals; {said or 'none is complete'}.",
                "",
            ]
    lines += [
        f"Regions and edges agree where both are complete: {', '.join(agree) or 'nowhere'}.",
        "",
    ]
    if "large" in data:
        big = data["large"]
        degrees = np.repeat(np.arange(len(big["degrees"])), big["degrees"])
        lines += [
            f"`python -m benchmarks.dual_graph --large` with {_with(data, 'large')}",
            "",
            f"**{big['network']}**: {big['regions']:,} regions, {big['edges']:,} edges; {2 * big['edges'] / big['regions']:.2f} neighbours a region "
            f"(at least {degrees.min()}, at most {degrees.max()}, median {int(np.median(degrees))}); connected parts: {big['components']}.",
            f"Found in {big['neighbours, CPU s']:.0f} s of CPU time on one core, {1e6 * big['neighbours, CPU s'] / big['regions']:.1f} µs a region "
            f"(the regions themselves: {big['enumeration, CPU s']:.0f} s), with at most {big['peak MB'] / 1024:.1f} GB of memory in all.",
            f"Checked: pairs that occur twice: {big['pairs that occur twice']}; of {big['pairs sampled']:,} random pairs {big['of these one neuron apart']:,} differ in one neuron; "
            f"the neighbours of {big['checked exactly']} random regions, worked out in rationals boundary by boundary: {big['of these wrong']} differ.",
            "",
            *_table(["neighbours", *(str(k) for k, n in enumerate(big["degrees"]) if n)],
                    [["regions", *(f"{n:,}" for n in big["degrees"] if n)]]),
        ]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="also the large network")
    parser.add_argument("--only-large", action="store_true", help="the large network alone")
    parser.add_argument("--seconds", type=float, default=600, help="time limit for each run")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    parser.add_argument("--again", action="store_true", help="write the section from the data")
    arguments = parser.parse_args()
    store = arguments.out.with_name(STORE.name)
    data = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
    if not arguments.again:
        about = data.setdefault("about", {})
        if not arguments.only_large:
            about["small"] = sections.about()
            data["small"] = [
                {
                    "case": case.name,
                    "edges in rationals": edges_exactly(case),
                    "results": {
                        c.name: c.run(case, arguments.seconds)
                        for c in contestants()
                        if not c.missing
                    },
                }
                for case in SMALL
            ]
        if arguments.large or arguments.only_large:
            about["large"] = sections.about()
            data["large"] = large()
        store.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sections.put(arguments.out, TITLE, report(data))
    print(report(data))


if __name__ == "__main__":
    main()
