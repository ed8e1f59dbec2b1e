"""Checkpoints: an enumeration that goes on where it was when it was killed.

A checkpoint is a folder. ``state.npz`` holds, in one file that is replaced at once, what is left to
do (units of work, as plain arrays) and which of the files ``part-000001.npz``, … are valid: the
regions found so far, in order. Whenever the process dies, the folder is a state that once was.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tropicell._runtime.checksums import Sums, check, digest_of, sums_of_file
from tropicell._runtime.durable import FolderLock, explained
from tropicell._runtime.npz import read_npz, write_npz
from tropicell._runtime.paths import path_of, reason, shown
from tropicell.errors import (
    CheckpointError,
    CheckpointWarning,
    InvalidInputError,
    TropicellError,
)
from tropicell.network.domains import Ball, Domain
from tropicell.network.output_sets import OutputSet
from tropicell.network.quotient import Quotient
from tropicell.regions.columns import Columns, PackedPatterns
from tropicell.search.unit_states import units_from_arrays, units_to_arrays

if TYPE_CHECKING:  # Numba is slow to import
    from tropicell.engines.units import Task, Unit

FORMAT, VERSION = "tropicell-checkpoint", 1

#: Saving may take this part of the time at most.
_SHARE = 1 / 15

#: The file that says how far an enumeration is.
_STATE = "state.npz"

#: What reading a damaged file may raise: a lack of memory is something else.
DAMAGE = (
    KeyError,
    ValueError,
    TypeError,
    IndexError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    OSError,
)

#: What a process that was killed while it wrote has left.
_HALF = re.compile(r"\.[0-9a-f]{16}\.npz")

_COLUMNS = tuple(name for name in Columns._fields if name != "packed")


class Source(Protocol):
    """What a checkpoint asks a search for: the units that are left."""

    count: int

    def left_to_do(self) -> list[Unit]:
        """All units that are not done yet, in the order of their regions."""


class Checkpoint:
    """Where an enumeration writes down how far it is.

    Parameters
    ----------
    path : str or path-like
        A folder; it is made if it is not there.
    every : float
        Seconds between two savings, at least. Savings that take long are made less often.

    Notes
    -----
    The folder stays when the enumeration is done: the same call then reads the regions from it.
    Delete it when you don't need it any more.

    Examples
    --------
    >>> import tempfile
    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 2.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = enumerate_regions(network, checkpoint=folder + "/run")
    ...     again = enumerate_regions(network, checkpoint=Checkpoint(folder + "/run", every=60))
    >>> first.texts() == again.texts()
    True
    """

    def __init__(self, path: str | os.PathLike[str], every: float = 5.0) -> None:
        self.path = path_of(path)
        if not every >= 0:
            raise InvalidInputError(f"every must be a number of seconds from 0 on, not {every!r}")
        self.every = every

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.path)!r}, every={self.every})"


class CheckpointFile:
    """An open checkpoint of one enumeration.

    Parameters
    ----------
    checkpoint : Checkpoint
    identity : dict
        What the enumeration is; a checkpoint of another one is refused. See `identity`.
    task : Task
        Checks units that are read.
    packing : (int, int)
        Neurons, and bits a neuron, of the patterns.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        identity: dict[str, Any],
        task: Task,
        packing: tuple[int, int],
    ) -> None:
        self.folder = checkpoint.path
        self._state = checkpoint.path / _STATE
        self._every = checkpoint.every
        self._identity = identity
        self._task = task
        self._neurons, self._bits = packing
        self._parts: list[dict[str, Any]] = []
        self._new: list[Columns] = []
        self._attempt: tuple[str, list[dict[str, Any]], int, int] | None = None
        self._due = time.perf_counter() + self._every
        self._warned = False
        self.count = 0
        self.units: list[Unit] | None = None
        self.most_waiting: int | None = None
        with explained(self.folder, "made a folder", CheckpointError):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(self.folder)
        try:
            with explained(self.folder, "read", CheckpointError):
                self._open(sorted(entry.name for entry in self.folder.iterdir()))
        except BaseException:
            self.close()
            raise

    def _open(self, names: list[str]) -> None:
        for name in names:
            if _HALF.fullmatch(name):
                with suppress(OSError):
                    (self.folder / name).unlink()
        if self._state.name in names:
            self._read()
        elif strange := [name for name in names if not name.startswith(("part-", "."))]:
            raise CheckpointError(
                f"{shown(self.folder)}: holds {strange[0]!r} and no checkpoint; give an empty "
                "folder"
            )

    def close(self) -> None:
        """Let others write to the folder."""
        self._lock.release()

    # --- writing ------------------------------------------------------------------------------

    def add(self, columns: Columns) -> None:
        """Regions that come next; they are written with the next saving."""
        self._new.append(columns)

    def save_if_due(self, source: Source) -> None:
        """Write the state if it was not written for some time."""
        if time.perf_counter() >= self._due:
            self.save(source)

    def save(self, source: Source) -> None:
        """Write the state. On an error the last state stays, and a warning says so."""
        started = time.perf_counter()
        units, count = source.left_to_do(), source.count
        try:
            self._write(units, count)
        except (OSError, MemoryError) as error:
            if not self._warned:
                what = "no memory" if isinstance(error, MemoryError) else error
                warnings.warn(
                    f"{shown(self.folder)}: the checkpoint could not be written ({what}); it stays "
                    f"as it was, with {self.count} regions, and the enumeration goes on in memory",
                    CheckpointWarning,
                    stacklevel=2,
                )
            self._warned = True
        now = time.perf_counter()
        self._due = now + max(self._every, (now - started) / _SHARE)

    def _write(self, units: Sequence[Unit], count: int) -> None:
        self._settle()
        parts = list(self._parts)
        if self._new:
            name = f"part-{len(parts) + 1:06d}.npz"
            write_npz(self.folder / name, _joined(self._new))
            sums = sums_of_file(self.folder / name)
            found = {"name": name, "regions": sum(len(c.packed) for c in self._new)}
            parts.append(found | {"bytes": sums.bytes, "sha256": sums.sha256})
        described, arrays = units_to_arrays(self._task, units)
        header = {
            "format": FORMAT,
            "version": VERSION,
            **self._identity,
            "count": count,
            "parts": parts,
            "units": described,
        }
        header["checksum"] = digest_of(header, arrays)
        self._attempt = header["checksum"], parts, len(self._new), count
        write_npz(self._state, {"header": np.array(json.dumps(header)), **arrays})
        self._adopt()

    def _settle(self) -> None:
        """Find out whether the last state was written, if an error left that open.

        A part that the state names is never written again.
        """
        if self._attempt is not None:
            with suppress(*DAMAGE):
                header = json.loads(str(read_npz(self._state)["header"]))
                if header["checksum"] == self._attempt[0]:
                    self._adopt()
        self._attempt = None

    def _adopt(self) -> None:
        assert self._attempt is not None
        _, self._parts, written, self.count = self._attempt
        self._attempt = None
        del self._new[:written]

    # --- reading ------------------------------------------------------------------------------

    def columns(self) -> Iterator[Columns]:
        """The regions that were saved, in order."""
        for part in self._parts:
            file = self.folder / part["name"]
            where = shown(file)
            if not file.is_file():
                raise CheckpointError(f"{where}: is missing; {self._state.name} names it")
            with _damage(where, "does not hold regions"):
                if part["sha256"]:
                    with file.open("rb") as stream:
                        check(stream, Sums(part["bytes"], part["sha256"]), where)
                columns = self._columns(read_npz(file))
            if len(columns.packed) != part["regions"]:
                raise CheckpointError(
                    f"{where}: holds {len(columns.packed)} regions, not {part['regions']}"
                )
            yield columns

    def _columns(self, arrays: dict[str, Any]) -> Columns:
        words = arrays["words"]
        width = PackedPatterns.words_for(self._neurons, self._bits)
        count = len(words)
        if words.dtype != np.uint64 or words.shape != (count, width):
            raise ValueError("the patterns do not fit the network")
        found: dict[str, Any] = {name: arrays.get(name) for name in _COLUMNS}
        if found["witnesses"] is None or len(found["witnesses"]) != count:
            raise ValueError("the witnesses do not fit the patterns")
        for name in ("bounded", "volumes", "corner_counts", "facet_counts"):
            if found[name] is not None and found[name].shape != (count,):
                raise ValueError(f"{name} does not have an entry for every region")
        for values, counts in (("corners", "corner_counts"), ("facet_lines", "facet_counts")):
            if (found[values] is None) != (found[counts] is None):
                raise ValueError(f"{values} without {counts}")
            if found[values] is not None and found[counts].sum() != len(found[values]):
                raise ValueError(f"{values} do not fit {counts}")
        return Columns(PackedPatterns(words, self._neurons, self._bits), **found)

    def _read(self) -> None:
        where = shown(self._state)
        with _damage(where, "is not a checkpoint"):
            arrays = read_npz(self._state)
            header = json.loads(str(arrays.pop("header")))
            if header["format"] != FORMAT:
                raise CheckpointError(f"{where}: is not a checkpoint")
        self._compare(header)
        with _damage(where, "the checkpoint is damaged"):
            checksum = header.pop("checksum", None)
            old = checksum is None and not any("sha256" in part for part in header["parts"])
            if not old and checksum != digest_of(header, arrays):
                raise CheckpointError(
                    f"{where}: the checkpoint is damaged: its checksum is not that of its contents"
                )
            self._parts = [
                {
                    "name": f"part-{k + 1:06d}.npz",
                    "regions": int(part["regions"]),
                    "bytes": int(part.get("bytes", 0)),
                    "sha256": str(part.get("sha256", "")),
                }
                for k, part in enumerate(header["parts"])
            ]
            self.count = int(header["count"])
            self.units = units_from_arrays(self._task, header["units"], arrays)

    def _compare(self, header: dict[str, Any]) -> None:
        """Refuse the checkpoint of another enumeration."""
        if header.get("version") != VERSION:
            raise CheckpointError(
                f"{shown(self._state)}: version {header.get('version')!r} of the layout is not "
                f"known; this version of tropicell reads {VERSION}"
            )
        for key, mine in self._identity.items():
            if header.get(key) != mine:
                raise CheckpointError(
                    f"{shown(self.folder)}: is the checkpoint of another enumeration: its {key} is "
                    f"{_short(header.get(key))}, this one's {_short(mine)}; give another folder, "
                    "or delete this one"
                )


def begun_with(checkpoint: str | os.PathLike[str] | Checkpoint) -> dict[str, Any]:
    """What an earlier call has written of itself; empty if there was none, or it can't be read.

    Nothing is checked here: that is done when the checkpoint is opened.
    """
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    with suppress(*DAMAGE, TropicellError):
        return dict(json.loads(str(read_npz(checkpoint.path / _STATE)["header"])))
    return {}


def identity(
    quotient: Quotient,
    engine: str,
    arithmetic: str,
    *,
    store: bool,
    where: OutputSet | None = None,
) -> dict[str, Any]:
    """What makes two enumerations the same.

    Examples
    --------
    >>> from tropicell import Box, Network
    >>> network = Network.mlp([[[1.0]], [[1.0]]])
    >>> found = identity(Quotient.trivial(network, Box(0, 1)), "cells", "exact", store=True)
    >>> found["engine"]
    'cells'
    """
    network, domain = quotient.whole, quotient.around
    digest = hashlib.sha256()
    # Boxes by their inequalities, as in the files of earlier versions.
    key = domain.key if isinstance(domain, Ball) else partial(Domain.key, domain)
    for part in key(network.n_inputs):
        digest.update(part)
    found = {
        "network": network.fingerprint,
        "domain": f"{type(domain).__name__} {digest.hexdigest()[:16]}",
        "engine": engine,
        "arithmetic": arithmetic,
        "kind": ("regions" if store else "count") + (f" where {where}" if where else ""),
        "tropicell": version("tropicell"),
    }
    return found if quotient.is_trivial else found | {"inputs": quotient.inputs.tolist()}


@contextmanager
def _damage(where: str, what: str) -> Iterator[None]:
    """Whatever a damaged file makes us stumble over in here is a CheckpointError."""
    try:
        yield
    except CheckpointError:
        raise
    except DAMAGE as error:
        if isinstance(error, TropicellError):
            raise CheckpointError(f"{where}: {what}: {error}") from None
        detail = reason(error) if isinstance(error, OSError) else repr(error)
        raise CheckpointError(f"{where}: {what}: {detail}") from None


def _joined(parts: Sequence[Columns]) -> dict[str, Any]:
    """Batches as one set of arrays; columns that one of them lacks are left out."""
    arrays = {"words": np.concatenate([part.packed.words for part in parts])}
    for name in _COLUMNS:
        columns = [getattr(part, name) for part in parts]
        if all(column is not None for column in columns):
            arrays[name] = np.concatenate(columns)
    return arrays


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:16] + "…"
