"""Progress bars in a terminal: a real one, also a narrow one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tropicell

#: What a search, a count of many networks and a loop do with their bars; each is soon done.
QUICK = """
from tropicell._runtime.progress import RegionBar, bar_of, each
bar = RegionBar(True, lambda: 100)
bar.update(10), bar.close()
with bar_of(10, " networks", True) as bar:
    bar.update(10)
list(each(range(3), " cells", True))
"""

#: A search whose regions come in time, and of which it is known how many there are.
SLOW = """
import time
from tropicell._runtime import progress
progress._PATIENCE = progress._SOON = 0.05
bar = progress.RegionBar(True, lambda: 1_000_000)
for found in range(0, 900_001, 150_000):
    bar.update(found), time.sleep(0.11)
bar.close()
"""

#: A search that finds nothing for a while.
BARREN = """
import time
from tropicell._runtime import progress
progress._PATIENCE = 0.05
bar = progress.RegionBar(True, lambda: 1)
time.sleep(1.2), bar.close()
"""

#: What compiling says, and how often it is said anew.
COMPILING = """
from tropicell._runtime import jit
notice = jit._NOTICE
notice._what, notice._parts, notice._done = "searches with 2 inputs", set(range(70)), {1, 2}
notice._say()
notice._done = set(range(40))
notice._show(notice._text())
notice._show("")
"""


def shown(code: str, columns: int) -> str:
    """What a script writes to a terminal of so many columns."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    places = os.pathsep.join([str(Path(tropicell.__file__).parents[1]), *sys.path])
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "PYTHONPATH": places},
    )
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 4096):
            written += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait(60) == 0, written
    return written.decode()


def lines(text: str) -> list[str]:
    """What stood on a line of the terminal at some time."""
    return [re.sub(r"\x1b\[\w*", "", line) for line in re.split(r"[\r\n]+", text)]


@pytest.mark.posix
def test_what_is_soon_done_shows_no_bar() -> None:
    assert shown(QUICK, 80) == ""


@pytest.mark.posix
@pytest.mark.parametrize("columns", [20, 30, 80])
def test_bars_fit_into_the_terminal(columns: int) -> None:
    found = lines(shown(SLOW, columns))
    assert max(map(len, found)) <= columns
    assert any("900" in line for line in found)


@pytest.mark.posix
def test_the_time_goes_on_while_nothing_is_found() -> None:
    found = lines(shown(BARREN, 80))
    assert any(line.startswith("0 regions [00:00") for line in found)
    assert any(line.startswith("0 regions [00:01") for line in found)


@pytest.mark.posix
@pytest.mark.parametrize("columns", [20, 40, 100])
def test_what_compiling_says_fits_and_has_its_figures(columns: int) -> None:
    found = lines(shown(COMPILING, columns))
    assert max(map(len, found)) < columns
    assert any("2 of 70" in line for line in found)
    assert any("40 of 70" in line for line in found)
    assert any("searches with 2 inputs" in line for line in found) == (columns == 100)
