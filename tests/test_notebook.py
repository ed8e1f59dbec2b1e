"""The tour runs top to bottom."""

from pathlib import Path

import pytest

TOUR = Path(__file__).parents[1] / "examples" / "tour.ipynb"


@pytest.mark.filterwarnings("ignore")
def test_the_tour_runs(tmp_path):
    client = pytest.importorskip("nbclient", reason="the notebook runner is part of the docs extra")
    notebook = pytest.importorskip("nbformat").read(TOUR, as_version=4)
    pytest.importorskip("ipykernel")
    client.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [
        output for cell in notebook.cells for output in cell.get("outputs", [])
        if output.output_type == "display_data"
    ]  # fmt: skip
    assert len(outputs) >= 3  # the pictures
