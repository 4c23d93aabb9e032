"""Layers under a contract other than the model's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError
from qlower.dialects.qnn import QnnOp
from qlower.model import Model
from qlower.model.layers import layer_name, layers, own_arithmetic
from qlower.model.selection import select_layers


def with_layer_contracts(model: Model, contracts: Mapping[str, str]) -> Model:
    """A copy of the model in which some layers name a contract of their own.

    `contracts` is by layers: a kind of operation (`softmax`, or a glob of kinds), or
    else what `select_layers` takes. The last holds that means a layer. Raises
    `QlowerError` for one that means none.
    """
    for contract in contracts.values():
        check_takes_contract(model.module, contract)
    module = model.module.clone()
    for pattern, contract in contracts.items():
        for op in _meant(module, pattern):
            op.contract = contract
    return replace(model, module=module)


def check_takes_contract(module: ModuleOp, contract: str) -> None:
    """Refuse a contract for a model that says itself how everything is rounded."""
    if (stated := own_arithmetic(module)) is not None:
        raise QlowerError(
            f"contract {contract} can't be applied: {stated} states its own arithmetic",
            help="the rounding of every rescaling stands in the model itself",
        )


def _meant(module: ModuleOp, pattern: str) -> list[QnnOp]:
    """The layers of the kind; or else those that `select_layers` finds."""
    operations = [op for op in layers(module) if isinstance(op, QnnOp)]
    of_kind = [op for op in operations if fnmatchcase(op.kind, pattern)]
    if of_kind:
        return of_kind
    names = select_layers(module, pattern)
    return [op for op in operations if layer_name(op) in names]
