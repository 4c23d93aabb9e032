"""Identify the arithmetic that made given outputs."""
