"""Settings for all tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run: a failure in CI is a failure at home.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", parent=settings.get_profile("ci"), max_examples=1000)
settings.load_profile(os.environ.get("TROPICELL_TEST_PROFILE", "ci"))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Before several processes run tests, compile what they all need; see `kernels`."""
    config = session.config
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        return
    import kernels

    stamp = kernels.stamp()
    cache = getattr(config, "cache", None)  # not there with -p no:cacheprovider
    if cache is not None and cache.get("tropicell/kernels", None) != stamp:
        kernels.compile_all()
        cache.set("tropicell/kernels", stamp)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that Windows cannot run are skipped there."""
    if sys.platform == "win32" and item.get_closest_marker("posix"):
        pytest.skip("needs kill -9, fork, setrlimit, umask or symbolic links")


@pytest.fixture(scope="session")
def models() -> Path:
    """A folder with networks made by others; see CONTRIBUTING."""
    default = Path(__file__).resolve().parents[2] / "shared" / "models"
    folder = Path(os.environ.get("TROPICELL_MODELS", default))
    if not folder.is_dir():
        pytest.skip("no folder of models: set TROPICELL_MODELS to run this test")
    return folder
