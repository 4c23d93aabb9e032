"""Circuits, and running them."""
