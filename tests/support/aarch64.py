"""AArch64 under emulation; instructions that unicorn lacks are replaced."""

from __future__ import annotations

from functools import cache

from qlower.codegen.targets.resolve import Target, resolve_target
from support.aarch64_image import relocate
from support.processor import Processor

TRIPLE = "aarch64-linux-gnu"


@cache
def aarch64_levels() -> dict[str, Target]:
    """The feature levels of generic CPUs."""
    levels = {"baseline": None, "dotprod": "+dotprod", "i8mm": "+dotprod,+i8mm"}
    return {
        name: resolve_target(TRIPLE, "generic", features)
        for name, features in levels.items()
    }


AARCH64 = Processor(
    architecture="ARM64",
    modes=("ARM",),
    cpu="ARM64_MAX",
    arguments=tuple(f"X{index}" for index in range(8)),
    link="LR",
    result="W0",
    pointer="Q",
    return_code=bytes.fromhex("c0035fd6"),
    registers={"CPACR_EL1": 3 << 20},  # floating point is switched on
    relocate=relocate,
)
