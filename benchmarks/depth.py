"""Deep, real and degenerate networks: what exact arithmetic costs there; writes a section of RESULTS.md.

    python -m benchmarks.depth [--quick] [--only generic threads …] [--networks NAME …] [--models FOLDER]
    python -m benchmarks.depth --again      the section anew from depth.json, without measuring
    python -m benchmarks.depth --fit        prices for tropicell/engines/choice.py, by which "auto" chooses

Every figure is a rate, regions a second on one thread of CPU time, of a count that may end at a time limit; what is
compared takes turns, and only ratios of one run mean something. ACAS Xu's networks are read from the folder that
TROPICELL_MODELS (or --models) names; without it they are left out. The networks: `benchmarks.deep_networks`.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

import tropicell
from benchmarks import sections
from benchmarks.certify import fresh
from benchmarks.deep_networks import (
    BIAS_FREE,
    DEGENERATE,
    FITTED,
    GENERIC,
    HELD_OUT,
    SMALL,
    STORED,
    THREADED,
    DeepCase,
    available,
)
from tropicell import Network, count_many, count_regions, enumerate_regions
from tropicell._runtime.interruption import Halt, using
from tropicell.engines import choice, table
from tropicell.errors import TimeLimitError
from tropicell.network.domains import Domain
from tropicell.search.search import Search, SearchOptions

HERE = Path(__file__).parent
STORE = HERE / "depth.json"
TITLE = "Depth"

#: What is to be reached; `verdicts` compares.
LEAST_OF_FLOAT = 0.5
LEAST_OF_FLOAT_DEGENERATE = 0.2
LEAST_RATE_SMALL = 300_000.0
LEAST_RATE_DEGENERATE = 100_000.0
LEAST_OF_TWO_THREADS = 1.8
MOST_OF_BETTER = 1.3
MOST_OF_ENUMERATION = 5.0
MOST_OF_COUNTING = 2.0

#: From so many inputs on, both engines are measured; up to so many, the cells engine is.
FEWEST_FOR_HALFSPACES, MOST_FOR_CELLS = 4, 10

#: What counts many networks in one call.
MANY = "count_many"

#: Regions that are found and proved before anything is measured: kernels are compiled.
_WARM = 1000

#: Seconds that one measurement takes at least, if a single call is shorter.
_LEAST = 0.05


def _quiet(_: str) -> None:
    """What is left out is said once."""


Job = tuple[Network, Domain]
Row = dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes
    ----------
    seconds : float
        After which a count is broken off.
    rounds : int
        Of which the best counts.
    enumeration : float
        Seconds for an enumeration that is to be certified.
    """

    seconds: float
    rounds: int
    enumeration: float


FULL, QUICK = Effort(4.0, 3, 30.0), Effort(0.7, 2, 2.0)


@dataclass
class Rate:
    """What a count gave.

    Attributes
    ----------
    regions : int
        Of one call.
    complete : bool
        Whether these are all.
    per_second : float
    """

    regions: int = 0
    complete: bool = False
    per_second: float = 0.0

    def better(self, other: Rate) -> Rate:
        """The faster one of two; but none that was broken off is better than one that was not."""
        mine, its = (self.complete, self.per_second), (other.complete, other.per_second)
        return other if its > mine else self


def measure(
    jobs: Sequence[Job],
    seconds: float,
    *,
    engine: str = "auto",
    arithmetic: str = "exact",
    workers: int | None = None,
    store: bool = False,
    fresh: bool = False,
) -> Rate:
    """Count the regions of some networks, each within so many seconds, and again if that was short.

    CPU time counts; with `workers` the time that passes. With `store` regions are stored; with `fresh`
    nothing is known of the network from earlier calls. A call that others keep from ending in time, after
    one that did, is left out.
    """
    clock = time.process_time if workers is None else time.perf_counter
    best = Rate()
    regions, spent, complete = 0, 0.0, True
    while not best.regions or (spent < _LEAST and complete):
        found = 0
        for network, domain in jobs:
            search = Search(
                copy.copy(network) if fresh else network,
                domain,
                SearchOptions(
                    engine=engine,  # type: ignore[arg-type]
                    arithmetic=arithmetic,  # type: ignore[arg-type]
                    workers=workers or 1,
                    max_seconds=seconds,
                    progress=False,
                ),
            )
            started = clock()
            for _ in search.batches(store=store):
                pass
            found, complete = found + search.count, complete and search.complete
            spent += clock() - started
        if best.regions and not complete:
            break
        regions += found
        best = Rate(found, complete, regions / max(spent, 1e-9))
        if not complete:
            break
    return best


def take_turns(contestants: dict[str, Callable[[], Rate]], rounds: int) -> dict[str, Rate]:
    """The best of some rounds for each; the first round only warms up what is fast."""
    first = {name: run() for name, run in contestants.items()}
    best = dict(first)
    if all(rate.complete for rate in first.values()):
        best = {name: Rate() for name in contestants}  # the first call also prepares the network
    for _ in range(rounds):
        for name, run in contestants.items():
            best[name] = best[name].better(run())
    return {name: rate if rate.regions else first[name] for name, rate in best.items()}


def as_row(rate: Rate) -> Row:
    return {
        "regions": rate.regions,
        "complete": rate.complete,
        "rate": rate.per_second,
    }


# --- what is measured -------------------------------------------------------------------------


def modes(name: str, jobs: Sequence[Job], effort: Effort) -> list[Row]:
    """Exact against float arithmetic; a row for every engine that can be used."""
    inputs = jobs[0][0].n_inputs
    rows = []
    for engine in ("cells", "halfspaces"):
        if engine == "halfspaces" and inputs < FEWEST_FOR_HALFSPACES:
            continue
        found = take_turns(
            {
                mode: lambda mode=mode, engine=engine: measure(  # type: ignore[misc]
                    jobs, effort.seconds, engine=engine, arithmetic=mode
                )
                for mode in ("float", "exact")
            },
            effort.rounds,
        )
        rows.append({"name": name, "engine": engine} | {m: as_row(r) for m, r in found.items()})
    return rows


def many(name: str, jobs: Sequence[Job], effort: Effort) -> Row:
    """The same for small networks in one call, which is how one counts thousands of them."""
    networks, domain = [network for network, _ in jobs], jobs[0][1]

    def count(mode: str) -> Rate:
        regions, started = 0, time.process_time()
        while time.process_time() - started < _LEAST:
            counts = count_many(networks, domain, arithmetic=mode, progress=False)  # type: ignore[arg-type]
            regions += int(sum(counts))
        spent = time.process_time() - started
        return Rate(int(sum(counts)), True, regions / spent)

    found = take_turns(
        {mode: lambda mode=mode: count(mode) for mode in ("float", "exact")},  # type: ignore[misc]
        effort.rounds,
    )
    row = {"name": f"{name}, in one call", "engine": MANY}
    return row | {m: as_row(r) for m, r in found.items()}


def threads(case: DeepCase, network: Network, effort: Effort) -> Row:
    """Two threads against one, by the time that passes."""
    job = [(network, case.domain())]
    found = take_turns(
        {
            str(n): lambda n=n: measure(job, effort.seconds, engine="cells", workers=n)  # type: ignore[misc]
            for n in (1, 2)
        },
        effort.rounds,
    )
    return {"name": case.name} | {n: as_row(rate) for n, rate in found.items()}


def storing(case: DeepCase, network: Network, effort: Effort) -> Row:
    """All regions with all columns in one piece, against their number."""
    domain = case.domain()

    def run(function: Callable[..., Any]) -> Rate:
        regions, started = 0, time.process_time()
        while not regions or time.process_time() - started < _LEAST:
            found = function(network, domain, engine="cells", progress=False)
            one = found if isinstance(found, int) else len(found)
            regions += one
        return Rate(one, True, regions / (time.process_time() - started))

    found = take_turns(
        {"count": lambda: run(count_regions), "store": lambda: run(enumerate_regions)},
        effort.rounds,
    )
    size = enumerate_regions(network, domain, engine="cells", progress=False).nbytes
    return {"name": case.name, "bytes": size} | {key: as_row(r) for key, r in found.items()}


def auto(case: DeepCase, network: Network, effort: Effort) -> list[Row]:
    """`auto` against both engines."""
    job = [(network, case.domain())]
    rows = []
    for mode in ("exact", "float"):
        found = take_turns(
            {
                engine: lambda engine=engine, mode=mode: measure(  # type: ignore[misc]
                    job, effort.seconds, engine=engine, arithmetic=mode, fresh=True
                )
                for engine in ("auto", "cells", "halfspaces")
            },
            effort.rounds,
        )
        search = Search(network, case.domain(), SearchOptions(arithmetic=mode, max_regions=0))  # type: ignore[arg-type]
        for _ in search.batches(store=False):
            pass
        stats = search.stats
        row = {"name": case.name, "arithmetic": mode}
        row |= {"chosen": stats["engine"], "reason": stats["reason"]}
        rows.append(row | {engine: as_row(rate) for engine, rate in found.items()})
    return rows


def proof(name: str, jobs: Sequence[Job], effort: Effort) -> Row:
    """A certificate against the enumeration, in CPU time."""
    regions, enumerated, proved = 0, 0.0, 0.0
    for network, domain in jobs:
        # Long ones take one round only, and that should not be the time of compiling.
        some = enumerate_regions(network, domain, max_regions=_WARM, progress=False)
        fresh(some).certify(progress=False)
        times = []
        for _ in range(effort.rounds):
            started = time.process_time()
            found = enumerate_regions(
                network, domain, max_seconds=effort.enumeration, progress=False
            )
            times.append(time.process_time() - started)
            if not found.complete:
                return {"name": name, "regions": len(found), "ended": "enumeration"}
            if times[-1] > effort.seconds:
                break
        enumerated += min(times)
        regions += len(found)
        limit = 3 * MOST_OF_ENUMERATION * min(times) + 1.0
        times = []
        for _ in range(effort.rounds):
            started = time.process_time()
            try:
                with using(Halt(limit)):
                    certificate = fresh(found).certify(progress=False)
            except TimeLimitError:
                times.append(time.process_time() - started)
                row = {"name": name, "regions": regions, "ended": "certify"}
                return row | {"enumerate": enumerated, "certify": proved + times[-1]}
            times.append(time.process_time() - started)
            if not certificate.ok:
                return {"name": name, "regions": regions, "ended": "wrong"}
            if times[-1] > effort.seconds:
                break
        proved += min(times)
    return {"name": name, "regions": regions, "enumerate": enumerated, "certify": proved}


def groups(models: Path | None) -> dict[str, list[tuple[str, list[Job]]]]:
    """All families in which exact arithmetic is compared with float arithmetic."""

    def of(cases: Sequence[DeepCase]) -> list[tuple[str, list[Job]]]:
        return [
            (c.name, [(network, c.domain())]) for c, network in available(cases, models, _quiet)
        ]

    small = [job for _, jobs in of(SMALL) for job in jobs]
    return {
        "generic": of(GENERIC),
        "small": [(f"2-D 5×[5], all of R², {len(small)} networks", small)],
        "bias-free": of(BIAS_FREE),
        "degenerate": of(DEGENERATE),
    }


PARTS = ("generic", "small", "bias-free", "degenerate", "storing", "threads", "auto", "certify")


def run(
    parts: Sequence[str], effort: Effort, models: Path | None, names: Sequence[str] = ("",)
) -> dict[str, Any]:
    """Measure; the rows of every part, for networks whose names begin as one of `names`."""
    data: dict[str, Any] = {}
    families = {
        part: [(name, jobs) for name, jobs in members if name.startswith(tuple(names))]
        for part, members in groups(models).items()
    }

    def chosen(cases: Sequence[DeepCase]) -> list[tuple[DeepCase, Network]]:
        some = [case for case in cases if case.name.startswith(tuple(names))]
        return list(available(some, models, _quiet))

    def add(part: str, rows: Sequence[Row]) -> None:
        data.setdefault(part, []).extend(rows)
        for row in rows:
            print(part, json.dumps(row, ensure_ascii=False), flush=True)

    for part, members in families.items():
        if part in parts:
            for name, jobs in members:
                add(part, modes(name, jobs, effort))
                if part == "small":
                    add(part, [many(name, jobs, effort)])
    if "storing" in parts:
        for case, network in chosen(STORED):
            add("storing", [storing(case, network, effort)])
    if "threads" in parts:
        for case, network in chosen(THREADED):
            add("threads", [threads(case, network, effort)])
    if "auto" in parts:
        for case, network in chosen(HELD_OUT):
            add("auto", auto(case, network, effort))
    if "certify" in parts:
        for members in families.values():
            for name, jobs in members:
                add("certify", [proof(name, jobs, effort)])
    return data


# --- what it means ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """One target, and whether it is reached.

    Attributes
    ----------
    target : str
    reached, of : int
        How many networks reach it.
    worst : str
        The network that is furthest from it, with its figure.
    """

    target: str
    reached: int
    of: int
    worst: str

    @property
    def text(self) -> str:
        return "yes" if self.reached == self.of else f"no: {self.reached} of {self.of}"


def judge(target: str, figures: Sequence[tuple[str, float, str]]) -> Verdict | None:
    """A verdict from (name, figure over what is asked: 1 or more is fine, the figure as text)."""
    if not figures:
        return None
    name, _, text = min(figures, key=lambda figure: figure[1])
    reached = sum(value >= 1 for _, value, _ in figures)
    return Verdict(target, reached, len(figures), f"{name}: {text}")


def ratio(row: Row) -> float:
    """Exact over float arithmetic."""
    return float(row["exact"]["rate"]) / max(float(row["float"]["rate"]), 1e-9)


def asked_of_degenerate(row: Row) -> float:
    """Regions a second that exact arithmetic is to have."""
    return min(LEAST_RATE_DEGENERATE, LEAST_OF_FLOAT_DEGENERATE * float(row["float"]["rate"]))


def speed_up(row: Row) -> float:
    """Two threads over one; 0 where one thread found nothing."""
    alone = float(row["1"]["rate"])
    return float(row["2"]["rate"]) / alone if alone else 0.0


def of_counting(row: Row) -> float:
    """How many times as long as counting storing takes."""
    return float(row["count"]["rate"]) / max(float(row["store"]["rate"]), 1e-9)


def loss(row: Row) -> float:
    """How many times slower `auto` is than the better engine."""
    better = max(row["cells"]["rate"], row["halfspaces"]["rate"])
    return float(better) / max(float(row["auto"]["rate"]), 1e-9)


def verdicts(data: dict[str, Any]) -> list[Verdict]:
    """Every target against what was measured."""
    found: list[Verdict | None] = []
    for engine in ("cells", "halfspaces"):
        rows = [row for row in data.get("generic", []) if row["engine"] == engine]
        found.append(
            judge(
                f"exact at least {LEAST_OF_FLOAT} of float, networks in general position ({engine})",
                [(r["name"], ratio(r) / LEAST_OF_FLOAT, f"{ratio(r):.2g}") for r in rows],
            )
        )
    rows = [row for row in data.get("small", []) if row["engine"] == MANY]
    found.append(
        judge(
            f"{LEAST_RATE_SMALL:,.0f} regions/s, the size of the paper's networks, in one call",
            [
                (r["name"], r["exact"]["rate"] / LEAST_RATE_SMALL, f"{r['exact']['rate']:,.0f}/s")
                for r in rows
            ],
        )
    )
    for part in ("bias-free", "degenerate"):
        for engine in ("cells", "halfspaces"):
            rows = [row for row in data.get(part, []) if row["engine"] == engine]
            found.append(
                judge(
                    f"{LEAST_RATE_DEGENERATE:,.0f} regions/s or {LEAST_OF_FLOAT_DEGENERATE} of float, {part} ({engine})",
                    [
                        (
                            r["name"],
                            r["exact"]["rate"] / max(asked_of_degenerate(r), 1e-9),
                            f"{r['exact']['rate']:,.0f}/s, {ratio(r):.2g} of float",
                        )
                        for r in rows
                    ],
                )
            )
    found.append(
        judge(
            f"storing at most {MOST_OF_COUNTING:g} times counting, 3-D and 4-D",
            [
                (r["name"], MOST_OF_COUNTING / of_counting(r), f"{of_counting(r):.2f}")
                for r in data.get("storing", [])
            ],
        )
    )
    rows = data.get("threads", [])
    found.append(
        judge(
            f"two threads {LEAST_OF_TWO_THREADS} times one, degenerate",
            [
                (
                    r["name"],
                    speed_up(r) / LEAST_OF_TWO_THREADS,
                    f"{speed_up(r):.2f}",
                )
                for r in rows
            ],
        )
    )
    for mode in ("exact", "float"):
        rows = [row for row in data.get("auto", []) if row["arithmetic"] == mode]
        found.append(
            judge(
                f"auto within {MOST_OF_BETTER} of the better engine ({mode})",
                [(r["name"], MOST_OF_BETTER / loss(r), f"{loss(r):.2f}") for r in rows],
            )
        )
    figures = []
    for row in data.get("certify", []):
        text = certify_text(row)
        if "certify" not in row:
            figures.append((row["name"], 0.0, text))
        else:
            times = row["certify"] / max(row["enumerate"], 1e-9)
            late = row.get("ended") == "certify"
            figures.append(
                (row["name"], min(MOST_OF_ENUMERATION / times, 0.99 if late else 9), text)
            )
    found.append(judge(f"certify at most {MOST_OF_ENUMERATION:g} times the enumeration", figures))
    return [verdict for verdict in found if verdict is not None]


def certify_text(row: Row) -> str:
    """The ratio of a proof, or what kept it from being measured."""
    if row.get("ended") == "enumeration":
        return "the enumeration did not end"
    if row.get("ended") == "wrong":
        return "the certificate is not fine"
    times = row["certify"] / max(row["enumerate"], 1e-9)
    return f"> {times:.1f}" if row.get("ended") else f"{times:.1f}"


def agreement(data: dict[str, Any]) -> str:
    """Whether all complete counts of a network in exact arithmetic are the same."""
    counts: dict[str, set[int]] = {}
    for part in ("generic", "small", "bias-free", "degenerate"):
        for row in data.get(part, []):
            if row["exact"]["complete"]:
                counts.setdefault(row["name"], set()).add(row["exact"]["regions"])
    for row in data.get("storing", []):
        counts.setdefault(row["name"], set()).update(row[k]["regions"] for k in ("count", "store"))
    for row in data.get("auto", []):
        if row["arithmetic"] == "exact":
            for engine in ("auto", "cells", "halfspaces"):
                if row[engine]["complete"]:
                    counts.setdefault(row["name"], set()).add(row[engine]["regions"])
    for row in data.get("certify", []):
        if row.get("ended") not in ("enumeration", "wrong"):
            counts.setdefault(row["name"], set()).add(row["regions"])
    bad = {name: sorted(found) for name, found in counts.items() if len(found) > 1}
    if bad:
        return f"Counts in exact arithmetic that differ: {bad}."
    return f"All complete counts in exact arithmetic agree ({len(counts)} networks)."


# --- what `auto` goes by --------------------------------------------------------------------------


def observe(case: DeepCase, network: Network, effort: Effort) -> list[Row]:
    """What a probe counts of every engine, and the nanoseconds that a region really takes.

    Only where a probe would be asked, if there are regions enough.
    """
    rows = []
    for arithmetic in ("exact", "float"):
        for engine in choice.PROBED:
            task = table.task_of(engine, network, case.domain(), arithmetic, store=False)
            found = choice.features(engine, network, choice.look(engine, task, case.inputs, Halt()))
            for store in (False, True):
                best = Rate()
                for _ in range(effort.rounds):
                    rate = measure(
                        [(network, case.domain())],
                        effort.seconds,
                        engine=engine,
                        arithmetic=arithmetic,
                        store=store,
                        fresh=True,
                    )
                    best = best.better(rate)
                if not store and best.regions < _ENOUGH:
                    break
                if engine == "cells" and case.inputs > _MOST_FITTED:
                    break
                rule = choice.by_rule(network, arithmetic, store=store)
                if store and rule.engine == "cells":  # there is no probe
                    continue
                key = {"engine": engine, "arithmetic": arithmetic, "store": store}
                spent = 1e9 / max(best.per_second, 1e-3)
                rows.append({"name": case.name, **key, "features": found, "spent": spent})
    return rows


def fitted(rows: Sequence[Row]) -> dict[str, float]:
    """Prices, none below 0, that explain times best: the sum of all errors of their logarithms is small."""
    names = list(rows[0]["features"])
    found = np.array([[row["features"][name] for name in names] for row in rows])
    spent = np.array([row["spent"] for row in rows])
    prices = nnls(found / spent[:, None], np.ones(len(rows)))[0]
    for _ in range(200):
        model = np.maximum(found @ prices, 1e-3)
        weights = 1 / np.maximum(abs(np.log(model / spent)), 0.1)
        scale = np.sqrt(weights / (spent * model))
        prices = 0.5 * (prices + nnls(found * scale[:, None], spent * scale)[0])
    return {
        name: float(f"{price:.3g}")
        for name, price in zip(names, prices, strict=True)
        if price > 1e-9
    }


#: What has fewer regions is left out of a fit: there, other things take the time.
_ENOUGH = 700

#: With more inputs than this the `cells` engine is never the better one, and its prices are others.
_MOST_FITTED = 7


def _key(row: Row) -> tuple[str, str, bool]:
    return row["engine"], row["arithmetic"], row["store"]


def fit(effort: Effort, models: Path | None) -> str:
    """The table of prices in `tropicell.engines.choice`, anew; and how far off the model is."""
    rows: list[Row] = []
    for case, network in available(FITTED, models):
        rows += observe(case, network, effort)
        print(case.name, flush=True)
    lines = ["COSTS: dict[tuple[str, str, bool], dict[str, float]] = {"]
    notes = []
    for key in choice.COSTS:
        some = [r for r in rows if _key(r) == key]
        prices = fitted(some)
        prices.setdefault("exact", choice.EXACT_DECISION)
        lines.append(f"    {key}: {prices},".replace("'", '"'))
        for row in some:
            model = sum(prices.get(name, 0.0) * value for name, value in row["features"].items())
            notes.append((abs(np.log(max(model, 1e-3) / row["spent"])), row, model))
    lines.append("}")
    for _, row, model in sorted(notes, key=lambda note: -note[0]):
        what = f"{row['engine']}, {row['arithmetic']}, {'stored' if row['store'] else 'counted'}"
        lines.append(f"# {row['name']}, {what}: {row['spent']:,.0f} ns, by the model {model:,.0f}")
    return "\n".join(lines)


# --- the page ---------------------------------------------------------------------------------


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def _count(row: Row) -> str:
    return f"{row['regions']:,}" if row["complete"] else f"≥ {row['regions']:,}"


def _modes_table(rows: Sequence[Row]) -> list[str]:
    lines = []
    for row in rows:
        both = row["float"]["complete"] and row["exact"]["complete"]
        differs = both and row["float"]["regions"] != row["exact"]["regions"]
        lines.append(
            [
                row["name"],
                row["engine"],
                _count(row["exact"]),
                f"{row['float']['rate']:,.0f}"
                + (f" (counts {row['float']['regions']:,})" if differs else ""),
                f"{row['exact']['rate']:,.0f}",
                f"{ratio(row):.2g}",
            ]
        )
    head = ["network", "engine", "regions", "float, regions/s", "exact, regions/s", "exact / float"]
    return _table(head, lines)


def _later(data: dict[str, Any]) -> list[str]:
    """What was measured by itself after all the rest, and with what."""
    lines = []
    for part in PARTS:
        runs: list[tuple[Row, list[str]]] = []
        for row in data.get(part, []):
            about = row.get("later")
            if about is None:
                continue
            same = next((names for run, names in runs if run == about), None)
            if same is None:
                runs.append((about, same := []))
            if row["name"] not in same:
                same.append(row["name"])
        whole = {row["name"] for row in data.get(part, [])}
        for about, names in runs:
            what = "all networks" if set(names) == whole else "; ".join(names)
            lines += [
                f"Measured later, of the part {part!r}, with Python {about['python']}, {about['machine']}, load {about['load']}, {about['rounds']} rounds of at most {about['seconds']:g} s: {what}.",
                "",
            ]
    return lines


def merged(known: dict[str, Any], data: dict[str, Any], about: Row) -> dict[str, Any]:
    """Rows that were measured anew in place of known ones of the same network; each says with what."""
    result = dict(known)
    cases = {"threads": THREADED, "storing": STORED, "auto": HELD_OUT}
    for part, measured in data.items():
        rows = [row | {"later": about} for row in measured]
        anew = {row["name"] for row in rows}
        kept = {case.name for case in cases[part]} if part in cases else None
        found: list[Row] = []
        for row in known.get(part, []):
            if row["name"] not in anew:
                if kept is None or row["name"] in kept:  # networks that are measured no more go
                    found.append(row)
                continue
            found += [other for other in rows if other["name"] == row["name"]]
            rows = [other for other in rows if other["name"] != row["name"]]
        result[part] = found + rows
    return result


def report(data: dict[str, Any]) -> str:
    """All that was measured, as a section."""
    about = data["about"]
    lines = [
        f"`python -m benchmarks.depth` with Tropicell {about['version']}, Python {about['python']}, {about['machine']}; load of the machine {about['load']}.",
        f"Counting on one thread, regions a second of CPU time, best of {about['rounds']} rounds in turn; ≥: broken off after {about['seconds']:g} s. He's",
        "initialisation, biases N(0, ½), box [-3, 3]ⁿ, unless said.",
        "",
        *_table(
            ["target", "reached", "furthest from it"],
            [[verdict.target, verdict.text, verdict.worst] for verdict in verdicts(data)],
        ),
        agreement(data),
        "",
    ]
    lines += [f"Left out: {text}\n" for text in about.get("left_out", [])]
    lines += _later(data)
    titles = {
        "generic": "Networks in general position",
        "small": "The size of the paper's networks",
        "bias-free": "Bias-free networks",
        "degenerate": "Degenerate networks",
    }
    for part, title in titles.items():
        if data.get(part):
            lines += [f"### {title}", "", *_modes_table(data[part])]
    if data.get("storing"):
        rows = [
            [
                row["name"],
                _count(row["count"]),
                f"{row['count']['rate']:,.0f}",
                f"{row['store']['rate']:,.0f}",
                f"{row['bytes'] / row['store']['regions']:.0f}",
                f"{of_counting(row):.2f}",
            ]
            for row in data["storing"]
        ]
        head = ["network", "regions", "counted a second", "stored a second", "bytes a region"]
        lines += ["### Storing against counting", "", *_table([*head, "times as long"], rows)]
    if data.get("threads"):
        rows = [
            [
                row["name"],
                _count(row["1"]),
                f"{row['1']['rate']:,.0f}",
                f"{speed_up(row):.2f}×",
            ]
            for row in data["threads"]
        ]
        head = ["network", "regions", "exact, one thread, regions/s", "two threads"]
        lines += ["### Two threads on degenerate networks", "", *_table(head, rows)]
    if data.get("auto"):
        rows = [
            [
                row["name"],
                row["arithmetic"],
                _count(max((row[e] for e in ("cells", "halfspaces")), key=lambda r: r["regions"])),
                f"{row['cells']['rate']:,.0f}",
                f"{row['halfspaces']['rate']:,.0f}",
                f"{row['auto']['rate']:,.0f} ({row['chosen']})",
                f"{loss(row):.2f}",
            ]
            for row in data["auto"]
        ]
        head = [
            "network",
            "arithmetic",
            "regions",
            "cells, regions/s",
            "halfspaces",
            "auto",
            "behind",
        ]
        lines += ["### `auto` against both engines", "", *_table(head, rows)]
    if data.get("certify"):
        rows = [
            [
                row["name"],
                f"{row['regions']:,}",
                f"{row['enumerate']:.3g}" if "enumerate" in row else "–",
                certify_text(row),
            ]
            for row in data["certify"]
        ]
        head = ["network", "regions", "enumeration, s", "certify / enumeration"]
        lines += ["### Certificates", "", *_table(head, rows)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less time for each, nothing written")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="some parts alone")
    parser.add_argument("--networks", nargs="+", help="networks whose names begin so")
    parser.add_argument("--models", type=Path, help="folder of models; default: TROPICELL_MODELS")
    parser.add_argument("--seconds", type=float, help="after which a count is broken off")
    parser.add_argument("--rounds", type=int, help="of which the best counts")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    parser.add_argument(
        "--fit", action="store_true", help="print the prices that engine='auto' goes by, anew"
    )
    parser.add_argument("--again", action="store_true", help="write the section from depth.json")
    arguments = parser.parse_args()
    store = arguments.out.with_name(STORE.name)
    known = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
    if arguments.fit:
        print(fit(Effort(arguments.seconds or 0.5, arguments.rounds or 2, 0.0), arguments.models))
        return
    if arguments.again:
        sections.put(arguments.out, TITLE, report(known))
        return
    effort = QUICK if arguments.quick else FULL
    effort = Effort(
        arguments.seconds or effort.seconds, arguments.rounds or effort.rounds, effort.enumeration
    )
    left_out: list[str] = []
    for cases in (GENERIC, HELD_OUT):
        available(cases, arguments.models, left_out.append)
    print(*left_out, sep="\n")
    data = run(arguments.only, effort, arguments.models, arguments.networks or [""])
    about = {
        "version": tropicell.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 1),
        "seconds": effort.seconds,
        "rounds": effort.rounds,
        "left_out": left_out,
    }
    if arguments.quick:
        print(report(data | {"about": about}))
        return
    whole = arguments.networks is None and set(arguments.only) == set(PARTS)
    data = data | {"about": about} if whole or not known else merged(known, data, about)
    store.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sections.put(arguments.out, TITLE, report(data))


if __name__ == "__main__":
    main()
