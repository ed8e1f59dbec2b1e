"""The command line: ``tropicell`` or ``python -m tropicell``."""

from tropicell.cli.main import main

__all__ = ["main"]
