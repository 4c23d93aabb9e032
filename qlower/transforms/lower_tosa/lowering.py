"""The state of lowering one function of TOSA, and the steps that operations share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from qlower.dialects.tosa.base import known_integers
from qlower.dialects.types import element_type, is_tensor_type
from qlower.emit.tensors import constant_of, reshape
from qlower.interp.values import Array
from qlower.model.nests import Index, Nest
from qlower.transforms.lowered_function import StatedFunction


def signless(type: Attribute) -> Attribute:
    """A type with integers that say nothing of a sign, as lowered code has them."""
    if is_tensor_type(type):
        return TensorType(signless(type.element_type), type.get_shape())
    if isa(type, IntegerType):
        return IntegerType(type.width.data)
    return type


def integer_type(type: Attribute) -> IntegerType:
    """A tensor's element type, or a scalar type, that is known to be of integers."""
    element = element_type(type)
    assert isa(element, IntegerType)
    return element


def is_unsigned(type: Attribute) -> bool:
    """Whether a tensor's type says that its integers have no sign."""
    element = element_type(type)
    return isa(element, IntegerType) and element.signedness.data is Signedness.UNSIGNED


class Lowering(StatedFunction):
    """Lowers the operations of one function of TOSA."""

    contract = "tosa"
    folds_movements = True
    convert = staticmethod(signless)

    @staticmethod
    def note(type: Attribute) -> Attribute | None:
        element = element_type(type)
        return element if is_unsigned(type) else None

    def read(self, nest: Nest, source: SSAValue, indices: Sequence[Index]) -> SSAValue:
        """An element of an operand; where all are the same, a constant of the nest."""
        known = self.constant(source)
        if known is not None and known.size == 1:
            return nest.constant(known.reshape(()), element_type(source.type))
        return nest.input(self.value(source), indices)

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A tensor of another shape, folded where its elements are known."""
        known = constant_of(value)
        if known is None or tuple(shape) == known.shape:
            return reshape(self.emit, value, shape)
        return self.emit.constant(known.reshape(shape), element_type(value.type))


def known_number(name: str, value: SSAValue) -> int:
    """The one number of an operand that is a constant."""
    (number,) = known_integers(name, value)
    return number


def array(number: int, dtype: type[np.generic] = np.int32) -> Array:
    """A number as a rule takes it."""
    return np.array(number, dtype)
