"""The circuit that rescales the sums of all convolutions of a model, by a contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.func import FuncOp

from qlower.circuits.functions import (
    Argument,
    LaneBody,
    annotate,
    first_real,
    identifier,
)
from qlower.circuits.make import Circuit
from qlower.contracts import Contract
from qlower.contracts.accumulator_range import constant_integers, sum_bounds
from qlower.contracts.contractions import (
    Contraction,
    RuledContraction,
    contraction_rule,
)
from qlower.contracts.products import EXACT
from qlower.contracts.values import Values
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.emit.inline_rule import inline_rule
from qlower.interp import Array
from qlower.model import Model
from qlower.model.layers import layers
from qlower.observe.layer_run import CONTRACTIONS
from qlower.transforms.arith_to_comb import to_comb


@dataclass(frozen=True)
class _Sums:
    """The sums of a layer: the rule's values, and the ends of each channel's sums."""

    values: Values
    low: Array
    high: Array


def requantizer(model: Model, contract: Contract) -> Circuit:
    """One module for the rule of a model's convolutions, or linear layers without any.

    What differs from layer to layer or from channel to channel is a port, of no more
    bits than these layers need; where they have several rules, that of most channels
    is taken. Raises `QlowerError` for a rule with steps in floats,
    and a model without such layers.
    """
    found: dict[FuncOp, list[_Sums]] = {}
    names: dict[FuncOp, str] = {}
    operations = [op for op in layers(model.module) if isinstance(op, CONTRACTIONS)]
    convolutions = [op for op in operations if not isinstance(op, qnn.LinearOp)]
    for op in convolutions or operations:
        name = contraction_rule(op)
        function = contract.rule(name).function
        names.setdefault(function, name)
        found.setdefault(function, []).append(_sums(contract, op))
    if not found:
        raise QlowerError("the model has no convolutions and no linear layers")
    function = max(found, key=lambda one: sum(part.low.size for part in found[one]))
    return _circuit(contract, names[function], found[function])


def _sums(contract: Contract, op: Contraction) -> _Sums:
    def bias() -> Array:
        known = None if op.bias is None else constant_integers(op.bias)
        return np.zeros((), np.int32) if known is None else known.astype(np.int32)

    ruled = RuledContraction(contract, op)
    low, high = sum_bounds(op, ruled.product != EXACT)
    start = ruled.start_of_sum(bias).astype(np.int64)
    return _Sums(ruled.values(bias), np.asarray(low + start), np.asarray(high + start))


def _circuit(contract: Contract, name: str, parts: Sequence[_Sums]) -> Circuit:
    rule = contract.rule(name)
    low = np.concatenate([part.low for part in parts])
    high = np.concatenate([part.high for part in parts])
    constants: dict[str, Array] = {}
    for value in rule.values:
        if value == "accumulator":
            continue
        if any(value not in part.values for part in parts):
            raise QlowerError(
                f"rule {name} of contract {contract.name} asks for {value}, which a "
                "requantizer isn't given"
            )
        constants[value] = np.concatenate(
            [np.broadcast_to(part.values[value], part.low.shape) for part in parts]
        )
    body = LaneBody(constants)
    index = rule.values.index("accumulator")
    type = rule.function.function_type.inputs.data[index]
    accumulator = body.argument(type, "accumulator")
    results = inline_rule(rule, {"accumulator": accumulator}, constants, body)
    real = first_real(body)
    if real is not None:
        raise QlowerError(
            f"rule {name} of contract {contract.name} has a step in floats, "
            f"{real.name}, which no circuit of integers has"
        )
    arguments = (Argument("accumulator", low, high), *body.parameters())
    own = identifier(f"{contract.name}_{name}")[:40]
    function = body.function(own, results)
    annotate(function, arguments)
    module = to_comb(function)
    return Circuit(own, "", name, contract.name, function, arguments, module, 0)
