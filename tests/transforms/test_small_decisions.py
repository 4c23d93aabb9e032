"""Small decisions of passes, by hand."""

from __future__ import annotations

from importlib import import_module

import pytest

from qlower.codegen.targets.resolve import host_target
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.dialects.kernel import NestOp
from qlower.dialects.types import tensor_type
from qlower.text.parsing import parse_module
from qlower.transforms.form_kernels.factors import is_constant, product_factors


def test_bytes_with_their_highest_bit_flipped() -> None:
    flip = vars(import_module("qlower.transforms.match_signs"))["_flip"]
    found = [flip(byte) for byte in range(-128, 128)]
    assert found == [*range(128), *range(-128, 0)]


TYPES = """
!t = !quant.uniform<i8:f32, 5.0e-01:-3>
!w = !quant.uniform<i8:f32, 2.5e-01>
"""
PRODUCTS = {
    (False, False): "func.func @main(%a: tensor<4x8x!t>, %b: tensor<8x4x!w>)",
    (False, True): "func.func @main(%a: tensor<4x8x!t>)",
    (True, False): "func.func @main(%b: tensor<8x4x!w>)",
}
CONSTANTS = {
    "a": "%a = qnn.constant dense<3> : tensor<4x8xi8> -> tensor<4x8x!t>",
    "b": "%b = qnn.constant dense<5> : tensor<8x4xi8> -> tensor<8x4x!w>",
}


@pytest.mark.parametrize("known", PRODUCTS)
def test_a_product_s_weight_is_the_constant_or_the_second(
    known: tuple[bool, bool],
) -> None:
    lines = [CONSTANTS[name] for name, here in zip("ab", known, strict=True) if here]
    body = "\n  ".join(lines)
    text = f"""{TYPES}{PRODUCTS[known]} -> tensor<4x4x!t> {{
  {body}
  %y = qnn.matmul %a, %b : (tensor<4x8x!t>, tensor<8x4x!w>) -> tensor<4x4x!t>
  return %y : tensor<4x4x!t>
}}"""
    arith = lower_to_arith(parse_module(text), "tflite")
    kernel = lower_to_kernel(arith, host_target())
    found = [
        (op, factors)
        for op in kernel.walk()
        if isinstance(op, NestOp) and op.body.blocks
        if (factors := product_factors(op)) is not None
    ]
    ((nest, (activation, weight)),) = found
    has_tensor_of = [tensor_type(value).get_shape() for value in nest.inputs]
    if any(known):
        assert is_constant(nest.inputs[weight])
        assert not is_constant(nest.inputs[activation])
    else:
        assert (has_tensor_of[activation], has_tensor_of[weight]) == ((4, 8), (8, 4))
