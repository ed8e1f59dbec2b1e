"""A live page on which people train a small network and watch its exact regions.

`settings`   all that a run depends on, as one checked value
`data`       points in the plane to learn
`training`   trains a network, and the same one without skips beside it
`frames`     a network's regions as bytes for the page
`session`    what happens on one page: commands, training, recording
`keep`       films, pictures that move, scripts and notebooks
`server`     serves the page to this machine's browser, and nobody else

May import every room but `cli`.
"""

from tropicell.playground.server import Player, play

__all__ = ["Player", "play"]
