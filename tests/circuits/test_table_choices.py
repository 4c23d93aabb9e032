"""A table as choices: for each index its entry, and the last one for any other."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import ExtractOp

from qlower.interp import evaluate_function
from qlower.text.parsing import parse_module


@pytest.mark.parametrize("entries", [[7], [7, -3], [5, 5, -128, 0], [9, 1, 2, 3, 4]])
def test_every_index_of_a_table(entries: list[int]) -> None:
    type = f"tensor<{len(entries)}xi8>"
    module = parse_module(f"""func.func @f(%a: i32) -> i8 {{
      %t = arith.constant dense<{entries}> : {type}
      %i = arith.index_cast %a : i32 to index
      %r = tensor.extract %t[%i] : {type}
      return %r : i8
    }}""")
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    (lookup,) = (op for op in module.walk() if isinstance(op, ExtractOp))
    vars(import_module("qlower.circuits.rtl.claim"))["_expand_table"](lookup)
    places = np.arange(-1, len(entries) + 2, dtype=np.int32)
    (found,) = evaluate_function(function, [places])
    wanted = [*entries, entries[-1], entries[-1]]
    found = np.broadcast_to(found, places.shape).tolist()
    assert found == [entries[-1], *wanted]
    names = [op.name for op in function.body.block.ops]
    assert "tensor.extract" not in names
    assert names.count("arith.select") == len(entries) - 1
