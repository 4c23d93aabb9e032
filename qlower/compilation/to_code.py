"""Machine code for a module at the kernel level: LLVM IR, and an object."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.program.flavour import PLAIN, Flavour
from qlower.codegen.program.interface import Interface
from qlower.codegen.program.module import compile_module, compile_package
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
    levels: Sequence[tuple[ModuleOp, Target]], interface: Interface, section: str = ""
) -> CompiledObject:
    """Machine code for C programs, of the kernel-level module for each target, with
    weights in a `section` that is named."""
    _announce(levels[0][1], ", ".join(interface.levels))
    return compile_package(levels, interface, section)


def _announce(target: Target, cpus: str) -> None:
    if target.is_experimental:
        warn(f"target {target.triple} is experimental")
    LOGGER.info("generate code for %s", cpus)
