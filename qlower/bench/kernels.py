"""Kernels without a model, whose time shows a machine's limits."""

from __future__ import annotations

import time
from collections.abc import Callable

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I32, I64, POINTER, Value, constant
from qlower.codegen.program.compiled import ENTRY, CompiledObject
from qlower.codegen.program.machine_code import machine_code
from qlower.codegen.targets.resolve import Target
from qlower.model.signature import Signature
from qlower.runtime.executable import Executable


def least_seconds(target: Target, emit: Callable[[Function], int], calls: int) -> float:
    """The shortest of some calls of what `emit` writes.

    That works in the arena, the function's third argument, whose bytes it returns; what
    they are is of no matter.
    """
    module = Module(target.triple, target.function_attributes)
    pointers = [POINTER] * 3
    f = Function(module, ENTRY, pointers, [""] * 3, result=I32, internal=False)
    arena = emit(f)
    f.finish(constant(I32, 0))
    code = machine_code(str(module), target)
    run = Executable(CompiledObject((code,), Signature((), ()), arena, target))
    call = run.bind([], [])
    best = float("inf")
    for _ in range(calls):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def at(f: Function, offset: int) -> Value:
    """The address of a byte of the arena."""
    return f.at(f.arguments[2], constant(I64, offset))
