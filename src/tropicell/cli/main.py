"""The way in from the command line, and what happens to errors."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import gc
import io
import os
import re
import sys
import warnings
from collections.abc import Sequence

from tropicell.cli import output
from tropicell.cli.parser import build_parser
from tropicell.errors import IncompleteWarning, TimeLimitError, TropicellError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: those of the process.

    Returns
    -------
    int
        0 done; 1 a negative answer; 2 bad input, said in one line on standard error.

    Examples
    --------
    >>> main(["completion", "ash"])
    2
    """
    for stream in (sys.stdout, sys.stderr):  # a terminal without ≤ and → still gets an answer
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if arguments is None:
        # The process ends with this. After compiling, Python would look at millions of objects
        # then, for a second.
        atexit.register(gc.freeze)
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        parsed = build_parser().checked(_with_negative_numbers(given))
    except SystemExit as end:
        return int(end.code or 0)
    return _run(parsed)


def _run(parsed: argparse.Namespace) -> int:
    try:
        from tropicell.cli import commands  # noqa: PLC0415 - keeps --help fast

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IncompleteWarning)  # commands say it in their own way
            warnings.showwarning = _say
            status: int = getattr(commands, parsed.action)(parsed)
        sys.stdout.flush()
    except KeyboardInterrupt:
        output.note("interrupted")
        return 130
    except TimeLimitError as error:
        output.note(str(error))
        return 1
    except BrokenPipeError:  # as of `tropicell show … | head`
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (TropicellError, OSError, MemoryError) as error:
        if parsed.debug:
            raise
        output.note(str(error) or type(error).__name__)
        return 2
    return status


def _say(message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning in one line, without the place in the code that raised it."""
    output.note(str(message))


def _with_negative_numbers(arguments: list[str]) -> list[str]:
    """Mark values such as ``-1,0.5`` and ``-1e3``, which argparse takes for options.

    Examples
    --------
    >>> _with_negative_numbers(["--box", "-1,0", "2"])
    ['--box', ' -1,0', '2']
    """
    return [
        f" {text}" if re.fullmatch(r"-[\d.einf,+-]+", text, re.IGNORECASE) else text
        for text in arguments
    ]
