"""Regions in a folder, worked on batch by batch: there may be more of them than fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell._runtime.parts import check_workers, in_parts
from tropicell._runtime.paths import shown
from tropicell._runtime.progress import bar_of
from tropicell.errors import InvalidInputError, ModelFileError
from tropicell.network.quotient import Quotient
from tropicell.regions import comfort
from tropicell.regions.columns import PackedPatterns, Ragged
from tropicell.regions.files import load_regions
from tropicell.regions.region import Region
from tropicell.regions.regions import Regions
from tropicell.regions.stored.manifest import NETWORK, read_manifest
from tropicell.regions.stored.places import place_of
from tropicell.regions.stored.reader import BATCH, Filter, RegionReader
from tropicell.regions.stored.tables import arrow

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from tropicell.analysis.complex import Complex
    from tropicell.analysis.measure import Extrema, Norm

# --- some rows of regions, and several Regions as one, with the columns that are known ------------

_COLUMNS = ("bounded", "volumes", "corners", "facet_lines")


def rows(regions: Regions, numbers: NDArray[np.int64]) -> Regions:
    """The regions of some numbers.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> regions = enumerate_regions(Network.mlp([[[1.0], [2.0]], [[1.0, 1.0]]], [[0, 1], [0]]))
    >>> rows(regions, np.array([2, 0])).texts() == [regions.texts()[2], regions.texts()[0]]
    True
    """
    inner = regions.reduced
    columns: dict[str, Any] = {}
    for name in _COLUMNS:
        column = inner.known(name)
        if isinstance(column, Ragged):
            parts = [column[int(k)] for k in numbers]
            values = np.concatenate(parts) if parts else column.values[:0]
            columns[name] = Ragged.from_counts(values, column.counts[numbers])
        elif column is not None:
            columns[name] = column[numbers]
    packed = inner.packed
    return Regions(
        inner.network,
        inner.domain,
        PackedPatterns(packed.words[numbers], packed.neurons, packed.bits),
        inner.witnesses[numbers],
        complete=False,
        **columns,
    ).lifted(regions.quotient)


def joined(quotient: Quotient, parts: Sequence[Regions], **known: Any) -> Regions:
    """Batches as one object; a column that one of them does not know is left out.

    What is `known` beyond the columns: ``complete`` and ``stats``.
    """
    network, domain = quotient.network, quotient.domain
    inner = [part.reduced for part in parts]
    bits = PackedPatterns.bits_for(network.pieces)
    words = PackedPatterns.pack(np.empty((0, network.n_neurons), np.uint8), bits).words
    witnesses = np.empty((0, network.n_inputs))
    columns: dict[str, Any] = {}
    if inner:
        words = np.concatenate([part.packed.words for part in inner])
        witnesses = np.concatenate([part.witnesses for part in inner])
        for name in _COLUMNS:
            found = [part.known(name) for part in inner]
            if any(column is None for column in found):
                continue
            if isinstance(found[0], Ragged):
                values = np.concatenate([column.values for column in found])
                counts = np.concatenate([column.counts for column in found])
                columns[name] = Ragged.from_counts(values, counts)
            else:
                columns[name] = np.concatenate(found)
    packed = PackedPatterns(words, network.n_neurons, bits)
    known = {"complete": False} | known
    return Regions(network, domain, packed, witnesses, **columns, **known).lifted(quotient)


#: Memory that `to_regions` takes unasked, in bytes.
_MOST = 2**30

#: Points that a thread takes at a time.
_POINTS = 4096

#: With more inputs than these, volumes are worked out of so many regions at a time.
_FEW_INPUTS, _FEW_AT_ONCE = 4, 1024


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
    >>> from tropicell import Box, Network, Regions, enumerate_regions
    >>> network = Network.mlp([[[1.0, 2.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = enumerate_regions(network, Box(-1, 1), out=folder.name)
    >>> regions = Regions.open(folder.name)
    >>> len(regions), regions.total_volume(), regions.locate([[0.5, 0.5]])
    (4, 4.0, array([3]))
    >>> [len(batch) for batch in regions.batches(size=3)]
    [3, 1]

    Some of them in memory, all of them, or as tables of other libraries:

    >>> large = regions.filter(lambda batch: batch.volumes > 0.5)
    >>> len(large), len(regions.sample(3)), regions.take([0, 3]).texts()
    (2, 3, ['00', '11'])
    >>> regions.to_regions()
    Regions(4 of Network(2 → 2 → 1) on Box(-1.0, 1.0))
    >>> regions.dataset().count_rows(), regions.to_pandas(["volume"]).shape
    (4, (4, 1))

    All faces, too:

    >>> regions.complex()
    Complex(9 vertices, 12 edges, 4 cells)

    What the network does on all of them:

    >>> regions.extrema().maximum, regions.integral(), regions.mean()
    (array([4.]), array([3.16666667]), array([0.79166667]))
    >>> regions.lipschitz()
    (3.1622776601683795, 3)
    >>> folder.cleanup()
    """

    def __init__(self, reader: RegionReader) -> None:
        self.network = reader.quotient.whole
        self.domain = reader.quotient.around
        self.complete = reader.manifest.complete and not reader.filters
        self.stats = dict(reader.manifest.stats)
        self._reader = reader
        self._count: int | None = None if reader.filters else reader.manifest.regions

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> StoredRegions:
        """The regions in a folder, or at a URL that fsspec reaches.

        Raises
        ------
        ModelFileError
            If it is not a folder of regions, if a file is missing, or if one has another size than
            it had when it was written.

        Notes
        -----
        Whatever is read later is checked when it is read: damage to a file is a ModelFileError
        that names it, never a wrong region.
        """
        arrow("pyarrow.parquet")
        place = place_of(path)
        manifest = read_manifest(place)
        manifest.check_sizes(place)
        manifest.check_file(place, NETWORK)
        where = f"{shown(place.url)}/{NETWORK}"
        with place.local(NETWORK) as file:
            try:
                empty = load_regions(file)
            except ModelFileError as error:
                raise ModelFileError(f"{where}: can't be read: {error}") from None
        if manifest.identity.get("network") != empty.network.fingerprint:
            raise ModelFileError(f"{where}: is not the network of these regions")
        return cls(RegionReader(place, manifest, empty.quotient))

    # --- what there is ------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of regions; after `filter`, all batches are read once to know it."""
        if self._count is None:
            self._count = sum(len(batch) for batch in self.batches())
        return self._count

    @property
    def columns(self) -> list[str]:
        """What is stored besides the patterns."""
        return list(self._reader.manifest.columns)

    @property
    def files(self) -> list[str]:
        """The Parquet files, in order, for other programs; those that are not here don't count."""
        return [self._reader.url_of(part) for part in self._reader.manifest.parts]

    @property
    def nbytes(self) -> int:
        """Bytes of all Parquet files."""
        return sum(part.bytes for part in self._reader.manifest.parts)

    def __repr__(self) -> str:
        count = "some" if self._count is None else str(self._count)
        least = "" if self.complete else "at least "
        return f"StoredRegions({least}{count} of {self.network!r} on {self.domain!r})"

    # --- reading ------------------------------------------------------------------------------

    def batches(self, columns: Sequence[str] | None = None, size: int = BATCH) -> Iterator[Regions]:
        """All regions in order, as ordinary `Regions` of at most `size`.

        Parameters
        ----------
        columns : sequence of str, optional
            What to read besides the patterns; default: all that is stored.
        size : int
        """
        return self._reader.batches(columns, size)

    def verify(self) -> None:
        """Read every file from end to end, and compare it with its checksum in the manifest.

        What is read here is checked anyway; this is for files that other programs are going to
        read, or that were copied. Files of older versions have no checksums: of them only the size
        is looked at.

        Raises
        ------
        ModelFileError
            If a file is missing or damaged; it is named.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from tropicell import Network, enumerate_regions
        >>> network = Network.mlp([[[1.0]], [[1.0]]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     regions = enumerate_regions(network, out=folder)
        ...     regions.verify()
        ...     Path(regions.files[0]).unlink()
        ...     regions.verify()
        Traceback (most recent call last):
        tropicell.errors.ModelFileError: ...part-000001.parquet: is missing; ...
        """
        self._reader.verify()

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
        return StoredRegions(self._reader.filtered_by(chosen))

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
        for start, batch in self._reader.numbered(wanted):
            first, last = np.searchsorted(wanted, [start, start + len(batch)])
            if last > first:
                found.append(rows(batch, wanted[first:last] - start))
        return joined(self._reader.quotient, found)

    def __getitem__(self, index: int) -> Region:
        """One region; only a part of one file is read."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} regions, no number {index}")
        pattern = self.take([int(index) % len(self)]).packed[0]
        return Region(self.network, pattern, self.domain)

    # --- where is it? -------------------------------------------------------------------------

    def locate(
        self, points: ArrayLike, *, workers: int = 1, progress: bool | None = None
    ) -> NDArray[np.int64]:
        """Number of the region of each point (row); -1 if it is outside or is not here.

        As `Regions.locate`. The patterns are read once for all points, and once more if some of
        the points are on a boundary. Of each point its pattern is in memory, a few bits a neuron.

        Parameters
        ----------
        points : array_like, shape (points, inputs)
        workers : int
            Number of threads that work out the patterns of the points.
        progress : bool, optional
            Show a progress bar if it takes longer than two seconds; default: if standard error is
            a terminal.
        """
        x = self.network.check_points(points)
        check_workers(workers)
        found = np.full(len(x), -1, dtype=np.int64)
        inside = np.flatnonzero(self.domain.contains(x))
        patterns = self._patterns(x[inside], workers, progress)
        found[inside] = self._find(patterns, progress)
        lost = np.flatnonzero(found[inside] < 0)  # most of them are in regions that are not here
        near = np.zeros(len(lost), dtype=np.bool_)

        def look(part: slice) -> None:
            some = lost[part]
            near[part] = ~comfort.strictly_inside(self.network, x[inside[some]], patterns[some])

        in_parts(look, len(lost), workers, _POINTS)
        lost = inside[lost[near]]
        if lost.size:
            around = [
                PackedPatterns.pack(np.empty((0, self.network.n_neurons), np.uint8), self._bits)
            ]
            with bar_of(len(lost), " points on boundaries", progress) as bar:
                for point in x[lost]:
                    check()
                    some = comfort.patterns_around(self.network, point, self.domain)
                    around.append(PackedPatterns.pack(np.array(list(some)), self._bits))
                    bar.update()
            words = np.concatenate([each.words for each in around])
            many = PackedPatterns(words, self.network.n_neurons, self._bits)
            numbers = self._find(many, progress).reshape(len(lost), -1)
            for i, row in zip(lost, numbers, strict=True):
                found[i] = next((k for k in row if k >= 0), -1)
            # for some points no direction may lead into a region that is here, and one is there
            all_here = self.complete and "where" not in self.stats
            still = [] if all_here else lost[found[lost] < 0].tolist()
            maps = self.network.maps("exact")
            ties = {i: maps.pieces_at(x[i]) for i in still}
            for start, batch in self._each((), progress) if ties else ():
                for i in list(ties):
                    index = batch.packed.first_between(*ties[i])
                    if index >= 0:
                        found[i] = start + index
                        del ties[i]
        return found

    @property
    def _bits(self) -> int:
        return self._reader.bits

    def _patterns(self, x: FloatArray, workers: int, progress: bool | None) -> PackedPatterns:
        """The patterns of points, packed."""
        size = PackedPatterns.words_for(self.network.n_neurons, self._bits)
        words = np.empty((len(x), size), np.uint64)

        def work(part: slice) -> None:
            patterns = self.network.patterns(x[part], progress=False)
            words[part] = PackedPatterns.pack(patterns, self._bits).words
            bar.update(part.stop - part.start)

        with bar_of(len(x), " points", progress) as bar:
            in_parts(work, len(x), workers, _POINTS)
        return PackedPatterns(words, self.network.n_neurons, self._bits)

    def _find(self, patterns: PackedPatterns, progress: bool | None) -> NDArray[np.int64]:
        """Number of each pattern, or -1: the patterns wanted are in memory, not those stored."""
        if not len(patterns):
            return np.empty(0, np.int64)
        first, which, _ = patterns.groups()
        wanted = patterns.take(first)
        numbers = np.full(len(wanted), -1, np.int64)
        left = len(wanted)
        for start, batch in self._each((), progress):
            places = wanted.find_words(batch.packed.words)
            hits = np.flatnonzero(places >= 0)
            numbers[places[hits]] = start + hits
            left -= len(hits)
            if not left:
                break
        return numbers[which.ravel()]

    def _each(
        self, columns: Sequence[str], progress: bool | None, size: int = BATCH
    ) -> Iterator[tuple[int, Regions]]:
        """All batches, and the number of the first region of each."""
        start = 0
        with bar_of(self._reader.manifest.regions, " regions", progress) as bar:
            for batch in self.batches(columns, size):
                check()
                yield start, batch
                start += len(batch)
                bar.update(len(batch))

    @property
    def _measured_at_once(self) -> int:
        """Regions of a batch whose volumes are asked for; with many inputs each takes long."""
        return BATCH if self.network.n_inputs <= _FEW_INPUTS else _FEW_AT_ONCE

    # --- measures -----------------------------------------------------------------------------
    # Regions are measured batch by batch: threads share a batch, and there is one bar for all.

    def total_volume(self, *, workers: int = 1, progress: bool | None = None) -> float:
        """The sum of all volumes; inf if a region is unbounded.

        Parameters
        ----------
        workers : int
            Number of threads for volumes that are not stored.
        progress : bool, optional
            Show a progress bar if it takes longer than two seconds; default: if standard error is
            a terminal.
        """
        total = 0.0
        for _, batch in self._each(
            ("volumes", "corners", "facet_lines"), progress, self._measured_at_once
        ):
            total += float(
                batch.prepare(["volumes"], workers=workers, progress=False).volumes.sum()
            )
        return total

    def lipschitz(
        self, norm: Norm = "l2", *, workers: int = 1, progress: bool | None = None
    ) -> tuple[float, int]:
        """The Lipschitz constant, and the number of a region; see `measure.lipschitz`."""
        best, region = -np.inf, -1
        for start, batch in self._each((), progress):
            if not len(batch):
                continue
            constant, index = comfort.lipschitz(batch, norm, workers=workers, progress=False)
            if constant > best:
                best, region = constant, start + index
        if region < 0:
            raise InvalidInputError("there are no regions, and so no largest value")
        return best, region

    def extrema(self, *, workers: int = 1, progress: bool | None = None) -> Extrema:
        """Smallest and largest value of each output, and where; see `measure.extrema`."""
        found: Extrema | None = None
        for _, batch in self._each(("witnesses", "corners"), progress):
            if not len(batch):
                continue
            new = comfort.extrema(batch, workers=workers, progress=False)
            if found is None:
                found = new
                continue
            lower, higher = new.minimum < found.minimum, new.maximum > found.maximum
            found = type(new)(
                np.where(lower, new.minimum, found.minimum),
                np.where(lower[:, None], new.argmin, found.argmin),
                np.where(higher, new.maximum, found.maximum),
                np.where(higher[:, None], new.argmax, found.argmax),
            )
        if found is None:
            raise InvalidInputError("there are no regions, and so no largest value")
        return found

    def integral(self, *, workers: int = 1, progress: bool | None = None) -> FloatArray:
        """The integral of each output; see `measure.integral`."""
        total = np.zeros(self.network.n_outputs)
        for _, batch in self._each(
            ("bounded", "corners", "facet_lines"), progress, self._measured_at_once
        ):
            total += comfort.integral(batch, workers=workers, progress=False)
        return total

    def mean(self, *, workers: int = 1, progress: bool | None = None) -> FloatArray:
        """The mean of each output; see `measure.mean`."""
        total = self.integral(workers=workers, progress=progress)
        volume = self.total_volume(workers=workers, progress=progress)
        if not volume:
            raise InvalidInputError("there are no regions, and so no mean")
        return np.asarray(total / volume)

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
        return joined(self._reader.quotient, parts, complete=self.complete, stats=self.stats)

    def complex(
        self, *, max_bytes: int = _MOST, workers: int = 1, progress: bool | None = None
    ) -> Complex:
        """All faces of all regions with their incidences, in memory; see `Regions.complex`.

        Parameters
        ----------
        max_bytes : int
            More memory than this is not taken for the regions themselves. Their faces take some
            hundred bytes a region in the plane, some thousand in space and more in four dimensions:
            figures are in benchmarks/RESULTS.md, "Faces and topology".
        workers : int
        progress : bool, optional

        Raises
        ------
        InvalidInputError
            If the regions take more; or if they are not all of them, as after `filter`.
        """
        return self.to_regions(max_bytes).complex(workers=workers, progress=progress)

    def dataset(self) -> pyarrow.dataset.Dataset:
        """All files as a pyarrow dataset, without the filters.

        It checks the pages of the files, but not what is between them; see `verify`.
        """
        source = arrow("pyarrow.dataset")
        options = source.ParquetFragmentScanOptions(page_checksum_verification=True)
        parquet = source.ParquetFileFormat(default_fragment_scan_options=options)
        return source.dataset(self.files, format=parquet)

    def to_pandas(self, columns: Sequence[str] | None = None) -> pandas.DataFrame:
        """The columns of the files as a table; all in memory.

        Parameters
        ----------
        columns : sequence of str, optional
            Names as in the files, such as ``"volume"``; default: all.
        """
        tables = [
            table if columns is None else table.select(list(columns))
            for table in self._reader.tables(None)
        ]
        return arrow().concat_tables(tables).to_pandas()
