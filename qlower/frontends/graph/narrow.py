"""Real numbers of fewer bits than float32: float16, and floats of 8 and 4 bits.

In a module they are numbers of float32 that the narrow type has as well, rounded where
a node makes them. Inputs and outputs of 8 and 4 bits are codes in bytes; those of
float16 are float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, i8
from xdsl.ir import SSAValue

from qlower.dialects.quant import QuantizedType
from qlower.dialects.quant.ops import StorageCastOp
from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import call_function
from qlower.emit.tables import looked_up
from qlower.files.arrays import Array
from qlower.model.nests import Emitter, Nest, narrow

from ..scalars import Scalars
from .nodes import DEQUANTIZE, QUANTIZE, Graph, Node

LIBRARY = "_steps"
"""The functions of rounding and coding."""

HALF = "FLOAT16"

CODES = QuantizedType.per_tensor(8, False, 1.0)
"""Codes at the borders of a module."""

ALL_CODES = np.arange(1 << 8, dtype=np.uint8)


@dataclass(frozen=True)
class NarrowFloat:
    """A type of `bits` bits: ONNX's number of it, the bits of a float32's fraction that
    it lacks, the exponent of its smallest normal number, its largest number, the codes
    of infinity and of NaN (or what such become), and its name in `ml_dtypes`."""

    number: int
    bits: int
    dropped: int
    lowest: int
    most: float
    infinity: int
    nan: int
    dtype: str

    @property
    def has_signed_zero(self) -> bool:
        """Whether -0 isn't NaN's code."""
        return self.nan != 1 << self.bits - 1 or self.bits < 8

    def numbers(self, codes: Array) -> Array:
        """The numbers of codes, as float32."""
        import ml_dtypes

        held = codes % np.uint8(1 << self.bits) if self.bits < 8 else codes
        return held.view(getattr(ml_dtypes, self.dtype)).astype(np.float32)

    def rounded(self, emit: Emitter, value: SSAValue) -> SSAValue:
        """The nearest numbers of the type, ties to even: beyond the largest one
        infinity in float16, else that number."""
        beyond = np.inf if self.bits == 16 else self.most

        def step(nest: Nest, x: SSAValue) -> SSAValue:
            steps = Scalars(nest)
            floats = (2.0**self.lowest, 2.0 ** (self.lowest + self.dropped))
            given = (np.array(one, np.float32) for one in (*floats, self.most, beyond))
            dropped = np.array(self.dropped, np.int32)
            near = call_function(nest, LIBRARY, "narrowed", x, dropped, *given)
            if not self.has_signed_zero:
                return steps.add(near, steps.constant(0.0, f32))
            if self.bits < 8:
                none = steps.constant(-0.0, f32)
                return steps.select(steps.compare("ne", x, x), none, near)
            return near

        return _mapped(emit, value, step)

    def decoded(self, emit: Emitter, codes: SSAValue) -> SSAValue:
        """The numbers of codes, by a table."""
        plain = TensorType(i8, shape_of(codes))
        stored = emit.add(StorageCastOp(codes, plain)).result
        return looked_up(emit, stored, emit.constant(self.numbers(ALL_CODES), f32))

    def coded(self, emit: Emitter, value: SSAValue) -> SSAValue:
        """The codes of numbers that the type has."""
        integers = self.infinity, self.nan, 1 << self.bits - 1

        def step(nest: Nest, x: SSAValue) -> SSAValue:
            dropped, *codes = (np.array(n, np.int32) for n in (self.dropped, *integers))
            factor = np.array(2.0 ** (-126 - self.lowest), np.float32)
            code = call_function(
                nest, LIBRARY, "narrow_code", x, dropped, factor, *codes
            )
            return narrow(nest, code, i8, unsigned=True)

        codes = _mapped(emit, value, step)
        return emit.add(StorageCastOp(codes, TensorType(CODES, shape_of(codes)))).result


def _mapped(
    emit: Emitter, value: SSAValue, step: Callable[[Nest, SSAValue], SSAValue]
) -> SSAValue:
    nest = Nest(emit, shape_of(value))
    return nest.build([step(nest, nest.input(value, range(nest.parallel)))])[0]


NARROW: Mapping[str, NarrowFloat] = {
    HALF: NarrowFloat(10, 16, 13, -14, 65504.0, 0x7C00, 0x7E00, "float16"),
    "FLOAT8E4M3FN": NarrowFloat(17, 8, 20, -6, 448.0, 0x7F, 0x7F, "float8_e4m3fn"),
    "FLOAT8E4M3FNUZ": NarrowFloat(18, 8, 20, -7, 240.0, 0x80, 0x80, "float8_e4m3fnuz"),
    "FLOAT8E5M2": NarrowFloat(19, 8, 21, -14, 57344.0, 0x7C, 0x7F, "float8_e5m2"),
    "FLOAT8E5M2FNUZ": NarrowFloat(
        20, 8, 21, -15, 57344.0, 0x80, 0x80, "float8_e5m2fnuz"
    ),
    "FLOAT4E2M1": NarrowFloat(23, 4, 22, 0, 6.0, 0x07, 0x08, "float4_e2m1fn"),
}
"""By ONNX's names."""

CODED = tuple(name for name in NARROW if name != HALF)
"""Types whose inputs and outputs are codes."""

KEEPING = (
    *("Expand", "Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Transpose"),
    "Unsqueeze",
)
"""Operators that move numbers of any type."""

KNOWING = (QUANTIZE, DEQUANTIZE, "Cast", "QLinearMatMul", *KEEPING)
"""Operators that take operands of these types."""


def narrow_types(graph: Graph) -> dict[str, str]:
    """The names of such types by those of values."""
    types = {
        name: one.type
        for given in (graph.inputs, graph.constants)
        for name, one in given.items()
        if one.type in NARROW
    }
    for node in graph.ordered():
        type = _result_type(node, types)
        if type in NARROW:
            types |= dict.fromkeys(filter(None, node.outputs), type)
    return types


def _result_type(node: Node, types: Mapping[str, str]) -> str:
    """The type of a node's first result, if it is one of these."""
    operands = [types.get(name, "") for name in node.inputs]
    match node.kind:
        case "QuantizeLinear":
            named = operands[2] if len(operands) > 2 else ""
            return named or _named(node, "output_dtype")
        case "DequantizeLinear":
            return _named(node, "output_dtype") or operands[1]
        case "Cast":
            return _named(node, "to")
        case _ if node.kind.startswith("QLinear"):
            return ""
        case _:
            return next(filter(None, operands), "")


def _named(node: Node, attribute: str) -> str:
    return named(node.attributes.get(attribute))


def named(number: object) -> str:
    """The name of the type with ONNX's number, "" if it is none of these."""
    return next((name for name, one in NARROW.items() if one.number == number), "")
