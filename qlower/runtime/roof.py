"""The limits of a core, and so the least time of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from qlower.codegen.program.compiled import Kernel


class Limit(NamedTuple):
    """The nanoseconds that a kernel needs at least, and for what."""

    nanoseconds: float
    bound: str


@dataclass(frozen=True)
class Roof:
    """`peak` is that of the dot products, in G multiply-accumulates a second, and
    `word_peak` that of activations of 16 bits; `bandwidths` in GB/s by the number of
    bytes that are read again and again. A vector has `lanes` of 32 bits."""

    peak: float
    bandwidths: Mapping[int, float]
    lanes: int
    word_peak: float

    def limit(self, kernel: Kernel) -> Limit:
        """Its products at the peak, or its bytes at the bandwidth of the level of the
        cache that they fit in, whichever take longer."""
        fitting = [size for size in self.bandwidths if size >= kernel.bytes]
        size = min(fitting) if fitting else max(self.bandwidths)
        peak = self.word_peak if kernel.takes_words else self.peak
        products = Limit(kernel.products / peak, "products")
        return max(products, Limit(kernel.bytes / self.bandwidths[size], "bytes"))
