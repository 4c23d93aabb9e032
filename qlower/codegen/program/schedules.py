"""How contractions may be cut for a target, and the way that is best by estimate."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from qlower.codegen.nests.nest import analyse
from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.skeletons.choose import Skeletons
from qlower.codegen.targets.resolve import Target
from qlower.dialects.kernel import NestOp, Schedule


def schedule_contractions(module: ModuleOp, target: Target) -> None:
    """Write the best schedule by estimate into every contraction without one."""
    for op in module.walk():
        if isinstance(op, NestOp) and op.schedule is None:
            op.schedule = estimated_schedule(op, target)


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
