"""Contractions in vector registers."""
