"""The entry function of native code: buffers, and a call of one function a kernel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.codegen.llvm.text import (
    I32,
    I64,
    POINTER,
    Function,
    Module,
    Value,
    argument,
    constant,
)
from qlower.codegen.nests.blocks import (
    block_of,
    plan_blocks,
    plan_channel_blocks,
    plan_copy_blocks,
)
from qlower.codegen.nests.nest import Nest, analyse, constant_bytes
from qlower.codegen.nests.recognise import Contraction, DepthwiseProducts, recognise
from qlower.codegen.program.clock import Clock
from qlower.codegen.program.flavour import Flavour
from qlower.codegen.program.team import ARENA, INPUTS, OUTPUTS, Place, Team
from qlower.codegen.program.work import (
    Kernel,
    copy_kernel,
    estimated_copy_nanoseconds,
    estimated_nanoseconds,
    nest_kernel,
)
from qlower.codegen.skeletons.contraction.emit import channels_of_tile, emit_contraction
from qlower.codegen.skeletons.copy import cut_axis, emit_copy
from qlower.codegen.skeletons.depthwise.emit import emit_depthwise, plan_window
from qlower.codegen.skeletons.loops import emit_loops
from qlower.codegen.targets.resolve import Target
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import (
    ArenaAttr,
    BoxAttr,
    CopyOp,
    NestOp,
    OutputAttr,
    byte_size,
    tensor_type,
)
from qlower.model.layers import layer_name


@dataclass(frozen=True)
class _Buffer:
    """Where a value lives, and its bytes."""

    place: Place
    size: int

    def overlaps(self, other: _Buffer) -> bool:
        a, b = self.place, other.place
        if a.argument != ARENA or b.argument != ARENA:
            return a == b
        return a.offset < b.offset + other.size and b.offset < a.offset + self.size


@dataclass
class _Call:
    """A kernel's function and its call: `passed` are the caller's pointers to `places`.

    `pointers` are, inside of the function, those of inputs and results in order.
    Constants are no arguments: their address is the same everywhere. Their entry is
    None.
    """

    module: Module
    name: str
    passed: list[Value]
    places: list[Place]
    attributes: list[str]
    pointers: list[Value | None]

    def function(self, name: str | None = None, takes_start: bool = False) -> Function:
        """The function, to be filled; with `takes_start` for a block of iterations."""
        return Function(
            self.module,
            name or self.name,
            [*(POINTER for _ in self.passed), *([I64] if takes_start else [])],
            [*self.attributes, *([""] if takes_start else [])],
        )


class Program:
    """The function `entry` of a module, and a function for each nest.

    `kernels` tells what each of them does.
    """

    def __init__(
        self,
        module: Module,
        target: Target,
        function: FuncOp,
        entry: str,
        flavour: Flavour,
        *,
        is_exported: bool,
    ):
        self.module = module
        self.target = target
        self.flavour = flavour
        self.team = None
        if flavour.threads > 1:
            self.team = Team(entry, f"{entry}_serial", flavour.threads)
        self.main = Function(
            module,
            self.team.serial if self.team else entry,
            [POINTER] * (4 if self.team else 3),
            [*["noalias nonnull"] * 3, *(["nonnull"] if self.team else [])],
            result=I32,
            internal=self.team is not None or not is_exported,
        )
        self.buffers: dict[SSAValue, _Buffer] = {}
        self.pointers: dict[SSAValue, Value] = {}
        self.kernels: list[Kernel] = []
        for index, value in enumerate(function.body.block.args):
            self.buffers[value] = _Buffer(
                Place(INPUTS, 8 * index), byte_size(tensor_type(value))
            )
            self.pointers[value] = self.slot(INPUTS, index)
        self.clock: Clock | None = None
        if flavour.is_profiled:
            outputs = len(function.function_type.outputs)
            self.clock = Clock(self.main, self.slot(OUTPUTS, outputs))
        for op in function.body.block.ops:
            self.emit(op)

    def slot(self, argument: int, index: int) -> Value:
        """The index-th pointer of the entry's array argument."""
        array = self.main.arguments[argument]
        size = self.target.pointer_bytes
        address = self.main.at(array, constant(I64, size * index))
        return self.main.load(POINTER, address, size)

    def emit(self, op: Operation) -> None:
        match op:
            case ConstantOp():
                pass
            case (
                ExpandShapeOp(src=source, result=result)
                | CollapseShapeOp(src=source, result=result)
                | CopyOp(source=source, result=result, is_stored=False)
            ):
                self.pointers[result] = self.pointer(source)
                if source in self.buffers:
                    self.buffers[result] = self.buffers[source]
            case NestOp():
                self.nest(op)
            case CopyOp():
                self.copy(op)
            case ReturnOp():
                self.finish(op)
            case _:
                raise QlowerError(
                    f"no native code for operation {op.name}", op.location
                )

    def pointer(self, value: SSAValue) -> Value:
        """The address of a value; a constant becomes data when it is first needed."""
        if value not in self.pointers:
            data = constant_bytes(value)
            assert data is not None, f"{value} has no buffer"
            self.pointers[value] = self.module.add_constant(data)
        return self.pointers[value]

    def place(self, value: SSAValue, buffer: Attribute) -> None:
        """Give a result its buffer."""
        size = byte_size(tensor_type(value))
        if isinstance(buffer, BoxAttr):
            (use,) = value.uses
            copy = use.operation
            assert isinstance(copy, CopyOp)
            assert copy.buffers is not None
            self.place(copy.result, copy.buffers.data[0])
            self.buffers[value] = self.buffers[copy.result]
            self.pointers[value] = self.pointers[copy.result]
            return
        if isinstance(buffer, OutputAttr):
            index = buffer.index.data
            self.buffers[value] = _Buffer(Place(OUTPUTS, 8 * index), size)
            self.pointers[value] = self.slot(OUTPUTS, index)
        else:
            assert isinstance(buffer, ArenaAttr)
            offset = buffer.offset.data
            self.buffers[value] = _Buffer(Place(ARENA, offset), size)
            arena = self.main.arguments[ARENA]
            self.pointers[value] = self.main.at(arena, constant(I64, offset))

    def nest(self, op: NestOp) -> None:
        assert op.buffers is not None, "plan-memory has not run"
        for value, buffer in zip(op.res, op.buffers, strict=True):
            self.place(value, buffer)
        call = self.call_of(op, (*op.inputs, *op.tables), op.res)
        pointers = call.pointers
        for position, table in enumerate(op.tables, len(op.inputs)):
            pointers[position] = pointers[position] or self.pointer(table)
        nest = analyse(op, pointers)
        kernel = nest_kernel(op, nest)
        nanoseconds = estimated_nanoseconds(nest, kernel.bytes, self.target)
        threads = self.flavour.threads
        blocks = plan_blocks(nest, nanoseconds, kernel.bytes, threads)
        products = recognise(nest)
        if threads > 1 and blocks is None and isinstance(products, Contraction):
            step = channels_of_tile(self.target, products)
            blocks = plan_channel_blocks(
                products, step, nanoseconds, kernel.bytes, threads
            )
        if self.team is None or blocks is None:
            function = call.function()
            emit_nest(function, self.target, nest)
            function.finish()
            self.main.call_function(call.name, call.passed)
        else:
            sizes = {blocks.size: call.name, blocks.last: f"{call.name}_last"}
            if blocks.last == blocks.size:
                sizes = {blocks.size: call.name}
            for bound, name in sizes.items():
                function = call.function(name, takes_start=True)
                start = function.arguments[-1]
                block = block_of(function, nest, blocks.loop, start, bound)
                emit_nest(function, self.target, block)
                function.finish()
            functions = [sizes[bound] for bound in blocks.bounds()]
            self.team.share(
                self.main, call.name, blocks, functions, call.places, nanoseconds
            )
        self.done(kernel)

    def copy(self, op: CopyOp) -> None:
        assert op.buffers is not None, "plan-memory has not run"
        self.place(op.result, op.buffers.data[0])
        target = self.buffers[op.result]
        if op.destination is not None and self.buffers.get(op.destination) != target:
            self.main.copy_bytes(
                self.pointer(op.result), self.pointer(op.destination), target.size
            )
        if not op.has_code:
            return
        call = self.call_of(op, (op.source,), (op.result,))
        source, result = call.pointers
        assert result is not None
        source = source or self.pointer(op.source)
        kernel = copy_kernel(op)
        nanoseconds = estimated_copy_nanoseconds(kernel)
        blocks = plan_copy_blocks(
            cut_axis(op), nanoseconds, kernel.bytes, self.flavour.threads
        )
        if self.team is None or blocks is None:
            function = call.function()
            emit_copy(function, op, source, result)
            function.finish()
            self.main.call_function(call.name, call.passed)
        else:
            functions: list[str] = []
            start = 0
            for bound in blocks.bounds():
                functions.append(f"{call.name}_at_{start}")
                function = call.function(functions[-1], takes_start=True)
                emit_copy(function, op, source, result, range(start, start + bound))
                function.finish()
                start += bound
            self.team.share(
                self.main, call.name, blocks, functions, call.places, nanoseconds
            )
        self.done(kernel)

    def done(self, kernel: Kernel) -> None:
        """All code of the kernel has been written."""
        self.kernels.append(kernel)
        if self.clock is not None:
            self.clock.mark()

    def call_of(
        self, op: Operation, inputs: Sequence[SSAValue], results: Sequence[SSAValue]
    ) -> _Call:
        """How main calls the function of `op`."""
        read = [self.buffers[value] for value in inputs if value in self.buffers]
        written = [self.buffers[value] for value in results]
        values = list(dict.fromkeys((*inputs, *results)))
        passed = [value for value in values if value in self.buffers]
        attributes = [
            "nonnull"
            if any(
                self.buffers[value].overlaps(other)
                for other in (read if value in results else written)
            )
            else "noalias nonnull"
            for value in passed
        ]
        positions = {value: index for index, value in enumerate(passed)}
        return _Call(
            self.module,
            self.module.prefix + function_name(len(self.kernels), op),
            [self.pointer(value) for value in passed],
            [self.buffers[value].place for value in passed],
            attributes,
            [
                argument(POINTER, positions[value]) if value in positions else None
                for value in (*inputs, *results)
            ],
        )

    def finish(self, op: ReturnOp) -> None:
        for index, value in enumerate(op.operands):
            if self.buffers.get(value) != _Buffer(
                Place(OUTPUTS, 8 * index), byte_size(tensor_type(value))
            ):
                self.main.copy_bytes(
                    self.slot(OUTPUTS, index),
                    self.pointer(value),
                    byte_size(tensor_type(value)),
                )
        self.main.finish(constant(I32, 0))
        if self.team is not None:
            self.team.finish(self.module)


def emit_nest(f: Function, target: Target, nest: Nest) -> None:
    """The nest by the skeleton that suits it."""
    products = recognise(nest)
    match products:
        case Contraction():
            return emit_contraction(f, target, products)
        case DepthwiseProducts():
            plan = plan_window(products, target)
            if plan is not None:
                return emit_depthwise(f, target, products, plan)
        case None:
            pass
    return emit_loops(f, target, nest)


def function_name(number: int, op: Operation) -> str:
    """`nest_<n>_<layer>`, the layer in characters that a symbol can have."""
    layer = re.sub(r"\W+", "_", layer_name(op) or "", flags=re.ASCII).strip("_")
    return f"nest_{number}_{layer[:80]}".rstrip("_")
