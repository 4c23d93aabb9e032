"""Contract files that a model names itself: they lie relative to the model's file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeGuard

from xdsl.dialects.builtin import ModuleOp, StringAttr

from qlower.dialects.qnn import QnnOp
from qlower.dialects.qnn.attributes import CONTRACT, module_contract
from qlower.kept.journal import beside
from qlower.model.printing import exact_module


def name_contracts_from_here(module: ModuleOp, file: Path) -> None:
    """Rename contract files of a module that was read from a file, as they are seen
    from the working directory."""
    _rename(module, lambda name: beside(file, name))


def name_contracts_from(module: ModuleOp, folder: str) -> None:
    """Rename contract files of a module that will be written into `folder`: the inverse
    of `name_contracts_from_here`."""
    _rename(module, lambda name: os.path.relpath(name, folder or "."))


def name_contracts_wholly(module: ModuleOp) -> None:
    """Give contract files of a module that may be read from anywhere their absolute
    paths."""
    _rename(module, os.path.abspath)


def text_in(module: ModuleOp, folder: str, *, generic: bool = False) -> str:
    """The text of a module that will be written into `folder`, whose contract files are
    seen from there; the module itself stays as it is."""
    copy = module.clone()
    name_contracts_from(copy, folder)
    return exact_module(copy, generic=generic)


def _rename(module: ModuleOp, renamed: Callable[[str], str]) -> None:
    """Rename the relative paths among the contracts of a module and its operations."""
    own = module_contract(module)
    if _is_relative(own):
        module.attributes[CONTRACT] = StringAttr(renamed(own))
    for op in module.walk():
        # A module that isn't verified yet may have anything for a contract.
        given = op.properties.get("contract") if isinstance(op, QnnOp) else None
        if isinstance(given, StringAttr) and _is_relative(given.data):
            op.properties["contract"] = StringAttr(renamed(given.data))


def _is_relative(contract: str | None) -> TypeGuard[str]:
    return (
        contract is not None
        and contract.endswith(".mlir")
        and not os.path.isabs(contract)
    )
