"""Answers from regions: what each takes against storing the same regions; writes a section of RESULTS.md.

    python -m benchmarks.answers [--quick] [--only NAME …] [--networks NAME …] [--most REGIONS] [--rounds N] [--seconds S] [--processes N]
    python -m benchmarks.answers --again    the section anew from answers.json, without measuring

Set OPENBLAS_NUM_THREADS=1: threads of NumPy that wait for each other count as CPU time.

An answer is a row of `ANSWERS`: a name, what is asked, and what it may take; a network is a row of `CASES`. Every answer is
asked on all networks with a number of inputs that it names. It gets regions as `enumerate_regions` gives them, with nothing
worked out since; what `ready` asks for comes first, and its time does not count. Enumeration and answer take turns, on one
thread and in CPU time, and the best of some rounds counts: only ratios of one run mean something. None of the networks was
used to tune anything. An answer that takes longer than the limit is ended, and its row says so; rows are written network by network.

All of it takes a quarter of an hour or more. With --processes each network is measured by a process of its own, so many at a time.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tropicell
from benchmarks import sections
from benchmarks.deep_networks import DeepCase
from tropicell import DataRegions, Regions, TimeLimitError, enumerate_regions, time_limit
from tropicell.analysis.measure import decision_boundary, extrema, integral, lipschitz
from tropicell.explorer import data as explorer_data
from tropicell.explorer import shapes as explorer_shapes

HERE = Path(__file__).parent
STORE = HERE / "answers.json"
TITLE = "Answers"

#: Points that are located.
POINTS = 1_000_000

#: Seconds after which an answer is ended.
LIMIT = 120.0

#: Networks with more regions are measured once: one run takes long enough.
LARGE = 300_000

Row = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What is asked of regions, and what it may take: at most `enumeration` times the enumeration, so many microseconds a
    region, so many seconds, so many megabytes besides what there was before and the answer itself (measured once, by
    `tracemalloc`), or so many times what another library's own constructor takes (`own`).

    Attributes
    ----------
    name : str
    ask : callable
        Gets fresh regions, and what `given` made of them.
    ready : sequence of str
        Columns that are worked out before.
    given : callable
        Makes something before, of the same regions.
    inputs : iterable of int
        Numbers of inputs of the networks on which it is asked.
    own : callable, optional
        What another library does by itself with the same things.
    """

    name: str
    ask: Callable[[Regions, Any], object]
    enumeration: float | None = None
    microseconds: float | None = None
    seconds: float | None = None
    megabytes: float | None = None
    times_own: float | None = None
    ready: Sequence[str] = ()
    given: Callable[[Regions], Any] = len
    inputs: Iterable[int] = (2,)
    own: Callable[[Any], object] | None = None


def points_in(regions: Regions) -> np.ndarray:
    """Points all over the box of a case."""
    low, high = regions.domain.corners(regions.network.n_inputs)
    return np.random.default_rng(1).uniform(low, high, (POINTS, len(low)))


def networkx_parts(regions: Regions) -> Any:
    """What networkx itself is given: nodes and edges with dictionaries."""
    found = regions.neighbours
    nodes = [(i, {"pattern": text}) for i, text in enumerate(regions.texts())]
    pairs = enumerate(found.pairs.tolist())
    return nodes, [(i, j, {"neurons": found.neurons[k].tolist()}) for k, (i, j) in pairs]


def networkx_alone(parts: Any) -> object:
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(parts[0])
    graph.add_edges_from(parts[1])
    return graph


def shapely_alone(regions: Regions) -> object:
    import shapely

    corners = regions.corners
    return shapely.polygons(shapely.linearrings(corners.values[:, :2], indices=corners.owners()))


def plot(color: str, regions: Regions, _: Any = None) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    tropicell.plotting.plot_regions(regions, color=color)  # type: ignore[arg-type]
    plt.close("all")


def explore(regions: Regions, _: Any = None) -> None:
    shape = explorer_shapes.outline(regions)
    explorer_data.encode(regions, shape, centre=np.zeros(2), scale=1.0, label="")


PLANE, FEW, MANY, ALL = (2,), (2, 3, 4), tuple(range(5, 11)), tuple(range(2, 11))

# One row an answer. Another one is one line: a name, what is asked, what it may take.
ANSWERS = [
    Answer("neighbours", lambda r, _: r.neighbours, enumeration=1, inputs=FEW),
    Answer("neighbours, 5 inputs and more", lambda r, _: r.neighbours, microseconds=50, inputs=MANY),
    Answer("locate, 10⁶ points", lambda r, p: r.locate(p), seconds=1.0, megabytes=500, given=points_in, inputs=ALL),
    Answer("locate, 10⁶ points, exact", lambda r, p: r.locate(p, arithmetic="exact"), given=points_in),
    Answer("patterns, 10⁵ points", lambda r, p: r.network.patterns(p[:100_000]), megabytes=500, given=points_in, inputs=ALL),
    Answer("contains, 10⁶ points", lambda r, p: r.domain.contains(p), megabytes=500, given=points_in, inputs=ALL),
    Answer("DataRegions, 10⁵ points", lambda r, p: DataRegions(r.network, p[:100_000]), megabytes=500, given=points_in, inputs=ALL),
    Answer("texts", lambda r, _: r.texts(), microseconds=5, inputs=FEW),
    Answer("after_layer(2)", lambda r, _: r.after_layer(2), microseconds=5, inputs=FEW),
    Answer("to_dataframe", lambda r, _: r.to_dataframe(), microseconds=5, ready=["affine_maps", "volumes"], inputs=FEW),
    Answer("to_arrow", lambda r, _: r.to_arrow(), microseconds=5, ready=["affine_maps", "volumes"], inputs=FEW),
    Answer("to_shapely", lambda r, _: r.to_shapely(), times_own=2, given=lambda r: r, own=shapely_alone),
    Answer("to_networkx", lambda r, _: r.to_networkx(), times_own=2, ready=["neighbours"], given=networkx_parts, own=networkx_alone, inputs=(2, 3)),
    Answer("affine_maps", lambda r, _: r.affine_maps, enumeration=1, inputs=range(2, 11)),
    Answer("extrema", lambda r, _: extrema(r), enumeration=1, inputs=range(2, 11)),
    Answer("lipschitz", lambda r, _: lipschitz(r), enumeration=1, inputs=range(2, 11)),
    Answer("merged, neighbours known", lambda r, _: r.merged(), enumeration=1, ready=["neighbours"], inputs=range(2, 5)),
    Answer("volumes", lambda r, _: r.volumes, enumeration=1, inputs=range(2, 5)),
    Answer("volumes, 5 to 8 inputs", lambda r, _: r.volumes, microseconds=1000, inputs=range(5, 9)),
    Answer("integral", lambda r, _: integral(r), enumeration=3, inputs=range(2, 5)),
    Answer("integral, 5 inputs and more", lambda r, _: integral(r), enumeration=3, inputs=range(5, 11)),
    Answer("decision_boundary", lambda r, _: decision_boundary(r), enumeration=1, inputs=(2, 3)),
    Answer("plot_regions, patterns", partial(plot, "pattern"), microseconds=5, ready=["neighbours"]),
    Answer("plot_regions, areas", partial(plot, "area"), microseconds=5),
    Answer("certify", lambda r, _: r.certify(progress=False), enumeration=5, inputs=range(2, 11)),
    Answer("explorer's data", explore, microseconds=5, ready=["affine_maps"]),
]  # fmt: skip


def _case(sizes: tuple[int, ...], seed: int, **options: Any) -> DeepCase:
    hidden = ", ".join(map(str, sizes[1:-1]))
    return DeepCase(f"{sizes[0]}-D [{hidden}]", sizes, seed=seed, **options)


# Others than those in tests and other benchmarks: from 16,000 to 870,000 regions.
CASES = [
    _case((2, 110, 95, 2), 9001),
    _case((2, 90, 70, 50, 3), 9002),
    _case((2, 64, 64, 64, 64, 64, 2), 9003),
    _case((2, 150, 150, 150, 2), 9004),
    _case((2, 120, 120, 120, 120, 120, 2), 9005),
    _case((2, 300, 300, 300, 4), 9006),
    _case((3, 60, 40, 2), 9103),
    _case((3, 40, 40, 30, 2), 9103),
    _case((4, 30, 20, 2), 9104),
    _case((4, 24, 24, 24, 2), 9104),
    _case((5, 12, 12, 12, 2), 9105),
    _case((5, 24, 16, 3), 9105),
    _case((6, 16, 12, 2), 9106),
    _case((7, 14, 10, 2), 9107),
    _case((8, 14, 8, 2), 9108),
    _case((9, 13, 8, 3), 9109),
    _case((10, 12, 8, 2), 9110),
    _case((10, 14, 8, 2), 9110),
    _case((3, 26, 22, 18, 2), 9101),
    _case((4, 16, 15, 1), 9102),
    _case((4, 13, 12, 11, 2), 9103),
    _case((5, 13, 12, 2), 9104),
    _case((6, 12, 9, 1), 9105),
    _case((8, 9, 8, 2), 9106),
    _case((10, 12, 6, 1), 9107),
]


# --- measuring --------------------------------------------------------------------------------


def fresh(regions: Regions) -> Regions:
    """The same regions without what was worked out since they were found."""
    packed = regions.packed
    columns = {
        name: regions.known(name) for name in ("bounded", "volumes", "corners", "facet_lines")
    }
    return Regions(
        copy.copy(regions.network),
        regions.domain,
        type(packed)(packed.words, packed.neurons, packed.bits),
        regions.witnesses,
        stats=regions.stats,
        **columns,
    )


def timed(work: Callable[[], object]) -> float:
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


def extra_megabytes(work: Callable[[], object]) -> float:
    """Memory of Python and NumPy that work takes at most, without what it gives."""
    tracemalloc.start()
    try:
        found = work()
        now, peak = tracemalloc.get_traced_memory()
        del found
        left, _ = tracemalloc.get_traced_memory()
        return (peak - (now - left)) / 2**20
    finally:
        tracemalloc.stop()


def measure(
    case: DeepCase, answers: Sequence[Answer], rounds: int, most: int, limit: float
) -> list[Row]:
    """Times of an enumeration and of all answers, which take turns.

    An answer that is not there after `limit` seconds has a row with "ended": after how much CPU time.
    """
    network, domain = case.network(), case.domain()

    def store() -> Regions:
        return enumerate_regions(network, domain, progress=False, max_regions=most + 1)

    regions = store()
    if not regions.complete:
        print(f"{case.name}: more than {most:,} regions, left out", flush=True)
        return []
    kept = {}
    for name in {name for answer in answers for name in answer.ready}:
        kept[name] = getattr(fresh(regions), name)  # not kept by the regions themselves
    found: dict[str, Row] = {}
    for answer in answers:
        one = _ready(regions, kept, answer.ready)
        given = answer.given(one)
        work = partial(answer.ask, one, given)  # kernels are loaded, libraries imported
        found[answer.name] = {
            "network": case.name, "inputs": case.inputs, "answer_name": answer.name, "regions": len(regions), "enumerate": np.inf, "answer": np.inf
        }  # fmt: skip
        started = time.process_time()
        try:
            with time_limit(limit):
                if answer.megabytes is None:
                    work()
                else:
                    found[answer.name]["megabytes"] = extra_megabytes(work)
        except TimeLimitError:
            found[answer.name]["ended"] = time.process_time() - started
            print(f"{case.name}: {answer.name} takes more than {limit:g} s", flush=True)
    for _ in range(rounds if len(regions) < LARGE else 1):
        enumeration = timed(store)
        for answer in answers:
            if "ended" in found[answer.name]:
                row = found[answer.name]
                row["enumerate"] = min(row["enumerate"], enumeration)
                row["answer"] = row["ended"]  # at least
                continue
            row, one = found[answer.name], _ready(regions, kept, answer.ready)
            given = answer.given(_ready(regions, kept, answer.ready))
            row["enumerate"] = min(row["enumerate"], enumeration)
            row["answer"] = min(row["answer"], timed(partial(answer.ask, one, given)))
            if answer.own is not None:
                given = answer.given(one)  # networkx keeps the dictionaries
                row["own"] = min(row.get("own", np.inf), timed(partial(answer.own, given)))
            del given, one
    for row in found.values():
        print(json.dumps(row, ensure_ascii=False), flush=True)
    return list(found.values())


def in_processes(
    cases: Sequence[DeepCase], count: int, options: Sequence[str]
) -> Iterator[list[Row]]:
    """The rows of all networks, each measured by a process of its own, in the order in which they are done."""

    def measured(case: DeepCase) -> list[Row]:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "RESULTS.md"
            command = [sys.executable, "-m", "benchmarks.answers", "--networks", case.name]
            subprocess.run([*command, *options, "--out", str(out)], cwd=HERE.parent, check=True)
            store = out.with_name(STORE.name)
            if not store.exists():  # nothing is asked on it
                return []
            rows: list[Row] = json.loads(store.read_text(encoding="utf-8"))["rows"]
            return rows

    with ThreadPoolExecutor(count) as pool:
        for done in as_completed([pool.submit(measured, case) for case in cases]):
            yield done.result()


def _ready(regions: Regions, kept: dict[str, Any], names: Sequence[str]) -> Regions:
    found = fresh(regions)
    vars(found).update({name: kept[name] for name in names})
    return found


# --- what it means ----------------------------------------------------------------------------


def share(answer: Answer, row: Row) -> float | None:
    """What a row takes of what it may take: 1 or less is fine. None, if nothing is asked.

    Of a row that was ended, what it takes at least.
    """
    parts = [
        (answer.enumeration, row["answer"] / row["enumerate"]),
        (answer.microseconds, 1e6 * row["answer"] / row["regions"]),
        (answer.seconds, row["answer"]),
        (answer.megabytes, row.get("megabytes", 0.0)),
        (answer.times_own, row["answer"] / row["own"] if "own" in row else 0.0),
    ]
    found = [value / limit for limit, value in parts if limit is not None]
    return max(found) if found else None


def target(answer: Answer) -> str:
    texts = [
        (answer.enumeration, "times the enumeration"),
        (answer.microseconds, "µs a region"),
        (answer.seconds, "s"),
        (answer.megabytes, "MB"),
        (answer.times_own, "times the library's own constructor"),
    ]
    return ", ".join(f"≤ {limit:g} {text}" for limit, text in texts if limit is not None) or "–"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def _runs(data: dict[str, Any]) -> list[dict[str, Any]]:
    """What rows were measured with, each once: rows that are not measured anew stay what they were."""
    found: list[dict[str, Any]] = []
    for row in data["rows"]:
        run = row.get("run", data["about"])
        if run not in found:
            found.append(run)
    return found


def report(data: dict[str, Any]) -> str:
    """All that was measured, as a section."""
    rows, runs = data["rows"], _runs(data)
    lines = [
        "`python -m benchmarks.answers`, CPU time on one thread; He's initialisation, biases N(0, ½), box [-3, 3]ⁿ. The ratio is to `enumerate_regions`, which stores the same regions,",
        f'in the same run. From {LARGE:,} regions on one round is enough. ">": ended after a limit of seconds.',
        "",
    ]
    for number, run in enumerate(runs, 1):
        lines += [
            f"Run {number}: Tropicell {run['version']}, Python {run['python']}, {run['machine']}, load {run['load']}, best of {run['rounds']} rounds in turn, limit {run.get('limit', LIMIT):g} s.",
            "",
        ]
    verdicts, figures = [], []
    for answer in ANSWERS:
        own = [row for row in rows if row["answer_name"] == answer.name]
        if not own:
            continue
        shares = [(value, row) for row in own if (value := share(answer, row)) is not None]
        reached = sum(value <= 1 and "ended" not in row for value, row in shares)
        worst = max(shares, key=lambda pair: pair[0], default=None)
        verdict = (
            "–"
            if worst is None
            else "yes"
            if reached == len(shares)
            else f"no: {reached} of {len(shares)}"
        )
        furthest = "–"
        if worst is not None:
            more = "more than " if "ended" in worst[1] else ""
            furthest = f"{worst[1]['network']}: {more}{worst[0]:.2f} of it"
        verdicts.append([answer.name, target(answer), verdict, furthest])
        for row in own:
            times = f"{row['answer'] / row['own']:.2f}" if "own" in row else "–"
            memory = f"{row['megabytes']:.0f}" if "megabytes" in row else "–"
            more = "> " if "ended" in row else ""
            figures.append(
                [
                    answer.name,
                    row["network"],
                    f"{row['regions']:,}",
                    f"{1e6 * row['enumerate'] / row['regions']:.2f}",
                    f"{more}{1e6 * row['answer'] / row['regions']:.2f}",
                    f"{more}{row['answer'] / row['enumerate']:.2f}",
                    times,
                    memory,
                    str(runs.index(row.get("run", data["about"])) + 1),
                ]
            )  # fmt: skip
    lines += _table(["answer", "target", "reached", "furthest from it"], verdicts)
    head = [
        "answer",
        "network",
        "regions",
        "enumeration, µs a region",
        "answer, µs a region",
        "ratio",
        "of the library's own",
        "MB",
        "run",
    ]
    return "\n".join([*lines, *_table(head, figures)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two networks, nothing written")
    parser.add_argument("--only", nargs="+", help="answers whose names begin so")
    parser.add_argument("--most", type=int, default=2_000_000, help="regions of a network")
    parser.add_argument("--rounds", type=int, default=3, help="of which the best counts")
    parser.add_argument("--seconds", type=float, default=LIMIT, help="after which a row is ended")
    parser.add_argument("--networks", nargs="+", help="networks whose names begin so")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    parser.add_argument("--processes", type=int, default=1, help="networks measured at a time")
    parser.add_argument("--again", action="store_true", help="write the section from answers.json")
    arguments = parser.parse_args()
    store = arguments.out.with_name(STORE.name)
    known = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {"rows": []}
    if arguments.again:
        sections.put(arguments.out, TITLE, report(known))
        return
    asked = [
        answer
        for answer in ANSWERS
        if arguments.only is None or answer.name.startswith(tuple(arguments.only))
    ]
    about = {
        "version": tropicell.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 1),
        "rounds": arguments.rounds,
        "limit": arguments.seconds,
    }
    chosen = [
        case
        for case in (CASES[:2] if arguments.quick else CASES)
        if not arguments.networks or case.name.startswith(tuple(arguments.networks))
    ]
    if arguments.processes > 1:
        options = ["--rounds", str(arguments.rounds), "--most", str(arguments.most)]
        options += ["--seconds", str(arguments.seconds)]
        options += ["--only", *arguments.only] if arguments.only else []
        parts = in_processes(chosen, arguments.processes, options)
    else:
        parts = (
            measure(case, ours, arguments.rounds, arguments.most, arguments.seconds)
            for case in chosen
            if (ours := [answer for answer in asked if case.sizes[0] in answer.inputs])
        )
    rows: list[Row] = []
    for part in parts:
        rows += [row | {"run": about} for row in part]
        if not arguments.quick:
            new = {(row["network"], row["answer_name"]) for row in rows}
            kept = [
                row | {"run": row.get("run", known["about"])}
                for row in known["rows"]
                if (row["network"], row["answer_name"]) not in new
            ]
            data = {"rows": kept + rows, "about": about}
            text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
            store.write_text(text, encoding="utf-8")
            sections.put(arguments.out, TITLE, report(data))
    if arguments.quick:
        print(report({"rows": rows, "about": about}))


if __name__ == "__main__":
    main()
