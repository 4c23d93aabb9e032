"""Nests, constants and copies of operations, by what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    NameLoc,
    StringAttr,
    TensorType,
    UnknownLoc,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.utils.test_value import create_ssa_value

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.model import build
from qlower.model.cloning import clone_in_order
from qlower.model.entry import main_function
from qlower.model.layers import layer_name, layers
from qlower.model.nests import (
    Emitter,
    Nest,
    broadcast_indices,
    constant,
    dense,
    extract,
    narrow,
    row_major_index,
    scalar_constant,
    to_index,
    widen,
)
from qlower.text.parsing import parse_module

PLACE = NameLoc(StringAttr("layer"), UnknownLoc())


class Made:
    """An emitter, and what it appended."""

    def __init__(self) -> None:
        self.ops: list[Operation] = []
        self.emitter = Emitter(self.ops.append, PLACE)

    @property
    def names(self) -> list[str]:
        return [op.name for op in self.ops]

    def nest(self, *bounds: int, reductions: int = 0) -> Nest:
        return Nest(self.emitter, bounds, reductions)


def value_of(op: Any) -> Any:
    """The number, or the elements, of a constant."""
    attribute = op.value
    if isinstance(attribute, IntegerAttr | FloatAttr):
        return attribute.value.data
    return list(attribute.get_values())


def body(nest: Nest) -> list[Operation]:
    block: Block = vars(nest)["_block"]
    return list(block.ops)


@pytest.mark.parametrize(
    ("number", "type", "stored"),
    [
        (5, i8, 5),
        (127, i8, 127),
        (128, i8, -128),
        (255, i8, -1),
        (-128, i8, -128),
        (256, i8, 0),
        (1, i1, -1),
        (0, i1, 0),
        (-1, i1, -1),
        ((1 << 31) - 1, i32, (1 << 31) - 1),
        (1 << 31, i32, -(1 << 31)),
        (3.9, i32, 3),
        (np.int16(-7), i16, -7),
        (7, IndexType(), 7),
        (-1, IndexType(), -1),
        (0.25, f32, 0.25),
        (3, f64, 3.0),
        (np.float32(0.1), f32, float(np.float32(0.1))),
    ],
)
def test_one_number(number: Any, type: Any, stored: Any) -> None:
    op = scalar_constant(number, type)
    assert value_of(op) == stored
    assert op.result.type == type


def test_elements_of_constants() -> None:
    found = dense(np.array([[1, -2], [3, 4]]).T, i16)
    assert list(found.get_values()) == [1, 3, -2, 4]
    assert (found.get_shape(), found.get_element_type()) == ((2, 2), i16)
    assert found.data.data == np.array([1, 3, -2, 4], np.int16).tobytes()
    assert constant(found).result.type == TensorType(i16, (2, 2))


def test_operations_have_the_place_of_their_source() -> None:
    made = Made()
    value = made.emitter.constant(np.array([1, 2]), i8)
    assert value.type == TensorType(i8, (2,))
    empty = made.emitter.empty((3, 1), f32)
    assert empty.type == TensorType(f32, (3, 1))
    filled = made.emitter.filled((2,), i32, 7)
    assert filled.type == TensorType(i32, (2,))
    assert made.names == [
        *("arith.constant", "tensor.empty", "tensor.empty", "arith.constant"),
        "linalg.fill",
    ]
    assert value_of(made.ops[3]) == 7
    into = made.emitter.empty((4,), i8)
    placed = made.emitter.inserted(value, into, (1,))
    op: Any = placed.owner
    assert (placed.type, op.static_offsets.get_values()) == (into.type, (1,))
    assert op.static_sizes.get_values() == (2,)
    nest = made.nest(2)
    x = nest.input(value, (0,))
    nest.build([nest.add(arith.AddiOp(x, x)).result])
    for op in made.ops:
        assert all(inner.location == PLACE for inner in op.walk())


def maps(op: Any) -> list[AffineMap]:
    return [one.data for one in op.indexing_maps]


def kinds(op: Any) -> list[str]:
    return [one.data.value for one in op.iterator_types]


def test_a_nest_of_inputs_and_constants() -> None:
    made = Made()
    nest = made.nest(2, 3)
    image = create_ssa_value(TensorType(i32, (2, 3)))
    row = create_ssa_value(TensorType(i32, (1, 3)))
    x = nest.input(image, (0, 1))
    y = nest.input(row, broadcast_indices((1, 3), (2, 3)))
    same = nest.constant(np.array([7, 7, 7]), i32)
    many = nest.constant(np.array([[1, 2, 3]]), i32)
    assert nest.output_shape == (2, 3)
    first = nest.add(arith.AddiOp(x, y)).result
    second = nest.add(arith.AddiOp(same, many)).result
    found = nest.build([first, second])
    op: Any = made.ops[-1]
    assert [one.type for one in found] == [TensorType(i32, (2, 3))] * 2
    d0, d1, zero = AffineDimExpr(0), AffineDimExpr(1), AffineConstantExpr(0)
    assert maps(op) == [
        AffineMap(2, 0, results)
        for results in ((d0, d1), (zero, d1), (d1,), (d0, d1), (d0, d1))
    ]
    assert kinds(op) == ["parallel"] * 2
    assert [len(op.inputs), len(op.outputs), len(op.body.block.args)] == [3, 2, 5]
    assert [one.type for one in op.body.block.args] == [i32] * 5
    assert list(op.body.block.last_op.operands) == [first, second]
    assert made.names == [
        *("arith.constant", "tensor.empty", "tensor.empty", "linalg.generic"),
    ]


@pytest.mark.parametrize(
    ("values", "loops", "elements", "axes"),
    [
        (5, None, 5, None),
        ([5], None, 5, None),
        ([5, 5], None, 5, None),
        ([[5], [5]], None, 5, None),
        ([5, 6], None, [5, 6], [2]),
        ([5, 6], [1], [5, 6], [1]),
        ([[5], [6]], None, [5, 6], [1]),
        ([[[5, 6]], [[7, 8]]], None, [5, 6, 7, 8], [0, 2]),
        ([[5, 6], [7, 8]], [3, 0], [5, 6, 7, 8], [3, 0]),
    ],
)
def test_constants_of_a_nest(
    values: Any, loops: Any, elements: Any, axes: list[int] | None
) -> None:
    """One number in the body, or an input along the loops where it varies."""
    made = Made()
    nest = made.nest(2, 2, 2, 9, reductions=1)
    found = nest.constant(np.array(values), i8, loops)
    if axes is None:
        (op,) = body(nest)
        assert value_of(op) == elements
        assert made.ops == []
    else:
        (op,) = made.ops
        assert value_of(op) == elements
        (map,) = vars(nest)["_maps"]
        assert map == AffineMap(4, 0, tuple(AffineDimExpr(axis) for axis in axes))
        assert body(nest) == []
    assert found.type == i8


def test_equal_numbers_of_other_bits_vary() -> None:
    made = Made()
    nest = made.nest(2)
    nest.constant(np.array([0.0, -0.0], np.float32), f32)
    assert made.names == ["arith.constant"]


def test_a_nest_that_reduces() -> None:
    made = Made()
    nest = made.nest(2, 5, 3, reductions=2)
    x = nest.input(create_ssa_value(TensorType(f32, (2, 5, 3))), (0, 1, 2))
    start = create_ssa_value(TensorType(f32, (2,)))
    (total,) = nest.reduce([start], nest.adding(x))
    op: Any = made.ops[-1]
    assert total.type == start.type
    assert kinds(op) == ["parallel", "reduction", "reduction"]
    assert maps(op)[-1] == AffineMap(3, 0, (AffineDimExpr(0),))
    assert [one.name for one in op.body.block.ops] == ["arith.addf", "linalg.yield"]
    add = op.body.block.first_op
    assert list(add.operands) == [op.body.block.args[1], x]
    integers = made.nest(4, reductions=1)
    y = integers.input(create_ssa_value(TensorType(i8, (4,))), (0,))
    integers.reduce([create_ssa_value(TensorType(i8, ()))], integers.adding(y))
    add = made.ops[-1].regions[0].block.first_op
    assert add is not None
    assert add.name == "arith.addi"
    window = made.nest(3, 2, reductions=1)
    window.window((1,))
    assert made.ops[-1].results[0].type == TensorType(i8, (2,))
    into = create_ssa_value(TensorType(i8, (9,)))
    plain = made.nest(3)
    z = plain.input(into, (0,))
    (found,) = plain.build([z], [into], [[AffineConstantExpr(2)]])
    assert found.type == into.type
    assert maps(made.ops[-1])[-1] == AffineMap(1, 0, (AffineConstantExpr(2),))


@pytest.mark.parametrize(
    ("shape", "result", "expected"),
    [
        ((), (2, 3), []),
        ((3,), (2, 3), [1]),
        ((1,), (2, 3), ["0"]),
        ((2, 3), (2, 3), [0, 1]),
        ((2, 1), (2, 3), [0, "0"]),
        ((4, 1, 3), (5, 4, 2, 3), [1, "0", 3]),
    ],
)
def test_loops_of_a_broadcast_tensor(shape: Any, result: Any, expected: Any) -> None:
    found = broadcast_indices(shape, result)
    assert found == [AffineConstantExpr(0) if n == "0" else n for n in expected]


def test_integers_of_other_widths() -> None:
    made = Made()
    nest = made.nest(2)
    x: SSAValue = create_ssa_value(i8)
    assert widen(nest, x, i8) is x
    assert narrow(nest, x, i8) is x
    assert [
        (found.type, getattr(found.owner, "name", ""))
        for found in (widen(nest, x, i32), widen(nest, x, i16, unsigned=True))
    ] == [(i32, "arith.extsi"), (i16, "arith.extui")]
    wide = create_ssa_value(i32)
    for unsigned in (False, True):
        op: Any = narrow(nest, wide, i8, unsigned=unsigned).owner
        assert (op.name, op.result.type) == ("fixed.saturate", i8)
        assert ("unsigned" in str(op)) == unsigned
    assert to_index(nest, wide).type == IndexType()
    table = create_ssa_value(TensorType(i16, (2, 3)))
    found = extract(nest, table, [0, to_index(nest, wide)])
    assert found.type == i16
    assert [op.name for op in body(nest)[-4:]] == [
        *("arith.index_cast", "arith.index_cast", "linalg.index", "tensor.extract"),
    ]


@pytest.mark.parametrize(
    ("bounds", "reductions", "loops", "names"),
    [
        ((), 0, None, ["constant"]),
        ((1, 1), 0, None, ["constant"]),
        ((5,), 0, None, ["index", "index_cast"]),
        ((1, 5), 0, None, ["index", "index_cast"]),
        (
            *((2, 5), 0, None),
            ["index", "index", "constant", "muli", "addi", "index_cast"],
        ),
        ((2, 5), 1, None, ["index", "index_cast"]),
        ((2, 5), 1, [1], ["index", "index_cast"]),
        ((2, 5), 0, [], ["constant"]),
    ],
)
def test_positions_in_memory(
    bounds: Any, reductions: int, loops: Any, names: list[str]
) -> None:
    made = Made()
    nest = made.nest(*bounds, reductions=reductions)
    found = row_major_index(nest, loops)
    assert found.type == i32
    assert [op.name.split(".")[1] for op in body(nest)] == names
    made_in: list[Any] = body(nest)
    indices = [op.dim.value.data for op in made_in if op.name == "linalg.index"]
    chosen = range(len(bounds) - reductions) if loops is None else loops
    assert indices == [loop for loop in chosen if bounds[loop] > 1]
    constants = [value_of(op) for op in body(nest) if op.name == "arith.constant"]
    assert constants == ([0] if names == ["constant"] else [5] * ("muli" in names))


def test_types_of_tensors() -> None:
    one = build.quantized((2, 3), 0.5, 4)
    assert one == TensorType(QuantizedType.per_tensor(8, True, 0.5, 4), (2, 3))
    other = build.quantized((2,), 0.5, signed=False)
    assert other == TensorType(QuantizedType.per_tensor(8, False, 0.5, 0), (2,))
    several = build.quantized_per_axis((2, 3), 1, [1, 2, 3])
    assert several.element_type == QuantizedType.per_axis(8, True, 1, [1, 2, 3], None)


def test_modules_in_a_few_lines() -> None:
    type = build.quantized((1, 2), 0.5)

    def body(x: SSAValue, y: SSAValue) -> list[SSAValue]:
        w = build.constant(np.array([[1, 2]], np.int8), type)
        return [qnn.AddOp(x, w, type).result, y]

    module = build.make_module([type, type], body)
    main = main_function(module)
    assert main.sym_name.data == "main"
    assert list(main.function_type.inputs) == [type] * 2
    assert list(main.function_type.outputs) == [type] * 2
    assert [op.name for op in main.body.block.ops] == [
        *("qnn.constant", "qnn.add", "func.return"),
    ]
    assert [layer_name(op) for op in layers(module)] == [None]
    model = build.make_model([type, type], body)
    assert [layer_name(op) for op in layers(model.module)] == ["add_1"]
    assert [spec.name for spec in model.inputs] == ["input0", "input1"]
    kinds: list[tuple[Any, Any]] = [
        *((np.int8, i8), (np.int16, i16), (np.int32, i32), (np.int64, i64)),
        (np.float32, f32),
    ]
    for dtype, element in kinds:
        plain = build.constant(np.array([1, 2], dtype))
        assert plain.type == TensorType(element, (2,))
        assert value_of(plain.owner) == [1, 2]


def test_copies_in_one_walk() -> None:
    """Values come from a table, and what is copied is added there; places stay, or
    are the given one."""
    text = """\
func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
  %e = tensor.empty() : tensor<4xi8>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]
    } ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%a: i8, %b: i8):
    %s = arith.addi %a, %a : i8 loc("inner")
    linalg.yield %s : i8
  } -> tensor<4xi8> loc("outer")
  return %y : tensor<4xi8>
}"""
    module = parse_module(text, "m.mlir")
    op = next(one for one in module.walk() if one.name == "linalg.generic")
    x, e = op.operands
    new = create_ssa_value(x.type)
    for location in (None, PLACE):
        values: dict[SSAValue, SSAValue] = {x: new}
        copy = clone_in_order(op, values, location)
        assert list(copy.operands) == [new, e]
        block, own = copy.regions[0].block, op.regions[0].block
        assert [values[argument] for argument in own.args] == list(block.args)
        assert [one.name_hint for one in block.args] == ["a", "b"]
        assert [one.name for one in block.ops] == ["arith.addi", "linalg.yield"]
        first = block.first_op
        assert first is not None
        assert list(first.operands) == [block.args[0]] * 2
        assert values[op.results[0]] is copy.results[0]
        names = [layer_name(one) for one in copy.walk()]
        assert names == (["layer"] * 3 if location else ["outer", "inner", None])
    assert layer_name(op) == "outer"


def test_copies_of_several_blocks() -> None:
    text = """\
func.func @main(%x: i8) -> i8 {
  cf.br ^next(%x : i8) loc("jump")
^next(%y: i8):
  func.return %y : i8
}"""
    module = parse_module(text, "m.mlir")
    function = next(op for op in module.walk() if isinstance(op, func.FuncOp))
    for location in (None, PLACE):
        copy = clone_in_order(function, {}, location)
        assert len(copy.body.blocks) == 2
        assert copy is not function
        found = [layer_name(op) for op in copy.walk()]
        assert found == (["layer"] * 3 if location else [None, "jump", None])
    plain = clone_in_order(function, {}, UnknownLoc())
    assert [layer_name(op) for op in plain.walk()] == [None] * 3


def test_width_of_integers() -> None:
    assert [scalar_constant(1 << 40, IntegerType(n)).result.type for n in (48, 64)] == [
        *(IntegerType(48), i64),
    ]
