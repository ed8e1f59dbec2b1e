"""stored."""
