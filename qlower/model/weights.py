"""The weights and biases of a model: read them, exchange them, or make them inputs.

They are the constants that convolutions and linear layers multiply by and add. A model
whose weights are inputs has one machine code for all of their values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    Float32Type,
    FunctionType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Operation, SSAValue

from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import NAME, STATE
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.layers import is_constant, layer_name, layers
from qlower.model.signature import Array

Role: TypeAlias = Literal["weight", "bias"]
Contraction: TypeAlias = qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp


@dataclass(frozen=True)
class WeightSpec:
    """The weight or the bias of a layer, and its quantization.

    `real = scales * (stored - zero_points)` with scales and zero points along dimension
    `axis`, or one for all where it is None; `low` and `high` are the least and the
    largest stored value. A bias of real numbers has no scales. `file_name` is the name
    that the model's file has for the tensor, where it has one. `layers` are all that
    read it, the first being `layer`.
    """

    layer: str
    role: Role
    stored: Array
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None
    low: int
    high: int
    file_name: str | None
    layers: tuple[str, ...]

    @property
    def name(self) -> str:
        """The layer's name and the role, with a dot between."""
        return f"{self.layer}.{self.role}"

    @property
    def can_be_packed(self) -> bool:
        """Whether code may take it `PACKED`: a weight of 8 bits, each of its channels
        having some."""
        is_byte = self.stored.dtype.itemsize == 1 and self.high - self.low > 15
        channels = 1 if self.axis is None else self.stored.shape[self.axis]
        return self.role == "weight" and is_byte and self.stored.size >= 2 * channels

    def along_axis(self, values: Sequence[float]) -> Array:
        """Scales or zero points as float64, in a shape that broadcasts."""
        array = np.asarray(values, np.float64)
        if self.axis is None:
            return array.reshape(())
        shape = [1] * self.stored.ndim
        shape[self.axis] = -1
        return array.reshape(shape)

    @property
    def real(self) -> Array:
        """The real values of the stored ones, as float64."""
        stored = self.stored.astype(np.float64)
        if not self.scales:
            return stored
        centred = stored - self.along_axis(self.zero_points)
        return centred * self.along_axis(self.scales)

    def quantize(self, real: Array) -> Array:
        """The stored values nearest to real ones: ties to even, clipped."""
        if self.scales:
            steps = np.rint(real / self.along_axis(self.scales))
            real = np.clip(
                steps + self.along_axis(self.zero_points), self.low, self.high
            )
        return real.astype(self.stored.dtype)


def weight_specs(module: ModuleOp) -> tuple[WeightSpec, ...]:
    """All weights and biases that are constants, in the order of the layers."""
    return tuple(spec for spec, _ in _constants(module))


def weight_values(module: ModuleOp) -> tuple[SSAValue, ...]:
    """The constants themselves, in the order of `weight_specs`."""
    return tuple(value for _, op in _constants(module) for value in op.results)


def constant_real(value: SSAValue) -> Array:
    """The real values of any constant that layers read, as float64."""
    assert isinstance(value.owner, Operation)
    stored = stored_elements(value.owner).astype(np.float64)
    element = element_type(value.type)
    if not isinstance(element, QuantizedType):
        return stored
    shape = [-1 if axis == element.axis else 1 for axis in range(stored.ndim)]
    scales, zero_points = np.array(element.scales), np.array(element.zero_points)
    if element.axis is not None:
        scales, zero_points = scales.reshape(shape), zero_points.reshape(shape)
    return (stored - zero_points) * scales


def open_weights(model: Model) -> Model:
    """A copy of the model that takes its weights and biases as inputs.

    They follow the model's own inputs, in the order of `weight_specs` and under those
    names. Raises `QlowerError` for a model that keeps something between calls.
    """
    function = main_function(model.module)
    if STATE in function.attributes:
        raise QlowerError(
            "the weights of a model that keeps values between calls can't be inputs",
            function.location,
        )
    names = [spec.name for spec in model.inputs]
    module = model.module.clone()
    function = main_function(module)
    block = function.body.block
    for spec, constant in _constants(module):
        (value,) = constant.results
        argument = block.insert_arg(value.type, len(block.args))
        value.replace_all_uses_with(argument)
        block.erase_op(constant)
        names.append(spec.name)
    results = list(function.function_type.outputs)
    function.function_type = FunctionType.from_lists(list(block.arg_types), results)
    function.arg_attrs = ArrayAttr(
        DictionaryAttr({NAME: StringAttr(name)}) for name in names
    )
    return replace(model, module=module, path=None)


def with_weights(model: Model, stored: Mapping[str, Array]) -> Model:
    """A copy of the model with other stored weights and biases, by `WeightSpec.name`.

    Each array has the shape and the type of the one it replaces, else `QlowerError`; so
    has a name that the model doesn't have. The copy is no longer its file's model.
    """
    module = model.module.clone()
    by_name = {spec.name: (spec, op) for spec, op in _constants(module)}
    for name, array in stored.items():
        if name not in by_name:
            raise QlowerError(
                f"the model has no {name!r}", help=f"it has {', '.join(by_name)}"
            )
        spec, op = by_name[name]
        wanted = spec.stored
        if array.shape != wanted.shape or array.dtype != wanted.dtype:
            raise QlowerError(
                f"{name!r} is {list(array.shape)} of {array.dtype}, the model has "
                f"{list(wanted.shape)} of {wanted.dtype}"
            )
        dense = _dense(op)
        data = BytesAttr(np.ascontiguousarray(array).tobytes())
        op.properties["value"] = DenseIntOrFPElementsAttr(dense.type, data)
    return replace(model, module=module, path=None)


def _constants(module: ModuleOp) -> list[tuple[WeightSpec, Operation]]:
    """The weights and biases with their operations, which are read in one role."""
    uses: dict[SSAValue, list[tuple[Contraction, Role]]] = {}
    for op in layers(module):
        if not isinstance(op, Contraction):
            continue
        found: list[tuple[SSAValue | None, Role]] = [
            (op.weight, "weight"),
            (op.bias, "bias"),
        ]
        for value, role in found:
            if value is not None and is_constant(value.owner):
                uses.setdefault(value, []).append((op, role))
    return [
        (_spec(constant, readers), constant)
        for value, readers in uses.items()
        if len(readers) == len(list(value.uses))
        and isinstance(constant := value.owner, Operation)
        and len({(role, _steps(op, role)) for op, role in readers}) == 1
    ]


def _spec(
    constant: Operation, readers: Sequence[tuple[Contraction, Role]]
) -> WeightSpec:
    op, role = readers[0]
    scales, zero_points, axis = _steps(op, role)
    stored = stored_elements(constant)
    element = element_type(*constant.result_types)
    low, high = 0, 0
    if isinstance(element, QuantizedType):
        low, high = element.storage_min, element.storage_max
    elif stored.dtype.kind == "i":
        limits = np.iinfo(stored.dtype)
        low, high = int(limits.min), int(limits.max)
    names = [layer_name(one) for one, _ in readers]
    return WeightSpec(
        names[0] or op.kind,
        role,
        stored,
        scales,
        zero_points,
        axis,
        low,
        high,
        layer_name(constant),
        tuple(name for name in names if name is not None),
    )


def _steps(
    op: Contraction, role: Role
) -> tuple[tuple[float, ...], tuple[int, ...], int | None]:
    """Scales, zero points and axis of a layer's weight or bias."""
    type = op.weight.type.element_type
    if role == "weight":
        return type.scales, type.zero_points, type.axis
    assert op.bias is not None
    if isinstance(op.bias.type.element_type, Float32Type):
        return (), (), None
    scale = op.input.type.element_type.scale
    steps = tuple(scale * one for one in type.scales)
    return steps, (0,) * len(steps), None if len(steps) == 1 else 0


def _dense(constant: Operation) -> DenseIntOrFPElementsAttr:
    assert isinstance(constant, qnn.ConstantOp | arith.ConstantOp)
    dense = constant.value
    assert isinstance(dense, DenseIntOrFPElementsAttr)
    return dense


def stored_elements(constant: Operation) -> Array:
    """A copy of the elements of a constant."""
    dense = _dense(constant)
    element = element_type(*constant.result_types)
    size = dense.get_element_type().compile_time_size
    unsigned = isinstance(element, QuantizedType) and not element.signed
    kind = "f" if isinstance(element, Float32Type) else "u" if unsigned else "i"
    flat = np.frombuffer(dense.data.data, f"{kind}{size}")
    count = math.prod(dense.get_shape())
    return np.broadcast_to(flat, count).reshape(dense.get_shape()).copy()
