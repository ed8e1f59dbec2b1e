"""How late budgets and signals take effect: engines × dimensions × phases × triggers.

``python -m benchmarks.budgets`` runs every case in a process of its own, ends it after a second by
``max_seconds``, SIGINT or SIGTERM, and measures how much later it really ended. It writes
benchmarks/BUDGETS.json and the table in docs/reliability.md. Kernels are loaded, and those of a
first call compiled, before the clock starts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "BUDGETS.json"
PAGE = ROOT / "docs" / "reliability.md"
MODELS = "TROPICELL_MODELS"

#: What ends a piece of work.
TRIGGERS = ("max_seconds", "SIGINT", "SIGTERM")

#: Seconds until then, and until a process that does not end is killed.
BUDGET, LIMIT = 1.0, 20.0

#: Seconds that preparing a case may take.
SETUP = 240.0

#: Exit status of a child whose network is not there.
_NO_MODEL = 77

#: A piece of work: gets max_seconds (None: no budget), returns whether all was done.
Work = Callable[[float | None], bool]


class MissingModelError(Exception):
    """A file of a case is not there."""


# --- networks ---------------------------------------------------------------------------------


def _generic(*sizes: int, biases: bool = True, seed: int = 0) -> Any:
    """A random network, its last size being that of the output."""
    from tropicell import Network

    rng = np.random.default_rng(seed)
    pairs = list(pairwise(sizes))
    weights = [rng.normal(size=(n, m)) / np.sqrt(m) for m, n in pairs]
    return Network.mlp(weights, [rng.normal(size=n) for _, n in pairs] if biases else None)


def _integers(*sizes: int) -> Any:
    """A network with small whole numbers as weights: many boundaries meet in its vertices."""
    from tropicell import Network

    rng = np.random.default_rng(0)
    pairs = list(pairwise(sizes))
    weights = [rng.integers(-2, 3, size=(n, m)) for m, n in pairs]
    return Network.mlp(weights, [rng.integers(-1, 2, size=n) for _, n in pairs])


def _file(name: str) -> Any:
    import tropicell

    folder = os.environ.get(MODELS)
    if folder is None or not (Path(folder) / name).exists():
        raise MissingModelError(f"{name}: set {MODELS} to a folder that has it")
    return tropicell.load(Path(folder) / name)


NETWORKS: dict[str, Callable[[], Any]] = {
    "1-D deep": partial(_generic, 1, *[300] * 100, 1),
    "2-D deep": partial(_generic, 2, *[20] * 30, 1),
    "2-D wide": partial(_generic, 2, *[300] * 16, 1),
    "2-D trained": partial(_file, "bunny_2d_2x100.npz"),
    "3-D": partial(_generic, 3, *[96] * 4, 1),
    "3-D trained": partial(_file, "bunny_3d_8x32.npz"),
    "4-D": partial(_generic, 4, *[64] * 3, 1),
    "4-D bias-free": partial(_generic, 4, *[32] * 3, 1, biases=False),
    "5-D": partial(_generic, 5, *[48] * 3, 1),
    "5-D trained": partial(_file, "acasxu_1_1.onnx"),
    "6-D": partial(_generic, 6, *[48] * 3, 1),
    "8-D": partial(_generic, 8, *[48] * 2, 1),
    "10-D": partial(_generic, 10, *[30] * 3, 1),
    "10-D bias-free": partial(_generic, 10, *[30] * 3, 1, biases=False),
    "10-D integers": partial(_integers, 10, 30, 30, 1),
    "30-D": partial(_generic, 30, *[60] * 2, 1),
    "100-D": partial(_generic, 100, *[60] * 2, 1),
    "100-D integers": partial(_integers, 100, 40, 40, 1),
    "784-D": partial(_generic, 784, 60, 60, 1),
    "784-D trained": partial(_file, "mnist_fc_256x2.onnx"),
}


def _domain(kind: str, dimension: int) -> Any:
    from tropicell import Box, Polytope, Slice

    if kind == "R^n":
        return None
    if kind == "box":
        return Box(-1, 1)
    if kind == "polytope":
        rng = np.random.default_rng(1)
        a = np.concatenate([np.eye(dimension), -np.eye(dimension), rng.normal(size=(5, dimension))])
        return Polytope(a, np.ones(len(a)))
    rng = np.random.default_rng(2)
    return Slice(np.zeros(dimension), rng.normal(size=(2, dimension)), Box(-1, 1))


# --- pieces of work ---------------------------------------------------------------------------


def _search(
    engine: str, network: str, domain: str = "box", how: str = "", workers: int = 1
) -> Work:
    """An enumeration, with what is given by `how`: a checkpoint, a folder, a count, batches."""
    import tropicell
    from tropicell.engines import table as runs

    net = NETWORKS[network]()
    where = _domain(domain, net.n_inputs)
    runs.load(engine, 2 if domain == "slice" else net.n_inputs)
    options: dict[str, Any] = {"engine": engine, "workers": workers}
    folder = tempfile.mkdtemp(prefix="budgets")
    if how == "checkpoint":
        options["checkpoint"] = f"{folder}/checkpoint"
    if how == "out":
        from tropicell.regions.stored.tables import load_arrow

        load_arrow()
        options["out"] = f"{folder}/regions"

    def work(max_seconds: float | None) -> bool:
        if how == "count":
            try:
                tropicell.count_regions(net, where, max_seconds=max_seconds, **options)
            except tropicell.errors.IncompleteError:
                return False
            return True
        if how == "iterate":
            last = False
            for batch in tropicell.iter_regions(net, where, max_seconds=max_seconds, **options):
                last = batch.complete
            return last
        found = tropicell.enumerate_regions(net, where, max_seconds=max_seconds, **options)
        return bool(found.complete)

    return work


def _estimate(network: str, domain: str = "box") -> Work:
    import tropicell

    net = NETWORKS[network]()
    where = _domain(domain, net.n_inputs)
    tropicell.estimate_regions(_generic(net.n_inputs, 2, 1), where, max_seconds=0.1)

    def work(max_seconds: float | None) -> bool:
        seconds = 1000.0 if max_seconds is None else max_seconds
        tropicell.estimate_regions(net, where, max_seconds=seconds, probes=10**6)
        return False

    return work


def _count_many() -> Work:
    import tropicell

    networks = [_generic(2, 200, 200, 200, 1, seed=seed) for seed in range(40)]
    tropicell.count_many([_generic(2, 3, 1), _generic(2, 3, 1, seed=1)])

    def work(max_seconds: float | None) -> bool:
        with tropicell.time_limit(max_seconds):
            tropicell.count_many(networks)
        return True

    return work


def _regions(network: str, count: int, engine: str) -> Any:
    import tropicell

    net = NETWORKS[network]()
    where = _domain("box", net.n_inputs)
    return tropicell.enumerate_regions(net, where, engine=engine, max_regions=count)


def _after(network: str, count: int, what: str, engine: str = "auto") -> Work:
    """Something exact that is asked of regions, as many as take longer than the budget."""
    import tropicell
    from tropicell.analysis import measure as measuring

    regions = _regions(network, count, engine)
    small = _generic(min(regions.network.n_inputs, 5), 3, 1)
    few = tropicell.enumerate_regions(small, tropicell.Box(-1, 1), engine=engine)
    asks: dict[str, Callable[[Any], Any]] = {
        "neighbours": lambda r: r.neighbours,
        "networkx": lambda r: r.to_networkx(),
        "merged": lambda r: r.merged(),
        "volumes": lambda r: r.volumes,
        "prepare": lambda r: r.prepare(workers=2),
        "extrema": measuring.extrema,
        "certify": lambda r: r.certify(),
        "certify, 2 workers": lambda r: r.certify(workers=2),
    }
    with contextlib.suppress(tropicell.errors.TropicellError):
        asks[what](few)

    def work(max_seconds: float | None) -> bool:
        with tropicell.time_limit(max_seconds):
            asks[what](regions)
        return True

    return work


def _command(command: str, network: str, *options: str) -> Work:
    """A command of the command line, in this process."""
    import tropicell
    from tropicell.cli.main import main

    folder = tempfile.mkdtemp(prefix="budgets")
    model, small = f"{folder}/net.npz", f"{folder}/small.npz"
    net = NETWORKS[network]()
    tropicell.save(net, model)
    tropicell.save(_generic(net.n_inputs, 3, 1), small)
    main([command, small, *_places(command, folder), *options])

    def work(max_seconds: float | None) -> bool:
        budget = [] if max_seconds is None else ["--max-seconds", str(max_seconds)]
        status = main([command, model, *_places(command, folder), *options, *budget])
        if status == 130:
            raise KeyboardInterrupt
        return status == 0

    return work


def _places(command: str, folder: str) -> list[str]:
    suffix = {"enumerate": "npz", "certify": "npz", "plot": "png", "explore": "html"}.get(command)
    return [] if suffix is None else ["--out", f"{folder}/out.{suffix}"]


def _cases() -> Iterator[tuple[str, Callable[[], Work]]]:
    for network in (
        "1-D deep",
        "2-D deep",
        "2-D wide",
        "2-D trained",
        "3-D",
        "3-D trained",
        "4-D",
        "4-D bias-free",
        "5-D",
        "6-D",
        "8-D",
        "10-D",
    ):
        yield f"cells, {network}", partial(_search, "cells", network)
    for network in ("2-D deep", "4-D bias-free", "8-D"):
        yield f"cells, {network}, R^n", partial(_search, "cells", network, "R^n")
    for network in (
        "2-D deep",
        "3-D trained",
        "5-D",
        "5-D trained",
        "10-D",
        "10-D bias-free",
        "10-D integers",
        "30-D",
        "100-D",
        "100-D integers",
        "784-D",
        "784-D trained",
    ):
        yield f"halfspaces, {network}", partial(_search, "halfspaces", network)
    for network in ("5-D", "10-D bias-free", "100-D integers", "784-D", "784-D trained"):
        yield f"halfspaces, {network}, R^n", partial(_search, "halfspaces", network, "R^n")
    for network in (
        "1-D deep",
        "2-D deep",
        "5-D trained",
        "10-D",
        "100-D integers",
        "784-D trained",
    ):
        yield f"traverse, {network}", partial(_search, "traverse", network)
    for engine, network in (
        ("cells", "3-D"),
        ("halfspaces", "10-D"),
        ("halfspaces", "100-D"),
        ("halfspaces", "784-D"),
        ("traverse", "10-D"),
    ):
        for domain in ("polytope", "slice"):
            yield f"{engine}, {network}, {domain}", partial(_search, engine, network, domain)
    for engine, network in (
        ("cells", "2-D wide"),
        ("cells", "8-D"),
        ("halfspaces", "5-D trained"),
        ("halfspaces", "100-D integers"),
        ("halfspaces", "784-D trained"),
    ):
        for how in ("count", "iterate", "checkpoint", "out"):
            case = partial(_search, engine, network, how=how)
            yield f"{engine}, {network}, {how}", case
        yield f"{engine}, {network}, 2 workers", partial(_search, engine, network, workers=2)
        case = partial(_search, engine, network, how="checkpoint", workers=2)
        yield f"{engine}, {network}, checkpoint, 2 workers", case
    for network in ("2-D wide", "3-D", "5-D trained", "10-D", "100-D integers", "784-D trained"):
        yield f"estimate, {network}", partial(_estimate, network)
    yield "count_many", _count_many
    for network, count, what, engine in (
        ("5-D trained", 2000, "neighbours", "auto"), ("5-D trained", 2000, "networkx", "auto"),
        ("100-D", 20, "neighbours", "auto"), ("2-D deep", 2000, "neighbours", "halfspaces"),
        ("5-D trained", 2000, "merged", "auto"), ("2-D deep", 50_000, "merged", "auto"),
        ("3-D trained", 2000, "volumes", "halfspaces"), ("6-D", 1000, "volumes", "cells"),
        ("2-D deep", 2000, "prepare", "halfspaces"), ("5-D trained", 500, "extrema", "auto"),
        ("2-D deep", 50_000, "extrema", "auto"), ("5-D trained", 5000, "certify", "auto"),
        ("100-D", 200, "certify", "auto"), ("2-D deep", 50_000, "certify", "auto"),
        ("10-D", 100_000, "certify", "auto"), ("10-D", 100_000, "certify, 2 workers", "auto"),
    ):  # fmt: skip
        yield f"{what}, {network}", partial(_after, network, count, what, engine)
    yield "tropicell count, 2-D wide", partial(_command, "count", "2-D wide")
    yield "tropicell count --merged, 2-D", partial(_command, "count", "2-D deep", "--merged")
    yield "tropicell enumerate, 5-D", partial(_command, "enumerate", "5-D", "--box", "-1", "1")
    for command in ("certify", "plot", "explore"):
        case = partial(_command, command, "2-D wide", "--box", "-1", "1")
        yield f"tropicell {command}, 2-D wide", case
    yield "tropicell estimate, 5-D", partial(_command, "estimate", "5-D")


CASES = dict(_cases())


# --- measuring --------------------------------------------------------------------------------


@dataclass
class Overshoot:
    """One case, ended in one way.

    `late`: seconds between the moment at which it should have ended and its end; None if it was
    done before, or was not run. `outcome` is "ended", "done" (all was done before), "killed" (it
    did not end within the limit), "failed", or why there was nothing to run.
    """

    case: str
    trigger: str
    late: float | None
    outcome: str


def measure(case: str, trigger: str, budget: float = BUDGET, limit: float = LIMIT) -> Overshoot:
    """Run a case in a process, and end it."""
    command = [sys.executable, "-m", "benchmarks.budgets", "--child", case, trigger, str(budget)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        killer = threading.Timer(SETUP, child.kill)
        killer.start()
        line = child.stdout.readline()
        while line and line.strip() != "go":
            line = child.stdout.readline()
        killer.cancel()
        began = time.monotonic()
        if line and trigger != "max_seconds":
            time.sleep(budget)
            child.send_signal(getattr(signal, trigger))
        try:
            printed, errors = child.communicate(timeout=limit + budget)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return Overshoot(case, trigger, limit, "killed")
        ended = time.monotonic()
    if child.returncode == _NO_MODEL:
        return Overshoot(case, trigger, None, errors.strip())
    late = ended - began - budget
    answer = printed.strip().splitlines()[-1] if printed.strip() else ""
    if answer.startswith("after "):
        _, seconds, outcome = answer.split(maxsplit=2)
        if trigger == "max_seconds":
            late = float(seconds) - budget
        if late < -0.05 or outcome == "done":
            return Overshoot(case, trigger, None, "done")
        return Overshoot(case, trigger, round(max(late, 0.0), 3), "ended")
    if trigger == "SIGTERM" and child.returncode == -signal.SIGTERM:
        return Overshoot(case, trigger, round(max(late, 0.0), 3), "ended")
    last = errors.strip().splitlines()[-1:] or [f"exit status {child.returncode}"]
    return Overshoot(case, trigger, round(late, 3), f"failed: {last[0]}")


def _child(case: str, trigger: str, budget: float) -> int:
    """What the process does: prepare, say so, work, say when it was done."""
    from tropicell import errors

    if trigger == "SIGINT":  # a shell that runs this in the background ignores it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        work = CASES[case]()
    except MissingModelError as error:
        print(error, file=sys.stderr)
        return _NO_MODEL
    print("go", flush=True)
    began = time.perf_counter()
    try:
        done = work(budget if trigger == "max_seconds" else None)
    except (KeyboardInterrupt, errors.IncompleteError, errors.TimeLimitError):
        done = False
    print("after", time.perf_counter() - began, "done" if done else "ended", flush=True)
    os._exit(0)


# --- the table --------------------------------------------------------------------------------


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", nargs=3, metavar=("CASE", "TRIGGER", "SECONDS"))
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--triggers", default=",".join(TRIGGERS))
    parser.add_argument("--budget", type=float, default=BUDGET)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="only write the page")
    parser.add_argument("--out", default=str(RESULTS))
    arguments = parser.parse_args()
    if arguments.child:
        case, trigger, seconds = arguments.child
        return _child(case, trigger, float(seconds))
    if arguments.again:
        write_page([Overshoot(**one) for one in json.loads(RESULTS.read_text(encoding="utf-8"))])
        return 0
    todo = [
        (case, trigger)
        for case in CASES
        if arguments.only in case
        for trigger in arguments.triggers.split(",")
    ]
    found: list[Overshoot] = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for one in pool.map(lambda pair: measure(*pair, budget=arguments.budget), todo):
            late = "" if one.late is None else f"{one.late:.2f} s"
            print(f"{one.case:45} {one.trigger:12} {late:>8}  {one.outcome}", flush=True)
            found.append(one)
    Path(arguments.out).write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")
    if not arguments.only and arguments.out == str(RESULTS):
        write_page(found)
    return 0


def _group(case: str) -> str:
    """What a case is about: a search by an engine, or what is done with regions."""
    first = case.split(",", maxsplit=1)[0]
    names = {"cells": "searches by `cells`", "halfspaces": "searches by `halfspaces`",
             "traverse": "searches by `traverse`", "estimate": "`estimate_regions`"}  # fmt: skip
    return "the command line" if first.startswith("tropicell") else names.get(first, f"`{first}`")


def write_page(found: list[Overshoot]) -> None:
    """The table in docs/reliability.md."""
    rows = ["| what is ended | cases | ended late by (median) | at most | done before | not ended, or failed |",
            "| --- | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    run = [
        one
        for one in found
        if one.outcome in ("ended", "done", "killed") or one.outcome.startswith("failed")
    ]
    for name in dict.fromkeys(_group(one.case) for one in run):
        mine = [one for one in run if _group(one.case) == name]
        late = sorted(one.late for one in mine if one.outcome == "ended" and one.late is not None)
        done = sum(one.outcome == "done" for one in mine)
        times = ("–", "–") if not late else (f"{late[len(late) // 2]:.2f} s", f"{late[-1]:.2f} s")
        bad = len(mine) - done - len(late)
        rows.append(f"| {name} | {len(mine)} | {times[0]} | {times[1]} | {done} | {bad} |")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split("<!-- budgets -->")
    after = rest.split("<!-- end of budgets -->")[1]
    table = "\n".join(rows)
    PAGE.write_text(
        f"{before}<!-- budgets -->\n{table}\n<!-- end of budgets -->{after}", encoding="utf-8"
    )


if __name__ == "__main__":
    sys.exit(_main())
