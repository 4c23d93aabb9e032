"""A model with other scales: results, weights and biases stored anew from real values.

Layers that only move stored values share the quantization of the values they move, and
so do pools that have it; such values change together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FunctionType,
    ModuleOp,
    TensorType,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type, shape_of
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.layers import layers, value_names
from qlower.model.signature import Array
from qlower.model.weights import (
    Contraction,
    stored_elements,
    weight_specs,
    weight_values,
    with_weights,
)
from qlower.text.verification import verify_module


def result_types(module: ModuleOp) -> dict[str, QuantizedType]:
    """The quantization of inputs and layers' results, by name."""
    found = {name: element_type(v.type) for v, name in value_names(module).items()}
    return {
        name: type for name, type in found.items() if isinstance(type, QuantizedType)
    }


def weight_types(module: ModuleOp) -> dict[str, QuantizedType]:
    """The quantization of weights, by `WeightSpec.name`."""
    pairs = zip(weight_specs(module), weight_values(module), strict=True)
    found = {spec.name: element_type(value.type) for spec, value in pairs}
    return {
        name: type for name, type in found.items() if isinstance(type, QuantizedType)
    }


def connected_values(module: ModuleOp) -> list[list[str]]:
    """The names of quantized inputs and results, in lists that share a quantization."""
    names = value_names(module)
    groups = {
        value: [value]
        for value in names
        if isinstance(element_type(value.type), QuantizedType)
    }
    for op in layers(module):
        if not isinstance(op, qnn.QnnOp) or (op.rules and not _keeps_scale(op)):
            continue
        moved = [value for value in (*op.operands, *op.results) if value in groups]
        for other in moved[1:]:
            first, second = groups[moved[0]], groups[other]
            if first is not second:
                first += second
                groups.update(dict.fromkeys(second, first))
    distinct = {id(group): group for group in groups.values()}
    return [[names[value] for value in group] for group in distinct.values()]


def _keeps_scale(op: qnn.QnnOp) -> bool:
    """Whether it is a pool whose result has its operand's quantization, as TFLite
    demands it and other tools' files share one scale."""
    return isinstance(op, qnn.AvgPool2DOp | qnn.AdaptiveAvgPool2DOp) and (
        element_type(op.input.type) == element_type(op.result.type)
    )


def with_scales(
    model: Model,
    results: Mapping[str, QuantizedType],
    weights: Mapping[str, QuantizedType] | None = None,
    real: Mapping[str, Array] | None = None,
) -> Model:
    """A copy of the model whose results and weights have other quantizations.

    `results` are the types of inputs and layers' results by name, each for all values
    that are connected with it; `weights` those of weights by `WeightSpec.name`. `real`
    gives the real values of weights and biases, by default those that are stored. All
    weights are then stored again, and biases in steps of input scale times weight
    scale. Raises `QlowerError` for an unknown name, and where the operations don't
    allow a type.
    """
    weights = weights or {}
    reals = {spec.name: spec.real for spec in weight_specs(model.module)}
    known = {*result_types(model.module), *reals}
    unknown = {*results, *weights, *(real or {})} - known
    if unknown:
        raise QlowerError(f"the model has no {min(unknown)!r} to quantize")
    reals |= real or {}
    module = model.module.clone()
    wanted = {
        name: results[given]
        for group in connected_values(module)
        for given in group
        if given in results
        for name in group
    }
    constants = zip(weight_specs(module), weight_values(module), strict=True)
    of_weights = [(value, weights.get(spec.name)) for spec, value in constants]
    of_results = [(v, wanted.get(name)) for v, name in value_names(module).items()]
    for value, type in (*of_weights, *of_results):
        if type is not None:
            _retype(value, type)
    _widen_biases(module)
    function = main_function(module)
    block = function.body.block
    assert block.last_op is not None
    function.function_type = FunctionType.from_lists(
        list(block.arg_types), [value.type for value in block.last_op.operands]
    )
    stored = {
        spec.name: spec.quantize(reals[spec.name]) for spec in weight_specs(module)
    }
    changed = with_weights(replace(model, module=module, path=None), stored)
    verify_module(changed.module)  # now that what is stored has the new types' range
    return changed


def _retype(value: SSAValue, type: QuantizedType) -> None:
    tensor = TensorType(type, shape_of(value))
    Rewriter.replace_value_with_new_type(value, tensor)


def _widen_biases(module: ModuleOp) -> None:
    """Give 64 bits to biases whose layer's input has 16."""
    for op in layers(module):
        if not isinstance(op, Contraction) or op.bias is None:
            continue
        constant = op.bias.owner
        width = op.input.type.element_type.storage_width
        if width == 16 and isinstance(constant, arith.ConstantOp):
            values = stored_elements(constant)
            if values.dtype == np.int32:
                type = TensorType(i64, values.shape)
                data = BytesAttr(values.astype(np.int64).tobytes())
                constant.properties["value"] = DenseIntOrFPElementsAttr(type, data)
                Rewriter.replace_value_with_new_type(op.bias, type)
