"""Functions of one real number by ONNX Runtime's polynomials, with FMAs.

onnxruntime/core/mlas/lib: tanh.cpp, erf.cpp and compute.cpp have the numbers, the
kernels of x86_64 for FMA and AVX-512 the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects.arith import (
    AddiOp,
    BitcastOp,
    CmpfOp,
    DivfOp,
    MaximumfOp,
    MinimumfOp,
    MulfOp,
    SelectOp,
    ShLIOp,
    ShRSIOp,
    SubfOp,
    SubiOp,
)
from xdsl.dialects.builtin import f32, i32
from xdsl.dialects.math import AbsFOp, CopySignOp, FmaOp
from xdsl.ir import SSAValue

from qlower.dialects.fixed import ConvertOp, RoundingMode
from qlower.model.nests import Nest, scalar_constant

from ...import_options import AS_WRITTEN
from ..context import NodeContext
from ..entry import Entry
from .real import elementwise, number, real_operand

LARGEST_TANH = 9.0
TANH_NUMERATOR = (
    -2.76076847742355e-16,
    2.00018790482477e-13,
    -8.60467152213735e-11,
    5.12229709037114e-08,
    1.48572235717979e-05,
    6.37261928875436e-04,
    4.89352455891786e-03,
)
TANH_DENOMINATOR = (
    1.19825839466702e-06,
    1.18534705686654e-04,
    2.26843463243900e-03,
    4.89352518554385e-03,
)
"""Tanh is x times one polynomial of the square of x by another: their coefficients,
highest power first."""

LARGEST_ERF, SPLIT_ERF = 3.925, 0.921875
SMALL_ERF = (
    -5.99104969e-4,
    4.99339588e-3,
    -2.67667342e-2,
    1.12818025e-1,
    -3.76124859e-1,
    1.28379151e-1,
)
"""erf(x) = x + x p(x x) up to `SPLIT_ERF`."""
LARGE_ERF = (
    1.72948930e-5,
    -3.83208680e-4,
    3.88393435e-3,
    -2.42545605e-2,
    1.06777847e-1,
    6.34846687e-1,
    1.28717512e-1,
)
"""erf(x) = 1 - exp(-(x + x p(x))) above."""
EXP_OF_ERF = (
    1.38319808e-3,
    8.37550033e-3,
    4.16689515e-2,
    1.66664466e-1,
    4.99999851e-1,
    1.0,
    1.0,
)

LOWEST_EXP, HIGHEST_EXP = -103.9720840454, 100.0
"""Results are 0 or infinite beyond."""
LOG2_E, LN_2_HIGH, LN_2_LOW = 1.44269504088896341, -6.93145752e-1, -1.42860677e-6
EXP = (
    float.fromhex("0x1.694p-10"),
    float.fromhex("0x1.125edcp-7"),
    float.fromhex("0x1.555b5ap-5"),
    float.fromhex("0x1.55545p-3"),
    float.fromhex("0x1.fffff6p-2"),
    1.0,
    1.0,
)

TO_WHOLE = 1.5 * 2**23
"""Added and taken away again, it rounds to whole numbers."""

BIAS, MANTISSA_BITS = 127, 23


def tanh(nest: Nest, x: SSAValue) -> SSAValue:
    x = nest.add(MaximumfOp(x, number(nest, -LARGEST_TANH))).result
    x = nest.add(MinimumfOp(x, number(nest, LARGEST_TANH))).result
    square = nest.add(MulfOp(x, x)).result
    above = nest.add(MulfOp(polynomial(nest, TANH_NUMERATOR, square), x)).result
    below = polynomial(nest, TANH_DENOMINATOR, square)
    return nest.add(DivfOp(above, below)).result


def erf(nest: Nest, x: SSAValue) -> SSAValue:
    size = nest.add(AbsFOp(x)).result
    size = nest.add(MinimumfOp(size, number(nest, LARGEST_ERF))).result
    square = nest.add(MulfOp(size, size)).result
    small = polynomial(nest, SMALL_ERF, square)
    small = nest.add(FmaOp(small, size, size)).result
    large = polynomial(nest, LARGE_ERF, size)
    large = nest.add(FmaOp(large, size, size)).result
    below = nest.add(SubfOp(number(nest, 0.0), large)).result
    tail = _exponential(nest, below, EXP_OF_ERF)
    large = nest.add(SubfOp(number(nest, 1.0), tail)).result
    is_large = nest.add(CmpfOp(size, number(nest, SPLIT_ERF), "ogt")).result
    result = nest.add(SelectOp(is_large, large, small)).result
    return nest.add(CopySignOp(result, x)).result


def exponential(nest: Nest, x: SSAValue) -> SSAValue:
    x = nest.add(MaximumfOp(x, number(nest, LOWEST_EXP))).result
    x = nest.add(MinimumfOp(x, number(nest, HIGHEST_EXP))).result
    return _exponential(nest, x, EXP)


def _exponential(nest: Nest, x: SSAValue, factors: Sequence[float]) -> SSAValue:
    """2^m p(x - m ln(2)), m whole."""

    shifted = nest.add(FmaOp(x, number(nest, LOG2_E), number(nest, TO_WHOLE))).result
    power = nest.add(SubfOp(shifted, number(nest, TO_WHOLE))).result
    for part in (LN_2_HIGH, LN_2_LOW):
        x = nest.add(FmaOp(power, number(nest, part), x)).result
    result = polynomial(nest, factors, x)
    exponent = nest.add(ConvertOp(power, i32, RoundingMode.TOWARD_ZERO)).result
    return times_power_of_two(nest, result, exponent)


def times_power_of_two(nest: Nest, result: SSAValue, exponent: SSAValue) -> SSAValue:
    """`result 2^exponent` in two steps, of which the second may give a denormal."""

    def whole(value: int) -> SSAValue:
        return nest.add(scalar_constant(value, i32)).result

    half = nest.add(ShRSIOp(exponent, whole(1))).result
    for part in (half, nest.add(SubiOp(exponent, half)).result):
        biased = nest.add(AddiOp(part, whole(BIAS))).result
        bits = nest.add(ShLIOp(biased, whole(MANTISSA_BITS))).result
        scale = nest.add(BitcastOp(bits, f32)).result
        result = nest.add(MulfOp(result, scale)).result
    return result


def polynomial(nest: Nest, factors: Sequence[float], x: SSAValue) -> SSAValue:
    """A chain of FMAs, from the highest power on."""
    first, *rest = (number(nest, factor) for factor in factors)
    for factor in rest:
        first = nest.add(FmaOp(first, x, factor)).result
    return first


def _import(node: NodeContext, function: Callable[[Nest, SSAValue], SSAValue]) -> None:
    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        return function(nest, elements[0])

    node.define(elementwise(node, [real_operand(node, 0)], body))


def import_erf(node: NodeContext) -> None:
    """Not as a part of what ONNX Runtime fuses to one operator (gelu_fusion.cc)."""
    source = node.graph.producer(node.name(0))
    users = [user.kind for user in node.graph.users(node.result())]
    is_fused = source is not None and source.kind == "Div" and users == ["Add"]
    if is_fused and node.importer.qdq != AS_WRITTEN:
        raise node.error(
            "ONNX Runtime may make a Gelu of it, which rounds in another order",
            help="--qdq as-written reads the model so, or quantize what it gives",
        )
    _import(node, erf)


IMPORTERS = {
    ("", "Erf"): Entry(import_erf, (1, 1)),
    ("", "Exp"): Entry(partial(_import, function=exponential), (1, 1)),
    ("", "Tanh"): Entry(partial(_import, function=tanh), (1, 1)),
}
