"""The target of `--target`, `--cpu` and `--features`, from their names.

LLVM silently ignores a misspelled CPU or feature, so names are checked against what
LLVM 22 knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from qlower.codegen.llvm.binding import BINDING
from qlower.codegen.targets.aarch64 import AARCH64
from qlower.codegen.targets.architecture import Architecture
from qlower.codegen.targets.arm_a import ARM_A
from qlower.codegen.targets.arm_m import (
    ARM_M,
    ARM_V6M,
    ARM_V7M,
    ARM_V8M,
    ARM_V8M_BASE,
)
from qlower.codegen.targets.arm_mve import ARM_MVE
from qlower.codegen.targets.base import (
    ByteTables,
    Dot,
    DotKind,
    Extremes,
    FixedPoint,
    Halves,
    Packs,
    Target,
    TileRegisters,
)
from qlower.codegen.targets.c99 import C99
from qlower.codegen.targets.elsewhere import what_serves
from qlower.codegen.targets.processor import Processor
from qlower.codegen.targets.riscv import RISCV32, RISCV64
from qlower.codegen.targets.wasm import WASM32
from qlower.codegen.targets.x86 import X86
from qlower.diagnostics import QlowerError

__all__ = [
    "ARCHITECTURES",
    "ByteTables",
    "Dot",
    "DotKind",
    "Extremes",
    "FixedPoint",
    "Halves",
    "Packs",
    "Target",
    "TileRegisters",
    "architecture_of",
    "host_target",
    "levels_of",
    "processor_of",
    "resolve_levels",
    "resolve_target",
]

ARCHITECTURES = (
    *(X86, AARCH64, ARM_A, RISCV64, RISCV32),
    *(ARM_M, ARM_V8M, ARM_MVE, ARM_V7M, ARM_V6M, ARM_V8M_BASE),
    WASM32,
)
"""Architectures of machines: native code is made for them."""


@cache
def host_target() -> Target:
    """The machine we run on, with everything it has."""
    return resolve_target()


def resolve_target(
    target: str | None = None, cpu: str | None = None, features: str | None = None
) -> Target:
    """The target of a triple, a CPU and features that refine it.

    `target` is "host" (default) or a triple such as "aarch64-linux-gnu"; `cpu` a name
    LLVM knows, "cortex-a76" for example; `features` is a list such as
    "+dotprod,-i8mm". Only the host without a CPU gets the host's own features. Raises
    QlowerError for an unknown name.
    """
    host = BINDING.get_process_triple()
    triple = host if target in (None, "host") else str(target)
    architecture = architecture_of(triple)
    if cpu in (None, "host", "native"):
        same_machine = host.split("-")[0] in architecture.names
        if target in (None, "host") or (cpu is not None and same_machine):
            name = BINDING.get_host_cpu_name()
            present = BINDING.get_host_cpu_features()
            return architecture.this_machine(triple, name, present, features)
        if cpu is not None:
            raise QlowerError(
                f"--cpu {cpu} is this machine's, and can't be that of {triple!r}"
            )
        cpu = next(iter(architecture.cpus))
    return architecture.target(triple, str(cpu), features)


def saturates_pairs() -> bool:
    """Whether this machine is x86-64 without VNNI, where systems multiply bytes by
    `vpmaddubsw`, which saturates the sum of two products of uint8 and int8."""
    if architecture_of(BINDING.get_process_triple()) is not X86:
        return False
    present = BINDING.get_host_cpu_features()
    return not (present.get("avxvnni") or present.get("avx512vnni"))


def resolve_levels(
    target: str | None = None,
    cpu: str | Sequence[str] | None = None,
    features: str | None = None,
) -> dict[str, Target]:
    """The targets that one object is made for, by their names, the least first.

    `cpu` names several in a sequence, or in a string with commas: CPUs, each with
    additional features ("generic", "generic+dotprod"; "+dotprod" alone is the least
    CPU's). `features` refine every one of them. Raises QlowerError for an unknown name,
    for "host" among several, and for a level that would never run, because a later one
    needs no more.
    """
    names = cpu.split(",") if isinstance(cpu, str) else list(cpu or ())
    names = [name.strip() for name in names]
    if len(names) < 2 and not any("+" in name for name in names):
        only = resolve_target(target, names[0] if names else None, features)
        return {only.cpu: only}
    triple = BINDING.get_process_triple() if target in (None, "host") else str(target)
    architecture = architecture_of(triple)
    levels: dict[str, Target] = {}
    for name in names:
        if name in ("", "host", "native"):
            raise QlowerError(
                f"{name!r} can't be one of several CPUs",
                help="name each of them, from the least to the most",
            )
        base, *added = name.split("+")
        base = base or next(iter(architecture.cpus))
        refined = ",".join([*(f"+{feature}" for feature in added), features or ""])
        level = architecture.level(triple, base, refined)
        for earlier, other in levels.items():
            if level.needs <= other.needs:
                raise QlowerError(
                    f"the code for {earlier!r} would never run: the later {name!r} "
                    "needs nothing else, and the last that fits is chosen",
                    help="name each CPU once, from the least to the most",
                )
        levels["+".join([base, *added])] = level
    return levels


def levels_of(target: str | None = None) -> dict[str, Target]:
    """The levels of an architecture by their names, the least first.

    Of this machine, by default, those that it has, and "host" last: itself.
    """
    host = host_target()
    triple = host.triple if target in (None, "host") else str(target)
    architecture = architecture_of(triple)
    names = architecture.levels or (next(iter(architecture.cpus)),)
    levels: dict[str, Target] = {}
    for name in names:
        cpu, *added = name.split("+")
        features = ",".join(f"+{feature}" for feature in added)
        levels[name] = architecture.target(triple, cpu, features)
    if triple != host.triple:
        return levels
    if host.processor is None:  # nobody says what it has
        return {"host": host}
    here = {name: one for name, one in levels.items() if one.needs <= host.needs}
    return {**here, "host": host}


def processor_of(triple: str) -> Processor | None:
    """The way in which code for a triple asks for features; None without a system."""
    return architecture_of(triple).processor_on(triple)


def architecture_of(triple: str) -> Architecture:
    """The architecture of a triple; QlowerError if we make no code for it."""
    name = triple.split("-")[0]
    for architecture in (*ARCHITECTURES, C99):
        if name in architecture.names:
            return architecture
    supported = ", ".join(known.names[0] for known in ARCHITECTURES)
    raise QlowerError(
        f"no code is generated for architecture {name!r} of target {triple!r}, "
        f"supported are {supported}",
        notes=what_serves(name),
        help="`qlower targets` lists the triples, `--target host` is this machine, and"
        " `--emit c` without a target writes C source for the compiler of any other",
    )
