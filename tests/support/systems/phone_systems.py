"""Modules of one qnn operation on OpenVINO, and their parts for other systems, too.

Needs the optional packages; tests skip without them. All get codes as real numbers, and
give codes: a layer of theirs that gives integers comes before or after, as they want.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qlower.contracts.accumulator_range import constant_integers
from qlower.dialects import qnn
from qlower.dialects.qnn import ACTIVATION_BOUNDS
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.dialects.types import shape_of
from qlower.emit.tensors import constant_of
from qlower.interp.values import Array
from qlower.text.parsing import parse_module
from support.layers.random_modules import RandomLayer

F = np.float32
SEQUENCE_ROWS = 8
"""Rows up to which OpenVINO computes linear layers in a sequence by one kernel."""

SEQUENCE_SIZE = 256
"""Inputs, and outputs, up to which it does."""


@dataclass(frozen=True)
class One:
    """The operation of a layer, with its constants as numbers."""

    op: Operation
    inputs: Sequence[Array]
    x: QuantizedType
    y: QuantizedType

    @property
    def codes(self) -> Array:
        """The first input."""
        return self.inputs[0]

    @property
    def weights(self) -> Array:
        weights = constant_integers(self.op.operands[1])
        assert weights is not None
        return weights

    @property
    def weight_scales(self) -> Array:
        scales = quantized_element(self.op.operands[1].type).scales
        count = shape_of(self.op.results[0])[-1]
        return np.broadcast_to(np.array(scales, F), count).copy()

    @property
    def addend(self) -> QuantizedType | None:
        """The quantization of what is added, if the operation has that."""
        is_fused = isinstance(self.op, qnn.FusedAddOp)
        return quantized_element(self.op.operands[-1].type) if is_fused else None

    @property
    def bias(self) -> Array:
        bias = constant_of(self.op.operands[2])
        assert bias is not None
        assert bias.dtype == F
        return bias

    @property
    def bounds(self) -> tuple[float, float | None] | None:
        """The bounds of a ReLU, of which some have an upper one."""
        name = getattr(self.op, "activation", None)
        if name is None:
            return None
        low, high = ACTIVATION_BOUNDS[name]
        assert low == 0.0
        return 0.0, high

    @property
    def relu(self) -> bool:
        assert self.bounds in (None, (0.0, None))
        return self.bounds is not None

    @property
    def real_input(self) -> Array:
        """The codes as real numbers, images with their channels first."""
        if isinstance(self.op, qnn.QuantizeOp):
            return self.codes.reshape(1, 1, 1, -1)
        return real_of(self.codes, self.x)


def real_of(codes: Array, type: QuantizedType) -> Array:
    """The codes as real numbers, images with their channels first."""
    steps = codes.astype(F) - F(type.zero_point)
    real = (steps * F(type.scales[0])).astype(F)
    return real.transpose(0, 3, 1, 2) if real.ndim == 4 else real


def one_of(layer: RandomLayer) -> One:
    """The operation of a layer that has one."""
    main = layer.module.body.block.first_op
    assert isinstance(main, FuncOp)
    ops = main.body.block.ops
    (op,) = (o for o in ops if isinstance(o, qnn.QnnOp) and o.operands)
    y = quantized_element(op.results[0].type)
    is_real = isinstance(op, qnn.QuantizeOp)
    x = y if is_real else quantized_element(op.operands[0].type)
    return One(op, layer.inputs, x, y)


def has_one_group(one: One) -> bool:
    """Of the drawn layers those that are written for a system."""
    op = one.op
    if isinstance(op, qnn.AvgPool2DOp):
        return not any(op.pad)
    return not isinstance(op, qnn.Conv2DOp) or op.groups == 1


def is_computed_by_openvino(one: One) -> bool:
    """Not layers whose output has the middle code for zero point, or whose biases are
    all the same where these are part of what isn't known."""
    if isinstance(one.op, qnn.LinearOp | qnn.Conv2DOp | qnn.DepthwiseConv2DOp):
        middle = one.y.zero_point == (0 if one.y.signed else 128)
        is_known = not isinstance(one.op, qnn.LinearOp | qnn.FusedAddOp)
        several = is_known or len(np.unique(one.bias)) > 1
        return not middle and several and has_one_group(one)
    return has_one_group(one)


def is_computed_in_a_sequence(one: One) -> bool:
    """Linear layers that are small enough for OpenVINO's kernel of several."""
    return is_computed_by_openvino(one) and max(one.weights.shape) <= SEQUENCE_SIZE


def has_pairs_that_can_be_said(one: One) -> bool:
    """Convolutions of an even number of channels, or without padding."""
    op = one.op
    if isinstance(op, qnn.LinearOp):
        return is_computed_by_openvino(one)
    if isinstance(op, qnn.Conv2DOp):
        odd = bool(op.input.type.get_shape()[-1] % 2)
        return op.groups == 1 and not (odd and any(op.pad))
    return True


def has_single_outputs(one: One) -> bool:
    """Depthwise convolutions of an output for each channel."""
    op = one.op
    if isinstance(op, qnn.DepthwiseConv2DOp):
        return op.input.type.get_shape()[-1] == shape_of(op.results[0])[-1]
    return has_one_group(one)


def channels_last(found: Array) -> Array:
    return found.transpose(0, 2, 3, 1) if found.ndim == 4 else found


class OpenVino:
    """Graphs of one operation between two FakeQuantize; a layer of int8 that does
    nothing follows, else the last one stays in real numbers."""

    def __init__(self) -> None:
        # its kernels for AMX have faults
        os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_VNNI")
        self.module: Any = import_module("openvino")
        self.ops: Any = import_module("openvino.opset13")
        self.core = self.module.Core()

    def run(self, one: One, added: bool = False) -> Array:
        """Codes; with `added` a second input, of zeros, is added to these."""
        ops, x = self.ops, one.real_input
        entry = ops.parameter(list(x.shape), np.float32)
        entries, given = [entry], [x]
        result: Any = entry
        count = 1
        if not isinstance(one.op, qnn.QuantizeOp):
            result = self.result(one, self.quantized(entry, one.x, x.ndim))
            count = shape_of(one.op.results[0])[-1]
        if one.addend is not None:
            given.append(real_of(one.inputs[1], one.addend))
            entries.append(ops.parameter(list(given[1].shape), np.float32))
            other = self.quantized(entries[1], one.addend, x.ndim)
            result = self._sum(one, result, other)
        if added:
            given.append(np.zeros((len(x), count), F))
            entries.append(ops.parameter(list(given[1].shape), np.float32))
            # in coarser steps: in the same ones, it would be left out
            coarser = [F(1.5) * end for end in self._range(one.y)]
            other = self._between(entries[1], coarser, x.ndim)
            result = ops.add(self.quantized(result, one.y, x.ndim), other)
        result = self.quantized(result, one.y, x.ndim)
        if x.ndim == 4:
            shape = (count, count, 1, 1)
            weights = self.weights(np.eye(count).reshape(shape), np.ones(count, F))
            result = ops.convolution(result, weights, [1, 1], [0, 0], [0, 0], [1, 1])
        else:
            weights = self.weights(np.eye(count), np.ones(count, F))
            result = ops.matmul(result, weights, False, True)
        model = self.module.Model([result], entries, "layer")
        codes = self.codes(self.compiled(model), given, one.y)
        return codes.ravel() if one.codes.ndim == 1 else channels_last(codes)

    def compiled(self, model: Any) -> Any:
        """The model as it runs with one thread."""
        options = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
        return self.core.compile_model(model, "CPU", options)

    def codes(self, model: Any, given: Sequence[Array], type: QuantizedType) -> Array:
        """The codes of a compiled model's result."""
        found = model(given)[0]
        low, high = (self._range(type)[i].astype(np.float64) for i in (0, 1))
        steps = found.astype(np.float64) / ((high - low) / 255)
        return np.rint(steps) + type.zero_point

    def result(self, one: One, x: Any) -> Any:
        ops, op = self.ops, one.op
        match op:
            case qnn.AvgPool2DOp():
                return ops.avg_pool(
                    x, list(op.stride), [0, 0], [0, 0], list(op.kernel), True
                )
            case qnn.MeanOp():
                return ops.reduce_mean(x, [2, 3], op.keep_dims)
            case qnn.LinearOp():
                w = self.weights(one.weights, one.weight_scales)
                y = ops.matmul(x, w, False, True)
                y = ops.add(y, ops.constant(one.bias.reshape(1, -1)))
            case qnn.DepthwiseConv2DOp():
                groups, window = op.input.type.get_shape()[-1], one.weights.shape[1:3]
                w = one.weights.transpose(3, 0, 1, 2)
                w = self.weights(w.reshape(groups, -1, 1, *window), one.weight_scales)
                y = ops.group_convolution(x, w, *self._window(op))
                y = ops.add(y, ops.constant(one.bias.reshape(1, -1, 1, 1)))
            case _:
                assert isinstance(op, qnn.Conv2DOp)
                assert op.groups == 1
                w = one.weights.transpose(0, 3, 1, 2)
                y = ops.convolution(
                    x, self.weights(w, one.weight_scales), *self._window(op)
                )
                y = ops.add(y, ops.constant(one.bias.reshape(1, -1, 1, 1)))
        return y if one.addend is not None else self._activated(one, y)

    def _activated(self, one: One, value: Any) -> Any:
        match one.bounds:
            case None:
                return value
            case (_, None):
                return self.ops.relu(value)
            case (low, high):
                return self.ops.clamp(value, low, high)

    def _sum(self, one: One, convolved: Any, other: Any) -> Any:
        """The addition behind a convolution, which comes first or second."""
        assert isinstance(one.op, qnn.FusedAddOp)
        pair = [self.quantized(convolved, one.op.summand, 4), other]
        total = self.ops.add(*(pair if len(one.weights) % 2 else reversed(pair)))
        return self._activated(one, total)

    def _window(self, op: Any) -> tuple[list[int], ...]:
        top, bottom, left, right = op.pad
        return list(op.stride), [top, left], [bottom, right], list(op.dilation)

    def weights(self, weights: Array, scales: Array) -> Any:
        ops = self.ops
        stored = ops.convert(ops.constant(weights.astype(np.int8)), np.float32)
        ends = 2 if weights.ndim == 5 else 1
        shape = (*weights.shape[:ends], *(1,) * (weights.ndim - ends))
        return ops.multiply(stored, ops.constant(scales.reshape(shape)))

    def _range(self, type: QuantizedType) -> tuple[Array, Array]:
        low = F(type.storage_min - type.zero_point) * F(type.scales[0])
        high = F(type.storage_max - type.zero_point) * F(type.scales[0])
        return np.asarray(low), np.asarray(high)

    def quantized(self, value: Any, type: QuantizedType, rank: int) -> Any:
        return self._between(value, self._range(type), rank)

    def _between(self, value: Any, ends: Sequence[Array], rank: int) -> Any:
        given = [self.ops.constant(np.reshape(end, (1,) * rank)) for end in ends]
        return self.ops.fake_quantize(value, *given, *given, 256)


def openvino_logits(path: Path) -> Callable[[Array], Array]:
    """What goes into the softmax of a network, which OpenVINO reads from its file, as
    real numbers; of one input."""
    module: Any = import_module("openvino")
    core = module.Core()
    read = core.read_model(path)
    (end,) = (op for op in read.get_ops() if op.get_type_name() == "Softmax")
    network = module.Model([end.input_value(0)], read.get_parameters(), "network")
    sizes = [str(size) for size in network.inputs[0].partial_shape]
    network.reshape(f"[{','.join(['1', *sizes[1:]])}]")
    options = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(network, "CPU", options)
    return lambda x: np.asarray(compiled([x])[0])


def run_openvino(layer: RandomLayer, added: bool = False) -> Array:
    """What OpenVINO gives: codes."""
    one = one_of(layer)
    return OpenVino().run(one, added).astype(np.int8 if one.y.signed else np.uint8)


def run_openvino_sequence(layer: RandomLayer) -> Array:
    """What it gives for eight rows at a time of a layer that another one follows."""
    one, network = one_of(layer), OpenVino()
    found = [
        network.run(replace(one, inputs=[one.codes[row : row + SEQUENCE_ROWS]]))
        for row in range(0, len(one.codes), SEQUENCE_ROWS)
    ]
    return np.concatenate(found).astype(np.int8 if one.y.signed else np.uint8)


def run_openvino_avx2(layer: RandomLayer, added: bool = False) -> Array:
    """What it gives without VNNI: it reads that limit once, so in a process of its
    own."""
    given = str(layer.module), layer.inputs, added
    return _avx2_process().submit(_openvino_answer, *given).result()


@cache
def _avx2_process() -> ProcessPoolExecutor:
    process = ProcessPoolExecutor(1, get_context("spawn"))
    with patch.dict(os.environ, {"ONEDNN_MAX_CPU_ISA": "AVX2"}):
        process.submit(os.getpid).result()  # starts it
    return process


def run_on_avx2(run: Callable[[RandomLayer], Array], layer: RandomLayer) -> Array:
    """The same without VNNI by a function of its own, with a module's name."""
    given = run, str(layer.module), layer.inputs
    return _avx2_process().submit(_answer, *given).result()


def _answer(
    run: Callable[[RandomLayer], Array], text: str, inputs: Sequence[Array]
) -> Array:
    return run(RandomLayer(parse_module(text, "layer"), inputs))


def _openvino_answer(text: str, inputs: Sequence[Array], added: bool) -> Array:
    return run_openvino(RandomLayer(parse_module(text, "layer"), inputs), added)
