"""The time of every kernel, from clocks in the compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from qlower.codegen.program.compiled import Kernel
from qlower.runtime.bound import BoundCall

if TYPE_CHECKING:
    from qlower.tables.table import Table


@dataclass(frozen=True)
class KernelTime(Kernel):
    """The time of a nest or copy; reading the clock is part of it (some 20 ns)."""

    nanoseconds: float

    @property
    def giga_products_per_second(self) -> float:
        """Multiply-accumulates; 0 for what isn't a sum of products."""
        return self.products / max(self.nanoseconds, 1.0)


class Profile(tuple[KernelTime, ...]):
    """The times of all kernels in order; `pandas.DataFrame` takes it as it is."""

    __slots__ = ()

    @property
    def table(self) -> Table[KernelTime]:
        """The times for people."""
        from qlower.runtime.profile_table import profile_table

        return profile_table(self)

    def __str__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table.render("html")


def kernel_times(call: BoundCall, kernels: Sequence[Kernel], calls: int) -> Profile:
    """The median of each kernel's time, after one call that isn't counted."""
    call()
    taken: list[tuple[int, ...]] = []
    for _ in range(calls):
        call()
        taken.append(tuple(call.times[0].tolist()))
    medians = np.median(np.array(taken, np.float64), axis=0)
    return Profile(
        KernelTime(**asdict(kernel), nanoseconds=float(nanoseconds))
        for kernel, nanoseconds in zip(kernels, medians, strict=True)
    )
