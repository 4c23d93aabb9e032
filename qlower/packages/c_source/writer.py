"""A kernel-level function as C: a function for each of its kernels, and the statements
that call them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from qlower.codegen.nests.operand import constant_bytes
from qlower.codegen.program.plan import function_name
from qlower.codegen.program.walk import Walk
from qlower.codegen.values.elements import scalar_type
from qlower.dialects.kernel import (
    ArenaAttr,
    CopyOp,
    NestOp,
    OutputAttr,
    ScanOp,
    byte_size,
)
from qlower.dialects.types import shape_of, tensor_type
from qlower.model.layers import layer_title
from qlower.packages.c_text import c_comment

from .constants import Constants, memory_type
from .helpers import Helpers
from .loops import NestWriter, copy_statements
from .products import write_nest
from .rows import SCRATCH

Address: TypeAlias = tuple[str, int]
"""A pointer in the C text, and bytes behind it."""


@dataclass(frozen=True)
class _Buffer:
    """The place of a value: bytes from `first` on, relative to `base`."""

    base: str
    first: int
    size: int

    @property
    def address(self) -> str:
        if not self.first:
            return self.base
        return f"({self.base} + {self.first})"

    def overlaps(self, other: _Buffer) -> bool:
        return (
            self.base == other.base
            and self.first < other.first + other.size
            and other.first < self.first + self.size
        )


@dataclass
class Parts:
    """The parts that the functions of a file share; `name` is the prefix of its
    symbols."""

    name: str
    constants: Constants
    copies_bytes: bool
    helpers: Helpers = field(default_factory=Helpers)
    functions: list[str] = field(default_factory=list[str])


class Writer(Walk):
    """Adds the functions of a kernel-level function's kernels, in their order, to the
    file's `parts`. `calls` are the statements of the function itself; its arena is
    `memory`."""

    language = "C"

    def __init__(
        self,
        function: FuncOp,
        parts: Parts,
        inputs: Sequence[Address],
        outputs: Sequence[Address],
    ) -> None:
        self.parts = parts
        self.outputs = outputs
        self.calls: list[str] = []
        self.buffers: dict[SSAValue, _Buffer] = {}
        for value, (base, first) in zip(function.body.block.args, inputs, strict=True):
            self.buffers[value] = self._buffer(value, base, first)
        for op in function.body.block.ops:
            self.emit(op)

    def _buffer(self, value: SSAValue, base: str, first: int) -> _Buffer:
        return _Buffer(base, first, byte_size(tensor_type(value)))

    def lie_with(self, value: SSAValue, other: SSAValue) -> None:
        if other in self.buffers:
            self.buffers[value] = self.buffers[other]

    def put(self, value: SSAValue, buffer: OutputAttr | ArenaAttr) -> None:
        if isinstance(buffer, OutputAttr):
            place = self.outputs[buffer.index.data]
        else:
            place = "memory", buffer.offset.data
        self.buffers[value] = self._buffer(value, *place)

    def nest(self, op: NestOp) -> None:
        def body(names: dict[SSAValue, str]) -> list[str]:
            writer = NestWriter(op, self.parts.helpers, self.parts.constants, names)
            return write_nest(writer)

        scratch = 0 if op.scratch is None else op.scratch.offset.data
        self._function(op, (*op.inputs, *op.tables), op.res, body, scratch)

    def copy(self, op: CopyOp) -> None:
        target = self.buffers[op.result]
        if op.destination is not None and self.buffers.get(op.destination) != target:
            self._copy_bytes(target, op.destination)
        if not op.has_code:
            return

        def body(names: dict[SSAValue, str]) -> list[str]:
            source = names.get(op.source) or self._constant(op.source)
            return copy_statements(op, source, names[op.result], self.parts.helpers)

        self._function(op, (op.source,), (op.result,), body)

    def scan(self, op: ScanOp) -> None:
        """Write a function for one step, one that calls it for all, and its call."""
        takes, gives = len(op.operands), len(op.res)
        step = Writer(
            op.function,
            self.parts,
            [(f"in[{at}]", 0) for at in range(takes)],
            [(f"out[{at}]", 0) for at in range(gives)],
        )
        name = f"{self.parts.name}_{function_name(len(self.parts.functions), op)}"
        passed: list[tuple[str, str]] = []
        for prefix, values in (("from", op.operands), ("to", op.res)):
            constant = "const " if prefix == "from" else ""
            pointer = f"{constant}unsigned char *"
            for at, value in enumerate(values):
                found = self.buffers.get(value)
                address = self._constant(value) if found is None else found.address
                passed.append(
                    (
                        f"{pointer}{prefix}{at}",
                        f"({pointer})({constant}void *){address}",
                    )
                )
        self.parts.copies_bytes |= op.is_open
        self.parts.functions += [
            "\n".join(
                [
                    f"static void {name}_step(const unsigned char *const *in,",
                    "    unsigned char *const *out, unsigned char *memory) {",
                    *(f"  {call}" for call in step.calls),
                    "  (void)memory;",
                    "}",
                    "",
                ]
            ),
            "\n".join(
                [
                    f"/* {_description(op)} */",
                    f"static void {name}(",
                    f"    {', '.join(parameter for parameter, _ in passed)},",
                    "    unsigned char *memory) {",
                    *(_open_steps(op, name) if op.is_open else _steps(op, name)),
                    "}",
                    "",
                ]
            ),
        ]
        arguments = ", ".join(argument for _, argument in passed)
        self.calls.append(f"{name}({arguments}, memory + {op.first_scratch});")

    def _constant(self, value: SSAValue) -> str:
        data = constant_bytes(value)
        assert data is not None
        return self.parts.constants.name(
            scalar_type(tensor_type(value).element_type), data
        )

    def _copy_bytes(self, target: _Buffer, source: SSAValue) -> None:
        self.parts.copies_bytes = True
        found = self.buffers.get(source)
        address = self._constant(source) if found is None else found.address
        self.calls.append(f"copy_bytes({target.address}, {address}, {target.size}u);")

    def finish(self, op: ReturnOp) -> None:
        for value, (base, first) in zip(op.operands, self.outputs, strict=True):
            target = self._buffer(value, base, first)
            if self.buffers.get(value) != target:
                self._copy_bytes(target, value)

    def _function(
        self,
        op: NestOp | CopyOp,
        read: Sequence[SSAValue],
        written: Sequence[SSAValue],
        body: Callable[[dict[SSAValue, str]], list[str]],
        scratch: int = 0,
    ) -> None:
        """Write the function of a kernel, and its call; it has memory for itself from
        `scratch` of the arena on."""
        name = f"{self.parts.name}_{function_name(len(self.parts.functions), op)}"
        names: dict[SSAValue, str] = {}
        passed: dict[str, tuple[str, str]] = {}
        for values, others, prefix in ((read, written, "in"), (written, read, "out")):
            for value in dict.fromkeys(values):
                if value not in self.buffers or value in names:
                    continue
                names[value] = f"{prefix}{len(names)}"
                buffer = self.buffers[value]
                shares = any(
                    buffer.overlaps(self.buffers[other])
                    for other in others
                    if other in self.buffers
                )
                type = memory_type(scalar_type(tensor_type(value).element_type))
                constant = "const " if prefix == "in" else ""
                pointer = f"{constant}{type} *"
                alone = "" if shares else "restrict "
                passed[names[value]] = (
                    f"{pointer}{alone}{names[value]}",
                    f"({pointer})({constant}void *){buffer.address}",
                )
        passed[SCRATCH] = f"unsigned char *{SCRATCH}", f"memory + {scratch}"
        statements = body(names)
        read_names = set(re.findall(r"\w+", "\n".join(statements)))
        used = [pair for name_, pair in passed.items() if name_ in read_names]
        self.parts.functions.append(
            "\n".join(
                [
                    f"/* {_description(op)} */",
                    f"static void {name}(",
                    f"    {', '.join(parameter for parameter, _ in used)}) {{",
                    *statements,
                    "}",
                    "",
                ]
            )
        )
        arguments = ", ".join(argument for _, argument in used)
        self.calls.append(f"{name}({arguments});")


def _steps(op: ScanOp, name: str) -> Iterator[str]:
    """The loop over the steps. The last one leaves what is carried in the results."""
    carried, count = len(op.carried), op.count
    yield f"  const unsigned char *in[{len(op.operands)}];"
    yield f"  unsigned char *out[{len(op.res)}];"
    yield "  uint32_t step;"
    for at in range(carried):
        yield f"  in[{at}] = from{at};"
    yield f"  for (step = 0u; step < {count}u; ++step) {{"
    at_step = "step" if op.is_reversed is None else f"({count - 1}u - step)"
    for at, offset in enumerate(op.memory.seconds):
        is_last = f"(step % 2u) == {(count - 1) % 2}u"
        yield f"    out[{at}] = ({is_last}) ? to{at} : (memory + {offset});"
    for array, pointer, values in (("in", "from", op.over), ("out", "to", op.parts)):
        for at, value in enumerate(values, carried):
            size = byte_size(tensor_type(value)) // count
            yield f"    {array}[{at}] = {pointer}{at} + ({at_step} * {size}u);"
    yield f"    {name}_step(in, out, memory);"
    for at in range(carried):
        yield f"    in[{at}] = out[{at}];"
    yield "  }"


def _open_steps(op: ScanOp, name: str) -> Iterator[str]:
    """The loop while a byte says so; a step's results are copied to those of all."""
    sizes = [byte_size(tensor_type(value)) for value in op.carried]
    yield f"  const unsigned char *in[{len(op.carried)}];"
    yield f"  unsigned char *out[{len(op.carried)}];"
    for at, (offset, size) in enumerate(zip(op.memory.seconds, sizes, strict=True)):
        yield f"  copy_bytes(to{at}, from{at}, {size}u);"
        yield f"  in[{at}] = to{at};"
        yield f"  out[{at}] = memory + {offset};"
    yield "  while (to0[0] != 0u) {"
    yield f"    {name}_step(in, out, memory);"
    for at, size in enumerate(sizes):
        yield f"    copy_bytes(to{at}, out[{at}], {size}u);"
    yield "  }"


def _description(op: NestOp | CopyOp | ScanOp) -> str:
    """A line on the purpose of a kernel's function."""
    layer = c_comment(layer_title(op) or op.name)
    shape = "x".join(map(str, shape_of(op.results[0]))) or "scalar"
    if isinstance(op, CopyOp):
        return f"{layer}: copies into {shape}"
    if isinstance(op, ScanOp):
        return f"{layer}: {'a loop' if op.is_open else f'{op.count} steps'}"
    over = "x".join(map(str, op.reduction_bounds))
    return f"{layer}: {shape}, {op.family.data}" + (over and f" over {over}")
