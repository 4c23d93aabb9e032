"""The roof of a machine: what one core multiplies and reads, measured."""

from __future__ import annotations

from qlower.bench.bandwidth import measured_bandwidths
from qlower.bench.peak import measured_peak
from qlower.codegen.targets.resolve import Target
from qlower.runtime.roof import Roof


def measured_roof(target: Target) -> Roof:
    """Measured in less than a second, as long as nothing else runs."""
    lanes = target.vector_bits // 32
    peaks = {scalar: measured_peak(target, scalar) for scalar in ("i8", "i16")}
    return Roof(peaks["i8"], measured_bandwidths(target), lanes, peaks["i16"])
