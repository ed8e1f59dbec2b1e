"""The one file that says what a folder of regions holds; whatever it does not name does not count.

``manifest.json`` is replaced at once, so a folder is always in a state that once was, also when its
writer is killed. ``network.npz`` (a file of `Regions.save` without regions) has the network and the
domain, ``….parquet`` the regions, and ``state-….npz`` what is left to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tropicell.errors import ModelFileError
from tropicell.places import Place

FORMAT, VERSION = "tropicell-region-folder", 1
NAME, NETWORK = "manifest.json", "network.npz"

_PART = re.compile(r"part-[0-9a-f]{6,32}\.parquet")
_STATE = re.compile(r"state-[0-9]{6,}\.npz")


@dataclass(frozen=True)
class Part:
    """A file of regions: its name, how many it has, and its size in bytes."""

    name: str
    regions: int
    bytes: int


@dataclass
class Manifest:
    """What a folder of regions holds.

    Attributes
    ----------
    identity : dict
        What was enumerated; see `tropicell.checkpoint.identity`.
    columns : list of str
        What is stored besides the patterns.
    complete : bool
    parts : list of Part
        In order.
    state : str, optional
        The file with what is left to do; None if nothing was saved yet, or all is done.
    saved : int
        How often it was saved.
    stats : dict
    """

    identity: dict[str, Any]
    columns: list[str]
    complete: bool = False
    parts: list[Part] = field(default_factory=list)
    state: str | None = None
    saved: int = 0
    stats: dict[str, Any] = field(default_factory=dict)

    @property
    def regions(self) -> int:
        """Number of regions in all parts."""
        return sum(part.regions for part in self.parts)

    def write(self, place: Place) -> None:
        """Replace what the folder says of itself."""
        data = {"format": FORMAT, "version": VERSION, "regions": self.regions} | asdict(self)
        with place.writing(NAME) as stream:
            stream.write((json.dumps(data, indent=1) + "\n").encode())


def read_manifest(place: Place) -> Manifest:
    """What a folder holds.

    Raises
    ------
    ModelFileError
        If it is not a folder of regions, or a damaged one.
    """
    where = f"{place.url}/{NAME}"
    try:
        with place.open(NAME) as stream:
            data = json.loads(stream.read())
    except FileNotFoundError:
        raise ModelFileError(
            f"{place.url}: is no folder of regions: it has no {NAME}; "
            "expected one that enumerate_regions(…, out=…) wrote"
        ) from None
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{where}: can't be read: {error}") from None
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ModelFileError(f"{where}: does not say {FORMAT!r}")
    if data.get("version") != VERSION:
        raise ModelFileError(
            f"{where}: version {data.get('version')!r} of the layout is not known; this version of "
            f"tropicell reads {VERSION}"
        )
    try:
        parts = [Part(str(p["name"]), int(p["regions"]), int(p["bytes"])) for p in data["parts"]]
        state = data["state"]
        if not all(_PART.fullmatch(part.name) and part.regions >= 0 for part in parts):
            raise ValueError("parts")
        if state is not None and not _STATE.fullmatch(state):
            raise ValueError("state")
        return Manifest(
            dict(data["identity"]),
            [str(name) for name in data["columns"]],
            bool(data["complete"]),
            parts,
            state,
            int(data["saved"]),
            dict(data["stats"]),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise ModelFileError(f"{where}: is damaged: {error!r}") from None
