"""Pass split-layers: layers computed in bands of rows, where the arena is to be small.

The first layers of a network for images have large results; the next layer needs a
few of their rows at a time. A run of layers whose results nobody else reads is computed
band by band: each band of the last result from the rows of the inputs that it needs.
Rows that two bands need are computed twice, by the same code: not a bit changes.

Only where the target is optimized for RAM, and where the arena as it is then planned
(plan-memory) becomes an eighth smaller by each such run.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from qlower.codegen.targets.optimized import RAM
from qlower.codegen.targets.resolve import Target
from qlower.codegen.targets.set_target import target_of
from qlower.dialects.qnn.attributes import states_of
from qlower.model.entry import defined_functions
from qlower.tally import count
from qlower.transforms.plan_memory import place_padding, plan_memory
from qlower.transforms.split_layers.choose import Layers, Split

_TRIALS = 4
"""Splits, the best by their estimates, that are planned in full."""

_WORTH = 1 / 8
"""Part of the arena that a split must save, as its rows are computed twice."""


@dataclass(frozen=True)
class SplitLayersPass(ModulePass):
    """Compute layers of images in bands of rows, where that lowers the arena's peak and
    the target is optimized for RAM."""

    name = "split-layers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        if target.optimize == RAM:
            for function in defined_functions(op):
                count("layers in bands", split_layers(function, target))


def split_layers(function: FuncOp, target: Target) -> int:
    """Computes runs of layers of a function in bands; returns how many runs."""
    if states_of(function):
        return 0
    best = function.clone()
    least = plan_memory(best, target.alignment, target)
    splits: list[Split] = []
    while True:
        place_padding(best.body.block)
        candidates = Layers(best.body.block).best_splits()[:_TRIALS]
        trials = [(*_tried(best, split, target), split) for split in candidates]
        bytes, best, split = min(
            trials, key=lambda trial: trial[0], default=(0, best, None)
        )
        if split is None or bytes > (1 - _WORTH) * least:
            break
        least = bytes
        splits.append(split)
    for split in splits:
        split.apply(function.body.block)
    return len(splits)


def _tried(function: FuncOp, split: Split, target: Target) -> tuple[int, FuncOp]:
    """The arena's bytes with a split, and a copy of the function that has it."""
    trial = function.clone()
    split.apply(trial.body.block)
    return plan_memory(trial, target.alignment, target), trial
