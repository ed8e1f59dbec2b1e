"""A proof, in exact arithmetic, that an enumeration is right and complete.

It starts from the weights and does not trust the engine that found the regions: of what
the engine says, only patterns and witnesses are looked at, and its facets are taken as hints. What
is proved and why that is enough is on the page docs/certificates.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from flint import fmpq_mat
from numpy.typing import NDArray

from tropicell._runtime.interruption import check, clock
from tropicell._runtime.parts import check_workers, in_parts
from tropicell._runtime.progress import each
from tropicell.certificate._branches import TreeFound, TreeProofs, prove_tree, suits
from tropicell.certificate._exact import ProofError, RegionProof, RegionProver, follow
from tropicell.certificate._filter import Filtered, Ground, filter_regions
from tropicell.certificate._rows import PatternRows
from tropicell.geometry.arithmetic import EXACT, to_rationals
from tropicell.geometry.polyhedra import Point, from_point, to_point
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
    proofs : RegionProofs or TreeProofs or None
        What proves that there are no others, if `complete`: facets, neighbours and bases of all
        regions; or, where nobody knows the vertices of regions or there are too many of them,
        the bases of the cells of a tree.
    volume : Fraction or None
        The exact volume of the domain, if the regions' volumes were added up to it.
    counts : dict of str to int
        How many signs and regions the floating-point filter settled, and how many exact arithmetic.
    seconds : float
        How long it took.
    inputs : ndarray or None
        If not all inputs are needed: the proof is in these (so are `witnesses`, where all others
        are 0), and all other columns of the matrices that read the input are combinations of
        theirs. See docs/quotient.md.

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
    proofs: RegionProofs | TreeProofs | None = None
    volume: Fraction | None = None
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    inputs: NDArray[np.int64] | None = None

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
        if isinstance(self.proofs, TreeProofs):
            said.append("every cell of the tree of their patterns has no others: none is missing")
        elif self.complete:
            said.append(
                "every facet leads to another of them or out of the domain: none is missing"
            )
        if self.inputs is not None:
            said.append(
                f"the other {self.network.n_inputs - len(self.inputs):,} inputs depend on "
                f"{len(self.inputs):,}: regions in these are regions in all"
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
    if not regions.quotient.is_trivial:
        inner = certify(regions.reduced, volumes=volumes, workers=workers, progress=progress)
        regions.certificate = _lifted(inner, regions)
        return regions.certificate
    job = _ProofJob(regions, workers, sys.stderr.isatty() if progress is None else progress)
    started = clock()
    job.run(facets=volumes)
    proofs = job.columns() if regions.covers and not job.failures else None
    volume = job.volume(proofs) if volumes and isinstance(proofs, RegionProofs) else None
    ok = not job.failures
    certificate = Certificate(
        ok,
        ok and regions.covers,
        tuple(job.failures),
        regions.network,
        regions.domain,
        regions.packed,
        regions.witnesses,
        job.exact_witnesses,
        proofs,
        volume,
        job.counts(),
        clock() - started,
    )
    regions.certificate = certificate
    return certificate


def _lifted(inner: Certificate, regions: Regions) -> Certificate:
    """A proof about some inputs as one about all; a slice's is written down in all coordinates."""
    network, domain, quotient = regions.network, regions.domain, regions.quotient
    found = replace(inner, network=network, domain=domain, inputs=quotient.inputs)
    if not _others_depend(network, domain, quotient.inputs):
        failures = (*inner.failures, "other inputs matter than those that were looked at")
        return replace(found, ok=False, complete=False, failures=failures, proofs=None)
    if network.embedding is None:
        return found
    size, proofs = network.n_inputs, inner.proofs
    if proofs is not None:
        more = ((0, 0), (0, size - quotient.dimension))
        if isinstance(proofs, RegionProofs):
            bases = np.pad(proofs.bases.values, more, constant_values=-1)
            proofs = replace(proofs, bases=Ragged(bases, proofs.bases.ends))
        else:
            proofs = replace(proofs, bases=np.pad(proofs.bases, more))
    exact = {
        i: to_point(quotient.lift(np.array(from_point(point), dtype=object)).tolist())
        for i, point in inner.exact_witnesses.items()
    }
    return replace(
        found, witnesses=regions.witnesses, exact_witnesses=exact, proofs=proofs, inputs=None
    )


def _others_depend(network: Network, domain: Domain, inputs: NDArray[np.int64]) -> bool:
    """Whether all columns of what reads the input are combinations of some: by their ranks."""
    start, _ = network.maps("exact").coordinates()
    parts = [to_rationals(domain.inequalities(network.n_inputs)[0])]
    for layer in network.layers:
        if 0 in layer.affine.terms:
            matrix = layer.affine.terms[0]
            if network.embedding is None:
                parts.append(to_rationals(sp.csr_array(matrix).toarray()))
            else:
                parts.append(EXACT.matmul(EXACT.matrix(matrix), start[:, :-1]))
    whole = np.concatenate(parts)
    some = whole[:, inputs]
    ranks = [fmpq_mat(len(m), m.shape[1], m.ravel().tolist()).rank() for m in (whole, some)]
    return bool(ranks[0] == ranks[1])


class _ProofJob:
    """A proof that is being made, and what is known so far."""

    def __init__(self, regions: Regions, workers: int, show: bool) -> None:
        self.regions = regions
        self.workers = workers
        self.show = show
        self.ground = Ground(regions)
        self.failures: list[str] = []
        self.filtered = Filtered.nothing(len(regions), regions.network.n_inputs)
        self.tree: TreeFound | None = None
        self.more_bases: dict[int, list[list[int]]] = {}
        self.proofs: dict[int, RegionProof] = {}
        self.witnesses = 0  # of regions that the filter has proved but for them
        self.exact_witnesses: dict[int, Point] = {}

    @cached_property
    def exact(self) -> PatternRows:
        """Exact inequalities; most proofs need none."""
        return PatternRows(self.regions.network, self.regions.domain)

    @cached_property
    def prover(self) -> RegionProver:
        """Exact arithmetic, likewise."""
        regions = self.regions
        return RegionProver(
            self.exact, regions.packed.find, lambda line: str(regions.lines.boundary(line))
        )

    def run(self, facets: bool) -> None:
        """First what is cheap, then the filter, then exact arithmetic for what is left.

        With `facets` these are wanted, whatever they cost.
        """
        regions = self.regions
        self.failures += wrong_patterns(regions.packed, regions.network, self.workers)
        if regions.covers and not len(regions):
            self.failures.append("there are no regions, but a domain with interior has some")
        if self.failures:
            return
        if regions.covers and not facets and suits(regions):
            self.tree = prove_tree(regions, self.workers, self.show, self.ground)
        if self.tree is not None:
            inside = self.tree.inside
            self.filtered = self.filtered._replace(inside=inside, signs=self.tree.signs)
            self._prove_exactly(np.flatnonzero(~inside), closed=False)
            self._prove_claims()
            return
        self.filtered = filter_regions(regions, self.workers, self.show, self.ground)
        left = np.flatnonzero(~(self.filtered.proved & self.filtered.inside))
        self._prove_exactly(left, closed=regions.covers)

    def _prove_exactly(self, indices: NDArray[np.intp], closed: bool) -> None:
        if not indices.size:
            return
        regions, filtered, hints = self.regions, self.filtered, self.ground.facet_lines
        for index in each(indices.tolist(), " regions", self.show):
            check()
            hint = None if hints is None else hints[index].tolist()
            witness = regions.witnesses[index]
            pattern, proved = regions.packed[index], bool(filtered.proved[index])
            try:
                if proved:
                    facets = filtered.facets[index].tolist()
                    proof = self.prover.find_witness(pattern, witness, facets)
                else:
                    proof = self.prover.prove(pattern, witness, hint, closed)
            except ProofError as error:
                if self._failed(index, error):
                    return
                continue
            if proved:
                self.witnesses += 1
            else:
                self.proofs[index] = proof
            if proof.moved:
                self.exact_witnesses[index] = proof.witness

    def _prove_claims(self) -> None:
        """What the tree left in doubt."""
        assert self.tree is not None
        if self.failures:
            return
        regions = self.regions
        for at, claims in each(self.tree.doubts.items(), " cells", self.show):
            check()
            found = self.more_bases.setdefault(at, [])
            for region, line, path in claims:
                pattern = regions.packed[region]
                row = self.exact.of_lines(pattern, [line])
                if any(follow(self.exact.of_lines(pattern, basis), row)[0] for basis in found):
                    continue
                try:
                    witness = regions.witnesses[region]
                    found.append(self.prover.prove_claim(pattern, witness, line, path))
                except ProofError as error:
                    if self._failed(region, error):
                        return

    def _failed(self, index: int, error: ProofError) -> bool:
        """Note what is wrong with a region; whether that is enough."""
        self.failures.append(f"region {index} ({self.regions[index].text}): {error}")
        return len(self.failures) >= _MOST_FAILURES

    def volume(self, proofs: RegionProofs) -> Fraction | None:
        """The volume of the domain, if those of the regions add up to it."""
        from tropicell.certificate._volumes import volumes_add_up  # noqa: PLC0415 - seldom needed

        volume = volumes_add_up(self.regions, self.exact, proofs.facets, self.show)
        if volume is None:
            self.failures.append("the regions' volumes do not add up to that of the domain")
        return volume

    def counts(self) -> dict[str, int]:
        exact = len(self.proofs) + self.witnesses
        filtered = int((self.filtered.proved & self.filtered.inside).sum())
        if self.tree is not None:
            doubtful = {claim.region for claims in self.tree.doubts.values() for claim in claims}
            exact = len(doubtful | self.proofs.keys())
            filtered = len(self.regions) - exact
        return {
            "regions_by_filter": filtered,
            "regions_exact": exact,
            "signs_by_filter": self.filtered.signs,
            "signs_exact": self.prover.signs if "prover" in vars(self) else 0,
        }

    def columns(self) -> RegionProofs | TreeProofs:
        """All proofs as columns: those of the filter, with the exact ones in their places."""
        if self.tree is not None:
            return self.tree.with_bases(self.more_bases)
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
    counts, starts, parts, at = some.counts, some.ends - some.counts, list[NDArray[Any]](), 0
    left = np.flatnonzero(~chosen)
    counts[left] = others.counts
    for other, row in enumerate(left.tolist()):  # few, or exact arithmetic took far longer
        parts += [some.values[at : starts[row]], others[other]]
        at = int(some.ends[row])
    return Ragged.from_counts(np.concatenate([*parts, some.values[at:]]), counts)


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
