"""Python processes that tests start: each with a limit, so that none is waited for for ever."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import Any

import pytest

#: Seconds that a process may take; they take a few, and more where kernels are compiled first.
LIMIT = 240.0


def run_python(*arguments: str, check: bool = True, **options: Any) -> subprocess.CompletedProcess:
    """Run this Python with arguments; what it prints is kept, and shown if it fails.

    Parameters
    ----------
    check : bool
        Whether an exit status other than 0 fails the test.
    options : dict
        More for `subprocess.run`.
    """
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
            **options,
        )
    except subprocess.TimeoutExpired as error:
        printed = (error.stdout or b"", error.stderr or b"")
        raise AssertionError(f"not done after {LIMIT:g} s; it printed {printed}") from None
    if check:
        assert done.returncode == 0, done.stderr
    return done


def without_rights() -> dict[str, Any]:
    """Options of a process that obeys the permissions of files, which root need not."""
    if os.geteuid() != 0:
        return {}
    if sys.platform != "linux":
        pytest.skip("root may write everywhere")
    prctl, drop, override, search = ctypes.CDLL(None).prctl, 24, 1, 2
    return {"preexec_fn": lambda: [prctl(drop, right, 0, 0, 0) for right in (override, search)]}
