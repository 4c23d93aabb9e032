"""A contract and a pass for qlower, from outside of it."""
