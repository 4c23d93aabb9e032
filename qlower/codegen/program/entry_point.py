"""The entry point that C code calls: checked, typed by the header, re-entrant.

    int32_t <name>_run_checked(uint64_t identity, const T *input, ..., T *output, ...,
                               void *arena, uint64_t arena_bytes);

It checks what it is given and the processor, in the order of `STATUS_CODES`, and calls
the model's code for the level that `codegen.levels` chooses.
"""

from __future__ import annotations

from collections.abc import Sequence

from qlower.codegen.llvm.text import escape_bytes
from qlower.codegen.program.interface import STATUS_CODES, Interface


def entry_point(
    interface: Interface, callees: Sequence[str], pointer_bytes: int
) -> list[str]:
    """LLVM IR of the checked entry point, and of the interface's text as data.

    `callees` are the functions of the levels, in order. They take arrays of pointers to
    inputs and outputs, and the arena.
    """
    text = interface.to_json().encode() + b"\0"
    ports = [name for name, _ in interface.ports]
    inputs = ports[: len(interface.signature.inputs)]
    outputs = ports[len(inputs) :]
    pointers = [f"%{name}" for name in (*ports, "arena")]
    body = [
        f"%wrong_version = icmp ne i64 %identity, {_signed(interface.identity)}",
        *(f"%null{i} = icmp eq ptr {p}, null" for i, p in enumerate(pointers)),
        *(
            f"%any{i} = or i1 {f'%any{i - 1}' if i else 'false'}, %null{i}"
            for i in range(len(pointers))
        ),
        f"%too_small = icmp ult i64 %arena_bytes, {interface.arena_bytes}",
        "%address = ptrtoint ptr %arena to i64",
        f"%offset = and i64 %address, {interface.arena_alignment - 1}",
        "%misaligned = icmp ne i64 %offset, 0",
        f"%level = call i32 @{interface.level_function}()",
        "%wrong_processor = icmp eq i32 %level, 0",
        _choose("s", "wrong_processor", "ERROR_PROCESSOR", "0"),
        _choose("s0", "misaligned", "ERROR_ARENA_ALIGNMENT", "%s"),
        _choose("s1", "too_small", "ERROR_ARENA_SIZE", "%s0"),
        _choose("s2", f"any{len(pointers) - 1}", "ERROR_NULL", "%s1"),
        _choose("status", "wrong_version", "ERROR_VERSION", "%s2"),
        "%ok = icmp eq i32 %status, 0",
        "br i1 %ok, label %run, label %done",
    ]
    call = [
        *_pointer_array("inputs", inputs, pointer_bytes),
        *_pointer_array("outputs", outputs, pointer_bytes),
        f"switch i32 %level, label %level_{len(callees)} ["
        + " ".join(f"i32 {i}, label %level_{i}" for i in range(1, len(callees)))
        + "]",
    ]
    for number, callee in enumerate(callees, 1):
        call += [
            f"level_{number}:",
            f"call i32 @{callee}(ptr %inputs, ptr %outputs, ptr %arena)",
            "br label %done",
        ]
    parameters = ", ".join(
        ("i64 %identity", *(f"ptr {p}" for p in pointers), "i64 %arena_bytes")
    )
    return [
        f"@{interface.metadata} = constant [{len(text)} x i8] "
        f'c"{escape_bytes(text)}", align 1',
        f"define i32 @{interface.entry}({parameters}) nounwind #0 {{",
        "entry:",
        *_pointer_space("inputs", inputs),
        *_pointer_space("outputs", outputs),
        *(f"  {line}" for line in body),
        "run:",
        *(f"  {line}" for line in call),
        "done:",
        "  ret i32 %status",
        "}",
    ]


def _choose(name: str, condition: str, status: str, otherwise: str) -> str:
    code, _ = STATUS_CODES[status]
    return f"%{name} = select i1 %{condition}, i32 {code}, i32 {otherwise}"


def _pointer_space(name: str, ports: list[str]) -> list[str]:
    return [f"  %{name} = alloca [{len(ports)} x ptr], align 8"]


def _pointer_array(name: str, ports: list[str], pointer_bytes: int) -> list[str]:
    lines: list[str] = []
    for index, port in enumerate(ports):
        lines += [
            f"%{name}_at_{index} = getelementptr ptr, ptr %{name}, i64 {index}",
            f"store ptr %{port}, ptr %{name}_at_{index}, align {pointer_bytes}",
        ]
    return lines


def _signed(value: int) -> int:
    """64 bits as LLVM writes them."""
    return value - (1 << 64) if value >= 1 << 63 else value
