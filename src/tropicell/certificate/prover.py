"""A proof, in exact arithmetic, that an enumeration is right and complete.

It starts from the weights and does not trust the engine that found the regions: of what
the engine says, only patterns and witnesses are looked at, and its facets are taken as hints. What
is proved and why that is enough is on the page docs/certificates.md.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from tropicell._runtime.parts import check_workers, in_parts
from tropicell.certificate._exact import ProofError, RegionProof, RegionProver
from tropicell.certificate._filter import Filtered, filter_regions, hinted
from tropicell.certificate._rows import ExactRows
from tropicell.geometry.polyhedra import Point
from tropicell.network.domains import Domain
from tropicell.network.network import Network
from tropicell.regions.columns import PackedPatterns, Ragged

if TYPE_CHECKING:
    from tropicell.regions.regions import Regions

#: After so many regions that are wrong no more are looked at.
_MOST_FAILURES = 10

#: Patterns that a thread looks at at a time.
_AT_ONCE = 1 << 13


@dataclass(frozen=True, eq=False)
class RegionProofs:
    """What proves the regions, as columns; see `tropicell.certificate._exact`.

    Attributes
    ----------
    facets : Ragged
        Lines, as in `tropicell.network.inequalities`.
    neighbours : ndarray
        For every facet the region behind it, or -1 for the domain's boundary.
    bases : Ragged
        Rows of positions in the region's facets, filled up with -1.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> proofs = enumerate_regions(Network.mlp([[[1.0]], [[1.0]]])).certify().proofs
    >>> proofs.facets.counts, proofs.neighbours  # each has one facet, with the other behind it
    (array([1, 1]), array([1, 0]))
    """

    facets: Ragged
    neighbours: NDArray[np.int64]
    bases: Ragged


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was proved about an enumeration.

    Attributes
    ----------
    ok : bool
        Whether everything that the regions claim is proved: all are regions, no two are the same,
        and, if they are marked as complete, there are no others.
    complete : bool
        Whether it is proved that there are no others.
    failures : tuple of str
        What is wrong; empty if `ok`.
    network, domain, packed : Network, Domain, PackedPatterns
        What it is about.
    witnesses : ndarray
        As the regions have them.
    exact_witnesses : dict
        Rational points for regions whose witness is none that float64 can hold.
    proofs : RegionProofs or None
        Facets, neighbours and bases of all regions, if `complete`.
    volume : Fraction or None
        The exact volume of the domain, if the regions' volumes were added up to it.
    counts : dict of str to int
        How many signs and regions the floating-point filter settled, and how many exact arithmetic.
    seconds : float
        How long it took.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> certificate = enumerate_regions(Network.mlp([[[1.0]], [[1.0]]])).certify()
    >>> certificate.ok, certificate.complete, len(certificate)
    (True, True, 2)
    >>> certificate.proved[1]
    'no two of them have the same pattern'
    """

    ok: bool
    complete: bool
    failures: tuple[str, ...]
    network: Network
    domain: Domain
    packed: PackedPatterns
    witnesses: NDArray[Any]
    exact_witnesses: dict[int, Point] = field(default_factory=dict)
    proofs: RegionProofs | None = None
    volume: Fraction | None = None
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.packed)

    def __bool__(self) -> bool:
        return self.ok

    @property
    def proved(self) -> tuple[str, ...]:
        """What is proved, in words."""
        if not self.ok:
            return ()
        said = [
            f"each of the {len(self):,} regions has a rational point strictly inside",
            "no two of them have the same pattern",
        ]
        if self.complete:
            said.append(
                "every facet leads to another of them or out of the domain: none is missing"
            )
        if self.volume is not None:
            size = float(self.volume)
            said.append(f"their exact volumes add up to that of the domain, {size:.17g}")
        return tuple(said)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to an ``.npz`` file, which ``python -m tropicell.verify_certificate`` checks.

        Examples
        --------
        >>> import tempfile
        >>> from tropicell import Network, enumerate_regions
        >>> from tropicell.verify_certificate import verify
        >>> certificate = enumerate_regions(Network.mlp([[[1.0]], [[1.0]]])).certify()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     certificate.save(folder + "/proof.npz")
        ...     verify(folder + "/proof.npz")["regions"]
        2
        """
        from tropicell.certificate.files import save_certificate  # noqa: PLC0415

        save_certificate(self, path)

    def __str__(self) -> str:
        head = f"{self.network!r} on {self.domain!r}"
        if not self.ok:
            return "\n".join([f"not proved: {head}", *(f"  - {text}" for text in self.failures)])
        said = "proved" if self.complete else "proved, but not complete"
        lines = [f"{said}: {head}", *(f"  - {text}" for text in self.proved)]
        if not self.complete:
            lines.append("  - not claimed, and not proved: that there are no others")
        counts = self.counts
        lines.append(
            f"  regions: {counts['regions_by_filter']:,} by floating point with error bounds, "
            f"{counts['regions_exact']:,} in exact arithmetic"
        )
        lines.append(
            f"  signs:   {counts['signs_by_filter']:,} by floating point with error bounds, "
            f"{counts['signs_exact']:,} in exact arithmetic"
        )
        lines.append(f"  network {self.network.fingerprint[:16]}…, {self.seconds:.3g} s")
        return "\n".join(lines)


def certify(
    regions: Regions,
    *,
    volumes: bool = False,
    workers: int = 1,
    progress: bool | None = None,
) -> Certificate:
    """Prove that regions are right, and complete if they are marked so.

    Parameters
    ----------
    regions : Regions
    volumes : bool
        Prove completeness a second time: the exact volumes of the regions add up to that of
        the domain, which must be bounded and have at most 3 dimensions. Slower.
    workers : int
        Number of threads.
    progress : bool, optional
        Show a progress bar; default: if standard error is a terminal.

    Returns
    -------
    Certificate
        With ``ok`` False, and the reasons, if something is wrong.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 1.0, 1.0]]])
    >>> certificate = certify(enumerate_regions(network, Box(-1, 1)))
    >>> certificate.ok, certificate.complete, len(certificate)
    (True, True, 6)
    """
    check_workers(workers)
    job = _ProofJob(regions, workers, sys.stderr.isatty() if progress is None else progress)
    started = time.perf_counter()
    job.run()
    proofs = job.columns() if regions.complete and not job.failures else None
    volume = job.volume(proofs) if volumes and proofs is not None else None
    ok = not job.failures
    certificate = Certificate(
        ok,
        ok and regions.complete,
        tuple(job.failures),
        regions.network,
        regions.domain,
        regions.packed,
        regions.witnesses,
        job.exact_witnesses,
        proofs,
        volume,
        job.counts(),
        time.perf_counter() - started,
    )
    regions.certificate = certificate
    return certificate


class _ProofJob:
    """A proof that is being made, and what is known so far."""

    def __init__(self, regions: Regions, workers: int, show: bool) -> None:
        self.regions = regions
        self.workers = workers
        self.show = show
        self.exact = ExactRows(regions.network, regions.domain)
        lines = regions.lines
        self.prover = RegionProver(
            self.exact, regions.packed.find, lambda line: str(lines.boundary(line))
        )
        self.failures: list[str] = []
        self.filtered = Filtered.nothing(len(regions), regions.network.n_inputs)
        self.proofs: dict[int, RegionProof] = {}
        self.witnesses = 0  # of regions that the filter has proved but for them
        self.exact_witnesses: dict[int, Point] = {}

    def run(self) -> None:
        """First what is cheap, then the filter, then exact arithmetic for what is left."""
        self.failures += wrong_patterns(self.regions.packed, self.regions.network, self.workers)
        if self.regions.complete and not len(self.regions):
            self.failures.append("there are no regions, but a domain with interior has some")
        if not self.failures:
            self.filtered = filter_regions(self.regions, self.workers)
            self._prove_exactly(np.flatnonzero(~(self.filtered.proved & self.filtered.inside)))

    def _prove_exactly(self, indices: NDArray[np.intp]) -> None:
        regions, filtered = self.regions, self.filtered
        hints = hinted(regions, "facet_lines")
        for index in tqdm(indices.tolist(), unit=" regions", disable=not self.show):
            hint = None if hints is None else hints[index].tolist()
            witness = regions.witnesses[index]
            pattern, proved = regions.packed[index], bool(filtered.proved[index])
            try:
                if proved:
                    facets = filtered.facets[index].tolist()
                    proof = self.prover.find_witness(pattern, witness, facets)
                else:
                    proof = self.prover.prove(pattern, witness, hint, regions.complete)
            except ProofError as error:
                self.failures.append(f"region {index} ({regions[index].text}): {error}")
                if len(self.failures) >= _MOST_FAILURES:
                    return
                continue
            if proved:
                self.witnesses += 1
            else:
                self.proofs[index] = proof
            if proof.moved:
                self.exact_witnesses[index] = proof.witness

    def volume(self, proofs: RegionProofs) -> Fraction | None:
        """The volume of the domain, if those of the regions add up to it."""
        from tropicell.certificate._volumes import volumes_add_up  # noqa: PLC0415 - seldom needed

        volume = volumes_add_up(self.regions, self.exact, proofs.facets)
        if volume is None:
            self.failures.append("the regions' volumes do not add up to that of the domain")
        return volume

    def counts(self) -> dict[str, int]:
        return {
            "regions_by_filter": int((self.filtered.proved & self.filtered.inside).sum()),
            "regions_exact": len(self.proofs) + self.witnesses,
            "signs_by_filter": self.filtered.signs,
            "signs_exact": self.prover.signs,
        }

    def columns(self) -> RegionProofs:
        """All proofs as columns: those of the filter, with the exact ones in their places."""
        found = self.filtered
        exact = [self.proofs[i] for i in np.flatnonzero(~found.proved).tolist()]
        size = self.regions.network.n_inputs
        bases = [(*basis, *[-1] * (size - len(basis))) for proof in exact for basis in proof.bases]
        facet_counts = np.array([len(proof.facets) for proof in exact], dtype=np.int64)
        basis_counts = np.array([len(proof.bases) for proof in exact], dtype=np.int64)
        lines = Ragged.from_counts(_flat(proof.facets for proof in exact), facet_counts)
        behind = Ragged.from_counts(_flat(proof.neighbours for proof in exact), facet_counts)
        rows = Ragged.from_counts(np.array(bases, np.int64).reshape(-1, size), basis_counts)
        facets = found.facets
        return RegionProofs(
            _merged(facets, lines, found.proved),
            _merged(Ragged(found.neighbours, facets.ends), behind, found.proved).values,
            _merged(found.bases, rows, found.proved),
        )


def _flat(parts: Iterable[list[int]]) -> NDArray[np.int64]:
    return np.fromiter(chain.from_iterable(parts), dtype=np.int64)


def _merged(some: Ragged, others: Ragged, chosen: NDArray[np.bool_]) -> Ragged:
    """Where chosen, the rows of one array; elsewhere the rows of another, one after the other."""
    if chosen.all():
        return some
    counts = some.counts.copy()
    kept = np.repeat(chosen, counts)
    counts[~chosen] = others.counts
    place = np.repeat(chosen, counts)
    values = np.empty((len(place), *some.values.shape[1:]), dtype=np.int64)
    values[place], values[~place] = some.values[kept], others.values
    return Ragged.from_counts(values, counts)


def wrong_patterns(packed: PackedPatterns, network: Network, workers: int = 1) -> list[str]:
    """What is wrong with patterns: pieces that do not exist, or two that are the same."""
    pieces = network.pieces
    if packed.neurons != network.n_neurons:
        return [f"the patterns have {packed.neurons} neurons, the network {network.n_neurons}"]
    words = PackedPatterns.words_for(packed.neurons, packed.bits)
    if packed.words.shape[1:] != (words,):
        return [f"packed patterns have the shape {packed.words.shape}, expected (regions, {words})"]
    row = _first_wrong(packed, pieces, workers)
    if row is not None:
        pattern = packed[row]
        wrong = np.flatnonzero(pattern >= pieces)
        if not wrong.size:
            return [f"region {row}: bits beyond the last neuron are set"]
        neuron = int(wrong[0])
        said = f"neuron {neuron} has {pieces[neuron]} pieces, no number {pattern[neuron]}"
        return [f"region {row}: {said}"]
    duplicate = packed.first_duplicate(workers) if len(packed) else -1
    return [f"region {duplicate} has the pattern of an earlier one"] if duplicate >= 0 else []


def _first_wrong(packed: PackedPatterns, pieces: NDArray[np.intp], workers: int) -> int | None:
    """The first row that is no packed pattern."""
    from tropicell.certificate._kernels import wrong_pattern  # noqa: PLC0415 - Numba

    words = np.ascontiguousarray(packed.words, dtype=np.uint64)
    bits, used = packed.bits, packed.neurons * packed.bits
    few = np.flatnonzero(pieces < 1 << bits)
    counts = pieces[few].astype(np.int64)
    found: list[int] = []

    def work(part: slice) -> None:
        found.append(wrong_pattern(words, part.start, part.stop, bits, used, few, counts))

    in_parts(work, len(packed), workers, _AT_ONCE)
    return min((row for row in found if row >= 0), default=None)
