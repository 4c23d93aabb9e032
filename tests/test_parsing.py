"""Locations of operations, and clean errors for text of every kind."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pytest
from support.lanes import LARGE_VARIABLE, is_asked_for
from support.layers.small_model import SMALL_MODEL
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    ModuleOp,
    NameLoc,
)
from xdsl.ir import Operation

from qlower.codegen.targets.resolve import host_target
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.diagnostics import QlowerError
from qlower.model.layers import layer_name
from qlower.model.printing import ExactPrinter
from qlower.text.parsing import parse_file, parse_module
from qlower.text.source_errors import line_of
from qlower.text.verification import verify_module


def parse(text: str | bytes) -> ModuleOp:
    module = parse_module(text, "m.mlir")
    verify_module(module)
    return module


def refused(text: str | bytes) -> str:
    with pytest.raises(QlowerError) as caught:
        parse(text)
    return str(caught.value)


def body(*lines: str) -> str:
    """A function around some lines, which are lines 2, 3 ... of the text."""
    return "\n".join(["func.func @main(%x: i32) {", *lines, "  return", "}"])


def place(op: Operation) -> tuple[int, int]:
    assert isinstance(op.location, FileLineColLoc)
    return op.location.line.data, op.location.column.data


def test_operations_have_places():
    module = parse(body("  %y = arith.addi %x,", "    %x : i32"))
    assert [(op.name, place(op)) for op in module.walk()] == [
        ("builtin.module", (1, 1)),
        ("func.func", (1, 1)),
        ("arith.addi", (2, 8)),
        ("func.return", (4, 3)),
    ]


def test_several_results_of_a_generic():
    """As they are printed; without parentheses they are xDSL's own."""
    text = """func.func @main(%x: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  %empty = tensor.empty() : tensor<4xi8>
  %y, %z = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
                     affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]
  } ins(%x : tensor<4xi8>) outs(%empty, %empty : tensor<4xi8>, tensor<4xi8>) {
  ^bb0(%a: i8, %b: i8, %c: i8):
    linalg.yield %a, %a : i8, i8
  } -> (tensor<4xi8>, tensor<4xi8>)
  return %y, %z : tensor<4xi8>, tensor<4xi8>
}"""
    module = parse(text)
    assert str(parse(str(module))) == str(module)
    bare = text.replace("} -> (", "} -> ").replace(">)\n  ret", ">\n  ret")
    assert str(parse(bare)) == str(module)
    assert "m.mlir:11:3: error: ')'" in refused(text.replace(">)\n  ret", ">\n  ret"))


def test_explicit_locations_are_kept():
    module = parse(body('  %y = arith.addi %x, %x : i32 loc("l"("a.tflite":7:0))'))
    op = next(op for op in module.walk() if op.name == "arith.addi")
    assert isinstance(op.location, NameLoc)
    assert layer_name(op) == "l"


def test_line_offset():
    module = parse_module("func.func @f() { return }", "m.mlir", line_offset=10)
    assert [place(op)[0] for op in module.walk()] == [1, 11, 11]


@pytest.mark.parametrize(
    ("line", "position", "message"),
    [
        ("%y = arith.addi %z, %x : i32", "2:17", "value %z is used but never defined"),
        ("%y = arith.addi %y, %x : i32", "2:6", "operand %y is used before it is def"),
        ("%y = arith.addi %x, %x : i8", "2:17", "operand is used with type i8"),
        (
            "%y = arith.adddi %x, %x : i32",
            "2:6",
            "not registered; did you mean arith.addi?",
        ),
        ("fnc.return", "2:1", "not registered; did you mean func.return?"),
        ("%y = stablehlo.sqr %x : i32", "2:6", "; did you mean stablehlo.sqrt?"),
        ("%y = stablehlo.sort %x : i32", "2:6", "stablehlo.sort is not supported; "),
        ("%y = stablehlo.all_gather %x : i32", "2:6", "gather is not supported; "),
        ("%y = tosa.fft2d %x : i32", "2:6", "tosa.fft2d is not supported; "),
        ("%y = arith.ad %x, %x : i32", "2:6", "operation arith.ad is not supported"),
        (
            "%y = arith.constant dense<300> : tensor<2xi8>",
            "2:26",
            "value 300 is out of",
        ),
        ("%y = arith.constant dense<[1, 2]> : tensor<3xi8>", "2:26", "shape mismatch"),
        (
            "%y = arith.constant dense<0> : tensor<9999999999xi8>",
            "2:32",
            "is larger tha",
        ),
        ("%y = arith.constant 1 : i3000000000", "2:25", "width 3000000000 is larger"),
        ("cf.br ^nowhere", "4:2", "region ends with missing block declarations"),
        ('%y = arith.constant dense<"0xZZ"> : tensor<1xi8>', "2:26", "hex string"),
        ('%y = arith.constant dense<"0x4"> : tensor<1xi4>', "2:26", "hex string"),
        (
            '%y = arith.constant dense<"0x48"> : tensor<1xi4>',
            "2:26",
            "outside of the r",
        ),
    ],
)
def test_mistakes_point_at_their_place(line: str, position: str, message: str):
    error = refused(body(line))
    assert error.startswith(f"m.mlir:{position}")
    assert message in error.splitlines()[0]


@pytest.mark.parametrize("element", ["i8", "i32", "f32", "f64"])
def test_long_decimal_lists(element: str):
    suffix = ".5" if element.startswith("f") else ""
    rows = [
        [f"{(7 * i + j) % 200 - 100}{suffix}" for j in range(50)] for i in range(30)
    ]
    text = "[" + ", ".join(f"[{', '.join(row)}]" for row in rows) + "]"
    module = parse(body(f"%y = arith.constant dense<{text}> : tensor<30x50x{element}>"))
    constant = next(op for op in module.walk() if op.name == "arith.constant")
    dense = constant.properties["value"]
    assert isinstance(dense, DenseIntOrFPElementsAttr)
    assert list(dense.get_values()) == [float(item) for row in rows for item in row]


@pytest.mark.parametrize(
    ("text", "type", "message"),
    [
        ("[" + "1, " * 999 + "1]", "tensor<999xi8>", "dense literal has shape [1000]"),
        ("[" + "1, " * 999 + "300]", "tensor<1000xi8>", "outside of the range of i8"),
        ("[" + "1, " * 999 + "1.5]", "tensor<1000xi8>", "element of the wrong kind"),
        ("[[1], " + "1, " * 999 + "1]", "tensor<1001xi8>", "invalid dense literal"),
        ("[" + "1, " * 999 + "-]", "tensor<1000xi8>", "invalid dense literal"),
    ],
)
def test_bad_long_lists(text: str, type: str, message: str):
    """They point at the list, wherever it begins."""
    for space in ("", "  "):
        error = refused(body(f"%y = arith.constant dense<{space}{text}> : {type}"))
        assert error.startswith(f"m.mlir:2:{27 + len(space)}: error: ")
        assert message in error.splitlines()[0]


@pytest.mark.parametrize(
    ("element", "first"), [("i4", "08"), ("i48", "F8FFFFFFFFFF0000")]
)
def test_spare_bits_of_bytes(element: str, first: str):
    """They are zero in text, as upstream's are, and the sign's in what is parsed."""
    numbers = [n % 15 - 8 for n in range(120)]
    text = f"%c = arith.constant dense<{numbers}> : tensor<120x{element}>"
    module, printed = parse_module(text, "test.mlir"), StringIO()
    ExactPrinter(printed).print_op(module)
    assert f'dense<"0x{first}' in printed.getvalue()
    again = parse_module(printed.getvalue(), "test.mlir")
    assert again.is_structurally_equivalent(module)


@pytest.mark.parametrize(
    ("element", "kind"),
    [("-3", "i16"), ("true", "i1"), ("0.5", "f32"), ("0x3F000000", "f32")],
)
def test_equal_elements_are_read_once(element: str, kind: str) -> None:
    """As if each were written; lines that mean gigabytes are refused."""

    def constant(name: str, elements: str, shape: str) -> str:
        return f"%{name} = arith.constant dense<{elements}> : tensor<{shape}x{kind}>"

    each = f"[{element}, {element}, {element}]"
    short, long = (str(parse(body(constant("y", e, "3")))) for e in (element, each))
    assert short == long
    assert "dense<> : " in str(parse(body(constant("y", element, "0x4"))))
    start = time.process_time()
    parse(body(constant("y", element, "1000x4000")))
    assert time.process_time() - start < 2.0
    lines = (constant(name, element, "5000x4000") for name in "yz")
    assert "have 40000000 in all, more than 33554432" in refused(body(*lines))


def test_a_million_elements_are_quick():
    """Sixteen times as many elements take no more than sixty-four times as long."""

    def seconds(count: int) -> float:
        numbers = ", ".join(str(i % 256 - 128) for i in range(count))
        text = body(f"%y = arith.constant dense<[{numbers}]> : tensor<{count}xi8>")
        start = time.process_time()
        parse(text)
        return time.process_time() - start

    assert seconds(1 << 20) < 64 * max(seconds(1 << 16), 0.005)


@pytest.mark.parametrize(
    "text", ["", "  \n// nothing\n", "{", "a", "!", '"', "%", "\0"]
)
def test_scraps(text: str):
    assert refused(text).startswith("m.mlir:")


def test_binary_text():
    for lines in ("module {\n", "\n", "\n\n  "):
        line, column = lines.count("\n") + 1, len(lines) - lines.rindex("\n")
        told = refused(lines.encode() + b"\xff}")
        assert told.startswith(f"m.mlir:{line}:{column}: error: not MLIR text")
    assert "print" in refused(b"ML\xefR\x00")


@pytest.mark.parametrize(
    "unit", ["module {", "tensor<", "dense<[", "[", "func.func @f("]
)
def test_deep_nesting(unit: str):
    refused(unit * 5000)
    refused("[" * 5000 + "]" * 5000)


def test_files(tmp_path: Path):
    path = tmp_path / "model.mlir"
    path.write_text(SMALL_MODEL)
    assert isinstance(parse_file(path), ModuleOp)
    with pytest.raises(QlowerError, match=r"cannot read .*: Is a directory"):
        parse_file(tmp_path)
    with pytest.raises(QlowerError, match=r"cannot read .*: No such file"):
        parse_file(tmp_path / "none.mlir")


def test_damaged_text_is_refused_or_understood():
    """Flip, drop, repeat and cut bytes: a module or a `QlowerError`, nothing else."""
    source = SMALL_MODEL.encode()
    choices = random.Random(7)
    understood = 0
    count = 4000 if is_asked_for(LARGE_VARIABLE) else 300
    for _ in range(count):
        damaged = bytearray(source)
        for _ in range(choices.randint(1, 3)):
            start = choices.randrange(len(damaged))
            end = min(len(damaged), start + choices.randint(1, 30))
            match choices.randrange(5):
                case 0:
                    damaged[start] ^= 1 << choices.randrange(8)
                case 1:
                    damaged[start] = choices.choice(b'0123456789-<>{}[]()%!#:,. "x')
                case 2:
                    del damaged[start:end]
                case 3:
                    damaged[start:start] = damaged[start:end]
                case _:
                    del damaged[choices.randrange(len(damaged) // 2, len(damaged)) :]
        with suppress(QlowerError):
            parse(bytes(damaged))
            understood += 1
    assert 0 < understood < count * 3 // 4


RESOURCE = """
func.func @main() -> tensor<3xi16> {
  %0 = arith.constant dense_resource<torch_tensor_3_torch.int16> : tensor<3xi16>
  return %0 : tensor<3xi16>
}
{-#
  dialect_resources: {
    builtin: {
      other_torch_tensor_3_torch.int16: "0x040000000000",
      torch_tensor_3_torch.int16: "0x080000000100FEFF0080"
    }
  }
#-}
"""


def test_elements_at_the_end_of_the_file():
    """Resources, as importers of PyTorch's models write weights."""
    text = str(parse_module(RESOURCE))
    assert "dense<[1, -2, -32768]> : tensor<3xi16>" in text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("FEFF0080", "FEFF", "3:38: error: a resource of 4 bytes, tensor<3xi16> has 6"),
        ("      torch_tensor_3", "      gone", "are not in the file"),
        ("tensor<3xi16>", "tensor<3xi4>", "resources of i4 are not supported"),
        ("tensor<3xi16>", "tensor<?xi16>", "has -"),
        ("#-}", "", "the end of the file's metadata, #-}, is missing"),
    ],
)
def test_resources_that_do_not_fit(old: str, new: str, message: str):
    with pytest.raises(QlowerError, match=message):
        parse_module(RESOURCE.replace(old, new))


@pytest.mark.parametrize("name", ["_2", "_1_2", "_", "__0", "a_0", "0", "_0_"])
def test_a_value_whose_name_is_a_number(name: str) -> None:
    """xDSL takes numbers off the end of a name, and of what is left again."""
    text = f"""
    func.func @main(%{name}: tensor<4xi8>) -> tensor<4xi8> {{
      %out = tensor.empty() : tensor<4xi8>
      %z{name} = linalg.generic {{
        indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]
      }} ins(%{name} : tensor<4xi8>) outs(%out : tensor<4xi8>) {{
      ^{"bb" if name.isdigit() else ""}{name}(%_0: i8, %_1: i8):
        %_3 = arith.addi %_0, %_0 : i8
        linalg.yield %_3 : i8
      }} -> tensor<4xi8>
      return %z{name} : tensor<4xi8>
    }}"""
    module = parse_module(text)
    twice = module.clone().clone()
    kernel = lower_to_kernel(lower_to_arith(twice), host_target())
    assert parse_module(str(kernel)).is_structurally_equivalent(kernel)


def test_a_block_that_was_named_before_is_declared_once() -> None:
    text = "func.func @f() {\n  cf.br ^a\n^a:\n  cf.br ^a\n^a:\n  return\n}"
    with pytest.raises(
        QlowerError, match=r"m\.mlir:5:1: .*re-declaration of block 'a'"
    ):
        parse_module(text, "m.mlir")


def test_what_is_declared_again_is_said_to_be_declared_before() -> None:
    text = "func.func @f() {\n^a:\n  return\n^a:\n  return\n}"
    with pytest.raises(QlowerError) as caught:
        parse_module(text, "m.mlir")
    (note,) = caught.value.notes
    assert note == "originally declared here: m.mlir:2:1"


def test_a_region_ends() -> None:
    function = '"func.func"() ({%s}) {sym_name = "f", function_type = () -> ()}'
    for inside, message in (("\n^a:\n", "an empty region has no terminator"), ("", "")):
        text = f"{function % inside} : () -> ()"
        if message:
            assert f"func.func: {message}" in refused(text)
        else:
            parse(text)
    parse("module {\n}")


@pytest.mark.parametrize("text", ["", "\n", "\n\nab", "a\nbc\n\n", "abc"])
def test_each_line_of_a_text(text: str) -> None:
    lines = text.split("\n")
    assert [line_of(text, n) for n in range(1, len(lines) + 1)] == lines
