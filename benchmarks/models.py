"""Models that were tried: what imports, how exactly, and what is refused, and why; writes MODELS.json and docs/models.md.

    python -m benchmarks.models [--only NAME]
    python -m benchmarks.models --again     the page anew from MODELS.json, without measuring

Every model is imported in a process of its own. ONNX files of others are those in the folder that TROPICELL_MODELS names.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "models.md"
RESULTS = HERE / "MODELS.json"
sys.path.insert(0, str(HERE.parent / "tests"))

#: Seconds after which an import is given up.
LIMIT = 300.0

HEAD = """# Models that were tried

<!-- Made by `python -m benchmarks.models`; don't edit. -->

Give Tropicell a model as you have it. It becomes a network with the same outputs, or it is refused at once, and the message names the operator, the
place and what to do about it; see the [table of operators](operators.md). Several inputs and outputs are flattened and stand one after
the other, in the order of `forward` or of the file; `network.input_parts` and `network.output_parts` say which is which.

```python
import torch
import tropicell as tc

module = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
print(tc.count_regions(module))  # a module that begins with a linear layer is enough
network = tc.from_torch(module, (1, 2))  # others need an example, or its shape
assert tc.from_torch(network.to_torch(), (1, 2)) == network
```

| what you have | what to do |
| --- | --- |
| a PyTorch module | `from_torch(module, example)`; several inputs: a tuple, or a dictionary by name, each a tensor or a shape |
| an ONNX file | `from_onnx("model.onnx")`, or the file's name in place of a network |
| an exported torch program | `torch.export.save(program, "model.pt2")`, then `load("model.pt2")` |
| a Keras 3 model | set `KERAS_BACKEND=torch` before keras is imported, then `from_keras(model)`; a model that was trained on another backend is saved as `.keras` and loaded there |
| scikit-learn | `from_sklearn(estimator)`: perceptrons, linear models, pipelines with scalers and PCA, searches |
| JAX, Flax | no importer: write an ONNX file with `jax2onnx`, or a TensorFlow function with `jax2tf` and then ONNX with `tf2onnx`; for a perceptron give the arrays, `Network.mlp([np.asarray(w).T for w in kernels], biases)` |
| TensorFlow | `tf2onnx`, then `from_onnx` |
| a network of Tropicell | `network.to_torch()`, `network.to_onnx("model.onnx")`: exact copies that can be imported again |

There is no importer for JAX's own forms, for a reason. What `jax.export` gives is StableHLO, the language of a compiler, in which convolutions and pools have
layouts and windows in dozens of attributes, and indices are gathers with dimension numbers; all of that would have to be read and kept up to date a third time, beside torch and
ONNX. A jaxpr is no file format, and changes with every version. `jax2onnx` does that work already, and what it writes is compared like every other file.

"""

REFUSED = """## Refused, and why

Refusals come from the graph alone: operators first, then shapes and sizes, before any matrix is made. Most of the time is what torch takes
to export the module.

"""


def names() -> list[str]:
    """All models: those of the tests, and the ONNX files that are there."""
    from model_zoo import LARGE, MODELS

    found = [model.name for model in (*MODELS, *LARGE)]
    folder = os.environ.get("TROPICELL_MODELS")
    if folder:
        files = sorted(Path(folder).glob("**/*.onnx"))
        found += [str(file.relative_to(folder)) for file in files]
    return found


def prepare() -> None:
    """Load, before the processes of the models begin, what an import loads the first time."""
    import onnxruntime  # noqa: F401
    import torch

    from tropicell import from_torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    from_torch(torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU()), (1, 1))


def measure(name: str) -> dict[str, Any]:
    """Import one model, in this process."""

    from model_zoo import LARGE, MODELS, made
    from tropicell import TropicellError, from_torch, load

    known = {model.name: model for model in (*MODELS, *LARGE)}
    result: dict[str, Any] = {"name": name, "kind": "torch" if name in known else "ONNX"}
    module = made(known[name]) if name in known else None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, wall = time.process_time(), time.perf_counter()
    try:
        if module is not None:
            network = from_torch(module, known[name].example)
        else:
            network = load(Path(os.environ["TROPICELL_MODELS"]) / name)
    except TropicellError as error:
        result |= {
            "outcome": "refused",
            "why": " ".join(str(error).split()).rpartition(".onnx: ")[2],
        }
    except Exception:
        result |= {"outcome": "error", "why": traceback.format_exc().strip().splitlines()[-1]}
    else:
        result |= {"outcome": "works", "inputs": network.n_inputs, "outputs": network.n_outputs}
        result |= {"neurons": network.n_neurons, "layers": network.depth}
    result["seconds"] = round(time.process_time() - start, 2)
    result["wall"] = round(time.perf_counter() - wall, 2)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    result["megabytes"] = round(used / 1024)
    if result["outcome"] == "works" and module is not None:
        result["difference"] = difference(network, module, known[name].example)
    return result


def difference(network: Any, module: Any, example: Any) -> float:
    """Largest difference between the module in float64 and its network at new points, relative to the outputs."""
    import torch

    from tropicell.importers.torch import importer

    plain = importer._copy_of(getattr(module, "_orig_mod", module), torch).double()
    inputs = importer._Inputs(example, plain)
    points = np.random.default_rng(12345).normal(size=(20, network.n_inputs)) * 2
    torch.set_default_dtype(torch.float64)
    with torch.no_grad():
        expected = importer._rows(inputs.call(plain, inputs.split(row)) for row in points)
    return float(np.abs(network(points) - expected).max() / max(np.abs(expected).max(), 1e-300))


def _work(name: str, to: Any) -> None:
    to.send(measure(name))


def measured(name: str) -> dict[str, Any]:
    """Import one model in a process of its own."""
    context = multiprocessing.get_context("fork")  # with all libraries loaded
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(name, there))
    process.start()
    there.close()
    try:
        if here.poll(LIMIT):
            return here.recv()  # type: ignore[no-any-return]
        return {"name": name, "outcome": "error", "why": f"no answer within {LIMIT:g} s"}
    except EOFError:
        return {"name": name, "outcome": "error", "why": "the process ended without an answer"}
    finally:
        process.kill()
        process.join()


def page(results: list[dict[str, Any]]) -> str:
    """The page as Markdown."""
    works = [r for r in results if r["outcome"] == "works"]
    refused = [r for r in results if r["outcome"] == "refused"]
    errors = [r for r in results if r["outcome"] == "error"]
    differences = [r["difference"] for r in works if "difference" in r]
    others = f"{len(errors)} raise" if errors else "none raises"
    lines = [
        f"Of {len(results)} models {len(works)} import and {len(refused)} are refused; {others} any other error. "
        f"The largest difference between a torch module in float64 and its network, at points that the import did not look at, is "
        f"{max(differences, default=0.0):.0e} of the largest output. The longest import takes {max((r['seconds'] for r in works), default=0.0):.1f} s of one "
        f"processor, the longest refusal {max((r['seconds'] for r in refused), default=0.0):.1f} s. MB is the memory that the process needed "
        "beyond what it had when the import began.\n",
        "## Imported\n",
        "| model | from | inputs | layers | neurons | outputs | difference | seconds | MB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for r in works:
        apart = f"{r['difference']:.0e}" if "difference" in r else "compared by the import"
        sizes = f"{r['inputs']:,} | {r['layers']} | {r['neurons']:,} | {r['outputs']:,}"
        lines.append(
            f"| {r['name']} | {r['kind']} | {sizes} | {apart} | {r['seconds']:.2f} | {r['megabytes']} |"
        )
    lines += ["", REFUSED.rstrip(), ""]
    lines += ["| model | from | why | seconds | MB |", "| --- | --- | --- | --- | --- |"]
    for r in refused:
        lines.append(
            f"| {r['name']} | {r['kind']} | {r['why']} | {r['seconds']:.2f} | {r['megabytes']} |"
        )
    if errors:
        lines += ["", "## Errors\n", *(f"- {r['name']}: {r['why']}" for r in errors)]
    return HEAD + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="models whose names contain this")
    parser.add_argument("--again", action="store_true", help="write the page from MODELS.json")
    arguments = parser.parse_args()
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    if not arguments.again:
        prepare()
        chosen = [name for name in names() if arguments.only is None or arguments.only in name]
        found = {r["name"]: r for r in results if arguments.only is not None}
        for name in chosen:
            found[name] = measured(name)
            print(json.dumps(found[name]), flush=True)
        results = list(found.values())
        RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    PAGE.write_text(page(results), "utf-8")


if __name__ == "__main__":
    main()
