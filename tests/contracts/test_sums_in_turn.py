"""Sums in registers narrower than 32 bits, against Python's integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support.layers.narrow_registers import (
    BITS,
    SATURATE,
    WRAP,
    narrow_contract,
    saturate,
    wrap,
)
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
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.interp.values import Array
from qlower.model.build import quantized
from qlower.model.layers import layer_name, layers, name_layers
from qlower.observe.layer_run import run_layer
from qlower.observe.products import products_of


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


@pytest.mark.parts(60)
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
    device = narrow_contract(tmp_path, body, group)
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


@pytest.mark.parts(32)
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
        device, bits, kept = narrow_contract(tmp_path, body, group), BITS, 8
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
