"""Passes, one a file: pass `lower-qnn` is in `lower_qnn`.

Those that need to know how code is generated are in `codegen`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from qlower.process.lazy import lazy_table

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

PASSES = {
    "arith-to-comb": "qlower.transforms.arith_to_comb:ArithToCombPass",
    "arith-to-smt": "qlower.transforms.arith_to_smt:ArithToSmtPass",
    "check-defined": "qlower.transforms.check_defined:CheckDefinedPass",
    "drop-channels": "qlower.transforms.drop_channels:DropChannelsPass",
    "expand-fixed": "qlower.transforms.expand_fixed:ExpandFixedPass",
    "fold-constants": "qlower.transforms.fold_constants:FoldConstantsPass",
    "form-kernels": "qlower.transforms.form_kernels:FormKernelsPass",
    "fuse-layers": "qlower.transforms.fuse_layers:FuseLayersPass",
    "generalize-linalg": "qlower.transforms.generalize_linalg:GeneralizeLinalgPass",
    "lower-qnn": "qlower.transforms.lower_qnn:LowerQnnPass",
    "lower-stablehlo": "qlower.transforms.lower_stablehlo:LowerStablehloPass",
    "lower-tosa": "qlower.transforms.lower_tosa:LowerTosaPass",
    "match-signs": "qlower.transforms.match_signs:MatchSignsPass",
    "pipeline-circuits": ("qlower.transforms.pipeline_circuits:PipelineCircuitsPass"),
    "plan-memory": "qlower.transforms.plan_memory:PlanMemoryPass",
    "prove-epilogues": "qlower.transforms.prove_epilogues:ProveEpiloguesPass",
    "schedule-contractions": (
        "qlower.codegen.program.schedules:ScheduleContractionsPass"
    ),
    "set-target": "qlower.codegen.targets.set_target:SetTargetPass",
    "split-layers": "qlower.transforms.split_layers:SplitLayersPass",
    "tabulate-functions": "qlower.transforms.tabulate_functions:TabulateFunctionsPass",
    "tabulate-words": "qlower.transforms.tabulate_words:TabulateWordsPass",
}
"""Every pass of qlower, and where its class is."""


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Every pass of qlower by name; each is imported when it is first used."""
    return lazy_table(PASSES)
