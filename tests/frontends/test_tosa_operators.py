"""Operators of TOSA in text, in every executor, beside the TOSA reference model."""

from __future__ import annotations

import numpy as np
import pytest
from support.recordings import make_executors
from support.tosa import has_reference_model, run_reference_model

from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import load_text
from qlower.interp.values import Array

pytestmark = pytest.mark.skipif(
    not has_reference_model(), reason="tosa-tools is not installed"
)

ROUNDS = 4
"""Sets of inputs for each group of operations."""


def module(arguments: str, constants: str, operations: str) -> str:
    """A function that returns the result of each operation, but for steps; an operation
    is a line `op operands {...} : (types) -> type`, and a step begins with `~`."""
    lines = [line.strip() for line in operations.strip().splitlines()]
    body = "\n".join(
        f"    %{i} = tosa.{line.removeprefix('~')}" for i, line in enumerate(lines)
    )
    returned = [i for i, line in enumerate(lines) if not line.startswith("~")]
    types = ", ".join(lines[i].rpartition("-> ")[2] for i in returned)
    results = ", ".join(f"%{i}" for i in returned)
    return f"""module {{
  func.func @main({arguments}) -> ({types}) {{
{constants}
{body}
    return {results} : {types}
  }}
}}
"""


def constant(name: str, values: str, type: str) -> str:
    return f'    %{name} = "tosa.const"() <{{values = dense<{values}> : {type}}}> : () -> {type}\n'


def sizes(name: str, values: list[int]) -> str:
    rank = len(values)
    return (
        f"    %{name} = tosa.const_shape {{values = dense<{values}> : "
        f"tensor<{rank}xindex>}} : () -> !tosa.shape<{rank}>\n"
    )


PAIR = "(tensor<2x3x4xi32>, tensor<2x1x4xi32>) -> tensor<2x3x4xi32>"

NUMBERS = module(
    "%x: tensor<2x3x4xi32>, %y: tensor<2x1x4xi32>, %n: tensor<1x3x1xi32>",
    constant("z", "0", "tensor<1xi8>")
    + constant("h", "31", "tensor<1xi8>")
    + constant("one", "1", "tensor<1xi8>")
    + constant("zero", "0", "tensor<1xi32>"),
    f"""
    add %x, %y : {PAIR}
    sub %x, %y : {PAIR}
    maximum %x, %y : {PAIR}
    minimum %x, %y : {PAIR}
    intdiv %x, %y : {PAIR}
    bitwise_and %x, %y : {PAIR}
    bitwise_or %x, %y : {PAIR}
    bitwise_xor %x, %y : {PAIR}
    bitwise_not %x : (tensor<2x3x4xi32>) -> tensor<2x3x4xi32>
    abs %x : (tensor<2x3x4xi32>) -> tensor<2x3x4xi32>
    clz %x : (tensor<2x3x4xi32>) -> tensor<2x3x4xi32>
    negate %x, %zero, %zero : (tensor<2x3x4xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2x3x4xi32>
    mul %x, %y, %h : (tensor<2x3x4xi32>, tensor<2x1x4xi32>, tensor<1xi8>) -> tensor<2x3x4xi32>
    mul %n, %n, %z : (tensor<1x3x1xi32>, tensor<1x3x1xi32>, tensor<1xi8>) -> tensor<1x3x1xi32>
    mul %n, %n, %one : (tensor<1x3x1xi32>, tensor<1x3x1xi32>, tensor<1xi8>) -> tensor<1x3x1xi32>
    arithmetic_right_shift %x, %n {{round = true}} : (tensor<2x3x4xi32>, tensor<1x3x1xi32>) -> tensor<2x3x4xi32>
    arithmetic_right_shift %x, %n {{round = false}} : (tensor<2x3x4xi32>, tensor<1x3x1xi32>) -> tensor<2x3x4xi32>
    logical_left_shift %x, %n : (tensor<2x3x4xi32>, tensor<1x3x1xi32>) -> tensor<2x3x4xi32>
    logical_right_shift %x, %n : (tensor<2x3x4xi32>, tensor<1x3x1xi32>) -> tensor<2x3x4xi32>
    cast %x : (tensor<2x3x4xi32>) -> tensor<2x3x4xi16>
    cast %x : (tensor<2x3x4xi32>) -> tensor<2x3x4xi8>
    reduce_sum %x {{axis = 1 : i32}} : (tensor<2x3x4xi32>) -> tensor<2x1x4xi32>
    reduce_max %x {{axis = 2 : i32}} : (tensor<2x3x4xi32>) -> tensor<2x3x1xi32>
    reduce_min %x {{axis = 0 : i32}} : (tensor<2x3x4xi32>) -> tensor<1x3x4xi32>
    """,
)

BYTES = module(
    "%x: tensor<2x6xi8>, %h: tensor<2x6xi16>",
    constant("a", "-3", "tensor<1xi8>")
    + constant("b", "17", "tensor<1xi8>")
    + constant("z", "0", "tensor<1xi16>")
    + constant("n", "0", "tensor<1xi8>")
    + constant(
        "t", str([(i * 37 + 11) % 256 - 128 for i in range(256)]), "tensor<256xi8>"
    )
    + constant("w", str([i * i // 5 - 25000 for i in range(513)]), "tensor<513xi16>"),
    """
    negate %x, %a, %b : (tensor<2x6xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<2x6xi8>
    negate %h, %z, %z : (tensor<2x6xi16>, tensor<1xi16>, tensor<1xi16>) -> tensor<2x6xi16>
    clamp %x {max_val = 90 : i8, min_val = -20 : i8} : (tensor<2x6xi8>) -> tensor<2x6xi8>
    clamp %h {max_val = 32767 : i16, min_val = 0 : i16} : (tensor<2x6xi16>) -> tensor<2x6xi16>
    table %x, %t : (tensor<2x6xi8>, tensor<256xi8>) -> tensor<2x6xi8>
    table %h, %w : (tensor<2x6xi16>, tensor<513xi16>) -> tensor<2x6xi32>
    cast %x : (tensor<2x6xi8>) -> tensor<2x6xi32>
    cast %h : (tensor<2x6xi16>) -> tensor<2x6xi8>
    cast %x : (tensor<2x6xi8>) -> tensor<2x6xi1>
    mul %x, %x, %n : (tensor<2x6xi8>, tensor<2x6xi8>, tensor<1xi8>) -> tensor<2x6xi32>
    bitwise_not %x : (tensor<2x6xi8>) -> tensor<2x6xi8>
    argmax %x {axis = 1 : i32} : (tensor<2x6xi8>) -> tensor<2xi32>
    argmax %x {axis = 0 : i32} : (tensor<2x6xi8>) -> tensor<6xi32>
    """,
)

TRUTHS = module(
    "%x: tensor<2x6xi32>, %y: tensor<2x6xi32>, %p: tensor<2x6xi1>, %q: tensor<2x6xi1>",
    "",
    """
    equal %x, %y : (tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi1>
    greater %x, %y : (tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi1>
    greater_equal %x, %y : (tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi1>
    logical_and %p, %q : (tensor<2x6xi1>, tensor<2x6xi1>) -> tensor<2x6xi1>
    logical_or %p, %q : (tensor<2x6xi1>, tensor<2x6xi1>) -> tensor<2x6xi1>
    logical_xor %p, %q : (tensor<2x6xi1>, tensor<2x6xi1>) -> tensor<2x6xi1>
    logical_not %p : (tensor<2x6xi1>) -> tensor<2x6xi1>
    select %p, %x, %y : (tensor<2x6xi1>, tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi32>
    cast %p : (tensor<2x6xi1>) -> tensor<2x6xi8>
    reduce_all %p {axis = 1 : i32} : (tensor<2x6xi1>) -> tensor<2x1xi1>
    reduce_any %p {axis = 0 : i32} : (tensor<2x6xi1>) -> tensor<1x6xi1>
    """,
)

IMAGE = "tensor<1x4x5x3xi8>"

MOVES = module(
    f"%x: {IMAGE}, %v: tensor<1x5x2xi16>, %i: tensor<1x4xi32>",
    constant("c", "7", "tensor<1xi8>")
    + sizes("pad", [0, 0, 1, 2, 0, 1, 0, 0])
    + sizes("start", [0, 1, 0, 2])
    + sizes("size", [1, 2, 5, 1])
    + sizes("flat", [12, 5])
    + sizes("tile", [2, 1, 3, 1])
    + sizes("scale", [4, 2, 6, 2])
    + sizes("offset", [-1, 0])
    + sizes("border", [1, 4]),
    f"""
    pad %x, %pad, %c : ({IMAGE}, !tosa.shape<8>, tensor<1xi8>) -> tensor<1x7x6x3xi8>
    slice %x, %start, %size : ({IMAGE}, !tosa.shape<4>, !tosa.shape<4>) -> tensor<1x2x5x1xi8>
    reshape %x, %flat : ({IMAGE}, !tosa.shape<2>) -> tensor<12x5xi8>
    tile %x, %tile : ({IMAGE}, !tosa.shape<4>) -> tensor<2x4x15x3xi8>
    transpose %x {{perms = array<i32: 0, 3, 1, 2>}} : ({IMAGE}) -> tensor<1x3x4x5xi8>
    concat %x, %x {{axis = 2 : i32}} : ({IMAGE}, {IMAGE}) -> tensor<1x4x10x3xi8>
    reverse %x {{axis = 1 : i32}} : ({IMAGE}) -> {IMAGE}
    gather %v, %i : (tensor<1x5x2xi16>, tensor<1x4xi32>) -> tensor<1x4x2xi16>
    resize %x, %scale, %offset, %border {{mode = NEAREST_NEIGHBOR}} : ({IMAGE}, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x8x15x3xi8>
    resize %x, %scale, %offset, %border {{mode = BILINEAR}} : ({IMAGE}, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x8x15x3xi32>
    """,
)

WINDOW = "pad = array<i64: 1, 0, 1, 1>, stride = array<i64: 1, 2>"
CONVOLUTION = f"acc_type = i32, dilation = array<i64: 1, 1>, {WINDOW}"
FILTERS = str(
    [
        [
            [[(o * 7 + r * 5 + c * 3 + k) % 19 - 9 for k in range(3)] for c in range(3)]
            for r in range(2)
        ]
        for o in range(4)
    ]
)
DEPTHWISE = str(
    [
        [
            [
                [(r * 7 + c * 5 + k * 3 + m) % 23 - 11 for m in range(2)]
                for k in range(3)
            ]
            for c in range(3)
        ]
        for r in range(2)
    ]
)

SUMS = module(
    f"%x: {IMAGE}, %h: tensor<1x4x5x3xi16>, %a: tensor<2x3x4xi8>, %b: tensor<2x4x5xi8>",
    constant("xz", "-5", "tensor<1xi8>")
    + constant("wz", "2", "tensor<1xi8>")
    + constant("z", "0", "tensor<1xi8>")
    + constant("z16", "0", "tensor<1xi16>")
    + constant("z48", "0", "tensor<1xi48>")
    + constant("m", "21846", "tensor<1xi16>")
    + constant("s", "20", "tensor<1xi8>")
    + constant("w", FILTERS, "tensor<4x2x3x3xi8>")
    + constant("bias", "[1, -200, 3000, 4]", "tensor<4xi32>")
    + constant("bias48", "[1, -200, 3000, 4]", "tensor<4xi48>")
    + constant("d", DEPTHWISE, "tensor<2x3x3x2xi8>")
    + constant("one", "77", "tensor<1xi32>"),
    f"""
    conv2d %x, %w, %bias, %xz, %wz {{{CONVOLUTION}}} : ({IMAGE}, tensor<4x2x3x3xi8>, tensor<4xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x3x4xi32>
    ~conv2d %h, %w, %bias48, %z16, %z {{{CONVOLUTION.replace("i32", "i48")}}} : (tensor<1x4x5x3xi16>, tensor<4x2x3x3xi8>, tensor<4xi48>, tensor<1xi16>, tensor<1xi8>) -> tensor<1x4x3x4xi48>
    rescale %1, %m, %s, %z48, %z16 {{input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = false}} : (tensor<1x4x3x4xi48>, tensor<1xi16>, tensor<1xi8>, tensor<1xi48>, tensor<1xi16>) -> tensor<1x4x3x4xi16>
    depthwise_conv2d %x, %d, %one, %xz, %wz {{{CONVOLUTION}}} : ({IMAGE}, tensor<2x3x3x2xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x3x6xi32>
    matmul %a, %b, %xz, %wz : (tensor<2x3x4xi8>, tensor<2x4x5xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<2x3x5xi32>
    avg_pool2d %x, %xz, %wz {{acc_type = i32, kernel = array<i64: 2, 3>, {WINDOW}}} : ({IMAGE}, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x3x3xi8>
    avg_pool2d %h, %z16, %z16 {{acc_type = i32, kernel = array<i64: 2, 3>, {WINDOW}}} : (tensor<1x4x5x3xi16>, tensor<1xi16>, tensor<1xi16>) -> tensor<1x4x3x3xi16>
    max_pool2d %x {{kernel = array<i64: 2, 3>, {WINDOW}}} : ({IMAGE}) -> tensor<1x4x3x3xi8>
    """,
)


def rescale(source: str, target: str, mode: str, zero_points: str, **flags: str) -> str:
    """The line of a RESCALE of four elements."""
    wide = flags.get("scale32", "true")
    multiplier = (
        ("m32", "tensor<1xi32>") if wide == "true" else ("m16", "tensor<1xi16>")
    )
    channels = flags.get("per_channel", "false")
    shift = ("s", "tensor<1xi8>")
    if channels == "true":
        multiplier, shift = ("ms", "tensor<4xi32>"), ("ss", "tensor<4xi8>")
    before, after = zero_points.split()
    return (
        f"rescale %x{source}, %{multiplier[0]}, %{shift[0]}, %{before}, %{after} "
        f"{{input_unsigned = {flags.get('input_unsigned', 'false')}, "
        f"output_unsigned = {flags.get('output_unsigned', 'false')}, "
        f"per_channel = {channels}, rounding_mode = {mode}, scale32 = {wide}}} : "
        f"(tensor<5x4xi{source}>, {multiplier[1]}, {shift[1]}, tensor<1xi{source}>, "
        f"tensor<1xi{target}>) -> tensor<5x4xi{target}>"
    )


RESCALINGS = module(
    "%x8: tensor<5x4xi8>, %x16: tensor<5x4xi16>, %x32: tensor<5x4xi32>",
    constant("m32", "1431655766", "tensor<1xi32>")
    + constant("m16", "21846", "tensor<1xi16>")
    + constant("ms", "[1073741824, 2147483647, 1, 1610612736]", "tensor<4xi32>")
    + constant("s", "35", "tensor<1xi8>")
    + constant("ss", "[33, 48, 62, 40]", "tensor<4xi8>")
    + constant("z8", "-7", "tensor<1xi8>")
    + constant("u8", "-100", "tensor<1xi8>")
    + constant("z16", "0", "tensor<1xi16>")
    + constant("u16", "-32768", "tensor<1xi16>")
    + constant("z32", "0", "tensor<1xi32>"),
    "\n".join(
        (
            rescale("32", "8", "SINGLE_ROUND", "z32 z8"),
            rescale("32", "8", "DOUBLE_ROUND", "z32 z8"),
            rescale("32", "8", "DOUBLE_ROUND", "z32 z8", per_channel="true"),
            rescale("32", "16", "SINGLE_ROUND", "z32 z16", per_channel="true"),
            rescale("8", "32", "DOUBLE_ROUND", "z8 z32"),
            rescale("8", "32", "SINGLE_ROUND", "u8 z32", input_unsigned="true"),
            rescale("32", "8", "SINGLE_ROUND", "z32 u8", output_unsigned="true"),
            rescale("32", "16", "SINGLE_ROUND", "z32 u16", output_unsigned="true"),
            rescale("16", "8", "SINGLE_ROUND", "u16 z8", input_unsigned="true"),
            rescale("16", "8", "SINGLE_ROUND", "z16 z8", scale32="false"),
            rescale("8", "16", "SINGLE_ROUND", "z8 z16", scale32="false"),
        )
    ),
)

GROUPS = {
    "numbers": NUMBERS,
    "bytes": BYTES,
    "truths": TRUTHS,
    "moves": MOVES,
    "sums": SUMS,
    "rescalings": RESCALINGS,
}


def draw(
    name: str, shape: tuple[int, ...], dtype: str, choice: np.random.Generator
) -> Array:
    """Elements of any size, but for those for which TOSA has no result."""
    if dtype == "bool":
        return choice.integers(0, 2, shape).astype(np.bool_)
    if name in ("n", "i"):  # places of a shift, numbers of rows
        return choice.integers(0, 5 if name == "i" else 32, shape).astype(np.int32)
    limits = np.iinfo(dtype)
    size = choice.integers(1, limits.bits - 1)
    drawn = choice.integers(-(1 << size), 1 << size, shape).astype(dtype)
    return np.where(drawn == 0, 1, drawn) if name == "y" else drawn


@pytest.mark.parametrize("group", GROUPS)
def test_operators(group: str):
    text = GROUPS[group]
    model = load_text(text.encode(), f"{group}.mlir", ImportOptions())
    executors = make_executors(model, None, list(GROUPS).index(group))
    choice = np.random.default_rng(len(group))
    for _ in range(ROUNDS):
        inputs = [draw(s.name, s.shape, s.dtype, choice) for s in model.inputs]
        expected = run_reference_model(text, inputs)
        for name, executor in executors.items():
            outputs, _ = executor.run(inputs, {})
            for i, (found, wanted) in enumerate(zip(outputs, expected, strict=True)):
                np.testing.assert_array_equal(found, wanted, f"{name}, operation {i}")
