"""What knows nothing of networks: compiling, threads, memory, budgets of time, files.

`jit`            the decorator of all kernels, and their cache on disk
`bundles`        tuples of arrays that kernels hand to each other by their place in memory
`threads`        the threads that all work is done in, and that never keep a program from ending
`parts`          work on many items, shared among threads
`memory`         the arrays that a worker needs, made at once
`interruption`   budgets of time, Ctrl-C and SIGTERM: one `Halt` that Python asks and kernels poll
`progress`       the progress bar
`npz`            arrays in files, and what archives from strangers may hold
`durable`        files that survive a power cut, folders with one writer
`checksums`      checksums of files and arrays, and streams that check what they read
`paths`          paths that users give, and errors that name them
`_hashing`       hash tables of patterns, as kernels
`arrays`         the types of arrays that signatures name
`plain`          values as JSON and as tables for notebooks, and names that were almost right
`old_names`      modules under the names that they had before

May import `tropicell.errors`, and no other room.
"""
