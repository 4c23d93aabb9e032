"""From a model to code: passes in order, levels, observers, bisection."""
