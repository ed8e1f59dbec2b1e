"""The one file that says what a folder of regions holds; whatever it does not name does not count.

``network.npz`` (a file of `Regions.save` without regions) has the network and the domain,
``….parquet`` the regions, ``state-….npz`` what is left to do, and ``manifest.json`` the names and
checksums of all of them, and its own. On this machine it is replaced at once. At a URL, where
nothing is, two manifests take turns: while one is written the other is whole, and of those that are
whole the newest counts. So a folder is always in a state that once was, also when its writer is
killed.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tropicell._runtime.checksums import BLOCK, Sums, canonical, check, check_size
from tropicell._runtime.paths import shown
from tropicell.errors import CheckpointError, CheckpointWarning, ModelFileError, TropicellError
from tropicell.regions.stored.places import FolderPlace

FORMAT, VERSION = "tropicell-region-folder", 1
NAME, OTHER, NETWORK = "manifest.json", "manifest-2.json", "network.npz"

_PART = re.compile(r"part-[0-9a-f]{6,32}\.parquet")
_STATE = re.compile(r"state-[0-9a-f]{6,32}\.npz")


@dataclass(frozen=True)
class RegionFile:
    """A file of regions: its name, how many it has, and its checksums; see `Sums`."""

    name: str
    regions: int
    bytes: int
    sha256: str = ""
    blocks: str = ""

    @property
    def sums(self) -> Sums:
        """The checksums that the file must have."""
        return Sums(self.bytes, self.sha256, self.blocks)


@dataclass
class Manifest:
    """What a folder of regions holds.

    Attributes
    ----------
    identity : dict
        What was enumerated; see `tropicell.search.checkpoint.identity`.
    columns : list of str
        What is stored besides the patterns.
    complete : bool
    parts : list of RegionFile
        In order.
    state : str, optional
        The file with what is left to do; None if nothing was saved yet, or all is done.
    saved : int
        How often it was saved.
    stats : dict
    files : dict
        Sizes and SHA-256 of the network's file and of the state, by their names.
    generation : int
        How many manifests there were before.
    writer : str
        Who wrote it: another number for every process.
    """

    identity: dict[str, Any]
    columns: list[str]
    complete: bool = False
    parts: list[RegionFile] = field(default_factory=list)
    state: str | None = None
    saved: int = 0
    stats: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Sums] = field(default_factory=dict)
    generation: int = 0
    writer: str = ""

    @property
    def regions(self) -> int:
        """Number of regions in all parts."""
        return sum(part.regions for part in self.parts)

    def to_json(self) -> bytes:
        """The contents of the file, with a checksum of all of it."""
        files = {name: {"bytes": s.bytes, "sha256": s.sha256} for name, s in self.files.items()}
        data = {"format": FORMAT, "version": VERSION, "regions": self.regions} | asdict(self)
        data["files"] = files
        data["checksum"] = hashlib.sha256(canonical(data)).hexdigest()
        return (json.dumps(data, indent=1) + "\n").encode()

    def check_sizes(self, place: FolderPlace) -> None:
        """Raise ModelFileError if a file is missing, or has another size than it had."""
        sizes = place.sizes()
        for name, sums in self._all().items():
            if name not in sizes:
                raise ModelFileError(
                    f"{shown(place.url)}/{name}: is missing; the folder's manifest names it"
                )
            check_size(sizes[name], sums, f"{shown(place.url)}/{name}")

    def check_contents(self, place: FolderPlace) -> None:
        """Read all files, and raise ModelFileError if one is not what it was."""
        self.check_sizes(place)
        for name, sums in self._all().items():
            self.check_file(place, name, sums)

    def check_file(self, place: FolderPlace, name: str, sums: Sums | None = None) -> None:
        """Read one file, and raise ModelFileError if it is not what it was."""
        sums = sums or self.files.get(name)
        if sums is not None and sums.sha256:
            with place.open(name) as stream:
                check(stream, sums, f"{shown(place.url)}/{name}")

    def _all(self) -> dict[str, Sums]:
        return self.files | {part.name: part.sums for part in self.parts}


class ManifestFile:
    """The manifest of a folder that is written.

    Parameters
    ----------
    place : FolderPlace

    Attributes
    ----------
    current : Manifest, optional
        What the folder holds; None if it is new.
    """

    def __init__(self, place: FolderPlace) -> None:
        self._place = place
        self._writer = secrets.token_hex(8)
        self._known = self._contents()
        whole, self._damaged = _parse_all(place, self._known)
        self._name = max(whole, key=lambda name: whole[name].generation, default=OTHER)
        self.current = whole.pop(self._name, None)
        self._before = next(iter(whole.values()), None)
        self._attempt: tuple[str, bytes, Manifest] | None = None

    @property
    def damaged(self) -> TropicellError | None:
        """What is wrong with a manifest, if one is."""
        return self._damaged

    def named(self) -> set[str]:
        """Files that count, also if the newest manifest should turn out to be damaged."""
        files = {NAME, NETWORK} if self._place.atomic else {NAME, OTHER, NETWORK}
        for manifest in (self.current, self._before):
            if manifest is not None:
                files |= {part.name for part in manifest.parts}
                files |= {manifest.state} if manifest.state is not None else set()
        return files

    def write(self, manifest: Manifest) -> set[str]:
        """Replace what the folder says of itself; the files that no longer count.

        Raises
        ------
        CheckpointError
            If somebody else has written to the folder in the meantime; it is left alone.
        """
        self.settle()
        generation = 0 if self.current is None else self.current.generation + 1
        new = replace(manifest, generation=generation, writer=self._writer)
        # never the one that counts, if it can't be replaced in one step
        name = NAME if self._place.atomic or self._name == OTHER else OTHER
        self._attempt = name, new.to_json(), new
        with self._place.writing(name) as stream:
            stream.write(self._attempt[1])
        before = self.named()
        if self._place.atomic:
            self._adopt()
        else:  # somebody else may have written at the same time
            self.settle()
        return before - self.named()

    def settle(self) -> None:
        """Find out whether the last manifest was written, if an error left that open."""
        now = self._contents()
        if self._attempt is not None:
            name, content, _ = self._attempt
            found = now.get(name, b"")
            if found == content:
                self._adopt()
            elif content.startswith(found):  # half of it
                self._known = {k: v for k, v in self._known.items() if k != name}
                self._known |= {name: found} if name in now else {}
        self._attempt = None
        if now != self._known:
            raise CheckpointError(
                f"{shown(self._place.url)}: another process has written to this folder in the "
                "meantime; this one stops here, and leaves it to the other. Let only one write to "
                "a folder at a time"
            )

    def _adopt(self) -> None:
        """The new manifest is there, and counts."""
        assert self._attempt is not None
        self._name, content, new = self._attempt
        self._attempt = None
        self._known = self._known | {self._name: content}
        self._before = None if self._place.atomic else self.current
        self.current = new

    def _contents(self) -> dict[str, bytes]:
        found = {name: self._place.read(name) for name in (NAME, OTHER)}
        return {name: content for name, content in found.items() if content is not None}


def read_manifest(place: FolderPlace) -> Manifest:
    """What a folder holds.

    Raises
    ------
    ModelFileError
        If it is not a folder of regions, or a damaged one.
    """
    file = ManifestFile(place)
    if file.current is None:
        raise file.damaged or ModelFileError(
            f"{shown(place.url)}: is no folder of regions: it has no {NAME}; "
            "expected one that enumerate_regions(…, out=…) wrote"
        )
    return file.current


def _parse_all(
    place: FolderPlace, contents: Mapping[str, bytes]
) -> tuple[dict[str, Manifest], TropicellError | None]:
    """All manifests that are whole, by their names, and what is wrong with another one."""
    whole: dict[str, Manifest] = {}
    damaged: TropicellError | None = None
    for name, content in contents.items():
        try:
            whole[name] = _parse(content, f"{shown(place.url)}/{name}")
        except ModelFileError as error:
            damaged = error
    if whole and damaged is not None:
        # either its writer was killed while it wrote it, or it is damaged: the other one is right
        (other,) = whole
        warnings.warn(
            f"{damaged}; {other}, which was written before or after it, counts instead, with "
            f"{whole[other].regions} regions",
            CheckpointWarning,
            stacklevel=4,
        )
    return whole, damaged


def _parse(content: bytes, where: str) -> Manifest:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{where}: can't be read: it is not JSON: {error}") from None
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ModelFileError(f"{where}: does not say {FORMAT!r}")
    if data.get("version") != VERSION:
        raise ModelFileError(
            f"{where}: version {data.get('version')!r} of the layout is not known; this version of "
            f"tropicell reads {VERSION}"
        )
    data = dict(data)
    checksum = data.pop("checksum", None)
    old = checksum is None and "files" not in data
    if not old and checksum != hashlib.sha256(canonical(data)).hexdigest():
        raise ModelFileError(f"{where}: is damaged: its checksum is not that of its contents")
    try:
        return _manifest(data, old=old)
    except (KeyError, ValueError, TypeError, ArithmeticError, AttributeError) as error:
        raise ModelFileError(f"{where}: is damaged: {error!r}") from None


def _manifest(data: dict[str, Any], *, old: bool) -> Manifest:
    parts = [_part(entry) for entry in data["parts"]]
    if old and any(part.sha256 or part.blocks for part in parts):
        raise ValueError("its checksum is missing")
    state = data["state"]
    if state is not None and not _STATE.fullmatch(state):
        raise ValueError("state")
    files = {str(name): _sums(entry) for name, entry in data.get("files", {}).items()}
    if not files.keys() <= {NETWORK, state}:
        raise ValueError("files")
    if len({part.name for part in parts}) < len(parts):
        raise ValueError("a part is named twice")
    if not isinstance(data["complete"], bool):
        raise TypeError("complete")
    return Manifest(
        dict(data["identity"]),
        [str(name) for name in data["columns"]],
        data["complete"],
        parts,
        state,
        _number(data["saved"]),
        dict(data["stats"]),
        files,
        _number(data.get("generation", 0)),
        str(data.get("writer", "")),
    )


def _part(entry: Any) -> RegionFile:
    sums = _sums(entry)
    name, blocks = entry["name"], entry.get("blocks", "")
    if not _PART.fullmatch(name):
        raise ValueError("the name of a part")
    if blocks and (len(blocks) != 8 * -(-sums.bytes // BLOCK) or not _is_hex(blocks)):
        raise ValueError(f"the checksums of {name}")
    return RegionFile(name, _number(entry["regions"]), sums.bytes, sums.sha256, blocks)


def _sums(entry: Any) -> Sums:
    sha256 = entry.get("sha256", "")
    if sha256 and (len(sha256) != 64 or not _is_hex(sha256)):
        raise ValueError("a checksum")
    return Sums(_number(entry["bytes"]), sha256)


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**62:
        raise ValueError(f"expected a number, not {value!r}")
    return value


def _is_hex(text: str) -> bool:
    return re.fullmatch(r"[0-9a-f]*", text) is not None
