"""Steps of reading a graph, by themselves: attributes and operands, shapes that are
computed, places of a resize, bounds, orders of dimensions, and tensors of ONNX."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import permutations, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.frontends.accessor import either
from qlower.frontends.graph.bounds import bounds, is_redundant, remove_activations
from qlower.frontends.graph.context import NodeContext
from qlower.frontends.graph.folding import fold
from qlower.frontends.graph.nodes import MOST_FOLDED, Graph, QuantStep, cast, filled
from qlower.frontends.graph.operators.layout import RESHAPES
from qlower.frontends.graph.operators.slicing import read_slice
from qlower.frontends.graph.orders import (
    channels_last,
    identity,
    is_alike,
    place,
    reshaped_order,
    stored_shape,
    transposed_order,
)
from qlower.frontends.graph.real_constants import dequantized
from qlower.frontends.graph.schema import Constant, Model, Node
from qlower.operators.resizing import Side

NUMBERS = {"INT64": np.int64, "INT32": np.int32, "FLOAT": np.float32, "BOOL": np.bool_}
own_resizing: Any = vars(import_module("qlower.frontends.graph.operators.resizing"))
own_einsum: Any = vars(import_module("qlower.frontends.graph.operators.einsum"))


def constant(values: Any, type: str = "INT64") -> Constant:
    array = np.array(values, NUMBERS.get(type, np.uint8))
    return Constant(type, array.shape, array)


def node_of(
    kind: str,
    operands: Sequence[Constant | None] = (),
    *,
    opset: int = 18,
    results: int = 1,
    **attributes: Any,
) -> NodeContext:
    """A node whose operands are constants, or `x` of 2x3x4 for None."""
    names = ["x" if one is None else f"c{at}" for at, one in enumerate(operands)]
    constants = {
        name: one for name, one in zip(names, operands, strict=True) if one is not None
    }
    outputs = [f"y{number}" for number in range(results)]
    node = Node(0, "", kind, "n", names, outputs, attributes)
    model = Model("file", 1, opset, (node,), constants, (), ())
    importer: Any = SimpleNamespace(
        graph=Graph(model, outputs),
        builder=None,
        computed=None,
        storages={"UINT8": (8, False), "INT8": (8, True)},
        narrow={},
        way_out=lambda _node: None,
        value=lambda _name, _site: SimpleNamespace(shape=(2, 3, 4)),
        charge=lambda _work: None,
    )
    return NodeContext(importer, next(iter(importer.graph.nodes)))


def refusal(run: Callable[[], object]) -> str:
    with pytest.raises(QlowerError) as caught:
        run()
    return caught.value.message.removeprefix("node 0 ")


ATTRIBUTES: list[tuple[Callable[[NodeContext], object], dict[str, Any], object]] = [
    (lambda n: n.integer("a"), {"a": 3}, 3),
    (lambda n: n.integer("a", 5), {}, 5),
    (lambda n: n.integer("a", None, 2, 4), {"a": 4}, 4),
    (lambda n: n.integer("a", None, 2, 4), {"a": 5}, "a 5 is out of range [2, 4]"),
    (lambda n: n.integer("a", None, 2, 4), {"a": 1}, "a 1 is out of range [2, 4]"),
    (lambda n: n.integer("a"), {}, "attribute a is missing or not an integer"),
    (lambda n: n.integer("a"), {"a": 0.5}, "attribute a is 0.5, expected an integer"),
    (lambda n: n.flag("a"), {"a": 1}, True),
    (lambda n: n.flag("a", False), {}, False),
    (lambda n: n.flag("a"), {"a": 2}, "a 2 is out of range [0, 1]"),
    (lambda n: n.number("a"), {"a": 3}, 3.0),
    (lambda n: n.number("a", 0.25), {}, 0.25),
    (lambda n: n.number("a"), {"a": "w"}, "attribute a is 'w', expected a number"),
    (lambda n: n.number("a"), {"a": math.inf}, "a inf is not finite"),
    (lambda n: n.number("a"), {"a": -math.inf}, "a -inf is not finite"),
    (lambda n: n.number("a"), {"a": math.nan}, "a nan is not finite"),
    (lambda n: n.text("a"), {"a": "w"}, "w"),
    (lambda n: n.text("a", "d", ["d"]), {}, "d"),
    (lambda n: n.text("a"), {"a": 3}, "attribute a is 3, expected text"),
    (
        lambda n: n.text("a", None, ["v", "u", "t"]),
        {"a": "w"},
        "a 'w' is not supported; expected 'v', 'u' or 't'",
    ),
    (lambda n: n.integer_list("a"), {"a": (1, 2)}, [1, 2]),
    (lambda n: n.integer_list("a", [7, 8]), {}, [7, 8]),
    (lambda n: n.integer_list("a", []), {"a": (1,)}, [1]),
    (lambda n: n.integer_list("a", [7]), {"a": (1, 2)}, "a [1, 2]: expected 1 numbers"),
    (lambda n: n.integer_list("a", None, 0, 5), {"a": (5, 0)}, [5, 0]),
    (
        lambda n: n.integer_list("a", None, 0, 5),
        {"a": (5, 6)},
        "a 6 is out of range [0, 5]",
    ),
    (
        lambda n: n.integer_list("a"),
        {"a": (1.5,)},
        "attribute a is missing or not a list of integers",
    ),
    (
        lambda n: n.integer_list("a"),
        {"a": 3},
        "attribute a is 3, expected a list of integers",
    ),
    (lambda n: n.number_list("a"), {"a": (1, 2.5)}, [1.0, 2.5]),
    *(
        (
            lambda n: n.number_list("a"),
            {"a": values},
            "attribute a is missing or not a list of numbers",
        )
        for values in ((), ("w",), (1.0, math.inf), None)
    ),
    (lambda n: n.expect("a", 0, 1), {"a": 1}, None),
    (lambda n: n.expect("a", 0, 1), {}, None),
    (lambda n: n.expect("a", 0), {"a": 1}, "a 1 is not supported; expected 0"),
    (lambda n: n.axis(-3, 3), {}, 0),
    (lambda n: n.axis(2, 3), {}, 2),
    (lambda n: n.axis(3, 3), {}, "axis 3 is out of range [-3, 2]"),
    (lambda n: n.axis(-4, 3, "dim"), {}, "dim -4 is out of range [-3, 2]"),
]


@pytest.mark.parametrize(
    ("read", "attributes", "expected"), ATTRIBUTES, ids=range(len(ATTRIBUTES))
)
def test_attributes(
    read: Callable[[NodeContext], object], attributes: dict[str, Any], expected: object
) -> None:
    node = node_of("K", **attributes)
    if isinstance(expected, str) and " " in expected:
        assert refusal(lambda: read(node)) == f"K 'n': {expected} (of 'y0')"
    else:
        assert read(node) == expected


def test_words_that_are_legal() -> None:
    assert [either(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a",
        "a or b",
        "a, b or c",
    ]


OPERANDS: list[tuple[Callable[[NodeContext], object], object]] = [
    (lambda n: n.integers(0, "sizes"), [2, 3]),
    (lambda n: n.integers(0, "sizes", 2), [2, 3]),
    (lambda n: n.integers(0, "sizes", 3), "'c0': 2 elements of sizes, expected 3"),
    (
        lambda n: n.integers(1, "sizes"),
        "'c1': sizes of type FLOAT is not supported; expected INT32 or INT64",
    ),
    (lambda n: n.axis_at(2, 3), 2),
    (lambda n: n.axis_at(0, 3), "'c0': 2 elements of axis, expected 1"),
    (lambda n: n.integers(3, "sizes"), "sizes 'x' must be a constant"),
    (lambda n: n.integers(5, "sizes"), "operand 5 is missing (of 'y0')"),
    (lambda n: n.check_shape(3, [2, 3, 4]), None),
    (
        lambda n: n.check_shape(3, [2, 3], [1]),
        "'x': shape [2, 3, 4], expected [2, 3] or [1]",
    ),
    (lambda n: n.shape(3, 3), (2, 3, 4)),
    (lambda n: n.shape(3, 2), "'x': rank 3, expected 2"),
    (lambda n: n.shape(0, 1), (2,)),
    (lambda n: n.expect_type(0, "INT64"), None),
    (
        lambda n: n.expect_type(0, "INT8", "UINT8", where="there"),
        "'c0': type INT64 is not supported by K there; expected INT8 or UINT8",
    ),
    (lambda n: [n.has(number) for number in range(6)], [True] * 5 + [False]),
    (lambda n: [n.is_constant(number) for number in (0, 3, 5)], [True, False, False]),
    (lambda n: n.axes(4, 3), [2, 0]),
    (lambda n: n.axes(0, 3), "axes 3 is out of range [-3, 2] (of 'y0')"),
    (lambda n: n.axes(6, 3), None),
    (lambda n: n.check_elements(1), None),
    (lambda n: n.check_elements(1 << 30), None),
    (
        lambda n: n.check_elements(0),
        "number of elements 0 is out of range [1, 1073741824] (of 'y0')",
    ),
    (
        lambda n: n.check_elements((1 << 30) + 1),
        "number of elements 1073741825 is out of range [1, 1073741824] (of 'y0')",
    ),
]


@pytest.mark.parametrize(("read", "expected"), OPERANDS, ids=range(len(OPERANDS)))
def test_operands(read: Callable[[NodeContext], object], expected: object) -> None:
    given = [constant([2, 3]), constant([1.5], "FLOAT"), constant([-1], "INT32")]
    node = node_of("K", [*given, None, constant([2, -3])])
    if isinstance(expected, str):
        assert refusal(lambda: read(node)) == f"K 'n': {expected}"
    else:
        assert read(node) == expected


def floats(*values: float) -> Constant:
    return constant(list(values), "FLOAT")


STEPS: list[tuple[Callable[[NodeContext], object], list[Constant], object]] = [
    (lambda n: n.steps(0, 1), [floats(0.5, 0.25)], ([0.5, 0.25], [0, 0])),
    (
        lambda n: n.steps(0, 1),
        [floats(0.5, 0.25), constant([7], "UINT8")],
        ([0.5, 0.25], [7, 7]),
    ),
    (
        lambda n: n.steps(0, 1),
        [floats(0.5, 0.25), constant([7, 9], "UINT8")],
        ([0.5, 0.25], [7, 9]),
    ),
    (
        lambda n: n.steps(0, 1),
        [floats(0.5, 0.25), constant([7, 9, 1], "UINT8")],
        "3 zero points and 2 scales (of 'y0')",
    ),
    (
        lambda n: n.steps(0, 1),
        [constant([1])],
        "scale 'c0' of type int64 is not supported; expected float32",
    ),
    *(
        (
            lambda n: n.steps(0, 1),
            [floats(1.0, value)],
            f"scale {value} of 'c0' is out of range: finite and above 0",
        )
        for value in (0.0, -1.0, math.inf, math.nan)
    ),
    (
        lambda n: str(n.quantization(0, 1)),
        [floats(0.5), constant(3, "UINT8")],
        "!quant.uniform<u8:f32, 5.000000e-01:3>",
    ),
    (
        lambda n: n.quantization(0, 1),
        [floats(0.5, 1.0), constant(3, "UINT8")],
        "2 scales and 1 zero points of 'c0' are not supported here; expected one",
    ),
    (
        lambda n: n.quantization(0, 1),
        [floats(0.5), constant(3, "INT32")],
        "quantized values of type INT32 are not supported; expected UINT8 or INT8"
        " (of 'y0')",
    ),
    (
        lambda n: n.axis_quantization(0, 1, 1, 2).scales,
        [floats(0.5, 1.0), constant(3, "UINT8")],
        (0.5, 1.0),
    ),
    (
        lambda n: n.axis_quantization(0, 1, 1, 2).zero_points,
        [floats(0.5), constant([3, 4], "UINT8")],
        (3, 4),
    ),
    (
        lambda n: n.axis_quantization(0, 1, 1, 2).is_per_tensor,
        [floats(0.5), constant([3], "UINT8")],
        True,
    ),
    (
        lambda n: n.axis_quantization(0, 1, 1, 3),
        [floats(0.5, 1.0), constant(3, "UINT8")],
        "2 scales of 'c0'; expected 1 or 3",
    ),
    (
        lambda n: n.axis_quantization(0, 1, 1, 3),
        [floats(0.5), constant([3, 4], "UINT8")],
        "2 zero points of 'c0'; expected 1 or 3",
    ),
]


@pytest.mark.parametrize(("read", "operands", "expected"), STEPS, ids=range(len(STEPS)))
def test_scales_and_zero_points(
    read: Callable[[NodeContext], object],
    operands: list[Constant],
    expected: object,
) -> None:
    node = node_of("K", operands)
    if isinstance(expected, str) and not expected.startswith("!"):
        assert refusal(lambda: read(node)) == f"K 'n': {expected}"
    else:
        assert read(node) == expected


def ints(*values: Any) -> list[Constant]:
    return [constant(value) for value in values]


FOLDED: list[tuple[str, Sequence[Constant | None], dict[str, Any], object]] = [
    ("Gather", ints([5, 6, 7], [2, 0]), {}, [7, 5]),
    ("Gather", ints([[1, 2], [3, 4]], 1), {"axis": 1}, [2, 4]),
    ("Gather", ints([[1, 2], [3, 4]], 1), {"axis": -2}, [3, 4]),
    ("Gather", ints([5], [1]), {}, "can't be computed: index 1 is out of bounds"),
    ("Concat", ints([1], [2, 3]), {"axis": 0}, [1, 2, 3]),
    ("Concat", ints([[1]], [[2]]), {"axis": 1}, [[1, 2]]),
    ("Concat", ints([1], [2]), {"axis": 8}, "axis 8 is out of range [-8, 7]"),
    ("Concat", ints([1], [2]), {"axis": 7}, "can't be computed: axis 7 is out of"),
    ("Slice", ints([1, 2, 3, 4], [1], [3]), {}, [2, 3]),
    ("Slice", ints([1, 2, 3, 4], [3], [-9], [0], [-2]), {}, [4, 2]),
    ("Reshape", ints([1, 2, 3, 4], [2, -1]), {}, [[1, 2], [3, 4]]),
    ("Squeeze", ints([[1]]), {}, 1),
    ("Unsqueeze", ints([1, 2], [1]), {}, [[1], [2]]),
    ("Flatten", ints([[1, 2], [3, 4]]), {"axis": 0}, [[1, 2, 3, 4]]),
    ("Cast", ints([1, 0]), {"to": 1}, [1.0, 0.0]),
    ("Cast", ints([1, 0]), {"to": 9}, [True, False]),
    ("Cast", ints([1, 300]), {"to": 2}, None),
    ("Cast", ints([1]), {"to": 99}, None),
    ("ConstantOfShape", ints([2, 3]), {"value": constant([7])}, [[7] * 3] * 2),
    ("ConstantOfShape", ints([2]), {}, [0.0, 0.0]),
    ("ConstantOfShape", ints([-1]), {}, None),
    ("Add", ints([1, 2], [3]), {}, [4, 5]),
    ("Sub", ints([1, 2], [3]), {}, [-2, -1]),
    ("Mul", ints([1, 2], [3]), {}, [3, 6]),
    ("Div", ints([7, -7, 7, -7, 0], [2, 2, -2, -2, 5]), {}, [3, -3, -3, 3, 0]),
    ("Div", ints([7, 1], [2, 0]), {}, None),
    ("Mod", ints([7, -7, 7, -7], [3, 3, -3, -3]), {}, [1, 2, -2, -1]),
    ("Mod", ints([7, -7, 7, -7], [3, 3, -3, -3]), {"fmod": 1}, [1, -1, 1, -1]),
    ("Mod", ints([7], [0]), {}, None),
    ("Mod", ints([7], [2]), {"fmod": 2}, "fmod 2 is out of range [0, 1]"),
    ("Equal", ints([1, 2], [1, 3]), {}, [True, False]),
    ("Where", [constant([1, 0], "BOOL"), *ints([5, 6], [7, 8])], {}, [5, 8]),
    ("ReduceProd", ints([[2, 3], [4, 5]]), {}, [[120]]),
    ("Add", [constant([1.5], "FLOAT"), *ints([1])], {}, None),
    ("Add", [constant([0] * (MOST_FOLDED + 1)), *ints([1])], {}, None),
    ("Add", [constant([0] * MOST_FOLDED), *ints([1])], {}, [1] * MOST_FOLDED),
    ("Relu", ints([1]), {}, None),
    ("Concat", [], {"axis": 0}, None),
    ("Add", [None, *ints([1])], {}, None),
    ("Shape", [None], {}, [2, 3, 4]),
    ("Shape", [None], {"start": 1}, [3, 4]),
    ("Shape", [None], {"start": -2, "end": -1}, [3]),
    ("Size", [None], {}, 24),
]


@pytest.mark.parametrize(
    ("kind", "operands", "attributes", "expected"), FOLDED, ids=range(len(FOLDED))
)
def test_arithmetic_on_shapes(
    kind: str,
    operands: Sequence[Constant | None],
    attributes: dict[str, Any],
    expected: object,
) -> None:
    node = node_of(kind, operands, **attributes)
    if isinstance(expected, str):
        assert expected in refusal(lambda: fold(node))
        return
    assert fold(node) == (expected is not None)
    if expected is not None:
        found = node.graph.constants["y0"]
        assert found.array is not None
        assert found.array.tolist() == expected
        assert found.shape == found.array.shape
        names = {"int64": "INT64", "float32": "FLOAT", "bool": "BOOL"}
        assert found.type == names[found.array.dtype.name]


def test_nodes_that_are_not_folded() -> None:
    """Those of two results, and of another domain."""
    assert not fold(node_of("Add", ints([1], [2]), results=2))
    other = node_of("Add", ints([1], [2]))
    other.node.domain = "com.microsoft"
    assert not fold(other)


def test_constants_of_other_types() -> None:
    node = Node(0, "", "Cast", "", [], ["y"], {"to": 1})
    for source, expected in (
        ([1.0, 2.0], True),
        ([1 << 24], True),
        ([(1 << 24) + 1], 0),
    ):
        assert (cast(node, np.array(source)) is not None) == bool(expected)
    assert cast(node, np.array(["w"])) is None
    shaped = Node(0, "", "ConstantOfShape", "", [], ["y"], {"value": constant([1, 2])})
    assert filled(shaped, np.array([2])) is None
    plain = Node(0, "", "ConstantOfShape", "", [], ["y"])
    assert filled(plain, np.array([1.0])) is None
    empty = filled(plain, np.array([], np.int64))
    assert empty is not None
    assert (empty.shape, empty.type) == ((), "FLOAT")
    assert filled(plain, np.array([0, 5])) is not None


SHAPES: list[tuple[str, list[Any], dict[str, Any], object]] = [
    ("Reshape", [[0, -1]], {}, [2, 12]),
    ("Reshape", [[1, 0, 0, 0]], {}, "place of a 0 in shape 3 is out of range [0, 2]"),
    ("Reshape", [[24]], {}, [24]),
    ("Reshape", [[-1]], {}, [24]),
    (
        "Reshape",
        [[-1, -1]],
        {},
        "shape [-1, -1] does not hold the elements of [2, 3, 4]",
    ),
    ("Reshape", [[5, -1]], {}, "shape [5, -1] does not hold the elements of [2, 3, 4]"),
    ("Reshape", [[-2, 12]], {}, "shape [-2, 12] does not hold the elements"),
    (
        "Reshape",
        [[0, -1]],
        {"allowzero": 1},
        "shape [0, -1] does not hold the elements",
    ),
    ("Flatten", [], {}, [2, 12]),
    ("Flatten", [], {"axis": 3}, [24, 1]),
    ("Flatten", [], {"axis": -1}, [6, 4]),
    ("Flatten", [], {"axis": -3}, [1, 24]),
    ("Flatten", [], {"axis": 4}, "axis 4 is out of range [-3, 3]"),
    ("Squeeze", [[1]], {}, "size of dimension 1 3 is out of range [1, 1]"),
    ("Unsqueeze", [[0, -1]], {}, [1, 2, 3, 4, 1]),
    ("Unsqueeze", [[1, -4]], {}, "axes [1, -4] repeat a dimension"),
    ("Unsqueeze", [[4]], {}, "axes 4 is out of range [-4, 3]"),
    ("Unsqueeze", [], {"axes": (2,)}, [2, 3, 1, 4]),
]


@pytest.mark.parametrize(
    ("kind", "operands", "attributes", "expected"), SHAPES, ids=range(len(SHAPES))
)
def test_shapes(
    kind: str, operands: list[Any], attributes: dict[str, Any], expected: object
) -> None:
    node = node_of(kind, [None, *ints(*operands)], **attributes)
    _, read = RESHAPES[kind]
    if isinstance(expected, str):
        assert expected in refusal(lambda: read(node, (2, 3, 4)))
    else:
        assert list(read(node, (2, 3, 4))) == expected


SLICES: list[tuple[list[Any], dict[str, Any], object]] = [
    ([[1], [9]], {}, [range(1, 2), range(3), range(4)]),
    ([[0, 1], [2, 3]], {}, [range(2), range(1, 3), range(4)]),
    ([[1], [-1], [2]], {}, [range(2), range(3), range(1, 3)]),
    ([[-1], [-9], [1], [-1]], {}, [range(2), range(2, -1, -1), range(4)]),
    ([[0], [4], [-1], [3]], {}, [range(2), range(3), range(0, 4, 3)]),
    ([], {"starts": (1,), "ends": (1 << 62,), "axes": (2,)}, [2, 3, range(1, 4)]),
    ([[0], [1], [0], [0]], {}, "a step of 0; expected any other number"),
    ([[0, 1], [1]], {}, "2 starts, 1 ends, 2 steps, 2 axes of 3 dimensions"),
    ([[0], [1, 2]], {}, "1 starts, 2 ends, 1 steps, 1 axes of 3 dimensions"),
    ([[0], [1], [0, 1]], {}, "1 starts, 1 ends, 1 steps, 2 axes of 3 dimensions"),
    ([[0], [1], [0], [1, 1]], {}, "1 starts, 1 ends, 2 steps, 1 axes of 3 dim"),
    ([[0] * 4, [1] * 4], {}, "4 starts, 4 ends, 4 steps, 4 axes of 3 dimensions"),
]


@pytest.mark.parametrize(
    ("operands", "attributes", "expected"), SLICES, ids=range(len(SLICES))
)
def test_parts_of_a_tensor(
    operands: list[Any], attributes: dict[str, Any], expected: Any
) -> None:
    node = node_of("Slice", [None, *ints(*operands)], **attributes)
    if isinstance(expected, str):
        assert expected in refusal(lambda: read_slice(node, (2, 3, 4)))
    else:
        wanted = [range(one) if isinstance(one, int) else one for one in expected]
        assert read_slice(node, (2, 3, 4)) == wanted


SIDES: list[tuple[int, list[Constant | None], object]] = [
    (10, [None, floats(1, 2, 0.5)], [(2, 2, 1.0), (3, 6, 2.0), (4, 2, 0.5)]),
    (
        11,
        [None, floats(), floats(1, 1.5, 0.3)],
        [(2, 2, 1), (3, 4, 1.5), (4, 1, float(np.float32(0.3)))],
    ),
    (
        18,
        [None, floats(), floats(), constant([2, 6, 3])],
        [(2, 2, 1.0), (3, 6, 2.0), (4, 3, 0.75)],
    ),
    (11, [None, floats(), floats(1, 1)], "2 scales of float32; expected 3"),
    (11, [None, floats(), constant([1, 1, 1])], "3 scales of int64; expected 3"),
    (10, [None, floats(1, 1, 0)], "scale 0.0 is out of range (0, 1048576]"),
    (10, [None, floats(1, 1, 2**20 + 1)], "scale 1048577.0 is out of range (0, 10"),
    (10, [None, floats(1, 1, 0.1)], "size 0 is out of range [1, 1048576]"),
    (10, [None, floats(1, 1, 2**19)], "size 2097152 is out of range [1, 1048576]"),
    (10, [None, floats(1, 1, 2**18)], [(2, 2, 1.0), (3, 3, 1.0), (4, 2**20, 2.0**18)]),
    (
        18,
        [None, floats(), floats(), constant([2, 6])],
        "'c3': 2 elements of sizes, expected 3",
    ),
]


@pytest.mark.parametrize(
    ("opset", "operands", "expected"), SIDES, ids=range(len(SIDES))
)
def test_sizes_of_a_resize(
    opset: int, operands: list[Constant | None], expected: Any
) -> None:
    node = node_of("Resize", operands, opset=opset)
    value = SimpleNamespace(shape=(2, 3, 4))
    if isinstance(expected, str):
        assert expected in refusal(lambda: own_resizing["_sides"](node, value))
    else:
        found = own_resizing["_sides"](node, value)
        assert [(s.size, s.wanted, s.factor) for s in found] == expected


@pytest.mark.parametrize(
    ("opset", "attributes", "side", "expected"),
    [
        (10, {}, Side(3, 5, 5 / 3), [0, 0, 1, 1, 2]),
        (11, {}, Side(3, 5, 5 / 3), [0, 0, 1, 2, 2]),
        (
            11,
            {"coordinate_transformation_mode": "asymmetric"},
            Side(3, 5, 5 / 3),
            [0, 1, 1, 2, 2],
        ),
        (18, {}, Side(4, 2, 0.5), [0, 2]),
        (18, {"nearest_mode": "round_prefer_ceil"}, Side(4, 2, 0.5), [1, 3]),
        (18, {"nearest_mode": "ceil"}, Side(4, 6, 1.5), [0, 1, 2, 2, 3, 3]),
        (
            18,
            {"nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"},
            Side(4, 6, 1.5),
            [0, 0, 1, 2, 2, 3],
        ),
        (
            18,
            {"coordinate_transformation_mode": "align_corners"},
            Side(4, 2, 0.5),
            [0, 3],
        ),
        (18, {"nearest_mode": "ceil"}, Side(3, 3, 1.0), [0, 1, 2]),
        (
            18,
            {"nearest_mode": "up"},
            Side(4, 6, 1.5),
            "nearest_mode 'up' is not supported; expected 'round_prefer_floor',"
            " 'round_prefer_ceil', 'floor' or 'ceil'",
        ),
        (
            18,
            {"coordinate_transformation_mode": "tf_crop_and_resize"},
            Side(4, 6, 1.5),
            "coordinate_transformation_mode 'tf_crop_and_resize' is not supported;",
        ),
    ],
)
def test_where_a_resize_takes_its_elements(
    opset: int, attributes: dict[str, Any], side: Side, expected: Any
) -> None:
    """Operators before opset 11 round down and have no half pixels."""
    node = node_of("Resize", [None], opset=opset, **attributes)
    if isinstance(expected, str):
        assert expected in refusal(lambda: own_resizing["_sources"](node, side))
    else:
        assert own_resizing["_sources"](node, side) == expected


def test_places_of_an_axis_that_keeps_its_size() -> None:
    node = node_of("Resize", [None], coordinate_transformation_mode="none")
    assert own_resizing["_places"](node, Side(3, 3, 1)).tolist() == [0, 1, 2]


def test_shares_of_neighbours() -> None:
    """Halves where both are one; integers are cut at 1/1024."""
    side = Side(3, 4, 4 / 3)
    places = np.array([-0.25, 0.3, 1.75, 2.5], np.float32)
    shares = own_resizing["_shares"]
    low, high = shares(side, places, is_fixed=False)
    assert low.tolist() == pytest.approx([1, 0.7, 0.25, 0.5])
    assert high.tolist() == pytest.approx([0, 0.3, 0.75, 0.5])
    low, high = shares(side, places, is_fixed=True)
    assert (low.tolist(), high.tolist()) == ([1024, 717, 256, 512], [0, 307, 768, 512])


EQUATIONS: list[tuple[str, object]] = [
    ("ab,bc->ac", (["ab", "bc"], "ac")),
    (" a b , b c -> c a ", (["ab", "bc"], "ca")),
    ("ba,bc", (["ba", "bc"], "ac")),
    ("a,->a", (["a", ""], "a")),
    ("ab->a", "equation 'ab->a' has 1 operands, the node 2"),
    (
        "a...,b->ab",
        "'a...' in equation 'a...,b->ab' is not supported; expected letters",
    ),
    (
        "\u00e9,b->b",
        "'\u00e9' in equation '\u00e9,b->b' is not supported; expected letters",
    ),
    ("aa,b->b", "'aa' in equation 'aa,b->b' repeats a letter, which is not supported"),
    ("a,b->ac", "'c' of equation 'a,b->ac' has no operand"),
]


@pytest.mark.parametrize(("equation", "expected"), EQUATIONS)
def test_equations(equation: str, expected: object) -> None:
    node = node_of("Einsum", [None, None], equation=equation)
    if isinstance(expected, str):
        assert expected in refusal(lambda: own_einsum["_read"](node))
    else:
        assert own_einsum["_read"](node) == expected


def test_equations_of_other_numbers() -> None:
    node = node_of("Einsum", [None] * 3, equation="a,b,c->abc")
    assert "of 3 operands is not supported; expected 2" in refusal(
        lambda: own_einsum["_read"](node)
    )


@pytest.mark.parametrize(
    ("words", "shapes", "expected"),
    [
        (["ab", "bc"], [(2, 3), (3, 4)], {"a": 2, "b": 3, "c": 4}),
        (["ab", "bc"], [(2, 3), (5, 4)], "'b' is 3 of one operand, 5 of the other"),
        (["ab", "b"], [(2, 3), (3, 4)], "'b' names 1 dimensions of [3, 4]"),
    ],
)
def test_sizes_of_letters(words: list[str], shapes: Any, expected: Any) -> None:
    node = node_of("Einsum", [None, None])
    values = [SimpleNamespace(shape=shape) for shape in shapes]
    if isinstance(expected, str):
        assert expected in refusal(lambda: own_einsum["_sizes"](node, words, values))
    else:
        assert own_einsum["_sizes"](node, words, values) == expected


def test_dequantized_constants() -> None:
    codes = constant([[1, 2], [3, 4]], "UINT8")
    one = dequantized(node_of("K", [codes, floats(0.5), constant(2, "UINT8")]))
    assert one.tolist() == [[-0.5, 0], [0.5, 1]]
    reals = constant([[1.0, 2.0]], "FLOAT")
    assert refusal(lambda: dequantized(node_of("K", [reals, floats(0.5)]))) == (
        "K 'n': 'c0' is of float32, expected integers"
    )


@pytest.mark.parametrize(
    ("scales", "attributes", "expected"),
    [
        ([0.5, 1, 2], {}, [[0.5, 2, 6], [2, 5, 12]]),
        ([0.5, 2], {"axis": 0}, [[0.5, 1, 1.5], [8, 10, 12]]),
        ([0.5, 2], {"axis": -2}, [[0.5, 1, 1.5], [8, 10, 12]]),
        ([[0.5, 2], [1, 4]], {"block_size": 2}, [[0.5, 1, 6], [4, 5, 24]]),
        ([[0.5, 2, 1]], {"axis": 0, "block_size": 2}, [[0.5, 4, 3], [2, 10, 6]]),
        ([1, 2], {}, "scales of shape [2] for [2, 3]; expected [3]"),
        (
            [[1, 2, 3], [1, 2, 3]],
            {"block_size": 2},
            "scales of shape [2, 3] for [2, 3]; expected [2, 2]",
        ),
        ([1, 2], {"axis": 2}, "axis 2 is out of range [-2, 1]"),
    ],
)
def test_scales_of_channels_and_of_blocks(
    scales: Any, attributes: dict[str, Any], expected: Any
) -> None:
    codes = constant([[1, 2, 3], [4, 5, 6]], "UINT8")
    node = node_of("K", [codes, constant(scales, "FLOAT")], **attributes)
    if isinstance(expected, str):
        assert expected in refusal(lambda: dequantized(node))
    else:
        assert dequantized(node).tolist() == expected


def stored(array: np.ndarray[Any, Any], order: tuple[int, ...]) -> list[int]:
    return array.transpose(order).reshape(-1).tolist()


RESHAPED = [
    ((2, 3, 4), (6, 4)),
    ((2, 3, 4), (2, 12)),
    ((2, 3, 4), (2, 1, 3, 4)),
    ((2, 3, 4), (3, 2, 4)),
    ((6, 4), (2, 3, 2, 2)),
    ((1, 6, 4), (6, 1, 4)),
    ((2, 6), (4, 3)),
    ((1, 1), (1,)),
]


@pytest.mark.parametrize(("shape", "reshaped"), RESHAPED)
def test_orders_that_a_reshape_keeps(
    shape: tuple[int, ...], reshaped: tuple[int, ...]
) -> None:
    """An order is found where some order of the other shape stores alike: tried one by
    one."""
    array = np.arange(math.prod(shape)).reshape(shape)
    other = array.reshape(reshaped)
    for order in permutations(range(len(shape))):
        found = reshaped_order(shape, order, reshaped)
        alike = [
            one
            for one in permutations(range(len(reshaped)))
            if stored(other, one) == stored(array, order)
        ]
        assert (found is None) == (not alike)
        assert found is None or found in alike


def test_orders_of_dimensions() -> None:
    shape = (2, 3, 4)
    array = np.arange(24).reshape(shape)
    assert (identity(3), channels_last(4), channels_last(2)) == (
        (0, 1, 2),
        (0, 2, 3, 1),
        (0, 1),
    )
    for order, perm in product(permutations(range(3)), repeat=2):
        assert stored_shape(shape, order) == array.transpose(order).shape
        turned = transposed_order(order, perm)
        assert stored(array.transpose(perm), turned) == stored(array, order)
        assert [place(order, one) for one in order] == [0, 1, 2]
        assert is_alike(shape, order, perm) == (order == perm)
        assert is_alike((2, 1, 4), order, perm) == (
            [one for one in order if one != 1] == [one for one in perm if one != 1]
        )


def activation(kind: str, *given: Constant | str, **attributes: Any) -> Graph:
    """An activation of `x`, whose result a quantization of scale 0.5 takes."""
    names = [one if isinstance(one, str) else f"c{at}" for at, one in enumerate(given)]
    constants = {
        name: one
        for name, one in zip(names, given, strict=True)
        if isinstance(one, Constant)
    }
    constants |= {"s": constant(0.5, "FLOAT"), "z": constant(3, "UINT8")}
    first = Node(0, "", kind, "", ["x", *names], ["a"], attributes)
    last = Node(1, "", "QuantizeLinear", "", ["a", "s", "z"], ["y"])
    return Graph(Model("f", 1, 18, (first, last), constants, (), ()), ["y"])


LARGEST = float(np.finfo(np.float32).max)

BOUNDS: list[tuple[Graph, object, bool]] = [
    (activation("Relu"), (0, math.inf), False),
    (activation("Clip"), (-LARGEST, LARGEST), True),
    (activation("Clip", floats(-1.5)), (-1.5, LARGEST), True),
    (activation("Clip", floats(-1.25)), (-1.25, LARGEST), False),
    (activation("Clip", "", constant(126.0, "FLOAT")), (-LARGEST, 126), True),
    (activation("Clip", "", constant(125.5, "FLOAT")), (-LARGEST, 125.5), False),
    (activation("Clip", "computed"), None, False),
    (activation("Clip", min=-2.0, max=3), (-2, 3), False),
    (activation("Clip", min=-2.0, max=127.0), (-2, 127), True),
    (activation("Clip", floats(1.0, 2.0)), None, False),
]


@pytest.mark.parametrize(
    ("graph", "expected", "is_removed"), BOUNDS, ids=range(len(BOUNDS))
)
def test_bounds_of_activations(
    graph: Graph, expected: object, is_removed: bool
) -> None:
    """Codes of scale 0.5 and zero point 3 reach from -1.5 to 126."""
    node = next(iter(graph.nodes))
    assert bounds(graph, node) == expected
    remove_activations(graph)
    assert (node not in graph.nodes) == is_removed
    (quantize,) = graph.of_kind("QuantizeLinear")
    assert quantize.inputs[0] == ("x" if is_removed else "a")


@pytest.mark.parametrize(
    ("low", "high", "step", "expected"),
    [
        (0, math.inf, (0.5, 0, "UINT8"), True),
        (0, math.inf, (0.5, 1, "UINT8"), False),
        (0, math.inf, (0.5, -128, "INT8"), True),
        (0, 127.5, (0.5, 0, "UINT8"), True),
        (0, 127.0, (0.5, 0, "UINT8"), False),
        (-64.0, 63.5, (0.5, 0, "INT8"), True),
        (-63.5, 63.5, (0.5, 0, "INT8"), False),
        (0, 6, (6 / 65535, 0, "UINT16"), True),
        (0, 5.9, (6 / 65535, 0, "UINT16"), False),
        (-32768, 32767, (1.0, 0, "INT16"), True),
    ],
)
def test_bounds_that_a_quantization_has(
    low: float, high: float, step: tuple[float, int, str], expected: bool
) -> None:
    assert is_redundant((low, high), QuantStep(*step)) == expected


tensors: Any = import_module("qlower.frontends.onnx.tensors")


def tensor(type: str, shape: Sequence[int], **fields: Any) -> Any:
    onnx: Any = pytest.importorskip("onnx")
    made = onnx.TensorProto(dims=shape)
    for name, values in fields.items():
        if isinstance(values, bytes):
            setattr(made, name, values)
        else:
            getattr(made, name).extend(values)
    return made


TENSORS: list[tuple[str, list[int], dict[str, Any], object]] = [
    ("FLOAT", [2], {"float_data": [1.5, -2]}, [1.5, -2]),
    ("DOUBLE", [1, 1], {"double_data": [1e300]}, [[1e300]]),
    ("INT64", [], {"int64_data": [-(1 << 40)]}, -(1 << 40)),
    ("UINT64", [1], {"uint64_data": [1 << 63]}, [1 << 63]),
    ("UINT32", [1], {"uint64_data": [(1 << 32) - 1]}, [(1 << 32) - 1]),
    ("INT8", [3], {"int32_data": [-1, 127, -128]}, [-1, 127, -128]),
    ("UINT8", [1], {"int32_data": [255]}, [255]),
    ("INT16", [1], {"raw_data": b"\xfe\xff"}, [-2]),
    ("BOOL", [2], {"int32_data": [1, 0]}, [True, False]),
    ("FLOAT16", [2], {"int32_data": [0x3C00, 0xC100]}, [1.0, -2.5]),
    ("INT4", [3], {"raw_data": b"\x8f\x07"}, [-1, -8, 7]),
    ("UINT4", [3], {"raw_data": b"\x8f\x07"}, [15, 8, 7]),
    ("INT2", [5], {"raw_data": b"\xe4\x02"}, [0, 1, -2, -1, -2]),
    ("UINT2", [5], {"int32_data": [0xE4, 2]}, [0, 1, 2, 3, 2]),
    ("UINT4", [2], {"int32_data": [0x21]}, [1, 2]),
    ("FLOAT8E5M2", [1], {"int32_data": [0x3C]}, [1.0]),
    ("FLOAT", [3], {"float_data": [1.5]}, "1 elements of data, expected 3"),
    (
        "FLOAT",
        [2],
        {"raw_data": bytes(7)},
        "7 bytes of data, expected 8 for shape [2] of FLOAT",
    ),
    ("INT4", [3], {"raw_data": b"1"}, "1 bytes of data, expected 2"),
    ("INT4", [2], {"raw_data": b"12"}, "2 bytes of data, expected 1"),
    ("FLOAT", [1] * 9, {}, "rank 9 is out of range [0, 8]"),
    ("FLOAT", [1] * 8, {"float_data": [1]}, [[[[[[[[1]]]]]]]]),
    ("FLOAT", [-1], {}, "dimension -1 is out of range [0, 1073741824]"),
    ("FLOAT", [(1 << 30) + 1], {}, "dimension 1073741825 is out of range"),
    (
        "FLOAT",
        [1 << 15, (1 << 15) + 1],
        {},
        "1073774592 elements are out of range [0, ",
    ),
]


@pytest.mark.parametrize(
    ("type", "shape", "fields", "expected"), TENSORS, ids=range(len(TENSORS))
)
def test_tensors_of_onnx(
    type: str, shape: list[int], fields: dict[str, Any], expected: Any
) -> None:
    given = tensor(type, shape, **fields)
    if isinstance(expected, str):
        with pytest.raises(tensors.BadTensor) as caught:
            tensors.read_constant(given, type, None)
        assert str(caught.value).startswith(expected)
    else:
        found = tensors.read_constant(given, type, None)
        assert found.array.tolist() == expected
        assert (found.type, found.shape) == (type, tuple(shape))


def test_tensors_of_no_numbers() -> None:
    found = tensors.read_constant(tensor("STRING", [2]), "STRING", None)
    assert (found.array, found.problem) == (None, "elements of type STRING")


EXTERNAL: list[tuple[dict[str, str], object]] = [
    ({"location": "w"}, [0x03020100, 0x07060504]),
    ({"location": "w", "offset": "0", "length": "8"}, [0x03020100, 0x07060504]),
    ({"location": "more", "offset": "4", "length": "8"}, [0x07060504, 0x0B0A0908]),
    (
        {"location": "more", "offset": "4", "length": "9"},
        "external data 'more': bytes 4 to 13 are out of range [0, 12]",
    ),
    (
        {"location": "w", "offset": "9"},
        "external data 'w': bytes 9 to 9 are out of range [0, 8]",
    ),
    ({"location": "w", "offset": "4"}, "4 bytes of data, expected 8 for shape [2]"),
    ({"location": "w", "offset": "-1"}, "external data: offset '-1' is no number of"),
    (
        {"location": "w", "offset": "1" * 20},
        f"external data: offset '{'1' * 20}' is no",
    ),
    ({"location": "../w"}, "external data '../w' lies outside of the model's folder"),
    (
        {"location": "/etc/w"},
        "external data '/etc/w' lies outside of the model's folder",
    ),
    ({"location": "folder"}, "external data 'folder' is no regular file"),
    ({"location": "w\0"}, r"external data has no file name: 'w\x00'"),
    ({}, "external data has no file name: ''"),
]


@pytest.mark.parametrize(("entries", "expected"), EXTERNAL, ids=range(len(EXTERNAL)))
def test_tensors_in_files_of_their_own(
    entries: dict[str, str], expected: object, tmp_path: Path
) -> None:
    (tmp_path / "w").write_bytes(bytes(range(8)))
    (tmp_path / "more").write_bytes(bytes(range(12)))
    (tmp_path / "folder").mkdir()
    given = tensor("INT32", [2])
    given.data_location = 1
    for key, value in entries.items():
        given.external_data.add(key=key, value=value)
    if isinstance(expected, str):
        with pytest.raises(tensors.BadTensor) as caught:
            tensors.read_constant(given, "INT32", tmp_path)
        assert str(caught.value).startswith(expected)
    else:
        found = tensors.read_constant(given, "INT32", tmp_path)
        assert found.array.tolist() == expected


def test_files_of_tensors_that_are_not_there(tmp_path: Path) -> None:
    given = tensor("INT32", [2])
    given.data_location = 1
    given.external_data.add(key="location", value="w")
    found = tensors.read_constant(given, "INT32", tmp_path)
    assert found.array is None
    assert found.problem == "external data (No such file or directory)"
    with pytest.raises(tensors.BadTensor, match="'w' of a model that is no file"):
        tensors.read_constant(given, "INT32", None)
