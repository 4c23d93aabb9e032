"""Levels of AArch64, which run under emulation."""

from __future__ import annotations

from functools import cache

from qlower.codegen.targets.resolve import Target, resolve_target

TRIPLE = "aarch64-linux-gnu"


@cache
def aarch64_levels() -> dict[str, Target]:
    """The feature levels of generic CPUs."""
    levels = {"baseline": None, "dotprod": "+dotprod", "i8mm": "+dotprod,+i8mm"}
    return {
        name: resolve_target(TRIPLE, "generic", features)
        for name, features in levels.items()
    }
