"""Rewrites `fixed` into `arith` and `math`, exactly, for every operand.

Attributes of our dialects go, too: what is left is upstream MLIR.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.context import Context
from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BFloat16Type,
    DictionaryAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerType,
    ModuleOp,
    f32,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.utils.hints import isa

from qlower.diagnostics import QlowerError
from qlower.dialects.fixed import (
    ConvertOp,
    PairDotOp,
    RoundingMode,
    SaturateOp,
    ShiftRightOp,
)
from qlower.dialects.types import integer_range
from qlower.transforms.expand_scans import expand_scans
from qlower.transforms.operations import Operations

OUR_DIALECTS = frozenset(("contract", "fixed", "kernel", "qlower", "qnn", "quant"))
"""The names before the dot of attributes that upstream's tools don't know."""


class Expansion(Operations):
    """The expansion of an operation."""

    def real(self, value: float, type: AnyFloat) -> SSAValue:
        """Append a constant."""
        return self.add(arith.ConstantOp(FloatAttr(value, type)))

    def select(self, condition: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """Append a choice."""
        return self.add(arith.SelectOp(condition, yes, no))

    def compare(self, left: SSAValue, predicate: str, right: SSAValue) -> SSAValue:
        """Append a comparison of integers or floats."""
        op = arith.CmpiOp if isinstance(left.type, IntegerType) else arith.CmpfOp
        return self.add(op(left, right, predicate))

    def replace(
        self, op: Operation, result: SSAValue, rewriter: PatternRewriter
    ) -> None:
        """Put the operations in the place of `op`; one of them gives `result`."""
        for new in self.ops:
            new.location = op.location
        rewriter.insert(self.ops)
        rewriter.replace(op, [], [result])


def scalar_integer(op: Operation, type: Attribute) -> IntegerType:
    """The type of a scalar integer; vectors and tensors are not expanded."""
    if not isa(type, IntegerType):
        raise QlowerError(f"{op.name} on {type} cannot be expanded", op.location)
    return type


class ExpandShiftRight(RewritePattern):
    """
    `floor(x / 2^n)` plus 1 where the bits that were shifted out say so.

    Only sums that fit are formed: nothing is added to x but to a negative one.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ShiftRightOp, rewriter: PatternRewriter, /):
        type = scalar_integer(op, op.result.type)
        if type.bitwidth == 1:
            # The only shift of one bit is by 0.
            rewriter.replace(op, [], [op.operand])
            return
        e = Expansion()
        x, amount, mode = op.operand, op.amount, op.rounding.data
        result: SSAValue
        if mode == RoundingMode.FLOOR:
            result = e.add(arith.ShRSIOp(x, amount))
        elif mode == RoundingMode.TOWARD_ZERO:
            mask = dropped_bits(e, amount, type)
            sign = e.add(arith.ShRSIOp(x, e.integer(type.bitwidth - 1, type)))
            offset = e.add(arith.AndIOp(sign, mask))
            result = e.add(arith.ShRSIOp(e.add(arith.AddiOp(x, offset)), amount))
        else:
            floor = e.add(arith.ShRSIOp(x, amount))
            mask = dropped_bits(e, amount, type)
            remainder = e.add(arith.AndIOp(x, mask))
            limit = largest_rounded_down(e, mode, x, floor, mask, type)
            up = e.compare(remainder, "ugt", limit)
            carry = e.add(arith.ExtUIOp(up, type))
            result = e.add(arith.AddiOp(floor, carry))
        e.replace(op, result, rewriter)


def dropped_bits(e: Expansion, amount: SSAValue, type: IntegerType) -> SSAValue:
    """A mask of the low `amount` bits; `amount` is below the width."""
    one = e.integer(1, type)
    return e.add(arith.SubiOp(e.add(arith.ShLIOp(one, amount)), one))


def largest_rounded_down(
    e: Expansion,
    mode: RoundingMode,
    x: SSAValue,
    floor: SSAValue,
    mask: SSAValue,
    type: IntegerType,
) -> SSAValue:
    """
    The largest remainder that does not round up: 0 for ceil, else what is just below
    one half, `mask >> 1`, plus 1 where a tie goes down. A shift by 0 leaves remainder
    0, which is above no limit.
    """
    if mode == RoundingMode.CEIL:
        return e.integer(0, type)
    one = e.integer(1, type)
    below_half = e.add(arith.ShRUIOp(mask, one))
    if mode == RoundingMode.HALF_UP:
        return below_half
    if mode == RoundingMode.HALF_DOWN:
        return e.add(arith.AddiOp(below_half, one))
    if mode == RoundingMode.HALF_EVEN:
        odd = e.add(arith.AndIOp(floor, one))
        return e.add(arith.AddiOp(below_half, e.add(arith.XOrIOp(odd, one))))
    negative = e.add(arith.ShRUIOp(x, e.integer(type.bitwidth - 1, type)))
    if mode == RoundingMode.HALF_AWAY:
        return e.add(arith.AddiOp(below_half, negative))
    return e.add(arith.AddiOp(below_half, e.add(arith.XOrIOp(negative, one))))


class ExpandConvert(RewritePattern):
    """Rounds as a float; converts what is in range, or picks a bound, or 0 for NaN."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvertOp, rewriter: PatternRewriter, /):
        integer = scalar_integer(op, op.result.type)
        e = Expansion()
        x = op.operand
        if isinstance(x.type, Float16Type | BFloat16Type):
            # Exact, and f16 does not hold the bounds of wide integers.
            x = e.add(arith.ExtFOp(x, f32))
        real = x.type
        if not isinstance(real, Float32Type | Float64Type):
            raise QlowerError(f"{op.name} on {real} cannot be expanded", op.location)
        rounded = round_float(e, op.rounding.data, x, real)
        low, high = integer_range(integer.bitwidth)
        # A power of two is exact in binary, unlike `high`.
        too_low = e.compare(rounded, "olt", e.real(float(low), real))
        end = e.real(-float(low), real)
        too_high = e.compare(rounded, "oge", end)
        high_or_nan = e.compare(rounded, "uge", end)
        outside = e.add(arith.OrIOp(too_low, high_or_nan))
        inside = e.select(outside, e.real(0.0, real), rounded)
        converted = e.add(arith.FPToSIOp(inside, integer))
        capped = e.select(too_high, e.integer(high, integer), converted)
        result = e.select(too_low, e.integer(low, integer), capped)
        e.replace(op, result, rewriter)


WHOLE_OPS = {
    RoundingMode.FLOOR: math.FloorOp,
    RoundingMode.CEIL: math.CeilOp,
    RoundingMode.TOWARD_ZERO: math.TruncOp,
    RoundingMode.HALF_EVEN: math.RoundEvenOp,
    RoundingMode.HALF_AWAY: math.RoundOp,
}
"""The modes that `math` has an op for."""

STEP_PREDICATES = {
    RoundingMode.HALF_UP: ("oge", "olt"),
    RoundingMode.HALF_DOWN: ("ogt", "ole"),
    RoundingMode.HALF_TOWARD_ZERO: ("ogt", "olt"),
}
"""The comparison of fractions to 1/2 to step up, and to -1/2 to step down."""


def round_float(
    e: Expansion, mode: RoundingMode, x: SSAValue, type: AnyFloat
) -> SSAValue:
    """
    x rounded to a whole float. `floor(x + 1/2)` would round twice (0.49999997); the
    fraction left by trunc is exact. It is NaN for an infinity, which so stays itself.
    """
    if mode in WHOLE_OPS:
        return e.add(WHOLE_OPS[mode](x))
    step_up, step_down = STEP_PREDICATES[mode]
    whole = e.add(math.TruncOp(x))
    fraction = e.add(arith.SubfOp(x, whole))
    one = e.real(1.0, type)
    up = e.compare(fraction, step_up, e.real(0.5, type))
    down = e.compare(fraction, step_down, e.real(-0.5, type))
    above = e.select(up, e.add(arith.AddfOp(whole, one)), whole)
    return e.select(down, e.add(arith.SubfOp(whole, one)), above)


class ExpandSaturate(RewritePattern):
    """Clamps in the wide type, which holds both bounds, and truncates."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SaturateOp, rewriter: PatternRewriter, /):
        wide = scalar_integer(op, op.operand.type)
        e = Expansion()
        low, high = op.bounds
        above_low = e.add(arith.MaxSIOp(op.operand, e.integer(low, wide)))
        clamped = e.add(arith.MinSIOp(above_low, e.integer(high, wide)))
        narrow = scalar_integer(op, op.result.type)
        e.replace(op, e.add(arith.TruncIOp(clamped, narrow)), rewriter)


class ExpandPairDot(RewritePattern):
    """Multiplies and adds in 32 bits, and saturates to 16."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PairDotOp, rewriter: PatternRewriter, /):
        narrow = scalar_integer(op, op.result.type)
        e = Expansion()

        def product(a: SSAValue, b: SSAValue) -> SSAValue:
            wide_a = e.add(arith.ExtUIOp(a, i32))
            wide_b = e.add(arith.ExtSIOp(b, i32))
            return e.add(arith.MuliOp(wide_a, wide_b))

        first, second = product(op.a0, op.b0), product(op.a1, op.b1)
        total = e.add(arith.AddiOp(first, second))
        low, high = integer_range(narrow.bitwidth)
        above_low = e.add(arith.MaxSIOp(total, e.integer(low, i32)))
        clamped = e.add(arith.MinSIOp(above_low, e.integer(high, i32)))
        e.replace(op, e.add(arith.TruncIOp(clamped, narrow)), rewriter)


def remove_attributes(op: Operation) -> None:
    """Remove our attributes from an operation and, of a function, its signature."""
    op.attributes = upstream_only(op.attributes)
    if isinstance(op, func.FuncOp):
        op.arg_attrs = without_ours(op.arg_attrs)
        op.res_attrs = without_ours(op.res_attrs)


def without_ours(
    entries: ArrayAttr[DictionaryAttr] | None,
) -> ArrayAttr[DictionaryAttr] | None:
    """The attributes of arguments or results; None if none of them are left."""
    if entries is None:
        return None
    kept = [DictionaryAttr(upstream_only(entry.data)) for entry in entries]
    return ArrayAttr(kept) if any(entry.data for entry in kept) else None


def upstream_only(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """All attributes but those of our dialects."""
    return {
        name: attribute
        for name, attribute in attributes.items()
        if name.partition(".")[0] not in OUR_DIALECTS
    }


class ExpandFixedPass(ModulePass):
    """Expands every `fixed` op, in every region, into upstream's arith and math, and
    every `kernel.scan` into its scf.

    Removes the attributes that `qnn`, `quant` and `kernel` put on operations, arguments
    and results: upstream's tools refuse those of dialects that they don't know.
    """

    name = "expand-fixed"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_scans(op)
        PatternRewriteWalker(
            GreedyRewritePatternApplier(
                [
                    ExpandShiftRight(),
                    ExpandConvert(),
                    ExpandSaturate(),
                    ExpandPairDot(),
                ]
            ),
            apply_recursively=False,
        ).rewrite_module(op)
        for inner in op.walk():
            remove_attributes(inner)
