"""Checks a certificate of linear regions: ``python -m tropicell.verify_certificate FILE``.

Needs NumPy and python-flint, and nothing of the package around it: copy it, read it, run it alone.
What it proves, and why: docs/certificate-proof.md. Exit: 0 complete, 3 not complete, 1 rejected.
"""

import hashlib
import json
import sys
import zipfile
from itertools import accumulate, count, pairwise
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

FLOAT, LONG, SIGNED = ["<f8"], ["<i8"], ["|i1", "<i2", "<i4", "<i8"]
FIELDS = {"format": str, "version": int, "fingerprint": str, "sources": list, "embedding": bool}
FIELDS |= {"bits": int, "complete": bool, "exact_witnesses": dict}
LAYOUT = '{{"format": "tropicell-certificate", "version": {},'


class RejectedError(Exception):
    """The file does not prove what it claims."""


def require(condition: Any, reason: str) -> None:
    """Reject the file unless a condition holds."""
    if not condition:
        raise RejectedError(reason)


def rationals(values: Any) -> list[fmpq]:
    """Floats as the rational numbers that they are; an error if one is not finite."""
    return [fmpq(*x.as_integer_ratio()) for x in np.ravel(values).tolist()]


class Checker:
    """A certificate, read in full before anything is computed, and the checks."""

    def read(self, path: str) -> None:  # all that is there, each in the one form that it can have
        self.place, self.digest = "file", hashlib.sha256(b"tropicell-network-1")
        self.arrays, self.known = dict[str, Any](), dict[int, Any]()
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            self.room = max(2**24, 32 * file.seek(0, 2))  # entries of matrices; bytes: 4 times that
            require(sum(i.file_size for i in archive.infolist()) <= 4 * self.room, "it is a bomb")
            for i in archive.infolist():
                with archive.open(i) as stream:
                    array, rest = np.lib.format.read_array(stream), stream.read(1)  # no pickles
                require(not rest and i.filename not in self.arrays, f"{i.filename}: not one array")
                self.arrays[i.filename] = array
        self.place, text = "header", str(self.arrays.pop("header.npy", None))
        self.header = json.loads(text)
        types = {name: type(value) for name, value in self.header.items()}
        require(types == FIELDS and json.dumps(self.header) == text, f"expected {FIELDS}, once")
        self.tree = text.startswith(LAYOUT.format(2))  # else it has the facets of all regions
        require(self.tree or text.startswith(LAYOUT.format(1)), "its layout")
        self._read_network(self.header["sources"])
        a, b = self._take("domain.A", FLOAT, -1, self.kept[-1]), self._take("domain.b", FLOAT, -1)
        self.domain = [[*rationals(-row), *rationals(c)] for row, c in zip(a, b, strict=True)]
        self.sides = [[row[k] for k in self.kept] for row in self.domain]
        if self.dimension < self.kept[-1]:  # all that read x: no column but of those kept matters
            reads = [row for _, terms, _ in self.layers if 0 in terms for row in terms[0].table()]
            whole = fmpq_mat([*reads, *(row[:-1] for row in self.domain), [0] * self.kept[-1]])
            some = fmpq_mat([[row[k] for k in self.kept[:-1]] for row in whole.table()])
            require(some.rank() == whole.rank(), "inputs: others matter as well")
        bits, bends = self.header["bits"], [len(t) for *_, x in self.layers for t, _, _ in x]
        words = self._take("words", ["<u8"], -1, max(1, -(-(used := bits * len(bends)) // 64)))
        codes, places = [int.from_bytes(x.tobytes(), "little") for x in words], range(len(bends))
        self.patterns = [tuple(n >> bits * k & 2**bits - 1 for k in places) for n in codes]
        fits = all(p <= n for x in self.patterns for p, n in zip(x, bends, strict=True))
        require(fits and 1 <= bits <= 8 and not any(n >> used for n in codes), "no such piece")
        require(len(set(self.patterns)) == len(codes) > 0, "no regions, or one twice")
        points = self._take("witnesses", FLOAT, len(codes), self.dimension)
        self.witnesses = {str(i): [*rationals(x), fmpq(1)] for i, x in enumerate(points)}
        for key, said in self.header["exact_witnesses"].items():  # numerators, then a denominator
            point = [int(x, 16) for x in said]
            fits = key in self.witnesses and len(point) == self.dimension + 1 and point[-1] > 0
            require(fits and [*map(hex, point)] == said, f"header: exact_witnesses {key}")
            self.witnesses[key] = [fmpq(x) for x in point]
        *self.first, end = accumulate(bends, initial=len(self.domain) + 1)
        self.bends, self.bases, self.counts = bends, list[Any](), list[int]()
        if self.header["complete"] and self.tree:
            self.counts = self._take("bases.counts", SIGNED, -1).tolist()[::-1]
            self.bases = self._take("bases", SIGNED, -1, self.dimension).tolist()[::-1]
        elif self.header["complete"]:
            self._read_proofs(range(1, end), range(len(codes)))
        require(not self.arrays, f"and then, not expected: {', '.join(self.arrays)}")

    def _take(self, name: str, kinds: list[str], *shape: int) -> Any:
        self.place, array = name, self.arrays.pop(f"{name}.npy", np.array("missing"))  # only once
        fits = array.dtype.str in kinds and array.reshape(shape).shape == array.shape  # -1: any
        require(fits, f"it is {array.dtype.str} {array.shape}, expected {kinds}, {shape}")
        self.digest.update(np.array([array.ndim, *array.shape], "<i8").tobytes() + array.tobytes())
        return array

    def _read_network(self, sources: list[int]) -> None:
        take, name = self._take, map("network.{}".format, count()).__next__
        depth, n = take(name(), LONG, 2).tolist()
        fits = len(sources) == depth + 1 > 0 and all(type(k) is int and k >= 0 for k in sources)
        require(fits and 1 <= n <= 10**4, "its sizes")
        start, widths, self.layers = None, [n], list[Any]()  # layer 0 as a map of x, offset last
        if self.header["embedding"]:
            start = np.column_stack([m := take(name(), FLOAT, -1, n), take(name(), FLOAT, len(m))])
            widths = [len(start)]
        for layer, terms in enumerate(sources):
            bias, matrices = rationals(take(name(), FLOAT, -1)), dict[int, Any]()
            widths.append(len(bias))
            for _ in range(terms):
                source, high, wide = take(name(), LONG, 3).tolist()
                self.room -= high * wide
                fits = max(matrices, default=-1) < source <= layer and self.room >= 0
                require(fits and [high, wide] == [len(bias), widths[source]], "it does not fit")
                places = np.ravel_multi_index(tuple(take(name(), LONG, 2, -1)), (high, wide))
                require((np.diff(places) > 0).all(), "entries are not in order, or one is twice")
                at = dict(zip(places.tolist(), rationals(take(name(), FLOAT, -1)), strict=True))
                matrices[source] = fmpq_mat(high, wide, [at.get(i, 0) for i in range(high * wide)])
            if layer < depth:  # the output is no part of the proof
                breaks = take(name(), FLOAT, len(bias), -1)  # filled up with infinity
                t = [rationals(row[row < np.inf]) for row in breaks]
                fits = (np.sort(breaks) == breaks).all() and all(len(x) == len(set(x)) for x in t)
                require(fits, "breakpoints do not increase")
                more = (FLOAT, len(bias), breaks.shape[1] + 1)
                s, c = ([*map(rationals, take(name(), *more))] for _ in "sc")
                self.layers.append((bias, matrices, [*zip(t, s, c, strict=True)]))
        require(self.digest.hexdigest() == self.header["fingerprint"], "the fingerprint is wrong")
        given = start is None and "inputs.npy" in self.arrays
        self.kept = [*(take("inputs", LONG, -1).tolist() if given else range(n)), n]
        fits = 2 <= len(self.kept) <= min(self.arrays["witnesses.npy"].size, self.room // n) + 1
        fits = fits and self.kept[0] >= 0 and all(a < b for a, b in pairwise(self.kept))
        require(fits, "inputs: there are no such ones")
        self.dimension, ones = len(self.kept) - 1, (i == k for i in range(n) for k in self.kept)
        entries = [*map(int, ones)] if start is None else rationals(start)
        self.start = fmpq_mat(widths[0], len(self.kept), entries)

    def _read_proofs(self, lines: range, regions: range) -> None:
        facets = self._take("facets", SIGNED, -1).tolist()
        require(all(line in lines for line in facets), "there is no such line")
        pairs = [*zip(facets, self._take("neighbours", SIGNED, len(facets)).tolist(), strict=True)]
        fits = all(b in regions if line > len(self.domain) else b == -1 for line, b in pairs)
        require(fits, "there is no such region")
        bases, parts = self._take("bases", SIGNED, -1, self.dimension).tolist(), []
        for name, values in (("facets", pairs), ("bases", bases)):
            ends = self._take(f"{name}.ends", LONG, len(regions) + 1).tolist()
            require(ends == sorted(ends) and ends[0] == 0 and ends[-1] == len(values), "no order")
            parts.append([values[a:b] for a, b in pairwise(ends)])
        self.proofs = [*zip(*parts, strict=True)]
        fits = all(-1 <= k < len(own) for own, some in self.proofs for basis in some for k in basis)
        require(fits, "bases: there is no such facet")

    def rows(self, pattern: tuple[int, ...]) -> dict[int, list[fmpq]]:
        """Inequalities (a, c), a·x + c >= 0, by line: the domain's from 1 on, then neurons'."""
        rows, columns, neuron = dict(enumerate(self.sides, 1)), [self.start], 0
        for index, (offsets, matrices, pieces) in enumerate(self.layers):
            before, after = pattern[:neuron], []
            if index not in self.known or self.known[index][0] != before:
                bias = fmpq_mat([[*[fmpq(0)] * self.dimension, b] for b in offsets])
                total = sum((m * columns[source] for source, m in matrices.items()), bias)
                self.known[index] = (before, total.table())
            for z, (t, s, c) in zip(self.known[index][1], pieces, strict=True):
                piece = pattern[neuron]
                for bend, sign in ((piece - 1, 1), (piece, -1)):
                    if 0 <= bend < len(t):
                        row = [sign * x for x in (*z[:-1], z[-1] - t[bend])]
                        right = any(row[:-1]) or row[-1] > 0 or (row[-1] == 0 and sign < 0)
                        require(right, "a constant neuron is not on its piece")
                        rows[self.first[neuron] + bend] = row
                offset = sum(((s[k] - s[k + 1]) * t[k] for k in range(piece)), c[0])  # no jumps
                after.append([*(s[piece] * x for x in z[:-1]), s[piece] * z[-1] + offset])
                neuron += 1
            columns.append(fmpq_mat(after))
        return rows

    def check_region(self, index: int) -> None:
        self.place, pattern = f"region {index}", self.patterns[index]
        every, point = self.rows(pattern), self.witnesses[str(index)]
        rows = {line: row for line, row in every.items() if any(row[:-1]) or row[-1] < 0}
        inside = all(sum(a * x for a, x in zip(r, point, strict=True)) > 0 for r in rows.values())
        require(inside, "the witness is not strictly inside")
        if not self.header["complete"] or self.tree:
            return
        facets, bases = self.proofs[index]
        for line, other in facets:
            require(line in rows, "a facet is not one of its inequalities")
            pairs = zip(self.first, pattern, self.patterns[other], strict=True)
            moved = [(n + min(p, q), abs(p - q)) for n, p, q in pairs if p != q and other >= 0]
            on = all(k == 1 and fmpq_mat([every[i], rows[line]]).rank() == 1 for i, k in moved)
            require(on and (moved or other == -1), "a neighbour is not behind its facet")
        left = [rows[line] for line in rows.keys() - dict(facets).keys()]
        while left and bases:
            left = self.rest(left, [rows[facets[k][0]] for k in bases.pop() if k >= 0])
        require(not left, "an inequality does not follow from the facets")

    def rest(self, left: list[list[fmpq]], basis: list[list[fmpq]]) -> list[list[fmpq]]:
        """Rows that are no combinations of a basis and a constant with factors >= 0."""
        unit = np.eye(self.dimension + 1, dtype=int).tolist()
        given = [*basis, unit[-1]]
        table = fmpq_mat([*given, *unit]).transpose().rref()[0].table()
        require(fmpq_mat(given).rank() == len(given), "a basis is linearly dependent")
        solve = fmpq_mat([row[len(given) :] for row in table]).transpose().numer_denom()[0]
        factors = (fmpq_mat(left).numer_denom()[0] * solve).table()  # their signs are enough
        done = [min(f[: len(given)]) >= 0 and not any(f[len(given) :]) for f in factors]
        return [row for row, is_done in zip(left, done, strict=True) if not is_done]

    def check_tree(self) -> None:
        """Boundary by boundary, no region is on a side where the list has none."""
        self.place, order = "tree", sorted(self.patterns)
        ends = [*accumulate((len(pieces) for *_, pieces in self.layers), initial=0)]
        cells = [(0, len(order), 0, 0, dict(enumerate(self.sides, 1)))] if self.layers else []
        while cells:  # its patterns, the layer, the line that cuts it out, rows that hold in it
            begin, end, layer, line, path = cells.pop()
            rows, mine = self.rows(order[begin]), order[begin:end]
            claims, varying = dict[int, Any](), list[int]()
            path = path | ({line: rows[line]} if line else {})
            for n in range(ends[layer], ends[layer + 1]):
                if any(pattern[n] != mine[0][n] for pattern in mine):
                    varying.append(n)
                    continue
                bends = range(max(mine[0][n] - 1, 0), min(mine[0][n] + 1, self.bends[n]))
                lines = [self.first[n] + bend for bend in bends]
                claims |= {line: rows[line] for line in lines if line not in path}
            left = [row for row in claims.values() if any(row[:-1])]
            for _ in range(self.counts.pop() if claims else 0):
                basis = [path[line] for line in self.bases.pop() if line]
                left = self.rest(left, basis) if left else left
            require(not left, "an inequality does not follow from those of its cell")
            path |= claims
            if varying:  # cut by the first: its lowest piece comes first in the order
                n, low = varying[0], mine[0][varying[0]]
                middle = begin + sum(pattern[n] == low for pattern in mine)
                line = self.first[n] + low
                cells += [(middle, end, layer, line, path), (begin, middle, layer, line, path)]
            elif layer + 2 < len(ends):
                cells.append((begin, end, layer + 1, 0, path))
        require(not self.bases and not self.counts, "there are bases of no cell")


def verify(path: str) -> dict[str, Any]:
    """Check a certificate: what it proves (the domain as rows -A, b), or `RejectedError`."""
    checker = Checker()
    try:
        checker.read(path)
        for index in range(len(checker.patterns)):
            checker.check_region(index)
        if checker.tree and checker.header["complete"]:
            checker.check_tree()
    except Exception as error:  # whatever goes wrong, nothing is proved
        raise RejectedError(f"{checker.place}: {error}") from error
    said = {name: checker.header[name] for name in ("complete", "fingerprint")}
    return {"regions": len(checker.patterns), "domain": checker.domain, **said}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("usage: python -m tropicell.verify_certificate proof.npz", file=sys.stderr)
        sys.exit(2)
    try:
        found = verify(sys.argv[1])
    except RejectedError as error:
        sys.exit(f"rejected: {error}")
    print("proved: complete" if found["complete"] else "proved, but not complete")
    print("\n".join(f"  {name}: {value}" for name, value in found.items()))
    sys.exit(0 if found["complete"] else 3)
