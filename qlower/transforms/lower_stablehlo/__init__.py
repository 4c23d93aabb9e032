"""The pass lower-stablehlo: from StableHLO to explicit arithmetic, as it states it.

Every operation becomes loop nests like those of lower-qnn. What quantizes, dequantizes
and adds are functions of the contract `stablehlo`, inlined; no other contract has a
say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from qlower.diagnostics import QlowerError
from qlower.dialects import stablehlo
from qlower.dialects.stablehlo.base import quantization
from qlower.tally import timed_layer
from qlower.transforms.lower_stablehlo import contraction, elementwise, movement
from qlower.transforms.lower_stablehlo.lowering import Lowering

Lower: TypeAlias = Callable[[Lowering, Any], SSAValue]

LOWERINGS: Mapping[type[Operation], Lower] = {
    stablehlo.BroadcastInDimOp: movement.lower_broadcast,
    stablehlo.ClampOp: elementwise.lower_clamp,
    stablehlo.ConcatenateOp: movement.lower_concatenate,
    stablehlo.ConstantOp: movement.lower_constant,
    stablehlo.ConvolutionOp: contraction.lower_convolution,
    stablehlo.DotGeneralOp: contraction.lower_dot_general,
    stablehlo.GatherOp: movement.lower_gather,
    stablehlo.PadOp: movement.lower_pad,
    stablehlo.ReshapeOp: movement.lower_reshape,
    stablehlo.SliceOp: movement.lower_slice,
    stablehlo.TransposeOp: movement.lower_transpose,
    stablehlo.UniformDequantizeOp: elementwise.lower_dequantize,
    stablehlo.UniformQuantizeOp: elementwise.lower_quantize,
    **{stablehlo.ELEMENTWISE[n]: elementwise.lower_unary for n in stablehlo.UNARY},
    **{stablehlo.ELEMENTWISE[n]: elementwise.lower_binary for n in stablehlo.BINARY},
}
"""What lowers each operation. The operation of a function is of its key's type."""


@dataclass(frozen=True)
class LowerStablehloPass(ModulePass):
    """Lowers StableHLO to the arith level."""

    name = "lower-stablehlo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.body.ops):
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _lower_function(function)


def _lower_function(function: func.FuncOp) -> None:
    """Replace a function's body and signature by their lowered forms."""
    lowering = Lowering(function)
    for op in function.body.block.ops:
        lowering.begin(op)
        lower = LOWERINGS.get(type(op))
        if isinstance(op, func.ReturnOp):
            returned = [lowering.value(operand) for operand in op.operands]
            lowering.emit.add(func.ReturnOp(*returned))
        elif lower is None:
            raise QlowerError(f"{op.name} can't stand beside StableHLO", op.location)
        else:
            with timed_layer(op):
                lowering.bind(op.results[0], lower(lowering, op))
    lowering.finish(quantization)
