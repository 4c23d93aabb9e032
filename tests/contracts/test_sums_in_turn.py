"""Sums in registers narrower than 32 bits, against Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.random_modules import Draw, RandomLayer, conv2d, depthwise_conv2d, linear
from xdsl.ir import SSAValue

import qlower
from qlower.compilation.compilation import Compilation
from qlower.dialects import qnn
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
    """A file of rules whose results are the low bytes of sums."""
    rule = """
func.func private @low_byte(%accumulator: i32) -> i32
    serves conv2d, depthwise_conv2d, linear
    attributes {contract.product = "in_turn"} {
  %up = arith.shli %accumulator, 24 : i32
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
        found[index] = (total + 128) % 256 - 128
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


@pytest.mark.parts(2)
@pytest.mark.parametrize("group", [0, -1])
def test_groups_have_a_product(group: int, tmp_path: Path) -> None:
    device = contract(tmp_path, SATURATE, group)
    with pytest.raises(qlower.QlowerError, match=f"gives {group}, it must"):
        qlower.jit(conv(1), contract=device)
