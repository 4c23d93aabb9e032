"""C source for compilers of any processor: integers up to 64 bits, and IEEE floats."""

from __future__ import annotations

from qlower.codegen.targets.architecture import Architecture, cpu_table
from qlower.codegen.targets.base import Target
from qlower.codegen.targets.scalar import scalar_target

PORTABLE_C = "c99-none"
"""The triple: no processor, and no system."""


def _table(triple: str, cpu: str, features: str, present: frozenset[str]) -> Target:
    return scalar_target(
        triple,
        cpu,
        features,
        registers=13,
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
