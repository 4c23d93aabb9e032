"""Cuts circuits into stages with registers between them.

An output is `stages` cycles of the clock later than the inputs that it comes from, and
a new set of inputs may come each cycle. Steps are put into stages by how long they
take, estimated from their widths: a register between two steps is where the earlier of
them ends beyond its share of the longest path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import comb, hw, seq
from xdsl.dialects.builtin import ArrayAttr, IntegerType, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from qlower.diagnostics import QlowerError
from qlower.text.hints import set_hint

CLOCK = "clk"

MOST_STAGES = 64

_FREE = (
    hw.ConstantOp,
    hw.ArrayCreateOp,
    hw.OutputOp,
    comb.ExtractOp,
    comb.ConcatOp,
    comb.ReplicateOp,
)
"""Operations that are wires."""

_WIDER = (comb.ConcatOp, comb.ReplicateOp)

_CARRIES = (comb.AddOp, comb.SubOp, comb.ICmpOp)
_DIVISIONS = (comb.DivSOp, comb.DivUOp, comb.ModSOp, comb.ModUOp)
_SHIFTS = (comb.ShlOp, comb.ShrSOp, comb.ShrUOp)


@dataclass(frozen=True)
class PipelineCircuitsPass(ModulePass):
    """Registers between the stages of circuits: `{stages=3}` gives a latency of 3."""

    name = "pipeline-circuits"

    stages: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for module in op.body.block.ops:
            if isinstance(module, hw.HWModuleOp):
                pipeline(module, self.stages)


def pipeline(module: hw.HWModuleOp, stages: int) -> None:
    """Give a circuit of `arith-to-comb` a clock and the given number of stages, 1 to
    64; its outputs are that many cycles later."""
    if not 1 <= stages <= MOST_STAGES:
        raise QlowerError(f"stages must be in [1, {MOST_STAGES}], not {stages}")
    block = module.body.block
    if any(isinstance(argument.type, seq.ClockType) for argument in block.args):
        raise QlowerError(
            f"module {module.sym_name.data} has a clock already", module.location
        )
    stage_of = _stages(module, stages)
    clock = block.insert_arg(seq.clock, 0)
    set_hint(clock, CLOCK)
    input = hw.DirectionAttr(hw.Direction.INPUT)
    port = hw.ModulePort(StringAttr(CLOCK), seq.clock, input)
    module.module_type = hw.ModuleType(
        ArrayAttr([port, *module.module_type.ports.data])
    )
    later: dict[tuple[SSAValue, int], SSAValue] = {}

    def at(value: SSAValue, stage: int, user: Operation) -> SSAValue:
        """A value in a stage, through as many registers as that is later; those of a
        value that was made wider are before that."""
        if value not in stage_of or stage_of[value] == stage:
            return value
        key = value, stage
        if key in later:
            return later[key]
        owner = value.owner
        if isinstance(owner, _WIDER):
            parts = [at(operand, stage, user) for operand in owner.operands]
            copy = owner.clone(dict(zip(owner.operands, parts, strict=True)))
            (later[key],) = copy.results
        else:
            copy = seq.CompRegOp(at(value, stage - 1, user), clock)
            set_hint(copy.data, f"{value.name_hint or 't'}_at{stage}")
            later[key] = copy.data
        block.insert_op_before(copy, user)
        return later[key]

    for op in tuple(block.ops):
        is_output = isinstance(op, hw.OutputOp)
        own = stages if is_output else stage_of.get(op.results[0])
        if own is not None:
            op.operands = [at(operand, own, op) for operand in op.operands]
    for op in reversed(tuple(block.ops)):
        if isinstance(op, _WIDER) and not any(one.uses for one in op.results):
            block.erase_op(op)


def _stages(module: hw.HWModuleOp, stages: int) -> Mapping[SSAValue, int]:
    """The stage in which each value is computed; constants have none."""
    ends: dict[SSAValue, int] = dict.fromkeys(module.body.block.args, 0)
    for op in module.body.block.ops:
        known = [ends[operand] for operand in op.operands if operand in ends]
        if known and op.results:
            ends[op.results[0]] = max(known) + _time(op)
    longest = max(ends.values(), default=0)
    return {
        value: max(-(-end * (stages + 1) // longest) - 1, 0) if longest else 0
        for value, end in ends.items()
    }


def _time(op: Operation) -> int:
    """The rough time of an operation, in levels of gates."""
    if isinstance(op, _FREE):
        return 0
    type = op.operands[-1].type
    levels = type.bitwidth.bit_length() if isinstance(type, IntegerType) else 1
    if isinstance(op, comb.MulOp):
        return 4 * levels
    if isinstance(op, _DIVISIONS):
        return levels << levels
    if isinstance(op, _CARRIES):
        return levels + 2
    return levels if isinstance(op, _SHIFTS) else 2
