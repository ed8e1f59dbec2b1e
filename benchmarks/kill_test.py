"""Kill an enumeration again and again, and compare what it ends with.

    python -m benchmarks.kill_test                 all cases and signals
    python -m benchmarks.kill_test --kills 3       fewer kills

A process of its own enumerates (or counts) with a checkpoint, or streams to a folder. It gets a signal at a random moment,
and is started again with the same arguments, until it was killed `--kills` times; then it may end. All columns
must be those of an undisturbed process, bit for bit. Writes kill_test.json next to this file, and a
table into docs/checkpoints.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: Seconds after which a process is given up.
LIMIT = 600.0

MARK = "<!-- figures of benchmarks/kill_test.py -->"

#: Name, sizes, threads; degenerate networks have integer weights and no biases.
CASES: list[tuple[str, list[int], int, bool]] = [
    ("2-D 3×[100], 1 thread", [2, 100, 100, 100, 1], 1, False),
    ("2-D 3×[100], 2 threads", [2, 100, 100, 100, 1], 2, False),
    ("3-D [20,20,20], 2 threads", [3, 20, 20, 20, 1], 2, False),
    ("8-D [10,10], 2 threads", [8, 10, 10, 1], 2, False),
    ("2-D integer weights, 2 threads", [2, 14, 14, 1], 2, True),
]

#: What the killed process runs.
PROGRAM = """
import sys, hashlib, json, signal, time
import numpy as np
from tropicell import Checkpoint, IncompleteError, Network, RegionFolder, count_regions, enumerate_regions
from tropicell.regions.columns import Ragged

# A process whose parent ignores Ctrl-C ignores it, too: started in the background, say.
signal.signal(signal.SIGINT, signal.default_int_handler)
sizes, workers, integer, folder, what = json.loads(sys.argv[1])
rng = np.random.default_rng(1)
weights, biases = [], []
for m, n in zip(sizes, sizes[1:]):
    if integer:
        weights.append(rng.integers(-3, 4, size=(n, m)).astype(float))
        biases.append(rng.integers(-2, 3, size=n).astype(float))
    else:
        weights.append(rng.uniform(-1, 1, size=(n, m)) / m**0.5)
        biases.append(rng.uniform(-1, 1, size=n) / m**0.5)
network = Network.mlp(weights, biases)
count_regions(Network.mlp([np.ones((1, sizes[0])), [[1.0]]]))  # kernels are loaded
print("ready", flush=True)
started = time.perf_counter()
checkpoint = None if folder is None else Checkpoint(folder, every=0.05)
if what == "count":
    try:
        found, complete = count_regions(network, workers=workers, checkpoint=checkpoint), True
    except IncompleteError as error:
        found, complete = error.count, False
    digest = str(found)
else:
    if what == "stream" and folder is not None:
        out = RegionFolder(folder, every=0.05)
        regions = enumerate_regions(network, workers=workers, out=out, max_bytes=2**20).to_regions()
    else:
        regions = enumerate_regions(network, workers=workers, checkpoint=checkpoint)
    found, complete = len(regions), regions.complete
    parts = [regions.packed.words.tobytes(), regions.witnesses.tobytes()]
    for name in ("bounded", "volumes", "corners", "facet_lines"):
        column = vars(regions).get(name)
        if isinstance(column, Ragged):
            parts += [column.values.tobytes(), column.ends.tobytes()]
        elif column is not None:
            parts.append(column.tobytes())
    digest = hashlib.sha256(b"".join(parts)).hexdigest()
seconds = time.perf_counter() - started
print(json.dumps({"regions": found, "complete": complete, "digest": digest, "seconds": seconds}))
"""


@contextmanager
def within(seconds: float, process: subprocess.Popen[str]) -> Iterator[None]:
    """A process that is still there after so many seconds is killed, and it is an error."""
    late = threading.Event()

    def give_up() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(seconds, give_up)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if late.is_set():
            raise RuntimeError(f"the process was not done after {seconds:g} s")


def start(arguments: list[Any]) -> subprocess.Popen[str]:
    """A process that is about to enumerate."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(arguments)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with within(LIMIT, process):
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError("the process did not start")
    return process


def result(process: subprocess.Popen[str]) -> dict[str, Any] | None:
    """What a process printed at its end; None if it was killed before."""
    assert process.stdout is not None
    with within(LIMIT, process):
        text = process.stdout.read().strip()
        process.stdout.close()
        process.wait()
    return json.loads(text) if text else None


def undisturbed(sizes: list[int], workers: int, integer: bool, what: str) -> dict[str, Any]:
    """What a process finds that nobody kills."""
    quiet = result(start([sizes, workers, integer, None, what]))
    assert quiet is not None
    return quiet


def disturb(
    sizes: list[int],
    workers: int,
    integer: bool,
    what: str,
    number: signal.Signals,
    kills: int,
    quiet: dict[str, Any],
) -> dict[str, Any]:
    """Kill and resume until it was killed often enough; then let it end, and compare."""
    randomness = random.Random(0)
    killed = runs = 0
    with tempfile.TemporaryDirectory() as folder:
        while True:
            place = str(Path(folder) / "checkpoint")
            if runs > 20 * (kills + 1):
                raise RuntimeError(f"{number.name} ended only {killed} of {runs} processes")
            process = start([sizes, workers, integer, place, what])
            runs += 1
            if killed < kills:
                time.sleep(randomness.uniform(0.0, 2.0 * quiet["seconds"] / (kills + 1) + 0.02))
                process.send_signal(number)
            end = result(process)
            if end is not None and end["complete"]:
                if killed >= kills:
                    break
                # It was done before the signal came: begin anew, so that kills add up.
                for file in Path(place).iterdir():
                    file.unlink()
                continue
            killed += 1
    return {
        "regions": quiet["regions"],
        "signal": number.name,
        "what": what,
        "kills": killed,
        "runs": runs,
        "same": end["digest"] == quiet["digest"] and end["regions"] == quiet["regions"],
    }


def table(results: list[dict[str, Any]]) -> str:
    """The results as Markdown."""
    lines = ["| network | what | signal | regions | killed | the same at the end |"]
    lines.append("| --- | --- | --- | ---: | ---: | --- |")
    for found in results:
        cells = [found["case"], found["what"], found["signal"], f"{found['regions']:,}"]
        cells += [f"{found['kills']} times", "yes" if found["same"] else "NO"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_page(results: list[dict[str, Any]]) -> None:
    """Put the table at the end of the page about checkpoints."""
    page = HERE.parent / "docs" / "checkpoints.md"
    text = page.read_text().partition(MARK)[0]
    page.write_text(f"{text}{MARK}\n\n{table(results)}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    arguments = parser.parse_args()
    results = []
    plan = [(case, "enumerate", signal.SIGKILL) for case in CASES]
    plan += [(CASES[1], "enumerate", signal.SIGTERM), (CASES[1], "enumerate", signal.SIGINT)]
    plan += [(CASES[1], "count", signal.SIGKILL), (CASES[3], "count", signal.SIGKILL)]
    plan += [(CASES[1], "stream", signal.SIGKILL), (CASES[3], "stream", signal.SIGKILL)]
    for (name, sizes, workers, integer), what, number in plan:
        quiet = undisturbed(sizes, workers, integer, what)
        found = disturb(sizes, workers, integer, what, number, arguments.kills, quiet)
        results.append({"case": name} | found)
        print(json.dumps(results[-1]), flush=True)
        data = {"machine": platform.machine(), "results": results}
        (HERE / "kill_test.json").write_text(json.dumps(data, indent=1) + "\n")
        write_page(results)
    if not all(found["same"] for found in results):
        raise SystemExit("some results differ")


if __name__ == "__main__":
    main()
