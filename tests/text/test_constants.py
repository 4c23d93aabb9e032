"""Constants in text: sizes at their limits, lists in every form, resources, and names
that are likely slips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from qlower.diagnostics import QlowerError
from qlower.text import constants, parsing
from qlower.text.parsing import parse_file, parse_module


def dense(literal: str, type: str) -> DenseIntOrFPElementsAttr:
    module = parse_module(
        f"func.func @f() {{\n%c = arith.constant dense<{literal}> : {type}\nreturn\n}}",
        "m.mlir",
    )
    (op,) = (op for op in module.walk() if op.name == "arith.constant")
    value = op.properties["value"]
    assert isinstance(value, DenseIntOrFPElementsAttr)
    return value


def refused(literal: str, type: str) -> str:
    with pytest.raises(QlowerError) as caught:
        dense(literal, type)
    return caught.value.message


def test_the_largest_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "LARGEST_CONSTANT", 24)
    for literal, type in (("1", "tensor<6xi32>"), ("[1, 2, 3]", "tensor<3xi64>")):
        dense(literal, type)
    message = "constant of {} bytes is larger than 24"
    assert refused("1", "tensor<7xi32>") == message.format(28)
    assert refused("[1, 2, 3, 4]", "tensor<4xi64>") == message.format(32)
    assert refused('"0x00"', "tensor<5x5xi8>") == message.format(25)
    with pytest.raises(QlowerError) as caught:
        dense("1", "tensor<7xi32>")
    assert str(caught.value).startswith("m.mlir:2:32: error: constant of 28 bytes")


def test_constants_that_repeat_an_element(monkeypatch: pytest.MonkeyPatch) -> None:
    """They count together; those that are written out don't."""
    monkeypatch.setattr(constants, "MOST_REPEATED", 100)
    line = "%c{} = arith.constant dense<{}> : tensor<{}xi8>\n"

    def parse(*sizes: int, written: bool = False) -> None:
        lines = [
            line.format(number, f"[{', '.join('1' * size)}]" if written else 7, size)
            for number, size in enumerate(sizes)
        ]
        parse_module("func.func @f() {\n" + "".join(lines) + "return\n}")

    parse(100)
    parse(60, 40)
    parse(101, 200, written=True)
    for sizes in ((101,), (60, 41)):
        with pytest.raises(QlowerError) as caught:
            parse(*sizes)
        assert caught.value.message == (
            "constants that repeat an element have 101 in all, more than 100"
        )


@pytest.mark.parametrize(
    ("type", "values"),
    [
        ("i8", [-128, 127]),
        ("i8", [0, 255]),
        ("i4", [-8, 7]),
        ("i4", [0, 15]),
        ("i32", [-(1 << 31), (1 << 31) - 1]),
        ("i64", [-(1 << 63), (1 << 63) - 1]),
        ("f32", [-1.5, 3.4e38]),
        ("f64", [-1.5e300, 2.5e-310]),
    ],
)
def test_long_lists_are_read_as_short_ones(type: str, values: list[float]) -> None:
    """The regular expression takes those of a kilobyte; with one more they are in rows,
    whose shape counts."""
    many = (values * 400)[:600]
    text = f"[{', '.join(map(repr, many))}]"
    long = dense(text, f"tensor<600x{type}>")
    short = [dense(f"[{one!r}]", f"tensor<1x{type}>").data.data for one in values]
    assert long.data.data == (b"".join(short) * 400)[: len(short[0]) * 600]
    rows = ", ".join(
        f"[{', '.join(map(repr, many[n : n + 6]))}]" for n in range(0, 600, 6)
    )
    assert dense(f"[{rows}]", f"tensor<100x6x{type}>").data == long.data


BEYOND = {
    "i8": (-129, 256),
    "i4": (-9, 16),
    "i32": (-(1 << 31) - 1, 1 << 32),
    "f32": (1e39, -1e39),
}


@pytest.mark.parametrize("type", BEYOND)
def test_long_lists_beyond_their_type(type: str) -> None:
    usual = ", ".join("1" for _ in range(600))
    for beyond in BEYOND[type]:
        message = refused(f"[{usual}, {beyond!r}]", f"tensor<601x{type}>")
        assert message == f"dense literal has elements outside of the range of {type}"
    assert refused(f"[{usual}]", f"tensor<601x{type}>") == (
        "dense literal has shape [600], its type [601]"
    )
    assert refused(f"[{usual}]", f"tensor<600x1x{type}>") == (
        "dense literal has shape [600], its type [600, 1]"
    )


def test_long_lists_of_other_types_and_kinds() -> None:
    usual = ", ".join("1" for _ in range(600))
    assert refused(f"[{usual}]", "tensor<600xf16>") == (
        "long decimal lists of f16 are not supported"
    )
    assert refused(f"[{usual}, 1.5]", "tensor<601xi8>") == (
        "invalid dense literal: element of the wrong kind"
    )
    found = dense(f"[{usual}, 1.5]", "tensor<601xf32>")
    values = np.frombuffer(found.data.data, np.float32)
    assert values.sum() == 601.5


@pytest.mark.parametrize(
    ("type", "literal", "value"),
    [
        ("i8", "-1", -1),
        ("i8", "0xFF", -1),
        ("f32", "0x3F800000", 1.0),
        ("f32", "1.5", 1.5),
        ("i1", "true", -1),
        ("i4", "-8", -8),
    ],
)
def test_one_number_for_all(type: str, literal: str, value: float) -> None:
    found = dense(literal, f"tensor<2x3x{type}>")
    assert set(found.get_values()) == {value}
    assert len(found) == 6
    assert found.data.data == dense(f"[{literal}]", f"tensor<1x{type}>").data.data * (
        6 if len(found.data.data) > 1 else 1
    )
    assert dense(literal, f"tensor<0x{type}>").data.data == b""


RESOURCES = """
func.func @f() -> tensor<2x{type}> {{
  %c = arith.constant dense_resource<b> : tensor<2x{type}>
  return %c : tensor<2x{type}>
}}
{{-#
  dialect_resources: {{ builtin: {{ a: "0x01000000AA", b: "0x04000000{data}" }} }}
#-}}
"""


@pytest.mark.parametrize(
    ("type", "values"),
    [
        *(
            ("i8", [1, -2]),
            ("i16", [1, -300]),
            ("i32", [7, -8]),
            ("i64", [1 << 40, -1]),
        ),
        *(("f32", [1.5, -2.0]), ("f64", [0.1, 1e300])),
    ],
)
def test_elements_of_resources(type: str, values: list[float]) -> None:
    dtype = f"<{type[0]}{int(type[1:]) // 8}"
    data = np.array(values, dtype).tobytes().hex().upper()
    module = parse_module(RESOURCES.format(type=type, data=data))
    (op,) = (op for op in module.walk() if op.name == "arith.constant")
    value = op.properties["value"]
    assert isinstance(value, DenseIntOrFPElementsAttr)
    assert list(value.get_values()) == values
    for changed in (data[:-2], data + "00"):
        with pytest.raises(QlowerError, match=r"a resource of .* bytes, tensor<2x"):
            parse_module(RESOURCES.format(type=type, data=changed))


def test_the_widest_integer(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "func.func private @f({}i{})".format
    parse_module(text("", 1 << 16))
    for sign in ("", "s", "u"):
        with pytest.raises(
            QlowerError, match="integer width 65537 is larger than 65536"
        ):
            parse_module(text(sign, (1 << 16) + 1))
    monkeypatch.setattr(parsing, "WIDEST_INTEGER", 8)
    parse_module(text("", 8))
    with pytest.raises(QlowerError, match="integer width 9 is larger than 8"):
        parse_module(text("", 9))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("arith.adddi", "not registered; did you mean arith.addi?"),
        ("qnn.lineer", "not registered; did you mean qnn.linear?"),
        ("arithh.addi", "not registered; did you mean arith.addi?"),
        ("zzzzz.qqqqq", "not registered"),
    ],
)
def test_operations_that_are_slips(name: str, message: str) -> None:
    lines = "  %y = arith.addi %x, %x : i32", f"  {name} %x : i32"
    text = "\n".join(["func.func @f(%x: i32) {", *lines, "}"])
    if name.startswith("qnn"):
        text = "!q = !quant.uniform<i8:f32, 0.5>\n" + text
    with pytest.raises(QlowerError) as caught:
        parse_module(text)
    found = caught.value.message
    assert found.startswith(f"operation {name} is not ")
    if not name.startswith("qnn"):  # whose dialect may not be loaded
        assert found.removeprefix(f"operation {name} is ") == message


def test_files_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.mlir"
    text = "module {}"
    path.write_text(text)
    monkeypatch.setattr(parsing, "LARGEST_SOURCE", len(text))
    parse_file(path)
    monkeypatch.setattr(parsing, "LARGEST_SOURCE", len(text) - 1)
    with pytest.raises(QlowerError) as caught:
        parse_file(path)
    assert caught.value.message == f"{path}: 9 bytes of text are more than 2^31"
    with pytest.raises(QlowerError, match=r"^error: cannot read .*: No such file"):
        parse_file(tmp_path / "none.mlir")
    for blank in ("", " \n\t"):
        with pytest.raises(QlowerError) as caught:
            parse_module(blank, "m.mlir")
        assert str(caught.value) == "m.mlir:1:1: error: there is no MLIR text"
