"""Linear layers just inside and just outside of each condition under which OpenVINO
computes several in one kernel, at near ties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.machines.native import machine_levels
from support.systems.phone_systems import One, OpenVino, one_of, real_of
from support.values.near_ties import near_tie_layer
from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.ir import Attribute, SSAValue

from qlower import Model
from qlower.compilation.compilation import Compilation
from qlower.contracts import load_contract
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import OPEN_SIZES
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.frontends.linear_sequences import in_sequences
from qlower.interp.values import Array
from qlower.model.build import (
    constant,
    make_module,
    quantized,
    quantized_per_axis,
)
from qlower.model.layers import layers

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        "avx512vnni" not in machine_levels(),
        reason="the contracts are those of a CPU with AVX-512 VNNI",
    ),
]

DRAWN = 3
BATCHES = 8
WINDOW = 2
TIE, SAME, MEAN = "tie", "same", "mean"


@dataclass(frozen=True)
class Chain:
    """Layers in a row, one with near ties; SAME changes some codes by one.

    `together` are the layers whose results a kernel of several quantizes. The ties have
    `units` of `inputs` each; a result may have a second reader.
    """

    kinds: Sequence[str]
    together: Sequence[int] = ()
    rows: int = 8
    inputs: int = 2
    units: int = 48
    read_twice: int | None = None
    leading: tuple[int, ...] = ()


CHAINS = {
    "two": Chain([TIE, SAME], [0, 1]),
    "the second": Chain([SAME, TIE], [0, 1]),
    "one": Chain([TIE]),
    "one row": Chain([TIE, SAME], [0, 1], rows=1),
    "nine rows": Chain([TIE, SAME], rows=9),
    "256 inputs": Chain([TIE, SAME], [0, 1], inputs=256),
    "257 inputs": Chain([TIE, SAME], inputs=257),
    "256 units": Chain([TIE, SAME], [0, 1], units=256),
    "257 units": Chain([TIE, SAME], units=257),
    "wide before two": Chain([TIE, SAME, SAME], range(3), inputs=257),
    "the seventh": Chain([*[SAME] * 6, TIE, SAME], range(7)),
    "the eighth": Chain([*[SAME] * 7, TIE], range(7)),
    "the eighth of nine": Chain([*[SAME] * 7, TIE, SAME], range(9)),
    "three dimensions": Chain([TIE, SAME], leading=(1,)),
    "read twice": Chain([TIE, SAME, SAME], [1, 2], read_twice=0),
    "the last read twice": Chain([SAME, TIE, SAME], [0, 1], read_twice=1),
    "mean before two": Chain([MEAN, SAME, SAME], range(3), units=256),
    "mean before one": Chain([MEAN, SAME], units=256),
}


@pytest.mark.parametrize("name", CHAINS)
def test_sequences(name: str) -> None:
    pytest.importorskip("openvino")
    chain, draw = CHAINS[name], np.random.default_rng(len(name))
    place = next(at for at, kind in enumerate(chain.kinds) if kind != SAME)
    others = 0
    for number in range(DRAWN):
        model, codes = drawn(draw, chain, number)
        marks = [op.in_sequence for op in chain_of(in_sequences(model, ["openvino"]))]
        assert marks == [at in chain.together for at in range(len(marks))]
        flipped = Model(in_sequences(model, ["openvino"]).module.clone())
        flipped.module.attributes[OPEN_SIZES] = UnitAttr()  # it is read as it is
        chain_of(flipped)[place].in_sequence ^= True
        run, other, live = answers(model), answers(flipped), openvino_chain(model)
        for batch in range(BATCHES):
            some = codes[batch * chain.rows :][: chain.rows]
            some = some.reshape(*chain.leading, *some.shape)
            expected = live(some)
            np.testing.assert_array_equal(run(some), expected)
            others += int((other(some) != expected).sum())
    assert others


def chain_of(model: Model) -> list[qnn.LinearOp | qnn.MeanOp]:
    found = layers(model.module)
    return [op for op in found if isinstance(op, qnn.LinearOp | qnn.MeanOp)]


def answers(model: Model) -> Callable[[Array], Array]:
    """The last codes, of codes."""
    runner = Compilation(model, "openvino").interpreter("qnn")
    return lambda codes: runner.run([codes], {})[0][0]


def drawn(draw: np.random.Generator, chain: Chain, number: int) -> tuple[Model, Array]:
    """A model without marks, and codes for it in as many rows as there are."""
    if chain.kinds[0] == MEAN:
        return drawn_mean(draw, chain)
    one = drawn_ties(draw, chain, signed=number % 2 > 0, relu=number == 3)
    weights = np.pad(one.weights.astype(np.int8), ((0, 0), (0, chain.inputs - 1)))
    w_type = quantized_per_axis(weights.shape, 0, one.weight_scales.tolist())
    y = TensorType(one.y, (*chain.leading, chain.rows, chain.units))

    def body(value: SSAValue) -> list[SSAValue]:
        found: list[SSAValue] = []
        for kind in chain.kinds:
            if kind == SAME:
                value = kept(value)
            else:
                w, b = constant(weights, w_type), constant(one.bias)
                activation = "relu" if one.relu else None
                value = qnn.LinearOp(value, w, b, y, activation=activation).result
            found.append(value)
        twice = [] if chain.read_twice is None else [found[chain.read_twice]]
        return [value, *twice]

    x = TensorType(one.x, (*chain.leading, chain.rows, chain.inputs))
    codes = np.repeat(one.codes, chain.inputs, axis=1)
    return Model(make_module([x], body)), codes


def drawn_ties(
    draw: np.random.Generator, chain: Chain, *, signed: bool, relu: bool
) -> One:
    """A layer of one input, whose middle code isn't 0."""
    contract = load_contract("openvino")
    while True:
        layer = near_tie_layer(
            *(draw, "linear", [contract, contract], chain.units),
            **{"signed": signed, "zero_points": True, "relu": relu},
        )
        one = one_of(layer)
        if one.x.zero_point != (0 if signed else 128):
            return one


def drawn_mean(draw: np.random.Generator, chain: Chain) -> tuple[Model, Array]:
    """A mean of four whose steps are those of its input, or half, and nearly so."""
    scale, points = float(np.float32(draw.uniform(0.01, 0.2))), draw.integers(0, 256, 2)
    shape = (chain.rows, WINDOW, WINDOW, chain.units)
    x = quantized(shape, scale, int(points[0]), signed=False)
    factor = (1 + int(draw.integers(-9, 10)) * 2.0**-23) / int(draw.integers(1, 3))
    y_shape = (chain.rows, chain.units)
    y = quantized(y_shape, scale * factor, int(points[1]), signed=False)

    def body(value: SSAValue) -> list[SSAValue]:
        value = qnn.MeanOp(value, y, axes=[1, 2]).result
        for _ in chain.kinds[1:]:
            value = kept(value)
        return [value]

    some = draw.integers(0, 256, (64, 1, 1, chain.units))
    codes = some + draw.integers(-9, 10, (64, *shape[1:]))
    return Model(make_module([x], body)), codes.clip(0, 255).astype(np.uint8)


def kept(value: SSAValue[Attribute]) -> SSAValue:
    """A layer that changes every second code by one: biases that are all the same would
    become part of a range, and a single scale has rules of its own."""
    size, type = shape_of(value)[-1], quantized_element(value.type)
    odd = np.arange(size) % 2
    steps = odd * np.float32(type.scales[0])
    w_type = quantized_per_axis((size, size), 0, (1.0 / (1 + odd)).tolist())
    w = constant(np.diag(1 + odd).astype(np.int8), w_type)
    b = constant(steps.astype(np.float32))
    return qnn.LinearOp(value, w, b, value.type).result


def openvino_chain(model: Model) -> Callable[[Array], Array]:
    """What OpenVINO gives for the last codes, which a convolution takes that keeps
    them: it is no part of the kernel."""
    network, ops = OpenVino(), chain_of(model)
    types = [
        [quantized_element(value.type) for value in (op.operands[0], op.results[0])]
        for op in ops
    ]
    ones = [One(op, [], *pair) for op, pair in zip(ops, types, strict=True)]
    codes = np.zeros(shape_of(ops[0].input))
    entry = network.ops.parameter(list(real_of(codes, ones[0].x).shape), np.float32)
    value = network.quantized(entry, ones[0].x, codes.ndim)
    found: list[Any] = []
    for one in ones:
        value = network.result(one, value)
        value = network.quantized(value, one.y, len(value.shape))
        if len([*one.op.results[0].uses]) > 1 or one is ones[-1]:
            found.append(convolved(network, value))
    whole = network.compiled(network.module.Model(found[::-1], [entry], "chain"))
    x, last = ones[0].x, ones[-1]
    shape = shape_of(last.op.results[0])

    def run(codes: Array) -> Array:
        return network.codes(whole, [real_of(codes, x)], last.y).reshape(shape)

    return run


def convolved(network: OpenVino, value: Any) -> Any:
    ops, (*rows, size) = network.ops, value.shape
    image = ops.reshape(value, [int(np.prod(rows)), size, 1, 1], False)
    w = network.weights(np.eye(size).reshape(size, size, 1, 1), np.ones(size, "f"))
    return ops.convolution(image, w, [1, 1], [0, 0], [0, 0], [1, 1])
