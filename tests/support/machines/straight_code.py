"""Instructions on vectors, run by this processor: what code without loops computes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from qlower.codegen.llvm.binding import BINDING, ResourceTracker
from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import POINTER, Type, Value
from qlower.codegen.program.machine_code import machine_code
from qlower.codegen.targets.resolve import Target, host_target
from qlower.model.signature import Array

SCALARS = {"f4": "float", "f8": "double"}


def computed(make: Callable[..., Value], *inputs: Array, lanes: int = 4) -> Array:
    """What `make` computes of a function and a vector of each array's elements, for as
    many at a time as there are lanes."""
    target = host_target()
    module = Module(target.triple, target.function_attributes)
    count = len(inputs) + 1
    f = Function(module, "f", [POINTER] * count, [""] * count, internal=False)
    loaded = [
        f.load(Type(_scalar(array), lanes), pointer, 1)
        for array, pointer in zip(inputs, f.arguments, strict=False)
    ]
    result = make(f, *loaded)
    f.store(result, f.arguments[-1], 1)
    f.finish()
    library = load_function(str(module), target)
    types = {name: letter for letter, name in SCALARS.items()}
    type = types.get(result.type.scalar) or f"i{result.type.bits // 8}"
    size = -(-inputs[0].size // lanes) * lanes
    padded = [np.resize(array, size) for array in inputs]
    found = np.zeros(size, type)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(library["f"])
    for first in range(0, size, lanes):
        call(*(one.ctypes.data + first * one.itemsize for one in (*padded, found)))
    return found[: inputs[0].size]


def load_function(text: str, target: Target) -> ResourceTracker:
    """A module's function `f`, for as long as what is returned is kept."""
    machine = BINDING.Target.from_triple(target.triple).create_target_machine(
        cpu="", features="", opt=0, reloc="default", codemodel="jitdefault"
    )
    jit = BINDING.create_lljit_compiler(machine, use_jit_link=True)
    builder = BINDING.JITLibraryBuilder().add_current_process()
    builder.add_object_img(machine_code(text, target)).export_symbol("f")
    return builder.link(jit, "straight")


def _scalar(array: Array) -> str:
    letter = array.dtype.str[1:]
    return SCALARS.get(letter) or f"i{8 * array.itemsize}"
