"""Modules as text: reading, checking and printing them."""
