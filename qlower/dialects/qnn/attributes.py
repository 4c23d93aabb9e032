"""The attributes that modules and functions carry beside their operations."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr

CONTRACT = "qnn.contract"
"""A module's contract: that of every operation which names none itself."""

REMARKS = "qnn.remarks"
"""What the front end that made a module has to say about its bits: a list of texts."""

QDQ = "onnx.qdq"
"""How an ONNX file's groups of dequantize, operator, quantize were read: "integer",
"x86" or "as-written" (`qlower.frontends.import_options`)."""

NAME = "qnn.name"
"""An argument's or result's name in the source model."""

TYPE = "qnn.type"
"""An argument's or result's quantized type, where values are plain integers."""


def module_contract(module: ModuleOp) -> str | None:
    """The contract that a module names, if it does."""
    name = module.attributes.get(CONTRACT)
    return name.data if isinstance(name, StringAttr) else None
