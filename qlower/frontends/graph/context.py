"""The context in which one node is imported: its operands, attributes and results.

The file is long because a context is one class, with a method for each question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from xdsl.dialects.builtin import TensorType, f16, f32, i1, i32, i64
from xdsl.ir import Operation, SSAValue

from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType

from ..accessor import Operands
from ..site import Site
from .nodes import QUANTIZE, Graph, Node
from .orders import Order, identity, stored_shape
from .schema import MAX_ELEMENTS, Array, Constant
from .values import Element, FunctionBuilder, Place, Value

if TYPE_CHECKING:
    from .blocks import Blocks

STORED_TYPES = {"INT8": True, "UINT8": False}
"""Types of quantized values that can be had, and whether they are signed."""

OTHER_STORED_TYPES: Mapping[str, QuantizedType] = {
    **{
        f"{'' if signed else 'U'}INT{bits}": QuantizedType.per_tensor(
            8, signed, 1.0, 0, -(1 << bits - 1) * signed, (1 << bits - signed) - 1
        )
        for bits in (2, 4)
        for signed in (True, False)
    },
    "INT16": QuantizedType.per_tensor(16, True, 1.0),
    "UINT16": QuantizedType.per_tensor(16, False, 1.0),
}
"""Types of stored values that come from and go to real numbers only: as they are held,
with the scale 1. Those of fewer bits are bytes of a smaller range."""

PLAIN_TYPES: dict[str, Element] = {
    "INT32": i32,
    "INT64": i64,
    "FLOAT": f32,
    "BOOL": i1,
}


class Importer(Protocol):
    """The function under construction."""

    graph: Graph
    builder: FunctionBuilder
    qdq: str
    """How groups are read (`import_options.QDQ_READINGS`)."""
    blocks: Blocks
    """Which real images lie in blocks of channels."""

    def value(self, name: str, site: Site) -> Value:
        """A value that is computed, or an input."""
        ...

    def define(self, name: str, value: Value, site: Site) -> None:
        """Make `value` the value of this name, which must not have one yet."""
        ...

    def way_out(self, node: Node) -> str | None:
        """How the model goes without a node."""
        ...

    def skip(self, node: Node) -> None:
        """The node is a part of what another one became."""
        ...

    def charge(self, work: int) -> None:
        """Refuse a file whose nodes use the same things again and again."""
        ...


class NodeContext(Operands):
    """One node of the graph, and the function that it is added to.

    Operands and results are numbered as in the file. Every accessor checks what it
    returns and raises a `QlowerError` that names node, operand and value.
    """

    def __init__(self, importer: Importer, node: Node) -> None:
        name = f" {node.name!r}" if node.name else ""
        operator = importer.graph.written_operator(node)
        super().__init__(
            importer.graph.model.filename,
            node.index,
            f"node {node.index} {operator}{name}",
        )
        self.importer = importer
        self.graph = importer.graph
        self.builder = importer.builder
        self.node = node

    def error(self, message: str, *, help: str | None = None) -> QlowerError:
        """Return an error as any site does. Where no value is named the node's result
        is, and the help says how the model works without the node."""
        names = [name for name in (*self.node.outputs, *self.node.inputs) if name]
        if names and not any(
            repr(name) in f"{self.subject} {message}" for name in names
        ):
            message = f"{message} (of {names[0]!r})"
        return super().error(message, help=help or self.importer.way_out(self.node))

    # Operands

    def has(self, number: int) -> bool:
        """Whether an optional operand is there."""
        return number < len(self.node.inputs) and bool(self.node.inputs[number])

    def name(self, number: int) -> str:
        if not self.has(number):
            raise self.error(f"operand {number} is missing")
        return self.node.inputs[number]

    def is_constant(self, number: int) -> bool:
        return self.has(number) and self.name(number) in self.graph.constants

    def constant(self, number: int, what: str) -> Constant:
        """A constant whose elements are available."""
        name = self.name(number)
        constant = self.graph.constants.get(name)
        if constant is None and name in self.graph.inputs:
            raise self.error(
                f"{what} {name!r} is an input of the model; expected a constant"
            )
        if constant is None:
            raise self.error(
                f"{what} {name!r} must be a constant",
                help="run ONNX Runtime's offline optimization on the model first, which"
                " folds what can be folded",
            )
        if constant.array is None:
            raise self.error(f"{what} {name!r}: {constant.problem} can't be read")
        return constant

    def array(self, number: int, what: str) -> Array:
        array = self.constant(number, what).array
        assert array is not None
        return array

    def plain_array(self, number: int, what: str) -> tuple[str, Array]:
        return self.constant(number, what).type, self.array(number, what)

    @property
    def operator_name(self) -> str:
        return self.node.kind

    @property
    def count(self) -> int:
        return len(self.node.inputs)

    @property
    def result_count(self) -> int:
        return len(self.node.outputs)

    def type_name(self, number: int) -> str:
        """The name of the type of an operand's stored elements, whatever they mean."""
        if self.is_constant(number):
            return self.constant(number, "operand").type
        element = self.importer.value(self.name(number), self).element
        if isinstance(element, QuantizedType):
            return f"{'' if element.signed else 'U'}INT{element.storage_width}"
        return next(name for name, type in PLAIN_TYPES.items() if type == element)

    def described(self, number: int) -> str:
        return repr(self.name(number))

    def value(self, number: int) -> Value:
        """An operand of any type; a constant becomes one of the function."""
        if self.is_constant(number):
            return self._plain_constant(number)
        return self.importer.value(self.name(number), self)

    def real(self, number: int) -> Value:
        """An operand of real numbers."""
        value = self.value(number)
        if not value.is_real:
            raise self.error(
                f"operand {self.name(number)!r} holds integers; expected real numbers"
            )
        return value

    def _plain_constant(self, number: int) -> Value:
        constant = self.constant(number, "operand")
        array = self.array(number, "operand")
        if constant.type not in PLAIN_TYPES:
            raise self.error(
                f"a constant {self.name(number)!r} of type {constant.type} is not"
                f" supported here; expected one of {', '.join(PLAIN_TYPES)}"
            )
        ssa = self.builder.constant(
            array, PLAIN_TYPES[constant.type], self.place(self.name(number))
        )
        return Value(ssa, identity(array.ndim), constant.type == "FLOAT")

    def shape(self, number: int, rank: int | None = None) -> tuple[int, ...]:
        """The shape of an operand in the model."""
        name = self.name(number)
        if name in self.graph.constants:
            shape = self.graph.constants[name].shape
        else:
            shape = self.importer.value(name, self).shape
        self.checked_rank(shape, number, rank)
        return shape

    # Quantized operands

    def quantization(
        self, scale: int, zero_point: int, *, may_be_half: bool = False
    ) -> QuantizedType:
        """The one scale and zero point in two operands; of float16 if it may be."""
        is_half = may_be_half and self.array(scale, "scale").dtype == np.float16
        scales, zeros, signed = self._parameters(
            scale, zero_point, np.float16 if is_half else np.float32
        )
        if len(scales) != 1 or len(zeros) != 1:
            raise self.error(
                f"{len(scales)} scales and {len(zeros)} zero points of"
                f" {self.name(scale)!r} are not supported here; expected one"
            )
        expressed = f16 if is_half else f32
        return QuantizedType.per_tensor(
            8, signed, scales[0], zeros[0], expressed=expressed
        )

    def axis_quantization(
        self, scale: int, zero_point: int, axis: int, size: int
    ) -> QuantizedType:
        """One scale, or one for each of the `size` indices of `axis`."""
        scales, zeros, signed = self._parameters(scale, zero_point)
        for what, count in (("scales", len(scales)), ("zero points", len(zeros))):
            if count not in (1, size):
                raise self.error(
                    f"{count} {what} of {self.name(scale)!r}; expected 1 or {size}"
                )
        if len(scales) == len(zeros) == 1:
            return QuantizedType.per_tensor(8, signed, scales[0], zeros[0])
        self.importer.charge(size)
        scales *= size if len(scales) == 1 else 1
        zeros *= size if len(zeros) == 1 else 1
        return QuantizedType.per_axis(8, signed, axis, scales, zeros)

    def steps(self, scale: int, zero_point: int) -> tuple[list[float], list[int]]:
        """The scales of an operand in row-major order, and as many zero points."""
        scales, points = self._scales(scale), [0]
        if self.has(zero_point):
            points = self._points(zero_point)
        if len(points) not in (1, len(scales)):
            raise self.error(f"{len(points)} zero points and {len(scales)} scales")
        return scales, points * (len(scales) if len(points) == 1 else 1)

    def _parameters(
        self,
        scale: int,
        zero_point: int,
        dtype: type[np.floating[Any]] = np.float32,
    ) -> tuple[list[float], list[int], bool]:
        scales = self._scales(scale, dtype)
        if not self.has(zero_point):
            type = self.graph.stored_type(self.node)
            return scales, [0], self._is_signed(type)
        zeros = self.constant(zero_point, "zero point")
        signed = self._is_signed(zeros.type)
        return scales, self._points(zero_point), signed

    def _scales(
        self, number: int, dtype: type[np.floating[Any]] = np.float32
    ) -> list[float]:
        name = self.name(number)
        scales = self.array(number, "scale")
        if scales.dtype != dtype:
            raise self.error(
                f"scale {name!r} of type {scales.dtype} is not supported; expected"
                " float32"
            )
        flat = cast(list[float], scales.reshape(-1).tolist())
        for value in flat:
            if not (math.isfinite(value) and value > 0):
                raise self.error(
                    f"scale {value} of {name!r} is out of range: finite and above 0"
                )
        return flat

    def _points(self, number: int) -> list[int]:
        return cast(list[int], self.array(number, "zero point").reshape(-1).tolist())

    def _is_signed(self, type: str) -> bool:
        if type not in STORED_TYPES:
            raise self.error(
                f"quantized values of type {type} are not supported; expected"
                f" {' or '.join(STORED_TYPES)}",
                help="quantize with 8 bits: onnxruntime.quantization.QuantType.QUInt8"
                " or QInt8",
            )
        return STORED_TYPES[type]

    def stored(self, number: int, scale: int, zero_point: int) -> Value:
        """A quantized operand with one scale, which two other operands give."""
        return self.stored_as(number, self.quantization(scale, zero_point))

    def stored_as(self, number: int, element: QuantizedType) -> Value:
        """A quantized operand with these scales, whatever was said of it before."""
        name = self.name(number)
        if self.is_constant(number):
            array = self.stored_array(number, element)
            ssa = self.builder.constant(array, element, self.place(name))
            return Value(ssa, identity(array.ndim))
        value = self.importer.value(name, self)
        given = value.element
        if value.is_real or not isinstance(given, QuantizedType):
            raise self.error(f"operand {name!r} is not quantized")
        if given.signed != element.signed:
            raise self.error(
                f"operand {name!r} is stored as {given}, its zero point as {element}"
            )
        return self.builder.as_stored(value, element, self.place())

    def stored_array(self, number: int, element: QuantizedType) -> Array:
        """The elements of a constant that `element` describes."""
        constant = self.constant(number, "operand")
        if constant.type != ("INT8" if element.signed else "UINT8"):
            raise self.error(
                f"{self.name(number)!r} is of type {constant.type}, its zero point"
                f" says {element}"
            )
        return self.array(number, "operand")

    # Attributes and results

    @property
    def attributes(self) -> Mapping[str, object]:
        return self.node.attributes

    def axes(self, number: int, rank: int) -> list[int] | None:
        """The dimensions of an attribute, or since some opset of an operand; None if
        none are given."""
        if self.has(number):
            given = self.integers(number, "axes")
        elif "axes" in self.node.attributes:
            given = self.integer_list("axes", None)
        else:
            return None
        found = [self.axis(value, rank, "axes") for value in given]
        if len(set(found)) != len(found):
            raise self.error(f"axes {given} repeat a dimension")
        return found

    def check_elements(self, count: int) -> None:
        """Refuse to hold too many numbers between the steps of one operator."""
        self.check_range("number of elements", count, 1, MAX_ELEMENTS)

    def place(self, name: str | None = None) -> Place:
        """The name and location of the operations that make a value; by default the
        result."""
        wanted = next(filter(None, self.node.outputs), "") if name is None else name
        return Place(wanted, self.location, self.error)

    def emit(
        self, operation: Operation, suffix: str | None = None, number: int = 0
    ) -> SSAValue:
        """Add an operation; with `suffix` it is a step on the way to the result."""
        is_step = suffix is not None and not number
        name = None if is_step else self.result(number)
        return self.builder.emit(operation, self.place(name), suffix)

    def has_result(self, number: int) -> bool:
        """Whether an optional result is there."""
        return number < len(self.node.outputs) and bool(self.node.outputs[number])

    def result(self, number: int = 0) -> str:
        if not self.has_result(number):
            raise self.error(f"result {number} is missing")
        return self.node.outputs[number]

    def define(self, value: Value, number: int = 0) -> None:
        """The value of a result."""
        self.importer.define(self.result(number), value, self)

    def given(self) -> Value:
        """The value of the first result, after it was defined."""
        return self.importer.value(self.result(0), self)

    def finish(self, operation: Operation, like: Value) -> None:
        """Add the operation whose result is the node's, in the order of an operand."""
        self.define(replace(like, ssa=self.emit(operation), is_real=False))

    def typed(
        self, element: Element, shape: Sequence[int], order: Order
    ) -> TensorType[Element]:
        """The type of a value of the model's `shape`, stored in this order."""
        for size in shape:
            self.check_range("dimension of the result", size, 1, MAX_ELEMENTS)
        return TensorType(element, stored_shape(shape, order))

    def quantizer(self) -> NodeContext | None:
        """The quantization that is the only user of the only result, if it is."""
        (name,) = self.node.outputs
        users = self.graph.users(name)
        if len(users) != 1 or self.graph.is_returned(name):
            return None
        (user,) = users
        return NodeContext(self.importer, user) if user.kind == QUANTIZE else None
