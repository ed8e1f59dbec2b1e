"""One self-contained HTML page to look at the regions of a network with two inputs.

`page`   the page, from its HTML, CSS and JavaScript
`data`   regions as bytes that the page reads

May import `plotting` and what is below it.
"""

from tropicell.explorer.page import Inline, explore, page

__all__ = ["Inline", "explore", "page"]
