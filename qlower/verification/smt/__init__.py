"""Claims that other solvers decide, as SMT-LIB 2."""
