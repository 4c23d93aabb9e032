"""The operations that a target makes cheap, as far as they matter to epilogues."""

from __future__ import annotations

from dataclasses import dataclass

from qlower.codegen.targets.resolve import Target


@dataclass(frozen=True)
class Machine:
    """The operations that a target makes cheap.

    Multiplications and additions are rounded once if `fused`: there is an instruction
    for that. Without `mended` no line may have exceptions: integers round fast. Where
    many bytes are looked up together, `tables` is what that costs (costs.py), else 0.
    With `long_products` a product of 32-bit integers is added to one of 64. Without
    `floats` these cost more than any integers.
    """

    fused: bool = True
    mended: bool = True
    tables: int = 0
    long_products: bool = False
    floats: bool = True

    @staticmethod
    def of(target: Target) -> Machine | None:
        """The operations that are cheap on the target; None if there are none."""
        long_products = target.halves is not None or target.is_source
        if target.prefers_integers and not long_products:
            return None
        tables = 0 if target.byte_tables is None else target.byte_tables.cost
        mended, floats = target.fixed_point is None, not target.prefers_integers
        return Machine(target.fuses, mended, tables, long_products, floats)
