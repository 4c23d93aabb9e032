"""The pass lower-qnn: from quantized operations to explicit integer arithmetic.

Quantized tensors become tensors of their stored integers; every operation becomes loop
nests that sum exactly and then do what its contract's rule says, step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qlower.contracts import Contract, load_contract
from qlower.contracts.needs import check_needs, named_layers
from qlower.contracts.values import contract_of
from qlower.diagnostics import QlowerError, file_location, format_location
from qlower.dialects import qnn, quant
from qlower.dialects.kernel import ScanOp
from qlower.dialects.operations import kind_of
from qlower.dialects.qnn.attributes import CONTRACT, module_contract
from qlower.model.entry import defined_functions
from qlower.transforms.lower_movement import lower_constant, lower_movement
from qlower.transforms.lower_qnn import (
    contraction,
    elementwise,
    hybrid,
    movement,
    pooling,
    real,
    real_rows,
    recurrent,
    softmax,
)
from qlower.transforms.lower_qnn.lowering import Lowering
from qlower.transforms.lowered_function import Rows

PLAIN: Sequence[type[Operation]] = (
    arith.ConstantOp,
    linalg.FillOp,
    linalg.GenericOp,
    tensor.CollapseShapeOp,
    tensor.EmptyOp,
    tensor.ExpandShapeOp,
    tensor.ExtractSliceOp,
    tensor.InsertSliceOp,
    tensor.PadOp,
)
"""Operations on plain tensors that are allowed between quantized ones."""

LOWERINGS: Rows = {
    qnn.ConstantOp: lower_constant,
    qnn.Conv2DOp: contraction.lower_contraction,
    qnn.DepthwiseConv2DOp: contraction.lower_contraction,
    qnn.LinearOp: contraction.lower_contraction,
    qnn.FusedAddOp: contraction.lower_contraction,
    qnn.MatMulOp: contraction.lower_matmul,
    qnn.RealOp: real.lower_products,
    qnn.RealPool2DOp: real_rows.lower_pool,
    qnn.RealReduceOp: real_rows.lower_reduce,
    qnn.RealNormalizeOp: real_rows.lower_normalize,
    qnn.HybridOp: hybrid.lower_hybrid,
    qnn.AvgPool2DOp: pooling.lower_avg_pool2d,
    qnn.AdaptiveAvgPool2DOp: pooling.lower_adaptive_avg_pool2d,
    qnn.MaxPool2DOp: pooling.lower_max_pool2d,
    qnn.MeanOp: pooling.lower_mean,
    qnn.SumOp: pooling.lower_mean,
    qnn.ProductOp: pooling.lower_product,
    qnn.L2NormalizeOp: pooling.lower_l2_normalize,
    qnn.BinaryOp: elementwise.lower_mapped,
    qnn.CompareOp: elementwise.lower_compare,
    qnn.RequantizeOp: elementwise.lower_mapped,
    qnn.QuantizeOp: elementwise.lower_mapped,
    qnn.DequantizeOp: elementwise.lower_mapped,
    qnn.BoundedOp: elementwise.lower_mapped,
    qnn.ScaledOp: elementwise.lower_mapped,
    qnn.TabulatedOp: elementwise.lower_tabulated,
    qnn.LutOp: elementwise.lower_lut,
    qnn.SoftmaxOp: softmax.lower_softmax,
    qnn.LogSoftmaxOp: softmax.lower_softmax,
    qnn.ConcatOp: movement.lower_concat,
    qnn.MovementOp: lower_movement,
    qnn.SplitOp: movement.lower_split,
    qnn.ResizeOp: movement.lower_resize,
    qnn.ArgMaxOp: movement.lower_arg_max,
    qnn.LstmOp: recurrent.lower_lstm,
    qnn.SvdfOp: recurrent.lower_svdf,
    ScanOp: recurrent.lower_scan,
    quant.QuantizeCastOp: elementwise.lower_mapped,
    quant.DequantizeCastOp: elementwise.lower_mapped,
    quant.StorageCastOp: movement.lower_storage_cast,
    **dict.fromkeys(PLAIN, Lowering.keep),
}


@dataclass(frozen=True)
class LowerQnnPass(ModulePass):
    """Lowers qnn and quant operations to the arith level.

    Option `contract`: whose arithmetic the operations have that name none themselves,
    instead of the module's `qnn.contract`.
    """

    name = "lower-qnn"

    contract: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        own = module_contract(op)
        for function in defined_functions(op):
            _lower_function(function, self.contract or own, own)
        op.attributes.pop(CONTRACT, None)


def _lower_function(
    function: func.FuncOp, default: str | None, own: str | None
) -> None:
    """Replace a function's body and signature by their lowered forms, by the default
    contract, which may differ from the module's own."""
    load = cache(load_contract)
    check_needs(function.body.block.ops, default, load)

    @cache
    def contract(op: Operation) -> Contract:
        return contract_of(op, default, load)

    lowering = Lowering(function, contract)
    lowering.lower(LOWERINGS)
    if refused := lowering.refused:
        error = _refusal(refused)
        if error.help is None and own not in (None, default):
            kinds = dict.fromkeys(kind_of(op) for op, _ in refused)
            other = " ".join(f"--layer-contract {kind}={own}" for kind in kinds)
            error.help = f"give such layers the model's own arithmetic: {other}"
        raise error from refused[0][1]
    lowering.finish()


def _refusal(refused: Sequence[tuple[Operation, QlowerError]]) -> QlowerError:
    """All that contracts refuse, seen from the first operation that it is about."""
    first, error = refused[0]
    layers: dict[str, list[Operation]] = {}
    for op, found in refused:
        layers.setdefault(found.message, []).append(op)
    (_, same), *others = layers.items()
    notes = [f"in {len(same)} layers: {named_layers(same)}"] if len(same) > 1 else []
    if error.location is not None and error.location != first.location:
        place = file_location(error.location)
        where = error.location if place is None else format_location(place)
        notes.append(f"the contract says so here: {where}")
    notes += error.notes
    notes += [f"besides, in {named_layers(ops)}: {what}" for what, ops in others]
    return QlowerError(error.message, first.location, notes=notes, help=error.help)
