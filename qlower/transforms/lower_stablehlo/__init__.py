"""The pass lower-stablehlo: from StableHLO to explicit arithmetic, as it states it.

Every operation becomes loop nests like those of lower-qnn. What quantizes, dequantizes
and adds are functions of the contract `stablehlo`, inlined; no other contract has a
say.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qlower.dialects import stablehlo
from qlower.model.entry import defined_functions
from qlower.transforms.lower_movement import (
    lower_concat,
    lower_constant,
    lower_movement,
    lower_pad,
)
from qlower.transforms.lower_stablehlo import (
    choice,
    contraction,
    elementwise,
    movement,
    reduction,
)
from qlower.transforms.lower_stablehlo.lowering import Lowering
from qlower.transforms.lowered_function import Rows

LOWERINGS: Rows = {
    stablehlo.ClampOp: elementwise.lower_clamp,
    stablehlo.CompareOp: choice.lower_compare,
    stablehlo.SelectOp: choice.lower_select,
    stablehlo.ConcatenateOp: lower_concat,
    stablehlo.ConstantOp: lower_constant,
    stablehlo.ConvertOp: elementwise.lower_convert,
    stablehlo.ConvolutionOp: contraction.lower_convolution,
    stablehlo.DotGeneralOp: contraction.lower_dot_general,
    stablehlo.GatherOp: movement.lower_gather,
    stablehlo.IotaOp: reduction.lower_iota,
    stablehlo.MovementOp: lower_movement,
    stablehlo.PadOp: lower_pad,
    stablehlo.ReduceOp: reduction.lower_reduce,
    stablehlo.ReduceWindowOp: reduction.lower_reduce_window,
    stablehlo.UniformDequantizeOp: elementwise.lower_dequantize,
    stablehlo.UniformQuantizeOp: elementwise.lower_quantize,
    stablehlo.ShiftOp: elementwise.lower_shift,
    stablehlo.BinaryOp: elementwise.lower_binary,
    stablehlo.UnaryOp: elementwise.lower_unary,
}


class LowerStablehloPass(ModulePass):
    """Lowers StableHLO to the arith level."""

    name = "lower-stablehlo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            lowering = Lowering(function)
            lowering.lower(LOWERINGS)
            lowering.finish()
