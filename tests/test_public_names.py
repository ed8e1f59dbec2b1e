"""Every public name has an example, which pytest runs as a doctest.

Public is all of ``tropicell.__all__``, everything on the reference page, the functions of public
modules, and the methods of all these classes. A method has an example of its own, that of the
method that it overrides, or a call in its class's example. A property whose docstring is one line
needs none: it is a value, and the line says what it is.
"""

import importlib
import inspect
from functools import cached_property
from pathlib import Path

import pytest

import tropicell
from children import run_python

ROOT = Path(__file__).parents[1]

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


OLD_PROGRAM = """
import tropicell as tc
assert tc.measure.volumes.__module__ == "tropicell.analysis.measure"
assert tc.families is __import__("importlib").import_module("tropicell.network.families")
from tropicell import activations, graph
from tropicell.demo import demo_network
from tropicell.network import Network
from tropicell.regions import Regions
import tropicell.tropical
assert tropicell.tropical.recurrences is tc.recurrences
assert Network is tc.Network and Regions is tc.Regions
for name in MOVED:
    module = __import__("importlib").import_module(name)
    assert module.__name__ == MOVED[name] == module.__spec__.name, name
try:
    tc.nothing
except AttributeError as error:
    assert "nothing" in str(error)
"""


def test_modules_are_found_by_their_old_names():
    """In a new process, where nothing is imported yet."""
    code = "from tropicell._runtime.old_names import MOVED" + OLD_PROGRAM
    run_python("-W", "error", "-c", code)
