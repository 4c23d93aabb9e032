"""Checks that xDSL lacks: what is taken, and the next that is refused, in words."""

from __future__ import annotations

from itertools import product

import pytest
from xdsl.dialects import arith, tensor, test
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from qlower.diagnostics import QlowerError
from qlower.model.entry import main_function
from qlower.text import upstream_checks
from qlower.text.parsing import parse_module
from qlower.text.upstream_checks import verify_as_upstream
from qlower.text.verification import verify_module

DYNAMIC = -1
LOW = -(1 << 63)
"""DYNAMIC_INDEX, of offsets, sizes and strides."""


def value(type: Attribute) -> SSAValue:
    return test.TestOp.create(result_types=[type]).results[0]


def ranked(*shape: int, element: Attribute = i8) -> TensorType[Attribute]:
    return TensorType(element, [LOW if one == DYNAMIC else one for one in shape])


def numbers(values: tuple[int, ...]) -> DenseArrayBase:
    return DenseArrayBase.from_list(
        i64, [LOW if one == DYNAMIC else one for one in values]
    )


Box = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def box(kind: str, whole: Attribute, part: Attribute, given: Box) -> None:
    properties = dict(
        zip(
            ("static_offsets", "static_sizes", "static_strides"),
            map(numbers, given),
            strict=True,
        )
    )
    counts = [1, 0, 0, 0] if kind == "extract" else [1, 1, 0, 0, 0]
    sizes = DenseArrayBase.from_list(i32, counts)
    every = {**properties, "operandSegmentSizes": sizes}
    if kind == "extract":
        op = tensor.ExtractSliceOp.create(
            operands=[value(whole)], result_types=[part], properties=every
        )
    else:
        op = tensor.InsertSliceOp.create(
            operands=[value(part), value(whole)], result_types=[whole], properties=every
        )
    verify_as_upstream(op)


BOXES: list[tuple[tuple[int, ...], tuple[int, ...], Box, str]] = [
    ((4, 5), (4, 5), ((0, 0), (4, 5), (1, 1)), ""),
    ((4, 5), (2, 5), ((2, 0), (2, 5), (1, 1)), ""),
    ((4, 5), (2, 5), ((3, 0), (2, 5), (1, 1)),
     "offset 3, size 2, stride 1 leave axis 0 of 4 elements"),
    ((4, 5), (4, 3), ((0, 0), (4, 3), (1, 2)), ""),
    ((4, 5), (4, 3), ((0, 1), (4, 3), (1, 2)),
     "offset 1, size 3, stride 2 leave axis 1 of 5 elements"),
    ((4, 5), (4, 0), ((0, 5), (4, 0), (1, 1)), ""),
    ((4, 5), (4, 0), ((0, 9), (4, 0), (1, 1)), ""),
    ((4, 5), (1, 5), ((-2, 0), (1, 5), (1, 1)),
     "offset -2, size 1, stride 1 leave axis 0 of 4 elements"),
    ((4, 5), (4, 1), ((0, 0), (4, 1), (1, 0)),
     "offset 0, size 1, stride 0 leave axis 1 of 5 elements"),
    ((4, 5), (4, 1), ((0, 4), (4, 1), (1, 9)), ""),
    ((4, 5), (4, 1), ((0, 0), (4, -3), (1, 1)),
     "offset 0, size -3, stride 1 leave axis 1 of 5 elements"),
    ((DYNAMIC, 5), (9, 5), ((0, 0), (9, 5), (1, 1)), ""),
    ((4, 5), (9, 5), ((DYNAMIC, 0), (9, 5), (1, 1)), ""),
    ((4, 5), (4, 9), ((0, 0), (4, 9), (1, DYNAMIC)), ""),
    ((4, 5), (5,), ((0, 0), (1, 5), (1, 1)), ""),
    ((4, 5), (1, 5), ((0, 0), (1, 5), (1, 1)), ""),
    ((4, 5), (4, 5), ((0,), (4, 5), (1, 1)),
     "offsets [0], sizes [4, 5] and strides [1, 1] do not fit the rank of "
     "tensor<4x5xi8>"),
    ((4, 5), (4, 5), ((0, 0), (4,), (1, 1)),
     "offsets [0, 0], sizes [4] and strides [1, 1] do not fit the rank of "
     "tensor<4x5xi8>"),
    ((4, 5), (4, 5), ((0, 0), (4, 5), (1,)),
     "offsets [0, 0], sizes [4, 5] and strides [1] do not fit the rank of "
     "tensor<4x5xi8>"),
    ((4, 5), (4,), ((0, 0), (1, 4), (1, 1)), ""),
    ((4, 5), (4,), ((0, 0), (2, 4), (1, 1)),
     "a box of [2, 4] elements is not tensor<4xi8>, unit axes aside"),
    ((4, 5), (2, 4, 1), ((0, 0), (2, 4), (1, 1)),
     "a box of [2, 4] elements is not tensor<2x4x1xi8>, unit axes aside"),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["extract", "insert"])
@pytest.mark.parametrize(("whole", "part", "given", "message"), BOXES)
def test_boxes(
    kind: str, whole: tuple[int, ...], part: tuple[int, ...], given: Box, message: str
) -> None:
    if not message:
        box(kind, ranked(*whole), ranked(*part), given)
        return
    with pytest.raises(VerifyException) as caught:
        box(kind, ranked(*whole), ranked(*part), given)
    assert str(caught.value) == message


@pytest.mark.parametrize("kind", ["extract", "insert"])
def test_boxes_have_the_elements_of_their_tensors(kind: str) -> None:
    given = (0,), (4,), (1,)
    with pytest.raises(VerifyException, match=r"^element types i8 and i16 differ$"):
        box(kind, ranked(4), ranked(4, element=i16), given)
    for types in ((i8, ranked(4)), (ranked(4), i8)):
        with pytest.raises(VerifyException, match=r"^i8 is no ranked tensor$"):
            box(kind, *types, given)


def test_unit_axes_are_dropped_and_no_others() -> None:
    """Against all ways to leave out axes of one element."""

    def ways(sizes: tuple[int, ...]) -> set[tuple[int, ...]]:
        if not sizes:
            return {()}
        rest = ways(sizes[1:])
        kept = {(sizes[0], *one) for one in rest}
        return kept | rest if sizes[0] == 1 else kept

    drops = vars(upstream_checks)["_drops_unit_axes"]
    shapes = [one for rank in range(4) for one in product((1, 2, 3), repeat=rank)]
    for sizes in shapes:
        known = ways(sizes)
        for shape in shapes:
            assert drops(sizes, shape) == (shape in known), (sizes, shape)


def test_a_result_of_an_insertion_is_its_destination() -> None:
    every = {
        "static_offsets": numbers((0,)),
        "static_sizes": numbers((2,)),
        "static_strides": numbers((1,)),
        "operandSegmentSizes": DenseArrayBase.from_list(i32, [1, 1, 0, 0, 0]),
    }
    op = tensor.InsertSliceOp.create(
        operands=[value(ranked(2)), value(ranked(4))],
        result_types=[ranked(5)],
        properties=every,
    )
    with pytest.raises(VerifyException) as caught:
        verify_as_upstream(op)
    assert str(caught.value) == (
        "result type tensor<5xi8> differs from the destination's tensor<4xi8>"
    )


FLOATS = {"f16": f16, "bf16": bf16, "f32": f32, "f64": f64}


@pytest.mark.parametrize("narrow", FLOATS)
@pytest.mark.parametrize("wide", FLOATS)
def test_floats_become_wider_or_narrower(narrow: str, wide: str) -> None:
    one, other = FLOATS[narrow], FLOATS[wide]
    ops = (
        arith.ExtFOp.create(operands=[value(one)], result_types=[other]),
        arith.TruncFOp.create(operands=[value(other)], result_types=[one]),
    )
    for op in ops:
        if one.bitwidth < other.bitwidth:
            verify_as_upstream(op)
        else:
            with pytest.raises(VerifyException) as caught:
                verify_as_upstream(op)
            assert str(caught.value) == f"{narrow} is not narrower than {wide}"


@pytest.mark.parametrize(
    ("indices", "result", "message"),
    [
        (2, i8, ""),
        (1, i8, "1 indices into tensor<4x5xi8>"),
        (3, i8, "3 indices into tensor<4x5xi8>"),
        (2, i16, "element types i8 and i16 differ"),
    ],
)
def test_extracted_elements(indices: int, result: Attribute, message: str) -> None:
    op = tensor.ExtractOp.create(
        operands=[value(ranked(4, 5)), *(value(IndexType()) for _ in range(indices))],
        result_types=[result],
    )
    if not message:
        verify_as_upstream(op)
        return
    with pytest.raises(VerifyException) as caught:
        verify_as_upstream(op)
    assert str(caught.value) == message


@pytest.mark.parametrize("given", [0, 1, 2, 3])
def test_sizes_of_an_empty_tensor(given: int) -> None:
    sizes = [value(IndexType()) for _ in range(given)]
    op = tensor.EmptyOp.create(operands=sizes, result_types=[ranked(-1, 4, -1)])
    if given == 2:
        verify_as_upstream(op)
        return
    with pytest.raises(VerifyException) as caught:
        verify_as_upstream(op)
    assert str(caught.value) == f"{given} sizes for 2 dynamic axes"


Pads = tuple[int, ...]


def padded(
    source: Attribute,
    result: Attribute,
    low: Pads,
    high: Pads,
    *,
    arguments: int = 2,
    yielded: tuple[Attribute, ...] = (i8,),
    ends: bool = True,
) -> None:
    block = Block(arg_types=[IndexType()] * arguments)
    if ends:
        block.add_op(tensor.YieldOp.create(operands=[value(one) for one in yielded]))
    op = tensor.PadOp.create(
        operands=[value(source)],
        result_types=[result],
        regions=[Region(block)],
        properties={
            "static_low": numbers(low),
            "static_high": numbers(high),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [1, 0, 0]),
        },
    )
    verify_as_upstream(op)


def test_padding() -> None:
    source = ranked(4, 5)
    padded(source, ranked(7, 5), (1, 0), (2, 0))
    padded(source, ranked(7, -1), (1, 3), (2, 3))
    padded(ranked(-1, 5), ranked(9, 6), (1, 0), (2, 1))
    padded(source, ranked(9, 6), (-1, 1), (2, 0))
    faults: list[tuple[str, dict[str, object]]] = [
        (
            "axis 0 of 7 elements is not 1 + 4 + 1",
            {"result": ranked(7, 5), "low": (1, 0), "high": (1, 0)},
        ),
        (
            "axis 1 of 5 elements is not 0 + 5 + 1",
            {"result": ranked(7, 5), "low": (1, 0), "high": (2, 1)},
        ),
        (
            "low [1] and high [2, 0] do not fit tensor<4x5xi8> and tensor<7x5xi8>",
            {"result": ranked(7, 5), "low": (1,), "high": (2, 0)},
        ),
        (
            "low [1, 0] and high [2] do not fit tensor<4x5xi8> and tensor<7x5xi8>",
            {"result": ranked(7, 5), "low": (1, 0), "high": (2,)},
        ),
        (
            "low [1, 0] and high [2, 0] do not fit tensor<4x5xi8> and tensor<7xi8>",
            {"result": ranked(7), "low": (1, 0), "high": (2, 0)},
        ),
        ("element types i8 and i16 differ", {"result": ranked(7, 5, element=i16)}),
        ("the region takes one index for each of 2 axes", {"arguments": 1}),
        ("the region takes one index for each of 2 axes", {"arguments": 3}),
        ("the region must yield one value", {"yielded": ()}),
        ("the region must yield one value", {"yielded": (i8, i8)}),
        ("the region must yield one value", {"ends": False}),
        ("element types i8 and i16 differ", {"yielded": (i16,)}),
    ]
    usual = {"result": ranked(7, 5), "low": (1, 0), "high": (2, 0)}
    for message, given in faults:
        with pytest.raises(VerifyException) as caught:
            padded(source, **{**usual, **given})  # pyright: ignore
        assert str(caught.value) == message


INDEX = """func.func @main(%x: tensor<4x5xindex>) -> tensor<4x5xindex> {{
  %y = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  }} outs(%x : tensor<4x5xindex>) {{
  ^bb0(%a: index):
    %b = linalg.index {loop} : index
    linalg.yield %b : index
  }} -> tensor<4x5xindex>
  return %y : tensor<4x5xindex>
}}"""


@pytest.mark.parametrize("loop", [0, 1, 2, -1])
def test_the_index_of_a_loop(loop: int) -> None:
    module = parse_module(INDEX.format(loop=loop))
    if loop in (0, 1):
        verify_module(module)
        return
    with pytest.raises(QlowerError) as caught:
        verify_module(module)
    assert caught.value.message == f"linalg.index: loop {loop} of 2 loops"


def test_an_index_without_a_loop() -> None:
    text = "func.func @f() {\n  %i = linalg.index 0 : index\n  return\n}"
    with pytest.raises(QlowerError) as caught:
        verify_module(parse_module(text))
    wanted = "'linalg.index' expects parent op 'linalg.generic'"
    assert caught.value.message == wanted


BRANCHES = """func.func @f(%c: i1, %x: i32) -> i32 {
  cf.cond_br %c, ^one, ^two
^one:
  %y = arith.addi %x, %x : i32
  return %y : i32
^two:
  return %x : i32
}"""

LOOP = """func.func @f(%n: index, %x: i32) -> i32 {
  %zero = arith.constant 0 : index
  %r = scf.for %i = %zero to %n step %n iter_args(%a = %x) -> (i32) {
    %b = arith.addi %a, %x : i32
    scf.yield %b : i32
  }
  return %r : i32
}"""


def test_values_are_seen_in_their_region_and_within() -> None:
    for text in (BRANCHES, LOOP):
        verify_module(parse_module(text))
    outside = LOOP.replace("return %r", "return %b")
    with pytest.raises(QlowerError, match="used but never defined"):
        parse_module(outside)
    module = parse_module(LOOP)
    (inner,) = (op for op in module.walk() if op.name == "arith.addi")
    (last,) = (op for op in module.walk() if op.name == "func.return")
    last.operands = [inner.results[0]]
    with pytest.raises(QlowerError) as caught:
        verify_module(module)
    assert caught.value.message == (
        "func.return: operand %b is defined in a region that this is not in"
    )
    inner.results[0].name_hint = None
    with pytest.raises(QlowerError, match=r"operand %of arith\.addi is defined in"):
        verify_module(module)


def test_values_are_defined_before_they_are_used() -> None:
    module = parse_module(BRANCHES)
    (first,) = (op for op in module.walk() if op.name == "arith.addi")
    other = first.clone()
    other.results[0].name_hint = "z"
    block = first.parent
    assert block is not None
    block.insert_op_after(other, first)
    first.operands[0] = other.results[0]
    for name, shown in (("z", "%z"), (None, "%of arith.addi")):
        other.results[0].name_hint = name
        with pytest.raises(QlowerError) as caught:
            verify_module(module)
        assert caught.value.message == (
            f"arith.addi: operand {shown} is used before it is defined"
        )


def test_what_is_known_is_not_looked_at_again() -> None:
    module = parse_module("func.func @f(%x: i32) -> i32 {\n  return %x : i32\n}")
    wrong = arith.ExtFOp.create(operands=[value(f32)], result_types=[f16])
    (last,) = (op for op in module.walk() if op.name == "func.return")
    block = last.parent
    assert block is not None
    maker = wrong.operands[0].owner
    for op in (maker, wrong):
        block.insert_op_before(op, last)  # pyright: ignore
    with pytest.raises(QlowerError, match="is not narrower than"):
        verify_module(module)
    verify_module(module, [wrong])


def test_equal_operations_are_checked_by_all_of_their_parts() -> None:
    """Of scalars that look alike one is checked, of those of other types each."""
    text = "func.func @f(%x: i32, %y: i8) -> i32 {\n%s\n  return %x : i32\n}"
    right = "  %a = arith.addi %x, %x : i32"
    module = parse_module(text.replace("%s", f"{right}\n{right.replace('%a', '%b')}"))
    verify_module(module)
    second = [op for op in module.walk() if op.name == "arith.addi"][1]
    narrow = main_function(module).body.block.args[1]
    second.operands = [narrow, second.operands[1]]
    with pytest.raises(QlowerError, match=r"^.*arith\.addi"):
        verify_module(module)
