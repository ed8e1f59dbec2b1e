"""Sections of RESULTS.md that other benchmarks than `side_by_side` write."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import tropicell

START = "\n## "


def kept(file: Path) -> str:
    """All sections of a page, from the first on."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    place = text.find(START)
    return text[place:] if place >= 0 else ""


def put(file: Path, title: str, body: str) -> None:
    """Write a section, in the place of one with the same title if there is one."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    head, *sections = text.split(START)
    written = f"{title}\n\n{body.strip()}\n"
    places = [i for i, section in enumerate(sections) if section.split("\n")[0] == title]
    if places:
        sections[places[0]] = written
    else:
        sections.append(written)
    file.write_text(START.join([head, *sections]), encoding="utf-8")


def about() -> dict[str, Any]:
    """What is measured with, and how busy the machine is."""
    return {
        "version": tropicell.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "load": round(os.getloadavg()[0], 1),
    }
