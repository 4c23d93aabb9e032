"""LLVM IR as machine code."""

from __future__ import annotations

from functools import cache

from qlower.codegen.llvm.binding import (
    BINDING,
    ModuleRef,
    PassBuilder,
    TargetMachine,
    parse,
)
from qlower.codegen.targets.resolve import Target


def machine_code(text: str, target: Target) -> bytes:
    """The object of LLVM IR."""
    machine = _machine(target)
    module = parse(text)
    del text  # which is as large as the weights
    return machine.emit_object(_optimised(module, target, machine))


def assembly_text(text: str, target: Target) -> str:
    """The assembly of LLVM IR."""
    machine = _machine(target)
    return machine.emit_assembly(_optimised(parse(text), target, machine))


def _machine(target: Target) -> TargetMachine:
    return _machine_of(target.triple, target.cpu, target.features, target.relocation)


@cache
def _machine_of(triple: str, cpu: str, features: str, relocation: str) -> TargetMachine:
    """LLVM's machine for a target; setting it up takes longer than compiling a small
    function."""
    machine = BINDING.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=2, reloc=relocation, codemodel="small"
    )
    machine.set_asm_verbosity(False)
    return machine


def _optimised(module: ModuleRef, target: Target, machine: TargetMachine) -> ModuleRef:
    """Verified and optimized; the loops are vectorised already."""
    module.data_layout = str(machine.target_data)
    options = BINDING.create_pipeline_tuning_options(target.optimizer_level)
    options.loop_unrolling = False
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_interleaving = False
    builder = BINDING.create_pass_builder(machine, options)
    if target.optimizer_level > 1:
        builder.getModulePassManager().run(module, builder)
    else:
        _combine(module, builder)
    return module


def _combine(module: ModuleRef, builder: PassBuilder) -> None:
    """Run the passes of LLVM's second level that are worth their time for code in which
    nothing is computed twice, or in a loop that it doesn't depend on."""
    passes = BINDING.create_new_module_pass_manager()
    passes.add_instruction_combine_pass()
    passes.add_aggressive_instcombine_pass()
    passes.add_constant_merge_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
