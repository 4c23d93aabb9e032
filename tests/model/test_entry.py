"""Modules that are no model, since no array could hold what goes in or comes out."""

from __future__ import annotations

import re

import pytest

from qlower.diagnostics import QlowerError
from qlower.model.entry import signature_of
from qlower.text.parsing import parse_module


@pytest.mark.parametrize(
    ("type", "said", "message"),
    [
        ("i8", "!quant.uniform<i32:f32, 0.5>", r"elements i8, but qnn\.type = !quant"),
        ("i32", "ui8", r"elements i32, but qnn\.type = ui8"),
        ("f32", "f64", r"elements f32, but qnn\.type = f64"),
        ("i8", '"i8"', r'elements i8, but qnn\.type = "i8"'),
        ("i3", "ui3", "element type ui3, which no array can hold"),
        ("f16", "f16", "element type f16, which no array can hold"),
    ],
)
def test_types_that_are_said_of_a_tensor(type: str, said: str, message: str) -> None:
    text = f"func.func @main(%x: tensor<4x{type}> {{qnn.type = {said}}}) {{ return }}"
    with pytest.raises(QlowerError, match=message) as caught:
        signature_of(parse_module(text, "model.mlir"))
    assert re.match(r"model\.mlir:1:1: error: 'x' has ", str(caught.value))
