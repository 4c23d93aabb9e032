"""The dialect `tosa`: TOSA 1.0 in the text of LLVM 22 and later, on integers and f32.

It is upstream's; what is here is the part that the pass lower-tosa lowers. An op's
docstring has its meaning in short, the specification in pseudocode.
"""

from __future__ import annotations

from xdsl.dialects.tosa import NanModeAttr, RoundingModeAttr
from xdsl.ir import Dialect

from ..operations import operations_of
from .base import *
from .constants import *
from .contraction import *
from .elementwise import *
from .movement import *
from .reduction import *
from .rescale import *
from .text import *

TOSA = Dialect(
    "tosa",
    operations_of(TosaOp),
    [NanModeAttr, ResizeModeAttr, RoundingModeAttr, ShapeType, TargetEnvAttr],
)
