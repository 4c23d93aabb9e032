"""The dialect `stablehlo`: the part of it that quantized networks have.

It is OpenXLA's; what is here is what the pass lower-stablehlo lowers. Elements are
quantized or of float32.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from ..operations import operations_of
from .attributes import *
from .base import *
from .choice import *
from .contraction import *
from .convolution import *
from .elementwise import *
from .gather import *
from .movement import *
from .reduction import *

STABLEHLO = Dialect(
    "stablehlo",
    [*operations_of(StablehloOp), ReturnOp],
    [ComparisonAttr, ConvAttr, DirectionAttr, DotAttr, GatherAttr, PrecisionAttr],
)
