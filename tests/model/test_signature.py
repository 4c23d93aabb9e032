"""What a model says of its inputs, and arrays that don't fit it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array
from qlower.text.parsing import parse_module


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((1, 2, 2, 1), np.uint8), "input 'image' has type uint8"),
        (np.zeros((1, 2, 2, 1), np.float64), "input 'image' has type float64"),
        (np.zeros((1, 2, 1, 2), np.int8), r"input 'image' has shape"),
    ],
)
def test_other_arrays_are_refused(array: Array, message: str) -> None:
    (spec,) = qlower.Model(parse_module(SMALL_MODEL)).inputs
    with pytest.raises(QlowerError, match=message):
        spec.check(array)


def test_an_array_that_fits_is_given_back() -> None:
    (spec,) = qlower.Model(parse_module(SMALL_MODEL)).inputs
    array = np.zeros((1, 2, 2, 1), np.int8)
    assert spec.check(array) is array


MASKED = np.ma.masked_array(np.zeros((1, 2, 2, 1), np.int8), [[[[1], [0]], [[0], [0]]]])
"""An image with an element that has no value."""


def _is_run(model: qlower.Model, image: Array, folder: Path) -> None:
    qlower.jit(model)(image)


def _is_interpreted(model: qlower.Model, image: Array, folder: Path) -> None:
    qlower.interpret(model, image=image)


def _is_quantized(model: qlower.Model, image: Array, folder: Path) -> None:
    model.inputs[0].quantize(image)


def _is_a_dump(model: qlower.Model, image: Array, folder: Path) -> None:
    given = np.zeros((1, 2, 2, 1), np.int8)
    qlower.diff({"image": image}, "tflite", model, given)


def _is_validated(model: qlower.Model, image: Array, folder: Path) -> None:
    qlower.validate(model, {"image": image})


def _is_accumulated(model: qlower.Model, image: Array, folder: Path) -> None:
    rule = qlower.rule("tflite", "conv2d")
    rule(
        image.astype(np.int32),
        input_scale=0.5,
        weight_scale=0.5,
        output_scale=1.0,
        output_zero_point=0,
    )


@pytest.mark.parametrize(
    "take",
    [
        *(_is_run, _is_interpreted, _is_quantized, _is_a_dump),
        *(_is_validated, _is_accumulated),
    ],
)
def test_elements_without_a_value_are_refused(
    take: Callable[[qlower.Model, Array, Path], None], tmp_path: Path
) -> None:
    """Numpy keeps some number below each mask, which nobody means."""
    model = qlower.Model(parse_module(SMALL_MODEL))
    with pytest.raises(QlowerError, match="masked elements"):
        take(model, MASKED, tmp_path)


def test_a_mask_without_masked_elements_is_no_fault() -> None:
    model = qlower.Model(parse_module(SMALL_MODEL))
    plain = np.zeros((1, 2, 2, 1), np.int8)
    run = qlower.jit(model)
    assert np.array_equal(run(np.ma.masked_array(plain)), run(plain))
