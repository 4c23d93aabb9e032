"""WebAssembly's bytes, one section after the other: numbers, symbols, imports, and
what a module has beyond its object."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest

from qlower.codegen.program.interface import Interface
from qlower.diagnostics import QlowerError
from qlower.model.signature import Signature, StateSpec, TensorSpec
from qlower.packages.wasm_module import (
    PAGE,
    Reader,
    assembled,
    data_bytes,
    exports_section,
    functions,
    linked_module,
    sections,
)

inner = vars(import_module("qlower.packages.wasm_module"))

MAGIC = b"\0asm\1\0\0\0"


def section(number: int, body: bytes) -> bytes:
    assert len(body) < 128
    return bytes([number, len(body)]) + body


def name(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        *((0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (129, "8101")),
        *((16383, "ff7f"), (16384, "808001"), (624485, "e58e26")),
    ],
)
def test_unsigned_numbers(value: int, encoded: str) -> None:
    assert inner["_leb"](value).hex() == encoded
    reader = Reader(bytes.fromhex(encoded) + b"\5")
    assert (reader.number(), reader.at) == (value, len(encoded) // 2)
    assert reader.number() == 5
    assert not reader


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        *((0, "00"), (63, "3f"), (64, "c000"), (-1, "7f"), (-64, "40"), (-65, "bf7f")),
        *((128, "8001"), (-128, "807f"), (-123456, "c0bb78"), (8191, "ff3f")),
        *((8192, "80c000"), (-8192, "8040"), (-8193, "ffbf7f")),
    ],
)
def test_signed_numbers(value: int, encoded: str) -> None:
    assert inner["_signed"](value).hex() == encoded


@pytest.mark.parametrize(
    ("value", "signed"),
    [
        *((0, 0), (1, 1), ((1 << 63) - 1, (1 << 63) - 1)),
        *((1 << 63, -(1 << 63)), ((1 << 64) - 1, -1)),
    ],
)
def test_bits_as_a_signed_number(value: int, signed: int) -> None:
    assert inner["_as_signed"](value) == signed


def test_bytes_and_sections() -> None:
    reader = Reader(b"\2ab\0\1c")
    assert [reader.bytes() for _ in range(3)] == [b"ab", b"", b"c"]
    module = MAGIC + section(1, b"xy") + section(10, b"")
    assert [*sections(module)] == [(1, b"xy"), (10, b"")]
    assert [*sections(MAGIC)] == []
    for other in (b"", MAGIC[:7], b"\x7fELF\1\0\0\0", b"\0asm\2\0\0\0"):
        with pytest.raises(ValueError, match="no WebAssembly object"):
            list(sections(other))


UNDEFINED, NAMED = 0x10, 0x40
SYMBOLS = [
    # kind, flags and what follows, of functions, data and others
    b"\0\0\5" + name("run"),
    bytes([0, UNDEFINED, 1]),
    bytes([0, UNDEFINED | NAMED, 2]) + name("memcpy"),
    b"\1\0" + name("table") + b"\0\x80\4\1",
    bytes([1, UNDEFINED]) + name("elsewhere"),
    b"\3\0\1",
    bytes([2, UNDEFINED, 0]),
    b"\2\0\1" + name("global"),
    b"\0\4\6" + name("level"),
]


def linking(*symbols: bytes) -> bytes:
    table = bytes([len(symbols)]) + b"".join(symbols)
    other = b"\5\2\1\2"
    body = name("linking") + b"\2" + other + bytes([8, len(table)]) + table + other
    return section(0, body)


def test_functions_of_an_object() -> None:
    """Those that it defines, whatever symbols are around them."""
    producers = section(0, name("producers") + b"\0")
    found = functions(MAGIC + producers + section(10, b"") + linking(*SYMBOLS))
    assert found == {"run": 5, "level": 6}
    assert functions(MAGIC + linking(SYMBOLS[2])) == {}
    assert functions(MAGIC + producers) == {}


def test_bytes_of_data() -> None:
    """Those of its section, and what aligning each segment may take."""
    assert data_bytes(MAGIC) == 0
    module = MAGIC + section(11, b"\2" + b"x" * 20) + section(1, b"\5")
    assert data_bytes(module) == 21 + 2 * 64


ORDERS: list[tuple[list[int], list[int], list[int]]] = [
    ([1, 3, 10, 11], [5, 6, 7], [1, 3, 5, 6, 7, 10, 11]),
    ([1, 12, 10], [7, 11], [1, 7, 12, 10, 11]),
    ([0, 1, 0], [5], [0, 1, 0, 5]),
    ([], [7, 5], [5, 7]),
]


@pytest.mark.parametrize(("given", "added", "order"), ORDERS)
def test_sections_in_their_order(
    given: list[int], added: list[int], order: list[int]
) -> None:
    """The data's count is before the code; custom ones stay where they are."""
    module = MAGIC + b"".join(section(number, b"old") for number in given)
    made = assembled(module, dict.fromkeys(added, b"new"))
    assert made[:8] == MAGIC
    found = [*sections(made)]
    assert [number for number, _ in found] == order
    assert sorted(body for _, body in found) == sorted(
        [b"old"] * len(given) + [b"new"] * len(added)
    )


def test_a_section_beside_one_of_its_number() -> None:
    made = assembled(MAGIC + section(5, b"old") + section(6, b""), {5: b"new"})
    assert [*sections(made)] == [(5, b"old"), (5, b"new"), (6, b"")]


def test_exports() -> None:
    found = exports_section({"memory": (2, 0), "run": (0, 200)})
    assert found == b"\2" + name("memory") + b"\2\0" + name("run") + b"\0\xc8\1"


MEMORY_IMPORT = name("env") + name("__linear_memory") + b"\2\0\1"
BOUNDED = name("env") + name("__linear_memory") + b"\2\1\1\2"
STACK_IMPORT = name("env") + name("__stack_pointer") + b"\3\x7f\1"
CALL = name("env") + name("sqrt") + b"\0\0"
TABLE = name("env") + name("__indirect_function_table") + b"\1\x70\0\1"


def imports(*found: bytes) -> bytes:
    return section(2, bytes([len(found)]) + b"".join(found))


@pytest.mark.parametrize("memory", [MEMORY_IMPORT, BOUNDED])
@pytest.mark.parametrize("foreign", [CALL, TABLE])
def test_imports_that_no_engine_has(memory: bytes, foreign: bytes) -> None:
    """The first of them is named, after a memory and a global that a module has."""
    module = MAGIC + imports(memory, STACK_IMPORT, foreign, CALL)
    with pytest.raises(QlowerError) as caught:
        linked_module(module, INTERFACE, 0)
    text = "sqrt" if foreign == CALL else "__indirect_function_table"
    assert caught.value.message == (
        f"the module would import {text!r}, which an engine doesn't have"
    )
    assert caught.value.help == "--emit obj,header, and link the object by wasm-ld"


SIGNATURE = Signature(
    (TensorSpec("x", (2,), "int8"),),
    (TensorSpec("y", (3,), "int16"),),
    (StateSpec("count", (2,), "int32", initial=b"\1\0\0\0\2\0\0\0"),),
)
INTERFACE = Interface(
    *("toy", SIGNATURE, 96, 64, "tflite", "0" * 64, "wasm32-none"), ("wasm32",)
)


@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.parametrize(("stack", "pages"), [(0, 1), (PAGE - 341, 1), (PAGE - 340, 2)])
def test_a_module(has_state: bool, stack: int, pages: int) -> None:
    """Its memory has the data, of 85 bytes here, the stack and 256 more."""
    states = SIGNATURE.states if has_state else ()
    interface = replace(INTERFACE, signature=replace(SIGNATURE, states=states))
    called = ("toy_run_checked", "toy_level", "toy_reset_checked")
    symbols = [
        bytes([0, 0, index]) + name(one) for index, one in enumerate(called, start=3)
    ]
    module = MAGIC + section(1, b"types") + imports(MEMORY_IMPORT, STACK_IMPORT)
    module += section(10, b"code") + section(11, b"\1" + b"d" * 20) + linking(*symbols)
    made = linked_module(module, interface, stack)
    end = inner["_signed"](pages * PAGE)
    identity = inner["_signed"](inner["_as_signed"](interface.identity))
    exported = {"memory": (2, 0), "heap_base": (3, 1), "identity": (3, 2)}
    exported["state_bytes"] = (3, 3)
    kept = called if has_state else called[:2]
    exported |= {one: (0, index) for index, one in enumerate(kept, start=3)}
    assert [*sections(made)] == [
        (1, b"types"),
        (5, b"\1\0" + bytes([pages])),
        (
            6,
            b"\4\x7f\1\x41"
            + end
            + b"\x0b\x7f\0\x41"
            + end
            + b"\x0b\x7e\0\x42"
            # the last one is the size of a state
            + identity
            + b"\x0b\x7f\0\x41"
            + bytes([8 * has_state])
            + b"\x0b",
        ),
        (7, exports_section(exported)),
        (10, b"code"),
        (11, b"\1" + b"d" * 20),
        (0, name("qlower.interface") + interface.to_json().encode()),
    ]
