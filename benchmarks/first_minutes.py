"""The walk of a new user, from an empty folder, with times; writes first_minutes.json and docs/first-minutes.md.

    python -m benchmarks.first_minutes [--steps install,commands,readme,calls]
    python -m benchmarks.first_minutes --again     the page anew from the file, without measuring

`install` makes a wheel and an environment with nothing else in it (this needs a package index); `commands` runs the commands of the
README there, with nothing compiled; `readme` runs the README's first Python example with this interpreter, which has torch; `calls` is
the first call of each kind, in a process of its own with an empty cache.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = HERE / "first_minutes.json"
PAGE = ROOT / "docs" / "first-minutes.md"

#: A network of some inputs for the calls below.
_NETWORK = """
import numpy as np, tropicell as tc
rng = np.random.default_rng(0)
def network(*sizes):
    weights = [rng.normal(size=(n, m)) for m, n in zip(sizes, sizes[1:])]
    return tc.Network.mlp(weights, [rng.normal(size=len(w)) for w in weights])
"""

#: First calls: what is said of each, and the code.
CALLS = {
    "count, 2 inputs": "tc.count_regions(network(2, 8, 8, 1), tc.Box(-1, 1))",
    "enumerate, 2 inputs": "tc.enumerate_regions(network(2, 8, 8, 1), tc.Box(-1, 1))",
    "enumerate in all of R², bias-free": (
        "tc.enumerate_regions(tc.Network.mlp([np.eye(2), [[1, 1], [1, -1]], [[1, 1]]]))"
    ),
    "count, 3 inputs": "tc.count_regions(network(3, 8, 8, 1), tc.Box(-1, 1))",
    "count, 6 inputs": "tc.count_regions(network(6, 8, 8, 1), tc.Box(-1, 1))",
    "enumerate and certify, 2 inputs": (
        "tc.enumerate_regions(network(2, 8, 8, 1), tc.Box(-1, 1)).certify()"
    ),
    "enumerate and locate points, 2 inputs": (
        "tc.RegionLocator(tc.enumerate_regions(network(2, 8, 8, 1), tc.Box(-1, 1)))"
        ".predict([[0.0, 0.5]])"
    ),
}

#: The commands of the README, and the first two again.
COMMANDS = (
    "tropicell --help",
    "tropicell info model.onnx",
    "tropicell count model.onnx --box -1 1",
    "tropicell count model.onnx --box -1 1",
    "tropicell explore model.onnx --box -1 1 --out page.html",
)


def timed(order: list[str], folder: Path, **environment: str) -> dict[str, float]:
    """Run a command; seconds on the clock, and of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(
        order,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(order)} failed:\n{done.stdout}{done.stderr}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(wall, 2), "processor": round(used, 2)}


def install(folder: Path, results: dict[str, Any]) -> None:
    """An environment with the wheel and what it needs."""
    steps = {}
    builder = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(builder, check=True)
    wheel = next(folder.glob("tropicell-*.whl"))
    steps["python -m venv new"] = timed([sys.executable, "-m", "venv", "new"], folder)
    pip = [str(folder / "new" / "bin" / "python"), "-m", "pip", "install", "-q"]
    steps["pip install 'tropicell[onnx,plot]'"] = timed([*pip, f"{wheel}[onnx,plot]"], folder)
    results["install"] = steps


def commands(folder: Path, results: dict[str, Any]) -> None:
    """The README's commands in that environment, with an empty cache."""
    import numpy as np

    from tropicell import Network

    rng = np.random.default_rng(0)
    sizes = (2, 16, 16, 1)
    weights = [rng.normal(size=(n, m)) for m, n in pairwise(sizes)]
    Network.mlp(weights, [rng.normal(size=len(w)) for w in weights]).to_onnx(folder / "model.onnx")
    found = []
    programs = folder / "new" / "bin"
    for command in COMMANDS:
        program, *arguments = command.split()
        found.append([command, timed([str(programs / program), *arguments], folder, PYTHONPATH="")])
    results["commands"] = found


def readme(folder: Path, results: dict[str, Any]) -> None:
    """The README's first example, twice: with an empty cache, and again."""
    text = (ROOT / "README.md").read_text("utf-8")
    block = next(iter(re.findall(r"```python\n(.*?)```", text, re.DOTALL)))
    lines = [line[4:] for line in block.splitlines() if line.startswith((">>> ", "... ", "..."))]
    (folder / "example.py").write_text("\n".join(lines) + "\n", "utf-8")
    places = {"NUMBA_CACHE_DIR": str(folder / "readme"), "PYTHONPATH": str(ROOT / "src")}
    order = [sys.executable, "example.py"]
    results["readme"] = [
        ["the first example, nothing compiled", timed(order, folder, **places)],
        ["the same again", timed(order, folder, **places)],
    ]


def calls(folder: Path, results: dict[str, Any]) -> None:
    """First calls of each kind, each with an empty cache, and again."""
    found: dict[str, Any] = {}
    for number, (name, code) in enumerate(CALLS.items()):
        places = {"NUMBA_CACHE_DIR": str(folder / f"c{number}"), "PYTHONPATH": str(ROOT / "src")}
        order = [sys.executable, "-c", f"{_NETWORK}\n{code}"]
        found[name] = {
            "first": timed(order, folder, **places),
            "again": timed(order, folder, **places),
        }
        print(name, found[name], flush=True)
    results["calls"] = found
    bare = [sys.executable, "-c", "pass"]
    order = [sys.executable, "-c", "import tropicell"]
    path = {"PYTHONPATH": str(ROOT / "src")}
    results["import"] = {
        "python": min(timed(bare, folder, **path)["processor"] for _ in range(5)),
        "tropicell": min(timed(order, folder, **path)["processor"] for _ in range(5)),
    }


def page(results: Mapping[str, Any]) -> str:
    """The page as Markdown."""
    lines = [
        "# The first minutes",
        "",
        "<!-- Made by `python -m benchmarks.first_minutes`; don't edit. -->",
        "",
        "How long does a new user wait? A script began with an empty folder, with nothing compiled, and gave the commands of the README one after "
        f"the other, on {results['machine']}. Times are seconds on the clock.",
        "",
        "| step | seconds |",
        "| --- | --- |",
    ]
    for name, cost in results["install"].items():
        note = ", downloads included" if name.startswith("pip") else ""
        lines.append(f"| `{name}`{note} | {cost['seconds']:.1f} |")
    seen: set[str] = set()
    for command, cost in results["commands"]:
        again = ", again" if command in seen else ""
        seen.add(command)
        lines.append(f"| `{command}`{again} | {cost['seconds']:.1f} |")
    for name, cost in results["readme"]:
        lines.append(f"| the README's Python, with torch: {name} | {cost['seconds']:.1f} |")
    imports = results["import"]
    lines += [
        "",
        f"`import tropicell` takes {imports['tropicell'] - imports['python']:.2f} s of processor time, because what a call needs is imported "
        "only when it is called.",
        "",
        "## The first call of each kind",
        "",
        "Kernels (the inner loops of Tropicell) are compiled when they are needed for the first time, and then kept on the disk. Those that "
        "few searches need (more digits where float64 can't tell a sign, searches for a set, convolutions) are compiled apart, by the first "
        "search that gets there. `tropicell warmup` compiles ahead of time, `tropicell warmup --all` everything. Each time is that of a whole "
        "process, the start of Python included.",
        "",
        "| call | nothing compiled | again |",
        "| --- | --- | --- |",
    ]
    for name, cost in results["calls"].items():
        first, again = cost["first"]["seconds"], cost["again"]["seconds"]
        lines.append(f"| {name} | {first:.1f} s | {again:.1f} s |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", default="install,commands,readme,calls")
    parser.add_argument("--folder", type=Path, help="where to work; default: a temporary folder")
    parser.add_argument("--again", action="store_true", help="write the page from the file")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    if not arguments.again:
        with tempfile.TemporaryDirectory() as temporary:
            folder = arguments.folder or Path(temporary)
            folder.mkdir(exist_ok=True)
            steps = {"install": install, "commands": commands, "readme": readme, "calls": calls}
            for step in arguments.steps.split(","):
                steps[step](folder, results)
        results["machine"] = (
            f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
        )
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    results = {**known, **results}
    if not arguments.again:
        RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if {"install", "commands", "readme", "calls"} <= results.keys():
        PAGE.write_text(page(results), "utf-8")


if __name__ == "__main__":
    main()
