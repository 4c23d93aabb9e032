"""A module that returns every layer, and what it is without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from qlower.compilation.compilation import Compilation
from qlower.compilation.passes import apply_passes
from qlower.model.entry import main_function
from qlower.model.layers import hide_layers
from qlower.transforms.tidying import DcePass

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"


@pytest.mark.parts(3)
def test_hidden_layers_are_returned_no_more() -> None:
    plain = Compilation(DIGITS).arith
    exposed = Compilation(DIGITS, with_layers=True).arith
    hidden = apply_passes(hide_layers(exposed, 1), [DcePass()])
    assert len(main_function(exposed).function_type.outputs) > 1
    assert main_function(hidden).function_type == main_function(plain).function_type
    ops = [[op.name for op in module.walk()] for module in (hidden, plain)]
    assert sorted(ops[0]) == sorted(ops[1])
