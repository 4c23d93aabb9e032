"""The reading of an ONNX file that a contract stands for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr

from qlower.contracts import load_contract
from qlower.diagnostics import warn
from qlower.dialects.qnn.attributes import QDQ, module_contract
from qlower.frontends.import_options import INTEGER, X86
from qlower.model import Model

_NOT_BY_DEFAULT = "session.qdqisint8allowed=1"
"""Stands in the remarks on models that only such a session of ONNX Runtime runs."""


def reading_of(contracts: Sequence[str]) -> str:
    """The reading of QDQ groups that contracts stand for: the one that all of them
    state, or "integer". Raises QlowerError for an unknown contract."""
    stated = {load_contract(name).qdq for name in contracts}
    return (stated.pop() if len(stated) == 1 else None) or INTEGER


def check_reading(model: Model, contract: str | None) -> None:
    """Warn if a contract, by default the model's own, stands for a session of ONNX
    Runtime that would read the model's file differently."""
    name = contract or module_contract(model.module)
    if name is None or model.module.attributes.get(QDQ) != StringAttr(INTEGER):
        return
    is_special = any(_NOT_BY_DEFAULT in remark for remark in model.remarks)
    if is_special and load_contract(name).qdq == X86:
        warn(
            f"{model.path or 'the model'} is read as ONNX Runtime runs it with "
            f"{_NOT_BY_DEFAULT}; {name} stands for its default session on x86-64, "
            "which reads it differently: --qdq x86"
        )
