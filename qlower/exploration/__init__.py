"""A family of arithmetics on a set of examples: what is won for how much area."""
