"""halfspaces."""
