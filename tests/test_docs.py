"""Every snippet of the docs runs: a page's Python blocks in order, its ``tropicell`` commands."""

import importlib
import inspect
import re
import shlex
from functools import cached_property
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import tropicell
from tropicell.cli import main

ROOT = Path(__file__).parents[1]
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


def test_there_are_pages():
    assert len(PAGES) > 5


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs" / "reference.rst").read_text("utf-8")
    listed = {line.strip() for line in page.splitlines()}
    modules = {name for name in tropicell.__all__ if inspect.ismodule(getattr(tropicell, name))}
    assert set(tropicell.__all__) - modules <= listed


# --- examples in docstrings -------------------------------------------------------------------
# Every public name has an example, which pytest runs as a doctest: all of ``tropicell.__all__``,
# everything on the reference page, the functions of public modules, and the methods of all these
# classes: one of its own, that of the method that it overrides, or a call in its class's example.
# A property whose docstring is one line needs none: it is a value, and the line says what it is.

#: Its file is a program by itself, which must stay short enough to be read before it is trusted.
EXEMPT = {"verify_certificate.verify"}


def public_names():
    """Names with what they stand for; classes come with their methods and properties."""
    page = (ROOT / "docs" / "reference.rst").read_text("utf-8")
    listed = [line.strip() for line in page.splitlines() if line.startswith("   ")]
    names = {*tropicell.__all__, *(name for name in listed if not name.startswith(":"))}
    for name in sorted(names):
        module, _, last = f"tropicell.{name}".rpartition(".")
        thing = getattr(importlib.import_module(module), last)
        if inspect.ismodule(thing):
            functions = inspect.getmembers(thing, inspect.isfunction)
            found = {f"{name}.{key}": f for key, f in functions if thing.__name__ in f.__module__}
        else:
            found = {name: thing}
        if inspect.isclass(thing):
            found |= {f"{name}.{key}": value for key, value in members_of(thing)}
        yield from ((key, value) for key, value in found.items() if "._" not in key)


def members_of(kind):
    """Methods and properties that are written in this package."""
    for key in dir(kind):
        value = inspect.getattr_static(kind, key)
        if isinstance(value, (property, cached_property)):
            yield key, value
        elif inspect.isroutine(getattr(kind, key)):
            function = inspect.unwrap(getattr(kind, key))
            if str(getattr(function, "__module__", "")).startswith("tropicell"):
                yield key, function


PUBLIC = dict(public_names())


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - EXEMPT))
def test_public_names_have_examples(name):
    text = inspect.getdoc(PUBLIC[name])
    assert text
    says_all = isinstance(PUBLIC[name], (property, cached_property)) and "\n" not in text
    assert (
        says_all or examples_in(text) or f".{name.rpartition('.')[2]}(" in examples_of_class(name)
    )


def examples_in(text):
    """The part of a docstring with examples, if they are there to be run."""
    _, heading, examples = text.partition("\nExamples\n--------\n")
    return examples if heading and ">>> " in examples else ""


def examples_of_class(name):
    owner = PUBLIC.get(name.rpartition(".")[0])
    return examples_in(inspect.getdoc(owner) or "") if inspect.isclass(owner) else ""


def test_the_rule_can_be_broken():
    assert "Regions.locate" in PUBLIC
    assert not examples_in("Count.\n\nExamples\n--------\nSoon.")
