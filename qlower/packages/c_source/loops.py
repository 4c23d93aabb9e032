"""A loop nest, or a copy, as a C function.

The loops, strides and borders are those of `codegen.nests`; each region is written
where the nest runs it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf, prod

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import BlockArgument, Region, SSAValue

from qlower.codegen.nests.edges import Edge
from qlower.codegen.nests.nest import LoopNest, analyse
from qlower.codegen.nests.operand import Operand, constant_bytes, first_byte
from qlower.codegen.nests.point import Segment
from qlower.codegen.values.bounds import accumulator_magnitudes
from qlower.codegen.values.elements import scalar_type
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import CopyOp, NestOp
from qlower.dialects.types import shape_of, tensor_type

from .c_types import REALS, c_type, stored
from .constants import Constants, element_type
from .floats import real_constant
from .helpers import Helpers
from .literals import integer
from .scalars import Scalars

MOST_ELEMENTS = 1 << 31
"""Counters and offsets are int32_t."""


@dataclass(frozen=True)
class Loop:
    """A counter, and the C expressions of where it begins and ends."""

    name: str
    end: int | str
    begin: int | str = 0
    step: int = 1


@dataclass
class Lines:
    """Indented text."""

    texts: list[str] = field(default_factory=list[str])
    depth: int = 1

    def add(self, *texts: str) -> None:
        self.texts += [f"{'  ' * self.depth}{text}" for text in texts]

    @contextmanager
    def block(self, head: str) -> Generator[None]:
        """Braces around what is added inside."""
        self.add(f"{head} {{")
        self.depth += 1
        yield
        self.depth -= 1
        self.add("}")

    @contextmanager
    def loops(self, loops: Sequence[Loop]) -> Generator[None]:
        """Nested loops."""
        for one in loops:
            step = f"{one.name}++" if one.step == 1 else f"{one.name} += {one.step}"
            self.add(
                f"for (int32_t {one.name} = {one.begin}; {one.name} < {one.end}; "
                f"{step}) {{"
            )
            self.depth += 1
        yield
        for _ in loops:
            self.depth -= 1
            self.add("}")

    @contextmanager
    def segment(self, name: str, segment: Segment) -> Generator[None]:
        """A loop over the steps of a segment; `name` is where a step begins."""
        with self.loops([Loop(f"{name}_step", segment.repeat)]):
            at = f"{segment.start} + ({name}_step * {segment.width})"
            if segment.last is not None:
                self.add(f"const int32_t {name}_next = {at};")
                last = segment.last
                at = f"({name}_next < {last}) ? {name}_next : {last}"
            self.add(f"const int32_t {name} = {at};")
            yield


def linear(strides: Sequence[int], first: int, counters: Sequence[str]) -> str:
    """An index: counters times strides, and where it begins."""
    terms = [
        counter if stride == 1 else f"({counter} * {stride})"
        for stride, counter in zip(strides, counters, strict=True)
        if stride
    ]
    if first > 0 or not terms:
        terms.append(str(max(first, 0)))
    return " + ".join(terms) + (f" - {-first}" if first < 0 else "")


@dataclass
class NestWriter:
    """The body of one nest's function.

    `pointers` are the C names of inputs and results that aren't constants, by value.
    """

    op: NestOp
    helpers: Helpers
    constants: Constants
    pointers: Mapping[SSAValue, str]

    def __post_init__(self) -> None:
        self.nest: LoopNest = analyse(self.op)
        self.lines = Lines()
        self.counters = [
            *(f"i{d}" for d in range(len(self.nest.parallel))),
            *(f"k{d}" for d in range(len(self.nest.reduction))),
        ]
        tables = {
            table: self.pointers.get(table) or self._table(table)
            for table in self.op.tables
        }
        self.scalars = Scalars(self.helpers, tables, self._counter)
        largest = max(
            prod(shape_of(value)) for value in (*self.op.operands, *self.op.results)
        )
        if largest >= MOST_ELEMENTS:
            raise QlowerError(
                f"a tensor of {largest} elements, C code has up to {MOST_ELEMENTS - 1}",
                self.op.location,
            )

    def write(self) -> list[str]:
        """The statements."""
        parallel = len(self.nest.parallel)
        with self.lines.loops([self.loop(d) for d in range(parallel)]):
            sums: list[str] = []
            if self.op.init.blocks:
                sums = self._start()
                inner = range(parallel, len(self.nest.bounds))
                with self.lines.loops([self.loop(d) for d in inner]):
                    results = self.run(self.op.body, sums)
                    self._assign(sums, results)
            self.finish(sums)
        return self.lines.texts

    def loop(self, loop: int) -> Loop:
        """One of the nest's loops, whole."""
        return Loop(self.counters[loop], self.nest.bounds[loop])

    def _start(self) -> list[str]:
        """The accumulators, as they begin."""
        values = self.run(self.op.init, [])
        names: list[str] = []
        for type, value in zip(self.op.accumulator_types, values, strict=True):
            names.append(self.scalars.name("sum"))
            self.lines.add(f"{c_type(type)} {names[-1]} = {value};")
        return names

    def _assign(self, names: Sequence[str], values: Sequence[str]) -> None:
        for name, value in zip(names, values, strict=True):
            if name != value:
                self.lines.add(f"{name} = {value};")

    def run(
        self, region: Region, sums: Sequence[str], bounds: Sequence[float] = ()
    ) -> list[str]:
        """The values that the region yields here."""
        arguments: list[str | None] = [
            self.load(operand, value, argument) if argument.uses else None
            for operand, value, argument in zip(
                self.nest.inputs, self.op.inputs, region.block.args, strict=False
            )
        ]
        magnitudes = [
            operand.magnitude if argument.uses else inf
            for operand, argument in zip(
                self.nest.inputs, region.block.args, strict=False
            )
        ]
        statements, values = self.scalars.region(
            region, [*arguments, *sums], [*magnitudes, *bounds]
        )
        self.lines.add(*statements)
        return values

    def load(self, operand: Operand, value: SSAValue, argument: BlockArgument) -> str:
        """A name for an input's element at the counters."""
        text = self.element(operand, value)
        if operand.edges:
            conditions = [self._inside(edge) for edge in operand.edges]
            known = [c for c in conditions if c]
            if known:
                condition = " && ".join(known)
                text = f"({condition}) ? {text} : {integer(operand.border)}"
        name = self.scalars.name(argument.name_hint or "x")
        self.lines.add(f"const {c_type(argument.type)} {name} = {text};")
        return name

    def element(self, operand: Operand, value: SSAValue) -> str:
        """An input's element at the counters, as its region takes it."""
        place = linear(operand.strides, operand.offset, self.counters)
        text = f"{self.base(operand, value)}[{place}]"
        if operand.data is not None:
            type = element_type(operand.scalar, operand.data)
            if operand.scalar in REALS and type != operand.scalar:
                return f"{self.helpers.of_bits(REALS[operand.scalar])}({text})"
        if operand.scalar == "i1":
            return f"{text} != 0u"
        return text

    def base(self, operand: Operand, value: SSAValue) -> str:
        """The C name of an input's array."""
        if operand.data is None:
            return self.pointers[value]
        return self.constants.name(operand.scalar, operand.data)

    def _inside(self, edge: Edge) -> str:
        first = edge.first.constant
        assert first is not None
        index = linear(edge.strides, first, self.counters)
        return f"((uint32_t)({index}) < {edge.size}u)"

    def complete(self, total: str, *, has_initial: bool) -> None:
        """Compute and store the result of a sum of products, to which the initial value
        is added unless it is in there."""
        if not has_initial:
            (start,) = self.run(self.op.init, [])
            total = f"(int32_t)((uint32_t){total} + (uint32_t){start})"
        name = self.scalars.name("total")
        self.lines.add(f"const int32_t {name} = {total};")
        self.finish([name])

    def finish(self, sums: Sequence[str]) -> None:
        """Compute the results and store them."""
        bounds: list[float] = []
        if sums:
            magnitudes = [operand.magnitude for operand in self.nest.inputs]
            bounds = accumulator_magnitudes(self.op, magnitudes)
        values = self.run(self.op.epilogue, sums, bounds)
        for operand, result, value in zip(
            self.nest.results, self.op.res, values, strict=True
        ):
            skipped = first_byte(result)
            first = operand.offset
            if skipped is not None:
                first += skipped // operand.element_bytes
            place = linear(operand.strides, first, self.counters)
            text = stored(tensor_type(result).element_type, value)
            self.lines.add(f"{self.pointers[result]}[{place}] = {text};")

    def _counter(self, loop: int) -> str:
        position = self.nest.index_loops[loop]
        return "0" if position is None else self.counters[position]

    def _table(self, table: SSAValue) -> str:
        data = constant_bytes(table)
        assert data is not None
        return self.constants.name(scalar_type(tensor_type(table).element_type), data)


def copy_statements(
    op: CopyOp, source: str, target: str, helpers: Helpers
) -> list[str]:
    """The statements of a copy: the fill value, then the box."""
    lines = Lines()
    if op.fill is not None:
        _fill(lines, op, target, _number(op.fill, helpers))
    if op.box_is_written:
        return lines.texts
    axes = [
        (size, steps)
        for size, *steps in zip(
            op.sizes.get_values(),
            _steps(op.source, op.source_strides.get_values()),
            _steps(op.result, op.strides.get_values()),
            strict=True,
        )
        if size > 1
    ]
    loops: list[tuple[int, list[int]]] = []
    for size, steps in axes:  # neighbouring axes that both sides walk like one
        if loops and loops[-1][1] == [size * step for step in steps]:
            loops[-1] = (loops[-1][0] * size, steps)
        else:
            loops.append((size, steps))
    counters = [f"i{d}" for d in range(len(loops))]
    begins = (
        _first(op.source, op.source_offsets.get_values()),
        _first(op.result, op.offsets.get_values()),
    )
    read, written = (
        linear([steps[side] for _, steps in loops], first, counters)
        for side, first in enumerate(begins)
    )
    bounds = [size for size, _ in loops]
    with lines.loops(list(map(Loop, counters, bounds))):
        lines.add(f"{target}[{written}] = {source}[{read}];")
    return lines.texts


def _fill(lines: Lines, op: CopyOp, target: str, fill: str) -> None:
    """Write the fill value everywhere, or all around a box that is written already."""
    shape = shape_of(op.result)
    if not op.box_is_written:
        with lines.loops([Loop("i", prod(shape))]):
            lines.add(f"{target}[i] = {fill};")
        return
    counters = [f"i{d}" for d in range(len(shape))]
    outside: list[str] = []
    for counter, extent, size, offset, step in zip(
        counters,
        shape,
        op.sizes.get_values(),
        op.offsets.get_values(),
        op.strides.get_values(),
        strict=True,
    ):
        if size != extent:
            reach = (size - 1) * step + 1
            outside.append(f"((uint32_t)({counter} - {offset}) >= {reach}u)")
        if step > 1:
            outside.append(f"((({counter} - {offset}) % {step}) != 0)")
    with (
        lines.loops(list(map(Loop, counters, shape))),
        lines.block(f"if ({' || '.join(outside)})"),
    ):
        place = linear(_steps(op.result, [1] * len(shape)), 0, counters)
        lines.add(f"{target}[{place}] = {fill};")


def _number(fill: IntegerAttr | FloatAttr, helpers: Helpers) -> str:
    """A fill value as an element of memory."""
    if isinstance(fill, FloatAttr):
        return real_constant(helpers, fill.value.data, REALS[scalar_type(fill.type)])
    number = fill.value.data
    return str(number & 1) if scalar_type(fill.type) == "i1" else integer(number)


def _steps(value: SSAValue, strides: Sequence[int]) -> list[int]:
    """The step along each axis of a box, in elements."""
    shape = shape_of(value)
    return [stride * prod(shape[axis + 1 :]) for axis, stride in enumerate(strides)]


def _first(value: SSAValue, offsets: Sequence[int]) -> int:
    """The element that a box begins at."""
    steps = _steps(value, [1] * len(offsets))
    return sum(offset * step for offset, step in zip(offsets, steps, strict=True))
