"""Linear layers as systems run them that have one kernel for several in a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qlower.contracts import load_contract
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import OPEN_SIZES, module_contract
from qlower.dialects.types import shape_of
from qlower.model import Model
from qlower.model.entry import main_function

MAX_ROWS = 8
MAX_SIZE = 256
"""Inputs, and outputs, of a layer."""

MAX_LAYERS = 7
"""Layers for whose operands OpenVINO's kernel has registers on x86-64."""


def in_sequences(model: Model, contracts: Sequence[str]) -> Model:
    """The model with layers marked whose results OpenVINO quantizes in a kernel of
    several linear layers, if a contract (by default the model's own) asks for that.

    The conditions are those of its pass, in one thread: so no size may be open.
    """
    own = module_contract(model.module)
    names = contracts or ([own] if own else [])
    if OPEN_SIZES in model.module.attributes or not _in_kernels(model.module):
        return model
    if not any(_is_asked_for(name) for name in names):
        return model
    module = model.module.clone()
    for op in _in_kernels(module):
        op.in_sequence = True
    return replace(model, module=module)


def _is_asked_for(contract: str) -> bool:
    rules = load_contract(contract).rules
    return "linear" in rules and "in_sequence" in rules["linear"].values


def _in_kernels(module: ModuleOp) -> list[qnn.LinearOp | qnn.MeanOp]:
    """The layers of all kernels, and the layers whose results these quantize first."""
    found: list[qnn.LinearOp | qnn.MeanOp] = []
    for op in main_function(module).body.block.ops:
        if op in found or not isinstance(op, qnn.LinearOp) or not _is_small(op):
            continue
        sequence = [op]
        while len(sequence) < MAX_LAYERS and (after := _only_reader(sequence[-1])):
            if not _is_small(after):
                break
            sequence.append(after)
        if len(sequence) < 2:
            continue
        found += sequence
        before = op.input.owner
        if isinstance(before, qnn.LinearOp | qnn.MeanOp) and before.contract is None:
            found += [before] if _only_reader(before) is op else []
    return found


def _only_reader(op: Operation) -> qnn.LinearOp | None:
    """The linear layer that takes a result, if nothing else does."""
    uses = [*op.results[0].uses]
    if len(uses) != 1 or uses[0].index != 0:
        return None
    reader = uses[0].operation
    return reader if isinstance(reader, qnn.LinearOp) else None


def _is_small(op: qnn.LinearOp) -> bool:
    """Whether OpenVINO has a kernel of several for a layer."""
    shape, units = shape_of(op.input), shape_of(op.result)[-1]
    is_constant = isinstance(op.weight.owner, qnn.ConstantOp)
    is_matrix = len(shape) == 2 and shape[0] <= MAX_ROWS
    is_own = op.contract is None and is_constant
    return is_own and is_matrix and max(shape[1], units) <= MAX_SIZE
