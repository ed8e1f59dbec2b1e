"""Copy small files of finished runs to this folder: ``python docs/lab/publish.py FOLDER …``.

The page of this folder gets a list of all runs, and of all verdicts on the paper's sentences.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image

PLACE = Path(__file__).parent

#: Larger files stay where they are.
LIMIT = 500_000


def publish(folder: Path) -> list[str]:
    """Report, numbers, tables and pictures of a run; returns what was too large."""
    place = PLACE / folder.name
    place.mkdir(exist_ok=True)
    left = []
    for pattern in ("report.md", "numbers.json", "*.csv", "*.png"):
        for file in sorted(folder.glob(pattern)):
            if file.suffix == ".png" and file.stat().st_size > LIMIT:
                shrink(file, place / file.name)
            elif file.stat().st_size > LIMIT:
                left.append(file.name)
            else:
                shutil.copyfile(file, place / file.name)
    return left


def shrink(source: Path, target: Path) -> None:
    """A picture with fewer colours and, if need be, fewer pixels, that keeps to the limit."""
    with Image.open(source) as file:
        picture = file.convert("RGB")
    while True:
        picture.quantize(64, dither=Image.Dither.NONE).save(target, optimize=True)
        if target.stat().st_size <= LIMIT:
            return
        picture = picture.resize([round(0.85 * n) for n in picture.size], Image.Resampling.LANCZOS)


def list_runs() -> None:
    """Renew the list of runs in README.md."""
    lines = []
    for report in sorted(PLACE.glob("*/report.md")):
        text = report.read_text(encoding="utf-8")
        title = text.splitlines()[0].removeprefix("# ")
        settings = re.search(r"^- settings: (.*)$", text, re.MULTILINE)
        about = "" if settings is None or settings[1] == "–" else f" ({settings[1]})"
        lines.append(f"- [{title}]({report.parent.name}/report.md){about}\n")
    _renew("runs", "".join(lines))


def list_claims() -> None:
    """Renew the table of verdicts in README.md."""
    lines = ["| the paper | verdict | evidence | run |\n", "| --- | --- | --- | --- |\n"]
    for file in sorted(PLACE.glob("*/numbers.json")):
        run = file.parent.name
        for claim in json.loads(file.read_text(encoding="utf-8")).get("claims", ()):
            text = f"{claim['text']} ({claim['where']})"
            cells = [text, f"**{claim['verdict']}**", claim["evidence"]]
            shown = " | ".join(cell.replace("|", "\\|") for cell in cells)
            lines.append(f"| {shown} | [{run}]({run}/report.md) |\n")
    _renew("claims", "".join(lines))


def _renew(name: str, text: str) -> None:
    """Replace what stands between the marks of a part of README.md."""
    page = PLACE / "README.md"
    new = re.sub(
        rf"(<!-- {name} -->\n).*(<!-- end of {name} -->)",
        lambda match: match[1] + text + match[2],
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        for file in publish(Path(name)):
            print(f"{name}: {file} is too large, left out")
    list_runs()
    list_claims()
    # The notes on the paper collect the verdicts of all runs.
    subprocess.run([sys.executable, PLACE.parent / "make_paper.py"], check=True)
