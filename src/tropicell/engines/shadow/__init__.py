"""The shadow engine: regions in a box of many dimensions of which the network sees few.

All neurons together read m combinations of the inputs. The regions in a box around the box's
shadow, in m dimensions, are candidates; then it is decided which of them the box itself has. What
is proved: docs/shadow-proof.md.

`task`      a search, and the worker that does units of it
`_points`   whether the box has points in a candidate
"""
