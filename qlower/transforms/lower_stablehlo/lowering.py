"""The state of lowering one function of StableHLO, and steps that operations share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from qlower.dialects import fixed
from qlower.dialects.quant import QuantizedType
from qlower.dialects.stablehlo.base import quantization
from qlower.dialects.types import element_type
from qlower.interp.values import Array
from qlower.model.nests import Emitter, Index, Nest
from qlower.transforms.lower_qnn.lowering import storage_type
from qlower.transforms.stated_function import StatedFunction

Constants = dict[str, Array]


class Lowering(StatedFunction):
    """Lowers the operations of one function, in order, into one block.

    `emit` appends operations at the location of the operation at hand.
    """

    contract = "stablehlo"

    def __init__(self, function: func.FuncOp) -> None:
        super().__init__(function, storage_type)

    def begin(self, op: Operation) -> None:
        """Turn to the next operation."""
        self.emit = Emitter(self.block, op.location)

    def stored(
        self, nest: Nest, source: SSAValue, indices: Sequence[Index]
    ) -> SSAValue:
        """An element of a quantized tensor: its stored integer as i32."""
        type = quantization(source.type)
        assert type is not None
        scalar = nest.input(self.value(source), indices)
        if scalar.type == i32:
            return scalar
        extend = arith.ExtSIOp if type.signed else arith.ExtUIOp
        return nest.add(extend(scalar, i32)).result

    def real(self, nest: Nest, source: SSAValue, indices: Sequence[Index]) -> SSAValue:
        """An element as a real number, dequantized where it is quantized."""
        if quantization(source.type) is None:
            return nest.input(self.value(source), indices)
        stored = self.stored(nest, source, indices)
        return self.inline(
            nest, "dequantize", {"input": stored}, parameters("input", source.type)
        )

    def quantized(self, nest: Nest, real: SSAValue, type: Attribute) -> SSAValue:
        """A real number as an element of a tensor of this type."""
        if quantization(type) is None:
            return real
        code = self.inline(nest, "quantize", {"input": real}, result_parameters(type))
        return self.narrow(nest, code, type)

    def narrow(self, nest: Nest, code: SSAValue, type: Attribute) -> SSAValue:
        """An i32 that the storage can hold, as a stored integer."""
        element = element_type(type)
        assert isinstance(element, QuantizedType)
        if element.storage_type == i32:
            return code
        saturate = fixed.SaturateOp(
            code, element.storage_type, unsigned=not element.signed
        )
        return nest.add(saturate).result


def parameters(prefix: str, type: Attribute) -> Constants:
    """Scale and zero point of a quantized tensor: numbers, or along the last loops; the
    scale also as the float64 number that the type has."""
    element = element_type(type)
    assert isinstance(element, QuantizedType)
    assert isa(type, TensorType[Attribute])
    shape: tuple[int, ...] = ()
    if element.axis is not None:
        rest = type.get_num_dims() - element.axis - 1
        shape = (len(element.scales), *[1] * rest)
    return {
        f"{prefix}_scale": np.array(element.scales, np.float32).reshape(shape),
        f"wide_{prefix}_scale": np.array(element.data.scales).reshape(shape),
        f"{prefix}_zero_point": np.array(element.zero_points, np.int32).reshape(shape),
    }


def result_parameters(type: Attribute) -> Constants:
    """The parameters of a result, and the range of its storage."""
    element = element_type(type)
    assert isinstance(element, QuantizedType)
    return {
        **parameters("output", type),
        "output_min": np.array(element.storage_min, np.int32),
        "output_max": np.array(element.storage_max, np.int32),
    }
