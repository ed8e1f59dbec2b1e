"""Prediction with regions against forward passes: one point at a time, and large batches.

    python -m benchmarks.predict [--only "2-D"] [--no-compile]

Contestants take turns within one process. Writes predict.json and the section "Prediction" of RESULTS.md.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch

import tropicell
from benchmarks import sections
from benchmarks.cases import Case
from benchmarks.compiled_c import compiled
from benchmarks.locator_designs import compare_designs, design_table
from benchmarks.timing import take_turns
from tropicell import Box, LastRegionPredictor, Network, RegionLocator, enumerate_regions, to_onnx
from tropicell.predict.export.onnx import network_to_onnx

HERE = Path(__file__).parent
THREADS = os.cpu_count() or 1

#: Points of a large batch, for networks with few inputs and with images as inputs.
BATCH, IMAGES = 100_000, 10_000
#: A path moves by so much a step; the box is [-1, 1]^d.
STEP = 1e-3

CASES = (
    Case("2-D 3×[32]", (2, 32, 32, 32, 1)),
    Case("2-D 4×[64]", (2, 64, 64, 64, 64, 1)),
    Case("2-D 4×[128]", (2, 128, 128, 128, 128, 1)),
    Case("3-D 3×[32]", (3, 32, 32, 32, 1)),
    Case("3-D 4×[64]", (3, 64, 64, 64, 64, 1)),
    Case("4-D 3×[32]", (4, 32, 32, 32, 1)),
    Case("5-D 2×[16]", (5, 16, 16, 1)),
    Case("784-D 3×[32]", (784, 32, 32, 32, 10)),
    Case("784-D 4×[64]", (784, 64, 64, 64, 64, 10)),
)
#: torch.compile takes its time: it is measured on these.
COMPILED = ("2-D 4×[64]", "3-D 4×[64]", "784-D 4×[64]")
#: The cases on which the designs of the locator are compared.
DESIGNS = ("2-D 4×[64]", "3-D 3×[32]")

Call = Callable[[], object]


@dataclass
class Contestant:
    """Ready calls for one point and for a batch, and what they give there (to be checked)."""

    one: Call | None
    many: Call | None
    error: float = 1e-9


def session(model: Any, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def onnx_contestant(model: Any, points: np.ndarray, threads: int, error: float) -> Contestant:
    dtype = np.float32 if error > 1e-6 else np.float64
    run = session(model, threads).run
    one, many = {"x": points[:1].astype(dtype)}, {"x": points.astype(dtype)}
    return Contestant(lambda: run(["y"], one)[0], lambda: run(["y"], many)[0], error)


def torch_module(network: Network) -> torch.nn.Module:
    parts: list[torch.nn.Module] = []
    for affine in [*(layer.affine for layer in network.layers), network.output]:
        (matrix,) = affine.terms.values()
        linear = torch.nn.Linear(*reversed(matrix.shape))
        linear.weight.data = torch.tensor(np.asarray(matrix), dtype=torch.float32)
        linear.bias.data = torch.tensor(affine.bias, dtype=torch.float32)
        parts += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1]).eval().requires_grad_(False)


def torch_contestant(module: Callable[[Any], Any], points: np.ndarray) -> Contestant:
    one = torch.tensor(points[:1], dtype=torch.float32)
    many = torch.tensor(points, dtype=torch.float32)
    return Contestant(lambda: module(one).numpy(), lambda: module(many).numpy(), 1e-3)


def forward_passes(
    network: Network, points: np.ndarray, *, compile_: bool
) -> dict[str, Contestant]:
    module = torch_module(network)
    found = {
        "NumPy": Contestant(lambda: network(points[:1]), lambda: network(points)),
        "torch, eager": torch_contestant(module, points),
    }
    if compile_:
        try:
            found["torch.compile"] = torch_contestant(torch.compile(module), points)
            found["torch.compile"].one()
        except Exception as error:  # whatever keeps it from working on this machine
            del found["torch.compile"]
            print("torch.compile does not work here:", str(error).splitlines()[0])
    for name, number, error in (("float32", "float", 1e-3), ("float64", "double", 1e-9)):
        model = network_to_onnx(network, number=number)
        for threads in sorted({1, THREADS}):
            label = f"onnxruntime, {name}, {threads} thread{'s' * (threads > 1)}"
            found[label] = onnx_contestant(model, points, threads, error)
    return found


def with_regions(
    network: Network, points: np.ndarray, path: np.ndarray
) -> tuple[dict[str, Contestant], dict[str, Any]]:
    """What regions have to offer, and what it takes to get there."""
    started = time.perf_counter()
    regions = enumerate_regions(network, Box(-1, 1))
    enumerated = time.perf_counter()
    locator = RegionLocator(regions)
    built = time.perf_counter()
    follower = LastRegionPredictor(regions)
    point = points[0].copy()
    steps = iter(np.tile(path, (200, 1)))
    found = {
        "RegionLocator": Contestant(
            lambda: locator.predict_one(point)[None], lambda: locator.predict(points)
        ),
        "RegionLocator, 1 thread": Contestant(None, lambda: locator.predict(points, workers=1)),
        "LastRegionPredictor, along a path": Contestant(
            lambda: follower.predict_one(next(steps)), lambda: follower.predict(path)
        ),
    }
    if len(regions) < 50_000:
        in_c = compiled(regions, points)
        if in_c is not None:
            found["compile_to_c, 1 thread"] = Contestant(None, in_c)
        model = to_onnx(regions)
        found["to_onnx in onnxruntime"] = onnx_contestant(model, points, THREADS, 1e-9)
    info = {
        "regions": len(regions),
        "bytes a region": locator.nbytes / len(regions),
        "bytes a region, last region": follower.nbytes / len(regions),
        "most tests": locator.tree.levels,
        "seconds to enumerate": enumerated - started,
        "seconds to build": built - enumerated,
    }
    return found, info


def with_cache(network: Network, points: np.ndarray) -> dict[str, Contestant]:
    try:
        predictor = importlib.import_module("tropicell.predict.cached").CachedPredictor(network)
    except ImportError:
        return {}
    predictor.fit(points)
    return {
        "CachedPredictor, all points seen": Contestant(
            lambda: predictor.predict(points[:1]), lambda: predictor.predict(points)
        )
    }


def check(name: str, contestant: Contestant, want: np.ndarray) -> None:
    """No time counts for a wrong result."""
    scale = np.abs(want).max()
    if contestant.one is not None and "path" not in name:
        assert np.abs(contestant.one() - want[:1]).max() <= contestant.error * scale, name
    if contestant.many is not None and "path" not in name:
        assert np.abs(contestant.many() - want).max() <= contestant.error * scale, name


def measure(case: Case, *, compile_: bool) -> dict[str, Any]:
    network = Network.mlp(*case.arrays())
    d, rng = case.sizes[0], np.random.default_rng(1)
    few = d < 10
    points = rng.uniform(-1, 1, size=(BATCH if few else IMAGES // 10, d))
    info: dict[str, Any] = {}
    if few:
        walk = 0.5 + np.cumsum(rng.normal(size=(10_000, d)) * STEP / np.sqrt(d), axis=0)
        path = 1 - np.abs(walk % 4 - 2)  # reflected at the box
        mine, info = with_regions(network, points, path)
    else:
        points = np.tile(points, (10, 1))
        mine = {}
    contestants = forward_passes(network, points, compile_=compile_ and case.name in COMPILED)
    contestants |= mine | with_cache(network, points[:10_000])
    counts = {name: len(points) for name in contestants}
    counts["LastRegionPredictor, along a path"] = 10_000
    counts["CachedPredictor, all points seen"] = 10_000
    want = network(points)
    for name, contestant in contestants.items():
        check(name, contestant, want[: counts[name]])
    with torch.inference_mode():
        one = take_turns({n: c.one for n, c in contestants.items() if c.one is not None})
        many = take_turns({n: c.many for n, c in contestants.items() if c.many is not None})
    return {
        "case": case.name,
        "info": info,
        "one": one,
        "many": {name: seconds / counts[name] for name, seconds in many.items()},
    }


def fastest(times: dict[str, float], start: str) -> float:
    return min(value for name, value in times.items() if name.startswith(start))


def ratio(base: float, value: float) -> str:
    times = base / value
    return f"{times:.1f} ×" if 0.95 <= times < 20 else f"{times:.2g} ×"


def case_table(entry: dict[str, Any]) -> list[str]:
    info, one, many = entry["info"], entry["one"], entry["many"]
    lines = [f"### {entry['case']}", ""]
    if info:
        lines += [
            f"{info['regions']:,} regions, enumerated in {info['seconds to enumerate']:.2g} s; locator built in "
            f"{info['seconds to build']:.2g} s, at most {info['most tests']} tests, {info['bytes a region']:.0f} bytes a "
            f"region ({info['bytes a region, last region']:.0f} with the sides for `LastRegionPredictor`).",
            "",
        ]
    lines += ["| | one point | | large batch, per point | |", "| --- | --- | --- | --- | --- |"]
    base_one, base_many = fastest(one, "onnxruntime"), fastest(many, "onnxruntime")
    for name in dict.fromkeys([*one, *many]):
        cells = []
        for times, base, unit, factor in ((one, base_one, "µs", 1e6), (many, base_many, "ns", 1e9)):
            if name in times:
                digits = 0 if times[name] * factor >= 100 else 2
                cells += [f"{times[name] * factor:,.{digits}f} {unit}", ratio(base, times[name])]
            else:
                cells += ["", ""]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def report(raw: dict[str, Any]) -> str:
    goal = [
        f"{entry['case']}: one point {ratio(fastest(entry['one'], 'onnxruntime'), entry['one']['RegionLocator'])}, "
        f"large batch {ratio(fastest(entry['many'], 'onnxruntime'), entry['many']['RegionLocator'])}"
        for entry in raw["cases"]
        if "RegionLocator" in entry["one"]
    ]
    lines = [
        f"Random networks with PyTorch's default initialisation on [-1, 1]^d, {THREADS} processors, {BATCH:,} points in a large batch",
        f"({IMAGES:,} for 784 inputs, all of them seen before by the cache; a path of 10,000 steps of length {STEP:g}). All contestants in one process,",
        "taking turns; best of the rounds. n ×: n times as fast as the fastest of the onnxruntime sessions, in the same run. Outputs were",
        "compared with the network before anything was measured. The C function is called from a loop in C, all others from Python.",
        "",
        f"Tropicell {tropicell.__version__}, onnxruntime {onnxruntime.__version__}, torch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}.",
        "",
        "`RegionLocator` against the fastest onnxruntime session:",
        "",
        *(f"- {line}" for line in goal),
        "",
    ]
    for entry in raw["cases"]:
        lines += case_table(entry)
    return "\n".join([*lines, *design_table(raw["designs"])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="only cases with this in their name")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    arguments = parser.parse_args()
    torch.set_num_threads(THREADS)
    store = HERE / "predict.json"
    known = json.loads(store.read_text()) if arguments.only and store.exists() else {}
    cases = {entry["case"]: entry for entry in known.get("cases", [])}
    designs = {entry["case"]: entry for entry in known.get("designs", [])}
    for case in CASES:
        if arguments.only in case.name:
            cases[case.name] = measure(case, compile_=not arguments.no_compile)
            print(json.dumps(cases[case.name]), flush=True)
            if case.name in DESIGNS:
                designs[case.name] = compare_designs(case)
                print(json.dumps(designs[case.name]), flush=True)
    raw = {
        "cases": [cases[case.name] for case in CASES if case.name in cases],
        "designs": [designs[name] for name in DESIGNS if name in designs],
    }
    store.write_text(json.dumps(raw, indent=1) + "\n")
    sections.put(arguments.out, "Prediction", report(raw))


if __name__ == "__main__":
    main()
