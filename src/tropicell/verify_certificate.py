"""Checks a certificate of linear regions: ``python -m tropicell.verify_certificate FILE``.

Needs NumPy and python-flint, and nothing of the package around it: copy it, read it, run it alone.
Claimed: a network of affine layers and continuous piecewise-linear activations, its float64 weights
taken as rationals, on the domain A x <= b. A pattern gives each neuron a linear piece. On a pattern
all pre-activations z are affine in x; its cell C is where each z is between the breakpoints of its
piece (where z is constant and equal to one, the lower piece counts). A region is a pattern whose
cell has interior points. The list has all regions of the domain, each once.

Why the checks prove it.
 1. Each pattern has a witness with all inequalities strict: an interior point of its cell.
 2. The patterns are different.
 3. Each cell C comes with some of its inequalities, its facets. All others are combinations of
    facets with factors >= 0, plus a constant >= 0 (Farkas). So C is what its facets leave,
    and every side of C lies in the hyperplane H of a facet.
 4. A facet is one of the domain, or has a neighbour C' in the list, whose pattern differs only in
    neurons that are, on all of H, at the breakpoint between their two pieces. Activations are
    continuous: layer by layer, all z of C and C' agree on H, so C and C' have the same points on H.
    The first neuron that differs has the same z on both, so C and C' are on different sides of H.
    C' is convex and has interior: behind each inner point of the side, it covers a neighbourhood.
 5. If the cells left out a part of the domain, a segment in general position from a witness to it
    would leave them at an inner point of a side of some C, inside the domain: but by 3 and 4 it
    goes on in some C'. So they cover the domain, and a region beside them would overlap one.
"""

import hashlib
import json
import sys
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat


class RejectedError(Exception):
    """The file does not prove what it claims."""


def require(condition: Any, reason: str) -> None:
    """Reject the file unless a condition holds."""
    if not condition:
        raise RejectedError(reason)


def rationals(values: Any) -> list[fmpq]:
    """Floats as the rational numbers that they are."""
    return [fmpq(*x.as_integer_ratio()) for x in np.ravel(values).tolist()]


def read_layer(take: Any, sources: int, *, output: bool) -> tuple[Any, Any, Any]:
    """Biases, matrices with their sources, and pieces of all neurons, from the file's arrays."""
    bias, terms, pieces = rationals(take()), [], []
    for _ in range(sources):
        (source, rows, columns), places, values = take().tolist(), take(), take()
        require(rows * columns <= 10**8, "a matrix is too large")
        matrix = np.zeros((rows, columns))
        matrix[tuple(places)] = values
        terms.append((source, fmpq_mat(rows, columns, rationals(matrix))))
    for breaks, slopes, intercepts in () if output else zip(take(), take(), take(), strict=True):
        t = rationals(breaks[np.isfinite(breaks)])
        require(t == sorted(set(t)), "breakpoints do not increase")
        s, c = rationals(slopes[: len(t) + 1]), rationals(intercepts[:1])
        for k, at in enumerate(t):  # the other intercepts follow: activations are continuous
            c.append(c[k] + (s[k] - s[k + 1]) * at)
        pieces.append((t, s, c))
    return bias, terms, pieces


def follow(basis: list[list[fmpq]], rows: list[list[fmpq]]) -> list[bool]:
    """Which rows are combinations of a basis and of a constant, with no factor below 0."""
    n, size = len(basis) + 1, len(rows[0])
    columns = [*basis, [fmpq(i == size - 1) for i in range(size)]]
    start = [[*(c[i] for c in columns), *(fmpq(i == k) for k in range(size))] for i in range(size)]
    table = fmpq_mat(start).rref()[0].table()
    unit = [[fmpq(i == k) for k in range(n)] for i in range(size)]
    require([row[:n] for row in table] == unit, "a basis is not linearly independent")
    solve = fmpq_mat([row[n:] for row in table]).transpose()  # rows times this: their factors
    factors = fmpq_mat(rows).numer_denom()[0] * solve.numer_denom()[0]  # signs are enough
    return [all(x >= 0 for x in f[:n]) and not any(f[n:]) for f in factors.table()]


class Checker:
    """A certificate's contents, and the checks."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            require(sum(i.file_size for i in file.zip.infolist()) < 2**34, "it is too large")
            self.arrays = dict(file)
        self.header = json.loads(str(self.arrays["header"]))
        layout = (self.header["format"], self.header["version"])
        require(layout == ("tropicell-certificate", 1), f"can't read files with layout {layout}")
        self._read_network()
        pairs = zip(self.arrays["domain.A"], self.arrays["domain.b"], strict=True)
        self.domain = [[*rationals(-a), *rationals(b)] for a, b in pairs]
        bits, words = int(self.header["bits"]), self.arrays["words"].astype("<u8")
        planes = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
        neurons = sum(len(pieces) for _, _, pieces in self.layers)
        planes = planes[:, : neurons * bits].reshape(len(words), neurons, bits)
        self.patterns = (planes.astype(np.int64) << np.arange(bits)).sum(axis=2).tolist()
        self._known: dict[int, Any] = {}  # by layer: the last pattern before it, and what came out

    def _read_network(self) -> None:
        """The network, and its fingerprint: the SHA-256 of the arrays that it is made of."""
        parts = [array for key, array in self.arrays.items() if key.startswith("network.")]
        digest = hashlib.sha256(b"tropicell-network-1")
        for part in parts:
            digest.update(np.array([part.ndim, *part.shape], dtype="<i8").tobytes())
            digest.update(part.tobytes())
        require(digest.hexdigest() == self.header["fingerprint"], "the fingerprint is not right")
        take = iter(parts).__next__
        depth, self.dimension = take().tolist()
        require(self.dimension <= 10**4 and depth >= 0, "too many inputs")
        start = np.eye(self.dimension, self.dimension + 1)  # layer 0 as a map of x, offset last
        if self.header["embedding"]:
            start = np.column_stack([take(), take()])
        self.start = fmpq_mat(len(start), self.dimension + 1, rationals(start))
        self.layers = [read_layer(take, n, output=False) for n in self.header["sources"][:depth]]
        read_layer(take, self.header["sources"][depth], output=True)  # no part of the proof

    def rows(self, pattern: list[int]) -> tuple[dict[int, list[fmpq]], list[Any]]:
        """Inequalities (a, c), a·x + c >= 0, of a pattern by line; z and breakpoints by neuron.

        Lines are counted from 1: the domain's first, then all breakpoints, neuron by neuron.
        """
        rows = {i: r for i, r in enumerate(self.domain, 1) if any(r[:-1]) or r[-1] < 0}
        columns, before, line = [self.start], list[Any](), len(self.domain) + 1
        for index, (bias, terms, pieces) in enumerate(self.layers):
            prefix, after = pattern[: len(before)], []
            if index not in self._known or self._known[index][0] != prefix:
                total = fmpq_mat([[fmpq(0)] * self.dimension + [b] for b in bias])
                total = sum((matrix * columns[source] for source, matrix in terms), total)
                self._known[index] = (prefix, total.table())
            for z, (t, s, c) in zip(self._known[index][1], pieces, strict=True):
                piece = pattern[len(before)]
                for bend, sign in ((piece - 1, 1), (piece, -1)):
                    if 0 <= bend < len(t):
                        row = [*(sign * x for x in z[:-1]), sign * (z[-1] - t[bend])]
                        if any(row[:-1]):
                            rows[line + bend] = row
                        elif not (row[-1] > 0 or (row[-1] == 0 and sign < 0)):
                            raise RejectedError("a constant neuron is not on its piece")
                before.append((z, t))
                after.append([*(s[piece] * x for x in z[:-1]), s[piece] * z[-1] + c[piece]])
                line += len(t)
            columns.append(fmpq_mat(after))
        return rows, before

    def check_region(self, index: int) -> None:
        """Steps 1, 3 and 4 for one region."""
        pattern = self.patterns[index]
        rows, before = self.rows(pattern)
        point = [*rationals(self.arrays["witnesses"][index]), fmpq(1)]
        if (exact := self.header["exact_witnesses"].get(str(index))) is not None:
            point = [fmpq(int(x, 16)) for x in exact]  # numerators, and their denominator
        inside = all(sum(a * x for a, x in zip(r, point, strict=True)) > 0 for r in rows.values())
        require(inside and point[-1] > 0, "the witness is not strictly inside")
        if not self.header["complete"]:
            return
        part = {x: slice(*self.arrays[f"{x}.ends"][index : index + 2]) for x in ("facets", "bases")}
        facets = self.arrays["facets"][part["facets"]].tolist()
        for line, other in zip(facets, self.arrays["neighbours"][part["facets"]], strict=True):
            require(line in rows, "a facet is not one of its inequalities")
            if line > len(self.domain):
                facet, there = rows[line], self.patterns[other]
                require(other >= 0 and there != pattern, "a facet has no neighbour")
                for (z, t), p, q in zip(before, pattern, there, strict=True):
                    if p != q:  # z - t must be a multiple of the facet's row
                        bent = [*z[:-1], z[-1] - t[min(p, q)]]
                        on = abs(p - q) == 1 and fmpq_mat([bent, facet]).rank() == 1
                        require(on, "a neighbour is not behind its facet")
        left = [row for line, row in rows.items() if line not in facets]
        for basis in self.arrays["bases"][part["bases"]].tolist():
            if left:
                proved = follow([rows[facets[k]] for k in basis if k >= 0], left)
                left = [row for row, done in zip(left, proved, strict=True) if not done]
        require(not left, "an inequality does not follow from the facets")


def verify(path: str) -> dict[str, Any]:
    """Check a certificate: what it proves (the domain as rows -A, b), or `RejectedError`."""
    where = ""
    try:
        checker = Checker(path)
        count = len(checker.patterns)
        require(len(set(map(tuple, checker.patterns))) == count > 0, "no regions, or one twice")
        for index in range(count):
            where = f"region {index}: "
            checker.check_region(index)
    except Exception as error:  # whatever goes wrong, nothing is proved
        raise RejectedError(f"{where}{error or type(error).__name__}") from error
    said = {name: checker.header[name] for name in ("complete", "fingerprint")}
    return {"regions": count, "domain": checker.domain, **said}


if __name__ == "__main__":
    try:
        proved = verify(sys.argv[1])
    except RejectedError as error:
        sys.exit(f"rejected: {error}")
    print("\n".join(["proved", *(f"  {name}: {value}" for name, value in proved.items())]))
