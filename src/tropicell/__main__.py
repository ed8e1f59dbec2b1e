"""``python -m tropicell``: the command line."""

import sys

from tropicell.cli import main

if __name__ == "__main__":
    sys.exit(main())
