"""The table of operators, its page, and the registry that ties handlers to it."""

from pathlib import Path

import pytest

from tropicell.importers.operators import OPERATORS, REFUSED, Registry, refusal, spellings
from tropicell.importers.operators_page import operators_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operators.md"


def test_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == operators_page(), (
        "run: python -m tropicell.importers.operators_page docs/operators.md"
    )


@pytest.mark.parametrize("front_end", ["torch", "onnx"])
def test_no_spelling_twice(front_end):
    everything = [s for row in (*OPERATORS, *REFUSED) for s in getattr(row, front_end)]
    assert len(everything) == len(set(everything))


def test_registry_refuses_what_is_not_in_the_table():
    registry = Registry("torch")
    with pytest.raises(LookupError, match="no row"):
        registry.handles("sigmoid")
    registry.handles("relu")(lambda: None)
    with pytest.raises(LookupError, match="two handlers"):
        registry.handles("relu")(lambda: None)
    assert registry.missing() == set(spellings("torch")) - {"relu"}


def test_refusals_say_what_to_do():
    assert "hardsigmoid" in refusal("onnx", "Sigmoid", "Sigmoid", "here").advice
    assert "table of operators" in refusal("onnx", "Nonsense", "Nonsense", "here").advice
    assert all(len(row.advice) > 10 for row in REFUSED)
