"""Modules as text: reading and checking them."""
