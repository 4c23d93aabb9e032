"""The kernel level computes, bit for bit, what the arith level computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.layers.programs import read_program
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import CollapseShapeOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import (
    ARENA_ALIGNMENT,
    ARENA_BYTES,
    ArenaAttr,
    BoxAttr,
    CopyOp,
    NestOp,
    OutputAttr,
    byte_size,
    root,
)
from qlower.dialects.types import tensor_type
from qlower.interp import run_function
from qlower.interp.values import PartialTensor, dtype_of
from qlower.model.layers import layer_name, layer_names
from qlower.text.context import make_context
from qlower.text.parsing import parse_module
from qlower.transforms.arena import SMALL_ALIGNMENT
from qlower.transforms.form_kernels import FormKernelsPass
from qlower.transforms.fuse_layers import FuseLayersPass
from qlower.transforms.plan_memory import PlanMemoryPass
from qlower.transforms.ranges import nest_ranges, type_range

pytestmark = pytest.mark.usefixtures("verify_each")

PROGRAMS = sorted((Path(__file__).parent / "arith").glob("*.mlir"))
SEEDS = (0, 1, 2)


def apply(module: ModuleOp, *passes: ModulePass) -> ModuleOp:
    for each in passes:
        each.apply(make_context(), module)
        module.verify()
    return module


def form_kernels(module: ModuleOp) -> ModuleOp:
    return apply(module, FormKernelsPass(), PlanMemoryPass())


def fuse_layers(module: ModuleOp) -> ModuleOp:
    return apply(module, FormKernelsPass(), FuseLayersPass(), PlanMemoryPass())


def main_of(module: ModuleOp) -> FuncOp:
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    return function


def nests_of(module: ModuleOp) -> list[NestOp]:
    return [op for op in module.walk() if isinstance(op, NestOp)]


def random_inputs(module: ModuleOp, seed: int) -> list[NDArray[np.generic]]:
    """Inputs over the whole range of their types, with many extremes."""
    generator = np.random.default_rng(seed)
    arrays: list[NDArray[np.generic]] = []
    for argument in main_of(module).body.block.args:
        dtype = dtype_of(argument.type)
        shape = tensor_type(argument).get_shape()
        info = np.iinfo(dtype)
        values = generator.integers(info.min, info.max, shape, dtype, endpoint=True)
        extremes = generator.choice([info.min, info.max], shape).astype(dtype)
        arrays.append(np.where(generator.random(shape) < 0.2, extremes, values))
    return arrays


@pytest.mark.parts(18)
@pytest.mark.parametrize("lower", [form_kernels, fuse_layers])
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_same_bits(path: Path, lower: Callable[[ModuleOp], ModuleOp]) -> None:
    arith, kernel = read_program(path), lower(read_program(path))
    for seed in SEEDS:
        inputs = random_inputs(arith, seed)
        expected = run_function(arith, "main", inputs)
        actual = run_function(kernel, "main", inputs)
        for before, after in zip(expected, actual, strict=True):
            assert before.dtype == after.dtype
            np.testing.assert_array_equal(before, after)


@pytest.mark.parts(2)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_printed_kernels_parse_to_the_same(path: Path) -> None:
    text = str(form_kernels(read_program(path)))
    assert str(parse_module(text)) == text


FAMILIES = {
    "avg_pool": ["window"],
    "concatenation": ["map", "contraction", "map", "contraction"],
    "conv2d": ["contraction"],
    "depthwise": ["depthwise"],
    "depthwise_multiplier": ["loop"],
    "depthwise_padded": ["map", "depthwise", "map"],
    "linear": ["contraction", "map", "loop"],
    "lookup": ["map"],
    "max_pool": ["window"],
    "mean": ["row"],
    "movement": [],
    "residual": ["contraction", "contraction", "map", "map", "map"],
    "softmax": ["row", "map", "row", "map", "row"],
}


@pytest.mark.parts(6)
@pytest.mark.parametrize(("program", "families"), FAMILIES.items())
def test_one_nest_for_each_loop_nest_that_is_needed(
    program: str, families: list[str]
) -> None:
    (path,) = (path for path in PROGRAMS if path.stem == program)
    module = form_kernels(read_program(path))
    assert [nest.family.data for nest in nests_of(module)] == families


def test_layers_keep_their_names_and_their_values() -> None:
    (path,) = (path for path in PROGRAMS if path.stem == "linear")
    names = [layer_name(nest) for nest in nests_of(form_kernels(read_program(path)))]
    assert names == ["first", "second", "third"]


def test_fused_layers_keep_their_names() -> None:
    """Those that read what is returned, or in another order, stay."""
    (path,) = (path for path in PROGRAMS if path.stem == "residual")
    nests = nests_of(fuse_layers(read_program(path)))
    assert [layer_names(nest) for nest in nests] == [
        ("first",),
        ("second", "add", "lookup"),
        ("transpose",),
    ]
    assert [nest.family.data for nest in nests] == ["contraction", "contraction", "map"]


def box_of(copy: CopyOp) -> tuple[slice, ...]:
    """Where in its result a copy writes."""
    return tuple(
        slice(offset, offset + (size - 1) * stride + 1, stride)
        for offset, size, stride in zip(
            copy.offsets.get_values(),
            copy.sizes.get_values(),
            copy.strides.get_values(),
            strict=True,
        )
    )


def test_results_that_lie_in_parts_of_others() -> None:
    """Where a nest's result is copied once; one that is needed again has its own."""
    (path,) = (path for path in PROGRAMS if path.stem == "concatenation")
    module = form_kernels(read_program(path))
    boxed = [
        layer_name(nest)
        for nest in nests_of(module)
        if nest.buffers is not None and BoxAttr() in nest.buffers
    ]
    assert boxed == ["product", "double"]
    copies = [op for op in module.walk() if isinstance(op, CopyOp)]
    assert [copy.has_code for copy in copies] == [True, True, True, False, True]


class Memory(Interpreter.Listener):
    """Executes the memory plan beside the interpreter.

    Results are written where the plan puts them. Each operand must still be found
    intact in its place when an op reads it: a buffer that was reused too early shows.
    """

    def __init__(self, function: FuncOp) -> None:
        arena_bytes = function.attributes[ARENA_BYTES]
        assert isinstance(arena_bytes, IntegerAttr)
        self.arena = np.zeros(arena_bytes.value.data, np.uint8)
        self.outputs = [
            np.zeros(byte_size(output), np.uint8)
            for output in function.function_type.outputs
            if isinstance(output, TensorType)
        ]
        self.function = function
        self.values: dict[SSAValue, object] = {}
        self.reads = 0

    def place(self, value: SSAValue) -> NDArray[np.uint8] | None:
        """The bytes where a value lives, None for arguments and constants."""
        value = root(value)
        op = value.owner
        if not isinstance(op, NestOp | CopyOp):
            return None
        assert op.buffers is not None
        position = next(i for i, r in enumerate(op.results) if r is value)
        buffer = op.buffers.data[position]
        if isinstance(buffer, BoxAttr):
            (use,) = value.uses
            copy = use.operation
            assert isinstance(copy, CopyOp)
            return self.elements(copy.result)[box_of(copy)]
        size = byte_size(tensor_type(value))
        match buffer:
            case ArenaAttr():
                offset = buffer.offset.data
                small = size < ARENA_ALIGNMENT
                assert offset % (SMALL_ALIGNMENT if small else ARENA_ALIGNMENT) == 0
                assert offset + size <= len(self.arena)
                return self.arena[offset : offset + size]
            case OutputAttr():
                assert size == len(self.outputs[buffer.index.data])
                return self.outputs[buffer.index.data]
            case _:
                raise AssertionError(f"unknown buffer {buffer}")

    def elements(self, value: SSAValue) -> NDArray[np.uint8]:
        """The bytes of each element of a value."""
        place = self.place(value)
        assert place is not None
        return place.reshape(*tensor_type(value).get_shape(), -1)

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        if op.parent_op() is not self.function:
            return
        for operand, value in zip(op.operands, args, strict=True):
            if isinstance(operand.owner, CopyOp) and not operand.owner.is_stored:
                value = self.values[root(operand)]
            place = self.place(operand)
            if place is not None and not isinstance(value, PartialTensor):
                self.reads += 1
                assert place.tobytes() == np.ascontiguousarray(value).tobytes()

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        if op.parent_op() is not self.function or not isinstance(op, NestOp | CopyOp):
            return
        self.values |= zip(op.results, results, strict=True)
        if isinstance(op, CopyOp) and not op.is_stored:
            return
        for result, value in zip(op.results, results, strict=True):
            data = value.data if isinstance(value, PartialTensor) else value
            place = self.elements(result) if isinstance(op, CopyOp) else None
            if place is None:
                place = self.place(result)
            assert place is not None
            stored = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            written = np.ones(place.shape, np.bool_)
            if isinstance(op, CopyOp):
                written[...] = op.fill is not None or self.is_moved(op)
                written[box_of(op)] = not op.box_is_written
            place[written] = stored.reshape(place.shape)[written]

    def is_moved(self, copy: CopyOp) -> bool:
        """Whether the destination of a copy lies elsewhere."""
        if copy.destination is None:
            return False
        before, after = self.place(copy.destination), self.place(copy.result)
        return before is None or after is None or not np.shares_memory(before, after)


def chain(length: int) -> ModuleOp:
    """Additions of the input, one after another, each a layer."""
    layer = """
      %y{0} = linalg.generic {{indexing_maps = [#id, #id, #id],
        iterator_types = ["parallel"]}} ins(%{1}, %x : tensor<4xi8>, tensor<4xi8>)
        outs(%e : tensor<4xi8>) {{
      ^bb0(%a: i8, %b: i8, %_: i8):
        %c = arith.addi %a, %b : i8
        linalg.yield %c : i8
      }} -> tensor<4xi8> loc("layer{0}")"""
    lines = (layer.format(n, f"y{n - 1}" if n else "x") for n in range(length))
    module = f"""
    #id = affine_map<(d0) -> (d0)>
    func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {{
      %e = tensor.empty() : tensor<4xi8>{"".join(lines)}
      return %y{length - 1} : tensor<4xi8>
    }}"""
    return parse_module(module)


def test_a_chain_of_layers_is_several_nests(monkeypatch: pytest.MonkeyPatch) -> None:
    """None has more operations than are merged, however long the chain is."""
    module = chain(40)
    inputs = random_inputs(module, 0)
    expected = run_function(module, "main", inputs)
    monkeypatch.setattr("qlower.transforms.fuse_layers.MOST_OPERATIONS", 12)
    nests = nests_of(fuse_layers(module))
    sizes = [len(nest.epilogue.block.ops) for nest in nests]
    assert len(nests) == 4
    assert max(sizes) <= 12
    assert sum(len(layer_names(nest)) for nest in nests) == 40
    (found,), (wanted,) = run_function(module, "main", inputs), expected
    assert np.array_equal(found, wanted)


@pytest.mark.parts(6)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_memory_is_not_reused_while_it_is_live(path: Path) -> None:
    module = fuse_layers(read_program(path))
    memory = Memory(main_of(module))
    run_function(module, "main", random_inputs(module, 0), listeners=[memory])
    assert memory.reads > 0


def live_ranges(function: FuncOp) -> list[tuple[SSAValue, set[int]]]:
    """Every planned value with the positions of the ops between which it is live.

    Without what further copies write into, whose other parts may be written before.
    """
    ops = list(function.body.block.ops)
    ranges: list[tuple[SSAValue, set[int]]] = []
    for position, op in enumerate(ops):
        if isinstance(op, NestOp) or (isinstance(op, CopyOp) and op.is_stored):
            for result in op.results:
                (user, *others) = (use.operation for use in result.uses)
                copy = user if isinstance(user, CopyOp) and not others else None
                if copy is not None and copy.destination is result:
                    continue
                reads = [
                    later
                    for later, reader in enumerate(ops)
                    if any(root(operand) is result for operand in reader.operands)
                ]
                ranges.append((result, set(range(position, max(reads)))))
    return ranges


@pytest.mark.parts(6)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_live_values_do_not_overlap(path: Path) -> None:
    function = main_of(fuse_layers(read_program(path)))
    memory = Memory(function)
    ranges = live_ranges(function)
    for number, (value, live) in enumerate(ranges):
        for other, other_live in ranges[:number]:
            place, other_place = memory.place(value), memory.place(other)
            assert place is not None
            assert other_place is not None
            if live & other_live:
                assert not np.shares_memory(place, other_place)


def refused(body: str, signature: str = "(%x: tensor<4xi8>) -> tensor<4xi8>") -> str:
    """The message for a program that form-kernels doesn't take."""
    module = parse_module(f"func.func @main{signature} {{ {body} }}")
    with pytest.raises(QlowerError) as caught:
        FormKernelsPass().apply(make_context(), module)
    return caught.value.message


REDUCED = """%none = arith.constant dense<> : tensor<{shape}xi32>
  %start = arith.constant dense<3> : tensor<2xi32>
  %y = linalg.generic {{
    indexing_maps = [affine_map<(d0, d1) -> ({dims})>, affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]
  }} ins(%none : tensor<{shape}xi32>) outs(%start : tensor<2xi32>) {{
  ^bb0(%v: i32, %sum: i32):
    %r = arith.addi %sum, %v : i32
    linalg.yield %r : i32
  }} -> tensor<2xi32>
  return %y : tensor<2xi32>"""
PADDED = """%none = arith.constant dense<> : tensor<0x2xi32>
  %zero = arith.constant 0 : i32
  %y = tensor.pad %none low[1, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : i32
  } : tensor<0x2xi32> to tensor<1x2xi32>
  return %y : tensor<1x2xi32>"""


@pytest.mark.parametrize(
    ("body", "result", "what"),
    [
        (REDUCED.format(shape="2x0", dims="d0, d1"), "2", "linalg.generic of {}2x0"),
        (REDUCED.format(shape="0x2", dims="d1, d0"), "2", "linalg.generic of {}0x2"),
        (PADDED, "1x2", "tensor.pad of {}0x2"),
    ],
)
def test_tensors_without_elements(body: str, result: str, what: str) -> None:
    """The interpreter has the start of such a sum; there are no loops for it."""
    told = refused(body, f"() -> tensor<{result}xi32>")
    tensor = what.format("tensor<")
    assert told == f"{tensor}xi32>, which has no elements, can't be compiled"


def test_unwritten_tensor_is_refused() -> None:
    message = refused("%e = tensor.empty() : tensor<4xi8> return %e : tensor<4xi8>")
    assert message == "a tensor is read before it is written"


def test_foreign_op_is_refused() -> None:
    message = refused("%y = arith.addi %x, %x : tensor<4xi8> return %y : tensor<4xi8>")
    assert message == "'arith.addi' has no form at the kernel level"


def test_a_schedule_goes_with_its_family() -> None:
    """A sum of products that are multiplied isn't cut as a contraction is."""
    module = parse_module(
        """func.func @main(%x: tensor<2x8xi8>, %w: tensor<4x8xi8>) -> tensor<2x4xi32> {
        %y = kernel.nest contraction parallel [2, 4] reduction [8] maps [
          affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>,
          affine_map<(d0, d1, d2) -> (d0, d1)>
        ] ins(%x, %w : tensor<2x8xi8>, tensor<4x8xi8>) init {
        ^bb0(%a: i8, %b: i8):
          %zero = arith.constant 0 : i32
          kernel.yield %zero : i32
        } body {
        ^bb0(%a: i8, %b: i8, %sum: i32):
          %wide_a = arith.extsi %a : i8 to i32
          %wide_b = arith.extsi %b : i8 to i32
          %product = arith.muli %wide_a, %wide_b : i32
          %next = arith.muli %sum, %product : i32
          kernel.yield %next : i32
        } epilogue {
        ^bb0(%a: i8, %b: i8, %sum: i32):
          kernel.yield %sum : i32
        } schedule #kernel.tile<2, 1> -> tensor<2x4xi32>
        return %y : tensor<2x4xi32>
        }"""
    )
    FormKernelsPass().apply(make_context(), module)
    (nest,) = (op for op in module.walk() if isinstance(op, NestOp))
    assert nest.family.data == "loop"
    assert nest.schedule is None
    module.verify()


def test_negative_padding_is_refused() -> None:
    message = refused(
        """%y = tensor.pad %x low[-1] high[1] {
        ^bb0(%i: index):
          %v = arith.constant 0 : i8
          tensor.yield %v : i8
        } : tensor<4xi8> to tensor<4xi8>
        return %y : tensor<4xi8>"""
    )
    assert message == "tensor.pad low [-1] high [1] must be static and >= 0"


def unit_axes(expanded: Sequence[int], collapsed: Sequence[int]) -> list[list[int]]:
    """The groups that an extraction of `expanded` as `collapsed` gives."""
    zeros, ones = [0] * len(expanded), [1] * len(expanded)
    source = "x".join(map(str, expanded)) + "xi8"
    result = "x".join([*map(str, collapsed), "i8"])
    module = parse_module(f"""
    func.func @main(%x: tensor<{source}>) -> tensor<{result}> {{
      %y = tensor.extract_slice %x{zeros} {list(expanded)} {ones}
        : tensor<{source}> to tensor<{result}>
      return %y : tensor<{result}>
    }}""")
    FormKernelsPass().apply(make_context(), module)
    module.verify()
    (collapse,) = (op for op in module.walk() if op.name == "tensor.collapse_shape")
    assert isinstance(collapse, CollapseShapeOp)
    groups = collapse.reassociation
    return [[axis.value.data for axis in group] for group in groups]


@pytest.mark.parametrize(
    ("expanded", "collapsed", "groups"),
    [
        ([1, 4, 8], [4, 8], [[0, 1], [2]]),
        ([4, 1, 8], [4, 8], [[0, 1], [2]]),
        ([4, 8, 1], [4, 8], [[0], [1, 2]]),
        ([1, 1, 4], [1, 4], [[0, 1], [2]]),
        ([1, 1], [], []),
    ],
)
def test_dropped_unit_axes(
    expanded: list[int], collapsed: list[int], groups: list[list[int]]
) -> None:
    assert unit_axes(expanded, collapsed) == groups


@pytest.mark.parametrize("amount", [(-1, 3), (0, 65), (-2, -1)])
@pytest.mark.parametrize("op", ["arith.shli", "arith.shrsi", "arith.shrui"])
def test_shifts_by_what_may_be_no_amount_have_any_range(
    op: str, amount: tuple[int, int]
):
    """A number of bits that may be negative, or more than there are."""
    module = parse_module(f"""
      func.func @main(%x: tensor<4xi64>, %n: tensor<4xi64>) -> tensor<4xi64> {{
        %y = kernel.nest map parallel [4]
          maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>,
                affine_map<(d0) -> (d0)>]
          ins(%x, %n : tensor<4xi64>, tensor<4xi64>)
          epilogue {{ ^bb0(%a: i64, %b: i64):
            %r = {op} %a, %b : i64
            kernel.yield %r : i64 }} -> tensor<4xi64>
        return %y : tensor<4xi64>
      }}""")
    (nest,) = (op for op in module.walk() if isinstance(op, NestOp))
    x, n = nest.inputs
    found = nest_ranges(nest, {x: (1, 1), n: amount})
    assert found[nest.res[0]] == type_range(i64)
