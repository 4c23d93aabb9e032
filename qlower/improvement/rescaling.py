"""Scales that suit the device: of results by what outputs lose, of weights by gain."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.improvement.work import Layer, Work
from qlower.model.layers import layers, value_names
from qlower.model.scales import connected_values, result_types, weight_types
from qlower.model.signature import Array
from qlower.torch.tensors import tensor_of

OBSERVERS = ("HistogramObserver", "MinMaxObserver")

FACTORS = (0.7, 0.84, 1.19, 1.41)
"""Quarters of an octave, for devices that round scales to powers of two."""

SMALLEST_GAIN = 0.005
"""Gains that are nearer to 1 than this are left: rounding alone may show them."""

OBSERVED = 1 << 20
"""The most elements that an observer sees."""


def fit_ranges(work: Work) -> Work:
    """Choose the range of each result by the error of the model's output.

    Candidates are what PyTorch's observers take (all that occurs, and the range with
    the least squared error of its histogram), first for all results at a time, then one
    by one, and the present one times `FACTORS`.
    """
    groups = list(_groups(work))
    for name in OBSERVERS:
        types = {one[0]: _observed(name, one[1], one[2]) for one in groups}
        work = _better(work, types)
    for first, type, values in groups:
        present = result_types(work.model.module)[first]
        candidates = [_observed(name, type, values) for name in OBSERVERS]
        candidates += [present.rescaled([factor * present.scale]) for factor in FACTORS]
        for candidate in dict.fromkeys(candidates):
            work = _better(work, {first: candidate})
    return work


def _better(work: Work, types: Mapping[str, QuantizedType]) -> Work:
    """The work with other types of results, if its output errs less."""
    try:
        changed = work.rescaled(types)
        return changed if changed.error() < work.error() else work
    except QlowerError:  # a ratio of scales that the contract refuses
        return work


def _groups(work: Work) -> Iterator[tuple[str, QuantizedType, Array]]:
    """Results whose range may be chosen: the first of those that share one, its type,
    and the real values of all that round to it."""
    fixed = {spec.name for spec in (*work.model.inputs, *work.model.outputs)}
    rounding, types = _rounding_results(work), result_types(work.model.module)
    for group in connected_values(work.model.module):
        names = [name for name in group if name in rounding]
        if names and not fixed.intersection(group):
            values = [work.reference[name].reshape(-1) for name in names]
            yield names[0], types[names[0]], np.concatenate(values)


def _rounding_results(work: Work) -> set[str]:
    """Results of layers that round to a scale that may be chosen."""
    names = value_names(work.model.module)
    fixed = (qnn.SoftmaxOp, qnn.LogSoftmaxOp, qnn.SigmoidOp, qnn.TanhOp)
    return {
        names[value]
        for op in layers(work.model.module)
        if isinstance(op, qnn.QnnOp) and op.rules and not isinstance(op, fixed)
        for value in op.results
        if value in names
    }


def _observed(name: str, type: QuantizedType, values: Array) -> QuantizedType:
    """The type that an observer of PyTorch takes for real values."""
    observers: Any = import_module("torch.ao.quantization")
    torch: Any = import_module("torch")
    seen = tensor_of(np.ascontiguousarray(values[:: 1 + values.size // OBSERVED]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        observer = getattr(observers, name)(
            dtype=torch.qint8 if type.signed else torch.quint8,
            quant_min=type.storage_min,
            quant_max=type.storage_max,
        )
        observer(seen)
        scale, zero_point = observer.calculate_qparams()
    return type.rescaled([float(scale)], [int(zero_point)])


def fit_gains(work: Work) -> Work:
    """Give weights scales by which the device multiplies as is meant.

    Where the device's results are `gain` times what they should be, for its own
    operands, weights in steps of `gain * scale` undo it; so do twice and half of
    these. Each channel with a scale of its own takes the best.
    """
    for name in [layer.name for layer in work.contractions]:
        layer = next(one for one in work.contractions if one.name == name)
        work = _with_gain(work, layer)
    return work


def _with_gain(work: Work, layer: Layer) -> Work:
    network, name, found = work.network, layer.name, work.found
    wanted = network.expected(layer.op, found, work.parameters)[name]
    type = weight_types(work.model.module)[layer.weight.name]
    is_common = type.axis is None
    gains = _gains(work, name, wanted, is_common=is_common)
    if np.all(np.abs(gains - 1) < SMALLEST_GAIN):
        return work
    best, errors = type, _errors(found[name], wanted, is_common=is_common)
    scales = np.array(type.scales)
    for factor in (1.0, 2.0, 0.5):
        factors = gains * factor
        candidate = type.rescaled([float(one) for one in scales * factors])
        try:
            changed = work.rescaled({}, {layer.weight.name: candidate})
            result = changed.network.alone(name, found)
        except QlowerError:  # a ratio of scales that the contract refuses
            continue
        new = _errors(result, wanted, is_common=is_common)
        chosen = np.where(new < errors, candidate.scales, best.scales)
        errors = np.minimum(errors, new)
        best = type.rescaled([float(one) for one in chosen])
    return work.rescaled({}, {layer.weight.name: best})


def _gains(work: Work, name: str, wanted: Array, *, is_common: bool) -> Array:
    """The factor by which the device multiplies too much: a least-squares fit over
    elements that neither the device nor a range clips; per channel, or one for all."""
    found, spec = work.found[name], work.network.specs[name]
    stored, limits = spec.quantize(wanted), np.iinfo(spec.dtype)
    own = spec.quantize(found)
    free = (stored > limits.min) & (stored < limits.max)
    free &= (own > limits.min) & (own < limits.max)
    products = (found * wanted * free).reshape(-1, found.shape[-1]).sum(0)
    squares = (wanted * wanted * free).reshape(-1, found.shape[-1]).sum(0)
    if is_common:
        products, squares = products.sum(keepdims=True), squares.sum(keepdims=True)
    gains = np.divide(
        products, squares, out=np.ones_like(squares), where=squares > 1e-9
    )
    return np.where((gains > 0.25) & (gains < 4), gains, 1.0)


def _errors(found: Array, wanted: Array, *, is_common: bool) -> Array:
    squares = np.square(found - wanted).reshape(-1, found.shape[-1]).sum(0)
    return squares.sum(keepdims=True) if is_common else squares
