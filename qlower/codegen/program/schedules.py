"""The ways to cut contractions for a target, and the one that is best by estimate,
which pass schedule-contractions writes into them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qlower.codegen.nests.content import classes_of_equal
from qlower.codegen.nests.nest import analyse
from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.skeletons.choose import Skeletons
from qlower.codegen.targets.resolve import Target
from qlower.codegen.targets.set_target import target_of
from qlower.dialects.kernel import NestOp, Schedule
from qlower.model.entry import defined_functions
from qlower.tally import Rewrites


@dataclass(frozen=True)
class ScheduleContractionsPass(ModulePass):
    """Write the best schedule by estimate into every contraction without one.

    The module says which machine it is for. With `limit`, only that many get one, from
    the first on.
    """

    name = "schedule-contractions"

    limit: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        schedule_contractions(op, target_of(op), self.limit)


def schedule_contractions(
    module: ModuleOp, target: Target, limit: int | None = None
) -> None:
    """Give every contraction without a schedule the best by estimate."""
    rewrites = Rewrites("contractions scheduled", limit)
    nests = [
        op
        for function in defined_functions(module)
        for op in function.body.block.ops
        if isinstance(op, NestOp) and op.schedule is None
    ]
    best: dict[int, Schedule | None] = {}
    for op, number in classes_of_equal(nests).items():
        if number not in best:
            best[number] = estimated_schedule(op, target)
        schedule = best[number]
        if schedule is not None and rewrites.allow(op):
            op.schedule = schedule


def estimated_schedule(op: NestOp, target: Target) -> Schedule | None:
    """The best schedule by estimate; None for a nest that is no contraction."""
    if op.family.data != Contraction.family:
        return None
    return Skeletons(target, analyse(op)).estimated_schedule()


def possible_schedules(op: NestOp, target: Target) -> list[Schedule]:
    """The schedules that a nest can have, the best by estimate first."""
    if op.family.data != Contraction.family:
        return []
    return Skeletons(target, analyse(op)).schedules()
