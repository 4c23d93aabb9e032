"""Extras of code for this process: threads, and clocks around its nests."""

from __future__ import annotations

from dataclasses import dataclass

from qlower.diagnostics import QlowerError


@dataclass(frozen=True)
class Flavour:
    """The instruments and parts of code; its results are the same bits in any flavor.

    With `threads` > 1 large nests are shared among that many threads of an OpenMP
    runtime. With `is_profiled` the entry takes one more output pointer, to an i64 for
    each kernel, and stores there the nanoseconds that the kernel took.
    """

    threads: int = 1
    is_profiled: bool = False

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise QlowerError(f"a model can't run on {self.threads} threads")


PLAIN = Flavour()
"""One thread and no clocks: the code of packages."""
