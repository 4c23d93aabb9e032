"""Machines: one file an architecture."""
