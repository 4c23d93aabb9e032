"""Contractions while they are lowered, and the values that accumulators start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, i32, i64
from xdsl.ir import SSAValue

from qlower.contracts import Contract, load_contract
from qlower.contracts.accumulator_range import Integers
from qlower.contracts.contractions import Contraction, RuledContraction
from qlower.contracts.values import contract_of
from qlower.diagnostics import QlowerError
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import element_type, shape_of
from qlower.emit.tensors import constant_of
from qlower.interp.values import Array
from qlower.model.nests import Nest
from qlower.transforms.lower_qnn.lowering import Lowering


@dataclass(frozen=True)
class LoweredContraction:
    """A contraction with weights that is lowered: its sums, and what they start
    from."""

    lowering: Lowering
    op: Contraction

    @cached_property
    def ruled(self) -> RuledContraction:
        """The operation by its contract."""
        return RuledContraction(self.lowering.contract, self.op)

    def initial_accumulator(
        self, shape: Sequence[int], channel_loops: Sequence[int], offset: Array
    ) -> SSAValue:
        """The bias of each channel, or zero where there is none or the rule adds it;
        plus a constant, which varies along the last loops. All of the accumulator's
        type."""
        lowering, op = self.lowering, self.op
        type = accumulator_type(op.input)
        nest = Nest(lowering.emit, shape)
        bias: SSAValue | None = None
        if op.bias is not None and not self.ruled.takes_bias:
            if element_type(op.bias.type) == type:
                bias = lowering.value(op.bias)
            elif constant_of(op.bias) is not None:
                quantized = self.ruled.integer_bias(self.constant_bias())
                bias = lowering.emit.constant(quantized, type)
            elif element_type(op.bias.type) == f32:
                bias = self._quantized_bias(op.bias)
            else:
                bias = lowering.value(op.bias)
            bias = lowering.reshape(bias, [shape[loop] for loop in channel_loops])
            bias = nest.input(bias, channel_loops)
            if bias.type != type:
                bias = nest.add(arith.ExtSIOp(bias, type)).result
        if not offset.any():
            if bias is None:
                return lowering.emit.filled(shape, type, 0)
            return nest.build_one(bias)
        start = nest.constant(offset, type)
        if bias is not None:
            start = nest.add(arith.AddiOp(bias, start)).result
        return nest.build_one(start)

    def computed_bias(self, nest: Nest) -> Mapping[str, SSAValue]:
        """The computed bias that a rule which adds it itself receives, at each
        iteration of a map over the result; nothing in all other cases.

        A bias of integers becomes real by the rule dequantize_bias.
        """
        bias = self.op.bias
        if bias is None or not self.ruled.takes_bias or constant_of(bias) is not None:
            return {}
        wanted = self.ruled.rule.values
        is_real = element_type(bias.type) == f32
        value = nest.input(self.lowering.value(bias), (nest.parallel - 1,))
        found: dict[str, SSAValue] = {}
        if "bias" in wanted:
            found["bias"] = value
            if is_real:
                found["bias"] = self._converted(nest, "quantize_bias", real_bias=value)
        if "real_bias" in wanted:
            if not is_real:
                value = self._converted(nest, "dequantize_bias", bias=value)
            found["real_bias"] = value
        return found

    def constant_bias(self) -> Array:
        """The bias, which must be a constant; zero if there is none."""
        if self.op.bias is None:
            return np.array(0, np.int32)
        bias = constant_of(self.op.bias)
        if bias is None:
            raise QlowerError(
                "this contract needs a constant bias, it is computed here",
                self.op.location,
            )
        return bias

    def _quantized_bias(self, bias: SSAValue) -> SSAValue:
        """A real bias that isn't constant as integers, by the rule quantize_bias."""
        nest = Nest(self.lowering.emit, shape_of(bias))
        value = nest.input(self.lowering.value(bias), (0,))
        return nest.build_one(self._converted(nest, "quantize_bias", real_bias=value))

    def _converted(self, nest: Nest, rule: str, **bias: SSAValue) -> SSAValue:
        return self.lowering.apply_rule(nest, rule, bias, self.ruled.factors)


def accumulator_type(input: SSAValue) -> IntegerType:
    """i32, or i64 for an input of 16-bit elements."""
    return i32 if quantized_element(input.type).storage_width == 8 else i64


def constant_start(contract: Contract, op: Contraction) -> Integers | None:
    """The constant start of the accumulators of all channels, [channel] or one for all;
    None if it isn't constant.

    Raises QlowerError where the contract has no rule for a bias in real numbers.
    """
    ruled = RuledContraction(contract, op)
    if ruled.takes_bias or op.bias is None:
        return np.zeros((), np.int64)
    bias = constant_of(op.bias)
    return bias if bias is None else ruled.integer_bias(bias).astype(np.int64)


def start_by(default: str | None, op: Contraction) -> Integers | None:
    """`constant_start` by the contract that a layer names or else by `default`; None
    also without one, or if it has no rule for the bias."""
    if default is None and op.contract is None:
        return None
    try:
        return constant_start(contract_of(op, default, load_contract), op)
    except QlowerError:
        return None
