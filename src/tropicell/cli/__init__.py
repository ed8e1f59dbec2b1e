"""The command line: ``tropicell`` or ``python -m tropicell``.

`parser` has all options and their help, `commands` does what they say, `output` and `show` print
answers, `main` is the way in and turns errors into one line. May import every room.
"""

from tropicell.cli.main import main

__all__ = ["main"]
