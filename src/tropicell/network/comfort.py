"""The one call of a network that looks upward, for the user's comfort: `Network.tropical`.

Imports go from higher rooms to lower ones; see `tropicell.regions.comfort`, which is the same for
regions. `import-linter` lets only these two modules do so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tropicell.network.network import Network
    from tropicell.paper.expansion import TropicalNetwork


def tropical(network: Network, layer: int | None, **options: Any) -> TropicalNetwork:
    """See `tropicell.paper.expansion.expand`."""
    from tropicell.paper import expansion  # noqa: PLC0415

    return expansion.expand(network, layer, **options)
