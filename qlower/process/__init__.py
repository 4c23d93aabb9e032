"""Settings of a Python process: imports, garbage, forks, floats."""
