"""Small pieces of C sources, letter by letter: literals, types, arrays, text, copies;
and what is said of objects."""

from __future__ import annotations

import platform
import shutil
import struct
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import IndexType, IntegerType, f32, f64

from qlower.codegen.nests.point import Segment
from qlower.codegen.targets.stack_frames import StackUse
from qlower.diagnostics import QlowerError
from qlower.packages import link
from qlower.packages.c_source.c_types import c_type, loaded, signed, stored, unsigned
from qlower.packages.c_source.constants import Constants, element_type, memory_type
from qlower.packages.c_source.helpers import Helpers
from qlower.packages.c_source.literals import integer, integer_mask, real_number
from qlower.packages.c_source.loops import Lines, Loop, copy_statements, linear
from qlower.packages.c_text import c_comment, c_string
from qlower.packages.known_names import check_known
from qlower.packages.memory import Memory
from qlower.packages.sections import Sections, sections_of
from qlower.text.parsing import parse_module

INTEGERS = {
    **{0: "0", 7: "7", -7: "(-7)", 32767: "32767", -32767: "(-32767)"},
    32768: "INT32_C(32768)",
    -32768: "(-INT32_C(32768))",
    (1 << 31) - 1: "INT32_C(2147483647)",
    -(1 << 31) + 1: "(-INT32_C(2147483647))",
    -(1 << 31): "(-INT32_C(2147483647) - 1)",
    1 << 31: "INT64_C(2147483648)",
    -(1 << 31) - 1: "(-INT64_C(2147483649))",
    (1 << 63) - 1: "INT64_C(9223372036854775807)",
    -(1 << 63): "(-INT64_C(9223372036854775807) - 1)",
}


@pytest.mark.parametrize("value", INTEGERS)
def test_integers(value: int) -> None:
    assert integer(value) == INTEGERS[value]


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1])
def test_integers_that_c_has_not(value: int) -> None:
    with pytest.raises(ValueError, match=f"^{value} has more than 64 bits$"):
        integer(value)


def test_masks_and_real_numbers() -> None:
    assert [integer_mask(bits) for bits in (1, 8, 31, 32, 33, 64)] == [
        *("UINT32_C(0x1)", "UINT32_C(0xff)", "UINT32_C(0x7fffffff)"),
        *("UINT32_C(0xffffffff)", "UINT64_C(0x1ffffffff)"),
        "UINT64_C(0xffffffffffffffff)",
    ]
    numbers = {
        **{0.0: "0.0", -0.5: "-0.5", 0.5: "0.5", 3.0: "3.0", -7.0: "-7.0"},
        float((1 << 24) - 1): "16777215.0",
        float(1 << 24): "0x1.0000000000000p+24",
        0.25: "0x1.0000000000000p-2",
        -1.5: "-0x1.8000000000000p+0",
    }
    for value, text in numbers.items():
        assert real_number(value, "f64") == text
        assert real_number(value, "f32") == f"{text}f"


def test_types_of_values() -> None:
    types: dict[Any, str] = {IntegerType(1): "bool", IndexType(): "int64_t"}
    types |= {f32: "float", f64: "double"}
    for bits, held in ((2, 8), (8, 8), (9, 16), (17, 32), (32, 32), (33, 64)):
        types[IntegerType(bits)] = f"int{held}_t"
    assert {type: c_type(type) for type in types} == types


UNSIGNED = {
    1: "(x ? 1u : 0u)",
    4: "((uint32_t)x & UINT32_C(0xf))",
    16: "((uint32_t)x & UINT32_C(0xffff))",
    32: "(uint32_t)x",
    40: "((uint64_t)x & UINT64_C(0xffffffffff))",
    64: "(uint64_t)x",
}
SIGNED = {
    1: "((x) & 1u) != 0u",
    8: "(int8_t)(x)",
    32: "(int32_t)(x)",
    64: "(int64_t)(x)",
    4: "(int8_t)((int32_t)(((x) & UINT32_C(0xf)) ^ 0x8u) - 8)",
    24: "(int32_t)((int32_t)(((x) & UINT32_C(0xffffff)) ^ 0x800000u)"
    " - INT32_C(8388608))",
    40: "(int64_t)((int64_t)(((x) & UINT64_C(0xffffffffff)) ^ 0x8000000000u)"
    " - INT64_C(549755813888))",
}


def test_integers_of_any_width_are_held_and_taken() -> None:
    for bits, text in UNSIGNED.items():
        assert unsigned(IntegerType(bits), "x") == text
    for bits, text in SIGNED.items():
        assert signed(IntegerType(bits), "x") == text
    bit, byte = IntegerType(1), IntegerType(8)
    assert (loaded(bit, "x"), loaded(byte, "x")) == ("x != 0u", "x")
    assert (stored(bit, "x"), stored(byte, "x")) == ("x ? 1u : 0u", "x")


def test_arrays_are_written_once() -> None:
    constants = Constants("p")
    one, other = np.arange(3, dtype=np.int8), np.arange(3, 6, dtype=np.int8)
    names = [
        constants.name(scalar, array.tobytes())
        for scalar, array in (("i8", one), ("i8", other), ("i8", one))
    ]
    assert names == ["p_data_0", "p_data_1", "p_data_0"]
    assert constants.name("i1", one.tobytes()) == "p_data_2"
    large = np.arange(33, dtype=np.int8)
    assert constants.name("i8", large.tobytes()) == "p_data_3"
    assert constants.name("i8", large[:32].tobytes()) == "p_data_4"
    lines = list(constants.lines("FAR"))
    assert lines[:9] == [
        *("static const int8_t p_data_0[3] = {", "  0, 1, 2,", "};"),
        *("static const int8_t p_data_1[3] = {", "  3, 4, 5,", "};"),
        *("static const uint8_t p_data_2[3] = {", "  0u, 1u, 2u,", "};"),
    ]
    assert lines[9] == "static const int8_t p_data_3[33] FAR = {"
    assert "static const int8_t p_data_4[32] = {" in lines
    numbers = " ".join(lines[10 : lines.index("};", 10)])
    assert [int(n) for n in numbers.replace(",", "").split()] == large.tolist()
    full = Constants("p")
    full.name("i8", bytes([1] * 30))
    assert [*full.lines("")][1:3] == [" " + " 1," * 29, "  1,"]  # 88 letters


def elements(scalar: str, array: Any) -> str:
    constants = Constants("p")
    constants.name(scalar, array.tobytes())
    head, *lines = constants.lines("")
    type = head.split()[2]
    return f"{type}: {' '.join(line.strip() for line in lines[:-1])}"


def test_elements_of_arrays() -> None:
    """The least integer of a width has no literal; nor have numbers that aren't finite,
    which are their bits."""
    cases: list[tuple[str, Any, str]] = [
        ("i8", np.array([-128, -1], np.int8), "int8_t: -128, -1,"),
        ("i16", np.array([-32768, 7], "<i2"), "int16_t: -32768, 7,"),
        (
            *("i32", np.array([-(1 << 31), -(1 << 31) + 1], "<i4")),
            "int32_t: (-INT32_C(2147483647) - 1), -2147483647,",
        ),
        (
            *("i64", np.array([-(1 << 63), 5], "<i8")),
            "int64_t: (-INT64_C(9223372036854775807) - 1), 5,",
        ),
        ("i1", np.array([1, 0], np.uint8), "uint8_t: 1u, 0u,"),
        ("float", np.array([1, 0.25], "<f4"), "float: 1.0f, 0x1.0000000000000p-2f,"),
        ("double", np.array([-0.5], "<f8"), "double: -0.5,"),
        ("float", np.array([1, np.inf], "<f4"), "uint32_t: 1065353216u, 2139095040u,"),
        ("double", np.array([-np.inf], "<f8"), "uint64_t: 18442240474082181120u,"),
    ]
    for scalar, array, text in cases:
        assert elements(scalar, array) == text
    assert (memory_type("i1"), memory_type("i24"), memory_type("float")) == (
        *("uint8_t", "int32_t", "float"),
    )
    nan = np.array([np.nan], "<f4").tobytes()
    assert (element_type("float", nan), element_type("i32", nan)) == (
        *("uint32_t", "int32_t"),
    )


def test_text_in_comments_and_strings() -> None:
    assert c_comment("a*/b") == "a* /b"
    assert c_comment("a/*b") == "a/ *b"
    assert c_comment("what??/") == "what?? /"
    assert c_comment("é\n\x7fz") == "???z"
    for text in ("/*/", "*/*/", "//**//", "?" * 5 + "/"):
        shown = c_comment(text)
        assert "*/" not in shown
        assert "??/" not in shown
    assert c_string("a") == '"a"'
    assert c_string('\\"?') == '"\\\\\\"\\?"'
    assert c_string("é1") == '"\\303\\2511"'
    assert c_string("\n") == '"\\\\n"'


def test_names_that_are_known() -> None:
    check_known("no such part", "code", ["code", "data"])
    with pytest.raises(QlowerError) as caught:
        check_known("no such part", "coda", ["code", "data"])
    assert caught.value.message == "no such part 'coda': known are code, data"
    assert caught.value.help == "did you mean 'code'?"
    with pytest.raises(QlowerError) as caught:
        check_known("no such part", "xyz", ["code", "data"])
    assert caught.value.help is None


def test_places_of_elements() -> None:
    for strides, first, text in (
        ([3, 1, 0], 0, "(a * 3) + b"),
        ([3, 1, 0], 5, "(a * 3) + b + 5"),
        ([3, 1, 0], -5, "(a * 3) + b - 5"),
        ([0, 0, 0], 0, "0"),
        ([0, 0, 0], 5, "5"),
        ([0, 0, -1], 1, "(c * -1) + 1"),
        ([0, 0, 2], 0, "(c * 2)"),
    ):
        assert linear(strides, first, "abc") == text


def test_lines_are_indented_in_their_blocks() -> None:
    lines = Lines()
    with lines.loops([Loop("i", 3), Loop("k", "n", 1, 2)]):
        lines.add("a;", "b;")
    with lines.block("if (x)"), lines.segment("c", Segment(4, 3, 2)):
        lines.add("d;")
    assert lines.texts == [
        *("  for (int32_t i = 0; i < 3; i++) {",),
        *("    for (int32_t k = 1; k < n; k += 2) {", "      a;", "      b;"),
        *("    }", "  }", "  if (x) {"),
        "    for (int32_t c_step = 0; c_step < 3; c_step++) {",
        "      const int32_t c = 4 + (c_step * 2);",
        *("      d;", "    }", "  }"),
    ]
    lines = Lines()
    with lines.segment("c", Segment(0, 3, 2, 5)):
        lines.add("d;")
    assert lines.texts[1:3] == [
        "    const int32_t c_next = 0 + (c_step * 2);",
        "    const int32_t c = (c_next < 5) ? c_next : 5;",
    ]


COPY = """
func.func @main(%x: tensor<{source}>) -> tensor<{result}> {{
  %y = kernel.copy %x {{{options}}} : (tensor<{source}>) -> tensor<{result}>
  return %y : tensor<{result}>
}}"""


def simulated(texts: list[str], source: Any, shape: tuple[int, ...]) -> Any:
    """What C's loops over one line do, in Python."""
    result = np.full(int(np.prod(shape)), 99)
    python: list[str] = []
    for text in texts:
        depth = (len(text) - len(text.lstrip())) // 2 - 1
        line = text.strip()
        if line.startswith("for"):
            name, end = line.split()[2], line.split()[7].rstrip(";")
            python.append(f"{'  ' * depth}for {name} in range({end}):")
        elif line.startswith("if"):
            condition = line[3:-2].replace("||", "or").replace("(uint32_t)", "below")
            condition = condition.replace("u)", ")")
            python.append(f"{'  ' * depth}if {condition}:")
        elif line != "}":
            python.append(f"{'  ' * depth}{line.rstrip(';')}")
    names = {
        "below": lambda value: value % (1 << 32),
        "source": source.reshape(-1),
        "target": result,
    }
    exec("\n".join(python), names)
    return result.reshape(shape)


BOXES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "all": ((2, 3, 4), (2, 3, 4), {}),
    "a part": ((2, 5, 4), (2, 3, 4), {"sizes": (2, 3, 4), "source_offsets": (0, 1, 0)}),
    "into a part": (
        *((2, 3), (4, 7)),
        {"sizes": (2, 3), "offsets": (1, 2), "fill": -5},
    ),
    "with steps": (
        *((2, 3), (5, 7)),
        {"sizes": (2, 3), "offsets": (1, 0), "strides": (2, 3), "fill": 7},
    ),
    "from steps": (
        *((5, 7), (2, 3)),
        {"sizes": (2, 3), "source_offsets": (1, 0), "source_strides": (2, 3)},
    ),
    "one element": (
        *((3, 3), (1, 1)),
        {"sizes": (1, 1), "source_offsets": (2, 1)},
    ),
}


def box(
    name: str, *, is_written: bool = False
) -> tuple[Any, Any, tuple[int, ...], dict[str, Any]]:
    """A copy as its writer sees it, the source's numbers, the result's shape, and all
    of the box."""
    source, shape, given = BOXES[name]
    rank = len(shape)
    whole: dict[str, Any] = {
        **{"sizes": shape, "offsets": (0,) * rank, "source_offsets": (0,) * rank},
        **{"strides": (1,) * rank, "source_strides": (1,) * rank, "fill": None},
        **given,
    }
    text = "func.func @f(%x: tensor<{}xi8>, %y: tensor<{}xi8>) {{\n  return\n}}".format(
        "x".join(map(str, source)), "x".join(map(str, shape))
    )
    function: Any = next(iter(parse_module(text).body.block.ops))
    x, y = function.body.block.args
    fields = {
        key: SimpleNamespace(get_values=lambda value=value: value)
        for key, value in whole.items()
        if key != "fill"
    }
    builtin = import_module("xdsl.dialects.builtin")
    fill = None
    if whole["fill"] is not None:
        fill = builtin.IntegerAttr(whole["fill"], builtin.IntegerType(8))
    op = SimpleNamespace(
        source=x, result=y, fill=fill, box_is_written=is_written, **fields
    )
    return op, np.arange(np.prod(source)).reshape(source), shape, whole


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("is_written", [False, True])
def test_copies_of_boxes(name: str, is_written: bool) -> None:
    """Beside numpy's slices; where the box is written already, all around it is."""
    op, numbers, shape, whole = box(name, is_written=is_written)
    if is_written and whole["fill"] is None:
        assert copy_statements(op, "source", "target", Helpers()) == []
        return
    found = simulated(
        copy_statements(op, "source", "target", Helpers()), numbers, shape
    )
    expected = np.full(shape, 99 if whole["fill"] is None else whole["fill"])
    there, here = (
        tuple(
            slice(first, first + (size - 1) * step + 1, step)
            for first, size, step in zip(
                whole[offsets], whole["sizes"], whole[strides], strict=True
            )
        )
        for offsets, strides in (
            *(("source_offsets", "source_strides"), ("offsets", "strides")),
        )
    )
    expected[here] = 99 if is_written else numbers[there]
    np.testing.assert_array_equal(found, expected)


def test_neighbouring_axes_are_walked_as_one() -> None:
    op, *_ = box("all")
    assert copy_statements(op, "source", "target", Helpers()) == [
        "  for (int32_t i0 = 0; i0 < 24; i0++) {",
        "    target[i0] = source[i0];",
        "  }",
    ]
    op, *_ = box("a part")
    assert copy_statements(op, "s", "t", Helpers()) == [
        "  for (int32_t i0 = 0; i0 < 2; i0++) {",
        "    for (int32_t i1 = 0; i1 < 12; i1++) {",
        "      t[(i0 * 12) + i1] = s[(i0 * 20) + i1 + 4];",
        *("    }", "  }"),
    ]
    op, *_ = box("one element")
    assert copy_statements(op, "s", "t", Helpers()) == ["  t[0] = s[7];"]


def elf(wide: bool, sections: list[tuple[int, int]]) -> bytes:
    """An object whose section headers have these flags and sizes."""
    word = "Q" if wide else "I"
    header = bytearray(64)
    header[:5] = b"\x7fELF" + bytes([2 if wide else 1])
    size = 64 if wide else 40
    struct.pack_into(f"<{word}", header, 0x28 if wide else 0x20, 64)
    at = 0x3A if wide else 0x2E
    struct.pack_into("<HH", header, at, size, len(sections))
    body = b""
    for flags, length in sections:
        one = struct.pack(f"<II4{word}", 1, 1, flags, 11, 13, length)
        body += one + bytes(size - len(one))
    return bytes(header) + body


@pytest.mark.parametrize("wide", [True, False])
def test_sizes_of_sections(wide: bool) -> None:
    """Code first, then what is written; what isn't loaded takes nothing."""
    given = [(0, 1000), (2 | 4, 7), (2, 20), (1 | 2, 300), (4, 5), (1, 600), (2, 1)]
    assert sections_of(elf(wide, given)) == Sections(12, 21, 900)
    assert sections_of(elf(wide, [])) == Sections(0, 0, 0)


def memory(**given: Any) -> Memory:
    plain: dict[str, Any] = {"arena": 100, "state": 0, "inputs": 10, "outputs": 20}
    plain |= {"variables": 4, "code": 500, "constants": 600, "stack": StackUse(None)}
    return Memory(**{**plain, **given})


def test_memory_is_summed_and_bounded() -> None:
    one = memory(state=1000, stack=StackUse(50))
    assert (memory().ram, one.ram) == (134, 1184)
    one.check(max_flash=1100, max_ram=1184)
    one.check(max_flash=None, max_ram=None)
    for bounds, message in (
        (
            {"max_flash": 1099, "max_ram": None},
            "the model takes 1,100 bytes of flash, more than the 1,099 of --max-flash",
        ),
        (
            {"max_flash": None, "max_ram": 1183},
            "the model takes 1,184 bytes of RAM, more than the 1,183 of --max-ram",
        ),
    ):
        with pytest.raises(QlowerError) as caught:
            one.check(**bounds)
        assert caught.value.message == message
        assert list(caught.value.notes) == str(one.table()).splitlines()
    for part in ("code", "constants"):
        source = memory(**{part: None})
        source.check(max_flash=None, max_ram=134)
        with pytest.raises(QlowerError, match="machine code, not C source alone"):
            source.check(max_flash=10**9, max_ram=None)


def rows(one: Memory) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in one.table().rows]


def test_what_takes_memory() -> None:
    arena, variables = ("arena", 100, "RAM"), ("variables", 4, "RAM")
    flash = [
        ("code", 500, "read-only: flash, if there is any"),
        ("constants", 600, "read-only"),
    ]
    unknown = ("stack", None, "RAM, unknown: --stack may tell")
    ports = [("inputs", 10, "RAM"), ("outputs", 20, "RAM")]
    assert rows(memory()) == [arena, *ports, variables, unknown, *flash]
    one = memory(state=8, inputs=0, outputs=0, stack=StackUse(50, ("a", "b")))
    assert rows(one) == [
        *(arena, ("state", 8, "RAM")),
        *(("inputs", 0, "in the arena"), ("outputs", 0, "in the arena"), variables),
        ("stack", 50, "RAM, at most, and what is needed by a, b"),
        *flash,
    ]
    assert rows(memory(code=None)) == [arena, *ports, variables]
    assert one.to_json() == {
        **{"arena": 100, "state": 8, "inputs": 0, "outputs": 0, "variables": 4},
        **{"stack": 50, "stack_calls": ("a", "b"), "code": 500, "constants": 600},
    }


@pytest.mark.parametrize(
    ("triple", "machine", "there", "zig", "expected"),
    [
        ("x86_64-linux-gnu", "x86_64", ["cc", "gcc"], False, "cc"),
        ("x86_64-linux-gnu", "x86_64", ["gcc", "clang"], False, "gcc"),
        ("x86_64-linux-gnu", "x86_64", ["clang"], True, "clang"),
        (
            *("aarch64-linux-gnu", "x86_64"),
            *(["cc", "aarch64-linux-gnu-gcc"], False, "aarch64-linux-gnu-gcc"),
        ),
        (
            *("armv7a-linux-gnueabihf", "x86_64"),
            *(["arm-linux-gnueabihf-gcc"], False, "arm-linux-gnueabihf-gcc"),
        ),
        ("aarch64-linux-gnu", "x86_64", ["cc"], True, "zig aarch64-linux-gnu"),
        ("aarch64-linux-gnu", "x86_64", ["cc"], False, None),
    ],
)
def test_compilers_that_link(
    triple: str,
    machine: str,
    there: list[str],
    zig: bool,
    expected: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(shutil, "which", lambda name: name if name in there else None)
    util = SimpleNamespace(find_spec=lambda name: name if zig else None)
    monkeypatch.setattr(link, "importlib", SimpleNamespace(util=util))
    if expected is None:
        with pytest.raises(QlowerError) as caught:
            link.compiler_driver(triple)
        assert caught.value.message == (
            f"nothing here links for {triple}: looked for aarch64-linux-gnu-gcc and "
            "the Python package ziglang"
        )
    elif expected.startswith("zig"):
        assert link.compiler_driver(triple) == [
            *(sys.executable, "-m", "ziglang", "cc", "-target", expected.split()[1]),
        ]
    else:
        assert link.compiler_driver(triple) == [expected]


def test_what_a_linker_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first letters, where it fails."""
    seen: list[Any] = []
    answers = [SimpleNamespace(returncode=0, stderr=b"")]

    def run(command: Any) -> Any:
        seen.append(command)
        return answers[0]

    monkeypatch.setattr(link, "compiler_driver", lambda triple: ["cc", triple])
    monkeypatch.setattr(link, "run_program", run)
    one, other = Path("a.o"), Path("folder/b.so")
    link.link_shared(one, other, "t")
    assert seen == [["cc", "t", "-shared", "-o", other, one]]
    answers[0] = SimpleNamespace(returncode=1, stderr=b" \xff" + b"x" * 3000)
    with pytest.raises(QlowerError) as caught:
        link.link_shared(one, other, "t")
    reason = "\ufffd" + "x" * 1999
    assert caught.value.message == f"cc cannot link b.so: {reason}"
    monkeypatch.undo()
    with pytest.raises(QlowerError, match="is bare metal: it has no shared libraries"):
        link.compiler_driver("thumbv7em-none-eabi")
