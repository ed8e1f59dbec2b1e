"""Every snippet of the docs runs: a page's Python blocks in order, its ``tropicell`` commands."""

import ast
import doctest
import inspect
import json
import os
import re
import shlex
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import tropicell
from children import run_python
from tropicell.cli import main

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "examples" / "gallery"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = sorted(
    page.relative_to(ROOT)
    for page in (ROOT / "docs").rglob("*.md")
    if BLOCK.search(page.read_text("utf-8")) and "gallery" not in page.parts
)


@pytest.mark.parametrize("page", PAGES, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_snippets_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    namespace = {"__name__": "__main__"}
    for kind, text in BLOCK.findall((ROOT / page).read_text("utf-8")):
        if kind == "python":
            exec(compile(text, str(page), "exec"), namespace)
        else:
            run_commands(text)
    plt.close("all")


def run_commands(text):
    """Run what follows a prompt and is ours; installing and the like is left out."""
    for line in text.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if line.startswith("$ ") and words[0] == "tropicell":
            try:
                status = main(words[1:])
            except SystemExit as stop:
                status = stop.code
            assert status in (0, None), f"{line}: exit status {status}"


def test_the_readme_shows_what_happens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    found = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=options, encoding="utf-8"
    )
    plt.close("all")
    assert found.attempted > 10
    assert found.failed == 0


def test_there_are_pages():
    assert len(PAGES) > 5


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs" / "reference.rst").read_text("utf-8")
    listed = {line.strip() for line in page.splitlines()}
    modules = {name for name in tropicell.__all__ if inspect.ismodule(getattr(tropicell, name))}
    assert set(tropicell.__all__) - modules <= listed


def test_every_room_names_its_modules():
    """The first page of a room says which modules it has, and what it may import."""
    package = ROOT / "src" / "tropicell"
    for file in package.rglob("__init__.py"):
        room = file.parent
        if room == package:
            continue
        page = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
        named = set(re.findall(r"^`(\w+)` ", page, re.MULTILINE))
        there = {path.stem for path in room.glob("*.py")} - {"__init__"}
        there |= {path.parent.name for path in room.glob("*/__init__.py")}
        assert named == there, room.relative_to(package)
        assert room.parent != package or "ay import" in page, room.relative_to(package)


def test_every_room_is_on_the_map():
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rooms = {file.parent.name for file in (ROOT / "src" / "tropicell").glob("*/__init__.py")}
    assert rooms == set(re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE))


def stations():
    """The walks of CONTRIBUTING.md: what is called, and the files and functions on the way."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for title, text in re.findall(r"^### `(.+?)`\n(.*?)(?=^##)", page, re.MULTILINE | re.DOTALL):
        found = re.findall(r"^\d+\. `([\w/]+\.py)`, `([\w.]+)`", text, re.MULTILINE)
        assert len(found) == len(re.findall(r"^\d+\.", text, re.MULTILINE))
        yield pytest.param(title, found, id=title.partition("(")[0])


WALK = """
import json, os, sys
import numpy as np, torch, tropicell
from tropicell import Box, CachedPredictor, Network, enumerate_regions, from_torch
rng = np.random.default_rng(0)
module = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
weights = [rng.normal(size=shape) for shape in ((6, 2), (5, 6), (1, 5))]
network, other = (Network.mlp(weights, [rng.normal(size=6), None, None]) for _ in range(2))
box, x = Box(-1, 1), rng.normal(size=(3, 2))
regions, predictor = enumerate_regions(other, box), CachedPredictor(network)
package, seen = os.path.dirname(tropicell.__file__) + os.sep, []

def look(frame, event, _):
    file = frame.f_code.co_filename
    if event == "call" and file.startswith(package):
        name = file[len(package):].replace(os.sep, "/"), frame.f_code.co_qualname
        if name not in seen:
            seen.append(name)

sys.setprofile(look)
eval(sys.argv[1])
sys.setprofile(None)
print(json.dumps(seen))
"""


@pytest.mark.parametrize(("call", "walk"), list(stations()))
def test_walks_are_true(call, walk):
    """Each station is called, and for the first time after the one before it.

    Kernels are plain Python then, so that they are seen, too.
    """
    assert 3 < len(walk) <= 15
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    seen = json.loads(run_python("-c", WALK, call, env=environment).stdout.splitlines()[-1])
    places = [seen.index(list(station)) for station in walk]
    assert places == sorted(places), [seen[place] for place in places]


LINK = re.compile(r"\]\(([^)\s#]*)(?:#[^)\s]*)?\)|src=\"([^\"]+)\"")


def leads_somewhere(page, target):
    if re.match(r"https?://[\w.-]+(/[^\s]*)?$|mailto:", target) or not target:
        return True
    if (parts := Path(target).parts)[-2:-1] == ("gallery",):  # pages that the site makes
        return parts[-1] == "index" or (GALLERY / parts[-1]).with_suffix(".py").is_file()
    if target.startswith("live/"):  # written while the site is built
        return Path(target).name in (ROOT / "docs" / "conf.py").read_text("utf-8")
    return (page.parent / target).exists()


def test_no_link_is_dead():
    pages = [*ROOT.glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    pages += [page for page in (ROOT / "docs").rglob("*.md") if "gallery" not in page.parts]
    links = [
        (page, target)
        for page in pages
        for target in ("".join(found) for found in LINK.findall(page.read_text("utf-8")))
    ]
    dead = [f"{page.name}: {target}" for page, target in links if not leads_somewhere(page, target)]
    assert len(links) > 100
    assert not dead
