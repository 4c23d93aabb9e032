"""A loop nest as the code generator sees it: strides in elements, and few loops.

A tensor is dense, so an affine map into it is one linear form: the offset in elements
is `constant + sum(stride[d] * index[d])`. Two neighbouring loops that every operand
walks like one are merged, loops that run once disappear: a 1x1 convolution becomes a
matrix product, elementwise work one loop, a row of a window one run of bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from qlower.codegen.llvm.text import I64, Function, Type, Value, constant
from qlower.codegen.nests.edges import Edge, is_inside
from qlower.codegen.values.elements import (
    load_lanes,
    load_scalars,
    scalar_type,
    storage_bytes,
)
from qlower.codegen.values.region import indexed_loops
from qlower.dialects.kernel import CopyOp, NestOp, linear_form, tensor_type


@dataclass(frozen=True)
class Operand:
    """A tensor that the nest reads or writes, and how.

    `pointer` is its address inside the nest's function, None for a constant, whose
    bytes are `data`. `scalar` is the type in memory, `loaded` the one in the regions;
    no element is greater than `magnitude`. Beyond its `edges` all elements are the byte
    `border`.
    """

    pointer: Value | None
    scalar: str
    loaded: str
    strides: tuple[int, ...]
    offset: int
    data: bytes | None
    magnitude: float
    edges: tuple[Edge, ...] = ()
    border: int = 0

    @property
    def element_bytes(self) -> int:
        return storage_bytes(self.scalar)

    def address(self, f: Function, indices: Sequence[Value]) -> Value:
        """The address of the element at the loops' `indices`."""
        offset = constant(I64, self.offset)
        for stride, index in zip(self.strides, indices, strict=True):
            offset = f.add(offset, f.scale(index, stride))
        pointer = self.pointer
        if pointer is None:
            assert self.data is not None
            pointer = f.module.add_constant(self.data)
        return f.at(pointer, f.scale(offset, self.element_bytes))

    def load(
        self, f: Function, indices: Sequence[Value], loop: int | None, lanes: int
    ) -> Value:
        """The element at `indices`, or `lanes` of them along `loop` from there on.

        An operand that does not move with the loop gives a scalar.
        """
        return f.cast("sext", self._load(f, indices, loop, lanes), self.loaded)

    def _load(
        self, f: Function, indices: Sequence[Value], loop: int | None, lanes: int
    ) -> Value:
        address = self.address(f, indices)
        stride = 0 if loop is None else self.strides[loop]
        if self.edges:
            border = f.module.add_constant(bytes([self.border]) * (lanes * stride + 1))
            inside = is_inside(f, self.edges, indices)
            if isinstance(inside, Value):
                address = f.select(inside, address, border)
            elif not inside:
                address = border
        if stride == 0 or lanes == 1:
            return load_scalars(f, address, self.scalar, 1)
        if stride == 1:
            return load_scalars(f, address, self.scalar, lanes)
        offsets = Value(
            replace(I64, lanes=lanes),
            f"<{', '.join(f'i64 {lane * stride}' for lane in range(lanes))}>",
        )
        return load_lanes(f, address, offsets, self.scalar)


@dataclass(frozen=True)
class Span:
    """`count` iterations of a loop, from `first` on."""

    first: Value
    count: int


@dataclass(frozen=True)
class Nest:
    """The loops that are left, the parallel ones first.

    `index_loops[d]` recovers the index of the d-th loop of the op: None when it runs
    once, else the loop it has become. Of a contraction's channels only `channels` may
    be wanted.
    """

    op: NestOp
    parallel: tuple[int, ...]
    reduction: tuple[int, ...]
    inputs: tuple[Operand, ...]
    results: tuple[Operand, ...]
    tables: Mapping[SSAValue, Value]
    index_loops: tuple[int | None, ...]
    channels: Span | None = None

    @property
    def bounds(self) -> tuple[int, ...]:
        return self.parallel + self.reduction

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.inputs + self.results

    def index(self, loop: int, indices: Sequence[Value]) -> Value:
        """The index of the op's d-th loop."""
        position = self.index_loops[loop]
        return constant(I64, 0) if position is None else indices[position]


def analyse(op: NestOp, pointers: Sequence[Value | None]) -> Nest:
    """The nest of `op`.

    `pointers` are those of inputs, tables and results in order, None for constants
    among the inputs.
    """
    inputs, tables = len(op.inputs), len(op.tables)
    values = (*op.inputs, *op.res)
    addresses = (*pointers[:inputs], *pointers[inputs + tables :])
    operands = [
        _operand(value, pointer, map, len(op.bounds))
        for value, pointer, map in zip(
            values, addresses, (*op.input_maps, *op.result_maps), strict=True
        )
    ]
    groups = _merged_loops(op, operands)
    parallel = len(op.parallel_bounds)
    bounds = [_product(op.bounds[d] for d in group) for group in groups]
    split = sum(group[0] < parallel for group in groups)

    def kept(strides: Sequence[int]) -> tuple[int, ...]:
        return tuple(strides[group[-1]] for group in groups)

    merged = [
        replace(
            operand,
            strides=kept(operand.strides),
            edges=tuple(replace(e, strides=kept(e.strides)) for e in operand.edges),
        )
        for operand in operands
    ]
    loop_of = {d: i for i, group in enumerate(groups) for d in group}
    return Nest(
        op,
        tuple(bounds[:split]),
        tuple(bounds[split:]),
        tuple(merged[:inputs]),
        tuple(merged[inputs:]),
        {
            table: pointer
            for table, pointer in zip(
                op.tables, pointers[inputs : inputs + tables], strict=True
            )
            if pointer is not None
        },
        tuple(loop_of.get(d) for d in range(len(op.bounds))),
    )


def constant_bytes(value: SSAValue) -> bytes | None:
    """The bytes of a dense constant, None of anything else.

    Reads through reshapes; a splat is written out.
    """
    owner = value.owner
    if isinstance(owner, arith.ConstantOp):
        attribute = owner.value
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            return dense_bytes(attribute)
        return None
    if isinstance(owner, ExpandShapeOp | CollapseShapeOp):
        return constant_bytes(owner.operands[0])
    return None


def dense_bytes(attribute: DenseIntOrFPElementsAttr) -> bytes:
    """All elements in memory order; bits take a byte each, 0 or 1."""
    data = attribute.data.data
    count = _product(attribute.type.get_shape())
    scalar = scalar_type(attribute.get_element_type())
    if scalar == "i1":  # xDSL's true is -1
        data = (lanes_of(scalar, data) & 1).tobytes()
    size = storage_bytes(scalar)
    return data * count if len(data) == size and count > 1 else data


def lanes_of(scalar: str, data: bytes) -> NDArray[Any]:
    """A constant's bytes as numbers (integers signed)."""
    names = {"float": "<f4", "double": "<f8", "i1": "<i1"}
    return np.frombuffer(data, names.get(scalar, f"<i{storage_bytes(scalar)}"))


def _operand(
    value: SSAValue, pointer: Value | None, map: AffineMap, loops: int
) -> Operand:
    lows = [0] * len(map.results)
    padding = value.owner
    if isinstance(padding, CopyOp) and not padding.is_stored:
        value, lows = padding.source, list(padding.offsets.get_values())
    else:
        padding = None
    type = tensor_type(value)
    extents, starts = type.get_shape(), [0] * len(map.results)
    box = box_of(value)
    if box is not None:
        extents = tensor_type(box.result).get_shape()
        starts = list(box.offsets.get_values())
    strides, offset, step = [0] * loops, 0, 1
    edges: list[Edge] = []
    for expression, size, extent, start, low, padded in zip(
        reversed(map.results),
        reversed(type.get_shape()),
        reversed(extents),
        reversed(starts),
        reversed(lows),
        reversed(tensor_type(padding.result if padding else value).get_shape()),
        strict=True,
    ):
        coefficients, first = linear_form(expression, loops)
        first -= low
        if padded != size:
            edges.append(Edge(coefficients, constant(I64, first), size))
        strides = [s + step * c for s, c in zip(strides, coefficients, strict=True)]
        offset += step * (first + start)
        step *= extent
    loaded = scalar = scalar_type(type.element_type)
    data = constant_bytes(value) if pointer is None else None
    magnitude = math.inf if Type(scalar).is_float else 1 << (Type(scalar).bits - 1)
    if data is not None and Type(scalar).is_float:
        largest = float(np.abs(lanes_of(scalar, data)).max())
        magnitude = math.inf if math.isnan(largest) else largest
    elif data is not None:
        numbers = lanes_of(scalar, data).astype(object)
        magnitude = max(-int(numbers.min()), int(numbers.max()))
        if scalar == "i64" and magnitude < 1 << 31:
            # multiplying sign-extended halves is a cheaper instruction
            scalar, data = "i32", lanes_of(scalar, data).astype(np.int32).tobytes()
    border = 0
    if padding is not None:
        assert isinstance(padding.fill, IntegerAttr)
        border = padding.fill.value.data & 0xFF
    return Operand(
        pointer,
        scalar,
        loaded,
        tuple(strides),
        offset,
        data,
        magnitude,
        tuple(edges),
        border,
    )


def box_of(value: SSAValue) -> CopyOp | None:
    """The copy in whose result a nest's result lies, if it has no buffer of its own."""
    for use in value.uses:
        copy = use.operation
        if isinstance(copy, CopyOp) and copy.source is value and copy.box_is_written:
            return copy
    return None


def _merged_loops(op: NestOp, operands: Sequence[Operand]) -> list[list[int]]:
    """The op's loops that run more than once, grouped into those that are left."""
    parallel = len(op.parallel_bounds)
    kept = {d for region in op.regions for d in indexed_loops(region)}
    for operand in operands:
        for edge in operand.edges:
            kept |= {d for d, stride in enumerate(edge.strides) if stride}
    groups: list[list[int]] = []
    for d, bound in enumerate(op.bounds):
        if bound == 1:
            continue
        last = groups[-1][-1] if groups else None
        if (
            last is not None
            and (last < parallel) == (d < parallel)
            and not {last, d} & kept
            and all(o.strides[last] == o.strides[d] * bound for o in operands)
        ):
            groups[-1].append(d)
        else:
            groups.append([d])
    return groups


def _product(values: Iterator[int] | Sequence[int]) -> int:
    product = 1
    for value in values:
        product *= value
    return product
