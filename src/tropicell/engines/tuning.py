"""Numbers that decide how fast a search is, and how much memory it takes; never what it finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """How searches are cut into units, shared among threads, and looked at.

    A pair ``(stored, counted)`` is for searches that store regions, and for those that count them.

    Attributes
    ----------
    limits : tuple of int
        A unit of generation g ends after ``limits[g]`` regions, times the task's `grain`: first a
        few, so that all threads soon have something to do; then as many as take some milliseconds,
        so that handing them out costs little (for every unit a thread needs Python's lock for a
        while, for which all others wait). From the last of these generations on, a unit that
        probably has more ends after twice as many, one that has more than four times as many after
        four times as many: large units are taken first, so at the end there are small ones, and no
        thread has long to go.
    late, last_limit : int
        From generation `late` on the limit doubles with every fourth generation, up to
        ``last_limit * grain``: where there are so many, there is much to do, and units may take
        longer.
    few : float
        What is left of a unit becomes no more units than one for so many regions expected, times
        the `grain`.
    at_once : int
        In three dimensions or more, a cell of the last layer that is expected to have no more
        regions is not cut: they are stored all at once.
    small, medium : int
        A search that is expected to have no more regions, times the `grain`, begins with a later
        generation: it is done sooner than its parts could be handed out.
    plane_grain, cone_grain, halfspace_grain : pair of int
        The `grain` of the cells engine in the plane and elsewhere, and of the half-spaces engine: a
        unit with ``limits[-1] * grain`` regions takes some milliseconds.
    plane_width : int
        In the plane, time goes to the boundaries of a layer: in a network with layers of `width`
        neurons the grain is no more than ``plane_width / width``.
    focus_grain : int
        The grain where units have a focus (`tropicell.engines.cells.focus`), which takes as long as
        thousands of regions.
    narrowed : pair of int
        Inside of a cell fewer neurons are looked at (`tropicell.engines.cells._narrow`) if at least
        so many boundaries cross it, and so many neurons of later layers can change.
    price : int
        What is decided in exact arithmetic takes as long as so many regions, and counts like them.
    most_waiting : int
        Bytes of regions that may wait for those before them, or for the reader; then only the very
        first unit is worked on, so that memory stays bounded.
    front_every : int
        If regions wait, every so many-th unit is taken from the front of the order.
    few_open, many_open : int
        But not if no more than `few_open` units are open for each thread, as towards the end; and
        all are if there are more than `many_open`, so that they do not become more and more.
    look, first_look : float
        Seconds after which a thread that waits looks whether it is time to stop, and after which
        the calling thread first looks whether there is something to hand out: each time twice as
        long, since it takes the time of a thread that works.
    steps, wide_layer, visits : int
        A kernel of the cells engine comes back to look at the clock after so many steps, fewer if
        layers are wider than `wide_layer`; that of the half-spaces engine after so many nodes.
    seeds : int
        Cells from exact arithmetic that a kernel of the cells engine gets at once, at most.
    batch_regions, batch_bytes : int
        A buffer for regions has room for so many of them, and for so many bytes of patterns.
    joined, joined_parts : int
        Batches that a thread copies at a time when columns are joined, at least, and number of
        parts for all threads, at most.
    spare, spare_each : int
        Bytes that must be free when joined columns have their place: some, and some for each
        region.
    """

    limits: tuple[int, ...] = (2, 8, 128)
    late: int = 32
    last_limit: int = 2048
    few: float = 32.0
    at_once: int = 192
    small: int = 64
    medium: int = 4096
    plane_grain: tuple[int, int] = (8, 16)
    cone_grain: tuple[int, int] = (16, 16)
    halfspace_grain: tuple[int, int] = (18, 20)
    plane_width: int = 1024
    focus_grain: int = 512
    narrowed: tuple[int, int] = (2, 8)
    price: int = 50
    most_waiting: int = 256 * 2**20
    front_every: int = 4
    few_open: int = 4
    many_open: int = 32
    look: float = 0.05
    first_look: float = 0.002
    steps: int = 50_000
    wide_layer: int = 64
    visits: int = 50_000
    seeds: int = 64
    batch_regions: int = 2**14
    batch_bytes: int = 2**25
    joined: int = 8
    joined_parts: int = 64
    spare: int = 2**20
    spare_each: int = 64


#: What all searches go by; tests put another one here.
current = Tuning()
