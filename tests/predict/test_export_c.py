"""C code: compiled with the system's compiler, and compared with the network."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from children import LIMIT
from pointsets import assert_equal_to_network, slivers, telling_points
from strategies import KINDS, random_network
from tropicell import (
    Affine,
    Box,
    InvalidInputError,
    Layer,
    Network,
    Polytope,
    Regions,
    Slice,
    WholeSpace,
    compile_to_c,
    enumerate_regions,
)
from tropicell.network import activations
from tropicell.predict.export.c import check_name

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-O1"]
Run = Callable[[str, np.ndarray, int], tuple[np.ndarray, np.ndarray]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Compile code, and run its function ``network`` on points: outputs and regions."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler on the path")

    def compile_and_run(code: str, x: np.ndarray, outputs: int) -> tuple[np.ndarray, np.ndarray]:
        folder = tmp_path / f"build{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / "code.c").write_text(code)
        command = [compiler, *STRICT, "-shared", "-fPIC", "code.c", "-o", "code.so"]
        options = {"capture_output": True, "text": True, "timeout": LIMIT}
        done = subprocess.run(command, cwd=folder, check=False, **options)
        assert done.returncode == 0, done.stderr
        function = ctypes.CDLL(str(folder / "code.so")).network
        function.restype = ctypes.c_long
        x = np.ascontiguousarray(x)
        y = np.full((len(x), outputs), np.nan, dtype=x.dtype)
        address = ctypes.c_void_p
        found = [
            function(address(x[i : i + 1].ctypes.data), address(y[i : i + 1].ctypes.data))
            for i in range(len(x))
        ]
        return y, np.array(found)

    return compile_and_run


def certain(regions: Regions, points: np.ndarray) -> np.ndarray:
    """Points that stay in their region when they are moved a little, or are clearly outside."""
    where = regions.locate(points)
    a, b = regions.domain.inequalities(points.shape[1])
    outside = (points @ a.T - b > 1e-6).any(axis=1)
    same = where >= 0
    for signs in product((-1.0, 1.0), repeat=points.shape[1]):
        same &= regions.locate(points + 1e-7 * np.array(signs)) == where
    return same | outside


DOMAINS = {
    "all": lambda inputs: WholeSpace(),
    "box": lambda inputs: Box(-1, 1),
    "half": lambda inputs: Box(0, np.inf),
    "simplex": lambda inputs: Polytope(
        np.vstack([-np.eye(inputs), np.ones(inputs)]), np.append(np.zeros(inputs), 1.0)
    ),
}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("kind", KINDS)
def test_equal_to_the_network(kind: str, domain: str, run: Run) -> None:
    seed = 10 * KINDS.index(kind) + list(DOMAINS).index(domain)
    inputs = 1 + seed % 4
    network = random_network(seed, kind, inputs, 1 + seed % 3, 4)
    regions = enumerate_regions(network, DOMAINS[domain](inputs))
    points = telling_points(regions)
    values, found = run(compile_to_c(regions), points, network.n_outputs)
    assert_equal_to_network(network, points, values)
    sure = certain(regions, points)
    np.testing.assert_array_equal(found[sure], regions.locate(points)[sure])


def test_every_activation(run: Run) -> None:
    kinds = [
        activations.relu(),
        activations.prelu([0.1, -0.5, 2.0]),
        activations.hard_tanh(),
        activations.relu6(),
        activations.hard_sigmoid(),
        activations.absolute(),
        activations.clip(0.0, np.array([1.0, np.inf, 2.0])),
        activations.identity(),
        activations.soft_shrink(),
    ]
    rng = np.random.default_rng(0)
    layers = [
        Layer(Affine({k: rng.normal(size=(3, 2 if k == 0 else 3))}, rng.normal(size=3)), kind)
        for k, kind in enumerate(kinds)
    ]
    network = Network(2, layers, Affine({0: rng.normal(size=(2, 2)), 9: rng.normal(size=(2, 3))}))
    regions = enumerate_regions(network, Box(-3, 3))
    inside = telling_points(regions)
    points = np.concatenate([inside, 5 + inside])
    values, _ = run(compile_to_c(regions), points, 2)
    assert_equal_to_network(network, points, values)


def test_float(run: Run) -> None:
    network = random_network(5, "generic", 2, 3, 6)
    regions = enumerate_regions(network, Box(-1, 1))
    points = telling_points(regions).astype(np.float32)
    values, found = run(compile_to_c(regions, number="float"), points, network.n_outputs)
    assert values.dtype == np.float32
    assert_equal_to_network(network, points.astype(float), values, 1e-6)
    assert ((found >= 0) == (np.abs(points) <= 1).all(axis=1)).all()


def test_tables_alone(run: Run) -> None:
    network = random_network(5, "generic", 2, 3, 6)
    regions = enumerate_regions(network, Polytope([[1.0, 1.0], [-1, 0], [0, -1]], [1, 0, 0]))
    points = np.concatenate([regions.witnesses, [[3.0, 3.0]]])
    code = compile_to_c(regions, forward=False)
    assert "forward" not in code
    values, found = run(code, points, network.n_outputs)
    np.testing.assert_allclose(values[:-1], network(points[:-1]), rtol=1e-9)
    assert np.isnan(values[-1]).all()
    assert found.tolist() == [*range(len(regions)), -1]


def test_slivers_need_the_network(run: Run) -> None:
    network, points = slivers()
    regions = enumerate_regions(network, Box(-10, 10))
    values, _ = run(compile_to_c(regions), points, 1)
    assert_equal_to_network(network, points, values)
    values, _ = run(compile_to_c(regions, forward=False), points, 1)
    assert np.abs(values - network(points)).max() > 1  # as the documentation warns


def test_slices_and_single_regions(run: Run) -> None:
    network = random_network(2, "generic", 4, 2, 5)
    regions = enumerate_regions(network, Slice([0.5, 0, 0, 1], [[1, 0, 1, 0]], Box(-1, 1)))
    points = telling_points(regions)
    values, _ = run(compile_to_c(regions), points, network.n_outputs)
    assert_equal_to_network(regions.network, points, values)
    affine = enumerate_regions(Network(2, [], Affine({0: [[1.0, 2.0]]}, [3.0])))
    values, found = run(compile_to_c(affine), np.ones((1, 2)), 1)
    assert (values.tolist(), found.tolist()) == ([[6.0]], [0])


def test_file(tmp_path: Path) -> None:
    regions = enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), Box(-1, 1))
    code = compile_to_c(regions, tmp_path / "control.c", name="control")
    assert (tmp_path / "control.c").read_text() == code
    assert regions.network.fingerprint in code


BAD_NAMES = (
    "2x", "a b", "", "while", "é", "a-b", "x\n", "main", "int", "inline", "restrict",
    "_Bool", "_Complex", "_Atomic", "_Generic", "__x", "_x", "_", "bool", "nullptr", "typeof",
    "constexpr", "thread_local", "static_assert", "asm", "exp", "sinf", "printf", "memcpy", "linux",
    "atomic_load", "stdc_count_ones", 7,
)  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names(name: str) -> None:
    regions = enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]))
    with pytest.raises(InvalidInputError, match="no name for a function in C"):
        compile_to_c(regions, name=name)


HEADERS = (
    "assert", "complex", "ctype", "errno", "fenv", "inttypes", "locale", "math", "setjmp", "signal",
    "stdatomic", "stdio", "stdlib", "string", "threads", "time", "uchar", "wchar", "wctype",
)  # fmt: skip


@pytest.mark.parametrize("standard", ["c99", "c11", "c2x"])
def test_names_that_the_compiler_has(standard: str) -> None:
    """Every function that the standard headers declare is refused."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler on the path")
    lines = [f"#if __has_include(<{h}.h>)\n#include <{h}.h>\n#endif" for h in HEADERS]
    command = [compiler, f"-std={standard}", "-E", "-P", "-xc", "-"]
    text = "\n".join(lines)
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"the compiler does not know {standard}")
    found = set(re.findall(r"\b([A-Za-z]\w*)\s*\((?!\s*\*)", done.stdout))
    assert len(found) > 300
    accepted = [name for name in sorted(found) if _is_accepted(name)]
    assert accepted == []


def _is_accepted(name: str) -> bool:
    try:
        return check_name(name) == name
    except InvalidInputError:
        return False


@pytest.mark.parametrize("standard", ["c99", "c11", "c2x", "gnu17"])
def test_good_names(standard: str, tmp_path: Path) -> None:
    """Also those that the code has for something else."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler on the path")
    regions = enumerate_regions(random_network(1, "generic", 2, 1, 3), Box(-1, 1))
    names = ("network", "x", "y", "i", "j", "region", "size", "value", "map", "unsure", "A_1")
    for name in names:
        (tmp_path / f"{name}.c").write_text(compile_to_c(regions, name=name))
    options = [f"-std={standard}", *STRICT[1:-1], "-Wno-missing-braces", "-fsyntax-only"]
    files = [f"{name}.c" for name in names]
    done = subprocess.run(
        [compiler, *options, *files],
        cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    if f"-std={standard}" in done.stderr:
        pytest.skip(f"the compiler does not know {standard}")
    assert done.returncode == 0, done.stderr


def test_bad_numbers() -> None:
    regions = enumerate_regions(Network.mlp([[[1e30]], [[1e30]]]))
    with pytest.raises(InvalidInputError, match="number must be"):
        compile_to_c(regions, number="half")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="does not fit into a float"):
        compile_to_c(regions, number="float")
    assert "1e+60" in compile_to_c(regions)
