"""The front door and one search: budgets, engine, checkpoints, progress; many networks.

`enumeration` is the front door, `search` one search, `estimate` guesses, `many` counts thousands of
small networks, `checkpoint` and `folder` write down what was found, `cluster` uses Ray. May import
`engines` and what is below it.
"""
