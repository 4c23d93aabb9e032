"""Thumb of microcontrollers with vectors: ARMv8.1-M with MVE (Cortex-M52, M55, M85).

Eight registers of 128 bits. The sum of all products of two vectors goes to a general
register, so that a sum of products needs no vector of its own. Loads widen lanes and
stores narrow them.
"""

from __future__ import annotations

from dataclasses import replace

from qlower.codegen.targets.architecture import Architecture, cpu_table, with_least
from qlower.codegen.targets.base import Dot, DotKind, Dots, FixedPoint, Target
from qlower.codegen.targets.scalar import SCALAR
from qlower.codegen.targets.triples import with_vendor

_CPUS = cpu_table({"": "generic", "fp-armv8d16": "cortex-m52 cortex-m55 cortex-m85"})
"""CPUs by their unit for floats, if they have one."""

_LEAST = "+mve"
"""Features of all code, in addition to the least that LLVM generates code for."""

_FEATURE_NAMES = """
    dsp execute-only fp-armv8d16 fp-armv8d16sp fp64 fullfp16 hwdiv lob long-calls mve
    mve.fp no-movt pacbti reserve-r9 soft-float strict-align thumb2
"""
_FEATURES = frozenset(_FEATURE_NAMES.split())
"""Extensions of ARMv8.1-M and switches of its ABI."""

_MVE = "llvm.arm.mve"
_SINGLES = Dot(DotKind.SINGLES, loads_bytes=True)
_FIXED_POINT = FixedPoint(
    multiply_high={"half_up": f"{_MVE}.vqrdmulh", "floor": f"{_MVE}.vqdmulh"},
    rounding_shift=f"{_MVE}.vshl.vector",
    shift_flags=(0, 1, 0),  # neither saturated nor unsigned, but rounded
    takes_halves=False,
    widest=32,
)


def _table(triple: str, cpu: str, features: str, present: frozenset[str]) -> Target:
    return replace(
        SCALAR,
        triple=with_vendor(triple),
        cpu=cpu,
        features=with_least(_LEAST, features),
        vector_bits=128,
        vector_registers=8,
        dots=Dots.all(_SINGLES),
        whole_dot=Dot(DotKind.WHOLE, f"{_MVE}.vmldava"),
        widens_in_memory=True,
        # no unit rounds at both widths, and LLVM calls libm for what one lacks
        has_roots=False,
        fixed_point=_FIXED_POINT,
        alignment=16,
        relocation="static",
    )


ARM_MVE = Architecture(
    names=("thumbv8.1m.main",),
    cpus=_CPUS,
    features=_FEATURES,
    implied={"mve.fp": "mve fullfp16 fp-armv8d16sp", "fp-armv8d16": "fp-armv8d16sp"},
    required=frozenset(("dsp", "mve", "thumb2")),
    table=_table,
)
