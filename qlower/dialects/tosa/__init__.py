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
from .elementwise import ELEMENTWISE
from .elementwise import ArithmeticRightShiftOp as ArithmeticRightShiftOp
from .elementwise import ElementwiseOp as ElementwiseOp
from .elementwise import IntDivOp as IntDivOp
from .elementwise import MulOp as MulOp
from .elementwise import NegateOp as NegateOp
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
        ArgMaxOp,
        AvgPool2DOp,
        ClampOp,
        ConcatOp,
        ConstOp,
        ConstShapeOp,
        Conv2DOp,
        Conv3DOp,
        DepthwiseConv2DOp,
        GatherOp,
        IdentityOp,
        MatMulOp,
        MaxPool2DOp,
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
        SliceOp,
        TableOp,
        TileOp,
        TransposeConv2DOp,
        TransposeOp,
        *ELEMENTWISE,
    ],
    [NanModeAttr, ResizeModeAttr, RoundingModeAttr, ShapeType, TargetEnvAttr],
)
