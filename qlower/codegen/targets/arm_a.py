"""ARMv7-A with NEON under Linux with the hard-float ABI (Cortex-A7, and Cortex-A32 as
its 32-bit code): sixteen registers of 128 bits.

NEON takes subnormal float32 numbers for zeros whatever the program asks for, so that
vectors are of integers, and floats are computed one by one.
"""

from __future__ import annotations

from dataclasses import replace

from qlower.codegen.llvm.values import I32
from qlower.codegen.targets.architecture import Architecture, cpu_table, with_least
from qlower.codegen.targets.base import Dot, DotKind, Dots, FixedPoint, Target
from qlower.codegen.targets.float_control import FloatControl
from qlower.codegen.targets.scalar import SCALAR
from qlower.codegen.targets.triples import is_bare_metal, with_vendor
from qlower.diagnostics import QlowerError

_CPUS = cpu_table(
    {
        "": "generic cortex-a8 cortex-a9",
        "vfp4": "cortex-a5 cortex-a7 cortex-a12 cortex-a15 cortex-a17 cortex-a32 "
        "cortex-a35 cortex-a53 cortex-a55 cortex-a57 cortex-a72 cortex-a73",
    }
)
"""CPUs by whether a multiplication and an addition can be rounded once."""

_LEAST = "+neon"

_FEATURE_NAMES = """
    hwdiv hwdiv-arm neon no-movt reserve-r9 strict-align vfp4
"""
_FEATURES = frozenset(_FEATURE_NAMES.split())
"""Extensions of ARMv7-A that arithmetic can use, and switches of its ABI."""

_NEON = "llvm.arm.neon"
_FIXED_POINT = FixedPoint(
    multiply_high={"half_up": f"{_NEON}.vqrdmulh", "floor": f"{_NEON}.vqdmulh"},
    rounding_shift=f"{_NEON}.vrshifts",
    narrow=f"{_NEON}.vqmovns",
    narrow_unsigned=f"{_NEON}.vqmovnsu",
)
_SINGLES = Dot(DotKind.SINGLES, selects_lane=True, widens_beyond=0)

_FLOAT_CONTROL = FloatControl(
    I32,
    "llvm.arm.get.fpscr",
    "llvm.arm.set.fpscr",
    default=0,
    flags=0xF800009F,  # of comparisons, saturation, and exceptions
)

_TUNING = "-neonfp"
"""Some cores compute single floats by NEON for speed, if LLVM is left alone."""


def _table(triple: str, cpu: str, features: str, present: frozenset[str]) -> Target:
    if is_bare_metal(triple):
        raise QlowerError(
            f"no code is made for the system of target {triple!r}: of 32-bit Cortex-A "
            "Linux alone is supported",
            help="armv7-linux-gnueabihf",
        )
    return replace(
        SCALAR,
        triple=with_vendor(triple),
        cpu=cpu,
        features=with_least(_LEAST, features),
        vector_bits=128,
        vector_registers=16,
        dots=Dots.all(_SINGLES),
        fuses="vfp4" in present,
        takes_floats_apart=True,
        hides_loads=True,
        fixed_point=_FIXED_POINT,
        alignment=64,
        tuning=_TUNING,
        float_control=_FLOAT_CONTROL,
    )


ARM_A = Architecture(
    names=("armv7", "armv7a"),
    cpus=_CPUS,
    features=_FEATURES,
    implied={},
    required=frozenset(("neon",)),
    table=_table,
)
