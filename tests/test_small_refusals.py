"""Refusals and edges of small functions, which models hardly ever reach."""

from __future__ import annotations

import warnings
from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i32
from xdsl.utils.exceptions import VerifyException

from qlower.contracts import load_contract
from qlower.emit.tensors import constant_of
from qlower.emulation.elf import ElfObject, Relocation, Section, Symbol
from qlower.emulation.image import Fixup, LinkError, link
from qlower.frontends.load import named
from qlower.inspection.lint import lint
from qlower.model.entry import main_function, signature_of
from qlower.model.layers import expose_layers, hide_layers, layers
from qlower.observe.layer_run import Evaluation
from qlower.operators.movement import Pad
from qlower.text.parsing import parse_module
from qlower.text.upstream_checks import verify_as_upstream
from qlower.validation.cells import differing_outputs
from qlower.validation.rows import ContractRow


def test_a_type_that_is_no_tensor() -> None:
    with pytest.raises(VerifyException, match="i32 is no ranked tensor"):
        verify_as_upstream(tensor.EmptyOp.create(result_types=[i32]))


@pytest.mark.parametrize("sides", [((-1,), (0,)), ((0,), (-2,))])
def test_padding_by_less_than_nothing(sides: tuple[tuple[int], tuple[int]]) -> None:
    with pytest.raises(VerifyException, match="-"):
        Pad(*sides, value=0).result_shape((4,))


@pytest.mark.parametrize("name", ["missing", "known", ""])
def test_objects_that_need_what_is_not_there(name: str) -> None:
    code = Section(".text", True, True, 4, bytes(8))
    symbol = Symbol(name, 0, 0)
    elf = ElfObject(40, False, (code,), (symbol,), (Relocation(0, 4, 2, symbol, 0),))
    fixups: list[Fixup] = []

    def linked() -> list[int]:
        link(elf, 64, {"known": 16}, lambda _, found, __: fixups.extend(found))
        return [fixup.value for fixup in fixups]

    if name == "missing":
        with pytest.raises(LinkError, match="needs missing"):
            linked()
    else:
        assert linked() == ([16] if name else [])  # a remark needs nothing


@pytest.mark.parametrize(("compared", "shown"), [(3, 2), (0, None)])
def test_outputs_that_differ_where_some_were_compared(
    compared: int, shown: int | None
) -> None:
    counts = SimpleNamespace(compared=compared, output=SimpleNamespace(differing=2))
    row = cast("ContractRow", SimpleNamespace(counts=counts))
    assert differing_outputs(row) == shown


def test_values_that_are_of_more_than_the_result() -> None:
    rule: Any = None
    values = {"input": np.arange(12).reshape(3, 4), "scale": np.array([0.5])}
    evaluation = Evaluation(rule, values)
    assert evaluation.at((1,), (4,)) is None
    assert evaluation.at((2, 3), (3, 4)) == {"input": 11, "scale": 0.5}
    assert evaluation.at((1,), (5,)) is None


def test_a_constant_of_equal_elements() -> None:
    value = arith.ConstantOp(
        DenseIntOrFPElementsAttr.from_list(TensorType(i32, [2, 3]), [7])
    ).result
    found = constant_of(value)
    assert found is not None
    assert found.tolist() == [[7, 7, 7], [7, 7, 7]]


@pytest.mark.parametrize(
    ("word", "unsigned", "product"),
    [
        (0x4E879CC5, 6, "0x4e879405"),  # usdot v5.4s, v6.16b, v7.16b
        (0x4FA7F0C5, 6, "0x4fa7e005"),  # usdot v5.4s, v6.16b, v7.4b[1]
        (0x4F87F8C5, 6, "0x4f87e805"),  # usdot v5.4s, v6.16b, v7.4b[2]
        (0x4F27F0C5, 7, "0x4fa0e0c5"),  # sudot v5.4s, v6.16b, v7.4b[1]
        (0x4F07F8C5, 7, "0x4f80e8c5"),  # sudot v5.4s, v6.16b, v7.4b[2]
    ],
)
def test_an_emulator_without_products_of_mixed_signs(
    word: int, unsigned: int, product: str
) -> None:
    """With u = s + 128, sum s w + 2 sum 64 w: v0 takes the unsigned factors' place."""
    sequence = vars(import_module("qlower.emulation.aarch64"))["_mixed_product"]
    assert list(map(hex, sequence(word))) == [
        "0x3c9f0fe0",  # str q0, [sp, #-16]!
        "0x4f04e400",  # movi v0.16b, #128
        hex(0x6E201C00 | unsigned << 5),  # eor v0.16b, v6.16b or v7.16b, v0.16b
        product,  # sdot v5.4s of v0
        "0x4f02e400",  # movi v0.16b, #64
        product,
        product,
        "0x3cc107e0",  # ldr q0, [sp], #16
    ]
    assert sequence(0x4E879405) == []  # sdot


PRODUCTS = """
!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<1x5x5x3x!x>, %v: tensor<2x75x!x>) -> tensor<1x2x!x> {
  %w = qnn.constant dense<3> : tensor<1x3x2x3xi8> -> tensor<1x3x2x3x!x>
  %y = qnn.depthwise_conv2d %x, %w {stride = [1, 1], pad = [1, 1, 1, 0],
    dilation = [1, 1]} : (tensor<1x5x5x3x!x>, tensor<1x3x2x3x!x>) -> tensor<1x5x5x3x!x>
  %z = qnn.reshape %y : (tensor<1x5x5x3x!x>) -> tensor<1x75x!x>
  %r = qnn.linear %z, %v : (tensor<1x75x!x>, tensor<2x75x!x>) -> tensor<1x2x!x>
  return %r : tensor<1x2x!x>
}"""


def test_sums_with_computed_weights_are_not_counted_on_data() -> None:
    model = named(parse_module(PRODUCTS), None)
    values = {spec.name: np.zeros(spec.shape, np.int8) for spec in model.inputs}
    found = lint(model, bits=16, values=[values])
    assert [(one.kind, one.on_data) for one in found] == [("linear", None)]


@pytest.mark.parametrize(
    ("contract", "asked", "width"),
    [
        (None, None, 32),
        (None, 20, 20),
        ("exact", None, 32),
        ("exact", 20, 20),
        ("tvm", 40, 40),
        ("max78000", None, 30),
        ("max78000", 16, 16),
        ("max78000", 31, 30),
    ],
)
def test_sums_stay_in_the_narrower_register(
    contract: str | None, asked: int | None, width: int
) -> None:
    (*_, op) = layers(parse_module(PRODUCTS))
    given = None if contract is None else load_contract(contract)
    found = vars(import_module("qlower.inspection.lint"))["_width"](given, op, asked)
    assert found.bits == width


def test_results_that_are_shown_and_hidden_again() -> None:
    """With the attributes of the results that are left."""
    module = named(parse_module(PRODUCTS), None).module
    exposed, names = expose_layers(module)
    assert (names, len(signature_of(exposed).outputs)) == ({"y": 1, "z": 2, "r": 0}, 3)
    hidden = hide_layers(exposed, 1)
    attributes = main_function(hidden).res_attrs
    assert attributes is not None
    assert len(attributes) == 1
    assert signature_of(hidden) == signature_of(module)


def test_weights_of_depthwise_convolutions_in_pytorch() -> None:
    """Its channels come first, like those that other convolutions have results of."""
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    (op, *_) = layers(parse_module(PRODUCTS))
    warnings.simplefilter("ignore")  # quantized tensors are deprecated
    weights = vars(import_module("qlower.sides.systems.torch"))["_weights"](torch, op)
    assert tuple(weights.shape) == (3, 1, 3, 2)
