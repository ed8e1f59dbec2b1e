"""The zoo: what each engine, the certificate and relucent say about it; writes ZOO.json and docs/zoo.md.

    python -m benchmarks.zoo [--only NAME] [--seconds 120]

relucent is run if RELUCENT_PYTHON names a Python that has it, each network in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contestants.protocol import Task
from tropicell import Box, TropicellError, enumerate_regions, verify_certificate
from tropicell.network.families import cones

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from zoo.specimens import BY_ORACLE, ZOO, Specimen  # noqa: E402

MOST_INPUTS_OF_CELLS = 5

#: relucent's own errors for networks that it does not want to decide, in short.
REFUSALS = {
    "NonGenericArrangementError": "several neurons share a boundary",
    "AmbiguousGeometryError": "too close to decide in floating point",
}

HEAD = """# The zoo

Networks that break tools, each with its right number of regions, by a theorem or by the oracle (the paper's Algorithm 2 in exact
rational arithmetic). They are in `tests/zoo/specimens.py`; every change of the package is tested on all of them.
So are [all faces](how-to/faces.md) of these networks: Euler's relation, Betti numbers, neighbours, and that boundaries have no
boundary (`tests/zoo/test_complexes.py`).

You can use those with a theorem for your own tests and benchmarks: `tropicell.network.families` has `sawtooth`, `folding`,
`general_position`, `cones` and `parallel`.

```python
from tropicell import count_regions
from tropicell import families

known = families.folding([3, 4], inputs=2)
print(known.count, count_regions(known.network, known.domain))  # 144 144
```

**How to read the table.** *cells* and *half-spaces* are the two [engines](engines.md) for all kinds of domains, in exact arithmetic (the default); *certificate*: whether
`regions.certify()` proved the regions right and complete from the weights alone, and whether the separate checker agrees.
*relucent* is [relucent](https://github.com/bl-ake/relucent) {version}, called as its documentation shows: `Complex(network).bfs()` on the float64
network, with its own verification on, and from up to 20 random points where the origin lies on a boundary. It decides in floating point, and in rationals
where its error bounds leave a decision open; it refuses where it still can't be sure or where several neurons share a boundary. A refusal is an honest answer. Times are seconds of
processor time on one core; {seconds:.0f} s were given. ✓ is the right count.

| network | what is hard | regions | why | cells | half-spaces | certificate | relucent |
| --- | --- | ---: | --- | --- | --- | --- | --- |
"""


def own(animal: Specimen, engine: str, seconds: float) -> dict[str, Any]:
    known = animal.known
    started = time.process_time()
    try:
        regions = enumerate_regions(known.network, known.domain, engine=engine, max_seconds=seconds)
    except TropicellError as error:
        return {"error": str(error)}
    if not regions.complete:
        return {"error": f"not done after {seconds:.0f} s"}
    answer = {"regions": len(regions), "seconds": time.process_time() - started}
    if engine == "halfspaces" and known.network.n_inputs <= MOST_INPUTS_OF_CELLS:
        return answer
    started = time.process_time()
    certificate = regions.certify()
    answer["certify_seconds"] = time.process_time() - started
    answer["proved"] = bool(certificate.ok and certificate.complete)
    if answer["proved"]:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "proof.npz")
            certificate.save(path)
            started = time.process_time()
            answer["verified"] = verify_certificate.verify(path)["regions"] == len(regions)
            answer["verify_seconds"] = time.process_time() - started
    return answer


def relucent(animal: Specimen, seconds: float) -> dict[str, Any]:
    known = animal.known
    network = known.network
    if network.skips:
        return {"error": "takes no skip connections"}
    weights = [np.array(network.affine(i).terms[i - 1]) for i in range(1, network.depth + 2)]
    biases = [np.array(network.affine(i).bias) for i in range(1, network.depth + 2)]
    radius = None
    if isinstance(known.domain, Box):  # its boxes have their centre at the origin
        low, high = known.domain.corners(network.n_inputs)
        biases[0] = biases[0] + weights[0] @ ((low + high) / 2)
        radius = float((high - low)[0] / 2)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "task.npz")
        Task(weights, biases, radius, seconds, {}).write(path)
        command = [os.environ["RELUCENT_PYTHON"], str(HERE / "contestants/zoo_relucent.py"), path]
        with (Path(folder) / "out").open("w+") as out, (Path(folder) / "err").open("w+") as err:
            process = subprocess.Popen(
                command,
                env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE)},
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            spent = 0.0
            while process.poll() is None and spent < seconds:
                time.sleep(0.2)
                spent = processor_time(process.pid)
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return {"error": f"not done after {seconds:.0f} s"}
            out.seek(0)
            err.seek(0)
            if process.returncode:
                return {"error": "failed: " + err.read().strip().splitlines()[-1][:200]}
            return dict(json.loads(out.read().strip().splitlines()[-1]))


def processor_time(group: int) -> float:
    """Seconds that a process and its workers have used: what else the machine does does not count."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def run(animal: Specimen, seconds: float) -> dict[str, Any]:
    known = animal.known
    engines = ["cells"] if known.network.n_inputs <= MOST_INPUTS_OF_CELLS else []
    answer: dict[str, Any] = {
        "name": animal.name,
        "regions": known.count,
        "why": known.reason.replace(BY_ORACLE, "by the oracle"),
    }
    answer |= {engine: own(animal, engine, seconds) for engine in [*engines, "halfspaces"]}
    if "RELUCENT_PYTHON" in os.environ:
        answer["relucent"] = relucent(animal, seconds)
    return answer


def compile_all() -> None:
    """Kernels are compiled once, and that is not measured."""
    for engine in ("cells", "halfspaces"):
        for inputs in (1, 2, 3):
            enumerate_regions(cones(inputs, 3).network, engine=engine).certify()


def cell(answer: dict[str, Any] | None, right: int) -> str:
    if answer is None:
        return "–"
    if "error" in answer:
        kind, _, said = str(answer["error"]).replace("|", "\\|").partition(": ")
        if kind in REFUSALS:
            return f"refuses: {REFUSALS[kind]}"
        return f"{kind}: {said.splitlines()[0][:70]}" if said else kind
    count = answer["regions"]
    text = f"{count:,} ✓" if count == right else f"**{count:,}**"
    if answer.get("complete") is False:
        text += ", says not complete"
    if answer.get("verified") is False:
        text += ", says not verified"
    return f"{text} ({answer['seconds']:.2g} s)"


def proof(answer: dict[str, Any]) -> str:
    if not answer.get("proved"):
        return "not proved"
    checked = ", checked" if answer.get("verified") else ""
    return f"proved{checked} ({answer['certify_seconds']:.2g} s)"


def page(results: list[dict[str, Any]], seconds: float) -> str:
    found = [r["relucent"] for r in results if "relucent" in r]
    version = next((r["version"] for r in found if "version" in r), "(not run)")
    hard = {animal.name: animal.hard for animal in ZOO}
    lines = [HEAD.format(version=version, seconds=seconds)]
    for r in results:
        first = r.get("cells", r["halfspaces"])
        cells = [
            r["name"].replace("_", " "), hard[r["name"]], f"{r['regions']:,}", r["why"],
            cell(r.get("cells"), r["regions"]), cell(r["halfspaces"], r["regions"]), proof(first),
            cell(r.get("relucent"), r["regions"]),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |\n")
    right = sum(r.get("relucent", {}).get("regions") == r["regions"] for r in results)
    wrong = sum("regions" in r for r in found) - right
    own_right = sum(
        r[e].get("regions") == r["regions"]
        for r in results
        for e in ("cells", "halfspaces")
        if e in r
    )
    own_runs = sum(e in r for r in results for e in ("cells", "halfspaces"))
    lines.append(
        f"\nThese are {len(results)} networks. The engines are right in {own_right} of {own_runs} runs, and "
        f"{sum(r.get('cells', r['halfspaces']).get('proved', False) for r in results)} enumerations are proved. "
        f"relucent counts {right} right, {wrong} otherwise, and refuses, fails or takes too long on {len(found) - right - wrong}.\n"
    )
    return "".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--missing", action="store_true", help="only what has no answer yet")
    parser.add_argument("--page", action="store_true", help="only write the page anew")
    arguments = parser.parse_args()
    store = HERE / "ZOO.json"
    known = {r["name"]: r for r in json.loads(store.read_text())} if store.exists() else {}
    if not arguments.page:
        compile_all()
    for animal in ZOO:
        if arguments.page or (arguments.missing and animal.name in known):
            continue
        if arguments.only in animal.name:
            known[animal.name] = run(animal, arguments.seconds)
            print(json.dumps(known[animal.name]), flush=True)
            store.write_text(json.dumps(list(known.values()), indent=1, ensure_ascii=False) + "\n")
    results = [known[animal.name] for animal in ZOO if animal.name in known]
    (HERE.parent / "docs" / "zoo.md").write_text(page(results, arguments.seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
