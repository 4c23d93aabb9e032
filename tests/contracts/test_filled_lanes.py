"""Registers of 16 and 20 bits that a layer may fill: what they can hold, and what
`verify`, `lint` and `identify` say of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.layers.narrow_registers import (
    SATURATE,
    WRAP,
    narrow_contract,
    saturate,
    wrap,
)
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

import qlower
from qlower import build
from qlower.contracts import load_contract
from qlower.contracts.contractions import SUMMED
from qlower.contracts.registers import held_sums
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.model.build import constant, make_module, quantized
from qlower.model.layers import layer_name, layers, name_layers
from qlower.verification.equal import equal


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


@pytest.mark.parts(8)
@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("how", ["saturate", "wrap"])
@pytest.mark.parametrize("matrices", [True, False], ids=["matmul", "linear"])
def test_all_that_a_register_can_hold(
    matrices: bool, how: str, group: int, tmp_path: Path
) -> None:
    """The ends hold every sum of every choice of few codes, in four products."""
    body, cut = {"saturate": (SATURATE, saturate), "wrap": (WRAP, wrap)}[how]
    device = load_contract(narrow_contract(tmp_path, body, group))
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


@pytest.mark.parts(4)
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
    one, two = (narrow_contract(tmp_path, SATURATE, group) for group in (1, 2))
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


@pytest.mark.parts(2)
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
    device = narrow_contract(tmp_path, SATURATE, group)
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
