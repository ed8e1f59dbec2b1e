"""Regions in a folder, worked on batch by batch: there may be more of them than fit into memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell import graph, measure
from tropicell.columns import PackedPatterns
from tropicell.domains import Domain
from tropicell.errors import InvalidInputError, ModelFileError
from tropicell.manifest import NETWORK, Manifest, Part, read_manifest
from tropicell.measure import Extrema, Norm
from tropicell.network import Network
from tropicell.places import Place, place_of
from tropicell.region import Region
from tropicell.region_files import load_regions
from tropicell.region_rows import joined, rows
from tropicell.region_tables import COLUMNS, arrow, from_table, names_of
from tropicell.regions import Regions

if TYPE_CHECKING:
    import pandas
    import pyarrow

#: A callable gets a batch and says which of its regions to keep.
Filter = Callable[[Regions], NDArray[np.bool_]]

#: Regions of a batch.
_BATCH = 32_768

#: Memory that `to_regions` takes unasked, in bytes.
_MOST = 2**30

FloatArray = NDArray[np.float64]


class StoredRegions:
    """Regions in a folder that `enumerate_regions` wrote, in constant memory.

    Attributes
    ----------
    network : Network
    domain : Domain
    complete : bool
        Whether these are all regions.
    stats : dict
        What the engine had to say.

    Examples
    --------
    >>> import tempfile
    >>> from tropicell import Box, Regions, enumerate_regions
    >>> network = Network.mlp([[[1.0, 2.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = enumerate_regions(network, Box(-1, 1), out=folder.name)
    >>> regions = Regions.open(folder.name)
    >>> len(regions), regions.total_volume(), regions.locate([[0.5, 0.5]])
    (4, 4.0, array([3]))
    >>> len(regions.filter(lambda batch: batch.volumes > 0.5))
    2
    >>> folder.cleanup()
    """

    def __init__(
        self,
        place: Place,
        manifest: Manifest,
        network: Network,
        domain: Domain,
        filters: tuple[Any, ...] = (),
    ) -> None:
        self.network = network
        self.domain = domain
        self.complete = manifest.complete
        self.stats = dict(manifest.stats)
        self._place, self._manifest, self._filters = place, manifest, filters
        self._bits = PackedPatterns.bits_for(network.pieces)
        self._count: int | None = None if filters else manifest.regions

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> StoredRegions:
        """The regions in a folder, or at a URL that fsspec reaches.

        Raises
        ------
        ModelFileError
            If it is not a folder of regions.
        """
        arrow("pyarrow.parquet")
        place = place_of(path)
        manifest = read_manifest(place)
        with place.local(NETWORK) as file:
            empty = load_regions(file)
        if manifest.identity.get("network") != empty.network.fingerprint:
            raise ModelFileError(f"{place.url}/{NETWORK}: is not the network of these regions")
        return cls(place, manifest, empty.network, empty.domain)

    # --- what there is ------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of regions; after `filter`, all batches are read once to know it."""
        if self._count is None:
            self._count = sum(len(batch) for batch in self.batches())
        return self._count

    @property
    def columns(self) -> list[str]:
        """What is stored besides the patterns."""
        return list(self._manifest.columns)

    @property
    def files(self) -> list[str]:
        """The Parquet files, in order, for other programs; those that are not here don't count."""
        return [f"{self._place.url}/{part.name}" for part in self._manifest.parts]

    @property
    def nbytes(self) -> int:
        """Bytes of all Parquet files."""
        return sum(part.bytes for part in self._manifest.parts)

    def __repr__(self) -> str:
        count = "some" if self._count is None else str(self._count)
        kind = "" if self.complete else ", not complete"
        return f"StoredRegions({count} of {self.network!r} on {self.domain!r}{kind})"

    # --- reading ------------------------------------------------------------------------------

    def batches(
        self, columns: Sequence[str] | None = None, size: int = _BATCH
    ) -> Iterator[Regions]:
        """All regions in order, as ordinary `Regions` of at most `size`.

        Parameters
        ----------
        columns : sequence of str, optional
            What to read besides the patterns; default: all that is stored.
        size : int
        """
        names = None if columns is None or self._filters else self._names(columns)
        for table in self._tables(names, size):
            if table.num_rows:
                yield self._regions(table)

    def _names(self, columns: Sequence[str]) -> list[str]:
        if unknown := sorted(set(columns) - set(COLUMNS)):
            raise InvalidInputError(
                f"there is no column {unknown[0]!r}; choose from {', '.join(COLUMNS)}"
            )
        there = [name for name in columns if name in self._manifest.columns]
        return names_of(there, self.network.n_inputs, self._words)

    @property
    def _words(self) -> int:
        return max(1, -(-self.network.n_neurons * self._bits // 64))

    def _tables(self, names: list[str] | None, size: int = _BATCH) -> Iterator[pyarrow.Table]:
        """The rows of all files that the filters let through, a few at a time."""
        pa = arrow()
        for part in self._manifest.parts:
            with self._parquet(part) as file:
                there = names and [name for name in names if name in file.schema_arrow.names]
                for batch in file.iter_batches(batch_size=size, columns=there):
                    yield self._filtered(pa.Table.from_batches([batch]))

    @contextmanager
    def _parquet(self, part: Part) -> Iterator[Any]:
        pa, parquet = arrow(), arrow("pyarrow.parquet")
        where = f"{self._place.url}/{part.name}"
        try:
            with self._place.open(part.name) as stream, parquet.ParquetFile(stream) as file:
                count = file.metadata.num_rows
                if count != part.regions:
                    raise ModelFileError(f"{where}: has {count} regions, not {part.regions}")
                yield file
        except (OSError, pa.ArrowException) as error:
            raise ModelFileError(f"{where}: can't be read: {error}") from None

    def _regions(self, table: pyarrow.Table) -> Regions:
        network = self.network
        try:
            packed, columns = from_table(table, network.n_neurons, self._bits, network.n_inputs)
        except ValueError as error:
            raise ModelFileError(f"{self._place.url}: {error}") from None
        witnesses = columns.pop("witnesses", None)
        if witnesses is None:
            witnesses = np.full((len(packed), network.n_inputs), np.nan)
        return Regions(network, self.domain, packed, witnesses, complete=False, **columns)

    def _filtered(self, table: pyarrow.Table) -> pyarrow.Table:
        for chosen in self._filters:
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

    # --- choosing -----------------------------------------------------------------------------

    def filter(self, chosen: Filter | Any) -> StoredRegions:
        """Only some of the regions; nothing is read before they are used.

        Parameters
        ----------
        chosen : callable or pyarrow.compute.Expression
            Called with a batch (`Regions`), it says True or False for each of its regions. Or an
            expression in the columns of the files: ``pyarrow.compute.field("volume") > 0.1``.
        """
        expression = arrow("pyarrow.compute").Expression
        if not callable(chosen) and not isinstance(chosen, expression):
            raise InvalidInputError(
                f"a filter is a callable or a pyarrow expression, not {type(chosen).__name__}"
            )
        filters = (*self._filters, chosen)
        found = StoredRegions(self._place, self._manifest, self.network, self.domain, filters)
        found.complete = False
        return found

    def sample(self, n: int, seed: int = 0) -> Regions:
        """Some regions, all equally likely, none twice, in order.

        Parameters
        ----------
        n : int
            If there are fewer, all.
        seed : int
        """
        if n < 0:
            raise InvalidInputError(f"the number of regions must not be negative, got {n}")
        count = len(self)
        numbers = np.random.default_rng(seed).choice(count, size=min(n, count), replace=False)
        return self.take(np.sort(numbers))

    def take(self, numbers: ArrayLike) -> Regions:
        """The regions of some numbers, which must ascend."""
        wanted = np.asarray(numbers, dtype=np.int64).ravel()
        if wanted.size and (
            wanted[0] < 0 or wanted[-1] >= len(self) or (np.diff(wanted) < 0).any()
        ):
            raise InvalidInputError(f"numbers must ascend from 0 to less than {len(self)}")
        found = []
        for start, batch in self._numbered(wanted):
            first, last = np.searchsorted(wanted, [start, start + len(batch)])
            if last > first:
                found.append(rows(batch, wanted[first:last] - start))
        return joined(self.network, self.domain, found)

    def _numbered(self, wanted: NDArray[np.int64]) -> Iterator[tuple[int, Regions]]:
        """Batches with the number of their first region, at least those with something wanted."""
        start = 0
        if self._filters:
            for batch in self.batches():
                yield start, batch
                start += len(batch)
            return
        for part in self._manifest.parts:
            if _any(wanted, start, start + part.regions):
                with self._parquet(part) as file:
                    at = start
                    for group in range(file.num_row_groups):
                        size = file.metadata.row_group(group).num_rows
                        if _any(wanted, at, at + size):
                            yield at, self._regions(file.read_row_group(group, use_threads=False))
                        at += size
            start += part.regions

    def __getitem__(self, index: int) -> Region:
        """One region; only a part of one file is read."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} regions, no number {index}")
        pattern = self.take([int(index) % len(self)]).packed[0]
        return Region(self.network, pattern, self.domain)

    # --- where is it? -------------------------------------------------------------------------

    def locate(self, points: ArrayLike) -> NDArray[np.int64]:
        """Number of the region of each point (row); -1 if it is outside or is not here.

        As `Regions.locate`. The patterns are read once for all points, and once more if some of
        the points are on a boundary.
        """
        x = self.network.check_points(points)
        found = self._find(self.network.patterns(x))
        inside = self.domain.contains(x)
        lost = np.flatnonzero(inside & (found < 0))
        if lost.size:
            near = [self._near(point) for point in x[lost]]
            numbers = self._find(np.concatenate(near)).reshape(len(lost), -1)
            for i, row in zip(lost, numbers, strict=True):
                found[i] = next((k for k in row if k >= 0), -1)
        return np.where(inside, found, -1)

    def _near(self, point: FloatArray) -> NDArray[np.uint8]:
        """The pattern of a point between regions, and those one step away; exactly."""
        maps = self.network.maps("exact")
        exact = maps.arithmetic.public(maps.arithmetic.array(point))
        patterns = [self.network.patterns(point[None], arithmetic="exact")[0]]
        for seed in range(20):
            direction = np.random.default_rng(seed).integers(-1000, 1001, size=len(point))
            patterns.append(graph.pattern_along(maps, exact, direction.astype(object)))
        return np.array(patterns, dtype=np.uint8).reshape(len(patterns), -1)

    def _find(self, patterns: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Number of each pattern, or -1: the patterns wanted are in memory, not those stored."""
        found = np.full(len(patterns), -1, np.int64)
        wanted, which = np.unique(patterns, axis=0, return_inverse=True)
        packed = PackedPatterns.pack(np.ascontiguousarray(wanted), self._bits)
        start = 0
        for batch in self.batches(columns=()):
            places = packed.find_words(batch.packed.words)
            hits = np.flatnonzero(places >= 0)
            if hits.size:
                numbers = np.full(len(wanted), -1, np.int64)
                numbers[places[hits]] = start + hits
                found = np.where(found < 0, numbers[which.ravel()], found)
                if (found >= 0).all():
                    break
            start += len(batch)
        return found

    # --- measures -----------------------------------------------------------------------------

    def total_volume(self) -> float:
        """The sum of all volumes; inf if a region is unbounded."""
        return float(sum(batch.volumes.sum() for batch in self.batches(("volumes", "corners"))))

    def lipschitz(self, norm: Norm = "l2") -> tuple[float, int]:
        """The Lipschitz constant, and the number of a region; see `measure.lipschitz`."""
        best, region, start = -np.inf, -1, 0
        for batch in self.batches(columns=()):
            constant, index = measure.lipschitz(batch, norm)
            if constant > best:
                best, region = constant, start + index
            start += len(batch)
        return best, region

    def extrema(self) -> Extrema:
        """Smallest and largest value of each output, and where; see `measure.extrema`."""
        found: Extrema | None = None
        for batch in self.batches(("corners",)):
            new = measure.extrema(batch)
            if found is None:
                found = new
                continue
            lower, higher = new.minimum < found.minimum, new.maximum > found.maximum
            found = Extrema(
                np.where(lower, new.minimum, found.minimum),
                np.where(lower[:, None], new.argmin, found.argmin),
                np.where(higher, new.maximum, found.maximum),
                np.where(higher[:, None], new.argmax, found.argmax),
            )
        if found is None:
            raise InvalidInputError("there are no regions, so there are no extrema")
        return found

    def integral(self) -> FloatArray:
        """The integral of each output; see `measure.integral`."""
        total = np.zeros(self.network.n_outputs)
        for batch in self.batches(("corners",)):
            total += measure.integral(batch)
        return total

    def mean(self) -> FloatArray:
        """The mean of each output; see `measure.mean`."""
        return np.asarray(self.integral() / self.total_volume())

    # --- other forms --------------------------------------------------------------------------

    def to_regions(self, max_bytes: int = _MOST) -> Regions:
        """All regions in memory.

        Parameters
        ----------
        max_bytes : int
            More memory than this is not taken.

        Raises
        ------
        InvalidInputError
            If they take more; use `filter`, `sample` or `batches`.
        """
        parts, size = [], 0
        for batch in self.batches():
            parts.append(batch)
            size += batch.nbytes
            if size > max_bytes:
                count = sum(map(len, parts))
                raise InvalidInputError(
                    f"the first {count} regions take {size} bytes, more than max_bytes={max_bytes};"
                    " use filter, sample or batches, or allow more"
                )
        regions = joined(self.network, self.domain, parts)
        regions.complete, regions.stats = self.complete, dict(self.stats)
        return regions

    def dataset(self) -> pyarrow.dataset.Dataset:
        """All files as a pyarrow dataset, without the filters."""
        source = arrow("pyarrow.dataset")
        return source.dataset(self.files, format="parquet")

    def to_pandas(self, columns: Sequence[str] | None = None) -> pandas.DataFrame:
        """The columns of the files as a table; all in memory.

        Parameters
        ----------
        columns : sequence of str, optional
            Names as in the files, such as ``"volume"``; default: all.
        """
        tables = [
            table if columns is None else table.select(list(columns))
            for table in self._tables(None)
        ]
        return arrow().concat_tables(tables).to_pandas()


def _any(wanted: NDArray[np.int64], start: int, end: int) -> bool:
    first, last = np.searchsorted(wanted, [start, end])
    return bool(last > first)
