"""Machines of 32 bits that compute one number at a time, without counting on a unit for
floats."""

from __future__ import annotations

from qlower.codegen.targets.base import Dot, DotKind, Dots, Target

SINGLES = Dot(DotKind.SINGLES, widens_beyond=0)

SCALAR = Target(
    triple="",
    cpu="",
    features="",
    vector_bits=32,
    vector_registers=13,
    dots=Dots.all(SINGLES),
    rounds_in_hardware=False,
    fuses=False,
    converts_in_hardware=False,
    orders_floats=False,
    prefers_integers=True,
    pointer_bytes=4,
    alignment=8,  # of 64-bit numbers
)
"""The start of other tables, which have names of their own."""
