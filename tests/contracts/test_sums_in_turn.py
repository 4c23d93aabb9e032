"""Sums in registers narrower than 32 bits, against Python's integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support.layers.random_modules import (
    Draw,
    RandomLayer,
    conv2d,
    depthwise_conv2d,
    linear,
)
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

import qlower
from qlower import build
from qlower.compilation.compilation import Compilation
from qlower.contracts import load_contract
from qlower.contracts.contractions import SUMMED
from qlower.contracts.registers import held_sums
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.interp.values import Array
from qlower.model.build import constant, make_module, quantized
from qlower.model.layers import layer_name, layers, name_layers
from qlower.observe.layer_run import run_layer
from qlower.observe.products import products_of
from qlower.verification.equal import equal

BITS = 16
SATURATE = f"""
  %above = arith.maxsi %accumulator, -{1 << (BITS - 1)} : i32
  %result = arith.minsi %above, {(1 << (BITS - 1)) - 1} : i32"""
WRAP = f"""
  %up = arith.shli %accumulator, {32 - BITS} : i32
  %result = arith.shrsi %up, {32 - BITS} : i32"""


def saturate(sum: int) -> int:
    return max(min(sum, (1 << (BITS - 1)) - 1), -(1 << (BITS - 1)))


def wrap(sum: int) -> int:
    return (sum + (1 << (BITS - 1))) % (1 << BITS) - (1 << (BITS - 1))


def contract(folder: Path, body: str, group: int) -> str:
    """A file of rules whose results are the low bytes of sums, with what is above."""
    rule = """
func.func private @low_byte(%accumulator: i32) -> i32
    serves conv2d, depthwise_conv2d, linear, matmul
    attributes {contract.product = "in_turn"} {
  %high = arith.shrsi %accumulator, 12 : i32
  %mixed = arith.xori %accumulator, %high : i32
  %up = arith.shli %mixed, 24 : i32
  %byte = arith.shrsi %up, 24 : i32
  %offset = arith.select %output_unsigned, 128, 0 : i32
  %result = arith.addi %byte, %offset : i32
}
"""
    path = folder / f"device-{group}.mlir"
    path.write_text(
        f"""module attributes {{contract.base = "tflite"}} {{
func.func @accumulate(%accumulator: i32) -> i32 {{{body}
}}
func.func @accumulate_group() -> i32 {{ %result = arith.constant {group} : i32 }}
{rule}
}}
"""
    )
    return str(path)


def expected(
    model: qlower.Model,
    layer: RandomLayer,
    device: str,
    group: int,
    cut: Callable[[int], int],
) -> Array:
    name_layers(model.module)
    (op,) = layers(model.module)
    name = layer_name(op) or op.name
    (entry,) = model.inputs
    run = run_layer(model, device, name, {entry.name: layer.inputs[0]})
    start = np.broadcast_to(run.start, run.result.shape)
    found = np.empty(run.result.shape, np.int64)
    for index in np.ndindex(run.result.shape):
        total, count = int(start[index]), 0
        products = [product.value for product in products_of(run, index)]
        for count, product in enumerate(products, 1):
            total += product
            if count % group == 0 or count == len(products):
                total = cut(total)
        found[index] = ((total ^ total >> 12) + 128) % 256 - 128
    offset = 128 if run.result.dtype == np.uint8 else 0
    return (found + offset).astype(run.result.dtype)


@pytest.mark.parts(12)
@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize(
    ("body", "cut"), [(SATURATE, saturate), (WRAP, wrap)], ids=["saturate", "wrap"]
)
@pytest.mark.parametrize("kind", [conv2d, depthwise_conv2d, linear])
def test_executors_cut_sums_in_turn(
    kind: Callable[[Draw], RandomLayer],
    body: str,
    cut: Callable[[int], int],
    group: int,
    tmp_path: Path,
) -> None:
    device = contract(tmp_path, body, group)
    for seed in range(2):
        layer = kind(Draw(seed, 40, signed=seed % 2 == 0))
        model = qlower.Model(layer.module)
        compilation = Compilation(model, device)
        want = expected(model, layer, device, group, cut)
        for level in ("qnn", "arith", "kernel"):
            ((found,), _) = compilation.interpreter(level).run(layer.inputs, {})
            np.testing.assert_array_equal(found, want, level)
        np.testing.assert_array_equal(
            qlower.jit(model, contract=device)(*layer.inputs), want
        )


WORD_BITS = 33
WORDS = f"""module attributes {{contract.base = "tflite"}} {{
func.func @accumulate_i16(%accumulator: i64) -> i64 {{BODY}}
func.func @accumulate_group_i16() -> i32 {{ %result = arith.constant GROUP : i32 }}
func.func private @low_word(%accumulator: i64) -> i32
    serves conv2d_i16, depthwise_conv2d_i16, linear_i16, matmul_i16
    attributes {{contract.product = "in_turn"}} {{
  %high = arith.shrsi %accumulator, {WORD_BITS - 8} : i64
  %mixed = arith.xori %accumulator, %high : i64
  %up = arith.shli %mixed, {64 - 16} : i64
  %down = arith.shrsi %up, {64 - 16} : i64
  %result = arith.trunci %down : i64 to i32
}}
}}
"""
BODIES = {
    "saturate": f"""
  %above = arith.maxsi %accumulator, -{1 << (WORD_BITS - 1)} : i64
  %result = arith.minsi %above, {(1 << (WORD_BITS - 1)) - 1} : i64""",
    "wrap": f"""
  %up = arith.shli %accumulator, {64 - WORD_BITS} : i64
  %result = arith.shrsi %up, {64 - WORD_BITS} : i64""",
}


def words(shape: Sequence[int]) -> TensorType[Attribute]:
    """A tensor of int16."""
    return TensorType(QuantizedType.per_tensor(16, True, 1.0, 0), shape)


@dataclass(frozen=True)
class Summed:
    """A layer, what it is given, and what each element of its result sums, as Python
    integers: what it starts from and the products in order."""

    model: qlower.Model
    given: Sequence[Array]
    terms: Mapping[tuple[int, ...], tuple[int, list[int]]]

    def expected(self, how: str, group: int, bits: int, kept: int) -> list[int]:
        """The low `kept` bits of sums in a register of `bits`, with its high ones."""
        found: list[int] = []
        half = 1 << (bits - 1)
        for total, products in self.terms.values():
            for first in range(0, len(products), group):
                total += sum(products[first : first + group])
                if how == "saturate":
                    total = max(-half, min(half - 1, total))
                if how == "wrap":
                    total = (total + half) % (2 * half) - half
            low = 1 << (kept - 1)
            mixed = total ^ total >> (bits - kept // 2)
            found.append((mixed + low) % (2 * low) - low)
        return found


def near_full(random: np.random.Generator, shape: Sequence[int], type: str) -> Array:
    """Numbers mostly at an end, so that few products fill a register."""
    ends = np.iinfo(type)
    chosen = random.choice([ends.min, ends.max, ends.max - 1, 1, 0, -1], shape)
    return chosen.astype(type)


def matrices(random: np.random.Generator, type: str) -> Summed:
    """A product of matrices; of bytes with zero points."""
    points = (3, -5) if type == "int8" else (0, 0)
    shapes = ((2, 3, 64), (2, 64, 5), (2, 3, 5))
    given = [near_full(random, shape, type) for shape in shapes[:2]]
    types = [
        quantized(shape, 1.0, point) if type == "int8" else words(shape)
        for shape, point in zip(shapes, (*points, 0), strict=True)
    ]
    model = build.make_model(
        types[:2], lambda x, y: [qnn.MatMulOp(x, y, types[2]).result]
    )
    x, y = given
    terms = {
        (b, m, n): (
            0,
            [
                (int(x[b, m, k]) - points[0]) * (int(y[b, k, n]) - points[1])
                for k in range(64)
            ],
        )
        for b, m, n in np.ndindex(*shapes[2])
    }
    return Summed(model, given, terms)


def word_layer(random: np.random.Generator, kind: str, weights: str = "int8") -> Summed:
    """A layer of int16 with weights of int8 or int16, whose sums start near the
    register's ends."""
    outputs = 6
    ends = (1 << (WORD_BITS - 1)) - random.integers(0, 1 << 23, outputs)
    bias = ends * random.choice([-1, 1], outputs)
    shape = {"linear": (6, 31), "conv2d": (6, 3, 2, 4), "depthwise": (1, 3, 2, 6)}[kind]
    weight = near_full(random, shape, weights)
    weight_type = quantized(shape, 1.0, 0) if weights == "int8" else words(shape)
    given = near_full(random, (2, 31) if kind == "linear" else (1, 4, 3, 4), "int16")
    if kind == "depthwise":
        given = given[..., :3]
    result = words((2, 6) if kind == "linear" else (1, 4, 4, 6))

    def body(x: SSAValue) -> list[SSAValue]:
        w = build.constant(weight, weight_type)
        b = build.constant(bias.astype(np.int64))
        if kind == "linear":
            return [qnn.LinearOp(x, w, b, result).results[0]]
        if kind == "conv2d":
            return [qnn.Conv2DOp(x, w, b, result, pad=(1, 1, 1, 1)).results[0]]
        op = qnn.DepthwiseConv2DOp(x, w, b, result, pad=(1, 1, 1, 1))
        return [op.results[0]]

    def products(index: tuple[int, ...]) -> Iterator[int]:
        if kind == "linear":
            row, output = index
            yield from (int(given[row, k]) * int(weight[output, k]) for k in range(31))
            return
        _, y, x, output = index
        for i, j in np.ndindex(3, 2):
            inside = 0 <= y + i - 1 < 4 and 0 <= x + j - 1 < 3
            pixel = given[0, y + i - 1, x + j - 1] if inside else np.zeros(4, int)
            if kind == "conv2d":
                own = weight[output, i, j]
                yield from (int(a) * int(b) for a, b in zip(pixel, own, strict=True))
            else:
                yield int(pixel[output // 2]) * int(weight[0, i, j, output])

    terms = {
        index: (int(bias[index[-1]]), list(products(index)))
        for index in np.ndindex(result.get_shape())
    }
    return Summed(build.make_model([words(given.shape)], body), [given], terms)


LAYERS = ("linear", "conv2d", "depthwise")


@pytest.mark.parts(16)
@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("how", ["saturate", "wrap"])
@pytest.mark.parametrize(
    "kind",
    ["int8 matmul", "int16 matmul", *LAYERS, *(f"{kind} int16" for kind in LAYERS)],
)
def test_matrices_and_words_are_cut_in_turn(
    kind: str, how: str, group: int, tmp_path: Path
) -> None:
    random = np.random.default_rng(len(kind) + group)
    type = kind.removesuffix(" matmul")
    layer = (
        matrices(random, type)
        if "matmul" in kind
        else word_layer(random, *kind.split())
    )
    if type == "int8":
        body = SATURATE if how == "saturate" else WRAP
        device, bits, kept = contract(tmp_path, body, group), BITS, 8
    else:
        text = WORDS.replace("BODY", BODIES[how]).replace("GROUP", str(group))
        (tmp_path / "words.mlir").write_text(text)
        device, bits, kept = str(tmp_path / "words.mlir"), WORD_BITS, 16
    want = layer.expected(how, group, bits, kept)
    assert want != layer.expected("exactly", group, bits, kept), "no sum is cut"
    compilation = Compilation(layer.model, device)
    for level in ("qnn", "arith", "kernel"):
        ((found,), _) = compilation.interpreter(level).run(layer.given, {})
        assert found.ravel().tolist() == want, level
    native = qlower.jit(layer.model, contract=device)(*layer.given)
    assert native.ravel().tolist() == want


@pytest.mark.parts(3)
@pytest.mark.parametrize("kind", [*LAYERS])
def test_a_rule_sees_the_place_of_a_product(kind: str, tmp_path: Path) -> None:
    """Registers of 33 bits that saturate behind every second channel of a pixel, and
    behind the last one: of a depthwise layer behind each."""
    random = np.random.default_rng(3)
    layer = word_layer(random, kind, "int16")
    channels = {"linear": 31, "conv2d": 4, "depthwise": 1}[kind]
    half = 1 << (WORD_BITS - 1)
    rule = f"""
func.func @accumulate_i16(%accumulator: i64, %input_channel: i32) -> i64 {{
  %within = arith.remsi %input_channel, 2 : i32
  %second = arith.cmpi eq, %within, 1 : i32
  %last = arith.cmpi eq, %input_channel, {channels - 1} : i32
  %cuts = arith.ori %second, %last : i1
  %above = arith.maxsi %accumulator, -{half} : i64
  %kept = arith.minsi %above, {half - 1} : i64
  %result = arith.select %cuts, %kept, %accumulator : i64
}}"""
    start = WORDS.index("\nfunc.func @accumulate_i16")
    end = WORDS.index("func.func private @low_word")
    text = (WORDS[:start] + rule + "\n" + WORDS[end:]).replace("BODY", "")
    (tmp_path / "pairs.mlir").write_text(text)
    want: list[int] = []
    for total, products in layer.terms.values():
        for pixel in range(0, len(products), channels):
            for first in range(pixel, pixel + channels, 2):
                total += sum(products[first : min(first + 2, pixel + channels)])
                total = max(-half, min(half - 1, total))
        low = (total ^ total >> (WORD_BITS - 8)) + (1 << 15)
        want.append(low % (1 << 16) - (1 << 15))
    by_product = layer.expected("saturate", 1, WORD_BITS, 16)
    assert (want == by_product) == (channels == 1), "the place is all one"
    device = str(tmp_path / "pairs.mlir")
    compilation = Compilation(layer.model, device)
    for level in ("qnn", "arith", "kernel"):
        ((found,), _) = compilation.interpreter(level).run(layer.given, {})
        assert found.ravel().tolist() == want, level
    native = qlower.jit(layer.model, contract=device)(*layer.given)
    assert native.ravel().tolist() == want


def conv(divisor: int) -> qlower.Model:
    """A convolution of 144 products whose sums leave 20 bits, unless weights are
    divided by more than 5, in 16 of 24 channels."""
    random = np.random.default_rng(0)
    weights = (random.integers(-127, 128, (24, 3, 3, 16)) // divisor).astype(np.int8)
    x, y = quantized((1, 6, 6, 16), 2.0**-4, 0), quantized((1, 6, 6, 24), 1.0, 0)

    def body(image: SSAValue) -> list[SSAValue]:
        w = constant(weights, quantized(weights.shape, 2.0**-6, 0))
        b = constant(random.integers(-5000, 5000, 24).astype(np.int32))
        return [qnn.Conv2DOp(image, w, b, y, pad=(1, 1, 1, 1)).results[0]]

    module = make_module([x], body)
    name_layers(module)
    return qlower.Model(module)


@pytest.mark.parts(4)
@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("how", ["saturate", "wrap"])
@pytest.mark.parametrize("matrices", [True, False], ids=["matmul", "linear"])
def test_all_that_a_register_can_hold(
    matrices: bool, how: str, group: int, tmp_path: Path
) -> None:
    """The ends hold every sum of every choice of few codes, in four products."""
    body, cut = {"saturate": (SATURATE, saturate), "wrap": (WRAP, wrap)}[how]
    device = load_contract(contract(tmp_path, body, group))
    codes = np.array([-128, -127, 0, 1, 127])
    weights = [-128, 127, 127, -90]
    starts = np.array([0]) if matrices else np.array([-31000])

    def module(x: SSAValue, *given: SSAValue) -> list[SSAValue]:
        y = quantized((1, 1), 1.0, 0)
        if matrices:
            return [qnn.MatMulOp(x, given[0], y).result]
        w = build.constant(np.array([weights], np.int8), quantized((1, 4), 1.0, 0))
        b = build.constant(starts.astype(np.int32))
        return [qnn.LinearOp(x, w, b, y).results[0]]

    shapes = ((1, 4), (4, 1)) if matrices else ((1, 4),)
    model = build.make_model([quantized(shape, 1.0, 0) for shape in shapes], module)
    (op,) = layers(model.module)
    assert isinstance(op, SUMMED)
    factors = [codes] * 4 if matrices else [np.array([w]) for w in weights]
    held = set(map(int, starts))
    for number, own in enumerate(factors, 1):
        steps = {int(x) * int(w) for x in codes for w in own}
        held = {total + step for total in held for step in steps}
        if number % group == 0 or number == 4:
            held = {cut(total) for total in held}
    found = held_sums(device, op, starts)
    assert found is not None
    assert found[0][0] <= min(held)
    assert max(held) <= found[1][0]


SIDES = ("esp-dl-esp32", "esp-dl-s3")


def test_verify_finds_an_input_that_fills_a_lane() -> None:
    (verdict,) = equal(*SIDES, conv(1)).layers
    assert verdict.verdict == "differs"


def test_verify_proves_that_no_lane_is_filled() -> None:
    (verdict,) = equal(*SIDES, conv(6)).layers
    assert verdict.verdict == "equal"
    (same,) = equal("esp-dl-s3", "esp-dl-s3", conv(1)).layers
    assert same.verdict == "equal"


@pytest.mark.long
def test_groups_of_other_sizes_are_not_the_same_rule(tmp_path: Path) -> None:
    one, two = (contract(tmp_path, SATURATE, group) for group in (1, 2))
    (verdict,) = equal(one, two, conv(1)).layers
    assert verdict.verdict in ("differs", "undecided")


def test_lint_names_layers_that_fill_a_lane() -> None:
    (finding,) = qlower.lint(conv(1), contract="esp-dl-s3").findings
    assert (finding.what, finding.bits) == ("accumulator", 20)
    assert qlower.lint(conv(6), contract="esp-dl-s3").is_clean


def test_identify_names_the_device() -> None:
    model = conv(1)
    (verdict,) = equal(*SIDES, model).layers
    assert verdict.counterexample is not None
    (image,) = verdict.counterexample.inputs.values()
    (name,) = filter(None, map(layer_name, layers(model.module)))
    dump = {name: qlower.jit(model, contract="esp-dl-s3")(image)}
    found = qlower.identify(dump, model, image, contracts=SIDES, family=False)
    assert found.best.name == "esp-dl-s3"
    assert found.is_found


def product(depth: int, type: str = "int8") -> qlower.Model:
    """A product of matrices whose scales are powers of two."""

    def of(shape: Sequence[int], exponent: int) -> TensorType[Attribute]:
        if type == "int8":
            return quantized(shape, 2.0**exponent, 0)
        return TensorType(QuantizedType.per_tensor(16, True, 2.0**exponent, 0), shape)

    return build.make_model(
        [of((2, depth), -4), of((depth, 16), -4)],
        lambda x, y: [qnn.MatMulOp(x, y, of((2, 16), 2)).result],
    )


@pytest.mark.parametrize(
    ("depth", "type", "bits"), [(31, "int8", 20), (511, "int16", 40)]
)
def test_the_longest_product_that_fits_a_lane(depth: int, type: str, bits: int) -> None:
    (verdict,) = equal(*SIDES, product(depth, type)).layers
    assert verdict.verdict == "equal"
    assert qlower.lint(product(depth, type), contract="esp-dl-s3").is_clean
    (finding,) = qlower.lint(product(depth + 1, type), contract="esp-dl-s3").findings
    assert (finding.kind, finding.bits) == ("matmul", bits)


def test_verify_and_identify_find_lanes_that_matrices_fill() -> None:
    model = product(90)
    (verdict,) = equal(*SIDES, model).layers
    assert verdict.verdict == "differs"
    assert verdict.counterexample is not None
    given = list(verdict.counterexample.inputs.values())
    result = qlower.jit(model, contract="esp-dl-s3")(*given)
    name = verdict.layer
    found = qlower.identify(
        {name: result}, model, *given, contracts=SIDES, family=False
    )
    assert found.best.name == "esp-dl-s3"


@pytest.mark.parts(2)
@pytest.mark.parametrize("group", [0, -1])
def test_groups_have_a_product(group: int, tmp_path: Path) -> None:
    device = contract(tmp_path, SATURATE, group)
    with pytest.raises(qlower.QlowerError, match=f"gives {group}, it must"):
        qlower.jit(conv(1), contract=device)


def test_a_register_whose_overflow_nobody_states() -> None:
    """30 bits by the contract itself, in `lint` and in `verify --accumulator-bits`."""
    depth = 1 << 15
    weights = np.full((1, depth), -128, np.int8)

    def body(x: SSAValue) -> list[SSAValue]:
        w = build.constant(weights, quantized(weights.shape, 1.0, 0))
        return [qnn.LinearOp(x, w, None, quantized((1, 1), 1.0, 0)).results[0]]

    model = build.make_model([quantized((1, depth), 1.0, 0)], body)
    (finding,) = qlower.lint(model, contract="max78000").findings
    assert (finding.bits, finding.owner, finding.maximum) == (30, "max78000", 1 << 29)
    assert qlower.lint(model, contract="nnom").is_clean
    fits = qlower.verify(model, accumulator_bits=31, contract="max78000")
    assert "max78000 itself sums in a register of 30 bits." in str(fits)
    with pytest.raises(qlower.QlowerError, match="what that does then isn't published"):
        qlower.jit(model, contract="max78000")
