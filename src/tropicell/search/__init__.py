"""The front door and one search: budgets, engine, checkpoints, progress; many networks.

`enumeration`   `enumerate_regions`, `count_regions`, `iter_regions`
`search`        one search: its options, engine, budgets and end
`checkpoint`    the state of a search on disk
`folder`        regions written to a folder while they are found
`unit_states`   units of work as files
`cluster`       units of work on a Ray cluster
`estimate`      about how many regions there are
`many`          `count_many`: thousands of small networks in one call

May import `engines` and what is below it.
"""
