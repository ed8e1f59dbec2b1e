"""The paper, line by line: its recurrences for F, G and H, and its three algorithms.

`recurrences` has the network as a tropical rational map, `algorithm1` finds the region of a
pattern, `algorithm2` walks through all patterns in exact arithmetic (it is the oracle that all
engines are tested against), `algorithm3` predicts with a cache. May import `regions` and what is
below it.
"""
