"""The time of every kernel, from clocks in the compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qlower.codegen.program.work import Kernel
from qlower.runtime.bound import BoundCall

_NAME_WIDTH = 60
"""Characters of a layer's name; TFLite joins the names of all that it fused."""


@dataclass(frozen=True)
class KernelTime:
    """How long a nest or copy takes; reading the clock is part of it (some 20 ns)."""

    kernel: Kernel
    nanoseconds: float

    @property
    def giga_products_per_second(self) -> float:
        """Multiply-accumulates; 0 for what isn't a sum of products."""
        return self.kernel.products / max(self.nanoseconds, 1.0)


def kernel_times(
    call: BoundCall, kernels: Sequence[Kernel], calls: int
) -> tuple[KernelTime, ...]:
    """The median of each kernel's time, after one call that isn't counted."""
    call()
    taken: list[tuple[int, ...]] = []
    for _ in range(calls):
        call()
        taken.append(tuple(call.times[0].tolist()))
    medians = np.median(np.array(taken, np.float64), axis=0)
    return tuple(
        KernelTime(kernel, float(nanoseconds))
        for kernel, nanoseconds in zip(kernels, medians, strict=True)
    )


def profile_table(times: Sequence[KernelTime], peak: float | None = None) -> list[str]:
    """Lines with each kernel's time and share, products a second and bytes.

    `peak` is what the machine can do, in G products a second.
    """
    total = sum(time.nanoseconds for time in times)
    of_peak = f"{'of peak':>9}" if peak else ""
    lines = [f"{'us':>9}{'share':>8}{'GMAC/s':>9}{of_peak}{'KB':>9}  kernel"]
    for time in times:
        speed = time.giga_products_per_second
        counted = time.kernel.products > 0
        row = f"{time.nanoseconds / 1e3:9.2f}{time.nanoseconds / total:8.1%}"
        row += f"{speed:9.1f}" if counted else " " * 9
        if peak:
            row += f"{speed / peak:9.0%}" if counted else " " * 9
        row += f"{time.kernel.bytes / 1e3:9.1f}"
        layer = time.kernel.layer[:_NAME_WIDTH]
        lines.append(f"{row}  {time.kernel.family:<12}{layer}")
    return [*lines, f"{total / 1e3:9.2f}{1:8.1%}  all"]
