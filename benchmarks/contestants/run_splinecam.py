"""SplineCam: 2-D slices, cut layer by layer with graph-tool.

The folder of a checkout is passed in the environment variable SPLINECAM; the Python that runs this needs
graph-tool and PyTorch. SplineCam moves tensors to a GPU without asking; here they stay where they are.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
import types

import numpy as np
import torch
from contestants.protocol import Task, report
from contestants.torch_networks import sequential

sys.path.insert(0, os.environ["SPLINECAM"])
_to = torch.Tensor.to


def _stay(tensor: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
    kept = ["cpu" if str(value).startswith("cuda") else value for value in args]
    named = {k: "cpu" if str(v).startswith("cuda") else v for k, v in kwargs.items()}
    return _to(tensor, *kept, **named)


torch.Tensor.to = _stay
torch.Tensor.cuda = lambda tensor, *_, **__: tensor
vision = types.ModuleType("torchvision")
vision.models = types.ModuleType("torchvision.models")
drawing = types.ModuleType("graph_tool.draw")
drawing.graph_draw = None
sys.modules |= {
    "torchvision": vision,
    "torchvision.models": vision.models,
    "graph_tool.draw": drawing,
}
import splinecam  # noqa: E402


def partition(weights: list[np.ndarray], biases: list[np.ndarray], box: float) -> int:
    """Number of regions."""
    network = sequential(weights, biases).eval()
    corners = [[-box, -box], [-box, box], [box, box], [box, -box], [-box, -box]]
    domain = torch.tensor(corners, dtype=torch.float64)
    # The identity as projection: the slice is the input space itself.
    projection = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=torch.float64)
    wrapped = splinecam.wrappers.model_wrapper(
        network, input_shape=(2,), T=projection, dtype=torch.float64, device="cpu"
    )
    found = splinecam.compute.get_partitions_with_db(domain, projection, wrapped, n_workers=0)
    return len(found[0])


def main() -> None:
    task = Task.read(sys.argv[1])
    if task.box is None or task.weights[0].shape[1] != 2:
        report(0, 0.0, note="2-D boxes only")
        return
    torch.set_num_threads(1)
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        started = time.perf_counter()
        regions = partition(task.weights, task.biases, task.box)
        seconds = time.perf_counter() - started
    report(regions, seconds)


if __name__ == "__main__":
    main()
