"""Whose arithmetic made given outputs."""
