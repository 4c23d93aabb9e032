"""Types of stored tensors, constants among their values, and other shapes of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.layers.built import built
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, UnknownLoc, f32, i8, i32
from xdsl.ir import Attribute, Block

from qlower.dialects.quant import QuantizedType
from qlower.emit.tensors import constant_of, reshape, storage_type
from qlower.model.nests import Emitter, scalar_constant

UNSIGNED = QuantizedType.per_tensor(8, False, 0.5, 3)


@pytest.mark.parametrize(
    ("type", "stored"),
    [
        (UNSIGNED, i8),
        (f32, f32),
        (TensorType(UNSIGNED, (2, 3)), TensorType(i8, (2, 3))),
        (TensorType(f32, (4,)), TensorType(f32, (4,))),
    ],
)
def test_types(type: Attribute, stored: Attribute) -> None:
    assert storage_type(type) == stored


def test_constants() -> None:
    """Those of tensors; numbers and results of other operations are none."""
    block = Block(arg_types=[TensorType(f32, (2,))])
    emit = Emitter(block.add_op, UnknownLoc())
    known = constant_of(emit.constant(np.array([[1, -2, 3]], np.int8), i8))
    assert known is not None
    assert (known.tolist(), known.dtype) == ([[1, -2, 3]], np.int8)
    assert constant_of(emit.add(scalar_constant(5, i32)).result) is None
    assert constant_of(emit.empty((2,), f32)) is None
    assert constant_of(block.args[0]) is None
    number = emit.add(scalar_constant(1.5, f32)).result
    assert constant_of(emit.add(arith.NegfOp(number)).result) is None


JOIN, SPLIT = "tensor.collapse_shape", "tensor.expand_shape"


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ((2, 3), (2, 3), []),
        ((2, 3, 4), (6, 4), [JOIN]),
        ((2, 12), (2, 3, 4), [SPLIT]),
        ((2, 6), (4, 3), [JOIN, SPLIT]),
        ((2, 3, 1, 1), (2, 3), [JOIN]),
        ((2, 3), (2, 3, 1), [SPLIT]),
        ((1, 1, 2), (2,), [JOIN]),
        ((2,), (1, 2, 1), [SPLIT]),
    ],
)
def test_shapes(
    before: Sequence[int], after: Sequence[int], names: Sequence[str]
) -> None:
    """In as few operations as there can be."""
    x = np.arange(np.prod(before), dtype=np.int8).reshape(before)
    (found,), made = built(lambda emit, x: reshape(emit, x, after), x)
    assert found.tolist() == x.reshape(after).tolist()
    assert made == names
