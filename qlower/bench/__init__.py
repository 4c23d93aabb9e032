"""Comparisons of qlower with other runtimes, interleaved in one process and one run."""
