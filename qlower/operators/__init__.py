"""What operators are, stated once: dialects, front ends and lowerings read it."""
