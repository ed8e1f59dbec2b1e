"""What finds regions: `cells`, `halfspaces` and `gpu`, and the units that threads share.

`table` is the table of engines; `units` says what a task and a unit are, `scheduler` lets threads
do the units of a task, in one order, and `tuning` has the numbers that decide how fast that is.
May import `paper`, `regions` and what is below them.
"""
