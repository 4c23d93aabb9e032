"""C source for compilers of any processor: integers up to 64 bits, and IEEE floats."""

from __future__ import annotations

from dataclasses import replace

from qlower.codegen.targets.architecture import Architecture, cpu_table
from qlower.codegen.targets.base import Target
from qlower.codegen.targets.scalar import SCALAR

PORTABLE_C = "c99-none"
"""The triple: no processor, and no system."""


def _table(triple: str, cpu: str, features: str, present: frozenset[str]) -> Target:
    return replace(SCALAR, triple=triple, cpu=cpu, features=features, is_source=True)


C99 = Architecture(
    names=("c99",),
    cpus=cpu_table({"": "generic"}),
    features=frozenset(),
    implied={},
    required=frozenset(),
    table=_table,
)
