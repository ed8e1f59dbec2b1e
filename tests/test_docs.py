"""Every snippet of the docs runs: a page's Python blocks in order, its ``tropicell`` commands."""

import doctest
import inspect
import re
import shlex
from fnmatch import fnmatch
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import tropicell
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


def test_every_module_is_on_the_map():
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    patterns = re.findall(r"`([\w/*]+\.py)`", page)
    package = ROOT / "src" / "tropicell"
    modules = {str(file.relative_to(package).as_posix()) for file in package.rglob("*.py")}
    lost = {
        module
        for module in modules
        if not module.endswith("__init__.py")
        and not any(fnmatch(module, pattern) for pattern in patterns)
    }
    assert not lost, f"CONTRIBUTING.md does not say where {sorted(lost)} belong"


LINK = re.compile(r"\]\(([^)\s#]*)(?:#[^)\s]*)?\)|src=\"([^\"]+)\"")


def leads_somewhere(page, target):
    if re.match(r"https?://[\w.-]+(/[^\s]*)?$|mailto:", target) or not target:
        return True
    if (parts := Path(target).parts)[-2:-1] == ("gallery",):  # pages that the site makes
        return parts[-1] == "index" or (GALLERY / parts[-1]).with_suffix(".py").is_file()
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
