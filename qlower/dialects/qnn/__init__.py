"""
The `qnn` dialect: operations of neural networks on quantized tensors.

Values are tensors of `!quant.uniform` elements; images are NHWC, weights
[O, KH, KW, I]. An op says what is computed in real numbers; the module's
`qnn.contract`, or the op's own `contract`, says how that is rounded and saturated: a
contract's name, or a path that ends in `.mlir`, relative to the model's file.

Between them `linalg`, `tensor` and `arith` ops may compute on tensors of f32 and of
integers: where a model leaves its quantization (`qnn.dequantize` .. `qnn.quantize`),
where a scale is known only at run time (`quant.scast` gives stored integers). They mean
the same by every contract, step by step in the order that they are written in; ops
that move elements (`qnn.reshape`, `qnn.concat` ..) take f32, too. `qlower.model.nests`
builds them.

```mlir
%e = tensor.empty() : tensor<1x8xf32>
%y = linalg.generic {
  indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>,
                   affine_map<(r, c) -> (r, c)>],
  iterator_types = ["parallel", "parallel"]
} ins(%x, %shift : tensor<1x8xf32>, tensor<8xf32>) outs(%e : tensor<1x8xf32>) {
^bb0(%a: f32, %b: f32, %_: f32):
  %sum = arith.addf %a, %b : f32
  linalg.yield %sum : f32
} -> tensor<1x8xf32>
```
"""

from xdsl.ir import Dialect

from .activation import (
    ClampOp,
    EluOp,
    FunctionOp,
    HardSwishOp,
    LeakyReluOp,
    LogSoftmaxOp,
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
    gives_sums,
)
from .elementwise import (
    AddOp,
    BinaryOp,
    CompareOp,
    DequantizeOp,
    DivOp,
    MulOp,
    PReluOp,
    QuantizeOp,
    RequantizeOp,
    SquaredDifferenceOp,
    SubOp,
    UnaryOp,
)
from .movement import ConcatOp, PadOp, SliceOp, SplitOp
from .pooling import (
    AdaptiveAvgPool2DOp,
    AvgPool2DOp,
    L2NormalizeOp,
    MaxPool2DOp,
    MeanOp,
    PoolOp,
    ProductOp,
    ReductionOp,
    SumOp,
)
from .real import (
    RealConv2DOp,
    RealDepthwiseConv2DOp,
    RealLinearOp,
    RealMatMulOp,
    RealOp,
)
from .recurrent import GATES, LstmOp, SvdfOp
from .selection import ArgMaxOp, ResizeOp
from .shape import MovementOp, ReshapeOp, TransposeOp
from .window import WindowOp

QNN = Dialect(
    "qnn",
    [
        ConstantOp,
        Conv2DOp,
        DepthwiseConv2DOp,
        LinearOp,
        MatMulOp,
        RealConv2DOp,
        RealDepthwiseConv2DOp,
        RealLinearOp,
        RealMatMulOp,
        AvgPool2DOp,
        AdaptiveAvgPool2DOp,
        MaxPool2DOp,
        MeanOp,
        SumOp,
        ProductOp,
        L2NormalizeOp,
        AddOp,
        SubOp,
        MulOp,
        DivOp,
        SquaredDifferenceOp,
        PReluOp,
        CompareOp,
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
        FunctionOp,
        LutOp,
        SoftmaxOp,
        LogSoftmaxOp,
        ConcatOp,
        PadOp,
        ReshapeOp,
        TransposeOp,
        SliceOp,
        SplitOp,
        ResizeOp,
        ArgMaxOp,
        LstmOp,
        SvdfOp,
    ],
)

__all__ = [
    "GATES",
    "QNN",
    "ActivatedOp",
    "AdaptiveAvgPool2DOp",
    "AddOp",
    "ArgMaxOp",
    "AvgPool2DOp",
    "BinaryOp",
    "ClampOp",
    "CompareOp",
    "ConcatOp",
    "ConstantOp",
    "Conv2DOp",
    "ConvolutionOp",
    "DepthwiseConv2DOp",
    "DequantizeOp",
    "DivOp",
    "EluOp",
    "FunctionOp",
    "HardSwishOp",
    "L2NormalizeOp",
    "LeakyReluOp",
    "LinearOp",
    "LogSoftmaxOp",
    "LstmOp",
    "LutOp",
    "MatMulOp",
    "MaxPool2DOp",
    "MeanOp",
    "MovementOp",
    "MulOp",
    "PReluOp",
    "PadOp",
    "PoolOp",
    "ProductOp",
    "QnnOp",
    "QuantizeOp",
    "RealConv2DOp",
    "RealDepthwiseConv2DOp",
    "RealLinearOp",
    "RealMatMulOp",
    "RealOp",
    "ReductionOp",
    "Relu6Op",
    "ReluOp",
    "RequantizeOp",
    "ReshapeOp",
    "ResizeOp",
    "SigmoidOp",
    "SliceOp",
    "SoftmaxOp",
    "SplitOp",
    "SquaredDifferenceOp",
    "SubOp",
    "SumOp",
    "SvdfOp",
    "TanhOp",
    "TransposeOp",
    "UnaryOp",
    "WindowOp",
    "gives_sums",
]
