"""Damaged files, and what they do."""
