"""C source for compilers of any processor: integers up to 64 bits, and IEEE floats."""

from __future__ import annotations

from dataclasses import replace

from qlower.codegen.llvm.routine import RowsRoutine
from qlower.codegen.targets.architecture import Architecture, cpu_table
from qlower.codegen.targets.base import Halves, Target
from qlower.codegen.targets.scalar import SCALAR

PORTABLE_C = "c99-none"
"""The triple: no processor, and no system."""

_HALVES = Halves(
    rows=(
        RowsRoutine("sums_of_a_row", (), 0, rows=1, columns=4),
        RowsRoutine("sums_of_two_rows", (), 0, rows=2, columns=2),
    ),
    window_columns=lambda taps: 4,
)
"""C functions that sum products: compilers hold the sums of four in registers."""


def _table(triple: str, cpu: str, features: str, present: frozenset[str]) -> Target:
    return replace(
        SCALAR,
        triple=triple,
        cpu=cpu,
        features=features,
        halves=_HALVES,
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
