"""From the qnn level down to native code: the one place that says which pass follows.

qnn --lower-qnn--> arith
arith --form-kernels, prove-epilogues, fuse-layers, match-signs (where products ask for
it), plan-memory, and schedules for the target--> kernel
kernel --> LLVM IR, object
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from qlower.codegen.program.interface import Interface
from qlower.diagnostics import LOGGER, QlowerError, warn
from qlower.dialects.quant import QuantizedType, element_type
from qlower.model.signature import main_function
from qlower.text.context import make_context
from qlower.text.parsing import verify_module

if TYPE_CHECKING:
    from qlower.codegen.program.flavour import Flavour
    from qlower.codegen.program.module import CompiledObject
    from qlower.codegen.targets.resolve import Target
    from qlower.transforms.prove_epilogues import Proof


class CompilerBug(Exception):
    """A pass of ours left IR that doesn't verify."""


def lower_to_arith(
    module: ModuleOp, contract: str | None = None, *, expand_fixed: bool = False
) -> ModuleOp:
    """A copy of a qnn-level module at the arith level.

    `contract` names the numerics (or is the path of a file with them), in place of the
    module's own. With `expand_fixed` the result is upstream MLIR, without our ops.
    """
    from xdsl.transforms.canonicalize import CanonicalizePass
    from xdsl.transforms.common_subexpression_elimination import (
        CommonSubexpressionElimination,
    )
    from xdsl.transforms.dead_code_elimination import DeadCodeElimination

    from qlower.contracts import load_contract
    from qlower.transforms.lower_qnn import LowerQnnPass

    if contract is not None:
        load_contract(contract)  # refuse an unknown one here, not at the first layer
    passes: list[ModulePass] = [
        *([LowerQnnPass(contract=contract)] if _is_quantized(module) else []),
        CanonicalizePass(),
        CommonSubexpressionElimination(),
        DeadCodeElimination(),
    ]
    if expand_fixed:
        from qlower.transforms.expand_fixed import ExpandFixedPass

        passes += [ExpandFixedPass(), CanonicalizePass()]
    return _run(module, passes)


def lower_to_kernel(module: ModuleOp, target: Target) -> ModuleOp:
    """A copy of an arith-level module as the loop nests that suit the target best, with
    their places in memory and their schedules."""
    from qlower.codegen.program.schedules import schedule_contractions
    from qlower.transforms.form_kernels import FormKernelsPass
    from qlower.transforms.fuse_layers import FuseLayersPass
    from qlower.transforms.match_signs import MatchSignsPass
    from qlower.transforms.plan_memory import PlanMemoryPass
    from qlower.transforms.prove_epilogues import ProveEpiloguesPass

    proofs = [ProveEpiloguesPass(**_epilogues_for(target))]
    if target.prefers_integers:
        proofs = []
    unsigned = target.prefers_unsigned
    signs = [] if unsigned is None else [MatchSignsPass(unsigned)]
    memory = PlanMemoryPass(target.alignment)
    passes = [FormKernelsPass(), *proofs, FuseLayersPass(), *signs, memory]
    lowered = _run(module, passes)
    # The native entry point is made of @main; a lone function may be called anything.
    main_function(lowered).sym_name = StringAttr("main")
    schedule_contractions(lowered, target)
    return lowered


def epilogue_proofs(module: ModuleOp, target: Target) -> list[Proof]:
    """What lowering an arith-level module for the target proves of its epilogues."""
    from qlower.transforms.form_kernels import FormKernelsPass
    from qlower.transforms.prove_epilogues import prove_epilogues

    if target.prefers_integers:
        return []
    kernels = _run(module, [FormKernelsPass()])
    return prove_epilogues(kernels, **_epilogues_for(target))


def _epilogues_for(target: Target) -> dict[str, bool]:
    """What pays on the target, as options of prove-epilogues."""
    return {
        "fused": target.fuses,
        "mended": target.fixed_point is None,
        "tables": target.byte_tables is not None,
    }


def generate_code(
    module: ModuleOp, target: Target, flavour: Flavour | None = None
) -> CompiledObject:
    """Machine code for a kernel-level module, to be run in this process."""
    from qlower.codegen.program.flavour import PLAIN
    from qlower.codegen.program.module import compile_module

    _announce(target, target.cpu)
    return compile_module(module, target, flavour or PLAIN)


def generate_package(
    levels: Sequence[tuple[ModuleOp, Target]], interface: Interface
) -> CompiledObject:
    """Machine code for C programs, of the kernel-level module for each target."""
    from qlower.codegen.program.module import compile_package

    _announce(levels[0][1], ", ".join(interface.levels))
    return compile_package(levels, interface)


def _announce(target: Target, cpus: str) -> None:
    if target.is_experimental:
        warn(f"target {target.triple.split('-')[0]} is experimental")
    LOGGER.info("generate code for %s", cpus)


def _is_quantized(module: ModuleOp) -> bool:
    """Whether anything is left for lower-qnn to do."""
    return any(
        op.dialect_name() in ("qnn", "quant")
        or any(isinstance(element_type(type), QuantizedType) for type in _types(op))
        for op in module.walk()
    )


def _types(op: Operation) -> Sequence[Attribute]:
    """The types of the values that an operation or its blocks define."""
    arguments = (
        argument.type
        for region in op.regions
        for block in region.blocks
        for argument in block.args
    )
    return (*op.result_types, *arguments)


def _run(module: ModuleOp, passes: Sequence[ModulePass]) -> ModuleOp:
    """Apply passes to a copy; each has to leave a module that verifies."""
    context = make_context()
    result = module.clone()
    for step in passes:
        LOGGER.info("%s", step.name)
        step.apply(context, result)
        try:
            verify_module(result)
        except QlowerError as error:
            raise CompilerBug(f"after {step.name}: {error}") from error
    return result
