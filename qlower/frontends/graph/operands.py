"""The operands and attributes of one node, as the file has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import f32, i1, i32, i64

from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType

from ..accessor import Operands
from ..site import Site
from .nodes import Graph, Node
from .schema import MAX_ELEMENTS, Array, Constant
from .values import Element, FunctionBuilder, Value

if TYPE_CHECKING:
    from .blocks import Blocks


STORED_TYPES = {"INT8": True, "UINT8": False}
"""Types of quantized values that can be had, and whether they are signed."""

Storage: TypeAlias = tuple[int, bool]
"""The bits of stored integers, and whether they are signed."""

BYTES: Mapping[str, Storage] = {name: (8, STORED_TYPES[name]) for name in STORED_TYPES}
"""The quantized values that operators on integers have in most formats."""

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
    """The reading of groups (`import_options.QDQ_READINGS`)."""
    storages: Mapping[str, Storage]
    """The quantized values that operators on integers have in this format."""
    is_quantized: bool
    """Whether the file has quantized values at all."""
    computed: str
    """The advice to a format's users on making constants of what a model computes."""
    blocks: Blocks
    """Which real images lie in blocks of channels."""
    narrow: Mapping[str, str]
    """The types of real numbers of fewer bits than float32, by names."""
    remarks: list[str]
    """For users, on single nodes."""

    def value(self, name: str, site: Site) -> Value:
        """A value that is computed, or an input."""
        ...

    def define(self, name: str, value: Value, site: Site) -> None:
        """Make `value` the value of this name, which must not have one yet."""
        ...

    def way_out(self, node: Node) -> str | None:
        """The advice for a model without a node."""
        ...

    def skip(self, node: Node) -> None:
        """Note that a node is part of what another node became."""
        ...

    def charge(self, work: int) -> None:
        """Refuse a file whose nodes use the same things again and again."""
        ...


class NodeOperands(Operands):
    """One node of the graph.

    Operands and results are numbered as in the file. Every accessor checks what it
    returns and raises a `QlowerError` that names node, operand and value.
    """

    def __init__(self, importer: Importer, node: Node) -> None:
        name = f" {node.name!r}" if node.name else ""
        operator = importer.graph.written_operator(node)
        model = importer.graph.model
        super().__init__(
            model.filename,
            node.index,
            f"{model.noun} {node.index} {operator}{name}",
            column=int(model.is_text),
        )
        self.importer = importer
        self.graph = importer.graph
        self.builder = importer.builder
        self.node = node
        self.operator_name = node.kind
        self.count, self.result_count = len(node.inputs), len(node.outputs)

    def error(self, message: str, *, help: str | None = None) -> QlowerError:
        """Return an error as any site does. Where no value is named the node's result
        is, and the help says how the model works without the node."""
        names = [name for name in (*self.node.outputs, *self.node.inputs) if name]
        if names and not any(
            repr(name) in f"{self.subject} {message}" for name in names
        ):
            message = f"{message} (of {names[0]!r})"
        return super().error(message, help=help or self.importer.way_out(self.node))

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
                f"{what} {name!r} must be a constant", help=self.importer.computed
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

    def shape(self, number: int, rank: int | None = None) -> tuple[int, ...]:
        """The shape of an operand in the model."""
        name = self.name(number)
        if name in self.graph.constants:
            shape = self.graph.constants[name].shape
        else:
            shape = self.importer.value(name, self).shape
        self.checked_rank(shape, number, rank)
        return shape

    def quantization(self, scale: int, zero_point: int) -> QuantizedType:
        """The single scale and zero point in two operands."""
        scales, zeros, storage = self._parameters(scale, zero_point)
        if len(scales) != 1 or len(zeros) != 1:
            raise self.error(
                f"{len(scales)} scales and {len(zeros)} zero points of"
                f" {self.name(scale)!r} are not supported here; expected one"
            )
        return QuantizedType.per_tensor(*storage, scales[0], zeros[0])

    def axis_quantization(
        self, scale: int, zero_point: int, axis: int, size: int
    ) -> QuantizedType:
        """One scale, or one for each of the `size` indices of `axis`."""
        scales, zeros, storage = self._parameters(scale, zero_point)
        for what, count in (("scales", len(scales)), ("zero points", len(zeros))):
            if count not in (1, size):
                raise self.error(
                    f"{count} {what} of {self.name(scale)!r}; expected 1 or {size}"
                )
        if len(scales) == len(zeros) == 1:
            return QuantizedType.per_tensor(*storage, scales[0], zeros[0])
        self.importer.charge(size)
        scales *= size if len(scales) == 1 else 1
        zeros *= size if len(zeros) == 1 else 1
        return QuantizedType.per_axis(*storage, axis, scales, zeros)

    def steps(self, scale: int, zero_point: int) -> tuple[list[float], list[int]]:
        """The scales of an operand in row-major order, and as many zero points."""
        scales, points = self._scales(scale), [0]
        if self.has(zero_point):
            points = self._points(zero_point)
        if len(points) not in (1, len(scales)):
            raise self.error(f"{len(points)} zero points and {len(scales)} scales")
        return scales, points * (len(scales) if len(points) == 1 else 1)

    def _parameters(
        self, scale: int, zero_point: int
    ) -> tuple[list[float], list[int], Storage]:
        scales = self._scales(scale)
        if not self.has(zero_point):
            type = self.graph.stored_type(self.node)
            return scales, [0], self._storage(type)
        zeros = self.constant(zero_point, "zero point")
        storage = self._storage(zeros.type)
        return scales, self._points(zero_point), storage

    def _scales(self, number: int) -> list[float]:
        name = self.name(number)
        scales = self.array(number, "scale")
        if scales.dtype != np.float32:
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

    def _storage(self, type: str) -> Storage:
        storages = self.importer.storages
        if type not in storages:
            raise self.error(
                f"quantized values of type {type} are not supported; expected"
                f" {' or '.join(storages)}",
                help="quantize with 8 bits: onnxruntime.quantization.QuantType.QUInt8"
                " or QInt8",
            )
        return storages[type]

    def narrow_type(self, number: int) -> str:
        """The type of an operand of fewer bits than float32, "" for another."""
        return (
            self.importer.narrow.get(self.name(number), "") if self.has(number) else ""
        )

    def stored_array(self, number: int, element: QuantizedType) -> Array:
        """The elements of a constant that `element` describes."""
        constant = self.constant(number, "operand")
        storage = element.storage_width, element.signed
        if self.importer.storages.get(constant.type) != storage:
            raise self.error(
                f"{self.name(number)!r} is of type {constant.type}, its zero point"
                f" says {element}"
            )
        return self.array(number, "operand")

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
