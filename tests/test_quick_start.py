"""A new user's first minutes: what is imported before it is used, and kernels ahead of time."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import tropicell
from children import run_python
from tropicell._runtime import jit
from tropicell.cli import main, options, warmup
from tropicell.engines.cells._plane import in_doubt
from tropicell.engines.cells._units import cone_unit, plane_unit
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.search.search import Device, EngineName

#: Packages that take long to import.
HEAVY = {"numba", "scipy", "llvmlite", "flint", "torch", "onnx", "sklearn", "matplotlib", "pandas"}


def imported_by(code: str) -> set[str]:
    """The packages that are there after some code ran in a process of its own."""
    told = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    modules: list[str] = json.loads(run_python("-c", told).stdout.splitlines()[-1])
    return {name.partition(".")[0] for name in modules}


def test_importing_the_package_loads_nothing_of_it() -> None:
    assert not imported_by("import tropicell") & (HEAVY | {"numpy", "tqdm"})


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["count", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = f"from tropicell.cli import main; main({arguments})"
    assert not imported_by(code) & HEAVY


def test_public_names_are_where_the_type_checker_looks() -> None:
    tree = ast.parse(Path(tropicell.__file__).read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    modules = {"families", "plotting"}
    assert {
        name: module if name in modules else f"{module}.{name}"
        for name, module in tropicell._MODULES.items()
    } == seen
    assert set(seen) == set(tropicell.__all__)
    assert set(tropicell.__all__) <= set(dir(tropicell))


def test_functions_with_the_name_of_their_module_are_functions() -> None:
    for name in ("robustness", "local_complexity", "recurrences"):
        assert callable(getattr(tropicell, name))
    with pytest.raises(AttributeError, match="no attribute 'regionz'"):
        tropicell.regionz  # noqa: B018


def test_options_have_the_choices_of_the_functions() -> None:
    assert get_args(ArithmeticName) == options.ARITHMETICS
    assert get_args(EngineName) == options.ENGINES
    assert get_args(Device) == options.DEVICES


def test_what_is_compiled_is_known_ahead() -> None:
    def parts(kernel: Any) -> set[str]:
        return {function.__qualname__ for function in jit._parts_of(kernel.py_func)}

    names = parts(plane_unit)
    assert {"plane_unit", "search_polygons", "split", "enter_layer"} <= names
    assert "_search" not in names  # copied into others, not compiled by itself
    late = {"in_doubt", "fine_sign", "bring_up", "sharpen", "can_meet", "enter_focus"}
    assert not names & late  # when a search gets there
    assert {"in_doubt", "fine_sign", "bring_up"} <= parts(in_doubt)
    for unit in (plane_unit, cone_unit):
        assert "inputs" in jit._purpose(unit.py_func)  # type: ignore[attr-defined]


def test_warmup_compiles_in_other_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(warmup.PARTS, "broken", ("nothing", lambda: None))  # not in the process
    source = str(Path(tropicell.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]))
    assert main(["warmup", "plane", "plane", "broken", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["ready"] == ["plane"]
    assert told["failed"] == {"broken": "KeyError: 'broken'"}


def test_warmup_refuses_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup", "plain"]) == 2
    assert "there is no part 'plain' to compile; did you mean 'plane'?" in capsys.readouterr().err
    assert main(["warmup", "--workers", "0"]) == 2


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["cuont", "net.npz"], "did you mean count?"),
        (["count", "net.npz", "--engine", "cels"], "did you mean cells?"),
        (["count", "net.npz", "--max-region", "3", "--workerz", "2"], "did you mean --workers?"),
    ],
)
def test_words_that_are_almost_right(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert meant in capsys.readouterr().err


def test_words_that_are_not_near_anything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", "net.npz", "--engine", "xyz"]) == 2
    assert "did you mean" not in capsys.readouterr().err


# --- what one tries first -------------------------------------------------------------------------


def some_regions() -> tropicell.Regions:
    rng = np.random.default_rng(3)
    weights = [rng.normal(size=shape) for shape in ((5, 2), (4, 5), (1, 4))]
    network = tropicell.Network.mlp(weights, [rng.normal(size=len(w)) for w in weights])
    return tropicell.enumerate_regions(network, tropicell.Box(-2, 2))


def test_some_of_the_regions() -> None:
    regions = some_regions()
    texts, rows = regions.texts(), np.array([4, 0, 2])
    for chosen in (regions[rows], regions[rows.tolist()], regions[rows - len(regions)]):
        assert chosen.texts() == [texts[row] for row in rows]
        assert chosen.volumes.tolist() == regions.volumes[rows].tolist()
        assert chosen.witnesses.tolist() == regions.witnesses[rows].tolist()
        for k, row in enumerate(rows):
            assert chosen.corners[k].tolist() == regions.corners[row].tolist()
            assert chosen.facet_lines[k].tolist() == regions.facet_lines[row].tolist()
        assert not chosen.complete
    assert regions[1:6:2].texts() == texts[1:6:2]
    large = regions.volumes > np.median(regions.volumes)
    assert len(regions[large]) == large.sum() > 0
    assert regions[::-1].complete
    assert len(regions[[]]) == 0
    assert regions[np.int64(3)].text == texts[3]


def test_a_selection_in_the_inputs_that_are_enough() -> None:
    network = tropicell.Network.mlp(
        [[[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]], [[1.0, 1.0]]], [[0, 1], [0]]
    )
    regions = tropicell.enumerate_regions(network)
    chosen = regions[[2, 0]]
    assert chosen.quotient is regions.quotient
    assert chosen.texts() == [regions.texts()[2], regions.texts()[0]]
    assert chosen[0].text == regions[2].text


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        ([0, 0], "several times"),
        ([True], "a mask has one value for each"),
        ([0.5], "not by float64"),
        ([[0, 1]], "of shape"),
        ("first", "not by"),
    ],
)
def test_wrong_selections_are_refused(chosen: Any, why: str) -> None:
    with pytest.raises(tropicell.InvalidInputError, match=why):
        some_regions()[chosen]


def test_numbers_without_sense_are_refused(tmp_path: Path) -> None:
    regions = some_regions()
    with pytest.raises(tropicell.InvalidInputError, match="every must be"):
        tropicell.Checkpoint(tmp_path, every=-1)
    with pytest.raises(tropicell.InvalidInputError, match="max_seconds must be positive"):
        tropicell.estimate_regions(regions.network, max_seconds=-1)
    with pytest.raises(tropicell.InvalidInputError, match="workers must be"):
        tropicell.RegionLocator(regions).predict([[0.0, 0.0]], workers=0)


def test_the_checker_without_a_file_says_how_it_is_used() -> None:
    done = run_python("-m", "tropicell.verify_certificate", check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")


@pytest.mark.parametrize(
    "mistake",
    [
        lambda net: tropicell.compare(net, None),
        tropicell.RegionLocator,
        lambda net: tropicell.explore(net, "page.html"),
        lambda net: tropicell.find_region(net, 3),
        lambda net: tropicell.save(3, "net.npz"),
    ],
    ids=["compare", "locator", "explore", "find_region", "save"],
)
def test_wrong_types_are_errors_of_the_package(mistake: Any) -> None:
    net = tropicell.Network.mlp([np.eye(2), np.ones((1, 2))])
    with pytest.raises(tropicell.TropicellError, match="expected"):
        mistake(net)
