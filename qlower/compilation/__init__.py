"""The compilation of a model: passes in order, levels, observers, bisection."""
