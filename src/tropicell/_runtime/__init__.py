"""What knows nothing of networks: compiling, threads, memory, progress, signals, files.

`jit` and `compiling` compile kernels and keep them on disk; `threads` and `parts` share work among
threads; `memory` and `blueprint` are where workers keep their arrays; `progress` and `interruption`
are what a user in front of a terminal sees of it. May import `tropicell.errors`, and no other room.
"""
