"""Values whose dimensions lie in an order of their own, and a function of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    Float32Type,
    IntegerType,
    LocationAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from qlower.diagnostics import printable_path
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import CONTRACT, NAME, SOURCE
from qlower.dialects.quant import QuantizedType
from qlower.dialects.quant.ops import StorageCastOp
from qlower.dialects.types import element_type, shape_of
from qlower.model.nests import Emitter, dense
from qlower.operators.movement import Slice
from qlower.text.hints import set_hint

from ..site import Site
from .orders import Order, identity, is_alike, stored_shape

Element = QuantizedType | IntegerType | Float32Type
Tensor = TensorType[Element]

LONGEST_HINT = 24
"""A longer name makes the text harder to read, not easier."""


@dataclass(frozen=True)
class Value:
    """A tensor of the model, stored in some order of its dimensions.

    With `is_real` its elements are real numbers: float32, or where the stored type is
    quantized, what a dequantization makes of them. That comes to be where something
    needs it; until then values are moved as integers.
    """

    ssa: SSAValue
    order: Order
    is_real: bool = False

    @property
    def type(self) -> Tensor:
        return cast(Tensor, self.ssa.type)

    @property
    def element(self) -> Element:
        return self.type.element_type

    @property
    def shape(self) -> tuple[int, ...]:
        """The model's shape."""
        sizes = self.type.get_shape()
        return tuple(sizes[self.order.index(d)] for d in range(len(sizes)))


def real_value(ssa: SSAValue) -> Value:
    """A value of real numbers, stored in the order of its dimensions."""
    return Value(ssa, identity(len(shape_of(ssa))), is_real=True)


class Origin:
    """The name and location of operations, and the site that errors name."""

    def __init__(
        self,
        name: str,
        location: LocationAttr,
        refuse: Callable[[str], Exception],
    ) -> None:
        self.name = name
        self.location = location
        self.refuse = refuse

    def named(self, suffix: str | None) -> NameLoc:
        name = self.name if suffix is None else f"{self.name}/{suffix}"
        return NameLoc(StringAttr(name), self.location)


class FunctionBuilder:
    """The function `main` under construction.

    `charge` is called for every operation, and may refuse more of them.
    """

    def __init__(self, charge: Callable[[], None]) -> None:
        self.block = Block()
        self._charge = charge
        self._reordered: dict[tuple[SSAValue, Order, Order], SSAValue] = {}

    def argument(self, type: Tensor, place: Origin) -> Value:
        argument = self.block.insert_arg(type, len(self.block.args))
        argument.location = place.named(None)
        hint(argument, place.name)
        return Value(argument, identity(len(type.get_shape())))

    def add(
        self, operation: Operation, place: Origin, suffix: str | None = None
    ) -> SSAValue:
        """Add an operation, whose first result nothing is called after yet."""
        operation.location = place.named(suffix)
        try:
            operation.verify_()
        except VerifyException as error:
            # xDSL breaks the line before the reason.
            reason = " ".join(str(error).split())
            raise place.refuse(f"{operation.name}: {reason}") from error
        self._charge()
        self.block.add_op(operation)
        return operation.results[0]

    def emit(
        self, operation: Operation, place: Origin, suffix: str | None = None
    ) -> SSAValue:
        """Add an operation; with `suffix` it is a step on the way to a value."""
        value = self.add(operation, place, suffix)
        return value if suffix else hint(value, place.name)

    def emitter(self, place: Origin, suffix: str | None = None) -> Emitter:
        """An emitter of operations on plain tensors; with `suffix` these are steps."""
        self._charge()
        return Emitter(self.block.add_op, place.named(suffix))

    def constant(
        self, stored: NDArray[np.generic], element: Element, place: Origin
    ) -> SSAValue:
        """A constant of these stored elements."""
        if not isinstance(element, QuantizedType):
            return self.emit(arith.ConstantOp(dense(stored, element)), place)
        value = dense(stored, element.storage_type)
        type = TensorType(element, stored.shape)
        return self.emit(qnn.ConstantOp(value, type), place)

    def in_order(self, value: Value, order: Order, place: Origin) -> Value:
        """The value stored in another order: by a transposition, or by a reshape where
        only dimensions of size 1 change places."""
        if value.order == order:
            return value
        key = (value.ssa, value.order, order)
        if key not in self._reordered:
            type = TensorType(value.element, stored_shape(value.shape, order))
            perm = [value.order.index(dimension) for dimension in order]
            if is_alike(value.shape, value.order, order):
                self._reordered[key] = self._reshape(value.ssa, type, place)
            elif isinstance(value.ssa.owner, qnn.ConstantOp):
                stored = _elements(value.ssa.owner).transpose(perm)
                self._reordered[key] = self._constant_like(value.ssa.owner, stored)
            else:
                operation = qnn.TransposeOp(value.ssa, type, perm=perm)
                self._reordered[key] = self.emit(operation, place, "transpose")
        return replace(value, ssa=self._reordered[key], order=order)

    def reshape(
        self, value: Value, shape: Sequence[int], order: Order, place: Origin
    ) -> Value:
        """The stored elements as a value of another shape of the model's."""
        type = TensorType(value.element, stored_shape(shape, order))
        return replace(value, ssa=self._reshape(value.ssa, type, place), order=order)

    def _reshape(self, ssa: SSAValue, type: Tensor, place: Origin) -> SSAValue:
        if ssa.type == type:
            return ssa
        if isinstance(ssa.owner, qnn.ConstantOp):
            stored = _elements(ssa.owner).reshape(type.get_shape())
            return self._constant_like(ssa.owner, stored)
        return self.emit(qnn.ReshapeOp(ssa, type), place, "reshape")

    def _constant_like(
        self, constant: qnn.ConstantOp, stored: NDArray[np.generic]
    ) -> SSAValue:
        """The constant with its elements in another shape, in place of it if nothing
        uses it yet."""
        type = TensorType(constant.result.type.element_type, stored.shape)
        made = qnn.ConstantOp(dense(stored, type.element_type.storage_type), type)
        made.location = constant.location
        made.results[0].name_hint = constant.results[0].name_hint
        self.block.insert_op_before(made, constant)
        if not constant.results[0].uses:
            self.block.erase_op(constant)
        return made.results[0]

    def as_stored(self, value: Value, element: QuantizedType, place: Origin) -> Value:
        """A value's stored integers with another meaning."""
        if value.element == element:
            return value
        shape = value.type.get_shape()
        plain = self.emit(
            StorageCastOp(value.ssa, TensorType(element.storage_type, shape)),
            place,
            "stored",
        )
        cast = StorageCastOp(plain, TensorType(element, shape))
        return replace(value, ssa=self.emit(cast, place, "cast"))

    def dequantized(self, value: Value, place: Origin) -> Value:
        """A real value as float32."""
        if not isinstance(value.element, QuantizedType):
            return value
        type = TensorType(Float32Type(), value.type.get_shape())
        operation = qnn.DequantizeOp(value.ssa, type)
        return replace(value, ssa=self.emit(operation, place))

    @contextmanager
    def function(self, types: Sequence[Tensor], place: Origin) -> Generator[Block]:
        """A function of its own, to whose block operations are added meanwhile."""
        outer, self.block = self.block, Block(arg_types=types)
        reordered, self._reordered = self._reordered, {}
        for argument in self.block.args:
            argument.location = place.named(None)
        try:
            yield self.block
        finally:
            self.block, self._reordered = outer, reordered

    def module(
        self,
        inputs: Sequence[str],
        outputs: Sequence[tuple[str, SSAValue]],
        site: Site,
        contract: str,
    ) -> ModuleOp:
        """The finished module of a file, with names of inputs and outputs."""
        if not outputs:
            raise site.error("no outputs, expected at least 1")
        location = site.location
        returned = [value for _, value in outputs]
        last = func.ReturnOp(*returned)
        last.location = location
        self.block.add_op(last)
        main = func.FuncOp(
            "main",
            (
                [argument.type for argument in self.block.args],
                [value.type for value in returned],
            ),
            Region(self.block),
            arg_attrs=_names(inputs),
            res_attrs=_names([name for name, _ in outputs]),
        )
        main.location = location
        source = printable_path(PurePath(location.filename.data).name)
        attributes = {CONTRACT: StringAttr(contract), SOURCE: StringAttr(source)}
        return ModuleOp([main], attributes)


def _elements(constant: qnn.ConstantOp) -> NDArray[np.generic]:
    """The bytes of a constant, which is per tensor."""
    data = constant.value.data.data
    return np.frombuffer(data, np.uint8).reshape(constant.value.get_shape())


def slice_of(
    value: SSAValue, ranges: Sequence[range], element: Attribute | None = None
) -> qnn.SliceOp:
    """The elements of a tensor at these indices of every stored dimension, as those of
    another type if one is given."""
    sizes = [len(taken) for taken in ranges]
    type = TensorType(element or element_type(value.type), sizes)
    offsets = [taken.start for taken in ranges]
    strides = [taken.step for taken in ranges]
    return qnn.SliceOp(value, type, offsets=offsets, sizes=sizes, strides=strides)


def sliced(value: SSAValue, movement: Slice) -> qnn.SliceOp:
    """The elements that a movement takes from a tensor."""
    offsets, sizes, strides = movement.start, movement.size, movement.stride
    type = TensorType(element_type(value.type), sizes)
    return qnn.SliceOp(value, type, offsets=offsets, sizes=sizes, strides=strides)


def hint(value: SSAValue, name: str) -> SSAValue:
    """Name a value like its tensor in the printed module, if that is a short word."""
    if name.isascii() and name.isidentifier() and len(name) <= LONGEST_HINT:
        set_hint(value, name)
    return value


def distinct(name: str, suffix: str, taken: set[str]) -> str:
    """`name`, with `suffix` if it is empty or taken already; takes it."""
    while not name or name in taken:
        name += suffix
    taken.add(name)
    return name


def _names(names: Sequence[str]) -> ArrayAttr[DictionaryAttr]:
    """The names of arguments or results: one tensor can be several results."""
    seen: set[str] = set()
    unique = [distinct(name, f"#result{at}", seen) for at, name in enumerate(names)]
    return ArrayAttr(DictionaryAttr({NAME: StringAttr(name)}) for name in unique)
