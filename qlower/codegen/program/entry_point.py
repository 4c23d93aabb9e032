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

from collections.abc import Sequence

from qlower.codegen.llvm.text import escape_bytes
from qlower.codegen.program.interface import STATUS_CODES, Interface
from qlower.model.state import STATE_ALIGNMENT, state_offsets

KEEP = "_keep_state"
"""Copies the tensors of a state, from its second argument to its first."""

BEGIN = "_begin_state"
"""Makes a state a new one, all of its bytes."""


def entry_point(
    interface: Interface, callees: Sequence[str], pointer_bytes: int
) -> list[str]:
    """LLVM IR of the checked entry point, and of the interface's text as data.

    `callees` are the functions of the levels, in order. They take arrays of pointers to
    inputs and outputs, and the arena. For models with states there are functions
    `KEEP` and `BEGIN`.
    """
    text = interface.to_json().encode() + b"\0"
    ports = [name for name, _ in interface.ports]
    inputs = ports[: len(interface.signature.inputs)]
    outputs = ports[len(inputs) :]
    offsets = state_offsets(interface.signature.states)
    taken = [f"taken_{i}" for i in range(len(offsets) - 1)]
    left = [f"left_{i}" for i in range(len(offsets) - 1)]
    base = interface.arena_bytes - interface.state_bytes
    pointers = [f"%{name}" for name in (*interface.pointers, "arena")]
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
        *_state_alignment(interface),
        _choose("s", "wrong_processor", "ERROR_PROCESSOR", "%state_status"),
        _choose("s0", "misaligned", "ERROR_ARENA_ALIGNMENT", "%s"),
        _choose("s1", "too_small", "ERROR_ARENA_SIZE", "%s0"),
        _choose("s2", f"any{len(pointers) - 1}", "ERROR_NULL", "%s1"),
        _choose("status", "wrong_version", "ERROR_VERSION", "%s2"),
        "%ok = icmp eq i32 %status, 0",
        "br i1 %ok, label %run, label %done",
    ]
    call = [
        *(
            f"%{name} = getelementptr i8, ptr %state, i64 {offset}"
            for name, offset in zip(taken, offsets, strict=False)
        ),
        *(
            f"%{name} = getelementptr i8, ptr %arena, i64 {base + offset}"
            for name, offset in zip(left, offsets, strict=False)
        ),
        *_pointer_array("inputs", [*inputs, *taken], pointer_bytes),
        *_pointer_array("outputs", [*outputs, *left], pointer_bytes),
        f"switch i32 %level, label %level_{len(callees)} ["
        + " ".join(f"i32 {i}, label %level_{i}" for i in range(1, len(callees)))
        + "]",
    ]
    for number, callee in enumerate(callees, 1):
        call += [
            f"level_{number}:",
            f"call i32 @{callee}(ptr %inputs, ptr %outputs, ptr %arena)",
            "br label %keep",
        ]
    call += ["keep:"]
    if left:
        call += [f"call void @{KEEP}(ptr %state, ptr %left_0)"]
    call += ["br label %done"]
    parameters = ", ".join(
        ("i64 %identity", *(f"ptr {p}" for p in pointers), "i64 %arena_bytes")
    )
    return [
        f"@{interface.metadata} = constant [{len(text)} x i8] "
        f'c"{escape_bytes(text)}", align 1',
        f"define i32 @{interface.entry}({parameters}) nounwind #0 {{",
        "entry:",
        *_pointer_space("inputs", [*inputs, *taken]),
        *_pointer_space("outputs", [*outputs, *left]),
        *(f"  {line}" for line in body),
        "run:",
        *(f"  {line}" for line in call),
        "done:",
        "  ret i32 %status",
        "}",
    ]


def reset_point(interface: Interface) -> list[str]:
    """LLVM IR of the checked function that makes a state a new one."""
    return [
        f"define i32 @{interface.reset}(i64 %identity, ptr %state) nounwind #0 {{",
        "entry:",
        f"  %wrong_version = icmp ne i64 %identity, {_signed(interface.identity)}",
        "  %null = icmp eq ptr %state, null",
        *(f"  {line}" for line in _state_alignment(interface)),
        f"  {_choose('s', 'null', 'ERROR_NULL', '%state_status')}",
        f"  {_choose('status', 'wrong_version', 'ERROR_VERSION', '%s')}",
        "  %ok = icmp eq i32 %status, 0",
        "  br i1 %ok, label %reset, label %done",
        "reset:",
        f"  call void @{BEGIN}(ptr %state)",
        "  br label %done",
        "done:",
        "  ret i32 %status",
        "}",
    ]


def _state_alignment(interface: Interface) -> list[str]:
    """What is wrong with the address of the state."""
    if not interface.state_bytes:
        return ["%state_status = add i32 0, 0"]
    return [
        "%state_address = ptrtoint ptr %state to i64",
        f"%state_offset = and i64 %state_address, {STATE_ALIGNMENT - 1}",
        "%state_misaligned = icmp ne i64 %state_offset, 0",
        _choose("state_status", "state_misaligned", "ERROR_STATE_ALIGNMENT", "0"),
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
