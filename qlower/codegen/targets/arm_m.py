"""Thumb of microcontrollers: ARMv7E-M (Cortex-M4 and M7), ARMv8-M with the same DSP
instructions (Cortex-M33), and those without (Cortex-M0+, M3, M23), which multiply one
number at a time.

Objects for `thumbv7em-none-eabi` go into firmware with the soft-float ABI, whether its
compiler uses the unit for floats inside (softfp) or not; those for
`thumbv7em-none-eabihf` into firmware that passes floats in registers. Only pointers and
integers are passed to our code, but linkers refuse to mix the two.
"""

from __future__ import annotations

from dataclasses import replace

from qlower.codegen.targets.architecture import Architecture, cpu_table, with_least
from qlower.codegen.targets.base import Halves, Target
from qlower.codegen.targets.scalar import SCALAR
from qlower.codegen.targets.thumb_routines import (
    PAIRS_OF_ROWS,
    SINGLE_ROWS,
    small_window_routine,
    window_columns,
    window_routine,
)
from qlower.codegen.targets.triples import with_vendor

_CPUS = cpu_table({"": "generic", "vfp4d16sp": "cortex-m4", "fp-armv8d16": "cortex-m7"})
"""CPUs by their unit for floats, if they have one."""

_FEATURE_NAMES = """
    dsp execute-only fp-armv8d16 fp-armv8d16sp fp64 hwdiv long-calls no-movt reserve-r9
    soft-float strict-align thumb2 vfp4d16 vfp4d16sp
"""
_FEATURES = frozenset(_FEATURE_NAMES.split())
"""Extensions of ARMv7E-M and switches of its ABI."""

_IMPLIED = {
    "fp-armv8d16": "fp-armv8d16sp vfp4d16",
    "fp-armv8d16sp": "vfp4d16sp",
    "vfp4d16": "vfp4d16sp",
}


_TUNING = "-use-misched"
"""LLVM's scheduler of machine instructions moves loads ahead and spills sums."""

_HALVES = Halves(
    (SINGLE_ROWS, PAIRS_OF_ROWS),
    "llvm.arm.smlad",
    "llvm.arm.sxtb16",
    "llvm.arm.uxtb16",
    window_routine,
    window_columns,
    small_window_routine,
)


def _scalar(triple: str, cpu: str, features: str) -> Target:
    """The common part of all cores."""
    return replace(
        SCALAR,
        triple=with_vendor(triple),
        cpu=cpu,
        features=features,
        # no unit rounds at both widths, and LLVM calls libm for what one lacks
        has_roots=False,
        tuning=_TUNING,
        relocation="static",
    )


def _table(triple: str, cpu: str, features: str, present: frozenset[str]) -> Target:
    has_floats = "vfp4d16sp" in present and "soft-float" not in present
    return replace(
        _scalar(triple, cpu, features),
        prefers_integers=not has_floats,
        halves=replace(_HALVES, reads_anywhere="strict-align" not in present),
        to_nearest="llvm.arm.vcvtr.f32" if has_floats else None,
    )


ARM_M = Architecture(
    names=("thumbv7em",),
    cpus=_CPUS,
    features=_FEATURES,
    implied=_IMPLIED,
    required=frozenset(("dsp", "thumb2")),
    table=_table,
)

_LEAST = "+dsp"
"""An extension that ARMv8-M leaves to its cores."""


def _mainline_table(
    triple: str, cpu: str, features: str, present: frozenset[str]
) -> Target:
    return _table(triple, cpu, with_least(_LEAST, features), present)


ARM_V8M = Architecture(
    names=("thumbv8m.main",),
    cpus=cpu_table({"": "generic", "vfp4d16sp": "cortex-m33 cortex-m35p"}),
    features=_FEATURES,
    implied=_IMPLIED,
    required=frozenset(("dsp", "thumb2")),
    table=_mainline_table,
)


_PLAIN_FEATURES = frozenset(("execute-only", "long-calls", "strict-align"))


def _plain_table(
    triple: str, cpu: str, features: str, present: frozenset[str]
) -> Target:
    return replace(_scalar(triple, cpu, features), is_experimental=True)


def _plain(name: str, cpus: str) -> Architecture:
    """Cores without DSP instructions, which are experimental."""
    return Architecture(
        names=(name,),
        cpus=cpu_table({"": cpus}),
        features=_PLAIN_FEATURES,
        implied={},
        required=frozenset(),
        table=_plain_table,
    )


ARM_V6M = _plain("thumbv6m", "generic cortex-m0 cortex-m0plus cortex-m1")
ARM_V7M = _plain("thumbv7m", "generic cortex-m3")
ARM_V8M_BASE = _plain("thumbv8m.base", "generic cortex-m23")
