"""Constraints on the types and properties of `qnn` ops, and fields declared by them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from typing_extensions import TypeVar
from xdsl.dialects.builtin import (
    Float32Type,
    IntegerType,
    TensorType,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrConstraint,
    IntConstraint,
    operand_def,
    opt_operand_def,
    var_operand_def,
)
from xdsl.irdl.constraints import VerificationContext
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ..quant import QuantizedType
from ..types import integer_range, is_tensor_type

MAX_ELEMENTS = 2**31 - 1
"""The largest tensor: an element is reached by a signed 32-bit index."""

NARROW = 4
"""Bits of weights that two share a byte; they are signed."""

UP_TO_WORDS = (NARROW, 8, 16)
"""Bits of weights where those of 16 may meet an input of 16."""

QuantizedTensor: TypeAlias = TensorType[QuantizedType]

Value: TypeAlias = SSAValue | Operation
"""An operand, as constructors accept it."""

_Attr = TypeVar("_Attr", bound=Attribute, covariant=True)


class LeafConstraint(AttrConstraint[_Attr]):
    """A constraint without type variables."""

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> AttrConstraint[_Attr]:
        return self


def operand_of(constraint: AttrConstraint[_Attr]) -> SSAValue[_Attr]:
    """An operand that Python knows to have the constraint's type."""
    return cast(SSAValue[_Attr], operand_def(constraint))


def optional_operand_of(constraint: AttrConstraint[_Attr]) -> SSAValue[_Attr] | None:
    return cast(SSAValue[_Attr] | None, opt_operand_def(constraint))


def operands_of(constraint: AttrConstraint[_Attr]) -> tuple[SSAValue[_Attr], ...]:
    return cast(tuple[SSAValue[_Attr], ...], var_operand_def(constraint))


def check_static_tensor(type: Attribute, rank: int | None) -> Attribute:
    """The element type of a ranked, static tensor of a size that can be addressed."""
    if not is_tensor_type(type):
        raise VerifyException(f"{type} is not a ranked tensor")
    shape = type.get_shape()
    if rank is not None and len(shape) != rank:
        raise VerifyException(f"{type} has rank {len(shape)}, expected {rank}")
    for index, size in enumerate(shape):
        if size < 1:
            raise VerifyException(
                f"dimension {index} of {type} is not a fixed size of at least 1"
            )
    if (count := math.prod(shape)) > MAX_ELEMENTS:
        raise VerifyException(
            f"{type} has {count} elements, more than the {MAX_ELEMENTS} supported"
        )
    return type.element_type


def check_quantization(
    element: Attribute,
    allow_axis: bool,
    expressed: Collection[Attribute] = (f32,),
    widths: Sequence[int] = (8, 16),
) -> QuantizedType:
    """The quantization of activations or, with `allow_axis`, weights."""
    quantization = check_storage(element, widths, expressed)
    if quantization.is_sub_channel:
        raise VerifyException(
            "sub-channel quantization is not supported: use per tensor or per axis"
        )
    if not allow_axis and not quantization.is_per_tensor:
        raise VerifyException(
            "per-axis quantization is only supported for weights: use per tensor"
        )
    return quantization


def check_storage(
    element: Attribute,
    widths: Sequence[int],
    expressed: Collection[Attribute] = (f32,),
) -> QuantizedType:
    """Check the quantization of values that are stored in one of these widths and stand
    for values of the expressed type."""
    if not isinstance(element, QuantizedType):
        raise VerifyException(f"element type {element} is not !quant.uniform")
    storage = element.data.storage
    signs = {width: "iu" if width in (8, 16) else "i" for width in widths}
    legal = [f"{sign}{width}" for width in widths for sign in signs[width]]
    if storage.name not in legal:
        raise VerifyException(
            f"storage {storage.name} is not supported yet: {' or '.join(legal)}"
        )
    if element.expressed_type not in expressed:
        raise VerifyException(
            f"expressed type {element.expressed_type} is not supported yet: "
            f"{' or '.join(map(str, expressed))}"
        )
    low, high = integer_range(storage.width, storage.signed)
    for zero_point in element.zero_points:
        if not low <= zero_point <= high:
            raise VerifyException(
                f"zero point {zero_point} is outside [{low}, {high}] "
                f"of its storage type {storage.name}"
            )
    return element


@dataclass(frozen=True)
class Quantized(LeafConstraint[QuantizedTensor]):
    """A static tensor of quantized values with one scale and zero point."""

    rank: int | None = None
    expressed: tuple[Attribute, ...] = (f32,)
    widths: tuple[int, ...] = (8, 16)

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        element = check_static_tensor(attr, self.rank)
        check_quantization(
            element, allow_axis=False, expressed=self.expressed, widths=self.widths
        )


class Stored(LeafConstraint[QuantizedTensor]):
    """A static tensor of quantized values of 8 or 16 bits, whose scales and zero points
    may be one, or vary along an axis or from block to block."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        element = check_static_tensor(attr, None)
        quantization = check_storage(element, (8, 16))
        if quantization.is_per_tensor:
            return
        assert isa(attr, QuantizedTensor)
        shape = attr.get_shape()
        blocks = dict(quantization.data.blocks)
        if max(blocks) >= len(shape):
            raise VerifyException(
                f"quantized dimension {max(blocks)} is outside the rank {len(shape)}"
            )
        counts = [
            -(-size // blocks.get(dimension, size))
            for dimension, size in enumerate(shape)
        ]
        if math.prod(counts) != len(quantization.scales):
            raise VerifyException(
                f"{len(quantization.scales)} scales do not match the "
                f"{math.prod(counts)} blocks of {list(shape)}"
            )


@dataclass(frozen=True)
class Weight(LeafConstraint[QuantizedTensor]):
    """
    A static tensor of quantized values with one scale and zero point, or, where it has
    `axis`, one for each index of that dimension. Without `axis`, any dimension.
    """

    rank: int | None = None
    axis: int | None = None
    expressed: tuple[Attribute, ...] = (f32,)
    widths: tuple[int, ...] = (NARROW, 8)

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        element = check_static_tensor(attr, self.rank)
        quantization = check_quantization(
            element, allow_axis=True, expressed=self.expressed, widths=self.widths
        )
        axis = quantization.axis
        if axis is None:
            return
        assert isa(attr, QuantizedTensor)
        shape = attr.get_shape()
        if self.axis is not None and axis != self.axis:
            raise VerifyException(
                f"weights are quantized along dimension {axis}, expected {self.axis}"
            )
        if axis >= len(shape):
            raise VerifyException(
                f"quantized dimension {axis} is outside the rank {len(shape)}"
            )
        if (count := len(quantization.scales)) != shape[axis]:
            raise VerifyException(
                f"{count} scales do not match the size {shape[axis]} "
                f"of quantized dimension {axis}"
            )


class QuantizedOrPlain(
    LeafConstraint[TensorType[QuantizedType | Float32Type | IntegerType]]
):
    """A static tensor of f32, signless integers, or per-tensor quantized values."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        element = check_static_tensor(attr, None)
        if not isinstance(element, Float32Type | IntegerType):
            check_quantization(element, allow_axis=False)


@dataclass(frozen=True)
class QuantizedOrSums(LeafConstraint[TensorType[QuantizedType | IntegerType]]):
    """A static tensor of per-tensor quantized values, or of i32 accumulators."""

    rank: int | None = None
    expressed: tuple[Attribute, ...] = (f32,)

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if (element := check_static_tensor(attr, self.rank)) != i32:
            check_quantization(element, allow_axis=False, expressed=self.expressed)


@dataclass(frozen=True)
class Real(LeafConstraint[TensorType[Float32Type]]):
    """A static tensor of f32."""

    rank: int | None = None

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if (element := check_static_tensor(attr, self.rank)) != f32:
            raise VerifyException(f"element type {element} is not f32")


@dataclass(frozen=True)
class Integral(LeafConstraint[TensorType[IntegerType]]):
    """A static tensor of signless integers of one of the `widths`."""

    widths: tuple[int, ...]
    rank: int | None = None

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        element = check_static_tensor(attr, self.rank)
        if element not in (legal := [IntegerType(width) for width in self.widths]):
            raise VerifyException(
                f"element type {element} is not {' or '.join(map(str, legal))}"
            )


class Bias(LeafConstraint[TensorType[IntegerType | Float32Type]]):
    """One i32 or f32 for each output channel; or an i64, with a 16-bit input."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if (element := check_static_tensor(attr, 1)) not in (i32, i64, f32):
            raise VerifyException(f"element type {element} is not i32, i64 or f32")
