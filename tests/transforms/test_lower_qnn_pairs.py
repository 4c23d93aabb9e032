"""Sums of saturating pairs: which weights make a pair, and where an image is."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from qlower.dialects.qnn import Conv2DOp
from qlower.model.signature import Array
from qlower.text.parsing import parse_module

own: Any = vars(import_module("qlower.transforms.lower_qnn.pairs"))

TEXT = """
!a = !quant.uniform<i8:f32, 7.8125e-03:3>
!w = !quant.uniform<i8<-127:127>:f32, 3.90625e-03>
func.func @main(%x: tensor<1xHxWx2x!a>, %w: tensor<5xKHxKWx2x!w>,
    %b: tensor<5xi32>) -> tensor<1xOHxOWx5x!a> {
  %y = qnn.conv2d %x, %w, %b
    {stride = [SH, SW], pad = [PT, PB, PL, PR], dilation = [DH, DW]}
    : (tensor<1xHxWx2x!a>, tensor<5xKHxKWx2x!w>, tensor<5xi32>)
    -> tensor<1xOHxOWx5x!a>
  return %y : tensor<1xOHxOWx5x!a>
}"""

WINDOWS = {
    # image, kernel, stride, pad before and after, dilation
    "plain": ((4, 5), (2, 3), (1, 1), (0, 0, 0, 0), (1, 1)),
    "padded": ((3, 4), (3, 2), (1, 1), (1, 0, 2, 1), (1, 1)),
    "strides": ((5, 7), (3, 2), (2, 3), (0, 1, 1, 0), (1, 1)),
    "dilated": ((5, 6), (2, 3), (1, 1), (1, 1, 0, 2), (3, 2)),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_taps_inside_of_the_image(name: str) -> None:
    """Counted along an axis of ones, padded by zeros."""
    image, kernel, stride, pad, dilation = WINDOWS[name]
    sizes = [
        (
            image[axis]
            + pad[2 * axis]
            + pad[2 * axis + 1]
            - (kernel[axis] - 1) * dilation[axis]
            - 1
        )
        // stride[axis]
        + 1
        for axis in (0, 1)
    ]
    text = TEXT
    for word, numbers in (
        *(("KH KW", kernel), ("OH OW", sizes), ("SH SW", stride)),
        *(("PT PB PL PR", pad), ("DH DW", dilation), ("xH xW", image)),
    ):
        for letter, number in zip(word.split(), numbers, strict=True):
            text = text.replace(letter, letter[: letter.startswith("x")] + f"{number}")
    (op,) = (op for op in parse_module(text).walk() if isinstance(op, Conv2DOp))
    masks: list[Array] = own["_taps_inside"](op)
    for axis, mask in zip((0, 1), masks, strict=True):
        ones = np.pad(np.ones(image[axis], np.int64), pad[2 * axis : 2 * axis + 2])
        wanted = [
            [
                int(ones[place * stride[axis] + tap * dilation[axis]])
                for tap in range(kernel[axis])
            ]
            for place in range(sizes[axis])
        ]
        assert mask.tolist() == wanted


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((3,), [[1, 2], [3, 0]]),
        ((2, 2), [[[1, 2]], [[3, 4]]]),
        ((1, 1), [[[1, 0]]]),
        ((2, 3), [[[1, 2], [3, 0]], [[4, 5], [6, 0]]]),
    ],
)
def test_weights_in_pairs(shape: tuple[int, ...], wanted: list[Any]) -> None:
    """The last of an odd number has 0 beside it."""
    weights = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    found: Array = own["_pair_up"](weights)
    assert found.dtype == np.int8
    assert found.tolist() == wanted
