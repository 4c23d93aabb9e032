"""Machines of 32 bits that compute one number at a time."""

from __future__ import annotations

from qlower.codegen.targets.base import Dot, DotKind, Halves, Target

SINGLES = Dot(DotKind.SINGLES, widens_beyond=0)


def scalar_target(
    triple: str,
    cpu: str,
    features: str,
    *,
    registers: int,
    alignment: int,
    has_roots: bool = True,
    prefers_integers: bool = True,
    halves: Halves | None = None,
    relocation: str = "pic",
    is_experimental: bool = False,
    is_source: bool = False,
) -> Target:
    """A machine with `registers` for integers, and a unit for floats that code cannot
    count on for more than sums and products, if there is one at all."""
    return Target(
        triple=triple,
        cpu=cpu,
        features=features,
        vector_bits=32,
        vector_registers=registers,
        signed_dot=SINGLES,
        unsigned_dot=SINGLES,
        word_dot=SINGLES,
        rounds_in_hardware=False,
        fuses=False,
        converts_in_hardware=False,
        orders_floats=False,
        has_roots=has_roots,
        prefers_integers=prefers_integers,
        pointer_bytes=4,
        alignment=alignment,
        halves=halves,
        relocation=relocation,
        is_experimental=is_experimental,
        is_source=is_source,
    )
