"""The tensors of a file, and what they are in the function under construction."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import NameLoc, StringAttr, TensorType
from xdsl.ir import Operation, SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType

from ..budget import Budget
from ..graph.values import FunctionBuilder, Origin, distinct, hint
from ..site import Site
from .schema import Model, Operator, Subgraph, Tensor
from .states import States
from .types import Element, constant_value, tensor_type
from .variables import Variables, written_variables

NO_BUFFER = 0
"""The buffer of tensors without data; the schema says that it is empty, and LiteRT
reads no data from it."""

OPERATION_COST = 16
"""Units of work that an operation takes of the file's budget."""


class TensorTable(ABC):
    """The tensors of a model: computed, constant, or still without a value.

    `model` is what is imported; tensors of subgraphs are added to `tensors` and to
    `names`. `users` are the main graph's operators that take each tensor.
    """

    @abstractmethod
    def way_out(self, operator: Operator) -> str:
        """The advice for a model without an operator."""

    @abstractmethod
    def subgraph(self, number: int, site: Site) -> Subgraph:
        """A subgraph of the file other than the first, or an error if there is none."""

    @abstractmethod
    def inline(self, number: int, arguments: Sequence[int], site: Site) -> list[int]:
        """Add what a subgraph computes of tensors; returns its results' tensors."""

    def __init__(self, model: Model, names: dict[int, str], site: Site) -> None:
        self.model = model
        self.names = names
        self.site = site
        self.tensors = list(model.tensors)
        self.taken = set(names.values())
        self.users: dict[int, list[Operator]] = {}
        for operator in model.operators:
            for index in dict.fromkeys(operator.inputs):
                self.users.setdefault(index, []).append(operator)
        self.budget = Budget(model.size, site)
        self.builder = FunctionBuilder(lambda: self.budget.charge(OPERATION_COST))
        self.block = self.builder.block
        self.states = States(self.block)
        self.variables = Variables(written_variables(model, model.others))
        self.computed: dict[int, SSAValue] = {}
        self.constants: dict[tuple[int, TensorType[Element]], SSAValue] = {}
        self.known: dict[int, bytes] = {}
        self.types: dict[tuple[int, tuple[int, ...]], TensorType[Element]] = {}
        self.initial: dict[int, bytes] = {}
        self.shapes: dict[int, tuple[int, ...]] = {}
        self.is_resized = any(-1 in tensor.signature for tensor in model.tensors)

    def named_location(self, tensor: Tensor, site: Site) -> NameLoc:
        return NameLoc(StringAttr(self.name(tensor)), site.location)

    def tensor(self, index: int, site: Site) -> Tensor:
        """The entry `index` of the tensor table, or an error if there is none."""
        site.check_range("tensor index", index, 0, len(self.tensors) - 1)
        tensor, shape = self.tensors[index], self.shapes.get(index)
        return tensor if shape is None else replace(tensor, shape=shape)

    def added(self, tensor: Tensor) -> Tensor:
        """Add a tensor to the table, by a name of its own; returns its entry."""
        index = len(self.tensors)
        self.tensors.append(replace(tensor, index=index))
        self.names[index] = distinct(tensor.name, f"#{index}", self.taken)
        return self.tensors[index]

    def type(self, tensor: Tensor, site: Site) -> TensorType[Element]:
        """The ranked type of a tensor, whose many scales are checked once."""
        key = (tensor.index, tensor.shape)
        if key not in self.types:
            self.types[key] = tensor_type(tensor, site)
        return self.types[key]

    def name(self, tensor: Tensor) -> str:
        """The name of `tensor`, unique in the model."""
        return self.names[tensor.index]

    def resize(self, tensor: Tensor, shape: tuple[int, ...], site: Site) -> None:
        """Give a result the shape that follows from the operands'; it differs from
        the file's only where the file leaves shapes open."""
        if tensor.shape == shape:
            return
        if not (self.is_resized or self.shapes or -1 in tensor.signature):
            raise site.error(
                f"{tensor}: shape {list(tensor.shape)}, expected {list(shape)}"
            )
        self.shapes[tensor.index] = shape

    def know(
        self, tensor: Tensor, data: bytes, shape: tuple[int, ...], site: Site
    ) -> None:
        """Make a constant the value of `tensor`, which must not have one yet."""
        self.check_undefined(tensor, site)
        self.budget.charge(math.prod(shape))
        self.resize(tensor, shape, site)
        self.known[tensor.index] = data

    def initially(self, tensor: Tensor) -> bytes | None:
        """The bytes that a variable tensor has before the first call, if not zeros."""
        return self.initial.get(tensor.index)

    def constant(self, tensor: Tensor, site: Site) -> bytes | None:
        """The bytes of `tensor`; None when it is not constant."""
        if tensor.index in self.known:
            return self.known[tensor.index]
        if tensor.buffer == NO_BUFFER:
            return None
        buffers = self.model.buffers
        site.check_range(f"{tensor}: buffer index", tensor.buffer, 0, len(buffers) - 1)
        return buffers[tensor.buffer] or None

    def value(self, tensor: Tensor, type: TensorType[Element], site: Site) -> SSAValue:
        """The value of `tensor`: one computed before, or a constant of type `type`."""
        if tensor.index in self.computed:
            return self.computed[tensor.index]
        data = self.constant(tensor, site)
        if data is None and tensor.is_variable:
            if (state := self.states.find(self.name(tensor))) is not None:
                return state
            raise site.error(
                f"{tensor}: a variable tensor is not supported here; expected"
                " the state of an operator"
            )
        if data is None:
            raise site.error(f"{tensor}: used before it is computed")
        key = (tensor.index, type)
        if key not in self.constants:
            value = constant_value(tensor, data, type, site)
            if isinstance(type.element_type, QuantizedType):
                operation = qnn.ConstantOp(value, type)
            else:
                operation = arith.ConstantOp(value)
            place = Origin(self.name(tensor), site.location, site.error)
            self.constants[key] = self.builder.emit(operation, place)
        return self.constants[key]

    @contextmanager
    def apart(self) -> Generator[None]:
        """Let constants be those of a function of its own meanwhile."""
        outer, self.constants = self.constants, {}
        try:
            yield
        finally:
            self.constants = outer

    def append(self, operation: Operation) -> None:
        """Add `operation` at the end of the function."""
        self.budget.charge(OPERATION_COST)
        self.builder.block.add_op(operation)

    def define(self, tensor: Tensor, value: SSAValue, site: Site) -> None:
        """Make `value` the value of `tensor`, which must not have one yet."""
        self.check_undefined(tensor, site)
        self.computed[tensor.index] = hint(value, self.name(tensor))

    def check_undefined(self, tensor: Tensor, site: Site) -> None:
        if tensor.index in self.computed or tensor.index in self.known:
            raise site.error(f"{tensor}: computed a second time")
        if tensor.is_variable:
            raise site.error(
                f"{tensor}: a variable tensor is not supported here; expected"
                " the state of an operator"
            )
        if self.constant(tensor, site) is not None:
            raise site.error(f"{tensor}: a result that is a constant")
