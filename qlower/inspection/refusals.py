"""Layers that a contract refuses, and the facts that hold for the others."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp

from qlower.codegen.targets.resolve import Target
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_kernel import epilogue_proofs
from qlower.diagnostics import QlowerError
from qlower.model.extract import LayerIndex, detach_layers
from qlower.model.layers import layer_name, layers
from qlower.transforms.prove_epilogues import Proof


def layer_refusals(
    module: ModuleOp, names: Iterable[str], contract: str | None
) -> dict[str, str]:
    """Why the contract refuses which of the layers."""
    refused: dict[str, str] = {}
    index = LayerIndex(module)
    for name in names:
        try:
            lower_to_arith(index.detach([name])[0], contract)
        except QlowerError as error:
            refused[name] = error.message
    return refused


def known_proofs(
    module: ModuleOp, contract: str | None, target: Target
) -> tuple[list[Proof], dict[str, str]]:
    """Proofs for the layers that the contract accepts, and its reasons to refuse
    others.

    Layers are taken alone, so that proofs hold for any input of the layer.
    """
    names = [name for op in layers(module) if (name := layer_name(op)) is not None]
    refused = layer_refusals(module, names, contract)
    taken = [name for name in names if name not in refused]
    if not taken:
        return [], refused
    arith = lower_to_arith(detach_layers(module, taken)[0], contract)
    return epilogue_proofs(arith, target), refused
