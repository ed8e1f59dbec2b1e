"""Compiles the package's kernels before tests run in several processes.

On a machine where nothing is compiled yet, each process that runs tests would compile all kernels
for itself, in the middle of some test.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import tropicell as tc
from tropicell.cli.warmup import PARTS, compile_parts


def stamp() -> str:
    """Changes with the package's code, and so when something may have to be compiled anew."""
    files = sorted(Path(tc.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def compile_all() -> None:
    """All of them, in processes of their own."""
    for name, trouble in compile_parts(list(PARTS)):
        if trouble:
            raise RuntimeError(f"{name} could not be compiled: {trouble}")
