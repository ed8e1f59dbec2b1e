"""How the engines scale with the number of threads.

    python -m benchmarks.scaling                    all cases, some minutes on sixteen cores
    python -m benchmarks.scaling --quick            the small ones
    python -m benchmarks.scaling --threads 1 2      with so many threads
    python -m benchmarks.scaling --add              to the times measured before, on a machine of this kind
    python -m benchmarks.scaling --again            the pages anew, without measuring

Every case is counted and enumerated with 1, 2, 4, … threads, in one process, in several rounds, so that what the machine does
besides falls on all of them (the median of the rounds' ratios counts); so is what one does with regions: proofs, maps, volumes,
and counts of many small networks; and, to compare with, arithmetic. Then the same is done with one thread by as many processes
at once as there are cores: cores that share caches, memory or power are slower when all are busy, whatever the program.
Writes scaling_N.json for a machine with N cores, and from all such files SCALING.md and a section of RESULTS.md, next to this
file, after every case. The regions must be the same, in the same order, whatever the number of threads: a checksum of all
columns is compared.
Needs what the core needs: NumPy, SciPy, Numba, tqdm, python-flint.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from benchmarks import sections
from tropicell import (
    Box,
    IncompleteError,
    Network,
    Regions,
    count_many,
    count_regions,
    enumerate_regions,
)
from tropicell.analysis import measure as measures
from tropicell.network.domains import Domain
from tropicell.regions.columns import Ragged

HERE = Path(__file__).parent

#: Name, sizes, domain, how far weights are spread, whether it is part of --quick.
CASES: list[tuple[str, list[int], Domain | None, float, bool]] = [
    ("2-D 4×[256]", [2, *[256] * 4, 1], Box(-1, 1), 4.0, False),
    ("3-D [48,48,48]", [3, 48, 48, 48, 1], None, 1.0, True),
    ("4-D [30,30]", [4, 30, 30, 1], None, 1.0, False),
    ("5-D [20,16]", [5, 20, 16, 1], None, 1.0, False),
    ("6-D [15,12]", [6, 15, 12, 1], None, 1.0, True),
    ("8-D [11,12]", [8, 11, 12, 1], None, 1.0, False),
    ("8-D [22], one layer", [8, 22, 1], None, 1.0, False),
    ("10-D [13,8]", [10, 13, 8, 1], None, 1.0, False),
]

#: A case that takes longer than this with all threads is left out.
LONGEST = 20.0

#: Rounds of measuring, in which all numbers of threads have their turn, those from 8 on twice.
#: There are more than the fewest as long as they take no more than so many seconds together.
FEWEST, MOST, SECONDS = 3, 9, 10.0


def network_of(sizes: list[int], spread: float = 1.0, seed: int = 0) -> Network:
    """PyTorch's default initialisation, weights times `spread`."""
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(sizes))
    weights = [spread * rng.uniform(-1, 1, size=(n, m)) / np.sqrt(m) for m, n in pairs]
    return Network.mlp(weights, [rng.uniform(-1, 1, size=n) / np.sqrt(m) for m, n in pairs])


def checksum(regions: Regions) -> str:
    """Of all stored columns."""
    digest = hashlib.blake2b(regions.packed.words, digest_size=8)
    digest.update(regions.witnesses)
    for name in ("bounded", "volumes", "corners", "facet_lines"):
        column = vars(regions).get(name)
        if isinstance(column, Ragged):
            digest.update(column.values)
            digest.update(column.ends)
        elif column is not None:
            digest.update(column)
    return digest.hexdigest()


def probe(network: Network, domain: Domain | None, workers: int) -> tuple[int, float]:
    """The number of regions, and the seconds that counting and enumerating them takes."""
    started = time.perf_counter()
    options: dict[str, Any] = {"workers": workers, "max_seconds": LONGEST}
    regions = count_regions(network, domain, **options)
    if not enumerate_regions(network, domain, **options).complete:
        raise IncompleteError(regions)
    return regions, time.perf_counter() - started


def measure(
    name: str,
    sizes: list[int],
    domain: Domain | None,
    spread: float,
    threads: list[int],
    crowd: Crowd,
    deadline: float,
) -> Any:
    """Seconds of one case for every number of threads; None if there is no time for it."""
    network = network_of(sizes, spread)
    try:
        regions, seconds = probe(network, domain, threads[-1])
    except IncompleteError as error:
        print(f"{name}: left out, {error}", flush=True)
        return None
    needed = 1.5 * FEWEST * seconds * threads[-1] * sum(1 / n for n in threads)
    if time.perf_counter() + needed > deadline:
        print(f"{name}: left out, it would take about {needed:.0f} seconds", flush=True)
        return None
    counts, sums = set(), set()

    def note(found: Regions) -> None:
        if not found.complete:  # SIGTERM ends a search, and not the program
            raise IncompleteError(len(found))
        sums.add(checksum(found))

    result: dict[str, Any] = {"case": name, "sizes": sizes, "regions": regions}
    count = partial(count_regions, network, domain)
    result["count"] = all_times(f"{name}, counting", count, threads, counts.add)
    find = partial(enumerate_regions, network, domain)
    result["enumerate"] = all_times(f"{name}, enumerating", find, threads, note)
    for what in ("count", "enumerate"):
        result[f"{what}, full machine"] = crowd.times(partial(search, what, name))
    assert counts == {regions}
    return result | {"same_for_all": len(sums) == 1, "checksum": min(sums)}


def all_times(
    name: str,
    work: Callable[..., Any],
    threads: list[int],
    note: Callable[[Any], Any] = lambda result: None,
) -> dict[str, list[float]]:
    """Seconds of all runs of a piece of work for every number of threads; what it gives is noted."""
    times: dict[str, list[float]] = {str(n): [] for n in threads}
    began = time.perf_counter()
    for number in range(MOST):
        if number >= FEWEST and time.perf_counter() - began > SECONDS:
            break
        for workers in [n for n in threads for _ in range(2 if n >= 8 else 1)]:
            started = time.perf_counter()
            result = work(workers=workers)
            times[str(workers)].append(round(time.perf_counter() - started, 5))
            note(result)
            del result
    print(name, times, flush=True)
    return times


class Crowd:
    """Processes that do the same thing at the same time, with one thread each."""

    def __init__(self, number: int) -> None:
        context = get_context("spawn")
        self._number = number
        self._done = context.Value("i", 0)
        shared = context.Barrier(number), self._done
        self._pool = ProcessPoolExecutor(number, context, _Member.join, shared)

    def times(self, make: Callable[[], Work]) -> list[float]:
        """The seconds that each of them takes; if they are few, several times."""
        times: list[float] = []
        for _ in range(3 if self._number < 8 else 1):
            self._done.value = 0
            times += self._pool.map(_Member.timed, [make] * self._number)
        print("  all at once, one thread each", times, flush=True)
        return times

    def close(self) -> None:
        """End them."""
        self._pool.shutdown()


class _Member:
    """One of them, in its process."""

    together: Any
    done: Any

    @classmethod
    def join(cls, together: Any, done: Any) -> None:
        """Begin: where they wait for each other, and how many are done."""
        cls.together, cls.done = together, done

    @classmethod
    def timed(cls, make: Callable[[], Work]) -> float:
        """The seconds that something takes while all others do the same."""
        _, work = make()
        network = network_of([5, 20, 16, 1])
        _search_for(0.01, network)  # loaded
        cls.together.wait()  # each of them has got one
        started = time.perf_counter()
        work(workers=1)
        seconds = round(time.perf_counter() - started, 5)
        with cls.done.get_lock():
            cls.done.value += 1
        while cls.done.value < cls.together.parties:  # the machine stays full for the others
            _search_for(0.05, network)
        return seconds


def _search_for(seconds: float, network: Network) -> None:
    with suppress(IncompleteError):
        count_regions(network, max_seconds=seconds)


def search(what: str, name: str) -> Work:
    """A case that is counted or enumerated; its kernels are loaded."""
    _, sizes, domain, spread, _ = next(case for case in CASES if case[0] == name)
    find = {"count": count_regions, "enumerate": enumerate_regions}[what]
    find(network_of([sizes[0], 4, 1]), domain)
    return 1, partial(find, network_of(sizes, spread), domain)


#: What to measure besides: a number of things, and what is done with them in so many threads. Its
#: kernels are loaded.
Work = tuple[int, Callable[..., Any]]


def found(sizes: list[int], spread: float, domain: Domain) -> Regions:
    """The regions of a network, in all threads that there are."""
    return enumerate_regions(network_of(sizes, spread), domain, workers=os.cpu_count() or 1)


@njit(nogil=True)
def _chains(n: int) -> float:
    a, b, c, d = 1.0, 2.0, 3.0, 4.0
    for _ in range(n):
        a, b, c, d = 0.5 * a + 1.0, 0.5 * b + 1.0, 0.5 * c + 1.0, 0.5 * d + 1.0
    return a + b + c + d


@njit(nogil=True)
def _shifts(n: int) -> int:
    a, b, c, d, e, f = 1, 2, 3, 4, 5, 6
    for _ in range(n):
        a ^= a << 1
        b += a >> 3
        c ^= c << 3
        d += c >> 1
        e ^= e << 2
        f += e >> 2
    return a + b + c + d + e + f


def arithmetic(loop: Callable[[int], float], loops: int) -> Work:
    """What the machine can do: a loop that needs neither memory nor the interpreter."""
    parts = 256
    loop(1)

    def work(workers: int) -> None:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(loop, [loops] * parts))

    return parts * loops, work


def proofs() -> Work:
    """Certificates."""
    found([2, 4, 1], 1.0, Box(-1, 1)).certify(progress=False)
    regions = found([2, *[192] * 4, 1], 4.0, Box(-1, 1))
    return len(regions), lambda workers: regions.certify(workers=workers, progress=False)


def maps() -> Work:
    """Affine maps of all regions."""
    found([2, 4, 1], 1.0, Box(-1, 1)).prepare(["affine_maps"])
    regions = found([2, *[256] * 4, 1], 4.0, Box(-1, 1))

    def work(workers: int) -> None:
        vars(regions).pop("affine_maps", None)
        regions.prepare(["affine_maps"], workers=workers)

    return len(regions), work


def volumes() -> Work:
    """Volumes of all regions."""
    measures.volumes(found([4, 4, 1], 1.0, Box(-2, 2)))
    regions = found([4, 32, 32, 1], 1.0, Box(-2, 2))
    return len(regions), lambda workers: measures.volumes(regions, workers=workers)


def many(width: int, count: int) -> Work:
    """Counts of many small networks."""
    networks = [network_of([2, *[width] * 3, 1], seed=seed) for seed in range(count)]
    domain = Box(-1, 1)
    count_many(networks[:2], domain, progress=False)
    return len(networks), lambda workers: count_many(
        networks, domain, workers=workers, progress=False
    )


#: Name, and what to do.
WORK: list[tuple[str, Callable[[], Work]]] = [
    (
        "arithmetic, to compare with",
        partial(arithmetic, _chains, 4_000_000),
    ),
    (
        "arithmetic that needs a whole core, to compare with",
        partial(arithmetic, _shifts, 8_000_000),
    ),
    ("proofs, 2-D 4×[192]", proofs),
    ("maps, 2-D 4×[256]", maps),
    ("volumes, 4-D [32,32]", volumes),
    ("`count_many`, 2-D 3×[8]", partial(many, 8, 40_000)),
    ("`count_many`, 2-D 3×[16]", partial(many, 16, 10_000)),
]


def measure_work(
    name: str, make: Callable[[], Work], threads: list[int], crowd: Crowd
) -> dict[str, Any]:
    """Seconds for every number of threads."""
    count, work = make()
    work(workers=threads[-1])  # threads and memory are there
    result = {"case": name, "regions": count, "work": all_times(name, work, threads)}
    return result | {"work, full machine": crowd.times(make)}


def together(occasions: list[dict[str, Any]], kind: str) -> list[list[Any]]:
    """The results of one kind, case by case: those of all occasions on which it was measured."""
    cases: dict[str, list[Any]] = {}
    for occasion in occasions:
        for result in occasion[kind]:
            cases.setdefault(result["case"], []).append(result)
    return list(cases.values())


def median(case: list[Any], what: str, threads: int) -> float:
    """The median of the seconds on all occasions."""
    return float(np.median([x for result in case for x in result[what][str(threads)]]))


def ratios(result: Any, what: str, one: int, several: int) -> list[float]:
    """How many times as fast some threads were as one, in every round."""
    alone = np.array(result[what][str(one)])
    seconds = np.array(result[what][str(several)]).reshape(len(alone), -1)  # of a round: one or two
    return list(alone / seconds.mean(axis=1))


def speedup(case: list[Any], what: str, one: int, several: int) -> float:
    """The median of all rounds."""
    return float(np.median([x for result in case for x in ratios(result, what, one, several)]))


def table(
    cases: list[list[Any]],
    what: str,
    threads: list[int],
    names: tuple[str, str] = ("network", "regions"),
) -> str:
    """A Markdown table of speedups."""
    one, most = threads[0], threads[-1]
    several = any(len(case) > 1 for case in cases)
    head = [
        *names,
        f"{names[1]}/s, 1 thread",
        *(f"{n} threads" for n in threads[1:]),
        *(["each occasion"] if several else []),
        "full machine",
    ]
    lines = ["| " + " | ".join(head) + " |", "| --- " + "| ---: " * (len(head) - 1) + "|"]
    for case in cases:
        regions = case[0]["regions"]
        cells = [case[0]["case"], f"{regions:,}", f"{regions / median(case, what, one):,.0f}"]
        cells += [f"{speedup(case, what, one, n):.2f}×" for n in threads[1:]]
        if several:
            cells.append(", ".join(f"{speedup([part], what, one, most):.1f}" for part in case))
        full = [x for result in case for x in result.get(f"{what}, full machine", [])]
        ratio = np.median(full) / median(case, what, most) if full else np.nan
        cells.append(f"{ratio:.2f}×" if full else "not measured")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def remarks(data: dict[str, Any]) -> str:
    """How often a machine's cases were measured, and whether the number of threads changes the result."""
    occasions = data["occasions"]
    same = all(result["same_for_all"] for occasion in occasions for result in occasion["results"])
    return (f"Times of {len(occasions)} occasions together. " if len(occasions) > 1 else "") + (
        f"All columns of the result {'are' if same else 'are NOT'} the same, bit for bit and in the same order, "
        "for every number of threads."
    )


def page(machines: list[dict[str, Any]]) -> str:
    """The Markdown page."""
    text = f"""# Threads

Speed with several threads, relative to one thread. Random networks (PyTorch's default initialisation)
on all of R^n, exact arithmetic (4×[256]: weights times 4, on [-1, 1]²). Made by `python -m benchmarks.scaling`: {FEWEST} to {MOST} rounds in which
all numbers of threads have their turn (those from 8 on twice), the ratio of every round, and the median of all rounds. Where there were
several occasions, the median of each stands beside it. Cases that were not finished in time are left out.

One thread has a machine for itself: cores that share caches, memory, power or a pair of hyper-threads are slower when all are busy,
and where other programs run on the same machine, one thread takes now longer, now shorter (all times are in the files). So the last
column compares all threads with one thread on a full machine: while all other cores do the same with one thread each, in
processes that share nothing. Each does it once (three times if there are fewer than 8), so that this column varies more than the others:
it can even be larger than the number of threads.
"""
    for data in machines:
        threads, results = data["threads"], together(data["occasions"], "results")
        text += f"""
## {data["machine"][0].upper() + data["machine"][1:]}

{remarks(data)}

Counting:

{table(results, "count", threads)}

Enumerating:

{table(results, "enumerate", threads)}

What one does with regions:

{table(together(data["occasions"], "work"), "work", threads, ("work", "items"))}
"""
    return text


def in_short(data: dict[str, Any]) -> str:
    """Counting and what one does with regions, with the most threads, in one sentence."""
    one, most = data["threads"][0], data["threads"][-1]
    networks, work = (together(data["occasions"], kind) for kind in ("results", "work"))
    counting = [speedup(case, "count", one, most) for case in networks]
    parts = [f"{most} threads, counting: {min(counting):.2f}× to {max(counting):.2f}×"]
    for case in work:
        name = case[0]["case"]
        if "to compare with" not in name:
            parts.append(f"{name} {speedup(case, 'work', one, most):.2f}×")
    return "; ".join(parts) + "."


def section(machines: list[dict[str, Any]]) -> str:
    """What RESULTS.md says."""
    text = """`python -m benchmarks.scaling`: enumerating in exact arithmetic, relative to one thread (the median of all rounds, and that of each occasion alone); the
last column to one thread while all other cores are busy, too. Counting, the networks, and the same for proofs, maps, volumes and many small networks: [SCALING.md](SCALING.md).
"""
    for data in machines:
        text += f"""
On {data["machine"]}. {remarks(data)}

{table(together(data["occasions"], "results"), "enumerate", data["threads"])}

{in_short(data)}
"""
    return text


def write(folder: Path) -> None:
    """Both pages, from the files of all machines, the largest first."""
    files = folder.glob("scaling_*.json")
    machines = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    machines.sort(key=lambda data: -data["threads"][-1])
    (folder / "SCALING.md").write_text(page(machines), encoding="utf-8")
    sections.put(folder / "RESULTS.md", "Threads", section(machines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--again", action="store_true", help="write the pages, measure nothing")
    parser.add_argument("--add", action="store_true", help="to the times of an earlier occasion")
    parser.add_argument("--threads", type=int, nargs="+")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--minutes", type=float, default=6.0, help="begin no case after that")
    arguments = parser.parse_args()
    if arguments.again:
        write(arguments.out)
        return
    cores = os.cpu_count() or 1
    name_of_file = f"scaling_{cores}.json"
    threads = arguments.threads or [n for n in (1, 2, 4, 8, 16) if n <= cores]
    earlier: list[Any] = []
    if arguments.add:
        before = json.loads((HERE / name_of_file).read_text(encoding="utf-8"))
        if before["threads"] != threads:
            parser.error(f"{name_of_file} is of --threads {before['threads']}, not {threads}")
        earlier = before["occasions"]
    chosen = [case for case in CASES if case[4] or not arguments.quick]
    for inputs in {case[1][0] for case in chosen}:  # compile first
        count_regions(network_of([inputs, 4, 1]))
    machine = f"a machine with {cores} cores ({platform.machine()})"
    results: list[Any] = []
    work: list[Any] = []
    deadline = time.perf_counter() + 60 * arguments.minutes

    def keep() -> None:
        occasions = [*earlier, {"results": results, "work": work}]
        data = {"machine": machine, "threads": threads, "occasions": occasions}
        text = json.dumps(data, indent=1) + "\n"
        (arguments.out / name_of_file).write_text(text, encoding="utf-8")
        write(arguments.out)

    crowd = Crowd(threads[-1])
    for case in chosen:
        if (result := measure(*case[:4], threads, crowd, deadline)) is not None:
            results.append(result)
        keep()
    for name, make in [] if arguments.quick else WORK:
        work.append(measure_work(name, make, threads, crowd))
        keep()
    crowd.close()


if __name__ == "__main__":
    main()
