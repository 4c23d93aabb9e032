"""The configuration of a layer on a device: sizes, scales, and the numbers by which its
arithmetic multiplies, shifts and clamps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from qlower.compilation.compilation import Compilation
from qlower.dialects import fixed, qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type, is_tensor_type, shape_of
from qlower.interp import make_interpreter
from qlower.interp.values import Array
from qlower.model import Model
from qlower.observe.layer_run import LayerRun

ROLES: Mapping[type[Operation], tuple[str, ...]] = {
    arith.MuliOp: ("multiplier", "multiplier"),
    arith.MulfOp: ("multiplier", "multiplier"),
    arith.DivfOp: ("dividend", "divisor"),
    arith.DivSIOp: ("dividend", "divisor"),
    arith.FloorDivSIOp: ("dividend", "divisor"),
    fixed.ShiftRightOp: ("shifted", "shift"),
    arith.ShRSIOp: ("shifted", "shift"),
    arith.ShLIOp: ("shifted", "left_shift"),
    arith.AddiOp: ("addend", "addend"),
    arith.AddfOp: ("addend", "addend"),
    arith.SubiOp: ("minuend", "subtrahend"),
    arith.SubfOp: ("minuend", "subtrahend"),
    arith.MaxSIOp: ("least", "least"),
    arith.MinSIOp: ("greatest", "greatest"),
    arith.MaximumfOp: ("least", "least"),
    arith.MinimumfOp: ("greatest", "greatest"),
    tensor.ExtractOp: ("table",),
}
"""The role of a constant in an operation, by the operand that it is."""

TABULATED = ("multiplier", "shift", "left_shift")
"""Constants that also become files of their own."""


@dataclass(frozen=True)
class Constant:
    """A number, or one a channel, that the lowered arithmetic of a layer has.

    `name` is its role, numbered where several have it; `op` the operation that takes
    it, with its `rounding` if it has one.
    """

    name: str
    op: str
    rounding: str | None
    values: Array

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        rounding = {} if self.rounding is None else {"rounding": self.rounding}
        return {
            "name": self.name,
            "op": self.op,
            **rounding,
            "type": self.values.dtype.name,
            "values": self.values.tolist(),
        }


@dataclass(frozen=True)
class LayerData:
    """A layer as a test bench is configured: `facts` are plain data, `constants` those
    of its lowered arithmetic in the order in which it takes them."""

    facts: Mapping[str, object]
    constants: tuple[Constant, ...]

    @property
    def arrays(self) -> dict[str, Array]:
        """Multipliers and shifts by name."""
        return {
            one.name: one.values
            for one in self.constants
            if one.name.rstrip("_0123456789") in TABULATED
        }

    def to_dict(self) -> dict[str, object]:
        """Plain data, as in `layer.json`."""
        return {
            **self.facts,
            "arithmetic": [constant.to_dict() for constant in self.constants],
        }


def layer_data(
    model: Model, contract: str | None, number: int, name: str, run: LayerRun
) -> LayerData:
    """The data of a layer, where `model` is that layer alone."""
    op = run.op
    facts: dict[str, object] = {
        "layer": name,
        "number": number,
        "op": op.name.removeprefix("qnn."),
        "contract": run.contract.name,
        "attributes": dict(_attributes(op)),
        "operands": [_tensor(operand) for operand in op.operands],
        "results": [_tensor(result) for result in op.results],
    }
    if run.evaluations:
        bounds = run.evaluations[-1].values
        for key in ("output_min", "output_max"):
            if key in bounds:  # with a fused activation, in stored integers
                facts[key] = int(bounds[key])
    if isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp):
        facts["kernel"] = list(shape_of(op.weight)[1:3])
    lowered = Compilation(model, contract).arith
    return LayerData(facts, tuple(_numbered(_constants(lowered))))


def _attributes(op: Operation) -> Iterator[tuple[str, object]]:
    """The operation's attributes, such as its strides and padding."""
    for name, attribute in op.properties.items():
        value = _plain(attribute)
        if value is not None and name != "contract":
            yield name, value


def _plain(attribute: Attribute) -> object:
    """A number, text or list of them; None for anything else."""
    match attribute:
        case IntegerAttr():
            return attribute.value.data
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case DenseArrayBase():
            return list(cast("DenseArrayBase[IntegerType]", attribute).get_values())
        case ArrayAttr():
            return [_plain(one) for one in attribute.data]
        case _:
            return None


def _tensor(value: SSAValue) -> dict[str, object]:
    """Shape, type and quantization of a tensor."""
    found: dict[str, object] = {}
    if is_tensor_type(value.type):
        found["shape"] = list(value.type.get_shape())
    element = element_type(value.type)
    if isinstance(element, QuantizedType):
        found |= {
            "type": f"{'' if element.signed else 'u'}int{element.storage_width}",
            "storage_min": element.storage_min,
            "storage_max": element.storage_max,
            "scales": list(element.scales),
            "zero_points": list(element.zero_points),
            "axis": element.axis,
        }
    else:
        found["type"] = str(element)
    return found


def _constants(module: Operation) -> Iterator[tuple[str, Operation, Array]]:
    """The constants of maps at the arith level, with what they are; those of loops that
    sum, which are weights and zero points, are left out."""
    for op in module.walk():
        nest = op.parent_op()
        if not isinstance(nest, GenericOp) or _sums(nest):
            continue
        for index, operand in enumerate(op.operands):
            values = _constant(operand, nest.body.block)
            roles = ROLES.get(type(op), ())
            if values is not None and index < len(roles):
                yield roles[index], op, values


def _sums(nest: GenericOp) -> bool:
    return any(kind.data != IteratorType.PARALLEL for kind in nest.iterator_types)


def _constant(value: SSAValue, body: Block) -> Array | None:
    """The constant that a value in a map's body is, if known; stored row-major."""
    if isinstance(value, BlockArgument) and value.block is body:
        nest = body.parent_op()
        assert isinstance(nest, GenericOp)
        value = nest.operands[value.index]
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    (values,) = make_interpreter(ModuleOp([])).run_op(owner, ())
    return np.asarray(values)


def _numbered(
    constants: Iterator[tuple[str, Operation, Array]],
) -> Iterator[Constant]:
    counts: dict[str, int] = {}
    for role, op, values in constants:
        count = counts[role] = counts.get(role, -1) + 1
        rounding = (
            op.rounding.data.value
            if isinstance(op, fixed.ShiftRightOp | fixed.ConvertOp)
            else None
        )
        name = f"{role}_{count}" if count else role
        yield Constant(name, op.name, rounding, values)
