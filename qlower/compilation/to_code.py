"""Machine code for a module at the kernel level: LLVM IR, and an object."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.program.flavour import PLAIN, Flavour
from qlower.codegen.program.module import (
    PackageModel,
    compile_module,
    compile_package,
)
from qlower.codegen.targets.resolve import Target
from qlower.diagnostics import LOGGER, warn
from qlower.process.float_environment import default_floats
from qlower.process.garbage import rare_collections


@default_floats()
@rare_collections()
def generate_code(
    module: ModuleOp, target: Target, flavour: Flavour | None = None
) -> CompiledObject:
    """Machine code for a kernel-level module, to be run in this process."""
    _announce(target, target.cpu)
    return compile_module(module, target, flavour or PLAIN)


@default_floats()
@rare_collections()
def generate_package(
    models: Sequence[PackageModel], section: str = "", name: str | None = None
) -> CompiledObject:
    """Machine code for C programs, of a model for inputs of each shape, whose entries a
    constant lists where there is a `name`, with weights in a `section` that is
    named."""
    interface, levels = models[0]
    _announce(levels[0][1], ", ".join(interface.levels))
    return compile_package(models, section, name)


def _announce(target: Target, cpus: str) -> None:
    if target.is_experimental:
        warn(f"target {target.triple} is experimental")
    LOGGER.info("generate code for %s", cpus)
