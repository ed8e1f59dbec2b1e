"""What finds regions: `cells`, `halfspaces` and `gpu`, and the units of work that threads share.

`table` is the table of engines; `threads`, `units`, `open_units` and `packed` cut a search into
units and do them in threads, in one order. May import `paper`, `regions` and what is below them.
"""
