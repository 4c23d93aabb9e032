"""The reading and the codes of models that each contract implies."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr

from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError, warn
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import QDQ, module_contract
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.frontends.import_options import DEVICE, INTEGER, SHARED_ZERO_POINT, X86
from qlower.model import Model
from qlower.model.layers import layer_name, layers

SIGNED = "signed"
"""The value in contracts whose system has no unsigned codes."""

_NOT_BY_DEFAULT = "session.qdqisint8allowed=1"
"""Stands in the remarks on models that only such a session of ONNX Runtime runs."""

_REAL = "runs on float32"
"""Stands in the remarks on models with quantized layers that stay real."""


_FORM = "in_qdq"
"""The value for which contracts ask that dequantize by the form of the file."""


def reading_of(contracts: Sequence[str]) -> str:
    """The reading of QDQ groups that contracts stand for: the one that all of them
    state, or "integer". Raises QlowerError for an unknown contract."""
    stated = {load_contract(name).qdq for name in contracts}
    return (stated.pop() if len(stated) == 1 else None) or INTEGER


def check_codes(model: Model, contract: str | None) -> None:
    """Raise QlowerError if the system of a contract, by default the model's own, has no
    kernel for a layer's unsigned codes. Layers that only reshape them, dequantize
    them, or change their sign are accepted."""
    name = contract or module_contract(model.module)
    if name is None or load_contract(name).codes != SIGNED:
        return
    for op in layers(model.module):
        types = [element_type(value.type) for value in (*op.operands, *op.results)]
        signs = {one.signed for one in types if isinstance(one, QuantizedType)}
        if isinstance(op, qnn.QnnOp) and not _takes_any_sign(op, signs):
            raise QlowerError(
                f"layer {layer_name(op) or op.name!r} has unsigned codes, for which "
                f"the system of {name} has no kernel; it has those of signed codes",
                op.location,
            )


def _takes_any_sign(op: qnn.QnnOp, signs: set[bool]) -> bool:
    """Whether TFLite Micro has a kernel of an operation for codes of these signs."""
    if False not in signs or isinstance(op, qnn.DequantizeOp | qnn.ReshapeOp):
        return True
    return isinstance(op, qnn.RequantizeOp) and True in signs


def check_reading(model: Model, contract: str | None) -> None:
    """Warn if a contract, by default the model's own, stands for a session of ONNX
    Runtime, or for a device, that would read the model's file differently, or for a
    system that dequantizes its outputs differently."""
    name = contract or module_contract(model.module)
    reading = model.module.attributes.get(QDQ)
    if name is None or reading in (None, StringAttr(DEVICE)):
        return
    stated = load_contract(name).qdq
    if stated == DEVICE and any(_REAL in remark for remark in model.remarks):
        warn(
            f"{model.path or 'the model'} is read as ONNX Runtime runs it, with layers "
            f"of float32; the devices of {name} have none: --qdq device"
        )
    rule = load_contract(name).rules.get("dequantize")
    if rule is not None and _FORM in rule.values:
        for remark in model.remarks:
            if remark.startswith(SHARED_ZERO_POINT):
                warn(f"{model.path or 'the model'}: {remark}")
    is_special = any(_NOT_BY_DEFAULT in remark for remark in model.remarks)
    if is_special and (reading, stated) == (StringAttr(INTEGER), X86):
        warn(
            f"{model.path or 'the model'} is read as ONNX Runtime runs it with "
            f"{_NOT_BY_DEFAULT}; {name} stands for its default session on x86-64, "
            "which reads it differently: --qdq x86"
        )
