"""What is near a point: against relucent's local search, dense sampling, sums of steps, and a MILP.

    python -m benchmarks.near [PART …] [--again]

RELUCENT_PYTHON names a Python with relucent, TROPICELL_MODELS and TROPICELL_DATA the folders of networks
and data sets; what is missing is left out. Writes NEAR.json and a section of RESULTS.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

import tropicell as tc
from benchmarks import sections

HERE = Path(__file__).parent
DATA, PAGE = HERE / "NEAR.json", HERE / "RESULTS.md"

PARTS = ("local", "sampling", "paths", "gradients", "small", "large")

#: Regions that local searches are asked for, and seconds for one distance.
REGIONS, SECONDS = 16, 60.0

#: Seconds for one run of relucent.
LIMIT = 240.0


def random_network(sizes: list[int], seed: int) -> tc.Network:
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for m, n in pairwise(sizes)]
    return tc.Network.mlp(weights, [rng.normal(size=n) / 4 for n in sizes[1:]])


def timed(function: Callable[..., Any], *given: Any, **options: Any) -> tuple[Any, float, float]:
    """What a function gives, and its seconds: of the clock, and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    found = function(*given, **options)
    return found, time.perf_counter() - clock, time.process_time() - processor


# --- local searches -------------------------------------------------------------------------------


def local_search() -> list[dict[str, Any]]:
    results = []
    for inputs in (50, 784):
        network = random_network([inputs, 32, 32, 1], inputs)
        x = np.random.default_rng(0).normal(size=inputs)
        tc.regions_around(network, x, max_regions=2)
        found, seconds, processor = timed(tc.regions_around, network, x, max_regions=REGIONS)
        result = {
            "inputs": inputs,
            "regions": len(found),
            "within": found.within,
            "seconds": seconds,
            "processor": processor,
        }
        if "RELUCENT_PYTHON" in os.environ:
            result["relucent"] = relucent(network, x)
        results.append(result)
    return results


def relucent(network: tc.Network, x: np.ndarray) -> dict[str, Any]:
    affine = [layer.affine for layer in network.layers] + [network.output]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "task.npz"
        arrays: dict[str, Any] = {"count": len(affine), "x": x, "limit": REGIONS}
        for k, part in enumerate(affine):
            arrays |= {f"W{k}": next(iter(part.terms.values())), f"b{k}": part.bias}
        np.savez(file, **arrays)
        command = [
            os.environ["RELUCENT_PYTHON"],
            str(HERE / "contestants/near_relucent.py"),
            str(file),
        ]
        before = os.times()
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
                env=os.environ | {"PYTHONPATH": str(HERE)},
            )
        except subprocess.TimeoutExpired:
            return {"error": f"not done after {LIMIT:g} s"}
        after = os.times()
    try:
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return {"error": (done.stderr.strip().splitlines() or ["nothing was said"])[-1][:200]}
    used = after.children_user + after.children_system
    return answer | {"process": used - before.children_user - before.children_system}


def sampling() -> list[dict[str, Any]]:
    """Regions in a ball: exactly, and as many as samples see."""
    results = []
    rng = np.random.default_rng(0)
    for inputs in (3, 6, 12):
        network = random_network([inputs, 16, 16, 1], inputs)
        x = rng.normal(size=inputs)
        radius = float(tc.regions_around(network, x, max_regions=60).distances[-1])
        found, _, processor = timed(tc.regions_around, network, x, radius=radius)
        result = {
            "inputs": inputs,
            "regions": len(found),
            "proved": found.within >= radius,
            "processor": processor,
            "samples": {},
        }
        for count in (1_000, 100_000):
            steps = rng.normal(size=(count, inputs))
            sizes = radius * rng.random((count, 1)) ** (1 / inputs)
            steps *= sizes / np.linalg.norm(steps, axis=1, keepdims=True)
            seen, _, seconds = timed(seen_by, network, x + steps)
            result["samples"][count] = {"regions": seen, "processor": seconds}
        results.append(result)
    return results


def seen_by(network: tc.Network, points: np.ndarray) -> int:
    return len(np.unique(network.patterns(points), axis=0))


# --- paths and integrated gradients ---------------------------------------------------------------


def real_network() -> tuple[tc.Network, np.ndarray] | None:
    models, data = os.environ.get("TROPICELL_MODELS"), os.environ.get("TROPICELL_DATA")
    if not models or not data:
        return None
    with np.load(Path(data) / "mnist.npz") as images:
        x = images["x_test"][:2000].reshape(2000, -1) / 255.0
    return tc.from_onnx(Path(models) / "mnist_fc_256x2.onnx"), x


def paths(network: tc.Network, x: np.ndarray) -> dict[str, Any]:
    segments = np.stack([x[:1000], x[1000:2000]], axis=1)
    tc.Path(segments[:2]).regions(network)
    found, seconds, processor = timed(lambda: tc.Path(segments).regions(network))
    few, steps = 20, 1000
    share = np.linspace(0, 1, steps)[:, None]
    patterns, _, sampled = timed(
        lambda: [network.patterns(a + share * (b - a)) for a, b in segments[:few]]
    )
    seen = sum(1 + int((p[1:] != p[:-1]).any(axis=1).sum()) for p in patterns)
    return {
        "segments": len(segments),
        "pieces": len(found),
        "in_rationals": found.exactly,
        "seconds": seconds,
        "processor": processor,
        "largest_error": float(found.errors.max()),
        "sampled": {
            "segments": few,
            "steps": steps,
            "pieces": seen,
            "of": int(found.counts()[:few].sum()),
            "processor": sampled,
        },
    }


def gradients(network: tc.Network, x: np.ndarray) -> dict[str, Any]:
    point = x[0]
    tc.integrated_gradients(network, point)
    found, _, processor = timed(lambda: tc.integrated_gradients(network, point))
    exact, _, rational = timed(lambda: tc.integrated_gradients(network, point, arithmetic="exact"))
    true = exact.attributions[0].astype(float)
    output = int(found.outputs[0])
    sums = {}
    for steps in (50, 1000, 100_000):
        got, _, seconds = timed(sum_of_steps, network, point, output, steps)
        sums[steps] = {
            "processor": seconds,
            "error": float(np.abs(got - true).max() / np.abs(true).max()),
            "completeness": float(abs(got.sum() - found.differences[0])),
        }
    return {
        "pieces": len(found.path),
        "processor": processor,
        "error": float(np.abs(found.attributions[0] - true).max() / np.abs(true).max()),
        "bound": float(found.errors.max() / np.abs(true).max()),
        "completeness": float(abs(found.completeness[0])),
        "rational": {"processor": rational, "completeness": str(exact.completeness[0])},
        "sums": sums,
    }


def sum_of_steps(network: tc.Network, x: np.ndarray, output: int, steps: int) -> np.ndarray:
    """The usual way: gradients at the middles of many steps (backwards, all at once)."""
    total = np.zeros(len(x))
    for part in np.array_split((np.arange(steps) + 0.5) / steps, max(1, steps // 2000)):
        patterns = network.patterns(part[:, None] * x)
        outer = np.repeat(network.output.terms[network.depth][output][None], len(part), axis=0)
        for layer in range(network.depth, 0, -1):
            end = int(np.sum(network.widths[:layer]))
            outer = outer * patterns[:, end - network.widths[layer - 1] : end]
            matrix = network.affine(layer).terms[layer - 1]
            outer = outer.sum(axis=0, keepdims=True) @ matrix if layer == 1 else outer @ matrix
        total += outer[0]
    return np.asarray(total / steps * x)


# --- distances to the decision boundary -----------------------------------------------------------


def trained(x_test: int = 20) -> tuple[tc.Network, np.ndarray] | None:
    """An MNIST classifier 784-32-32-10, trained here."""
    data = os.environ.get("TROPICELL_DATA")
    if not data:
        return None
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    with np.load(Path(data) / "mnist.npz") as images:
        x = torch.tensor(images["x_train"].reshape(-1, 784)[:20_000] / 255.0, dtype=torch.float32)
        y = torch.tensor(images["y_train"][:20_000].astype(np.int64))
        test = images["x_test"][:x_test].reshape(x_test, -1) / 255.0
    layers = [torch.nn.Linear(784, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(32, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(4):
        for rows in torch.randperm(len(x)).split(128):
            loss = torch.nn.functional.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    linears = [part for part in model if isinstance(part, torch.nn.Linear)]
    weights = [part.weight.detach().double().numpy() for part in linears]
    return tc.Network.mlp(weights, [part.bias.detach().double().numpy() for part in linears]), test


def by_milp(
    network: tc.Network, x: np.ndarray, radius: float, first: int, seconds: float
) -> dict[str, Any]:
    """The straightforward MILP: a binary for every neuron that interval bounds leave open, all targets.

    Minimise the linf radius with the network's layers as constraints; the same upper bound on the
    radius is given to it, for its big constants, and the target to begin with.
    """
    inputs, depth = network.n_inputs, network.depth
    low, high = x - radius, x + radius
    starts, offset = [0], inputs
    widths = list(network.widths)
    for width in widths:
        starts.append(offset)
        offset += width
    binary = offset
    bounds_low, bounds_high = [low], [high]
    rows: list[Any] = []
    lows: list[float] = []
    highs: list[float] = []
    places: list[tuple[int, int, float, float]] = []
    layers = []
    for layer in range(1, depth + 1):
        matrix, bias = network.affine(layer).terms[layer - 1], network.affine(layer).bias
        positive, negative = np.maximum(matrix, 0), np.minimum(matrix, 0)
        least = positive @ low + negative @ high + bias
        most = positive @ high + negative @ low + bias
        layers.append((matrix, bias, least, most))
        low, high = np.maximum(least, 0), np.maximum(most, 0)
        bounds_low.append(low)
        bounds_high.append(high)
        places += [
            (layer, j, least[j], most[j]) for j in range(len(bias)) if least[j] < 0 < most[j]
        ]
    size = binary + len(places) + 1
    numbers = {(layer, j): binary + k for k, (layer, j, _, _) in enumerate(places)}

    def add(entries: dict[int, float], low: float, high: float, dense: Any = None) -> None:
        row = np.zeros(size)
        if dense is not None:
            row[dense[0] : dense[0] + len(dense[1])] = dense[1]
        for column, value in entries.items():
            row[column] += value
        rows.append(sp.csr_array(row[None]))
        lows.append(low)
        highs.append(high)

    for layer, (matrix, bias, least, most) in enumerate(layers, start=1):
        for j in range(len(bias)):
            out, before = starts[layer] + j, (starts[layer - 1], -matrix[j])
            if most[j] <= 0:
                add({out: 1.0}, 0.0, 0.0)
            elif least[j] >= 0:
                add({out: 1.0}, bias[j], bias[j], before)
            else:
                z = numbers[layer, j]
                add({out: 1.0}, bias[j], np.inf, before)
                add({out: 1.0, z: -least[j]}, -np.inf, bias[j] - least[j], before)
                add({out: 1.0, z: -most[j]}, -np.inf, 0.0)
    for i in range(inputs):
        add({i: 1.0, size - 1: -1.0}, -np.inf, x[i])
        add({i: 1.0, size - 1: 1.0}, x[i], np.inf)
    cost = np.zeros(size)
    cost[-1] = 1.0
    kinds = np.zeros(size)
    kinds[binary : binary + len(places)] = 1
    begin = np.concatenate([*bounds_low, np.zeros(len(places) + 1)])
    end = np.concatenate([*bounds_high, np.ones(len(places)), [radius]])
    top = int(network(x[None])[0].argmax())
    best, complete = np.inf, True
    clock, processor = time.perf_counter(), time.process_time()
    weights, bias = network.output.terms[depth], network.output.bias
    for target in sorted(range(network.n_outputs), key=lambda k: k != first):
        left = seconds - (time.perf_counter() - clock)
        if target == top:
            continue
        if left <= 0:
            complete = False
            break
        row = np.zeros(size)
        row[starts[depth] : starts[depth] + widths[-1]] = weights[top] - weights[target]
        matrix = sp.vstack([*rows, sp.csr_array(row[None])]).tocsc()
        constraint = LinearConstraint(matrix, [*lows, -np.inf], [*highs, bias[target] - bias[top]])
        done = milp(
            cost,
            constraints=constraint,
            integrality=kinds,
            bounds=Bounds(begin, end),
            options={"time_limit": left, "mip_rel_gap": 1e-4},
        )
        if done.x is not None:
            best = min(best, float(done.fun))
        complete &= done.status in (0, 2)
    return {
        "distance": best if np.isfinite(best) else None,
        "complete": bool(complete),
        "seconds": time.perf_counter() - clock,
        "processor": time.process_time() - processor,
        "binaries": len(places),
    }


def distances(network: tc.Network, x: np.ndarray, count: int) -> list[dict[str, Any]]:
    results = []
    for i in range(count):
        found, seconds, processor = timed(
            tc.robustness, network, x[i], norm="linf", max_seconds=SECONDS
        )
        results.append(
            {
                "image": i,
                "lower": found.lower,
                "upper": found.upper,
                "complete": found.complete,
                "nodes": found.nodes,
                "seconds": seconds,
                "processor": processor,
                "milp": by_milp(network, x[i], found.upper * 1.01, found.target, SECONDS),
            }
        )
    return results


# --- the page -------------------------------------------------------------------------------------


def number(value: Any, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}g}"


def page(data: dict[str, Any]) -> str:
    parts = [
        "Written by `python -m benchmarks.near`. Seconds are processor seconds unless said otherwise; the machine was not idle.",
        f"**Local search**: {REGIONS} regions around a point of a random network n-32-32-1; Tropicell finds the nearest ones (and proves up to where none is missing), "
        "relucent breadth first (`bfs(max_polys=…)`, one thread), with imports and a first small search left out of its clock.",
        "| inputs | regions | Tropicell, s | clock, s | relucent: regions | clock, s | process, s |\n| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in data.get("local", []):
        other = row.get("relucent", {})
        said = other.get("error")
        cells = [
            row["inputs"],
            row["regions"],
            number(row["processor"]),
            number(row["seconds"]),
            said or other.get("regions", "–"),
            number(other.get("seconds")),
            number(other.get("process")),
        ]
        parts[-1] += "\n| " + " | ".join(str(cell) for cell in cells) + " |"
    parts += [
        "**Regions in a ball**, and how many of them samples see:",
        "| inputs | regions | proved | s | of 1,000 samples | s | of 100,000 samples | s |\n| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in data.get("sampling", []):
        cells = [
            row["inputs"],
            row["regions"],
            "yes" if row["proved"] else "no",
            number(row["processor"]),
        ]
        for few in row["samples"].values():
            cells += [few["regions"], number(few["processor"])]
        parts[-1] += "\n| " + " | ".join(str(cell) for cell in cells) + " |"
    if "paths" in data:
        p, s = data["paths"], data["paths"]["sampled"]
        parts.append(
            f"**Paths** between MNIST images, `mnist_fc_256x2.onnx`: {p['segments']:,} segments cross {p['pieces']:,} pieces, found in {number(p['processor'])} s "
            f"({p['processor'] / p['pieces'] * 1e6:.1f} µs a piece; {p['in_rationals']} segments in rationals; ends known to {p['largest_error']:.0e}). "
            f"{s['steps']:,} samples on each of the first {s['segments']} see {s['pieces']:,} of {s['of']:,} pieces in {number(s['processor'])} s."
        )
    if "gradients" in data:
        g = data["gradients"]
        parts.append(
            f"**Integrated gradients** of one image on the same network ({g['pieces']} pieces; errors relative to the largest attribution of the rationals, "
            f"whose completeness error is {g['rational']['completeness']}, in {number(g['rational']['processor'])} s):"
        )
        parts.append(
            "| | s | error | completeness |\n| --- | --- | --- | --- |\n"
            f"| Tropicell, float64 | {number(g['processor'])} | {g['error']:.1e} (proved: {g['bound']:.1e}) | {g['completeness']:.1e} |"
        )
        for steps, row in g["sums"].items():
            parts[-1] += (
                f"\n| {int(steps):,} steps | {number(row['processor'])} | {row['error']:.1e} | {row['completeness']:.1e} |"
            )
    for key, title in (
        ("small", "MNIST 784-32-32-10, trained here"),
        ("large", "`mnist_fc_256x2.onnx`"),
    ):
        if key not in data:
            continue
        parts.append(
            f"**Distance to the decision boundary** (linf), {title}: `robustness` against a MILP (`scipy.optimize.milp`, HiGHS, one binary for every neuron that interval "
            f"bounds leave open, one problem for each target, relative gap 10⁻⁴, given Tropicell's upper bound for its constants and the target to begin with); at most {SECONDS:g} s on the clock each."
        )
        parts.append(
            "| image | lower | upper | done | parts | s | MILP | done | binaries | s |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        )
        for row in data[key]:
            m = row["milp"]
            cells = [
                row["image"],
                number(row["lower"], 6),
                number(row["upper"], 6),
                "yes" if row["complete"] else "no",
                row["nodes"],
                number(row["processor"]),
                number(m["distance"], 6),
                "yes" if m["complete"] else "no",
                m["binaries"],
                number(m["processor"]),
            ]
            parts[-1] += "\n| " + " | ".join(str(cell) for cell in cells) + " |"
    return "\n\n".join(parts)


def measure(part: str) -> Any:
    """The figures of one part; None where a network or data set is missing."""
    if part == "local":
        return local_search()
    if part == "sampling":
        return sampling()
    found = trained() if part == "small" else real_network()
    if found is None:
        return None
    ways = {"paths": paths, "gradients": gradients}
    return ways[part](*found) if part in ways else distances(*found, 2 if part == "small" else 1)


def main() -> None:
    """Measure the parts that are named (default: all), and write the page."""
    data = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    if "--again" not in sys.argv:
        for part in sys.argv[1:] or PARTS:
            found = measure(part)
            if found is not None:
                data[part] = found
                DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    data = json.loads(DATA.read_text(encoding="utf-8"))
    sections.put(PAGE, "What is near a point", page(data))


if __name__ == "__main__":
    main()
