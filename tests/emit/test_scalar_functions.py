"""Rules as functions of numbers, and the steps by which rows are quantized."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.layers.built import built
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f32, f64, i32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import SSAValue

from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.emit.inline_rule import library_function
from qlower.emit.quantized_rows import steps_of_rows
from qlower.emit.scalar_function import ScalarBody, function_of_rule
from qlower.interp import evaluate_function
from qlower.text.hints import set_hint


def test_the_function_of_a_body() -> None:
    """Its arguments in the order in which they came, and as many results as are
    given."""
    body = ScalarBody()
    x, y = body.argument(i32, "x"), body.argument(f32)
    set_hint(y, "other")
    assert (body.bounds, body.parallel) == ((), 0)
    total = body.add(arith.AddiOp(x, x)).result
    made = body.function("twice", [total, y, x])
    assert isinstance(made, FuncOp)
    made.verify()
    assert made.sym_name.data == "twice"
    assert [*made.function_type.inputs] == [i32, f32]
    assert [*made.function_type.outputs] == [i32, f32, i32]
    assert [one.name_hint for one in made.body.block.args] == ["x", "other"]
    found = evaluate_function(made, [np.array(4, np.int32), np.array(1.5, np.float32)])
    assert [one.item() for one in found] == [8, 1.5, 4]


def test_operations_outside_of_loops() -> None:
    with pytest.raises(QlowerError) as caught:
        ScalarBody().emitter.add(EmptyOp((), TensorType(f32, (2,))))
    message = "tensor.empty has no place in a function of scalars"
    assert caught.value.message == message


def test_a_rule_with_its_constants() -> None:
    """What depends on these alone is known; runtime values come from arguments."""
    rule = load_contract("tflite").definition.rules["add"]
    given: dict[str, SSAValue] = {}

    def runtime(body: ScalarBody, values: Sequence[SSAValue]) -> dict[str, SSAValue]:
        given.update(zip(("lhs", "rhs"), values, strict=True))
        return given

    constants = {
        **{f"{side}_scale": np.array(0.5) for side in ("lhs", "rhs", "output")},
        **{f"{side}_zero_point": np.array(0, np.int32) for side in ("lhs", "rhs")},
        **{"output_zero_point": np.array(3, np.int32)},
        **{"output_min": np.array(-128, np.int32)},
        **{"output_max": np.array(127, np.int32)},
    }
    made = function_of_rule("add", rule, constants, [i32, i32], runtime)
    assert [*made.function_type.inputs] == [i32, i32]
    numbers = [np.array(one, np.int32) for one in (7, 20)]
    (found,) = evaluate_function(made, numbers)
    assert found.item() == 30
    assert f64 not in {one.type for op in made.walk() for one in op.results}


@pytest.mark.parametrize("shape", [(3, 5), (2, 2, 3)])
def test_steps_of_rows(shape: tuple[int, ...]) -> None:
    """Of each row by itself, from its least and greatest number, and 0."""
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    x[0] = abs(x[0])
    found, _ = built(lambda emit, rows: steps_of_rows(emit, "tflite", rows), x)
    rows = x.reshape(shape[0], -1)
    function = library_function("tflite", "hybrid_range")
    expected = [
        [one.item() for one in evaluate_function(function, [np.float32(low), high])]
        for low, high in zip(np.minimum(rows.min(1), 0), rows.max(1), strict=True)
    ]
    assert [
        list(one) for one in zip(*[one.tolist() for one in found], strict=True)
    ] == expected
    assert len({tuple(row) for row in expected}) == shape[0]
