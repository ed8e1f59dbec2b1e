"""Models of many kinds: each imports, or is refused by name; nothing else is ever raised."""

import json

import pytest
from benchmarks import models as benchmark

from model_zoo import MODELS, made
from tropicell import from_torch
from tropicell.errors import ModelImportError

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_model(model):
    if not model.refused:
        assert from_torch(made(model), model.example).n_outputs > 0  # compared by the import
        return
    with pytest.raises(ModelImportError) as caught:
        from_torch(made(model), model.example)
    assert model.refused in str(caught.value)


def test_the_page_is_made_of_the_results():
    results = json.loads(benchmark.RESULTS.read_text("utf-8"))
    assert {model.name for model in MODELS} <= {row["name"] for row in results}
    assert benchmark.PAGE.read_text("utf-8") == benchmark.page(results)
