"""Operators, stated once: dialects, front ends and lowerings read these statements."""
