"""The command line: answers, JSON, exit status, one line for errors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import tropicell
from children import LIMIT, run_python
from tropicell import Box, Network, Region, count_regions, enumerate_regions, load_regions
from tropicell.cli import main
from tropicell.cli.parser import build_parser
from tropicell.network import count_bounds as bounds
from tropicell.verify_certificate import verify

pytest.importorskip("matplotlib").use("Agg")


@pytest.fixture
def net(tmp_path: Path) -> str:
    """A file with a network of 2 inputs and 2 outputs."""
    path = tmp_path / "net.npz"
    tropicell.save(network(), path)
    return str(path)


def network(seed: int = 0, inputs: int = 2) -> Network:
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=s) for s in ((4, inputs), (4, 4), (2, 4))]
    return Network.mlp(weights, [rng.normal(size=n) for n in (4, 4, 2)], skips=[(1, 3)])


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(list(arguments)) == status
    return capsys.readouterr().out


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> dict:
    return json.loads(answer(capsys, *arguments, "--json", status=status))


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on standard error for bad input."""
    assert main(list(arguments)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tropicell: ")
    assert printed.err.count("\n") == 1
    return printed.err


def test_info(net: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(capsys, "info", net)
    assert network().diagram() in text
    found = json_of(capsys, "info", net)
    assert found["widths"] == [4, 4]
    assert found["skips"] == [[1, 3]]
    count = count_regions(network())
    assert found["regions_at_least"] <= count <= found["regions_at_most"]


def test_count(net: str, capsys: pytest.CaptureFixture[str]) -> None:
    everywhere, inside = count_regions(network()), count_regions(network(), Box(-1, [1, 2]))
    assert answer(capsys, "count", net) == f"{everywhere} linear regions in the whole space\n"
    assert json_of(capsys, "count", net, "--whole-space")["regions"] == everywhere
    found = json_of(capsys, "count", net, "--box", "-1,-1", "1,2", "--merged")
    regions = enumerate_regions(network(), Box(-1, [1, 2]))
    assert (found["regions"], found["complete"]) == (inside, True)
    assert found["merged"] == len(regions.merged())
    options = ["--engine", "traverse", "--arithmetic", "exact", "--workers", "1"]
    assert json_of(capsys, "count", net, "--box", "-1e0", "1", *options)["complete"]


@pytest.mark.parametrize("more", [[], ["--merged"]])
def test_a_budget_gives_status_1(
    net: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["count", net, "--max-regions", "3", *more]) == 1
    printed = capsys.readouterr()
    assert printed.out == "at least 3 linear regions in the whole space\n"
    assert "not complete: --max-regions ended the search" in printed.err
    assert not json_of(capsys, "count", net, "--max-regions", "3", *more, status=1)["complete"]


def test_many_inputs_are_told_where_to_look_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, ball = str(tmp_path / "net.npz"), str(tmp_path / "ball.npz")
    tropicell.save(Network.mlp([np.eye(21, 100), np.ones((1, 21))]), model)
    np.savez(ball, center=np.full(100, 3.0), radius=0.5)
    assert main(["count", model, "--max-regions", "3", "--json"]) == 1
    assert "(--slice)" in capsys.readouterr().err
    assert main(["count", model, "--ball", ball]) == 0
    narrow = str(tmp_path / "narrow.npz")  # a search in two dimensions, in fact
    tropicell.save(Network.mlp([np.eye(2, 100), np.ones((1, 2))]), narrow)
    assert main(["count", narrow]) == 0
    assert "(--slice)" not in capsys.readouterr().err


def test_balls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, file = str(tmp_path / "net.npz"), str(tmp_path / "ball.npz")
    tropicell.save(Network.mlp([np.eye(3), np.ones((1, 3))]), model)
    center = np.array([0.5, 0.0, 0.25])
    for norm, radius, expected in [("l2", 0.5, 4), ("l1", 0.25, 2), ("linf", 0.6, 8)]:
        np.savez(file, center=center, radius=radius, norm=norm)
        found = json_of(capsys, "count", model, "--ball", file, "--engine", "wide")
        assert found["regions"] == expected
    np.savez(file, center=center)
    assert "radius" in complaint(capsys, "count", model, "--ball", file)
    np.savez(file, center=center, radius=1.0, norm="l3")
    assert "l3" in complaint(capsys, "count", model, "--ball", file)


def test_slices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, file = str(tmp_path / "net.npz"), str(tmp_path / "slice.npz")
    tropicell.save(network(inputs=5), model)
    points = np.random.default_rng(1).normal(size=(3, 5))
    np.savez(file, points=points, low=-1, high=2)
    plane = tropicell.Slice.through(points, Box(-1, 2))
    expected = count_regions(network(inputs=5), plane)
    assert json_of(capsys, "count", model, "--slice", file)["regions"] == expected
    np.savez(file, origin=points[0], directions=points[1:] - points[0], low=[-1, -1], high=[2, 2])
    assert json_of(capsys, "count", model, "--slice", file)["regions"] == expected
    answer(capsys, "plot", model, "--slice", file, "--out", str(tmp_path / "slice.png"))
    np.savez(file, origin=points[0])
    assert "origin" in complaint(capsys, "count", model, "--slice", file)
    np.savez(file, points=points, colour=1)
    assert "colour" in complaint(capsys, "count", model, "--slice", file)
    np.savez(file, points=points[:, :2])
    assert "R^2" in complaint(capsys, "count", model, "--slice", file)
    assert "no such file" in complaint(capsys, "count", model, "--slice", file + "x")


def test_enumerate_and_show(net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "regions.npz")
    assert out in answer(capsys, "enumerate", net, "--out", out)
    regions = load_regions(out)
    assert len(regions) == count_regions(network())
    text = answer(capsys, "show", out, "--limit", "2")
    assert regions[1].text in text
    assert f"and {len(regions) - 2} more" in text
    assert len(json_of(capsys, "show", out)["shown"]) == min(20, len(regions))
    for index in range(len(regions)):
        found, region = json_of(capsys, "show", out, "--region", str(index)), regions[index]
        assert found["pattern"] == region.text
        assert found["neighbours"] == region.neighbours
        assert found["vertices"] == [[str(x) for x in vertex] for vertex in region.vertices]
        assert len(found["inequalities"]) == len(region.inequalities)
        assert sum(row["facet"] for row in found["inequalities"]) >= len(region.facets)
    assert "redundant" in answer(capsys, "show", out, "--region", "0", "--all")
    exact = answer(capsys, "show", out, "--region", "0", "--exact")
    assert str(Region(network(), regions[0].pattern).affine_map.offset[0]).lstrip("-") in exact
    assert "regions 0 to" in complaint(capsys, "show", out, "--region", "99999")
    assert "no regions" in complaint(capsys, "show", net)


def test_show_with_many_inputs_stays_quick(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "regions.npz")
    regions = enumerate_regions(network(inputs=6), Box(-1, 1))
    regions.save(out)
    assert json_of(capsys, "show", out)["regions"] == len(regions)
    assert regions[0].text in answer(capsys, "show", out, "--limit", "1")
    assert json_of(capsys, "show", out, "--region", "0")["vertices"] is None
    assert "--all" in answer(capsys, "show", out, "--region", "0")
    assert json_of(capsys, "show", out, "--region", "0", "--all")["vertices"]


@pytest.mark.parametrize("kind", ["auto", "regions", "boundaries", "surface"])
def test_plot(kind: str, net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "picture.svg"
    arguments = ["--kind", kind, "--window", "-2", "2", "--title", "a $b <c>", "--decision"]
    answer(capsys, "plot", net, "--out", str(out), *arguments)
    assert "<svg" in out.read_text(encoding="utf-8")


def test_certify(net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    regions, proof = tmp_path / "regions.npz", tmp_path / "proof.npz"
    answer(capsys, "enumerate", net, "--box", "-1", "1", "--out", str(regions))
    text = answer(capsys, "certify", str(regions), "--out", str(proof))
    assert text.startswith("proved")
    assert str(proof) in text
    found = json_of(capsys, "certify", net, "--box", "-1", "1", "--volumes")
    assert found["proved"]
    assert found["complete"]
    assert found["volume"] == "4"
    assert found["regions"] == verify(str(proof))["regions"] == len(load_regions(regions))
    whole = load_regions(regions)
    whole.packed.words = whole.packed.words[1:]
    whole.witnesses = whole.witnesses[1:]
    for name in ("bounded", "volumes", "corners", "facet_lines"):
        whole.__dict__.pop(name)
    whole.save(regions)
    proof.unlink()
    assert "not proved" in answer(capsys, "certify", str(regions), "--out", str(proof), status=1)
    assert not proof.exists()
    text = answer(capsys, "certify", net, "--max-regions", "3", "--out", str(proof), status=3)
    assert text.startswith("proved, but not complete")
    assert "not claimed" in text
    assert not verify(str(proof))["complete"]
    assert ".npz" in complaint(capsys, "certify", net, "--out", str(tmp_path / "proof.txt"))


def test_explore(net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.html"
    assert str(out) in answer(capsys, "explore", net, "--box", "-1", "1", "--out", str(out))
    assert out.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")
    assert json_of(capsys, "explore", net, "--out", str(out))["page"] == str(out)
    assert ".html" in complaint(capsys, "explore", net, "--out", str(tmp_path / "page.png"))


def test_plot_of_a_file_of_regions(
    net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    regions, out = str(tmp_path / "regions.npz"), str(tmp_path / "picture.png")
    enumerate_regions(network(), Box(-1, 1)).save(regions)
    assert json_of(capsys, "plot", regions, "--color", "area", "--out", out)["picture"] == out
    assert Path(out).read_bytes().startswith(b"\x89PNG")
    assert "--box" in complaint(capsys, "plot", regions, "--out", out, "--box", "0", "1")
    assert "--kind" in complaint(capsys, "plot", regions, "--out", out, "--kind", "function")
    assert ".png" in complaint(capsys, "plot", regions, "--out", str(tmp_path / "a.flavour"))
    data = str(tmp_path / "data.npz")
    np.savez(data, points=[[0.0, 0.5]], labels=[1])
    answer(capsys, "plot", regions, "--out", out, "--points", data)
    assert "--points" in complaint(
        capsys, "plot", regions, "--out", out, "--points", data, "--kind", "surface"
    )
    np.savez(data, x=[[0.0, 0.5]])
    assert "'points'" in complaint(capsys, "plot", regions, "--out", out, "--points", data)
    line, space = str(tmp_path / "line.npz"), str(tmp_path / "space.npz")
    tropicell.save(network(inputs=1), line)
    tropicell.save(network(inputs=3), space)
    answer(capsys, "plot", line, "--out", out)
    assert "--slice" in complaint(capsys, "plot", space, "--box", "0", "0.1", "--out", out)


def test_what_cannot_be_drawn_is_refused_before_the_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tropicell.cli.commands._enumerated", None)  # nothing is searched
    many, plane = str(tmp_path / "many.npz"), str(tmp_path / "plane.npz")
    tropicell.save(network(inputs=5), many)
    tropicell.save(network(), plane)
    page, picture = str(tmp_path / "page.html"), str(tmp_path / "picture.png")
    assert "--slice" in complaint(capsys, "explore", many, "--box", "-1", "1", "--out", page)
    assert "--slice" in complaint(capsys, "plot", many, "--box", "-1", "1", "--out", picture)
    assert "--kind" in complaint(capsys, "plot", plane, "--out", picture, "--kind", "function")
    assert ".png" in complaint(capsys, "plot", plane, "--out", str(tmp_path / "a.flavour"))
    assert "--points" in complaint(
        capsys, "plot", plane, "--out", picture, "--points", "x.npz", "--kind", "surface"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["many.npz", "plane.npz"]


def test_compare(net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = str(tmp_path / "other.npz")
    tropicell.save(network(1), other)
    expected = tropicell.compare(network(), network(1), Box(-1, 1))
    arguments = ["compare", net, other, "--box", "-1", "1"]
    assert json_of(capsys, *arguments)["largest"] == expected.largest
    assert json_of(capsys, *arguments, "--workers", "2")["largest"] == expected.largest
    assert json_of(capsys, *arguments, "--tolerance", "1e9")["within_tolerance"] is True
    found = json_of(capsys, *arguments, "--tolerance", "1e-9", status=1)
    assert found["within_tolerance"] is False
    answer(capsys, "compare", net, net, "--box", "-1", "1", "--tolerance", "1e-9")
    unbounded = json_of(capsys, "compare", net, other)
    assert (unbounded["largest"], unbounded["unbounded"]) == (None, True)


def test_near(net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json_of(capsys, "near", net, "--point", "0.5,-1", "--max-regions", "4")
    wanted = tropicell.regions_around(network(), [0.5, -1.0], max_regions=4)
    assert found["patterns"] == wanted.texts()
    assert found["distances"] == wanted.distances.tolist()
    assert found["within"] == (wanted.within if np.isfinite(wanted.within) else None)
    file, regions = tmp_path / "x.npz", str(tmp_path / "near.npz")
    np.savez(file, points=[[9.0, 9.0], [0.5, -1.0]])
    text = answer(capsys, "near", net, "--point", f"{file}:1", "--radius", "0.5", "--out", regions)
    assert "proved" in text
    near = tropicell.regions_around(network(), [0.5, -1.0], radius=0.5)
    assert load_regions(regions).texts() == near.texts()
    assert "no row 2" in complaint(capsys, "near", net, "--point", f"{file}:2")
    assert "2 numbers, not 3" in complaint(capsys, "near", net, "--point", "1,2,3")
    assert "not a point" in complaint(capsys, "near", net, "--point", "one,two")


def test_robustness(net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", [0.5, -1.0])
    point = str(tmp_path / "x.npy")
    found = json_of(capsys, "robustness", net, "--point", point, "--gap", "0", "--certify")
    wanted = tropicell.robustness(network(), [0.5, -1.0], gap=0)
    assert found["exact"] == str(wanted.exact)
    assert found["certified"] is True
    assert found["lower"] == wanted.lower <= found["upper"] == wanted.upper
    text = answer(capsys, "robustness", net, "--point", "0.5,-1", "--norm", "l2", "--gap", "0")
    assert "the square is" in text
    small = answer(capsys, "robustness", net, "--point", "0.5,-1", "--radius", "1e-9")
    assert "at least" in small
    assert "gap" in complaint(capsys, "robustness", net, "--point", "0.5,-1", "--gap", "2")


def test_path(net: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json_of(capsys, "path", net, "-2,0", "0.5,-1", "1,1")
    wanted = tropicell.Path([[-2.0, 0.0], [0.5, -1.0], [1.0, 1.0]]).regions(network())
    assert found["patterns"] == wanted.texts()
    assert "on the way" in answer(capsys, "path", net, "-2,0", "0.5,-1")
    parts = json_of(capsys, "path", net, "-2,0", "0.5,-1", "--attribute")
    assert abs(sum(parts["attributions"]) - parts["difference"]) < 1e-9
    assert "in all" in answer(capsys, "path", net, "-2,0", "0.5,-1", "--attribute")
    assert "two points" in complaint(capsys, "path", net, "1,1", "--attribute")


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "617 linear regions" in answer(capsys, "demo", "--out", str(tmp_path / "demo"))
    assert (tmp_path / "demo" / "regions.png").is_file()


def test_bad_input_is_one_line(
    net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK\x03\x04 nothing")
    assert "no such file" in complaint(capsys, "count", "missing.npz")
    assert "broken.npz" in complaint(capsys, "info", str(broken))
    assert "broken.npz" in complaint(capsys, "plot", str(broken), "--out", "a.png")
    assert "numbers" in complaint(capsys, "count", net, "--box", "a", "b")
    assert "low" in complaint(capsys, "count", net, "--box", "1", "0")
    assert "3 coordinates" in complaint(capsys, "count", net, "--box", "0,0,0", "1,1,1")
    assert "workers" in complaint(capsys, "count", net, "--workers", "0")
    assert "not allowed" in complaint(capsys, "count", net, "--whole-space", "--box", "0", "1")
    assert ".npz" in complaint(capsys, "enumerate", net, "--out", "regions.txt")
    assert "folder" in complaint(capsys, "enumerate", net, "--out", "no/such/folder.npz")
    assert "COMMAND" in complaint(capsys)
    assert "flavour" in complaint(capsys, "flavour")


def test_debug_shows_where(net: str) -> None:
    with pytest.raises(tropicell.ModelFileError):
        main(["count", "missing.npz", "--debug"])


def test_ctrl_c_is_no_traceback(
    net: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tropicell.cli.commands.load", interrupted)
    assert main(["info", net]) == 130
    assert capsys.readouterr().err == "tropicell: interrupted\n"


@pytest.mark.parametrize("name", ["a b", "ä→λ", "--box", "x\x1b[31m", "a\nb", "-1"])
def test_names_with_odd_characters(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = f"./{name}.npz"
    tropicell.save(network(), file)
    assert json_of(capsys, "count", file)["complete"]
    text = answer(capsys, "enumerate", file, "--out", f"./{name} regions.npz")
    assert "\x1b" not in text
    line = complaint(capsys, "info", f"./{name}.onnx")
    assert "\x1b" not in line


def test_help_has_examples_and_the_parser_knows_all_commands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command in ("info", "count", "enumerate", "show", "plot", "compare", "demo", "completion"):
        assert f"examples:\n  tropicell {command}" in answer(capsys, command, "--help")
    assert "exit status" in answer(capsys, "--help")
    assert build_parser().prog == "tropicell"


def test_completion(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "bashcompinit" in answer(capsys, "completion", "zsh")
    fish = answer(capsys, "completion", "fish")
    assert "-l engine" in fish
    assert "__fish_use_subcommand -f -a count" in fish
    if program := shutil.which("fish"):
        subprocess.run([program, "--no-execute"], input=fish, text=True, check=True, timeout=60)
    script = tmp_path / "completion.sh"
    script.write_text(answer(capsys, "completion", "bash"), encoding="utf-8")
    lines = (
        f'source "{script}"; COMP_WORDS=(tropicell count --engine ""); COMP_CWORD=3; _tropicell; '
        'echo "${COMPREPLY[@]}"; COMP_WORDS=(tropicell sh); COMP_CWORD=1; _tropicell; '
        'echo "${COMPREPLY[@]}"'
    )
    command = ["bash", "-c", lines]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT)
    assert done.stdout == "auto cells halfspaces wide shadow traverse\nshow\n"


def test_the_real_thing(net: str, tmp_path: Path) -> None:
    """A process of its own, with its output in a pipe, on a terminal that knows ASCII only."""
    source = Path(tropicell.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": str(source), "PYTHONIOENCODING": "ascii"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        options = {"env": environment, "cwd": tmp_path}
        return run_python("-m", "tropicell", *arguments, check=False, **options)

    counted = run("count", net, "--json")
    assert counted.returncode == 0
    assert json.loads(counted.stdout)["regions"] == count_regions(network())
    assert "regions/s" not in counted.stderr  # no progress bar
    assert run("info", net).returncode == 0
    missing = run("count", "missing.npz")
    assert missing.returncode == 2
    assert missing.stderr == "tropicell: missing.npz: no such file\n"
    assert run("--version").stdout == f"tropicell {tropicell.__version__}\n"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "hard_tanh"])
@pytest.mark.parametrize("skips", [[], [(1, 3)]])
def test_bounds_hold(seed: int, activation: str, skips: list[tuple[int, int]]) -> None:
    rng = np.random.default_rng(seed)
    inputs, width = 1 + seed % 3, 2 + seed % 2
    shapes = [(width, inputs), (width, width), (width, width), (1, width)]
    weights = [rng.integers(-2, 3, size=shape) for shape in shapes]
    biases = [rng.integers(-2, 3, size=shape[0]) for shape in shapes]
    net = Network.mlp(weights, biases, skips=skips, activation=activation)
    assert bounds.lower_bound(net) <= count_regions(net) <= bounds.upper_bound(net)


def test_bounds_of_large_networks_are_numbers_one_can_read() -> None:
    wide = Network.mlp([np.ones((300, 784)), np.ones((300, 300)), np.ones((10, 300))])
    assert bounds.magnitude(bounds.upper_bound(wide)).startswith("about ")
    assert bounds.lower_bound(wide) == 1
    assert bounds.logarithm10(10**5000) == pytest.approx(5000)
    assert bounds.upper_bound(Network.mlp([np.ones((1, 2))])) == 1
    assert bounds.lower_bound(Network.mlp([np.zeros((3, 2)), np.ones((1, 3))])) == 1


@pytest.mark.filterwarnings("default")
def test_warnings_are_one_line_without_code(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tropicell.save(Network.mlp([np.eye(2), np.ones((1, 2))]), tmp_path / "net.npz")
    with mock.patch("tropicell.engines.table.cuda_backend", return_value="there is none"):
        status = main(["count", str(tmp_path / "net.npz"), "--box", "-1", "1", "--device", "cuda"])
    assert status == 0
    said = capsys.readouterr().err
    assert said.startswith("tropicell: device='cuda' is not used")
    assert ".py" not in said


def test_a_part_of_the_regions_is_at_least_so_many(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tropicell.save(Network.mlp([np.eye(2), np.ones((1, 2))]), tmp_path / "net.npz")
    regions = str(tmp_path / "regions.npz")
    net = str(tmp_path / "net.npz")
    for command in (
        ["count", net, "--max-regions", "2"],
        ["enumerate", net, "--max-regions", "2", "--out", regions],
        ["show", regions],
    ):
        main(command)
        assert "at least 2" in capsys.readouterr().out
    assert repr(load_regions(regions)).startswith("Regions(at least 2 of")


def test_paper(net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = str(tmp_path / "small.npz")
    tropicell.save(Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], None]), small)
    text = answer(capsys, "paper", "algorithm2", small)
    assert "3 regions" in text
    assert "Algorithm 2 as printed" in text
    (rows,) = json_of(capsys, "paper", "algorithm2", small).values()
    assert [row["name"] for row in rows][-1] == "conflict lists"
    assert {row["regions"] for row in rows} == {3}
    assert rows[0]["calls"] == 4
    wide = str(tmp_path / "wide.npz")
    rng = np.random.default_rng(0)
    biases = [rng.normal(size=120), None]
    tropicell.save(Network.mlp([rng.normal(size=(120, 2)), np.ones((1, 120))], biases), wide)
    assert "more than 5,000 regions" in complaint(capsys, "paper", "algorithm2", wide)
    assert "output" in answer(capsys, "paper", "tropical", small)
    for to in ("text", "latex", "polymake", "oscar", "macaulay2", "gfan"):
        assert answer(capsys, "paper", "tropical", small, "--to", to).strip()
    assert json_of(capsys, "paper", "tropical", small, "--layer", "1")["sizes"][0]["symbol"] == "F"
    assert "leave out --layer" in complaint(
        capsys, "paper", "tropical", net, "--layer", "1", "--to", "text"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["count", "NET", "--boxx", "-1", "1"],
            "did you mean --box? (see: tropicell count --help)",
        ),
        (["warmup", "--foo"], "arguments: --foo (see: tropicell warmup --help)"),
        (["count", "NET", "left", "over"], "left over (see: tropicell count --help)"),
        (["count", "NET", "--max-regions", "x"], "expected a whole number"),
        (["near", "NET", "--point", "0", "-1"], "numbers of a point are separated by commas"),
    ],
)
def test_what_is_meant_is_an_option_of_the_command(
    arguments: list[str], said: str, net: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in complaint(capsys, *(net if word == "NET" else word for word in arguments))


def test_where_to_look_is_said_if_nothing_was_found(
    net: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["count", net, "--max-seconds", "0"]) == 1
    assert "With 2 inputs, look at a line or a plane (--slice)" in capsys.readouterr().err
