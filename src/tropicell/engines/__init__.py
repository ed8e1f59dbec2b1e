"""Engines: ways to find all regions of a network."""
