"""The dialect `stablehlo`: the part of it that quantized networks have.

It is OpenXLA's; what is here is what the pass lower-stablehlo lowers. Elements are
quantized or of float32.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .attributes import ConvAttr, DotAttr, GatherAttr, PrecisionAttr
from .base import StablehloOp as StablehloOp
from .conversion import UniformDequantizeOp, UniformQuantizeOp
from .convolution import ConvolutionOp
from .convolution import Window as Window
from .dot_general import DotGeneralOp
from .elementwise import ClampOp, ConstantOp
from .elementwise import ElementwiseOp as ElementwiseOp
from .gather import GatherOp
from .movement import (
    BroadcastInDimOp,
    ConcatenateOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from .movement import MovementOp as MovementOp
from .table import BINARY as BINARY
from .table import ELEMENTWISE
from .table import UNARY as UNARY

STABLEHLO = Dialect(
    "stablehlo",
    [
        BroadcastInDimOp,
        ClampOp,
        ConcatenateOp,
        ConstantOp,
        ConvolutionOp,
        DotGeneralOp,
        GatherOp,
        PadOp,
        ReshapeOp,
        SliceOp,
        TransposeOp,
        UniformDequantizeOp,
        UniformQuantizeOp,
        *ELEMENTWISE.values(),
    ],
    [ConvAttr, DotAttr, GatherAttr, PrecisionAttr],
)
