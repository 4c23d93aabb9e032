"""Passes, one a file: pass `lower-qnn` is in `lower_qnn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Every pass of ours by name; each is imported when it is first used."""

    def get_fuse_layers() -> type[ModulePass]:
        from qlower.transforms.fuse_layers import FuseLayersPass

        return FuseLayersPass

    def get_lower_qnn() -> type[ModulePass]:
        from qlower.transforms.lower_qnn import LowerQnnPass

        return LowerQnnPass

    def get_expand_fixed() -> type[ModulePass]:
        from qlower.transforms.expand_fixed import ExpandFixedPass

        return ExpandFixedPass

    def get_form_kernels() -> type[ModulePass]:
        from qlower.transforms.form_kernels import FormKernelsPass

        return FormKernelsPass

    def get_match_signs() -> type[ModulePass]:
        from qlower.transforms.match_signs import MatchSignsPass

        return MatchSignsPass

    def get_plan_memory() -> type[ModulePass]:
        from qlower.transforms.plan_memory import PlanMemoryPass

        return PlanMemoryPass

    def get_prove_epilogues() -> type[ModulePass]:
        from qlower.transforms.prove_epilogues import ProveEpiloguesPass

        return ProveEpiloguesPass

    return {
        "expand-fixed": get_expand_fixed,
        "form-kernels": get_form_kernels,
        "fuse-layers": get_fuse_layers,
        "lower-qnn": get_lower_qnn,
        "match-signs": get_match_signs,
        "plan-memory": get_plan_memory,
        "prove-epilogues": get_prove_epilogues,
    }
