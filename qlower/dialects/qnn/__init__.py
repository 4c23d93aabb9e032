"""
The `qnn` dialect: operations of neural networks on quantized tensors.

Values are tensors of `!quant.uniform` elements; images are NHWC, weights
[O, KH, KW, I]. An op says what is computed in real numbers; the module's
`qnn.contract`, or the op's own `contract`, says how that is rounded and saturated.
"""

from xdsl.ir import Dialect

from .activation import (
    ClampOp,
    EluOp,
    HardSwishOp,
    LeakyReluOp,
    LutOp,
    Relu6Op,
    ReluOp,
    SigmoidOp,
    SoftmaxOp,
    TanhOp,
)
from .base import ActivatedOp, QnnOp
from .constant import ConstantOp
from .contraction import (
    Conv2DOp,
    ConvolutionOp,
    DepthwiseConv2DOp,
    LinearOp,
    MatMulOp,
)
from .elementwise import (
    AddOp,
    BinaryOp,
    DequantizeOp,
    MulOp,
    QuantizeOp,
    RequantizeOp,
    SubOp,
)
from .movement import ConcatOp, PadOp, SliceOp, SplitOp
from .pooling import AdaptiveAvgPool2DOp, AvgPool2DOp, MaxPool2DOp, MeanOp, PoolOp
from .selection import ArgMaxOp, ResizeOp
from .shape import ReshapeOp, TransposeOp
from .window import WindowOp

QNN = Dialect(
    "qnn",
    [
        ConstantOp,
        Conv2DOp,
        DepthwiseConv2DOp,
        LinearOp,
        MatMulOp,
        AvgPool2DOp,
        AdaptiveAvgPool2DOp,
        MaxPool2DOp,
        MeanOp,
        AddOp,
        SubOp,
        MulOp,
        RequantizeOp,
        QuantizeOp,
        DequantizeOp,
        ReluOp,
        Relu6Op,
        ClampOp,
        SigmoidOp,
        TanhOp,
        HardSwishOp,
        EluOp,
        LeakyReluOp,
        LutOp,
        SoftmaxOp,
        ConcatOp,
        PadOp,
        ReshapeOp,
        TransposeOp,
        SliceOp,
        SplitOp,
        ResizeOp,
        ArgMaxOp,
    ],
)

__all__ = [
    "QNN",
    "ActivatedOp",
    "AdaptiveAvgPool2DOp",
    "AddOp",
    "ArgMaxOp",
    "AvgPool2DOp",
    "BinaryOp",
    "ClampOp",
    "ConcatOp",
    "ConstantOp",
    "Conv2DOp",
    "ConvolutionOp",
    "DepthwiseConv2DOp",
    "DequantizeOp",
    "EluOp",
    "HardSwishOp",
    "LeakyReluOp",
    "LinearOp",
    "LutOp",
    "MatMulOp",
    "MaxPool2DOp",
    "MeanOp",
    "MulOp",
    "PadOp",
    "PoolOp",
    "QnnOp",
    "QuantizeOp",
    "Relu6Op",
    "ReluOp",
    "RequantizeOp",
    "ReshapeOp",
    "ResizeOp",
    "SigmoidOp",
    "SliceOp",
    "SoftmaxOp",
    "SplitOp",
    "SubOp",
    "TanhOp",
    "TransposeOp",
    "WindowOp",
]
