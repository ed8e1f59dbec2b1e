"""The pages' scripts: typed, and those in the package are what the TypeScript sources make."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"
NODE = shutil.which("node")

pytestmark = [
    pytest.mark.skipif(NODE is None, reason="node is not installed: install it to run this"),
    pytest.mark.skipif(
        not (WEB / "node_modules/esbuild").exists(),
        reason="the npm packages are not installed: make web does that",
    ),
]


def node(*arguments: str) -> subprocess.CompletedProcess[str]:
    assert NODE
    return subprocess.run(
        [NODE, *arguments],
        cwd=WEB,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_assets_are_what_the_sources_make() -> None:
    done = node("build.mjs", "--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_sources_are_typed() -> None:
    done = node("node_modules/typescript/bin/tsc", "--noEmit")
    assert (done.returncode, done.stdout) == (0, "")
