"""C source for compilers of any processor: integers up to 64 bits, and IEEE floats."""

from __future__ import annotations

from qlower.codegen.targets.architecture import Architecture, cpu_table
from qlower.codegen.targets.base import Dot, DotKind, Target

PORTABLE_C = "c99-none"
"""The triple: no processor, and no system."""


def _table(triple: str, cpu: str, features: str, present: frozenset[str]) -> Target:
    dot = Dot(DotKind.SINGLES, widens_beyond=0)
    return Target(
        triple=triple,
        cpu=cpu,
        features=features,
        vector_bits=32,
        vector_registers=13,
        signed_dot=dot,
        unsigned_dot=dot,
        word_dot=dot,
        rounds_in_hardware=False,
        fuses=False,
        converts_in_hardware=False,
        orders_floats=False,
        prefers_integers=True,
        pointer_bytes=4,
        alignment=8,  # of 64-bit numbers, wherever they have any
        is_source=True,
    )


C99 = Architecture(
    names=("c99",),
    cpus=cpu_table({"": "generic"}),
    features=frozenset(),
    implied={},
    required=frozenset(),
    table=_table,
)
