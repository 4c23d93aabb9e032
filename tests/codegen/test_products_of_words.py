"""Sums of products of 16-bit activations: the exact 64-bit numbers, at every level."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.lanes import a_part
from support.layers.windows import Window, build, numbers, sampled
from support.machines.native import compile_text, generic_levels, guarded_runs, levels
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.codegen.nests.nest import analyse
from qlower.codegen.nests.recognise import Contraction, DepthwiseProducts, recognise
from qlower.codegen.skeletons.products.packing import constant_factors
from qlower.codegen.skeletons.products.partial_sums import Parts
from qlower.codegen.skeletons.products.step import WeightLayout
from qlower.dialects.kernel import NestOp
from qlower.text.parsing import parse_module

MOST = 511
"""Products of -2^15 and -2^7 whose sum is below 2^31."""

LEVELS = sorted(set(levels()) - set(generic_levels()))


def check(case: Window, level: str, seed: int = 0) -> None:
    """The exact sums, with nothing touched outside of input and output."""
    text, x, want = build(case, seed)
    for (sums,) in guarded_runs(compile_text(text, levels()[level]), [x]):
        np.testing.assert_array_equal(sums.reshape(want.shape), want, err_msg=str(case))


@pytest.mark.parts(24)
@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize("level", levels())
def test_windows(level: str, depthwise: bool):
    turn = list(levels()).index(level)
    for seed in a_part(range(12), 4, turn):
        check(sampled(100 + seed, depthwise=depthwise, words=True), level, seed)


@pytest.mark.parts(2)
@pytest.mark.parametrize("level", LEVELS)
def test_padding_that_no_memory_has(level: str):
    case = Window(9, 8, 21, 21, (3, 3), groups=21, depthwise=True, words=True)
    check(replace(case, padding=(1, 2, 2, 1), border=-300), level)


@pytest.mark.parts(12)
@pytest.mark.parametrize("level", levels())
def test_sums_at_the_limit_of_32_bits(level: str):
    """All products are the greatest, as many as fit and more."""
    extreme = Window(2, 2, 1, 5, words=True, every_x=-(1 << 15), every_w=-(1 << 7))
    turn = list(levels()).index(level)
    for depth in a_part((MOST, MOST + 1, MOST + 2, 2 * MOST + 9), 2, turn):
        check(replace(extreme, channels=depth), level)
        check(replace(extreme, channels=depth, every_w=127), level)


@pytest.mark.parts(7)
@pytest.mark.parametrize("level", LEVELS)
def test_windows_in_parts(level: str):
    """Windows of which a row, a column or a pixel is too much for 32 bits."""
    turn = list(levels()).index(level)
    extreme = Window(5, 6, 1, 17, (3, 3), words=True, every_w=-128)
    for channels in a_part((200, 601, 70), 2, turn):
        dilation = (1, 1 + turn % 2)
        check(replace(extreme, channels=channels, dilation=dilation), level)


@pytest.mark.parts(2)
@pytest.mark.parametrize("depth", [MOST, MOST + 90])
def test_sums_of_48_bits(depth: int, tmp_path: Path):
    """TOSA's accumulators, also where they are sums of parts."""
    path = tmp_path / "sums.mlir"
    path.write_text(TOSA.format(depth=depth))
    model = qlower.load(path)
    x = np.full((1, 2, 2, depth), -(1 << 15), np.int16)
    x[0, 0] = numbers(np.random.default_rng(depth), (2, depth), np.int16)
    np.testing.assert_array_equal(qlower.jit(model)(x), qlower.interpret(model, x))


TOSA = """
func.func @main(%x: tensor<1x2x2x{depth}xi16>) -> tensor<1x2x2x5xi16> {{
  %w = "tosa.const"() <{{values = dense<-128> : tensor<5x1x1x{depth}xi8>}}>
      : () -> tensor<5x1x1x{depth}xi8>
  %b = "tosa.const"() <{{values = dense<70000> : tensor<5xi48>}}> : () -> tensor<5xi48>
  %z8 = "tosa.const"() <{{values = dense<0> : tensor<1xi8>}}> : () -> tensor<1xi8>
  %z = "tosa.const"() <{{values = dense<0> : tensor<1xi16>}}> : () -> tensor<1xi16>
  %z48 = "tosa.const"() <{{values = dense<0> : tensor<1xi48>}}> : () -> tensor<1xi48>
  %m = "tosa.const"() <{{values = dense<21846> : tensor<1xi16>}}> : () -> tensor<1xi16>
  %s = "tosa.const"() <{{values = dense<31> : tensor<1xi8>}}> : () -> tensor<1xi8>
  %y = tosa.conv2d %x, %w, %b, %z, %z8 {{acc_type = i48, dilation = array<i64: 1, 1>,
      pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}}
      : (tensor<1x2x2x{depth}xi16>, tensor<5x1x1x{depth}xi8>, tensor<5xi48>,
        tensor<1xi16>, tensor<1xi8>) -> tensor<1x2x2x5xi48>
  %r = tosa.rescale %y, %m, %s, %z48, %z {{input_unsigned = false,
      output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND,
      scale32 = false}} : (tensor<1x2x2x5xi48>, tensor<1xi16>, tensor<1xi8>,
        tensor<1xi48>, tensor<1xi16>) -> tensor<1x2x2x5xi16>
  return %r : tensor<1x2x2x5xi16>
}}
"""


@pytest.mark.parametrize(
    ("case", "parts"),
    [
        (Window(1, 1, MOST, 3), None),
        (Window(1, 1, MOST + 1, 3), Parts((), 1, 256)),
        (Window(1, 1, 3 * MOST, 3), Parts((), 1, 384)),
        (Window(4, 4, 100, 3, (3, 3)), Parts((), 3, 1)),
        (Window(3, 5, 200, 3, (3, 3), dilation=(1, 2)), Parts((1,), 2, 2)),
    ],
)
def test_sums_are_cut_where_they_must_be(case: Window, parts: Parts | None):
    """In as few parts as hold them, which are runs, or several taps."""
    products = recognised(replace(case, words=True, every_w=-128))
    assert isinstance(products, Contraction)
    assert constant_factors(products, WeightLayout(4)).parts == parts


def test_which_products_of_words_are_recognised():
    case = Window(5, 5, 8, 8, (3, 3), words=True)
    assert isinstance(recognised(case), Contraction)
    assert isinstance(
        recognised(replace(case, groups=8, depthwise=True)), DepthwiseProducts
    )
    for other in ({"zero_x": 1}, {"zero_w": 1}, {"unsigned_x": True}):
        assert recognised(replace(case, **other)) is None


def recognised(case: Window) -> Contraction | DepthwiseProducts | None:
    text, _, _ = build(case, 0)
    module: ModuleOp = parse_module(text, "test.mlir")
    (nest,) = (op for op in module.walk() if isinstance(op, NestOp))
    return recognise(analyse(nest))
