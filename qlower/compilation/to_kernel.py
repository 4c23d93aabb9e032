"""From the arith to the kernel level: the passes in their order.

arith --set-target, form-kernels, check-defined, drop-channels, tabulate-words,
prove-epilogues, fuse-layers, tabulate-functions, match-signs, split-layers,
plan-memory, schedule-contractions--> kernel
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qlower.codegen.program.schedules import ScheduleContractionsPass
from qlower.codegen.targets.resolve import Target
from qlower.codegen.targets.set_target import SetTargetPass
from qlower.compilation.passes import Observer, apply_passes
from qlower.process.float_environment import default_floats
from qlower.process.garbage import rare_collections
from qlower.transforms.check_defined import CheckDefinedPass
from qlower.transforms.drop_channels import DropChannelsPass, Dropped, dropped_channels
from qlower.transforms.form_kernels import FormKernelsPass
from qlower.transforms.fuse_layers import FuseLayersPass
from qlower.transforms.match_signs import MatchSignsPass
from qlower.transforms.plan_memory import PlanMemoryPass
from qlower.transforms.prove_epilogues import (
    Machine,
    Proof,
    ProveEpiloguesPass,
    prove_epilogues,
)
from qlower.transforms.split_layers import SplitLayersPass
from qlower.transforms.tabulate_functions import TabulateFunctionsPass
from qlower.transforms.tabulate_words import TabulateWordsPass


def kernel_passes(target: Target) -> list[ModulePass]:
    """The passes from the arith to the kernel level: the loop nests that suit the
    target best, with their positions in memory and their schedules."""
    return [
        SetTargetPass.of(target),
        FormKernelsPass(),
        CheckDefinedPass(),
        DropChannelsPass(),
        TabulateWordsPass(),
        FuseLayersPass(real=True),
        ProveEpiloguesPass(),
        FuseLayersPass(),
        TabulateFunctionsPass(),
        MatchSignsPass(),
        SplitLayersPass(),
        PlanMemoryPass(target.alignment),
        ScheduleContractionsPass(),
    ]


@default_floats()
@rare_collections()
def lower_to_kernel(
    module: ModuleOp, target: Target, observers: Sequence[Observer] = ()
) -> ModuleOp:
    """A copy of an arith-level module at the kernel level, for the target."""
    return apply_passes(module, kernel_passes(target), observers)


@default_floats()
def epilogue_proofs(module: ModuleOp, target: Target) -> list[Proof]:
    """The proofs about its epilogues that lowering an arith-level module for the target
    makes."""
    return _proofs(_formed(module), target)


@default_floats()
def channels_dropped(module: ModuleOp) -> list[Dropped]:
    """The products of an arith-level module that no result depends on: those of
    channels that are constant, or that nothing reads."""
    return dropped_channels(_formed(module))


@default_floats()
def proofs_and_dropped(
    module: ModuleOp, target: Target
) -> tuple[list[Proof], list[Dropped]]:
    """`epilogue_proofs` and `channels_dropped`, of kernels that are formed once."""
    kernels = _formed(module)
    dropped = dropped_channels(kernels)  # before proofs rewrite what it reads
    return _proofs(kernels, target), dropped


def _formed(module: ModuleOp) -> ModuleOp:
    return apply_passes(module, [FormKernelsPass()])


def _proofs(kernels: ModuleOp, target: Target) -> list[Proof]:
    machine = Machine.of(target)
    return [] if machine is None else prove_epilogues(kernels, machine)
