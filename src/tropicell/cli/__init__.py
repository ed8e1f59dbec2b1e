"""The command line: ``tropicell`` or ``python -m tropicell``.

`main`         the way in, and what happens to errors
`parser`       all commands: their options, help and examples
`options`      options that several commands have
`commands`     what the commands do
`show`         regions as text
`near`         ``tropicell near``, ``robustness`` and ``path``
`output`       text, JSON and tables on standard output
`picture`      ``tropicell plot``
`paper`        ``tropicell paper``
`lab`          ``tropicell lab``
`completion`   completion for shells
`warmup`       kernels that are compiled ahead of time
`demo`         the bundled network, with a picture and a page

May import every room.
"""

from tropicell.cli.main import main

__all__ = ["main"]
