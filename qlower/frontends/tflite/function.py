"""What the importers of operators may ask of the function that they add to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ..site import Site
from .schema import Model, Operator, Subgraph, Tensor
from .states import States
from .types import Element
from .variables import Variables


class Function(Protocol):
    """The function under construction."""

    @property
    def tensors(self) -> Sequence[Tensor]:
        """The tensor table, with what subgraphs add to it."""
        ...

    @property
    def model(self) -> Model:
        """What is imported."""
        ...

    @property
    def users(self) -> Mapping[int, Sequence[Operator]]:
        """The main graph's operators that take each tensor."""
        ...

    def way_out(self, operator: Operator) -> str:
        """How the model goes without an operator."""
        ...

    def tensor(self, index: int, site: Site) -> Tensor:
        """The entry `index` of the tensor table, or an error if there is none."""
        ...

    def name(self, tensor: Tensor) -> str:
        """The name of `tensor`, unique in the model."""
        ...

    def constant(self, tensor: Tensor, site: Site) -> bytes | None:
        """The bytes of `tensor`; None when it is not constant."""
        ...

    def initially(self, tensor: Tensor) -> bytes | None:
        """The bytes that a variable tensor has before the first call, if not zeros."""
        ...

    def value(self, tensor: Tensor, type: TensorType[Element], site: Site) -> SSAValue:
        """The value of `tensor`: one computed before, or a constant of type `type`."""
        ...

    def resize(self, tensor: Tensor, shape: tuple[int, ...], site: Site) -> None:
        """Give a result the shape that follows from the operands'.

        That is another than the file's only where the file leaves shapes open.
        """
        ...

    @property
    def states(self) -> States:
        """What the model keeps between calls."""
        ...

    @property
    def variables(self) -> Variables:
        """The resources of the model."""
        ...

    def subgraph(self, number: int, site: Site) -> Subgraph:
        """A subgraph of the file besides the first, or an error if there is none."""
        ...

    def inline(self, number: int, arguments: Sequence[int], site: Site) -> list[int]:
        """Add what a subgraph computes of tensors; returns its results' tensors."""
        ...

    def know(
        self, tensor: Tensor, data: bytes, shape: tuple[int, ...], site: Site
    ) -> None:
        """Make a constant the value of `tensor`, which must not have one yet."""
        ...

    def append(self, operation: Operation) -> None:
        """Add `operation` at the end of the function."""
        ...

    def define(self, tensor: Tensor, value: SSAValue, site: Site) -> None:
        """Make `value` the value of `tensor`, which must not have one yet."""
        ...
