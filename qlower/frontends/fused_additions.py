"""Models as systems run them that add within the convolution before an addition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from qlower.contracts import load_contract
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import module_contract
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.model import Model
from qlower.model.entry import main_function

FUSED: Mapping[type[Operation], type[qnn.FusedAddOp]] = {
    qnn.Conv2DOp: qnn.Conv2DAddOp,
    qnn.DepthwiseConv2DOp: qnn.DepthwiseConv2DAddOp,
}


def as_run_by(model: Model, contracts: Sequence[str]) -> Model:
    """The model with additions fused into the convolutions before them, if all
    contracts (by default the model's own) have a rule for that."""
    own = module_contract(model.module)
    names = contracts or ([own] if own else [])
    if not names or not _candidates(model.module):
        return model
    if not all("conv2d_add" in load_contract(name).rules for name in names):
        return model
    module = model.module.clone()
    for add in _candidates(module):
        _fuse(add)
    return replace(model, module=module)


def _candidates(module: ModuleOp) -> list[qnn.AddOp]:
    operations = main_function(module).body.block.ops
    additions = [op for op in operations if isinstance(op, qnn.AddOp)]
    return [add for add in additions if _convolution(add) is not None]


def _convolution(add: qnn.AddOp) -> SSAValue | None:
    """The operand of an addition whose convolution computes it.

    It has no other use, and its activation does no more than its range. Of two
    convolutions without another use it is the first. What it adds is overwritten: the
    convolution itself doesn't read that, and whatever else does comes before.
    """
    shapes = {shape_of(value) for value in (add.lhs, add.rhs, add.result)}
    if add.contract is not None or len(shapes) > 1:
        return None
    lone = [
        v for v in (add.lhs, add.rhs) if type(v.owner) in FUSED and len([*v.uses]) == 1
    ]
    if not lone:
        return None
    summand, convolution = lone[0], lone[0].owner
    addend = add.rhs if summand is add.lhs else add.lhs
    assert isinstance(convolution, qnn.Conv2DOp | qnn.DepthwiseConv2DOp)
    readers = {use.operation for use in addend.uses} - {add}
    if convolution.contract is not None or not _is_range(convolution):
        return None
    is_free = convolution not in readers and readers <= _sources(add)
    return summand if is_free else None


def _is_range(op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp) -> bool:
    """Whether the activation, if there is one, clips no more than the codes do."""
    if op.activation is None:
        return True
    quantized = quantized_element(op.result.type)
    low, high = qnn.ACTIVATION_BOUNDS[op.activation]
    return (low, high) == (0.0, None) and quantized.zero_point == quantized.storage_min


def _sources(op: Operation) -> set[Operation]:
    """The operations that one depends on."""
    found: set[Operation] = set()
    waiting = [op]
    while waiting:
        owners = {value.owner for value in waiting.pop().operands}
        new = {owner for owner in owners if isinstance(owner, Operation)} - found
        found |= new
        waiting += new
    return found


def _fuse(add: qnn.AddOp) -> None:
    """Replace an addition and the convolution before it by one operation."""
    summand = _convolution(add)
    assert summand is not None
    convolution = summand.owner
    assert isinstance(convolution, qnn.Conv2DOp | qnn.DepthwiseConv2DOp)
    fields = {
        name: getattr(convolution, name) for name in ("stride", "pad", "dilation")
    }
    if isinstance(convolution, qnn.Conv2DOp):
        fields |= {"groups": convolution.groups, "transposed": convolution.transposed}
    made = FUSED[type(convolution)](
        *(convolution.input, convolution.weight, convolution.bias),
        *(add.rhs if summand is add.lhs else add.lhs, add.result.type),
        **fields,
        summand=quantized_element(summand.type),
        activation=add.activation,
    )
    made.location = add.location
    block = add.parent
    assert block is not None
    block.insert_op_before(made, add)
    add.result.replace_all_uses_with(made.results[0])
    for op in (add, convolution):
        block.erase_op(op)
