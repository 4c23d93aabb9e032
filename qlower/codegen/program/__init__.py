"""Whole programs: functions, entry points, levels of processors and threads."""
