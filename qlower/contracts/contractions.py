"""Values that contractions with weights pass to rules, and how a contract
multiplies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Operation

from qlower.contracts import Contract, Rule
from qlower.contracts.accumulator_range import centred_rows, sum_bounds
from qlower.contracts.products import EXACT, IN_PAIRS
from qlower.contracts.reading import chooser_of
from qlower.contracts.values import (
    Values,
    activation_values,
    is_in_qdq,
    operand_values,
    window_values,
)
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import element_type, integer_range, shape_of
from qlower.interp.values import Array

Contraction: TypeAlias = qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp

Product: TypeAlias = Contraction | qnn.MatMulOp
"""An operation that sums products of stored integers."""

SUMMED = (qnn.Conv2DOp, qnn.DepthwiseConv2DOp, qnn.LinearOp, qnn.MatMulOp)
"""The operations that sum products of stored integers."""


@dataclass(frozen=True)
class RuledContraction:
    """A contraction with weights, by the contract that gives it its arithmetic."""

    contract: Contract
    op: Contraction

    def values(self, model_bias: Callable[[], Array]) -> Values:
        """All that is constant about the layer.

        `model_bias` gives the bias as the model has it, as i32 or f32 and 0 for none;
        it is called only if the contract's rule needs to know it.
        """
        op = self.op
        values = {
            **self.layer,
            **self.factors,
            **activation_values(self.contract, op.result.type, op.activation),
            "half_scales": np.array(False),
            "in_sequence": np.array(isinstance(op, qnn.LinearOp) and op.in_sequence),
            "input_rank": np.array(len(shape_of(op.operands[0])), np.int32),
            "in_qdq": np.array(is_in_qdq(op)),
        }
        if isinstance(op, qnn.FusedAddOp):
            values |= operand_values("addend", op.operands[-1].type)
            values |= operand_values("summand", op.summand)
        wanted = self.rule.values
        if "bias" in wanted:
            values["bias"] = self.integer_bias(model_bias())
        if "real_bias" in wanted:
            values["real_bias"] = self._real_bias(model_bias())
        if "one_bias" in wanted:
            values["one_bias"] = np.array(len(np.unique(model_bias())) == 1)
        if "bias_bits" in wanted:
            values["bias_bits"] = np.array(self._bias_bits, np.int32)
        if "weight_bits" in wanted:
            bits = quantized_element(self.op.weight.type).storage_width
            values["weight_bits"] = np.array(bits, np.int32)
        if "weight_sum" in wanted:
            values["weight_sum"] = self._rows.sum(axis=1).astype(np.int32)
        if "weight_total" in wanted:
            values["weight_total"] = self._weight_total
        bits = stated_bits(self.contract)
        if bits or not {"accumulator_min", "accumulator_max"}.isdisjoint(wanted):
            start = self.start_of_sum(model_bias)
            least, most = (
                bound + start.astype(np.int64)
                for bound in sum_bounds(op, self.product != EXACT)
            )
            values["accumulator_min"], values["accumulator_max"] = least, most
            if bits:
                self._check_fits(int(least.min()), int(most.max()), bits)
        return values

    def _check_fits(self, least: int, most: int, bits: int) -> None:
        low, high = integer_range(bits)
        if low <= least and most <= high:
            return
        name = self.contract.name
        raise QlowerError(
            f"sums of this layer can reach {least if least < low else most:,}, beyond "
            f"the {bits} bits of {name}'s register, [{low:,}, {high:,}]; what that "
            "does then isn't published",
            self.op.location,
            help=f"`qlower lint --contract {name}` lists such layers",
        )

    @property
    def rule(self) -> Rule:
        """The rule that makes results of sums."""
        return self.contract.rule(contraction_rule(self.op))

    @cached_property
    def layer(self) -> Values:
        """Sizes and steps of the layer."""
        return layer_values(self.op)

    @cached_property
    def factors(self) -> Values:
        """Scales and zero points of input and weights."""
        return {
            **operand_values("input", self.op.input.type),
            **operand_values("weight", self.op.weight.type),
        }

    @property
    def product(self) -> str:
        """The contract's way to multiply: a name of `products.py`."""
        rule = self.rule
        product = rule.products[0]
        if len(rule.products) > 1:
            result = self.op.results[0].type
            assert isinstance(result, TensorType)
            values = {
                **self.layer,
                **self.factors,
                "channel_count": np.array(result.get_shape()[-1], np.int32),
                "gives_sums": np.array(qnn.gives_sums(self.op)),
            }
            product = chosen_product(self.contract, rule, values, self.op)
        weight = quantized_element(self.op.weight.type)
        if product in IN_PAIRS and not weight.signed:
            raise QlowerError(
                f"contract {self.contract.name} multiplies in saturating pairs, which "
                "needs int8 weights, not uint8",
                rule.function.location,
            )
        return product

    @property
    def takes_bias(self) -> bool:
        """Whether the rule asks for the bias by itself: the accumulator is then
        without."""
        if qnn.gives_sums(self.op):
            return False
        wanted = self.rule.values
        return "bias" in wanted or "real_bias" in wanted

    def start_of_sum(self, model_bias: Callable[[], Array]) -> Array:
        """The integers that accumulators hold before the products: the bias, or 0 where
        the rule asks for the bias itself. `model_bias` is as in `values`."""
        if self.takes_bias:
            return np.zeros((), np.int32)
        return self.integer_bias(model_bias())

    def integer_bias(self, bias: Array) -> Array:
        """A bias as integers, by the rule quantize_bias if it is real."""
        if bias.dtype != np.float32:
            return bias
        return self._other_bias("quantize_bias", {"real_bias": bias})

    @property
    def _bias_bits(self) -> int:
        bias = self.op.bias
        element = None if bias is None else element_type(bias.type)
        return element.bitwidth if isinstance(element, IntegerType) else 0

    def _real_bias(self, bias: Array) -> Array:
        if self.op.bias is None:
            return np.zeros((), np.float32)
        if bias.dtype == np.float32:
            return bias
        return self._other_bias("dequantize_bias", {"bias": bias})

    def _other_bias(self, rule: str, bias: Mapping[str, Array]) -> Array:
        values = {**bias, **self.factors}
        (converted,) = self.contract.rule(rule).evaluate(values)
        return converted

    @property
    def _rows(self) -> Array:
        """The weights without their zero points, [channel, weight]."""
        rows = centred_rows(self.op)
        if rows is None:
            raise QlowerError(
                f"contract {self.contract.name} asks for the sum of a channel's "
                "weights, which needs constant weights",
                self.op.location,
            )
        return rows

    @property
    def _weight_total(self) -> Array:
        """The sum over a channel's weights of the rule weight_addend, each partial sum
        rounded: [channel] as f32."""
        rows = self._rows.astype(np.int32)
        values = operand_values("input", self.op.input.type)
        (addends,) = self.contract.rule("weight_addend").evaluate_each(
            {"weight": rows, "in_qdq": np.array(is_in_qdq(self.op)), **values},
            rows.shape,
        )
        return np.add.accumulate(addends, axis=1, dtype=np.float32)[:, -1]


def contraction_rule(op: Contraction) -> str:
    """The name of the rule for a contraction with weights."""
    return op.rules[0]


def product_of(contract: Contract, op: Product) -> str:
    """An operation's products by a contract: a name of `products.py`."""
    if not isinstance(op, qnn.MatMulOp):
        return RuledContraction(contract, op).product
    rule = contract.rules.get("matmul")
    return EXACT if rule is None else rule.products[0]


def group_of(contract: Contract, op: Product) -> int:
    """The products that a contract that sums in turn adds before `accumulate`."""
    rule = f"accumulate{contract.suffix}"
    if "accumulate" not in contract.rules:
        raise QlowerError(
            f"contract {contract.name} sums in turn without the rule {rule}",
            op.location,
        )
    if "accumulate_group" not in contract.rules:
        return 1
    (group,) = contract.rule("accumulate_group").evaluate(layer_values(op))
    if int(group) > 1 and "product" in contract.rule("accumulate").values:
        raise QlowerError(
            f"contract {contract.name} looks at single products, and adds {group} at a "
            "time",
            op.location,
        )
    if int(group) < 1:
        raise QlowerError(
            f"rule accumulate_group{contract.suffix} of contract {contract.name} gives "
            f"{group}, it must be 1 or more",
            op.location,
        )
    return int(group)


def turn_values(op: Product) -> Values:
    """All that is constant for the rule `accumulate`; channels are along the last
    dimension of the sums."""
    count = shape_of(op.results[0])[-1]
    first, second = (quantized_element(one.type).scales for one in op.operands[:2])
    step = np.float32(first[0]) * np.float32(second[0])
    if len({*second}) > 1:
        step = np.float32(np.nan)
    return {
        **layer_values(op),
        "product_step": np.array(step),
        "channel": np.arange(count, dtype=np.int32),
        "channel_count": np.array(count, np.int32),
    }


def input_channels(op: Product) -> int:
    """The products of one pixel of weights; of matrices those of a sum."""
    if isinstance(op, qnn.DepthwiseConv2DOp):
        return 1
    return shape_of(op.operands[0 if isinstance(op, qnn.MatMulOp) else 1])[-1]


def stated_bits(contract: Contract) -> int | None:
    """The width of a register whose overflow nobody states; None for contracts that
    have none."""
    if "accumulator_bits" not in contract.rules:
        return None
    (bits,) = contract.rule("accumulator_bits").evaluate({})
    return int(bits)


def layer_values(op: Product) -> Values:
    """Sizes and steps of a contraction; of a product of matrices as if the second one
    were weights."""
    first, second = op.operands[:2]
    input_channels = shape_of(first)[-1]
    match op:
        case qnn.Conv2DOp():
            groups = op.groups
        case qnn.DepthwiseConv2DOp():
            groups = input_channels
        case _:
            groups = 1
    weight = quantized_element(second.type)
    values = {
        "per_channel": np.array(weight.is_per_axis),
        "weights_symmetric": np.array(not any(weight.zero_points)),
        "one_weight_scale": np.array(len(set(weight.scales)) == 1),
        "first_weight_scale": np.array(weight.scales[0], np.float32),
        "input_channels": np.array(input_channels, np.int32),
        "groups": np.array(groups, np.int32),
        "transposed": np.array(isinstance(op, qnn.Conv2DOp) and op.transposed),
    }
    if isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp):
        kernel = op.weight.type.get_shape()[1:3]
        values |= window_values(op, kernel)
    return values


def chosen_product(
    contract: Contract, rule: Rule, values: Values, op: Operation
) -> str:
    """The product that the contract chooses of several by `<rule>_product`."""
    name, products = chooser_of(rule.name), rule.products
    (choice,) = contract.rule(name).evaluate(values)
    if not 0 <= int(choice) < len(products):
        raise QlowerError(
            f"rule {name} of contract {contract.name} gives {choice}, "
            f"{rule.name} has {len(products)} products",
            op.location,
        )
    return products[int(choice)]
