"""The noise that each layer adds, and the gain from giving some layers more bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.improvement.equalizing import fitted_type
from qlower.improvement.figures import Examples, Figures, figures_of, measure
from qlower.improvement.network import Network
from qlower.improvement.work import Work, decibels, noise_share
from qlower.model.layers import layer_name, layers
from qlower.model.scales import result_types, weight_types
from qlower.model.signature import Array

LEFT = 3
"""The number of worst layers that are left in real numbers, one after another."""


@dataclass(frozen=True)
class LayerEffect:
    """The effect of a layer on the output's signal to noise, in dB.

    `alone` is with this layer quantized and all others in real numbers, `without` with
    all others quantized and this one in real numbers; `own` is that of its own result
    in the quantized model, and `saturated` the share of its elements that are clipped.
    """

    name: str
    kind: str
    alone: float
    without: float
    own: float
    saturated: float


@dataclass(frozen=True)
class Choice:
    """A model with other precisions: its figures, or why the contract refuses it."""

    name: str
    weight_bytes: int
    figures: Figures | None
    refusal: str = ""


def layer_effects(work: Work, examples: Examples) -> list[LayerEffect]:
    """Each layer that rounds: alone, and left out."""
    there = work.on(examples.inputs)
    network, wanted, judged = there.network, there.reference, there.network.judged
    rounding = rounding_layers(network)
    found: list[LayerEffect] = []
    for name, kind in rounding.items():
        others = set(rounding) - {name}
        alone, without = (
            network.mixed(examples.inputs, stored, work.parameters)
            for stored in ({name}, others)
        )
        pairs = ((alone, judged), (without, judged), (there.found, name))
        effect, rest, own = (
            decibels(noise_share(values[key], wanted[key])) for values, key in pairs
        )
        clipped = network.saturated(name, there.found[name])
        found.append(LayerEffect(name, kind, effect, rest, own, clipped))
    return found


def rounding_layers(network: Network) -> dict[str, str]:
    """The layers that round, up to the judged value, with their kinds."""
    found: dict[str, str] = {}
    for op in layers(network.model.module):
        name = layer_name(op)
        if isinstance(op, qnn.QnnOp) and op.rules and len(op.results) == 1 and name:
            found[name] = op.kind
        if name == network.judged:
            break
    return found


def choices(
    work: Work, examples: Examples, effects: Sequence[LayerEffect]
) -> Iterator[Choice]:
    """The model as it is, and with more precision in some respect."""
    bytes_ = {
        spec.layer: spec.stored.nbytes
        for spec in work.weights.values()
        if spec.role == "weight"
    }
    whole = sum(bytes_.values())
    yield Choice("as it is", whole, measure(work, examples))
    types = weight_types(work.model.module)
    common = {name: type for name, type in types.items() if type.axis is None}
    if common:
        yield _choice("weights per channel", whole, work, examples, _per_channel)
    yield _choice("16-bit activations", whole, work, examples, _wide)
    worst = sorted(effects, key=lambda one: one.alone)[:LEFT]
    there = work.on(examples.inputs)
    left: list[str] = []
    for one in worst:
        left.append(one.name)
        stored = set(rounding_layers(there.network)) - set(left)
        found = there.network.mixed(examples.inputs, stored, work.parameters)
        figures = figures_of(there.network, found, there.reference, examples.classes)
        more = sum(3 * bytes_.get(name, 0) for name in left)
        yield Choice(f"in float: {', '.join(left)}", whole + more, figures)


def _choice(
    name: str,
    weight_bytes: int,
    work: Work,
    examples: Examples,
    change: Callable[[Work, Examples], tuple[Work, Examples]],
) -> Choice:
    try:
        changed, given = change(work, examples)
        return Choice(name, weight_bytes, measure(changed, given))
    except QlowerError as error:
        return Choice(name, weight_bytes, None, error.message)


def _per_channel(work: Work, examples: Examples) -> tuple[Work, Examples]:
    """A scale for each channel that is made, from the real weights."""
    chosen: dict[str, QuantizedType] = {}
    kinds = {layer.weight.name: layer.op for layer in work.contractions}
    for name, type in weight_types(work.model.module).items():
        op = kinds.get(name)
        if type.axis is not None or op is None:
            continue
        axis = 3 if isinstance(op, qnn.DepthwiseConv2DOp) else 0
        real = work.parameters[name]
        wide = QuantizedType.per_axis(
            *(8, True, axis, [1.0] * real.shape[axis]), storage_min=-127
        )
        chosen[name] = fitted_type(wide, real)
    return work.rescaled({}, chosen), examples


def _wide(work: Work, examples: Examples) -> tuple[Work, Examples]:
    """All activations in 16 bits around 0, as TFLite's 16x8 models have them."""
    types = {
        name: QuantizedType.per_tensor(16, True, _wide_scale(type))
        for name, type in result_types(work.model.module).items()
    }
    changed = work.rescaled(types)
    pairs = zip(work.model.inputs, changed.model.inputs, examples.inputs, strict=True)
    inputs: tuple[Array, ...] = tuple(
        new.quantize(old.dequantize(array)) if new.scale else array
        for old, new, array in pairs
    )
    return replace(changed, inputs=inputs), replace(examples, inputs=inputs)


def _wide_scale(type: QuantizedType) -> float:
    """The scale by which 16 bits hold what 8 bits hold."""
    ends = type.storage_min - type.zero_point, type.storage_max - type.zero_point
    return float(np.float32(type.scale * max(map(abs, ends)) / 32767))
