"""The state of lowering one function of StableHLO, and steps that operations share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from qlower.dialects.quant import quantized_element
from qlower.dialects.stablehlo.base import quantization
from qlower.dialects.types import is_tensor_type
from qlower.emit.tensors import storage_type
from qlower.interp.values import Array
from qlower.model.nests import Index, Nest, narrow, widen
from qlower.transforms.lowered_function import StatedFunction

Constants = dict[str, Array]


class Lowering(StatedFunction):
    """Lowers the operations of one function of StableHLO."""

    contract = "stablehlo"
    neighbours = "StableHLO"
    convert = staticmethod(storage_type)
    note = staticmethod(quantization)

    def stored(
        self, nest: Nest, source: SSAValue, indices: Sequence[Index]
    ) -> SSAValue:
        """An element of a quantized tensor: its stored integer as i32."""
        scalar = nest.input(self.value(source), indices)
        type = quantized_element(source.type)
        return widen(nest, scalar, i32, unsigned=not type.signed)

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
        code = self.inline(nest, "quantized", {"input": real}, result_parameters(type))
        return self.narrow(nest, code, type)

    def narrow(self, nest: Nest, code: SSAValue, type: Attribute) -> SSAValue:
        """An i32 that the storage can hold, as a stored integer."""
        element = quantized_element(type)
        return narrow(nest, code, element.storage_type, unsigned=not element.signed)


def parameters(prefix: str, type: Attribute) -> Constants:
    """Scale and zero point of a quantized tensor: numbers, or along the last loops; the
    scale also as the float64 number that the type has."""
    element = quantized_element(type)
    assert is_tensor_type(type)
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
    element = quantized_element(type)
    return {
        **parameters("output", type),
        "output_min": np.array(element.storage_min, np.int32),
        "output_max": np.array(element.storage_max, np.int32),
    }
