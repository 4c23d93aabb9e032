"""Operands of a loop nest: tensors, and the element that an iteration meets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineMap

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Type, Value, constant
from qlower.codegen.nests.edges import Edge, is_inside
from qlower.codegen.values.elements import (
    load_lanes,
    load_scalars,
    scalar_type,
    storage_bytes,
)
from qlower.dialects.kernel import (
    PACKED,
    CopyOp,
    element_byte_size,
    is_in_box,
    linear_form,
)
from qlower.dialects.types import tensor_type

LinearForm: TypeAlias = tuple[tuple[int, ...], int]
"""An index: the coefficient of each loop, and the constant term."""


@dataclass(frozen=True)
class Operand:
    """A tensor that the nest reads or writes, and how.

    `scalar` is the type in memory, `loaded` the one in the regions. `strides`, one a
    loop, and `offset` count elements. `data` are the bytes of a constant, None of
    anything else. Beyond its `edges` all elements are `border`. `pointer` is its
    address inside the nest's function, once the nest is `placed`; constants have none.

    An operand that is `packed` is the argument of that number, which is packed when it
    is given (`PACKED`): `data` stands for it, with the ends of its type.
    """

    scalar: str
    loaded: str
    strides: tuple[int, ...]
    offset: int
    data: bytes | None
    edges: tuple[Edge, ...] = ()
    border: int = 0
    pointer: Value | None = None
    packed: int | None = None

    @cached_property
    def magnitude(self) -> float:
        """No element is greater than it, nor less than its negative."""
        if self.data is None:
            type = Type(self.loaded)
            return math.inf if type.is_float else 1 << (type.bits - 1)
        numbers = lanes_of(self.scalar, self.data)
        if not Type(self.scalar).is_float:
            return max(-int(numbers.min()), int(numbers.max()))
        largest = float(np.abs(numbers).max())
        return math.inf if math.isnan(largest) else largest

    @property
    def element_bytes(self) -> int:
        return storage_bytes(self.scalar)

    def border_bytes(self, count: int) -> bytes:
        """`count` elements of the border."""
        bits = self.border % (1 << 8 * self.element_bytes)
        return bits.to_bytes(self.element_bytes, "little") * count

    def address(self, f: Function, indices: Sequence[Value]) -> Value:
        """The address of the element at the loops' `indices`."""
        size, first = self.element_bytes, self.offset
        steps: list[Value] = []
        for stride, index in zip(self.strides, indices, strict=True):
            number = index.constant
            if number is not None:
                first += number * stride
            elif stride:
                steps.append(f.scale(index, stride * size))
        pointer = self.pointer
        if pointer is None:
            assert self.data is not None
            pointer = f.module.add_constant(self.data)
        return f.at(f.beyond(pointer, steps), constant(I64, first * size))

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
            border = f.module.add_constant(self.border_bytes(lanes * stride + 1))
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


def packed_argument(value: SSAValue) -> BlockArgument | None:
    """The argument that is packed when it is given, None for anything else.

    Reads through reshapes.
    """
    if isinstance(value.owner, ExpandShapeOp | CollapseShapeOp):
        return packed_argument(value.owner.operands[0])
    if not isinstance(value, BlockArgument):
        return None
    function = value.block.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return None
    return value if PACKED in function.arg_attrs.data[value.index].data else None


def dense_bytes(attribute: DenseIntOrFPElementsAttr) -> bytes:
    """All elements in memory order; bits take a byte each, 0 or 1."""
    data = attribute.data.data
    count = math.prod(attribute.type.get_shape())
    scalar = scalar_type(attribute.get_element_type())
    if scalar == "i1":  # xDSL's true is -1
        data = (lanes_of(scalar, data) & 1).tobytes()
    size = storage_bytes(scalar)
    return data * count if len(data) == size and count > 1 else data


def lanes_of(scalar: str, data: bytes) -> NDArray[Any]:
    """A constant's bytes as numbers (integers signed)."""
    names = {"float": "<f4", "double": "<f8", "i1": "<i1"}
    return np.frombuffer(data, names.get(scalar, f"<i{storage_bytes(scalar)}"))


def operand_of(value: SSAValue, map: AffineMap, loops: int) -> Operand:
    """The access of a nest of `loops` loops to a tensor by `map`."""
    border = 0
    indices = [linear_form(expression, loops) for expression in map.results]
    edges: tuple[Edge, ...] = ()
    padding = value.owner
    if isinstance(padding, CopyOp) and not padding.is_stored:
        assert isinstance(padding.fill, IntegerAttr)
        border = padding.fill.value.data
        value, indices = padding.source, _inside_of_padding(padding, indices)
        edges = _edges(padding, indices)
    strides, offset = _dense_place(value, indices, loops)
    type = tensor_type(value)
    scalar = scalar_type(type.element_type)
    data, packed = constant_bytes(value), packed_argument(value)
    if packed is not None:
        ends = np.array([-128, 127], np.int8)
        data = np.resize(ends, math.prod(type.get_shape())).tobytes()
    operand = Operand(scalar, scalar, strides, offset, data, edges, border)
    if packed is not None:
        return replace(operand, packed=packed.index)
    return _narrowed(operand)


def _inside_of_padding(
    padding: CopyOp, indices: Sequence[LinearForm]
) -> list[LinearForm]:
    """Indices into the padded tensor as indices into what it pads."""
    lows = padding.offsets.get_values()
    return [
        (strides, first - low)
        for (strides, first), low in zip(indices, lows, strict=True)
    ]


def _edges(padding: CopyOp, indices: Sequence[LinearForm]) -> tuple[Edge, ...]:
    """The axes along which the tensor is padded, from the last to the first."""
    sizes = tensor_type(padding.source).get_shape()
    padded = tensor_type(padding.result).get_shape()
    return tuple(
        Edge(strides, constant(I64, first), size)
        for (strides, first), size, whole in reversed(
            list(zip(indices, sizes, padded, strict=True))
        )
        if whole != size
    )


def _dense_place(
    value: SSAValue, indices: Sequence[LinearForm], loops: int
) -> tuple[tuple[int, ...], int]:
    """The element at the indices of a dense tensor: the stride of each loop, and the
    offset of the first element.

    A result in a box of a greater tensor has its rows there; `first_byte` is the start
    of the box.
    """
    box = box_of(value)
    extents = tensor_type(value if box is None else box.result).get_shape()
    strides, offset = [0] * loops, 0
    for axis, (coefficients, first) in enumerate(indices):
        step = math.prod(extents[axis + 1 :])
        strides = [s + step * c for s, c in zip(strides, coefficients, strict=True)]
        offset += step * first
    return tuple(strides), offset


def first_byte(result: SSAValue) -> int | None:
    """The first byte of a nest's result in the buffer of a larger tensor that contains
    it as a box; None for a result with a buffer of its own."""
    box = box_of(result)
    if box is None:
        return None
    type, element = tensor_type(box.result), 0
    for size, start in zip(type.get_shape(), box.offsets.get_values(), strict=True):
        element = element * size + start
    return element * element_byte_size(type.element_type)


def _narrowed(operand: Operand) -> Operand:
    """A constant of small i64 as i32: multiplying what was sign-extended from 32 bits
    is a cheaper instruction."""
    if operand.scalar != "i64" or operand.data is None or operand.magnitude >= 1 << 31:
        return operand
    narrow = lanes_of("i64", operand.data).astype(np.int32)
    return replace(operand, scalar="i32", data=narrow.tobytes())


def box_of(value: SSAValue) -> CopyOp | None:
    """The copy in whose result a nest's result lies, if it has no buffer of its own."""
    if not is_in_box(value):  # thousands of nests may use a constant
        return None
    for use in value.uses:
        copy = use.operation
        if isinstance(copy, CopyOp) and copy.source is value:
            return copy
    return None
