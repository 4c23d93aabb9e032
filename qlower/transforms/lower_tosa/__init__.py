"""The pass lower-tosa: from TOSA to explicit integer arithmetic, as TOSA states it.

Every operation becomes loop nests like those of lower-qnn. RESCALE, and the averages
that are made of it, are functions of the contract `tosa`, inlined. No other contract
has a say: the model names its multipliers, shifts and roundings itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerType,
    ModuleOp,
    Signedness,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from qlower.diagnostics import QlowerError
from qlower.dialects import tosa
from qlower.dialects.qnn.attributes import TYPE
from qlower.dialects.types import element_type
from qlower.tally import timed_layer
from qlower.transforms.lower_tosa import (
    contraction,
    elementwise,
    movement,
    pooling,
    reduction,
    rescale,
)
from qlower.transforms.lower_tosa.lowering import Lowering, keep, signless
from qlower.transforms.lower_tosa.parts import locations_by_layer

Lower: TypeAlias = Callable[[Lowering, Any], SSAValue]

LOWERINGS: Mapping[type[Operation], Lower] = {
    tosa.ConstOp: movement.lower_constant,
    tosa.IdentityOp: movement.lower_identity,
    tosa.Conv2DOp: contraction.lower_conv2d,
    tosa.DepthwiseConv2DOp: contraction.lower_depthwise_conv2d,
    tosa.MatMulOp: contraction.lower_matmul,
    tosa.AvgPool2DOp: pooling.lower_avg_pool2d,
    tosa.MaxPool2DOp: pooling.lower_max_pool2d,
    tosa.RescaleOp: rescale.lower_rescale,
    tosa.ClampOp: rescale.lower_clamp,
    tosa.TableOp: rescale.lower_table,
    tosa.ConcatOp: movement.lower_concat,
    tosa.GatherOp: movement.lower_gather,
    tosa.PadOp: movement.lower_pad,
    tosa.ReshapeOp: movement.lower_reshape,
    tosa.ResizeOp: movement.lower_resize,
    tosa.ReverseOp: movement.lower_reverse,
    tosa.SliceOp: movement.lower_slice,
    tosa.TileOp: movement.lower_tile,
    tosa.TransposeOp: movement.lower_transpose,
    tosa.ArgMaxOp: reduction.lower_arg_max,
    **dict.fromkeys(reduction.COMBINE, reduction.lower_reduction),
    **dict.fromkeys(elementwise.COMPUTE, elementwise.lower_elementwise),
}
"""What lowers each operation. The operation of a function is of its key's type."""


@dataclass(frozen=True)
class LowerTosaPass(ModulePass):
    """Lowers TOSA to the arith level. What else stands in a function stays as it is."""

    name = "lower-tosa"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.body.ops):
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _lower_function(function)


def _lower_function(function: func.FuncOp) -> None:
    """Replace a function's body and signature by their lowered forms."""
    source = function.body.block
    block = Block(arg_types=[signless(arg.type) for arg in source.args])
    lowering = Lowering(block)
    for argument, lowered in zip(source.args, block.args, strict=True):
        lowered.location = argument.location
        lowering.bind(argument, lowered)
    locations = locations_by_layer(source)
    for op in source.ops:
        lowering.begin(op, locations.get(op, op.location))
        lower = LOWERINGS.get(type(op))
        if lower is not None:
            with timed_layer(op):
                lowering.bind(op.results[0], lower(lowering, op))
        elif isinstance(op, tosa.TosaOp):
            if not isinstance(op, tosa.ConstShapeOp):
                raise QlowerError(f"{op.name} isn't supported", op.location)
        else:
            for result, value in zip(op.results, keep(lowering, op), strict=True):
                lowering.bind(result, value)
    types = function.function_type
    function.arg_attrs = _with_types(function.arg_attrs, types.inputs.data)
    function.res_attrs = _with_types(function.res_attrs, types.outputs.data)
    function.function_type = FunctionType.from_lists(
        [signless(type) for type in types.inputs],
        [signless(type) for type in types.outputs],
    )
    function.body.detach_block(source)
    source.erase(safe_erase=False)
    function.body.add_block(block)


def _with_types(
    attributes: ArrayAttr[DictionaryAttr] | None, types: Sequence[Attribute]
) -> ArrayAttr[DictionaryAttr]:
    """Note the types of arguments or results that are unsigned beside them."""
    given = attributes or [DictionaryAttr({})] * len(types)
    noted: list[DictionaryAttr] = []
    for dictionary, type in zip(given, types, strict=True):
        element = element_type(type)
        unsigned = (
            isa(element, IntegerType) and element.signedness.data is Signedness.UNSIGNED
        )
        entries = {TYPE: element} if unsigned else {}
        noted.append(DictionaryAttr({**dictionary.data, **entries}))
    return ArrayAttr(noted)
