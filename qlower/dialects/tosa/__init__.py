"""The dialect `tosa`: TOSA 1.0 in the text of LLVM 22 and later, on integers.

It is upstream's; what is here is the part that the pass lower-tosa lowers. An op's
docstring has its meaning in short, the specification in pseudocode.
"""

from __future__ import annotations

from xdsl.dialects.tosa import NanModeAttr, RoundingModeAttr
from xdsl.ir import Dialect

from .base import ShapeType
from .base import TosaOp as TosaOp
from .constants import ConstOp, ConstShapeOp, IdentityOp
from .contraction import (
    Conv2DOp,
    Conv3DOp,
    DepthwiseConv2DOp,
    MatMulOp,
    TransposeConv2DOp,
)
from .contraction import ConvolutionOp as ConvolutionOp
from .contraction import PaddedConvolutionOp as PaddedConvolutionOp
from .elementwise import (
    AbsOp,
    AddOp,
    ArithmeticRightShiftOp,
    BitwiseAndOp,
    BitwiseNotOp,
    BitwiseOrOp,
    BitwiseXorOp,
    CastOp,
    ClzOp,
    EqualOp,
    GreaterEqualOp,
    GreaterOp,
    IntDivOp,
    LogicalAndOp,
    LogicalLeftShiftOp,
    LogicalNotOp,
    LogicalOrOp,
    LogicalRightShiftOp,
    LogicalXorOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    NegateOp,
    SelectOp,
    SubOp,
)
from .elementwise import ElementwiseOp as ElementwiseOp
from .elementwise import ShiftOp as ShiftOp
from .movement import (
    ConcatOp,
    GatherOp,
    PadOp,
    ReshapeOp,
    ResizeOp,
    ReverseOp,
    ScatterOp,
    SliceOp,
    TileOp,
    TransposeOp,
)
from .movement import MovementOp as MovementOp
from .pooling import AvgPool2DOp, MaxPool2DOp
from .pooling import PoolOp as PoolOp
from .reduction import (
    ArgMaxOp,
    ReduceAllOp,
    ReduceAnyOp,
    ReduceMaxOp,
    ReduceMinOp,
    ReduceSumOp,
)
from .reduction import ReductionOp as ReductionOp
from .rescale import ClampOp, RescaleOp, TableOp
from .text import ResizeMode as ResizeMode
from .text import ResizeModeAttr, TargetEnvAttr

TOSA = Dialect(
    "tosa",
    [
        AbsOp,
        AddOp,
        ArgMaxOp,
        ArithmeticRightShiftOp,
        AvgPool2DOp,
        BitwiseAndOp,
        BitwiseNotOp,
        BitwiseOrOp,
        BitwiseXorOp,
        CastOp,
        ClampOp,
        ClzOp,
        ConcatOp,
        ConstOp,
        ConstShapeOp,
        Conv2DOp,
        Conv3DOp,
        DepthwiseConv2DOp,
        EqualOp,
        GatherOp,
        GreaterEqualOp,
        GreaterOp,
        IdentityOp,
        IntDivOp,
        LogicalAndOp,
        LogicalLeftShiftOp,
        LogicalNotOp,
        LogicalOrOp,
        LogicalRightShiftOp,
        LogicalXorOp,
        MatMulOp,
        MaxPool2DOp,
        MaximumOp,
        MinimumOp,
        MulOp,
        NegateOp,
        PadOp,
        ReduceAllOp,
        ReduceAnyOp,
        ReduceMaxOp,
        ReduceMinOp,
        ReduceSumOp,
        RescaleOp,
        ReshapeOp,
        ResizeOp,
        ReverseOp,
        ScatterOp,
        SelectOp,
        SliceOp,
        SubOp,
        TableOp,
        TileOp,
        TransposeConv2DOp,
        TransposeOp,
    ],
    [NanModeAttr, ResizeModeAttr, RoundingModeAttr, ShapeType, TargetEnvAttr],
)
