"""The experiments in examples/ run, here on a few invented images."""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for their module
    spec.loader.exec_module(module)
    return module


def write_images(path: Path, size: int, brightness: int, rng: np.random.Generator) -> None:
    arrays = {}
    for part, count in (("train", 200), ("test", 60)):
        pixels = rng.integers(0, brightness, size=(count, size, size))
        arrays[f"x_{part}"] = pixels.astype(np.uint8)
        arrays[f"y_{part}"] = rng.integers(0, 10, size=count).astype(np.uint8)
    np.savez(path, **arrays)


def test_out_of_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    write_images(tmp_path / "mnist.npz", 28, 60, rng)
    write_images(tmp_path / "svhn_gray.npz", 32, 256, rng)
    with gzip.open(tmp_path / "t10k-images-idx3-ubyte.gz", "wb") as stream:
        stream.write(bytes(16) + rng.integers(0, 256, 28 * 28 * 50).astype(np.uint8).tobytes())
    example, out = load("out_of_distribution"), tmp_path / "out"
    out.mkdir()
    page = out / "out-of-distribution.md"
    page.write_text(f"# Before\n\n{example.BEGIN}\nold\n{example.END}\n\nAfter\n")
    folders = ["--data", str(tmp_path), "--fashion", str(tmp_path), "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["example", *folders, "--quick", "--seeds", "2"])
    example.main()
    results = json.loads((out / "out-of-distribution.json").read_text(encoding="utf-8"))
    assert results["images"] == {"train": 200, "MNIST": 60, "Fashion-MNIST": 50, "SVHN": 60}
    for row in results["rows"]:
        for network in row["networks"]:
            assert network["auroc"]["brightness"] == {"Fashion-MNIST": 1.0, "SVHN": 1.0}
            assert 0.5 < network["auroc"]["flips"]["SVHN"] <= 1
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Before")
    assert text.endswith("After\n")
    assert "old" not in text
    assert text.count("| 4×8 |") == 2 + 2 * 2
    assert (out / "images" / "out-of-distribution.png").is_file()
