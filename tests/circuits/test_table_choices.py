"""A table as choices: for each index its entry, and the last one for any other."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import ExtractOp

from qlower.interp import evaluate_function
from qlower.text.parsing import parse_module

CLAIM = vars(import_module("qlower.circuits.rtl.claim"))


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
    CLAIM["_expand_table"](lookup)
    places = np.arange(-1, len(entries) + 2, dtype=np.int32)
    (found,) = evaluate_function(function, [places])
    wanted = [*entries, entries[-1], entries[-1]]
    found = np.broadcast_to(found, places.shape).tolist()
    assert found == [entries[-1], *wanted]
    names = [op.name for op in function.body.block.ops]
    assert "tensor.extract" not in names
    assert names.count("arith.select") == len(entries) - 1


def test_numbers_for_arguments_and_tables_leave_terms_alone() -> None:
    """Arguments that stay keep their order; nothing is left that no step needs."""
    module = parse_module("""func.func @f(%a: i8, %b: i32, %c: i8, %d: i32) -> i8 {
      %t = arith.constant dense<[4, -1, 3]> : tensor<3xi8>
      %i = arith.index_cast %b : i32 to index
      %e = tensor.extract %t[%i] : tensor<3xi8>
      %s = arith.addi %e, %a : i8
      %p = arith.muli %s, %c : i8
      %unused = arith.muli %d, %d : i32
      return %p : i8
    }""")
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    special = CLAIM["_specialized"](function, {0: -5, 3: 9})
    types = [str(type) for type in special.function_type.inputs]
    assert types == ["!smt.bv<32>", "!smt.bv<8>"]
    names = [op.name for op in special.body.block.ops]
    assert names.count("smt.ite") == 2
    assert names.count("smt.bv.mul") == 1
    assert len(function.body.block.args) == 4
