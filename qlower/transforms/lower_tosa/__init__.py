"""The pass lower-tosa: from TOSA to explicit arithmetic, as TOSA states it.

Every operation becomes loop nests like those of lower-qnn. RESCALE, and the averages
that are made of it, are functions of the contract `tosa`, inlined. No other contract
has a say: the model names its multipliers, shifts and roundings itself.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qlower.dialects import tosa
from qlower.model.entry import defined_functions
from qlower.transforms.lower_movement import (
    lower_concat,
    lower_constant,
    lower_movement,
    lower_pad,
)
from qlower.transforms.lower_tosa import (
    contraction,
    elementwise,
    movement,
    reduction,
    rescale,
)
from qlower.transforms.lower_tosa.lowering import Lowering
from qlower.transforms.lower_tosa.parts import locations_by_layer
from qlower.transforms.lowered_function import Rows

LOWERINGS: Rows = {
    tosa.ConstOp: lower_constant,
    # whatever takes a shape reads it there
    tosa.ConstShapeOp: lambda lowering, op: op.results,
    tosa.IdentityOp: movement.lower_identity,
    tosa.Conv2DOp: contraction.lower_convolution,
    tosa.Conv3DOp: contraction.lower_convolution,
    tosa.DepthwiseConv2DOp: contraction.lower_convolution,
    tosa.TransposeConv2DOp: contraction.lower_transpose_conv2d,
    tosa.MatMulOp: contraction.lower_matmul,
    tosa.AvgPool2DOp: reduction.lower_avg_pool2d,
    tosa.MaxPool2DOp: reduction.lower_max_pool2d,
    tosa.RescaleOp: rescale.lower_rescale,
    tosa.ClampOp: rescale.lower_clamp,
    tosa.TableOp: rescale.lower_table,
    tosa.ConcatOp: lower_concat,
    tosa.GatherOp: movement.lower_gather,
    tosa.PadOp: lower_pad,
    tosa.MovementOp: lower_movement,
    tosa.ResizeOp: movement.lower_resize,
    tosa.ScatterOp: movement.lower_scatter,
    tosa.ArgMaxOp: reduction.lower_arg_max,
    tosa.ReductionOp: reduction.lower_reduction,
    tosa.ElementwiseOp: elementwise.lower_elementwise,
    # what isn't TOSA's
    Operation: Lowering.keep,
}


class LowerTosaPass(ModulePass):
    """Lowers TOSA to the arith level. Other operations of a function stay as they
    are."""

    name = "lower-tosa"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            lowering = Lowering(function)
            lowering.lower(LOWERINGS, locations_by_layer(function.body.block))
            lowering.finish()
