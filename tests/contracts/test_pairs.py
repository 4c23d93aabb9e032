"""Sums of saturating pairs: which products are paired, and what padding contributes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from support.formats.side_by_side import side_by_side
from support.lanes import a_part
from support.layers.custom_contracts import (
    rule_text,
    run_everywhere,
    run_model_everywhere,
    write_contract,
)
from support.machines.aarch64 import aarch64_levels
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

import qlower
from qlower.compilation.compilation import Compilation
from qlower.contracts import load_contract, parse_contract
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.emulation.emulator import EmulatedExecutable
from qlower.interp.values import Array
from qlower.model.build import (
    constant,
    make_module,
    quantized,
    quantized_per_axis,
)

FLAT, PIXEL, TAPS = (f"saturating_pairs_{name}" for name in ("flat", "pixel", "taps"))
VALUES = {"accumulator": "i32"}


def byte_rule(rule: str, shift: int, product: str) -> str:
    """A rule that gives one byte of the accumulator."""
    body = f"""\
  %shift = arith.constant {shift} : i32
  %shifted = arith.shrsi %accumulator, %shift : i32
  %byte = arith.trunci %shifted : i32 to i8
  %y = arith.extsi %byte : i8 to i32
  return %y : i32"""
    return rule_text(rule, VALUES, body, attributes=f'contract.product = "{product}"')


def random_codes(shape: Sequence[int], signed: bool, seed: int) -> Array:
    """Mostly large codes, so that pairs saturate."""
    random = np.random.default_rng(seed)
    codes = np.where(
        random.random(tuple(shape)) < 0.7,
        random.integers(200, 256, tuple(shape)),
        random.integers(0, 256, tuple(shape)),
    )
    return (codes - 128).astype(np.int8) if signed else codes.astype(np.uint8)


def random_weights(shape: Sequence[int], seed: int) -> Array:
    random = np.random.default_rng(seed)
    magnitude = random.integers(60, 129, tuple(shape))
    sign = np.where(random.random(tuple(shape)) < 0.5, -1, 1)
    return np.clip(sign * magnitude, -128, 127).astype(np.int8)


def saturated(products: Sequence[int]) -> int:
    """The sum of the pairs of a list of products."""
    padded = [*products, 0]
    pairs = zip(padded[::2], padded[1::2], strict=False)
    return sum(min(max(a + b, -32768), 32767) for a, b in pairs)


def run_bytes(
    module: ModuleOp, rule: str, product: str, folder: Path, x: Array
) -> Array:
    """The accumulators, which fit 24 bits, put together from three layers, each by a
    contract that gives one byte."""
    layers: dict[str, qlower.Model] = {}
    for shift in (0, 8, 16):
        name = f"byte{shift}"
        contract = write_contract(folder, byte_rule(rule, shift, product), name=name)
        layer = module.clone()
        for op in layer.walk():
            if isinstance(op, qnn.QnnOp):
                op.contract = contract
        layers[name] = qlower.Model(layer)
    low, middle, high = run_model_everywhere(side_by_side(layers), None, [x] * 3)
    return (
        (low.astype(np.int64) & 0xFF)
        | (middle.astype(np.int64) & 0xFF) << 8
        | high.astype(np.int64) << 16
    )


def window(
    codes: Array, at: tuple[int, int, int], op: dict[str, tuple[int, ...]], padding: int
) -> list[tuple[bool, Array]]:
    """For each tap in order whether it is inside of the image, and its channels."""
    n, y, x = at
    taps: list[tuple[bool, Array]] = []
    for kh in range(op["kernel"][0]):
        for kw in range(op["kernel"][1]):
            row = y * op["stride"][0] - op["pad"][0] + kh * op["dilation"][0]
            column = x * op["stride"][1] - op["pad"][2] + kw * op["dilation"][1]
            _, height, width, _ = codes.shape
            if 0 <= row < height and 0 <= column < width:
                taps.append((True, codes[n, row, column].astype(np.int64)))
            else:
                taps.append((False, np.zeros_like(codes[n, 0, 0]) + padding))
    return taps


CONVOLUTIONS = [
    # image, outputs, groups, kernel, stride, pad, dilation
    ((1, 5, 4, 3), 4, 1, (3, 2), (1, 1), (1, 0, 1, 1), (1, 1)),
    ((2, 5, 5, 4), 3, 1, (2, 2), (2, 1), (0, 0, 0, 0), (1, 2)),
    ((1, 4, 4, 6), 4, 2, (3, 3), (1, 2), (1, 1, 1, 1), (1, 1)),
    ((1, 3, 3, 1), 5, 1, (3, 3), (1, 1), (2, 0, 0, 2), (1, 1)),
    ((1, 3, 3, 7), 2, 1, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1)),
]


T = TypeVar("T")


def half(cells: Iterable[T]) -> Sequence[T]:
    """Every second of the cells, but all of them if they are asked for. Where the last
    two of three axes have odd numbers of cases, any two of two axes still meet."""
    return a_part(list(cells), 2, 0)


def result_size(size: int, kernel: int, stride: int, pads: int, dilation: int) -> int:
    return (size + pads - (kernel - 1) * dilation - 1) // stride + 1


@pytest.mark.parts(15)
@pytest.mark.parametrize(
    ("product", "points", "case"),
    half(
        itertools.product(
            (FLAT, PIXEL), ((False, 0), (True, 0), (False, -7)), CONVOLUTIONS
        )
    ),
)
def test_convolutions(
    product: str,
    points: tuple[bool, int],
    case: tuple[tuple[int, ...], int, int, *tuple[tuple[int, ...], ...]],
    tmp_path: Path,
):
    """Signed or unsigned codes, and weights of zero points that grow from channel to
    channel, from `point` on."""
    signed, point = points
    image, outputs, groups, kernel, stride, pad, dilation = case
    zero = 117
    depth = image[3] // groups
    weights = random_weights((outputs, *kernel, depth), 1)
    shape = (
        image[0],
        result_size(image[1], kernel[0], stride[0], pad[0] + pad[1], dilation[0]),
        result_size(image[2], kernel[1], stride[1], pad[2] + pad[3], dilation[1]),
        outputs,
    )

    def body(x: SSAValue) -> list[SSAValue]:
        scales = [0.5] * outputs
        points = [point * (o + 1) for o in range(outputs)]
        w = constant(weights, quantized_per_axis(weights.shape, 0, scales, points))
        conv = qnn.Conv2DOp(
            x,
            w,
            constant(np.arange(outputs, dtype=np.int32)),
            quantized(shape, 0.5),
            stride=stride,
            pad=pad,
            dilation=dilation,
            groups=groups,
        )
        return [conv.result]

    input_point = zero - 128 if signed else zero
    module = make_module([quantized(image, 0.5, input_point, signed=signed)], body)
    x = random_codes(image, signed, 2)
    got = run_bytes(module, "conv2d", product, tmp_path, x)
    codes = x.astype(np.int64) + (128 if signed else 0)
    geometry = {"kernel": kernel, "stride": stride, "pad": pad, "dilation": dilation}
    padding = zero if product == FLAT else 0
    has_saturated = False
    for *at, o in np.ndindex(shape):
        first = o // (outputs // groups) * depth
        taps = window(codes, (at[0], at[1], at[2]), geometry, padding)
        rows = [
            (part[first : first + depth] * weights[o].reshape(-1, depth)[i]).tolist()
            for i, (_, part) in enumerate(taps)
        ]
        inside = [
            int(weights[o].reshape(-1, depth)[i].sum(dtype=np.int64))
            for i, (is_inside, _) in enumerate(taps)
            if is_inside or product == FLAT
        ]
        exact = sum(sum(row) for row in rows)
        if product == FLAT:
            total = saturated([product for row in rows for product in row])
        else:
            total = sum(saturated(row) for row in rows)
        has_saturated |= total != exact
        # Padding is the zero point, or left out, and so doesn't meet the weights'.
        centred = sum(
            int((part[first : first + depth] - zero).sum())
            for is_inside, part in taps
            if is_inside
        )
        excess = point * (o + 1) * centred
        assert got[(*at, o)] == total - zero * sum(inside) - excess + o
    assert has_saturated or image[3] == 1


WINDOWS = [
    (1, (3, 3), (1, 1, 1, 1)),
    (2, (2, 2), (0, 0, 0, 0)),
    (1, (1, 3), (0, 0, 1, 1)),
]
"""Multipliers of channels, kernels and pads."""


@pytest.mark.parts(9)
@pytest.mark.parametrize(
    ("product", "points", "case"),
    half(itertools.product((FLAT, TAPS), ((False, 0), (True, 0), (True, 9)), WINDOWS)),
)
def test_depthwise_convolutions(
    product: str,
    points: tuple[bool, int],
    case: tuple[int, tuple[int, int], tuple[int, ...]],
    tmp_path: Path,
):
    """Signed or unsigned codes, and weights of a zero point."""
    (signed, weight_point), (multiplier, kernel, pad) = points, case
    image, zero = (1, 4, 5, 3), 200
    outputs = 3 * multiplier
    weights = random_weights((1, *kernel, outputs), 1)
    shape = (
        1,
        result_size(4, kernel[0], 1, pad[0] + pad[1], 1),
        result_size(5, kernel[1], 1, pad[2] + pad[3], 1),
        outputs,
    )

    def body(x: SSAValue) -> list[SSAValue]:
        w = constant(weights, quantized(weights.shape, 0.5, weight_point))
        y = quantized(shape, 0.5)
        return [qnn.DepthwiseConv2DOp(x, w, None, y, pad=pad).result]

    point = zero - 128 if signed else zero
    module = make_module([quantized(image, 0.5, point, signed=signed)], body)
    x = random_codes(image, signed, 2)
    got = run_bytes(module, "depthwise_conv2d", product, tmp_path, x)
    codes = x.astype(np.int64) + (128 if signed else 0)
    geometry = {"kernel": kernel, "stride": (1, 1), "pad": pad, "dilation": (1, 1)}
    for *at, o in np.ndindex(shape):
        taps = window(codes, (at[0], at[1], at[2]), geometry, zero)
        own = weights[0, :, :, o].reshape(-1).tolist()
        products = [
            int(part[o // multiplier]) * w
            for (_, part), w in zip(taps, own, strict=True)
        ]
        centred = sum(int(part[o // multiplier]) - zero for _, part in taps)
        excess = weight_point * centred
        assert got[(*at, o)] == saturated(products) - zero * sum(own) - excess


@pytest.mark.parts(10)
@pytest.mark.parametrize("product", [FLAT, PIXEL])
@pytest.mark.parametrize(
    ("depth", "point"), [(1, 0), (6, 0), (7, 0), (7, -128), (6, -1)]
)
def test_linear(product: str, depth: int, point: int, tmp_path: Path):
    weights = random_weights((4, depth), 1)

    def body(x: SSAValue) -> list[SSAValue]:
        w = constant(weights, quantized(weights.shape, 0.5, point))
        return [qnn.LinearOp(x, w, None, quantized((2, 3, 4), 0.5)).result]

    module = make_module([quantized((2, 3, depth), 0.5, 31, signed=False)], body)
    x = random_codes((2, 3, depth), False, 2)
    got = run_bytes(module, "linear", product, tmp_path, x)
    for *at, o in np.ndindex(2, 3, 4):
        products = (x[tuple(at)].astype(np.int64) * weights[o]).tolist()
        zero = 31 * int(weights[o].sum(dtype=np.int64))
        excess = point * int((x[tuple(at)].astype(np.int64) - 31).sum())
        assert got[(*at, o)] == saturated(products) - zero - excess


@pytest.mark.parts(3)
@pytest.mark.parametrize("level", aarch64_levels())
def test_aarch64_saturates_as_this_machine(level: str, tmp_path: Path):
    """AArch64 has no instruction that multiplies and saturates in this way."""
    weights = random_weights((19, 3, 3, 5), 1)

    def body(x: SSAValue) -> list[SSAValue]:
        w = constant(weights, quantized(weights.shape, 0.5))
        return [qnn.Conv2DOp(x, w, None, quantized((1, 4, 4, 19), 0.5)).result]

    module = make_module([quantized((1, 6, 6, 5), 0.5, 31, signed=False)], body)
    x = random_codes((1, 6, 6, 5), False, 2)
    contract = write_contract(tmp_path, byte_rule("conv2d", 4, FLAT))
    expected = qlower.jit(qlower.Model(module), contract=contract)(x)
    target = aarch64_levels()[level]
    compiled = Compilation(qlower.Model(module), contract, target).code
    bytes_ = x.view(compiled.signature.inputs[0].numpy_dtype)
    (got,) = EmulatedExecutable(compiled)([bytes_])
    assert isinstance(expected, np.ndarray)
    np.testing.assert_array_equal(got.view(expected.dtype), expected)


@pytest.mark.parts(6)
@pytest.mark.parametrize("level", aarch64_levels())
@pytest.mark.parametrize("name", ["pytorch-fbgemm-avx2", "onnxruntime-avx2"])
def test_aarch64_saturates_as_real_systems_on_x86(name: str, level: str):
    """Of whose kernels each pair of products is 16 bits wide."""
    weights = random_weights((24, 3, 3, 8), 1)

    def body(x: SSAValue) -> list[SSAValue]:
        w = constant(weights, quantized(weights.shape, 0.01))
        y = quantized((1, 4, 4, 24), 4.0, 128, signed=False)
        return [qnn.Conv2DOp(x, w, None, y).result]

    module = make_module([quantized((1, 6, 6, 8), 0.5, 31, signed=False)], body)
    x = random_codes((1, 6, 6, 8), False, 2)
    expected, exact = (
        qlower.jit(qlower.Model(module), contract=contract)(x)
        for contract in (name, name.removesuffix("-avx2"))
    )
    assert isinstance(expected, np.ndarray)
    assert (expected != exact).any()
    target = aarch64_levels()[level]
    compiled = Compilation(qlower.Model(module), name, target).code
    bytes_ = x.view(compiled.signature.inputs[0].numpy_dtype)
    (got,) = EmulatedExecutable(compiled)([bytes_])
    np.testing.assert_array_equal(got.view(expected.dtype), expected)


def test_known_overflows(tmp_path: Path):
    """pytorch#44939: 211 * 71 + 171 * 107 = 33278 saturates; one by one it doesn't."""
    weights = np.array([[71, 107, 0, 0], [71, 0, 107, 0]], np.int8)

    def body(x: SSAValue) -> list[SSAValue]:
        w = constant(weights, quantized(weights.shape, 0.5))
        return [qnn.LinearOp(x, w, None, quantized((1, 2), 0.5)).result]

    module = make_module([quantized((1, 4), 0.5, signed=False)], body)
    x = np.array([[211, 171, 171, 9]], np.uint8)
    got = run_bytes(module, "linear", FLAT, tmp_path, x)
    assert got.tolist() == [[32767, 33278]]


CHOICE = """\
  %three = arith.constant 3 : i32
  %is_three = arith.cmpi eq, %kernel_width, %three : i32
  %y = arith.extui %is_three : i1 to i32
  return %y : i32"""


@pytest.mark.parts(3)
@pytest.mark.parametrize(("width", "expected"), [(1, 14981), (2, 33278), (3, 32767)])
def test_a_contract_chooses_by_geometry(width: int, expected: int, tmp_path: Path):
    """Exact products, but in pairs for kernels of width 3."""
    weights = np.zeros((1, 1, width, 1), np.int8)
    weights[0, 0, :2, 0] = [71, 107][:width]

    def body(x: SSAValue) -> list[SSAValue]:
        w = constant(weights, quantized(weights.shape, 0.5))
        y = quantized((1, 1, 4 - width, 1), 0.5)
        return [qnn.DepthwiseConv2DOp(x, w, None, y).result]

    module = make_module([quantized((1, 1, 3, 1), 0.5, signed=False)], body)
    x = np.array([211, 171, 0], np.uint8).reshape(1, 1, 3, 1)
    for shift in (0, 8):
        rule = byte_rule("depthwise_conv2d", shift, TAPS)
        rule = rule.replace(f'"{TAPS}"', f'["exact", "{TAPS}"]')
        choice = rule_text("depthwise_conv2d_product", {"kernel_width": "i32"}, CHOICE)
        contract = write_contract(tmp_path, rule, choice, name=f"choose{shift}")
        result = run_everywhere(module, contract, x)
        assert int(result[0, 0, 0, 0]) & 0xFF == expected >> shift & 0xFF
    assert load_contract(contract).rule("depthwise_conv2d").products == ("exact", TAPS)
    beyond = CHOICE.replace("%y = arith.extui", "%unused = arith.extui")
    choice = rule_text(
        "depthwise_conv2d_product",
        {"kernel_width": "i32"},
        beyond.replace("return %y", "return %three"),
    )
    contract = write_contract(tmp_path, rule, choice, name="beyond")
    with pytest.raises(QlowerError, match="gives 3, depthwise_conv2d has 2 products"):
        qlower.lower(qlower.Model(module), contract)


def test_unsigned_weights_are_refused(tmp_path: Path):
    def body(x: SSAValue) -> list[SSAValue]:
        type = quantized((2, 2), 0.5, 128, signed=False)
        w = constant(np.ones((2, 2), np.int8), type)
        return [qnn.LinearOp(x, w, None, quantized((1, 2), 0.5)).result]

    module = make_module([quantized((1, 2), 0.5)], body)
    contract = write_contract(tmp_path, byte_rule("linear", 0, FLAT))
    x = np.zeros((1, 2), np.int8)
    for at in ("qnn", "arith"):
        with pytest.raises(QlowerError, match="int8 weights, not uint8"):
            qlower.interpret(qlower.Model(module), x, contract=contract, at=at)


def test_computed_weights_are_refused(tmp_path: Path):
    def body(x: SSAValue, w: SSAValue) -> list[SSAValue]:
        return [qnn.LinearOp(x, w, None, quantized((1, 2), 0.5)).result]

    module = make_module([quantized((1, 2), 0.5), quantized((2, 2), 0.5)], body)
    contract = write_contract(tmp_path, byte_rule("linear", 0, FLAT))
    with pytest.raises(QlowerError, match="needs constant weights"):
        qlower.lower(qlower.Model(module), contract)


def test_a_range_of_pairs(tmp_path: Path):
    """That of exact products, and of what saturation can take from it."""

    def body(x: SSAValue) -> list[SSAValue]:
        w = constant(np.ones((2, 2), np.int8), quantized((2, 2), 0.5))
        return [qnn.LinearOp(x, w, None, quantized((1, 2), 0.5)).result]

    rule = rule_text(
        "linear",
        {"accumulator_min": "i64"},
        "  %bits = arith.constant 9 : i64\n"
        "  %high = arith.shrsi %accumulator_min, %bits : i64\n"
        "  %y = arith.trunci %high : i64 to i32\n  return %y : i32",
        attributes=f'contract.product = "{FLAT}"',
    )
    contract = write_contract(tmp_path, rule)
    module = make_module([quantized((1, 2), 0.5)], body)
    x = np.zeros((1, 2), np.int8)
    result = qlower.interpret(qlower.Model(module), x, contract=contract)
    # 2 * -128 - 2 * 2^14 = -33024
    assert np.all(result == -33024 >> 9)


@pytest.mark.parametrize(
    ("rule", "product", "expected"),
    [
        ("linear", f'"{TAPS}"', f'"{TAPS}" of rule linear is not one of exact'),
        ("depthwise_conv2d", f'"{PIXEL}"', "is not one of exact"),
        ("mean", f'"{FLAT}"', "of rule mean is not one of exact"),
        ("conv2d", "3", "3 : i64 of rule conv2d is not one of exact"),
        ("conv2d", '["exact", 3]', "3 : i64 of rule conv2d is not one of exact"),
        ("conv2d", "[]", "contract.product of rule conv2d is empty"),
    ],
)
def test_mistaken_products_are_refused(rule: str, product: str, expected: str):
    body = "  return %accumulator : i32"
    text = rule_text(rule, VALUES, body, attributes=f"contract.product = {product}")
    with pytest.raises(QlowerError) as error:
        parse_contract(f"module {{\n{text}}}\n", "mine", "mine.mlir")
    assert expected in str(error.value)
    assert "mine.mlir:2:1" in str(error.value)
