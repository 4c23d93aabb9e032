"""The entry function of native code: buffers, and a call of one function a kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Content, Module, PackedData
from qlower.codegen.llvm.values import (
    I8,
    I32,
    I64,
    POINTER,
    VOID,
    Value,
    argument,
    constant,
)
from qlower.codegen.nests.blocks import Blocks, starting_at
from qlower.codegen.nests.content import nest_content
from qlower.codegen.nests.nest import LoopNest
from qlower.codegen.nests.operand import constant_bytes, first_byte
from qlower.codegen.program.calls import Buffer, KernelCall
from qlower.codegen.program.clock import Clock
from qlower.codegen.program.compiled import Call, Kernel
from qlower.codegen.program.float_environment import enter_default
from qlower.codegen.program.plan import NestCode, NestPlan, Plan, ScanPlan
from qlower.codegen.program.team import ARENA, INPUTS, OUTPUTS, BufferPlace, Team
from qlower.codegen.program.walk import Walk
from qlower.codegen.skeletons.choose import emit_nest
from qlower.codegen.skeletons.copy import emit_copy
from qlower.dialects.kernel import (
    ARENA_INPUTS,
    ARENA_OUTPUTS,
    ArenaAttr,
    CopyOp,
    NestOp,
    OutputAttr,
    ScanOp,
    arena_offsets,
    byte_size,
)
from qlower.dialects.types import tensor_type
from qlower.kept.parts import are_kept, find_or_make


class Program(Walk):
    """Writes the function of a plan, and those of its nests and copies, to a module."""

    language = "native code"

    def __init__(self, module: Module, plan: Plan, *, is_exported: bool):
        self.module = module
        self.plan = plan
        self.target = plan.target
        function, entry = plan.function, plan.entry
        self.outputs_in_arena = _offsets(function, ARENA_OUTPUTS)
        inputs_in_arena = _offsets(function, ARENA_INPUTS)
        arena = "nonnull" if inputs_in_arena else "noalias nonnull"
        self.team = None
        if plan.threads > 1:
            self.team = Team(entry, f"{entry}_serial", plan.threads, plan.float_control)
        self.main = Function(
            module,
            self.team.serial if self.team else entry,
            [POINTER] * (4 if self.team else 3),
            [*["noalias nonnull"] * 2, arena, *(["nonnull"] if self.team else [])],
            result=I32,
            internal=self.team is not None or not is_exported,
        )
        self.leave: Callable[[], None] | None = None
        if plan.float_control is not None and self.team is None:
            self.leave = enter_default(self.main, plan.float_control)
        self.names: dict[str, str] = {}
        """The function that is called for a kernel's, by the name of that."""
        self.calls: list[Call] = []
        """The calls of functions that may be compiled by themselves, in order."""
        self.packed: dict[PackedData, Value] = {}
        """The addresses of data that is packed when it changes, in order."""
        self.buffers: dict[SSAValue, Buffer] = {}
        self.pointers: dict[SSAValue, Value] = {}
        for index, value in enumerate(function.body.block.args):
            size = byte_size(tensor_type(value))
            place, offset = BufferPlace(INPUTS, 8 * index), inputs_in_arena.get(index)
            self.buffers[value] = Buffer(place, size, offset)
            self.pointers[value] = self.slot(INPUTS, index)
        self.clock: Clock | None = None
        if plan.flavour.is_profiled:
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

    def lie_with(self, value: SSAValue, other: SSAValue) -> None:
        if other in self.buffers:
            self.pointers[value] = self.pointer(other)
            self.buffers[value] = self.buffers[other]

    def pointer(self, value: SSAValue) -> Value:
        """The address of a value; a constant becomes data when it is first needed."""
        if value not in self.pointers:
            self.pointers[value] = _constant(self.module, value)
        return self.pointers[value]

    def put(self, value: SSAValue, buffer: OutputAttr | ArenaAttr) -> None:
        size = byte_size(tensor_type(value))
        if isinstance(buffer, OutputAttr):
            index = buffer.index.data
            self.buffers[value] = self.output(index, size)
            self.pointers[value] = self.slot(OUTPUTS, index)
        else:
            offset = buffer.offset.data
            self.buffers[value] = Buffer(BufferPlace(ARENA, offset), size)
            self.pointers[value] = self._in_arena(offset)

    def output(self, index: int, size: int) -> Buffer:
        """The caller's buffer of a result."""
        place = BufferPlace(OUTPUTS, 8 * index)
        return Buffer(place, size, self.outputs_in_arena.get(index))

    def nest(self, op: NestOp) -> None:
        planned = self.plan.steps[op]
        assert isinstance(planned, NestPlan)
        call = self.call_of(
            planned.whole.name,
            (*op.inputs, *op.tables),
            op.res,
            is_whole=planned.blocks is None,
            scratch=planned.scratch,
        )
        if planned.blocks is None:
            self.whole(planned.whole, call)
            self.call(call, planned.kernel)
        else:
            for code in planned.of_blocks.values():
                function = call.function(code.name, takes_start=True)
                start, loop = function.arguments[-1], planned.blocks.loop
                placed = self.placed(code.nest, call, function)
                nest = starting_at(function, placed, loop, start)
                emit_nest(function, self.target, code.skeleton, nest)
                function.finish()
            names = [planned.of_blocks[n].name for n in planned.blocks.bounds()]
            self.share(planned.blocks, names, call)
        self.done()

    def whole(self, code: NestCode, call: KernelCall) -> None:
        """The function of a nest that one thread runs. What a unit is given is found if
        it was written before, and its code if it isn't there already."""

        def write() -> None:
            function = call.function(code.name)
            nest = self.placed(code.nest, call, function)
            emit_nest(function, self.target, code.skeleton, nest)
            function.finish()

        is_packed = any(one.packed is not None for one in code.nest.inputs)
        if not call.is_unit or not are_kept() or is_packed:
            write()
            return
        unit, identity = call.unit, self.target.identity.encode()

        def parameters() -> bytes:
            write()
            return unit.saved()

        def text() -> bytes:
            if not unit.functions:
                write()
            return unit.saved_code()

        arguments = [None if p is None else p.text for p in call.pointers]
        called = f"{call.attributes} {arguments} {unit.joined}".encode()
        content = [b"nest", identity, called, *nest_content(code.nest.op)]
        unit.restore(find_or_make(content, parameters))
        if self.module.has_equal(unit):
            return
        saved = find_or_make([b"code", identity, unit.digest.encode()], text)
        if not unit.functions:
            unit.restore_code(saved, code.name)

    def placed(self, nest: LoopNest, call: KernelCall, function: Function) -> LoopNest:
        """A nest inside of its function, where that begins."""
        inputs, tables = len(nest.op.inputs), nest.op.tables
        addresses = [
            pointer or _constant(call.unit, table)
            for pointer, table in zip(call.pointers[inputs:], tables, strict=False)
        ]
        results: list[Value] = []
        *pointers, scratch = call.pointers[inputs + len(tables) :]
        for pointer, result in zip(pointers, nest.op.res, strict=True):
            assert pointer is not None
            first = first_byte(result)
            results.append(pointer if first is None else function.skip(pointer, first))
        return nest.placed(call.pointers[:inputs], addresses, results, scratch)

    def copy(self, op: CopyOp) -> None:
        target = self.buffers[op.result]
        if op.destination is not None and self.buffers.get(op.destination) != target:
            self.main.copy_bytes(
                self.pointer(op.result), self.pointer(op.destination), target.size
            )
        planned = self.plan.steps.get(op)
        if planned is None:
            return
        name = planned.kernel.name
        is_whole = planned.blocks is None
        call = self.call_of(name, (op.source,), (op.result,), is_whole=is_whole)
        source, result, _ = call.pointers
        assert result is not None
        source = source or _constant(call.unit, op.source)
        if planned.blocks is None:
            function = call.function(name)
            emit_copy(function, op, source, result)
            function.finish()
            self.call(call, planned.kernel)
        else:
            names: list[str] = []
            for block in planned.blocks.ranges():
                names.append(f"{name}_at_{block.start}")
                function = call.function(names[-1], takes_start=True)
                emit_copy(function, op, source, result, block)
                function.finish()
            self.share(planned.blocks, names, call)
        self.done()

    def scan(self, op: ScanOp) -> None:
        """A function for one step, as that of a model, and a loop that calls it."""
        planned = self.plan.steps[op]
        assert isinstance(planned, ScanPlan)
        step = Program(self.module, planned.step, is_exported=False)
        self.names |= step.names
        self.calls += step.calls
        f, size = self.main, self.target.pointer_bytes
        layout, scratch = op.memory, op.first_scratch
        memory = self._in_arena(scratch)
        inputs = self._in_arena(scratch + layout.pointers)
        outputs = self._in_arena(scratch + layout.pointers + size * len(op.operands))
        final = [self.pointer(result) for result in op.res[: len(op.carried)]]
        second = [self._in_arena(scratch + offset) for offset in layout.seconds]
        if op.count % 2 == 0:  # the last step writes to the results
            final, second = second, final

        def run_step(taken: Sequence[Value], given: Sequence[Value]) -> None:
            for array, pointers in ((inputs, taken), (outputs, given)):
                for at, pointer in enumerate(pointers):
                    f.store(pointer, f.at(array, constant(I64, size * at)), size)
            f.call_function(planned.step.entry, [inputs, outputs, memory], I32)

        def move(sources: Sequence[Value]) -> None:
            """Copy what is carried to the results."""
            for value, target, source in zip(op.carried, final, sources, strict=True):
                f.copy_bytes(target, source, byte_size(tensor_type(value)))

        def again() -> None:
            run_step(final, second)
            move(second)

        def part(sequence: SSAValue, index: Value) -> Value:
            bytes_of_step = byte_size(tensor_type(sequence)) // op.count
            return f.at(self.pointer(sequence), f.scale(index, bytes_of_step))

        def body(index: Value, carried: list[Value]) -> Sequence[Value]:
            count = len(op.carried)
            read, written, other = (
                carried[first : first + count] for first in range(0, 3 * count, count)
            )
            if op.is_reversed is not None:
                index = f.binary("sub", constant(I64, op.count - 1), index)
            taken = [*read, *(part(sequence, index) for sequence in op.over)]
            given = [*written, *(part(sequence, index) for sequence in op.parts)]
            run_step(taken, given)
            return [*written, *other, *written]

        start = [self.pointer(value) for value in op.carried]
        if op.is_open:
            move(start)
            zero = constant(I8, 0)
            f.repeat(lambda: f.compare("ne", f.load(I8, final[0], 1), zero), again)
        else:
            f.loop(op.count, [*start, *final, *second], body)
        self.done()

    def _in_arena(self, offset: int) -> Value:
        return self.main.at(self.main.arguments[ARENA], constant(I64, offset))

    def call(self, call: KernelCall, kernel: Kernel) -> None:
        """Call a kernel's function that is written, or one that is equal."""
        name, passed = call.name, call.passed
        if call.is_unit:
            parameters = tuple(call.unit.parameters or ())
            self.calls.append(Call(kernel.layers, call.unit.digest, parameters))
            name = self.names[call.name] = self.module.shared_name(call.unit, name)
            passed = [*passed, *map(self.given, parameters)]
            self.module.declare(name, VOID, [value.type for value in passed])
        self.main.call_function(name, passed)

    def given(self, content: Content) -> Value:
        """The value that is passed as a function's parameter."""
        if isinstance(content, int):
            return constant(I32, content)
        if isinstance(content, PackedData):
            first = len(self.plan.function.body.block.args)
            self.packed[content] = self.slot(INPUTS, first + len(self.packed))
            return self.packed[content]
        return self.module.pass_constant(content)

    def share(self, blocks: Blocks, names: Sequence[str], call: KernelCall) -> None:
        """Have the team run the blocks, each by the function of that name."""
        assert self.team is not None
        self.team.share(self.main, call.name, blocks, names, call.places)

    def done(self) -> None:
        """All code of a kernel has been written."""
        if self.clock is not None:
            self.clock.mark()

    def call_of(
        self,
        name: str,
        inputs: Sequence[SSAValue],
        results: Sequence[SSAValue],
        *,
        is_whole: bool,
        scratch: int | None = None,
    ) -> KernelCall:
        """Main's call of a kernel's function, which may be shared if it `is_whole`.
        `scratch` is the offset in the arena of memory that it has for itself."""
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
        pointers = [
            argument(POINTER, positions[value]) if value in positions else None
            for value in (*inputs, *results)
        ]
        addresses = [self.pointer(value) for value in passed]
        places = [self.buffers[value].place for value in passed]
        if scratch is not None:
            addresses.append(self._in_arena(scratch))
            places.append(BufferPlace(ARENA, scratch))
            attributes.append("noalias nonnull")
        pointers.append(None if scratch is None else argument(POINTER, len(passed)))
        unit = self.module.unit(has_parameters=is_whole)
        return KernelCall(
            self.module, unit, name, addresses, places, attributes, pointers
        )

    def finish(self, op: ReturnOp) -> None:
        for index, value in enumerate(op.operands):
            size = byte_size(tensor_type(value))
            if self.buffers.get(value) != self.output(index, size):
                output = self.slot(OUTPUTS, index)
                self.main.copy_bytes(output, self.pointer(value), size)
        if self.leave is not None:
            self.leave()
        self.main.finish(constant(I32, 0))
        if self.team is not None:
            self.team.finish(self.module)


def _offsets(function: FuncOp, name: str) -> dict[int, int]:
    """The offsets in the arena at which arguments or results may be, by number."""
    return dict(enumerate(arena_offsets(function, name)))


def _constant(module: Module, value: SSAValue) -> Value:
    """The address of a value that isn't computed, in a module that has it as data."""
    data = constant_bytes(value)
    assert data is not None, f"{value} has no buffer"
    return module.add_constant(data)
