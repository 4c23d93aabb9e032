"""A WebAssembly object as a module that any engine instantiates, without a linker.

LLVM's object is a module already: its addresses count from 0, and it imports its memory
and the pointer of its stack. A module that an engine takes as it is defines both, and
exports what is called. See the specification's "Binary Format" and the tool
conventions' "WebAssembly Object File Linking".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qlower.codegen.program.interface import Interface
from qlower.diagnostics import QlowerError

CUSTOM, IMPORTS, MEMORY, GLOBALS, EXPORTS = 0, 2, 5, 6, 7
CODE, DATA, DATA_COUNT = 10, 11, 12
"""Sections by number. The data's count comes before the code."""

FUNCTION, _MEMORY, _GLOBAL = 0, 2, 3
"""Kinds of imports and exports."""

_SYMBOL_TABLE, _UNDEFINED, _HAS_NAME = 8, 0x10, 0x40
"""In the section "linking": the kind of its part with symbols, and their flags."""

_I32, _I64, _I32_CONST, _I64_CONST, _END = b"\x7f", b"\x7e", b"\x41", b"\x42", b"\x0b"

INTERFACE_SECTION = "qlower.interface"
"""The custom section that holds `Interface.to_json`."""

_SPARE = 256
"""Bytes of the stack in addition to its frames, to align the first one."""

PAGE = 1 << 16
"""Bytes of a page of memory."""


class Reader:
    """Numbers and names of the binary format, from the front of `data` on."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def number(self) -> int:
        """An unsigned LEB128."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def bytes(self) -> bytes:
        """A number, and that many bytes."""
        size = self.number()
        self.at += size
        return self.data[self.at - size : self.at]


def sections(module: bytes) -> Iterator[tuple[int, bytes]]:
    """The sections of an object or a module, with their numbers. Raises ValueError for
    anything else."""
    if module[:8] != b"\0asm\1\0\0\0":
        raise ValueError("no WebAssembly object")
    reader = Reader(module[8:])
    while reader:
        yield reader.number(), reader.bytes()


def functions(object_bytes: bytes) -> dict[str, int]:
    """The functions that an object defines, by name."""
    found: dict[str, int] = {}
    for number, body in sections(object_bytes):
        reader = Reader(body)
        if number != CUSTOM or reader.bytes() != b"linking":
            continue
        reader.number()  # the version
        while reader:
            kind, part = reader.number(), Reader(reader.bytes())
            for _ in range(part.number() if kind == _SYMBOL_TABLE else 0):
                found |= _function(part)
    return found


def _function(part: Reader) -> dict[str, int]:
    """The next symbol, if it is a function that the object defines."""
    kind, flags = part.number(), part.number()
    if kind == 3:  # a section
        part.number()
        return {}
    if kind == 1:  # data
        part.bytes()
        if not flags & _UNDEFINED:
            for _ in range(3):
                part.number()
        return {}
    index = part.number()
    if flags & _UNDEFINED and not flags & _HAS_NAME:
        return {}
    name = part.bytes().decode()
    return {} if kind != FUNCTION or flags & _UNDEFINED else {name: index}


def data_bytes(object_bytes: bytes) -> int:
    """No less than the data's segments take, each of them 64-byte aligned."""
    bodies = (body for number, body in sections(object_bytes) if number == DATA)
    return sum(len(body) + 64 * Reader(body).number() for body in bodies)


def linked_module(object_bytes: bytes, interface: Interface, stack_bytes: int) -> bytes:
    """A module with memory and a stack of its own, which imports nothing.

    It exports "memory", the functions of `interface`, the global "heap_base" (i32), the
    first address that the caller may use, "identity" (i64), the first argument of each
    call, and "state_bytes" (i32). `stack_bytes` is what a call takes. Raises
    QlowerError where the object calls functions that it lacks.
    """
    for name in _imports(object_bytes):
        if name not in ("__linear_memory", "__stack_pointer"):
            raise QlowerError(
                f"the module would import {name!r}, which an engine doesn't have",
                help="--emit obj,header, and link the object by wasm-ld",
            )
    stack_end = data_bytes(object_bytes) + stack_bytes + _SPARE
    stack_end += -stack_end % PAGE
    memory = b"\1\0" + _leb(stack_end // PAGE)
    variables = (
        _I32 + b"\1" + _I32_CONST + _signed(stack_end) + _END,  # the stack's pointer
        _I32 + b"\0" + _I32_CONST + _signed(stack_end) + _END,
        _I64 + b"\0" + _I64_CONST + _signed(_as_signed(interface.identity)) + _END,
        _I32 + b"\0" + _I32_CONST + _signed(interface.state_bytes) + _END,
    )
    known = functions(object_bytes)
    called = [interface.entry, interface.level_function]
    called += [interface.reset] if interface.state_bytes else []
    exported = {
        "memory": (_MEMORY, 0),
        "heap_base": (_GLOBAL, 1),
        "identity": (_GLOBAL, 2),
        "state_bytes": (_GLOBAL, 3),
        **{name: (FUNCTION, known[name]) for name in called},
    }
    added = {
        MEMORY: memory,
        GLOBALS: _leb(len(variables)) + b"".join(variables),
        EXPORTS: exports_section(exported),
    }
    facts = _name(INTERFACE_SECTION) + interface.to_json().encode()
    kept = b"".join(
        _section(number, body)
        for number, body in sections(object_bytes)
        if number not in (CUSTOM, IMPORTS)
    )
    return assembled(object_bytes[:8] + kept, added) + _section(CUSTOM, facts)


def _imports(object_bytes: bytes) -> Iterator[str]:
    """The names of all imports; only memories and globals are read to their end."""
    for number, body in sections(object_bytes):
        reader = Reader(body)
        for _ in range(reader.number() if number == IMPORTS else 0):
            reader.bytes()
            yield reader.bytes().decode()
            kind = reader.number()
            if kind == _MEMORY:
                has_limit = reader.number() & 1
                for _ in range(1 + has_limit):
                    reader.number()
            elif kind == _GLOBAL:
                reader.number()
                reader.number()
            else:
                return


def assembled(module: bytes, added: Mapping[int, bytes]) -> bytes:
    """The module with more sections, in their order."""
    result, pending = module[:8], sorted(added.items())
    for number, body in sections(module):
        while pending and _place(pending[0][0]) < _place(number):
            result += _section(*pending.pop(0))
        result += _section(number, body)
    return result + b"".join(_section(*rest) for rest in pending)


def _place(number: int) -> float:
    """The order of sections: by number, but for the data's count."""
    return CODE - 0.5 if number == DATA_COUNT else number


def exports_section(exported: Mapping[str, tuple[int, int]]) -> bytes:
    """The body of a section of exports: a kind and an index by name."""
    return _leb(len(exported)) + b"".join(
        _name(name) + bytes([kind]) + _leb(index)
        for name, (kind, index) in exported.items()
    )


def _section(number: int, body: bytes) -> bytes:
    return bytes([number]) + _leb(len(body)) + body


def _name(text: str) -> bytes:
    encoded = text.encode()
    return _leb(len(encoded)) + encoded


def _leb(value: int) -> bytes:
    """An unsigned number."""
    encoded = b""
    while value >= 128:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def _as_signed(value: int) -> int:
    """The number of 64 bits with two's complement that has the bits of `value`."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _signed(value: int) -> bytes:
    """A signed number."""
    encoded = b""
    while not -64 <= value < 64:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value & 127])
