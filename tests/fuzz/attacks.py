"""Attacks on the checker of certificates: valid files, changed in structure.

Case i is always the same. A change may say for which reason the checker must refuse it; whether a
file that is accepted is true is for `fuzz.judge` to say.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from fuzz import attacks_on_content as content
from fuzz import attacks_on_form as form
from fuzz.certificates import File, Untrue, fresh, seeds

Change = Callable[[File, random.Random], form.Said]
#: In an order that stays: it is part of what the number of a case means.
CHANGES: tuple[Change, ...] = (
    form.types,
    form.reinterpreted,
    form.biases,
    form.forged,
    form.swapped_bytes,
    form.shapes,
    form.unsigned_domain,
    content.domain,
    form.header,
    form.incomplete,
    form.header_text,
    form.key_gone,
    content.collapsed,
    content.patterns,
    content.one_region_less,
    content.guessed_bases,
    content.flipped_neuron,
    content.repeated_region,
    content.reordered,
    content.merged,
    content.links,
    content.lines,
    content.bases,
    content.ends,
    content.witnesses,
    content.exact_witnesses,
    content.numbers,
    content.functions,
    content.entries,
    form.swapped,
    form.spliced,
    form.doubled,
    form.strangers,
    form.missing,
    form.tails,
    form.packing,
    content.a_leaf_less,
    content.tree_bases,
    content.tree_counts,
    content.cells_of_a_tree,
    content.other_inputs,
    content.invented_inputs,
    content.one_input_at_most,
    form.too_few_inputs,
)


@dataclass(frozen=True)
class Case:
    """A file, what was done to it, and why it must be refused if that is known."""

    seed: str
    changes: tuple[str, ...]
    reason: str | None
    content: bytes


def case(number: int, only: Change | None = None) -> Case:
    """The file of this number; with one change, of one kind, if that is given."""
    rng = random.Random(f"attack {number}")
    seed = rng.choice(list(seeds()))
    file = fresh(seed)
    changes = CHANGES if only is None else (only,)
    wanted = rng.choice((1, 1, 1, 2, 2, 3, 4)) if only is None else 1
    said: list[tuple[str, str | None]] = []
    for _ in range(40):
        if len(said) == wanted:
            break
        try:
            with warnings.catch_warnings():  # of numbers that do not fit
                warnings.simplefilter("ignore")
                done = rng.choice(changes)(file, rng)
        except (IndexError, ValueError, KeyError, TypeError, OverflowError, Untrue):
            done = ("half a change", None)  # of what an earlier one left in no fit state
        if done is not None:
            said.append(done)
    reason = said[0][1] if len(said) == 1 else None
    if rng.random() < 0.6 and not any("fingerprint" in text for text, _ in said):
        file.sign()
    return Case(seed, tuple(text for text, _ in said), reason, file.content())
