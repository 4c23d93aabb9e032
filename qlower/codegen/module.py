"""A kernel-level module as one native object.

The object has one entry,

    int32_t qlower_main(const void *const *inputs, void *const *outputs, void *arena);

with a pointer for each argument and result, and an arena of `arena_bytes`, 64-byte
aligned. It calls one function a loop nest, in order. Constants are read-only data.
An object for C programs has the entry point of `entry_point` instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.codegen.contraction import emit_contraction
from qlower.codegen.depthwise import emit_depthwise, plan_window
from qlower.codegen.elements import scalar_type, storage_bytes, tensor_type
from qlower.codegen.entry_point import entry_point
from qlower.codegen.llvm import I32, I64, POINTER, Function, Module, Value, constant
from qlower.codegen.llvmlite_binding import BINDING, ModuleRef, TargetMachine
from qlower.codegen.loop import emit_loops
from qlower.codegen.movement import emit_copy
from qlower.codegen.nest import Nest, analyse, constant_bytes
from qlower.codegen.recognise import Contraction, DepthwiseProducts, recognise
from qlower.codegen.target import Target
from qlower.diagnostics import QlowerError, layer_name
from qlower.dialects.kernel import ArenaAttr, CopyOp, NestOp, OutputAttr
from qlower.interface import Interface
from qlower.signature import Signature, main_function

ENTRY = "qlower_main"


@dataclass(frozen=True)
class CompiledObject:
    """Native code of a model, and how to call it.

    `llvm_text` is the IR before LLVM's optimizer; it is empty when the object came from
    the cache.
    """

    object_bytes: bytes
    signature: Signature
    arena_bytes: int
    target: Target
    llvm_text: str = ""

    def assembly(self) -> str:
        """The code as assembly text (compiled again)."""
        machine = _machine(self.target)
        return machine.emit_assembly(_optimised(self.llvm_text, machine))


def compile_module(
    module: ModuleOp, target: Target, interface: Interface | None = None
) -> CompiledObject:
    """Native code for the entry function of a kernel-level module with buffers.

    With an `interface` the object is one for C programs, and exports nothing else.
    Raises QlowerError for an operation without native code.
    """
    function = main_function(module)
    text = translate(function, target, interface)
    machine = _machine(target)
    return CompiledObject(
        machine.emit_object(_optimised(text, machine)),
        Signature.of_module(module),
        arena_bytes(function),
        target,
        text,
    )


def arena_bytes(function: FuncOp) -> int:
    """Bytes of scratch memory that a call needs."""
    size = function.attributes.get("kernel.arena_bytes")
    return size.value.data if isinstance(size, IntegerAttr) else 0


def translate(
    function: FuncOp, target: Target, interface: Interface | None = None
) -> str:
    """LLVM IR of a kernel-level function."""
    module = Module(target.triple, target.function_attributes)
    program = _Program(module, target, function, is_exported=interface is None)
    for op in function.body.block.ops:
        program.emit(op)
    if interface is not None:
        module.functions += entry_point(interface, ENTRY)
    return str(module)


def _machine(target: Target) -> TargetMachine:
    machine = BINDING.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=2,
        reloc="pic",
        codemodel="small",
    )
    machine.set_asm_verbosity(False)
    return machine


def _optimised(text: str, machine: TargetMachine) -> ModuleRef:
    """Parsed, verified and optimized; the loops are vectorised already."""
    module = BINDING.parse_assembly(text)
    options = BINDING.create_pipeline_tuning_options(2)
    options.loop_unrolling = False
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_interleaving = False
    builder = BINDING.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


@dataclass(frozen=True)
class _Buffer:
    """Where a value lives: a region of memory, a byte offset and its size."""

    region: str
    offset: int
    size: int

    def overlaps(self, other: _Buffer) -> bool:
        return (
            self.region == other.region
            and self.offset < other.offset + other.size
            and other.offset < self.offset + self.size
        )


class _Program:
    def __init__(
        self, module: Module, target: Target, function: FuncOp, *, is_exported: bool
    ):
        self.module = module
        self.target = target
        self.main = Function(
            module,
            ENTRY,
            [POINTER] * 3,
            ["noalias nonnull"] * 3,
            result=I32,
            internal=not is_exported,
        )
        self.buffers: dict[SSAValue, _Buffer] = {}
        self.pointers: dict[SSAValue, Value] = {}
        self.nests = 0
        for index, argument in enumerate(function.body.block.args):
            self.buffers[argument] = _Buffer(f"input {index}", 0, byte_size(argument))
            self.pointers[argument] = self.slot(0, index)

    def slot(self, argument: int, index: int) -> Value:
        """The index-th pointer of the entry's array argument."""
        array = self.main.arguments[argument]
        address = self.main.at(array, constant(I64, 8 * index))
        return self.main.load(POINTER, address, 8)

    def emit(self, op: Operation) -> None:
        match op:
            case ConstantOp():
                pass
            case ExpandShapeOp() | CollapseShapeOp():
                source, result = op.operands[0], op.results[0]
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
        size = byte_size(value)
        if isinstance(buffer, OutputAttr):
            index = buffer.index.data
            self.buffers[value] = _Buffer(f"output {index}", 0, size)
            self.pointers[value] = self.slot(1, index)
        else:
            assert isinstance(buffer, ArenaAttr)
            offset = buffer.offset.data
            self.buffers[value] = _Buffer("arena", offset, size)
            arena = self.main.arguments[2]
            self.pointers[value] = self.main.at(arena, constant(I64, offset))

    def nest(self, op: NestOp) -> None:
        assert op.buffers is not None, "plan-memory has not run"
        for value, buffer in zip(op.res, op.buffers, strict=True):
            self.place(value, buffer)
        function, pointers = self.begin(op, (*op.inputs, *op.tables), op.res)
        for position, table in enumerate(op.tables, len(op.inputs)):
            pointers[position] = pointers[position] or self.pointer(table)
        nest = analyse(op, pointers)
        emit_nest(function, self.target, nest)
        function.finish()

    def copy(self, op: CopyOp) -> None:
        assert op.buffers is not None, "plan-memory has not run"
        self.place(op.result, op.buffers.data[0])
        target = self.buffers[op.result]
        if op.destination is not None and self.buffers.get(op.destination) != target:
            self.main.copy_bytes(
                self.pointer(op.result), self.pointer(op.destination), target.size
            )
        function, (source, result) = self.begin(op, (op.source,), (op.result,))
        assert result is not None
        emit_copy(function, op, source or self.pointer(op.source), result)
        function.finish()

    def begin(
        self, op: Operation, inputs: Sequence[SSAValue], results: Sequence[SSAValue]
    ) -> tuple[Function, list[Value | None]]:
        """A function for `op`, called from main; gives its pointers to the values.

        Constants are no arguments: their address is the same everywhere. Their entry is
        None.
        """
        name = function_name(self.nests, op)
        self.nests += 1
        read = [self.buffers[value] for value in inputs if value in self.buffers]
        written = [self.buffers[value] for value in results]
        passed = [value for value in (*inputs, *results) if value in self.buffers]
        attributes = [
            "nonnull"
            if any(
                self.buffers[value].overlaps(other)
                for other in (read if value in results else written)
            )
            else "noalias nonnull"
            for value in passed
        ]
        function = Function(self.module, name, [POINTER] * len(passed), attributes)
        self.main.call_function(name, [self.pointer(value) for value in passed])
        arguments = dict(zip(passed, function.arguments, strict=False))
        return function, [arguments.get(value) for value in (*inputs, *results)]

    def finish(self, op: ReturnOp) -> None:
        for index, value in enumerate(op.operands):
            if self.buffers.get(value) != _Buffer(
                f"output {index}", 0, byte_size(value)
            ):
                self.main.copy_bytes(
                    self.slot(1, index), self.pointer(value), byte_size(value)
                )
        self.main.finish(constant(I32, 0))


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


def byte_size(value: SSAValue) -> int:
    """Bytes of a tensor in memory."""
    type = tensor_type(value)
    return prod(type.get_shape()) * storage_bytes(scalar_type(type.element_type))
