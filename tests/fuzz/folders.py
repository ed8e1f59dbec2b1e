"""Folders of regions and checkpoints to be damaged: several files that must fit together.

A seed is a zip archive of all files of a folder. A damaged folder must be refused with an error
that names it, or give the very regions that the undamaged one gives: nothing wrong in silence.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import random
import shutil
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fuzz.mutations import damage_bytes, damage_json, damage_zip
from tropicell import (
    Box,
    Checkpoint,
    CheckpointWarning,
    Network,
    RegionFolder,
    Regions,
    TropicellError,
    enumerate_regions,
)
from tropicell.engines import tuning
from tropicell.regions.columns import Ragged

BOX = Box(-2, 2)


def network() -> Network:
    """The network of all seeds: a checkpoint knows only its fingerprint."""
    rng = np.random.default_rng(3)
    sizes = [2, 12, 10, 1]
    return Network.mlp(
        [rng.normal(size=(n, m)) for m, n in itertools.pairwise(sizes)],
        [rng.normal(size=n) for n in sizes[1:]],
    )


class Found(NamedTuple):
    """What a folder gives: when it is opened (nothing for checkpoints), and when it goes on."""

    opened: str
    resumed: str


def digest(regions: Regions) -> str:
    """Whether all is said to be there, and all columns, bit for bit."""
    parts = [repr(regions.complete).encode(), regions.packed.words.tobytes()]
    parts.append(regions.witnesses.tobytes())
    for name in ("bounded", "volumes", "corners", "facet_lines"):
        column = regions.known(name)
        if isinstance(column, Ragged):
            parts += [column.values.tobytes(), column.ends.tobytes()]
        elif column is not None:
            parts.append(column.tobytes())
    return hashlib.sha256(b"|".join(parts)).hexdigest()


def load_folder(path: Path | str) -> Found:
    """Read all regions, and let the same call go on."""
    opened = digest(Regions.open(path).to_regions())
    with small_units():
        return Found(opened, digest(enumerate_regions(network(), BOX, out=path).to_regions()))


def load_checkpoint(path: Path | str) -> Found:
    """Let the same call go on."""
    with small_units():
        return Found("", digest(enumerate_regions(network(), BOX, checkpoint=Path(path))))


LOADERS: dict[str, Callable[[Path], Found]] = {
    "folder": load_folder,
    "checkpoint": load_checkpoint,
}


@contextmanager
def small_units(regions: int = 4) -> Iterator[None]:
    """Units of work of so many regions, so that a small network has some of them."""
    before = tuning.current
    limits = (regions, 2 * regions)
    tuning.current = replace(before, limits=limits, last_limit=2 * regions, few=0.05)
    try:
        yield
    finally:
        tuning.current = before


def write_seeds(kind: str, target: Path) -> None:
    """Archives of a folder that is finished, and of one that is not."""
    for name, budget in (("finished", None), ("unfinished", 60)):
        folder = target.parent / f"{kind} {name}"
        write(kind, folder, budget)
        (target / f"{name}.zip").write_bytes(pack(folder))
        shutil.rmtree(folder)


def write(kind: str, path: Path | str, budget: int | None = None) -> None:
    """A folder or a checkpoint, after so many regions at least."""
    with small_units():
        if kind == "folder":
            out = RegionFolder(path, every=0.0)
            enumerate_regions(network(), BOX, out=out, max_bytes=0, max_regions=budget)
        else:
            state = Checkpoint(path, every=0.0)
            enumerate_regions(network(), BOX, checkpoint=state, max_regions=budget)


def pack(folder: Path) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.writestr(zipfile.ZipInfo(file.name), file.read_bytes())
    return content.getvalue()


def unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def put(path: Path, content: bytes) -> None:
    """Make a folder what an archive says."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    for name, data in unpacked(content).items():
        (path / name).write_bytes(data)


def damage(content: bytes, rng: random.Random) -> bytes:
    """Something happens to one of the files, seldom to two."""
    files = unpacked(content)
    for _ in range(rng.choice((1, 1, 1, 2))):
        if not files:
            break
        name = rng.choice(sorted(files))
        action = rng.random()
        if action < 0.4:
            files[name] = flip(files[name], rng)
        elif action < 0.6:
            files[name] = damage_bytes(files[name], rng)
        elif action < 0.85:
            files[name] = _structure(name, files[name], rng)
        elif action < 0.9:
            del files[name]
        elif action < 0.95:
            files[name] = files[rng.choice(sorted(files))]
        else:
            other = rng.choice(sorted(files))
            files[name], files[other] = files[other], files[name]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), data)
    return packed.getvalue()


def flip(data: bytes, rng: random.Random) -> bytes:
    """One bit is another one."""
    if not data:
        return b"\0"
    changed = bytearray(data)
    changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _structure(name: str, data: bytes, rng: random.Random) -> bytes:
    try:
        if name.endswith(".json"):
            return damage_json(data.decode(), rng).encode(errors="replace")
        if name.endswith(".npz"):
            return damage_zip(data, rng)
    except Exception:  # twice damaged
        pass
    return damage_bytes(data, rng)


def outcome(load: Callable[[Any], Found], path: Any, truth: Found) -> str:
    """What came of a damaged folder.

    ``same``; ``warned``: a warning said that an earlier state counts, and the same call went on
    from there to the same end; ``WRONG``; or the error that refused it.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = load(path)
    except TropicellError as error:
        return f"refused: {error}"
    if found == truth:
        return "same"
    noticed = any(warning.category is CheckpointWarning for warning in caught)
    return "warned" if noticed and found.resumed == truth.resumed else "WRONG"
