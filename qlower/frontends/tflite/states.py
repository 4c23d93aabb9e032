"""The values that a model keeps from one call to the next, while its function is
made."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    NameLoc,
    StringAttr,
    TensorType,
)
from xdsl.ir import Block, SSAValue

from ..graph.values import hint
from ..site import Site
from .schema import Tensor
from .types import Element, constant_value


@dataclass(frozen=True, slots=True)
class _Kept:
    """A state as an argument of the function, and the value that it has next."""

    type: TensorType[Element]
    initial: DenseIntOrFPElementsAttr


class States:
    """The values that the model's states have at this point of the function.

    A state is an argument of the function from when it is first read on, unless it has
    been written before: then no call sees what another one left.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self._kept: dict[str, _Kept] = {}
        self._values: dict[str, SSAValue] = {}

    def read(
        self,
        name: str,
        tensor: Tensor,
        type: TensorType[Element],
        initial: bytes,
        site: Site,
    ) -> SSAValue:
        """The value of the state `name`, which begins as the stored elements `initial`.

        An argument that is made for it has `type`, and the location of `tensor`.
        """
        if name not in self._values:
            dense = constant_value(tensor, initial, type, site)
            argument = self._block.insert_arg(type, len(self._block.args))
            argument.location = NameLoc(StringAttr(name), site.location)
            self._kept[name] = _Kept(type, dense)
            self._values[name] = hint(argument, name)
        return self._values[name]

    def find(self, name: str) -> SSAValue | None:
        """The value of a state that has one by now."""
        return self._values.get(name)

    def type_of(self, name: str) -> TensorType[Element] | None:
        """The type of a state that the function takes."""
        kept = self._kept.get(name)
        return None if kept is None else kept.type

    def values(self) -> dict[str, SSAValue]:
        """The states that were read or written so far, and what they have by now."""
        return dict(self._values)

    def write(self, name: str, value: SSAValue) -> None:
        """Give a state another value, of its type if it has one."""
        self._values[name] = value

    @property
    def names(self) -> list[str]:
        """The states that are arguments, in order."""
        return list(self._kept)

    @property
    def left(self) -> list[SSAValue]:
        """The values that the next call takes for these arguments."""
        return [self._values[name] for name in self._kept]

    @property
    def initial(self) -> ArrayAttr[DenseIntOrFPElementsAttr]:
        """The values of these arguments in the first call."""
        return ArrayAttr(kept.initial for kept in self._kept.values())
