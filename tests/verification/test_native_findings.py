"""What is found of machine code: bytes with other bits, the first wrong number, and
models that no drawn inputs are for."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

import qlower
from qlower.compilation.compilation import Compilation
from qlower.interp.values import Array
from qlower.text.parsing import parse_module
from qlower.verification.native import whole
from qlower.verification.native.found import (
    Found,
    Wrong,
    flips,
    is_input,
    without_reshapes,
)
from qlower.verification.native.products import StoredBytes
from qlower.verification.native.verdict import Mismatch
from qlower.verification.native.whole import Whole, WholeModel

PRODUCTS: Any = vars(import_module("qlower.verification.native.products"))
DIFFERING: Any = vars(whole)["_differing"]


def ints(*values: int) -> Array:
    return np.array(values, np.int32)


@pytest.mark.parametrize(
    ("expected", "got", "is_exact", "found"),
    [
        (ints(1, 2, 3), ints(1, 2, 3), True, None),
        (ints(1, 2, 3), ints(1, 5, 4), True, (1, 2, 5)),
        (ints(1, 2, 3), ints(0, 2, 3), True, (0, 1, 0)),
        (ints(1, 2, 3), ints(8, 9, 10), True, (0, 1, 8)),
        (ints(1, 2, 3), ints(8, 9, 10), False, None),
        (ints(1, 2, 3), ints(8, 9, 9), False, (2, 3, 2)),
        (ints(), ints(), False, None),
    ],
)
def test_the_first_sum_that_differs(
    expected: Array, got: Array, is_exact: bool, found: tuple[int, int, int] | None
) -> None:
    """Sums of pools may all be more by one number, which isn't counted."""
    told = PRODUCTS["_difference"](expected, got, is_exact=is_exact)
    if found is None:
        assert told is None
        return
    place, wanted, given = found
    of = "sum of products of element"
    difference = Mismatch(None, (place,), wanted, given, of=of)
    assert told == Found("drawn inputs", 3, 0, difference)


def test_wrong_results_are_counted_and_the_first_is_kept() -> None:
    def given(place: int) -> tuple[int | None, tuple[int, ...]]:
        return place % 2, (place, -place)

    wanted = np.array([[1, 2], [3, -4]], np.int8)
    none = Wrong().and_of(wanted, wanted.view(np.uint8), given)
    assert none == Wrong(0, None)
    some = none.and_of(wanted, np.array([1, 2, 5, 6], np.int8), given)
    assert some == Wrong(2, Mismatch(0, (2, -2), 3, 5))
    more = some.and_of(wanted, np.array([0, 2, 3, -4], np.int8), given)
    assert (more.count, more.first) == (3, some.first)


def test_bytes_that_functions_pass_with_a_flipped_sign() -> None:
    """Not those that callers see, nor other numbers."""
    module = parse_module("""func.func @main(%x: tensor<2x3xi8>)
        -> (tensor<2x3xi8>, tensor<2x3xi32>) {
      %a = tensor.empty() : tensor<2x3xi8>
      %flat = tensor.collapse_shape %a [[0, 1]] : tensor<2x3xi8> into tensor<6xi8>
      %b = tensor.empty() : tensor<6xi8>
      %c = tensor.expand_shape %b [[0, 1]] output_shape [2, 3]
        : tensor<6xi8> into tensor<2x3xi8>
      %w = tensor.empty() : tensor<2x3xi32>
      %in = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xi8> into tensor<6xi8>
      func.return %c, %w : tensor<2x3xi8>, tensor<2x3xi32>
    }""")
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    (x,) = function.args
    values: dict[str, SSAValue] = {
        value.name_hint or "": value for op in function.walk() for value in op.results
    }
    assert flips(x) == flips(values["in"]) == (0,)
    assert flips(values["a"]) == flips(values["flat"]) == (0, 128)
    assert flips(values["b"]) == flips(values["c"]) == flips(values["w"]) == (0,)
    assert (is_input(values["in"]), is_input(x), is_input(values["b"])) == (
        *(True, True, False),
    )
    assert without_reshapes(values["c"]) is values["b"]
    stored = StoredBytes()
    assert stored.options(values["flat"]) == (0, 128)
    stored.settle(values["flat"], 128)
    assert stored.options(values["a"]) == (128,)
    stored.settle(values["a"], 0)
    assert stored.options(values["flat"]) == (128,)


def test_elements_with_other_bits() -> None:
    """Each once, however many of its bytes differ; a zero's sign is one."""
    one = np.array([[1, 256], [3, -1]], np.int32)
    two = np.array([[1, 255], [3, 0]], np.int32)
    assert DIFFERING(one, two) == 2
    assert DIFFERING(one, one.copy()) == 0
    assert DIFFERING(one.T, np.ascontiguousarray(one.T)) == 0
    assert DIFFERING(np.array([0.0]), np.array([-0.0])) == 1


PLAIN = """\
!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<1x4x!x>) -> tensor<1x4x!x> {
  %y = qnn.relu %x : (tensor<1x4x!x>) -> tensor<1x4x!x>
  return %y : tensor<1x4x!x>
}"""
KEPT = """\
!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<1x4x!x>, %s: tensor<1x4x!x>)
    -> (tensor<1x4x!x>, tensor<1x4x!x>)
    attributes {qnn.state = [dense<3> : tensor<1x4xi8>]} {
  %r = qnn.relu %s : (tensor<1x4x!x>) -> tensor<1x4x!x>
  return %x, %r : tensor<1x4x!x>, tensor<1x4x!x>
}"""


def model(text: str) -> WholeModel:
    return WholeModel(Compilation(qlower.Model(parse_module(text, "m.mlir")), "tflite"))


@pytest.mark.parametrize("wrong", [0, 1])
def test_the_whole_code_on_drawn_inputs(wrong: int) -> None:
    """Here played by numpy: three inputs of four numbers."""
    port = SimpleNamespace(shape=(1, 4), numpy_dtype=np.dtype(np.int8))
    code = SimpleNamespace(signature=SimpleNamespace(inputs=[port], outputs=[port]))
    level: Any = SimpleNamespace(code=code)

    def bind(given: Any, inputs: list[Array], outputs: list[Array]) -> Any:
        assert given is code

        def call() -> None:
            outputs[0][...] = np.maximum(inputs[0], 0)
            outputs[0][0, 0] += wrong

        return call

    bound: Any = bind
    assert model(PLAIN).on(level, bound) == Whole(3, 12, 3 * wrong)


def test_models_that_no_inputs_are_drawn_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a state, or too large: their code isn't even made."""
    nothing: Any = None
    assert model(KEPT).on(nothing, nothing) is None
    sizes = import_module("qlower.model.made_up_sizes")
    monkeypatch.setattr(sizes, "MOST_VALUES", 7)
    assert model(PLAIN).on(nothing, nothing) is None
