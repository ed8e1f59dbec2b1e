"""What the tests of the importers share."""

import os
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve()


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder with networks made by others; tests that need it are skipped without it."""
    named = os.environ.get("TROPICELL_MODELS")
    folder = Path(named) if named else HERE.parents[2].parent / "shared" / "models"
    if not folder.is_dir():
        pytest.skip(f"no folder of models at {folder}; set TROPICELL_MODELS to one")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)
