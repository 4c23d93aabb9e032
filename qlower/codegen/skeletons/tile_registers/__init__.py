"""Contractions in tile registers (AMX)."""
