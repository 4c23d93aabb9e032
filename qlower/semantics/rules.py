"""Values and contracts, for the implementations of qnn ops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from xdsl.interpreter import InterpreterFunctions, PythonValues
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.contracts import Contract, load_contract
from qlower.contracts.values import (
    LoadContract,
    contract_of,
    position_values,
    rounding_values,
)
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.dialects.types import element_type, shape_of
from qlower.interp.values import Array, dtype_of


def stored_dtype(type: Attribute) -> np.dtype[np.generic]:
    """The numpy element type that holds a tensor of the qnn level."""
    element = element_type(type)
    if isinstance(element, QuantizedType):
        kind = "i" if element.signed else "u"
        size = 1 << (-(-element.storage_width // 8) - 1).bit_length()
        return np.dtype(f"{kind}{size}")
    return dtype_of(type)


@dataclass
class RuleFunctions(InterpreterFunctions):
    """Implementations that end in a contract's rule.

    `default` is the contract of ops that name none themselves.
    """

    default: str | None = None
    load: LoadContract = field(default_factory=lambda: cache(load_contract))

    def contract(self, op: Operation) -> Contract:
        """The contract that gives `op` its arithmetic."""
        return contract_of(op, self.default, self.load)

    def finish(
        self,
        op: Operation,
        rule: str,
        values: Mapping[str, Array],
        result: SSAValue,
    ) -> PythonValues:
        """Evaluate a rule, and store what it gives."""
        evaluated = self.evaluate(op, rule, values, shape_of(result))
        stored = evaluated.astype(stored_dtype(result.type))
        return (np.broadcast_to(stored, shape_of(result)),)

    def evaluate(
        self,
        op: Operation,
        name: str,
        values: Mapping[str, Array],
        shape: Sequence[int],
    ) -> Array:
        """The results of a rule for the elements of a tensor of `shape`."""
        rule = self.contract(op).rule(name)
        values = {**position_values(shape), **rounding_values(op), **values}
        if "element" in rule.values:
            positions = np.arange(math.prod(shape), dtype=np.int32)
            values["element"] = positions.reshape(shape)
        (evaluated,) = rule.evaluate(values)
        return evaluated


def centred(stored: Array, source: SSAValue) -> Array:
    """Stored integers less their zero point, which may vary along one axis."""
    quantization = quantized_element(source.type)
    zero_point = np.array(quantization.zero_points, np.int32)
    if quantization.axis is not None:
        shape = [1] * stored.ndim
        shape[quantization.axis] = len(zero_point)
        zero_point = zero_point.reshape(shape)
    return stored.astype(np.int32) - zero_point
