"""Real files of every format, to be damaged."""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import tropicell
from fuzz import folders
from tropicell import (
    Affine,
    Box,
    CachedPredictor,
    Layer,
    Network,
    Polytope,
    Slice,
    enumerate_regions,
    verify_certificate,
)
from tropicell.cli.options import read_slice
from tropicell.lab.custom import user_points
from tropicell.lab.data import read_idx
from tropicell.lab.run import ResultStore
from tropicell.network.activations import clip, hard_sigmoid, prelu
from tropicell.network.domains import Domain

Loader = Callable[[Path], Any]

#: How each format is read.
LOADERS: dict[str, Loader] = {
    "npz": tropicell.load,
    "safetensors": tropicell.load,
    "onnx": tropicell.load,
    "pt2": tropicell.load,
    "regions": tropicell.load_regions,
    "mapped regions": lambda path: tropicell.load_regions(path, mapped=True),
    "certificate": lambda path: verify_certificate.verify(str(path)),
    **folders.LOADERS,
    "cache": lambda path: CachedPredictor.load(path, cached()),
    "slice": lambda path: read_slice(str(path)),
    "points": user_points,
    "lab": lambda path: _StoreAt(path, {"seed": 0}).get(*UNIT),
    "idx": read_idx,
}
SUFFIXES = {"regions": ".npz", "mapped regions": ".npz", "certificate": ".npz"}
SUFFIXES |= {"cache": ".npz", "slice": ".npz", "points": ".npz", "lab": ".npz"}


def suffix_of(kind: str) -> str:
    return SUFFIXES.get(kind, f".{kind}")


def write_seeds(folder: Path, kinds: list[str]) -> dict[str, list[bytes]]:
    """The contents of some good files of each kind."""
    folder.mkdir(parents=True, exist_ok=True)
    makers = {
        "npz": _npz,
        "safetensors": _safetensors,
        "onnx": _onnx,
        "pt2": _pt2,
        "regions": _regions,
        "mapped regions": _regions,
        "certificate": _certificates,
        "cache": _caches,
        "slice": _slices,
        "points": _points,
        "lab": _kept,
        "idx": _idx,
    }
    seeds = {}
    for kind in kinds:
        target = folder / kind
        target.mkdir(exist_ok=True)
        if kind in folders.LOADERS:
            folders.write_seeds(kind, target)
        else:
            makers[kind](target)
        seeds[kind] = [path.read_bytes() for path in sorted(target.iterdir())]
    return seeds


def perceptron(*sizes: int, seed: int = 0, **options: Any) -> Network:
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(n, m)) for m, n in itertools.pairwise(sizes)]
    return Network.mlp(weights, [rng.normal(size=len(w)) for w in weights], **options)


def general() -> Network:
    """Sparse and dense matrices, skips, an activation for each neuron."""
    rng = np.random.default_rng(0)
    sparse = sp.csr_array(sp.random(6, 3, density=0.4, random_state=0))
    layers = [
        Layer(Affine({0: sparse}, rng.normal(size=6)), prelu(rng.normal(size=6)), "first"),
        Layer(Affine({0: rng.normal(size=(2, 3)), 1: rng.normal(size=(2, 6))}), hard_sigmoid()),
        Layer(Affine({2: rng.normal(size=(3, 2))}), clip([-1, 0, -np.inf], [1, 0, 5])),
    ]
    return Network(3, layers, Affine({1: np.ones((2, 6)), 3: np.ones((2, 3))}, [1.0, 2.0]))


def _networks() -> list[Network]:
    line = Slice([1.0, 0.0, 0.0], [[0.0, 1.0, 1.0]])
    return [general(), perceptron(2, 4, 4, 4, 1, skips=[(1, 3)]), general().restrict(line)]


def _npz(folder: Path) -> None:
    for index, network in enumerate(_networks()):
        tropicell.save(network, folder / f"{index}.npz")
    shapes = [(3, 2), (3, 3), (3, 3), (1, 3)]
    arrays = {f"W{i}": np.ones(shape) for i, shape in enumerate(shapes)} | {"b0": np.zeros(3)}
    kinds = ["abs", "relu", "relu6"]
    extras: dict[str, Any] = {"skips": [[1, 3]], "activation": kinds, "n_layers": 4}
    np.savez(folder / "mlp.npz", **arrays, **extras)
    np.savez_compressed(folder / "compressed.npz", **arrays, box=1.0)


def _safetensors(folder: Path) -> None:
    for index, network in enumerate(_networks()):
        tropicell.save(network, folder / f"{index}.safetensors")


def _cases() -> list[tuple[Network, Domain | None]]:
    return [
        (perceptron(2, 5, 4, 1), Box(-1, 1)),
        (general(), Polytope(np.ones((1, 3)), [1.0])),
        # large enough that columns are mapped
        (perceptron(2, 40, 30, 1, seed=1), None),
    ]


def _regions(folder: Path) -> None:
    for index, (network, domain) in enumerate(_cases()):
        enumerate_regions(network, domain).save(folder / f"{index}.npz")


def _certificates(folder: Path) -> None:
    for index, (network, domain) in enumerate([*_cases()[:1], (perceptron(2, 4, 3, 1), None)]):
        enumerate_regions(network, domain).certify().save(folder / f"{index}.npz")


def _pt2(folder: Path) -> None:
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(2, 3), nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return x + self.b(torch.relu(self.a(x))).reshape(-1, 2)

    torch.manual_seed(0)
    modules = [
        (Residual(), (1, 2)),
        (nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()), (1, 1, 4, 4)),
        (nn.Sequential(nn.Linear(3, 4), nn.Hardtanh(), nn.BatchNorm1d(4)).eval(), (1, 3)),
    ]
    for index, (module, shape) in enumerate(modules):
        program = torch.export.export(module, (torch.zeros(shape),))
        torch.export.save(program, folder / f"{index}.pt2")


def _onnx(folder: Path) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)

    def store(name: str, shape: list[int], nodes: list[Any], arrays: dict[str, Any]) -> None:
        weights = [numpy_helper.from_array(np.asarray(v), k) for k, v in arrays.items()]
        values = [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
        ]
        graph = helper.make_graph(nodes, "g", values[:1], values[1:], weights)
        opset = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), folder / name)

    def number(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    node = helper.make_node
    store(
        "gemm.onnx",
        [1, 3],
        [
            node("Gemm", ["x", "w", "b"], ["a"], transB=1, alpha=0.5),
            node("Relu", ["a"], ["r"]),
            node("Concat", ["r", "x"], ["c"], axis=1),
            node("MatMul", ["c", "v"], ["y"]),
        ],
        {"w": number(4, 3), "b": number(4), "v": number(7, 2)},
    )
    store(
        "conv.onnx",
        [1, 1, 4, 4],
        [
            node("Conv", ["x", "w"], ["a"], kernel_shape=[2, 2], pads=[1, 1, 0, 0], strides=[2, 2]),
            node("MaxPool", ["a"], ["m"], kernel_shape=[2, 2]),
            node("Clip", ["m", "low"], ["k"]),
            node("Flatten", ["k"], ["y"]),
        ],
        {"w": number(2, 1, 2, 2), "low": np.float32(-1)},
    )
    store(
        "shapes.onnx",
        [1, 4],
        [
            node("Constant", [], ["s"], value=numpy_helper.from_array(np.array([2, 2]))),
            node("Reshape", ["x", "s"], ["a"]),
            node("ConstantOfShape", ["s"], ["z"]),
            node("Add", ["a", "z"], ["t"]),
            node("Transpose", ["t"], ["u"], perm=[1, 0]),
            node("Slice", ["u", "from", "to"], ["p"]),
            node("Expand", ["p", "wide"], ["e"]),
            node("Pad", ["e", "pads"], ["q"]),
            node("Tile", ["q", "twice"], ["tt"]),
            node("Gather", ["tt", "index"], ["g"], axis=0),
            node("ReduceMean", ["g"], ["h"], axes=[1], keepdims=1),
            node("Abs", ["h"], ["y"]),
        ],
        {
            "from": np.array([0]),
            "to": np.array([1]),
            "wide": np.array([3, 2]),
            "pads": np.array([0, 1, 1, 0]),
            "twice": np.array([1, 2]),
            "index": np.array([0, 2]),
        },
    )


# --- what else is read again ----------------------------------------------------------------------

UNIT = ("unit", {"width": 4})


@functools.cache
def cached() -> Network:
    """The network of the predictors' caches."""
    return perceptron(3, 30, 30, 4, seed=2)


def _caches(folder: Path) -> None:
    points = np.random.default_rng(0).normal(size=(3000, 3))
    for number in (5, 3000):  # the second one is large enough to be mapped
        CachedPredictor(cached()).fit(points[:number]).save(folder / f"{number}.npz")


def _slices(folder: Path) -> None:
    plane = {"origin": np.arange(6.0), "directions": np.eye(6)[:2]}
    np.savez(folder / "plane.npz", **plane, low=-1.0, high=2.0)
    np.savez_compressed(folder / "through.npz", points=np.eye(4)[:3], low=[-1.0, 0.0], high=2.0)


def _points(folder: Path) -> None:
    np.savez(folder / "points.npz", points=np.random.default_rng(0).normal(size=(30, 2)))


class _StoreAt(ResultStore):
    """A store that has everything in one file, whatever its name."""

    def file(self, unit: str, settings: Mapping[str, Any]) -> Path:
        return self.folder


def _kept(folder: Path) -> None:
    store = ResultStore(folder, {"seed": 0})
    store.put(*UNIT, {"counts": np.arange(100), "loss": np.linspace(0, 1, 50)})


def _idx(folder: Path) -> None:
    pixels = np.random.default_rng(0).integers(256, size=(4, 5, 6), dtype=np.uint8)
    content = b"\0\0\x08\x03" + struct.pack(">3I", *pixels.shape) + pixels.tobytes()
    (folder / "images.idx").write_bytes(content)
