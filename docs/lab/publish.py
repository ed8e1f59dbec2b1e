"""Copy small files of finished runs to this folder: ``python docs/lab/publish.py FOLDER …``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

#: Larger files stay where they are.
LIMIT = 500_000


def publish(folder: Path) -> list[str]:
    """Report, numbers, tables and pictures of a run; returns what was too large."""
    place = Path(__file__).parent / folder.name
    place.mkdir(exist_ok=True)
    left = []
    for pattern in ("report.md", "numbers.json", "*.csv", "*.png"):
        for file in sorted(folder.glob(pattern)):
            if file.stat().st_size > LIMIT:
                left.append(file.name)
            else:
                shutil.copyfile(file, place / file.name)
    return left


if __name__ == "__main__":
    for name in sys.argv[1:]:
        for file in publish(Path(name)):
            print(f"{name}: {file} is too large, left out")
