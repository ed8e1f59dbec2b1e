"""Reads a folder of regions, file by file and a few thousand rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.checksums import CheckedStream
from tropicell._runtime.interruption import check
from tropicell._runtime.paths import reason, shown
from tropicell.errors import InvalidInputError, ModelFileError, TropicellError
from tropicell.network.quotient import Quotient
from tropicell.regions.columns import PackedPatterns, sure_areas
from tropicell.regions.regions import Regions
from tropicell.regions.stored.manifest import Manifest, RegionFile
from tropicell.regions.stored.places import FolderPlace
from tropicell.regions.stored.tables import COLUMNS, arrow, from_table, names_of

if TYPE_CHECKING:
    import pyarrow

#: A callable gets a batch and says which of its regions to keep.
Filter = Callable[[Regions], NDArray[np.bool_]]

#: Regions of a batch.
BATCH = 32_768


class RegionReader:
    """The regions of a folder that some filters let through.

    Parameters
    ----------
    place : FolderPlace
        The folder.
    manifest : Manifest
        What the folder says of itself.
    quotient : Quotient
        What was searched, and the inputs that are stored.
    filters : tuple
        Callables, or expressions of pyarrow; see `StoredRegions.filter`.
    """

    def __init__(
        self,
        place: FolderPlace,
        manifest: Manifest,
        quotient: Quotient,
        filters: tuple[Any, ...] = (),
    ) -> None:
        self.quotient = quotient
        self.manifest, self.filters = manifest, filters
        self.bits = PackedPatterns.bits_for(quotient.network.pieces)
        self._place = place

    def filtered_by(self, chosen: Filter | Any) -> RegionReader:
        """The same with one filter more."""
        filters = (*self.filters, chosen)
        return RegionReader(self._place, self.manifest, self.quotient, filters)

    def url_of(self, part: RegionFile) -> str:
        """Where a file is."""
        return f"{self._place.url}/{part.name}"

    def batches(self, columns: Sequence[str] | None, size: int) -> Iterator[Regions]:
        """All regions in order, at most so many at a time; columns None: all."""
        # a filter may look at any column
        names = None if columns is None or self.filters else self._names(columns)
        for table in self.tables(names, size):
            if table.num_rows:
                yield self._regions(table)

    def tables(self, names: list[str] | None, size: int = BATCH) -> Iterator[pyarrow.Table]:
        """The same as tables of pyarrow, with the columns' names in the files."""
        pa = arrow()
        for part in self.manifest.parts:
            with self._parquet(part) as file:
                there = names and [name for name in names if name in file.schema_arrow.names]
                for batch in file.iter_batches(batch_size=size, columns=there):
                    check()
                    yield self._filtered(pa.Table.from_batches([batch]))

    def numbered(self, wanted: NDArray[np.int64]) -> Iterator[tuple[int, Regions]]:
        """Batches with the number of their first region, at least those with something wanted."""
        start = 0
        if self.filters:
            for batch in self.batches(None, BATCH):
                yield start, batch
                start += len(batch)
            return
        for part in self.manifest.parts:
            if _any(wanted, start, start + part.regions):
                with self._parquet(part) as file:
                    at = start
                    for group in range(file.num_row_groups):
                        size = file.metadata.row_group(group).num_rows
                        if _any(wanted, at, at + size):
                            yield at, self._regions(file.read_row_group(group, use_threads=False))
                        at += size
            start += part.regions

    def _names(self, columns: Sequence[str]) -> list[str]:
        if unknown := sorted(set(columns) - set(COLUMNS)):
            raise InvalidInputError(
                f"there is no column {unknown[0]!r}; choose from {', '.join(COLUMNS)}"
            )
        there = [name for name in columns if name in self.manifest.columns]
        words = PackedPatterns.words_for(self.quotient.network.n_neurons, self.bits)
        return names_of(there, self.quotient.inputs.tolist(), words)

    @contextmanager
    def _parquet(self, part: RegionFile) -> Iterator[Any]:
        pa, parquet = arrow(), arrow("pyarrow.parquet")
        where = shown(self.url_of(part))
        try:
            with self._place.open(part.name) as file:
                # Whatever is read, footers included, is checked before it is looked at.
                stream = CheckedStream(file, part.sums, where) if part.blocks else file
                with parquet.ParquetFile(stream, page_checksum_verification=True) as table:
                    count = table.metadata.num_rows
                    if count != part.regions:
                        raise ModelFileError(f"{where}: has {count} regions, not {part.regions}")
                    yield table
        except (OSError, pa.ArrowException) as error:
            if isinstance(error, TropicellError | MemoryError):
                raise
            raise ModelFileError(f"{where}: can't be read: {reason(error)}") from None

    def verify(self) -> None:
        """Read all files; see `StoredRegions.verify`."""
        self.manifest.check_contents(self._place)

    def _regions(self, table: pyarrow.Table) -> Regions:
        network, inputs = self.quotient.network, self.quotient.inputs.tolist()
        try:
            packed, columns = from_table(table, network.n_neurons, self.bits, inputs)
        except (ValueError, TypeError, OverflowError, IndexError) as error:
            raise ModelFileError(f"{shown(self._place.url)}: is damaged: {error}") from None
        witnesses = columns.pop("witnesses", None)
        if witnesses is None:
            witnesses = np.full((len(packed), network.n_inputs), np.nan)
        if not self.quotient.is_trivial:  # these are those of the regions in all coordinates
            columns = {k: c for k, c in columns.items() if k not in ("bounded", "volumes")}
        if sure_areas(columns.get("volumes"), network.n_inputs) is None:
            columns.pop("volumes", None)
        domain = self.quotient.domain
        found = Regions(network, domain, packed, witnesses, complete=False, **columns)
        return found.lifted(self.quotient)

    def _filtered(self, table: pyarrow.Table) -> pyarrow.Table:
        for chosen in self.filters:
            if not table.num_rows:
                break
            keep = chosen
            if callable(chosen):
                mask = np.asarray(chosen(self._regions(table)))
                if mask.dtype != np.bool_ or mask.shape != (table.num_rows,):
                    raise InvalidInputError(
                        "a filter must give True or False for each region of a batch, got "
                        f"{mask.dtype} of shape {mask.shape}"
                    )
                keep = arrow().array(mask)
            table = table.filter(keep)
        return table


def _any(wanted: NDArray[np.int64], start: int, end: int) -> bool:
    """Whether one of the numbers, which ascend, is from start to before end."""
    first, last = np.searchsorted(wanted, [start, end])
    return bool(last > first)
