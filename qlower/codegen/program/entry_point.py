"""The entry point that C code calls: checked, typed by the header, re-entrant.

    int32_t <name>_run_checked(uint64_t identity, const T *input, ..., T *output, ...,
                               [void *state,] void *arena, uint64_t arena_bytes);

It checks what it is given and the processor, in the order of `STATUS_CODES`, and calls
the model's code for the level that `codegen.levels` chooses. What that leaves for the
next call lies at the end of the arena, and is copied over the state at last.

    int32_t <name>_reset_checked(uint64_t identity, void *state);

makes a state, of a model that has any, a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module, escape_bytes
from qlower.codegen.llvm.values import I32, I64, NULL, POINTER, Type, Value, constant
from qlower.codegen.program.interface import STATUS_CODES, Interface
from qlower.model.state import STATE_ALIGNMENT, initial_memory, state_offsets


def add_entry_point(
    module: Module, interface: Interface, callees: Sequence[str]
) -> None:
    """Define the checked entry point, and the interface's text as data.

    `callees` are the functions of the levels, in order. They take arrays of pointers to
    inputs and outputs, and the arena.
    """
    add_text(module, interface.metadata, interface.to_json())
    f = _function(module, interface.entry, len(interface.pointers) + 1, I64)
    identity, *ports, arena, arena_bytes = f.arguments
    state = ports.pop() if interface.state_bytes else NULL
    pointers = [argument for argument in f.arguments if argument.type == POINTER]
    level = f.call(interface.level_function, I32, [])
    failures = {
        "ERROR_VERSION": _is_other(f, interface, identity),
        "ERROR_NULL": reduce(
            partial(f.binary, "or"),
            [f.compare("eq", pointer, NULL) for pointer in pointers],
        ),
        "ERROR_ARENA_SIZE": f.compare(
            "ult", arena_bytes, constant(I64, interface.arena_bytes)
        ),
        "ERROR_ARENA_ALIGNMENT": _is_misaligned(f, arena, interface.arena_alignment),
        "ERROR_PROCESSOR": f.compare("eq", level, constant(I32, 0)),
        "ERROR_STATE_ALIGNMENT": _is_misaligned(f, state, STATE_ALIGNMENT),
    }

    def run() -> None:
        inputs = len(interface.signature.inputs)
        offsets = state_offsets(interface.signature.states)[:-1]
        base = interface.arena_bytes - interface.state_bytes
        taken = [f.at(state, constant(I64, offset)) for offset in offsets]
        left = [f.at(arena, constant(I64, base + offset)) for offset in offsets]
        arguments = [
            _pointer_array(f, [*ports[:inputs], *taken]),
            _pointer_array(f, [*ports[inputs:], *left]),
            arena,
        ]
        if len(callees) == 1:
            f.call_function(callees[0], arguments)
        else:
            for number, callee in enumerate(callees, 1):
                chosen = f.compare("eq", level, constant(I32, number))
                f.when(chosen, partial(f.call_function, callee, arguments))
        for spec, source, target in zip(
            interface.signature.states, left, taken, strict=True
        ):
            f.copy_bytes(target, source, spec.nbytes)

    _finish(f, failures, run)


def add_text(module: Module, name: str, text: str) -> None:
    """Define a string of C."""
    data = text.encode() + b"\0"
    module.globals.append(
        f'@{name} = constant [{len(data)} x i8] c"{escape_bytes(data)}", align 1'
    )


def add_reset_point(module: Module, interface: Interface) -> None:
    """Define the checked function that makes a state a new one."""
    f = _function(module, interface.reset, 1)
    identity, state = f.arguments
    failures = {
        "ERROR_VERSION": _is_other(f, interface, identity),
        "ERROR_NULL": f.compare("eq", state, NULL),
        "ERROR_STATE_ALIGNMENT": _is_misaligned(f, state, STATE_ALIGNMENT),
    }
    initial = module.add_constant(initial_memory(interface.signature.states))
    _finish(f, failures, lambda: f.copy_bytes(state, initial, interface.state_bytes))


def _function(module: Module, name: str, pointers: int, *more: Type) -> Function:
    """A function that C calls, of an identity, pointers and more; it gives a status."""
    types = [I64, *[POINTER] * pointers, *more]
    return Function(module, name, types, [""] * len(types), result=I32, internal=False)


def _is_other(f: Function, interface: Interface, identity: Value) -> Value:
    """Whether the caller knows another interface."""
    return f.compare("ne", identity, constant(I64, interface.identity))


def _is_misaligned(f: Function, pointer: Value, alignment: int) -> Value:
    address = f.cast("ptrtoint", pointer, "i64")
    rest = f.binary("and", address, constant(I64, alignment - 1))
    return f.compare("ne", rest, constant(I64, 0))


def _finish(
    f: Function, failures: Mapping[str, Value], run: Callable[[], None]
) -> None:
    """Call `run` if nothing fails; the status is the first failure's."""
    status = constant(I32, 0)
    for name in reversed([*STATUS_CODES]):
        if name in failures:
            code, _ = STATUS_CODES[name]
            status = f.select(failures[name], constant(I32, code), status)
    f.when(f.compare("eq", status, constant(I32, 0)), run)
    f.finish(status)


def _pointer_array(f: Function, pointers: Sequence[Value]) -> Value:
    size = f.module.pointer_bits // 8
    array = f.allocate(size * len(pointers), 8)
    for index, pointer in enumerate(pointers):
        f.store(pointer, f.at(array, constant(I64, size * index)), size)
    return array
