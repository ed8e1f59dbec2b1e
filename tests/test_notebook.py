"""The notebooks run top to bottom."""

from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", ["tour", "paper"])
@pytest.mark.filterwarnings("ignore")
def test_notebooks_run(name, tmp_path):
    client = pytest.importorskip("nbclient", reason="the notebook runner is part of the docs extra")
    notebook = pytest.importorskip("nbformat").read(EXAMPLES / f"{name}.ipynb", as_version=4)
    pytest.importorskip("ipykernel")
    client.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [
        output for cell in notebook.cells for output in cell.get("outputs", [])
        if output.output_type == "display_data"
    ]  # fmt: skip
    assert len(outputs) >= 3  # the pictures
