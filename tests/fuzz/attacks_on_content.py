"""Attacks on what a certificate says: networks, domains, patterns, witnesses, proofs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from fuzz.attacks_on_form import Said, place_of
from fuzz.certificates import PROOF, File, network_of


def domain(file: File, rng: random.Random) -> Said:
    """Another domain; perhaps the regions stay the same, perhaps not."""
    a, b = file.arrays["domain.A"].copy(), file.arrays["domain.b"].copy()
    way, reason = rng.randrange(8), None
    if way == 0:
        a, b = rng.choice((-1.0, 2.0, 0.5)) * a, rng.choice((-1.0, 2.0, 0.5)) * b
    elif way == 1 and len(b):
        b[rng.randrange(len(b))] += rng.choice((-1.0, 1.0, 1e-9, -1e-9, 100.0))
    elif way == 2 and a.size:
        a.flat[rng.randrange(a.size)] = rng.choice((0.0, -1.0, 1.0, 5e-324, 1e308))
    elif way == 3 and b.size:
        target = rng.choice((a, b))
        target.flat[rng.randrange(target.size)] = rng.choice((np.nan, np.inf, -np.inf))
        reason = r"^domain\.[Ab]: cannot convert"
    elif way == 4:  # a row that says nothing, or that the domain is empty
        a = np.concatenate([a, np.zeros((1, a.shape[1]))])
        b = np.append(b, rng.choice((0.0, 1.0, -1.0, -0.0, -5e-324)))
    elif way == 5 and len(b):
        return _drop_row(file, rng)
    elif way == 6:
        a, b = a * 0.0, b * 0.0
    else:
        b = -b
    file.arrays["domain.A"], file.arrays["domain.b"] = a, b
    return f"domain {way}", reason


def _drop_row(file: File, rng: random.Random) -> Said:
    """The domain without one of its rows, and the proofs without that line."""
    gone = rng.randrange(len(file.arrays["domain.b"]))
    for name in ("domain.A", "domain.b"):
        file.arrays[name] = np.delete(file.arrays[name], gone, axis=0)
    if file.proved:
        lines = file.arrays["facets"].astype(np.int64)
        _keep_facets(file, lines != gone + 1)
        lines = file.arrays["facets"].astype(np.int64)
        file.arrays["facets"] = lines - (lines > gone + 1)
    return "a row of the domain dropped", None


def _keep_facets(file: File, kept: Any) -> None:
    """Leave out some facets, and the bases that use them."""
    a = file.arrays
    if len(kept) != len(a["facets"]) or len(a["neighbours"]) != len(kept):
        return
    ends, base_ends = a["facets.ends"].tolist(), a["bases.ends"].tolist()
    counts, bases, base_counts = [], [], []
    for i in range(len(ends) - 1):
        mine = kept[ends[i] : ends[i + 1]]
        place = np.cumsum(mine) - 1
        counts.append(int(mine.sum()))
        own = []
        for basis in a["bases"][base_ends[i] : base_ends[i + 1]].tolist():
            if all(k < 0 or (k < len(mine) and mine[k]) for k in basis):
                own.append([-1 if k < 0 else int(place[k]) for k in basis])
        bases += own
        base_counts.append(len(own))
    a["facets"], a["neighbours"] = a["facets"][kept], a["neighbours"][kept]
    a["bases"] = np.array(bases, dtype=np.int64).reshape(-1, a["bases"].shape[1])
    a["facets.ends"] = np.append(0, np.cumsum(counts)).astype("<i8")
    a["bases.ends"] = np.append(0, np.cumsum(base_counts)).astype("<i8")


def collapsed(file: File, rng: random.Random) -> Said:
    """One region, all neurons on pieces below 0 once a shift has wrapped around."""
    if not file.proved:
        return None
    bits = rng.choice((1, 8, 16, 32, 63, 64, 65, 128, 256))
    neurons = _neurons(file)
    rows = len(file.arrays["domain.b"])
    size = file.arrays["witnesses"].shape[1]
    width = max(1, -(-neurons * bits // 64))
    fill = rng.choice((0, 2**64 - 1, 2**63, 1))
    file.header["bits"] = bits
    file.header["exact_witnesses"] = {}
    file.arrays["words"] = np.full((1, width), fill, dtype="<u8")
    file.arrays["witnesses"] = file.arrays["witnesses"][:1]
    lines = [i + 1 for i in range(rows) if file.arrays["domain.A"][i].any()]
    file.arrays["facets"] = np.array(lines, dtype=np.int8)
    file.arrays["neighbours"] = np.full(len(lines), -1, dtype=np.int8)
    file.arrays["bases"] = np.empty((0, size), dtype=np.int8)
    file.arrays["facets.ends"] = np.array([0, len(lines)], dtype="<i8")
    file.arrays["bases.ends"] = np.array([0, 0], dtype="<i8")
    return f"one region with {bits} bits", "^words: no such piece" if bits > 8 else None


def _neurons(file: File) -> int:
    """Rows of the two-dimensional floats that come in threes, or of a network without layers 0."""
    flat = [file.arrays[name] for name in file.network]
    tables = [a for a in flat if a.ndim == 2 and a.dtype == "<f8"]
    skip = 1 if file.header.get("embedding") is True else 0
    return sum(len(a) for a in tables[skip::3])


def patterns(file: File, rng: random.Random) -> Said:
    """Bits of a pattern flipped: another piece, one that is not there, or a bit of no neuron."""
    words = file.arrays["words"].copy()
    if words.dtype != "<u8" or not words.size:
        return None
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.randrange(64) if rng.random() < 0.3 else rng.randrange(8)
        words.flat[rng.randrange(words.size)] ^= np.uint64(1 << place)
    file.arrays["words"] = words
    return "bits of patterns flipped", None


def one_region_less(file: File, rng: random.Random) -> Said:
    """A region left out, and what led to it leads elsewhere."""
    if not file.proved or file.regions < 2:
        return None
    gone = rng.randrange(file.regions)
    if not _drop_region(file, gone, rng.choice(("drop", "domain", "self", "other")), rng):
        return None
    if rng.random() < 0.5:
        _guess_bases(file, rng)
    return "one region less", None


def _guess_bases(file: File, rng: random.Random) -> None:
    """Bases of any facets, also fewer than there are inputs, and with one of them twice."""
    counts, size = np.diff(file.arrays["facets.ends"]).tolist(), file.arrays["bases"].shape[1]
    each = 6
    found = [[rng.randrange(-1, n) for _ in range(size)] for n in counts for _ in range(each)]
    file.arrays["bases"] = np.array(found, dtype=np.int64).reshape(-1, size)
    file.arrays["bases.ends"] = np.arange(0, each * len(counts) + 1, each).astype("<i8")


def guessed_bases(file: File, rng: random.Random) -> Said:
    if not file.proved:
        return None
    _guess_bases(file, rng)
    return "other bases", None


def flipped_neuron(file: File, rng: random.Random) -> Said:
    """One neuron on another piece in all regions; if it is constant, nothing else changes."""
    words, bits = file.arrays["words"], file.header["bits"]
    if words.dtype != "<u8" or type(bits) is not int or not 1 <= bits <= 8 or not _neurons(file):
        return None
    bit = rng.randrange(_neurons(file)) * bits + rng.randrange(bits)
    words = words.copy()
    words[:, bit // 64] ^= np.uint64(1 << bit % 64)
    file.arrays["words"] = words
    return "a neuron flipped everywhere", None


def _drop_region(file: File, gone: int, way: str, rng: random.Random) -> bool:
    a = file.arrays
    count = file.regions
    counts = np.diff(a["facets.ends"])
    if len(counts) != count or counts.sum() != len(a["neighbours"]) or len(counts) < 2:
        return False
    owner = np.repeat(np.arange(count), counts)
    behind = a["neighbours"].astype(np.int64)
    lost = behind == gone
    behind = np.where(behind > gone, behind - 1, behind)
    if way == "domain":
        behind[lost] = -1
    if way == "self":
        behind[lost] = owner[lost] - (owner[lost] > gone)
    if way == "other":
        behind[lost] = rng.randrange(count - 1)
    a["neighbours"] = behind
    if way == "drop":
        _keep_facets(file, ~lost | (owner == gone))
    _take_regions(file, [i for i in range(count) if i != gone], links=False)
    return True


def _take_regions(file: File, rows: list[int], *, links: bool = True) -> None:
    """Some regions, in some order, with their proofs; with `links` these follow them."""
    a = file.arrays
    number = {old: new for new, old in enumerate(rows)}
    a["words"], a["witnesses"] = a["words"][rows], a["witnesses"][rows]
    exact = file.header.get("exact_witnesses")
    if isinstance(exact, dict):
        file.header["exact_witnesses"] = {
            str(number[int(k)]): v for k, v in exact.items() if k.isdigit() and int(k) in number
        }
    if links:
        behind = a["neighbours"].tolist()
        a["neighbours"] = np.array([number.get(x, -1) for x in behind], dtype=np.int64)
    for name, others in (("facets", ("facets", "neighbours")), ("bases", ("bases",))):
        ends = a[f"{name}.ends"].tolist()
        every = range(len(a[name]))
        places = [list(every[ends[i] : ends[i + 1]]) for i in rows]
        for other in others:
            a[other] = a[other][[k for part in places for k in part]]
        a[f"{name}.ends"] = np.append(0, np.cumsum([len(p) for p in places])).astype("<i8")


def repeated_region(file: File, rng: random.Random) -> Said:
    if not file.proved:
        return None
    rows = [*range(file.regions), rng.randrange(file.regions)]
    _take_regions(file, rows, links=False)
    return "a region twice", "^words: no regions, or one twice"


def reordered(file: File, rng: random.Random) -> Said:
    """All regions in another order: still true, if the links follow."""
    if not file.proved:
        return None
    rows = list(range(file.regions))
    rng.shuffle(rows)
    _take_regions(file, rows, links=rng.random() < 0.5)
    return "regions in another order", None


def merged(file: File, rng: random.Random) -> Said:
    """Facets between regions left out, as if two were one."""
    if not file.proved:
        return None
    lines = file.arrays["facets"]
    if rng.random() < 0.5:
        kept = np.array([rng.random() < 0.7 for _ in lines], dtype=bool)
    else:
        line = rng.choice(lines.tolist() or [0])
        kept = lines != line
    _keep_facets(file, kept)
    return "facets left out", None


def links(file: File, rng: random.Random) -> Said:
    """Neighbours that are others, oneself, the domain's, or none."""
    if not file.proved or not len(file.arrays["neighbours"]):
        return None
    behind = file.arrays["neighbours"].astype(np.int64)
    at, count = rng.randrange(len(behind)), file.regions
    new = rng.choice((-1, -2, 0, count - 1, count, -count, rng.randrange(count), 2**40, -(2**63)))
    domain_line = file.arrays["facets"][at] <= len(file.arrays["domain.b"])
    same = behind[at] == new
    behind[at] = new
    file.arrays["neighbours"] = behind
    wrong = new != -1 if domain_line else not 0 <= new < count
    reason = "^neighbours: there is no such region" if wrong and not same else None
    return f"neighbour {new}", reason


def lines(file: File, rng: random.Random) -> Said:
    if not file.proved or not len(file.arrays["facets"]):
        return None
    facets = file.arrays["facets"].astype(np.int64)
    at = rng.randrange(len(facets))
    facets[at] = rng.choice((0, -1, 1, int(facets[at]) + 1, int(facets[at]) - 1, 99, 2**31, -128))
    file.arrays["facets"] = facets
    reason = "^facets: there is no such line" if not 1 <= facets[at] < 99 else None
    return f"line {facets[at]}", reason


def bases(file: File, rng: random.Random) -> Said:
    if not file.proved or not file.arrays["bases"].size:
        return None
    found = file.arrays["bases"].astype(np.int64)
    at = rng.randrange(found.size)
    new = rng.choice((-1, 0, 1, 2, -2, 99, -(2**62), rng.randrange(8)))
    found.flat[at] = new
    file.arrays["bases"] = found
    return f"basis {new}", "bases: there is no such facet" if new < -1 or new > 50 else None


def ends(file: File, rng: random.Random) -> Said:
    """Parts of regions that begin or end elsewhere."""
    if not file.proved:
        return None
    name = rng.choice(PROOF[3:])
    found = file.arrays[name].copy()
    at = rng.randrange(len(found))
    new = rng.choice((-1, 0, 1, int(found[at]) + 1, int(found[at]) - 1, 10**6, -(2**63), 2**62))
    same = found[at] == new
    found[at] = new
    file.arrays[name] = found
    fine = same or (0 < at < len(found) - 1 and found[at - 1] <= new <= found[at + 1])
    return f"{name} {new}", None if fine else place_of(name) + "no order"


def witnesses(file: File, rng: random.Random) -> Said:
    points = file.arrays["witnesses"].copy()
    if points.dtype != "<f8" or not points.size:
        return None
    at = rng.randrange(points.size)
    way = rng.randrange(4)
    if way == 0:
        points.flat[at] = rng.choice((np.nan, np.inf, -np.inf))
        file.arrays["witnesses"] = points
        return "a witness that is none", "^witnesses: cannot convert"
    if way == 1:
        points = points[::-1].copy()
    elif way == 2:
        points.flat[at] += rng.choice((1.0, -1.0, 1e-3, 100.0, 2.0**-60))
    else:
        points[at // points.shape[1]] = 0.0
    file.arrays["witnesses"] = points
    return f"witnesses {way}", None


def exact_witnesses(file: File, rng: random.Random) -> Said:
    """Rational points: of other regions, or not written as they must be."""
    size = file.arrays["witnesses"].shape[1]
    point = [hex(rng.randrange(-3, 4)) for _ in range(size)] + [hex(rng.randrange(1, 5))]
    key = str(rng.randrange(file.regions or 1))
    wrong = (
        ("-0x0", 0), ("0X1", 0), ("0x01", 0), (" 0x1", 0), ("1", 0), ("0xF", 0), ("0x1_0", 0),
        ("+0x1", 0), (1, 0), (None, 0), ("0x0", -1), ("-0x1", -1), ("nan", 0), ("", -1),
    )  # fmt: skip
    reason = None
    way = rng.randrange(5)
    if way == 0:
        text, at = rng.choice(wrong)
        point[at] = text  # type: ignore[call-overload]
        reason = "exact_witnesses|int\\(\\)|invalid literal"
    elif way == 1:
        point = rng.choice((point[:-1], [*point, "0x1"], []))
        reason = "exact_witnesses|index"
    elif way == 2:
        key = rng.choice((f"0{key}", f" {key}", f"+{key}", "-1", str(file.regions), "x", "", "٠"))
        reason = "exact_witnesses"
    file.header["exact_witnesses"] = {**_dict(file.header.get("exact_witnesses")), key: point}
    return f"exact witness {key}: {point}", reason


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def numbers(file: File, rng: random.Random) -> Said:
    """One number somewhere in the network is another one."""
    names = [name for name in file.network if file.arrays[name].size]
    if not names:
        return None
    name = rng.choice(names)
    array = file.arrays[name].copy()
    if array.dtype.str not in ("<f8", "<i8"):
        return None
    at = rng.randrange(array.size)
    if array.dtype == "<f8":
        new: Any = rng.choice(
            (
                0.0,
                -0.0,
                1.0,
                -1.0,
                2.0,
                np.nan,
                np.inf,
                -np.inf,
                5e-324,
                1e308,
                0.1,
                -array.flat[at],
            )
        )
    else:
        old = int(array.flat[at])
        new = rng.choice((old + 1, old - 1, 0, -1, 1, 2, 2**40, -(2**63), 2**63 - 1))
        new = min(new, 2**63 - 1)
    array.flat[at] = new
    file.arrays[name] = array
    return f"{name} has {new}", None


def functions(file: File, rng: random.Random) -> Said:
    """Activations: their breakpoints, slopes and intercepts in rows."""
    names = [n for n in file.network if file.arrays[n].ndim == 2 and file.arrays[n].dtype == "<f8"]
    names = names[1:] if file.header.get("embedding") is True else names
    if len(names) < 3:
        return None
    first = rng.randrange(len(names) // 3) * 3
    t, s, c = (file.arrays[name].copy() for name in names[first : first + 3])
    way = rng.randrange(6)
    row = rng.randrange(len(t))
    if way == 0 and t.shape[1]:
        t[row] = t[row][::-1]
    elif way == 1 and t.shape[1]:
        t[row, rng.randrange(t.shape[1])] = rng.choice((np.inf, np.nan, -np.inf, 0.0, 1.0))
    elif way == 2:
        s[row, rng.randrange(s.shape[1])] = rng.choice((0.0, 1.0, -1.0, 0.5, np.nan))
    elif way == 3:
        c[row, rng.randrange(c.shape[1])] = rng.choice((0.0, 1.0, -1.0, np.inf))
    elif way == 4:  # padding
        t = np.column_stack([t, np.full(len(t), rng.choice((np.inf, 7.0, np.nan)))])
        s, c = np.column_stack([s, s[:, -1]]), np.column_stack([c, c[:, -1]])
    else:
        s[row] = 1.0
    for name, array in zip(names[first : first + 3], (t, s, c), strict=True):
        file.arrays[name] = array
    return f"activation {way}", None


def entries(file: File, rng: random.Random) -> Said:
    """Where the entries of a matrix are, and how many."""
    names = [n for n in file.network if file.arrays[n].ndim == 2 and file.arrays[n].dtype == "<i8"]
    names = [n for n in names if file.arrays[n].size]
    if not names:
        return None
    name = rng.choice(names)
    behind = f"network.{int(name.split('.')[1]) + 1}"
    at, values = file.arrays[name].copy(), file.arrays[behind].copy()
    if values.shape != at.shape[1:]:
        return None
    k, reason = rng.randrange(at.shape[1]), None
    way = rng.randrange(5)
    if way == 0:
        at[:, k] = at[:, rng.randrange(at.shape[1])]
    elif way == 1:
        at[rng.randrange(2), k] = rng.choice((-1, 99, -(2**63), 2**62))
        reason = place_of(name) + "invalid entry"
    elif way == 2:
        order = list(range(at.shape[1]))
        rng.shuffle(order)
        at, values = at[:, order], values[order]
    elif way == 3:
        at, values = np.delete(at, k, axis=1), np.delete(values, k)
    else:
        at, values = np.insert(at, k, at[:, k], axis=1), np.insert(values, k, 1.0)
        reason = place_of(name) + "entries are not in order"
    file.arrays[name], file.arrays[behind] = at, values
    return f"entries of a matrix {way}", reason


# --- trees ----------------------------------------------------------------------------------------


def a_leaf_less(file: File, rng: random.Random) -> Said:
    """A region is left out of a tree, with other bases, or none."""
    if not file.tree or file.regions < 2:
        return None
    gone = rng.randrange(file.regions)
    for name in ("words", "witnesses"):
        file.arrays[name] = np.delete(file.arrays[name], gone, axis=0)
    file.header["exact_witnesses"] = {}
    way = rng.choice(("the same bases", "no bases", "any bases"))
    cells = max(0, len(file.arrays["bases.counts"]) + rng.randint(-3, 1))
    size, last = file.arrays["bases"].shape[1], len(file.arrays["domain.b"]) + 8
    if way == "no bases":
        file.arrays["bases.counts"] = np.zeros(cells, np.int8)
        file.arrays["bases"] = np.zeros((0, size), np.int8)
    elif way == "any bases":
        counts = [rng.randint(0, 2) for _ in range(cells)]
        lines = [[rng.randint(0, last) for _ in range(size)] for _ in range(sum(counts))]
        file.arrays["bases.counts"] = np.array(counts, np.int8)
        file.arrays["bases"] = np.array(lines, np.int8).reshape(-1, size)
    return f"region {gone} of a tree left out, {way}", None


def tree_bases(file: File, rng: random.Random) -> Said:
    """Another line in a basis of a tree."""
    if not file.tree or not file.arrays["bases"].size:
        return None
    found = file.arrays["bases"].astype(np.int64)
    at = rng.randrange(len(found)), rng.randrange(found.shape[1])
    found[at] = rng.choice((0, 1, -1, int(found[at]) + 1, int(found[at]) - 1, 99, -(2**63)))
    file.arrays["bases"] = found
    wrong = found[at] < 0 or found[at] == 99
    return f"line {found[at]} in a tree", "^tree" if wrong else None


def tree_counts(file: File, rng: random.Random) -> Said:
    """Another number of bases of a cell, or of cells."""
    if not file.tree or not len(file.arrays["bases.counts"]):
        return None
    counts = file.arrays["bases.counts"].astype(np.int64)
    at = rng.randrange(len(counts))
    if rng.random() < 0.5:
        counts[at] = rng.choice((0, 1, 2, -1, int(counts[at]) + 1, 2**62))
    else:
        counts = np.insert(counts, at, 0) if rng.random() < 0.5 else np.delete(counts, at)
    file.arrays["bases.counts"] = counts
    return "other counts in a tree", None


def cells_of_a_tree(file: File, rng: random.Random) -> Said:
    """Several regions left out, all that share a piece, as if a side of a boundary were empty."""
    bits = file.header["bits"]
    if not file.tree or type(bits) is not int or not 1 <= bits <= 8 or not _neurons(file):
        return None
    neuron = rng.randrange(_neurons(file))
    codes = [int.from_bytes(row.tobytes(), "little") for row in file.arrays["words"]]
    pieces = np.array([code >> neuron * bits & 2**bits - 1 for code in codes])
    kept = pieces != rng.choice(pieces.tolist())
    if not kept.any():
        return None
    for name in ("words", "witnesses"):
        file.arrays[name] = file.arrays[name][kept]
    file.header["exact_witnesses"] = {}
    _any_tree(file, rng)
    return f"a piece of neuron {neuron} left out of a tree", None


def _any_tree(file: File, rng: random.Random) -> None:
    """Bases of a tree: none, or of the first lines, in a number of cells that may be right."""
    size, rows = file.arrays["witnesses"].shape[1], len(file.arrays["domain.b"])
    counts = [rng.choice((0, 0, 0, 1, 2)) for _ in range(rng.randint(0, 2 * file.regions + 1))]
    last = rows + rng.choice((0, 1, 8))
    lines = [[rng.randint(0, last) for _ in range(size)] for _ in range(sum(counts))]
    file.arrays["bases.counts"] = np.array(counts, np.int8)
    file.arrays["bases"] = np.array(lines, np.int8).reshape(-1, size)


# --- inputs that are said to be enough ------------------------------------------------------------


def _size(file: File) -> int:
    """The number of inputs of the network."""
    size = int(file.arrays["network.0"][1])
    if not 1 <= size <= 100:
        raise ValueError("what an earlier change left")
    return size


def other_inputs(file: File, rng: random.Random) -> Said:
    """Others than those that the file names; none that there are, one twice, in another order."""
    if "inputs" not in file.arrays or not file.arrays["inputs"].size:
        return None
    kept, n = file.arrays["inputs"].copy(), _size(file)
    at = rng.randrange(len(kept))
    way = rng.randrange(6)
    if way == 0:
        kept[at] = rng.choice((-1, n, n + 1, 2**40, -(2**63), 2**63 - 1, -n - 1))
    elif way == 1:
        kept[at] = rng.randrange(n)
    elif way == 2:
        kept = kept[::-1].copy()
    elif way == 3:
        kept = np.array(sorted(rng.sample(range(n), len(kept))), "<i8")
    elif way == 4:
        kept = np.delete(kept, at)
        file.arrays["witnesses"] = np.delete(file.arrays["witnesses"], at, axis=1)
        if "bases" in file.arrays:
            file.arrays["bases"] = np.delete(file.arrays["bases"], at, axis=1)
    else:
        del file.arrays["inputs"]
        return "inputs no longer named", None
    file.arrays["inputs"] = kept
    return f"inputs {kept.tolist()}", "^inputs: " if way == 0 else None


#: Steps between these are positive for arithmetic that wraps around: 9, -2^63 + 5, -5, n.
_FAR = (9, -(2**63) + 5, -5)


def invented_inputs(file: File, rng: random.Random) -> Said:
    """Inputs named where none were: some, all, or some that increase only by wrapping around."""
    if "inputs" in file.arrays or file.header.get("embedding") is not False:
        return None
    n, size = _size(file), file.arrays["witnesses"].shape[1]
    way = rng.randrange(3)
    if way == 0:
        kept = sorted(rng.sample(range(n), rng.randint(1, n)))
    elif way == 1:
        kept = [*range(9, 9 + max(1, n - 1)), _FAR[1] - rng.randrange(9)]
    else:
        kept = [rng.choice((*_FAR, *range(n), 2**62, -(2**62))) for _ in range(max(size, 1))]
    _fewer(file, kept)
    return f"inputs {kept} invented", None


def one_input_at_most(file: File, rng: random.Random) -> Said:
    """One region, that of the network at 0, in inputs which nothing reads."""
    if file.header.get("embedding") is not False or not file.regions:
        return None
    n, bits = _size(file), file.header["bits"]
    network = network_of(file.arrays)
    pattern = network.patterns(np.zeros((1, n)))[0].tolist()
    code = sum(piece << bits * k for k, piece in enumerate(pattern))
    width = file.arrays["words"].shape[1]
    file.arrays["words"] = np.frombuffer(code.to_bytes(8 * width, "little"), "<u8")[None].copy()
    several = [*range(n + 3, n + 3 + max(1, n - 1)), n + 1 - 2**63]
    kept = rng.choice(([rng.randrange(n)], [n], [-1], several, several, [n + 9] * n))
    file.arrays["witnesses"] = np.zeros((1, n))
    _fewer(file, kept)
    file.header["version"], file.header["exact_witnesses"] = 2, {}
    file.header["complete"] = True
    for name in PROOF:
        file.arrays.pop(name, None)
    file.arrays["bases"] = np.zeros((0, len(kept)), np.int8)
    file.arrays["bases.counts"] = np.zeros(rng.choice((1, 1, 2, len(pattern))), np.int8)
    return f"one region, in inputs {kept}", None


def _fewer(file: File, kept: list[int]) -> None:
    """Name inputs, with points and bases of as many coordinates."""
    file.arrays["inputs"] = np.array(kept, "<i8")
    for name, fill in (("witnesses", 0.0), ("bases", -1 if file.proved else 0)):
        if name in file.arrays:
            old = file.arrays[name]
            new = np.full((len(old), len(kept)), fill, old.dtype)
            places = range(min(len(kept), old.shape[1]))
            for to, at in enumerate(kept):
                here = at if name == "witnesses" and at in range(old.shape[1]) else to
                if here in places or at in range(old.shape[1]):
                    new[:, to] = old[:, here]
            file.arrays[name] = new
