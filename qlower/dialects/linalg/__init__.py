"""The dialect `linalg`: xDSL's part of it, and upstream's named ops on tensors.

xDSL has some of the named ones. They aren't taken from there: those read no operands
of several types, and no text without strides.
"""

from __future__ import annotations

from xdsl.dialects.linalg import Linalg
from xdsl.ir import Dialect

from .named import NamedOp as NamedOp
from .named import TypeFunctionAttr
from .table import DEFINITIONS
from .table import named_op as named_op

LINALG = Dialect(
    "linalg",
    [op for op in Linalg.operations if op.name not in DEFINITIONS],
    [*Linalg.attributes, TypeFunctionAttr],
)
"""Operations that aren't in `DEFINITIONS`, whose own come from `named_op`."""
