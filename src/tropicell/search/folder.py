"""Regions that go to the disk while they are found: Parquet files that anybody can query.

The writer keeps a bounded number of regions in memory. Whenever it writes a file, it also writes
down what is left to do, so that the same call goes on where an earlier one ended.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tropicell._runtime.checksums import SummingStream, Sums, sums_of
from tropicell._runtime.durable import LOCK
from tropicell._runtime.npz import read_npz
from tropicell._runtime.paths import shown
from tropicell.engines.units import Task, Unit
from tropicell.errors import (
    CheckpointError,
    FileWriteError,
    InvalidInputError,
    ModelFileError,
    TropicellError,
)
from tropicell.network.quotient import Quotient
from tropicell.regions.columns import Columns, PackedPatterns, size_of
from tropicell.regions.regions import Regions
from tropicell.regions.stored.manifest import (
    NAME,
    NETWORK,
    OTHER,
    Manifest,
    ManifestFile,
    RegionFile,
)
from tropicell.regions.stored.places import FolderPlace, place_of
from tropicell.regions.stored.tables import COLUMNS, ROW_GROUP, arrow, to_table
from tropicell.search.checkpoint import DAMAGE, Source
from tropicell.search.unit_states import units_from_arrays, units_to_arrays

#: Memory for regions that wait to be written, in bytes.
MAX_BYTES = 256 * 2**20

#: Regions are in memory as batches, as a table, and as compressed pages: a part of a file begins
#: to be written when this share of the memory is in use.
_SHARE = 4


@dataclass(frozen=True)
class RegionFolder:
    """A folder to which regions are written while they are found.

    Parameters
    ----------
    path : str or path-like
        A folder, or the URL of one that fsspec reaches.
    columns : sequence of str
        What to store besides the patterns: some of ``"witnesses"``, ``"bounded"``, ``"volumes"``,
        ``"corners"`` and ``"facet_lines"``. What is not stored is worked out when it is asked for.
    every : float
        Seconds after which what was found is written, even if it is little.

    Examples
    --------
    >>> import tempfile
    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 2.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     enumerate_regions(network, out=RegionFolder(folder + "/run", columns=["witnesses"]))
    StoredRegions(4 of Network(2 → 2 → 1) on WholeSpace())
    """

    path: str | os.PathLike[str]
    columns: Sequence[str] = COLUMNS
    every: float = 30.0

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.columns) - set(COLUMNS)):
            raise InvalidInputError(
                f"there is no column {unknown[0]!r}; choose from {', '.join(COLUMNS)}"
            )


def begun_with(folder: RegionFolder) -> dict[str, Any]:
    """What an earlier call has written of itself; empty if there was none, or it can't be read.

    Nothing is checked here: that is done when the folder is opened.
    """
    with suppress(*DAMAGE, TropicellError):
        manifest = ManifestFile(place_of(folder.path)).current
        return {} if manifest is None else dict(manifest.identity)
    return {}


class OpenFolder:
    """A folder of regions that is written.

    Parameters
    ----------
    folder : RegionFolder
    identity : dict
        What is enumerated; the folder of another enumeration is refused.
    quotient : Quotient
        What is searched, and the inputs in which it is.

    Attributes
    ----------
    manifest : Manifest
        What is in the folder, or was when it was opened.
    """

    def __init__(self, folder: RegionFolder, identity: dict[str, Any], quotient: Quotient) -> None:
        arrow("pyarrow.parquet")
        self.place: FolderPlace = place_of(folder.path)
        self.columns = [name for name in COLUMNS if name in folder.columns]
        #: What is added to names where other writers can't be kept out, so that files differ.
        self.token = "" if self.place.atomic else secrets.token_hex(4)
        self.place.make()
        self._lock = self.place.lock()
        try:
            self._file = ManifestFile(self.place)
            self.manifest = self._found(identity) or self._begun(identity, quotient)
        except BaseException:
            self.close()
            raise

    def _found(self, identity: dict[str, Any]) -> Manifest | None:
        """What an earlier call has left, looked at from end to end; None if there is nothing."""
        manifest = self._file.current
        if manifest is None:
            return None
        self._compare(identity, manifest)
        try:
            manifest.check_contents(self.place)
        except ModelFileError as error:
            raise CheckpointError(
                f"{error}. The enumeration can't go on from here: delete the folder, or give "
                "another one"
            ) from None
        if not manifest.complete and not self.place.atomic:
            # From now on another writer notices that the folder is no longer its own.
            self._file.write(manifest)
            manifest = self._file.current
            assert manifest is not None
        if self.place.atomic or not manifest.complete:
            self.tidy()
        return manifest

    def _begun(self, identity: dict[str, Any], quotient: Quotient) -> Manifest:
        """An empty folder that says what it is for."""
        names = self.place.names()
        allowed = {NETWORK}
        if self._file.damaged is not None:
            # Of a writer that was killed while it wrote its first one there are no other files.
            if self.place.atomic:
                raise self._file.damaged
            allowed |= {NAME, OTHER}
        strange = [n for n in names if not n.startswith(".") and n not in allowed]
        if strange:
            if self._file.damaged is not None:
                raise self._file.damaged
            raise InvalidInputError(
                f"{shown(self.place.url)}: holds {strange[0]!r} and no regions; give an empty "
                "folder"
            )
        files = {NETWORK: _write_network(self.place, quotient)}
        self._file.write(Manifest(identity, self.columns, files=files))
        self.tidy()
        assert self._file.current is not None
        return self._file.current

    def close(self) -> None:
        """Let others write to the folder."""
        if self._lock is not None:
            self._lock.release()

    def _compare(self, identity: dict[str, Any], manifest: Manifest) -> None:
        mine = identity | {"columns": self.columns}
        theirs = manifest.identity | {"columns": manifest.columns}
        for key, value in mine.items():
            if theirs.get(key) != value:
                raise CheckpointError(
                    f"{shown(self.place.url)}: holds the regions of another enumeration: its "
                    f"{key} is {_short(theirs.get(key))}, this one's {_short(value)}; give another "
                    "folder, or delete this one"
                )

    def tidy(self) -> None:
        """Remove what writers that were killed have left behind."""
        named = self._file.named() | {LOCK}
        for name in self.place.names():
            if name not in named and (
                name.startswith((".", "state-")) or name.endswith(".parquet") or name == OTHER
            ):
                self._remove(name)

    def _remove(self, name: str) -> None:
        with suppress(FileWriteError, MemoryError):  # it does not count, so it may as well stay
            self.place.remove(name)

    def state(self, task: Task) -> tuple[dict[str, Any], list[Unit] | None]:
        """What is left to do, with what was written beside it; None: all."""
        if self.manifest.complete:
            return {}, []
        if self.manifest.state is None:
            return {}, None
        where = f"{shown(self.place.url)}/{self.manifest.state}"
        try:
            with self.place.local(self.manifest.state) as file:
                arrays = read_npz(file)
            header = json.loads(str(arrays.pop("header")))
            return dict(header["more"]), units_from_arrays(task, header["units"], arrays)
        except DAMAGE as error:
            what = error if isinstance(error, TropicellError) else repr(error)
            raise CheckpointError(f"{where}: is damaged: {what}") from None

    def commit(
        self, task: Task, units: Sequence[Unit], parts: list[RegionFile], more: dict[str, Any]
    ) -> None:
        """Write down what is left to do, and that these parts are valid, in one step."""
        old = self.manifest
        saved = old.saved + 1
        state = f"state-{saved:06d}{self.token}.npz" if units else None
        files = {NETWORK: old.files[NETWORK]} if NETWORK in old.files else {}
        if state is not None:
            described, arrays = units_to_arrays(task, units)
            header = np.array(json.dumps({"units": described, "more": more}))
            content = io.BytesIO()
            np.savez(content, allow_pickle=False, header=header, **arrays)
            files[state] = _write(self.place, state, content.getbuffer())
        new = Manifest(old.identity, old.columns, not units, parts, state, saved, old.stats, files)
        self._replace(new)

    def _replace(self, manifest: Manifest) -> None:
        gone = self._file.write(manifest)
        assert self._file.current is not None
        self.manifest = self._file.current
        for name in gone:
            self._remove(name)

    def settle(self) -> bool:
        """After an error, whether the last commit has reached the folder all the same."""
        before = self.manifest
        self._file.settle()
        assert self._file.current is not None
        self.manifest = self._file.current
        return self.manifest.saved > before.saved

    def finish(self, stats: dict[str, Any]) -> None:
        """Write the statistics of the search into the folder."""
        if self.manifest.complete:  # a budget that ended it with the last region did no harm
            stats = {key: value for key, value in stats.items() if key != "ended_by"}
        self._replace(replace(self.manifest, stats=stats))
        if self.manifest.complete:
            self.tidy()


def write_part(
    place: FolderPlace,
    name: str,
    batches: Sequence[Columns],
    columns: Sequence[str] = COLUMNS,
    inputs: Sequence[int] | None = None,
) -> RegionFile:
    """Write regions to one Parquet file; if `inputs` are given, the columns have these alone."""
    parquet = arrow("pyarrow.parquet")
    table = to_table(batches, columns, inputs)
    # Bytes of the same rank of neighbouring numbers are much alike; those of patterns, too.
    split = [n for n in table.column_names if n.startswith(("x", "volume"))]
    split += [f"{n}.list.element" for n in table.column_names if n.startswith("corners_x")]
    rest = [n for n in table.column_names if n.startswith("pattern")]
    rest += [f"{n}.list.element" for n in table.column_names if n in ("corners_w", "facets")]
    with place.writing(name) as file, SummingStream(file) as stream, _memory():
        parquet.write_table(
            table,
            stream,
            row_group_size=ROW_GROUP,
            compression="zstd",
            compression_level=1,
            use_dictionary=rest,
            use_byte_stream_split=split,
            write_page_checksum=True,  # for other programs; here, all bytes are checked
        )
        sums = stream.sums()
    return RegionFile(name, table.num_rows, *sums)


@contextmanager
def _memory() -> Iterator[None]:
    """Compressors that get no memory say so as if the disk were to blame."""
    try:
        yield
    except OSError as error:
        if error.errno is None and "not enough memory" in str(error):
            raise MemoryError(str(error)) from error
        raise


class FolderWriter:
    """Takes regions in order, and writes them and what is left to do; see `CheckpointFile`.

    Parameters
    ----------
    folder : RegionFolder
    identity : dict
    task : Task
    quotient : Quotient
        What is searched, and the inputs in which it is: those of the columns.
    max_bytes : int
        Memory for regions that wait.
    """

    def __init__(
        self,
        folder: RegionFolder,
        identity: dict[str, Any],
        task: Task,
        quotient: Quotient,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._every, self._most = folder.every, max_bytes // _SHARE
        self.most_waiting: int | None = self._most // 2
        self._folder = OpenFolder(folder, identity, quotient)
        self._inputs = None if quotient.is_trivial else quotient.inputs.tolist()
        self._task = task
        self._done_before = self._folder.manifest.complete
        self.folder = self._folder.place.url
        try:
            self.more, self.units = self._folder.state(task)
        except BaseException:
            self.close()
            raise
        self._new: list[Columns] = []
        self._bytes = 0
        self._unsure = 0  # batches of a commit of which it is not known whether it was made
        self._due = time.perf_counter() + self._every
        self.count = self._folder.manifest.regions

    def columns(self) -> Iterator[Columns]:
        """Nothing: what is in the folder stays there."""
        return iter(())

    def add(self, columns: Columns) -> None:
        """Regions that come next."""
        self._new.append(columns)
        self._bytes += size_of(columns)

    def save_if_due(self, source: Source) -> None:
        """Write what waits if it is much, or waits for long."""
        if self._bytes >= self._most or time.perf_counter() >= self._due:
            self.save(source)

    def save(self, source: Source) -> None:
        """Write what waits, and what is left to do.

        Raises
        ------
        FileWriteError
            If the disk is full, for example. The folder stays as it was.
        MemoryError
            Likewise.
        """
        if self._unsure:
            written, self._unsure = self._unsure, 0
            if self._folder.settle():
                self._taken_over(written)
        if self._folder.manifest.complete:
            return
        parts = list(self._folder.manifest.parts)
        with self._explained():
            if self._new:
                self._write(self._new, parts)
        self._unsure = len(self._new)
        self._commit(source.left_to_do(), parts, {})
        self._taken_over(self._unsure)
        self._unsure = 0

    def _taken_over(self, batches: int) -> None:
        """So many batches are in the folder now."""
        self._bytes -= sum(map(size_of, self._new[:batches]))
        del self._new[:batches]
        self.count = self._folder.manifest.regions

    def _write(self, batches: Sequence[Columns], parts: list[RegionFile]) -> None:
        """Write regions to a file; to several if there is no memory for all at a time."""
        name = f"part-{len(parts) + 1:06d}{self._folder.token}.parquet"
        try:
            columns, place = self._folder.columns, self._folder.place
            parts.append(write_part(place, name, batches, columns, self._inputs))
        except MemoryError:
            half = len(batches) // 2
            if not half:
                raise
            self._write(batches[:half], parts)
            self._write(batches[half:], parts)

    def _commit(self, units: Sequence[Unit], parts: list[RegionFile], more: dict[str, Any]) -> None:
        with self._explained():
            self._folder.commit(self._task, units, parts, more)
        self.count = self._folder.manifest.regions
        self._due = time.perf_counter() + self._every

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """An error in here says that nothing is lost."""
        try:
            yield
        except OSError as error:
            raise FileWriteError(
                f"{error}. The folder holds {self.count} regions, not all; make room, and the same "
                "call goes on from there"
            ) from error

    def finish(self, stats: dict[str, Any]) -> None:
        """Add what the engine has to say, if it had anything to do."""
        if not self._done_before:
            with suppress(MemoryError):  # all regions are there
                self._folder.finish(stats)

    def close(self) -> None:
        """Let others write to the folder."""
        self._folder.close()


def _write_network(place: FolderPlace, quotient: Quotient) -> Sums:
    """An ordinary file of regions, without regions."""
    network = quotient.network
    bits = PackedPatterns.bits_for(network.pieces)
    packed = PackedPatterns.pack(np.empty((0, network.n_neurons), np.uint8), bits)
    empty = np.empty((0, network.n_inputs))
    regions = Regions(network, quotient.domain, packed, empty, complete=False).lifted(quotient)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / NETWORK
        try:
            regions.save(file)
        except FileWriteError as error:
            where = f"{shown(place.url)}/{NETWORK}"
            raise FileWriteError(f"{where}: can't be written: {error}") from error
        return _write(place, NETWORK, memoryview(file.read_bytes()))


def _write(place: FolderPlace, name: str, content: memoryview) -> Sums:
    with place.writing(name) as stream:
        stream.write(content)
    return sums_of(io.BytesIO(content))


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:16] + "…"
