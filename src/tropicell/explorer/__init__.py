"""One self-contained HTML page to look at the regions of a network with two inputs."""

from tropicell.explorer.page import Inline, explore, page

__all__ = ["Inline", "explore", "page"]
