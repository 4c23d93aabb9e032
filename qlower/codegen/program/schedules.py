"""How contractions may be cut for a target, and the way that is best by estimate."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from qlower.codegen.llvm.text import POINTER, Value
from qlower.codegen.nests.nest import analyse, constant_bytes
from qlower.codegen.nests.recognise import Contraction, recognise
from qlower.codegen.skeletons.contraction.emit import tile_candidates
from qlower.codegen.skeletons.contraction.tiling import Tiling
from qlower.codegen.skeletons.tile_registers.plan import plan_tiles, possible_tiles
from qlower.codegen.targets.resolve import Target
from qlower.dialects.kernel import NestOp, Schedule, TileAttr, TileRegistersAttr


def schedule_contractions(module: ModuleOp, target: Target) -> None:
    """Write the best schedule by estimate into every contraction without one."""
    for op in module.walk():
        if isinstance(op, NestOp) and op.schedule is None:
            contraction = _contraction(op)
            if contraction is not None:
                op.schedule = _estimated(target, contraction)


def possible_schedules(op: NestOp, target: Target) -> list[Schedule]:
    """The schedules that a nest without one can have, the best by estimate first."""
    contraction = _contraction(op)
    if contraction is None:
        return []
    found: list[Schedule] = []
    if possible_tiles(target, contraction) is not None:
        found.append(TileRegistersAttr())
    best = _estimated(target, contraction)
    found += map(_tile, tile_candidates(target, contraction))
    return [best, *(other for other in dict.fromkeys(found) if other != best)]


def _estimated(target: Target, contraction: Contraction) -> Schedule:
    if plan_tiles(target, contraction) is not None:
        return TileRegistersAttr()
    return _tile(tile_candidates(target, contraction)[0])


def _tile(tiling: Tiling) -> TileAttr:
    return TileAttr(tiling.height, tiling.width)


def _contraction(op: NestOp) -> Contraction | None:
    """The nest as the code generator sees it, if that is a contraction."""
    if op.family.data != "contraction":
        return None
    pointer = Value(POINTER, "%tensor")
    values = (*op.inputs, *op.tables, *op.res)
    pointers = [pointer if constant_bytes(v) is None else None for v in values]
    found = recognise(analyse(op, pointers))
    return found if isinstance(found, Contraction) else None
