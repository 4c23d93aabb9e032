"""Devices that no contract describes: drawn, or made by formulas of their makers."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

import qlower
from qlower.contracts import load_contract, parse_contract
from qlower.contracts.family import Arithmetic, arithmetic_text
from qlower.contracts.family.choices import (
    CHOICES,
    FIXED,
    FUSED,
    FUSED_INSIDE,
    GIVEN,
    TURNS,
)
from qlower.contracts.values import activation_values, operand_values
from qlower.identification.evidence import Observed
from qlower.identification.probe import Probe, probe
from qlower.identification.replay import Replay
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.layers import layer_name, layers
from qlower.observe.layer_run import CONTRACTIONS
from qlower.sides.sides import Computed

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"

pytestmark = pytest.mark.long

SEED, DEVICES = 2026, 20
IMAGES = 60

Outputs: TypeAlias = "dict[str, Array]"

KINDS: Mapping[str, Callable[[Arithmetic], bool]] = {
    "powers of two": lambda one: one.multiplier.startswith("2 bits"),
    "double rounding": lambda one: one.scaling == FIXED and one.first != "once",
    "one FMA": lambda one: one.bias == FUSED or one.zero_point == FUSED_INSIDE,
    "kept scales": lambda one: one.scales != GIVEN,
    "registers": lambda one: one.products in TURNS,
}
"""Kinds of devices, of which there are as many each; all else is drawn."""


def drawn(kind: str, draw: random.Random) -> Arithmetic:
    """A member of the family of a kind."""
    while True:
        choices = {name: draw.choice(list(CHOICES[name])) for name in CHOICES}
        if kind in ("powers of two", "double rounding"):
            choices["scaling"] = FIXED
        if kind == "powers of two":
            powers = [one for one in CHOICES["multiplier"] if one.startswith("2 ")]
            choices["multiplier"] = draw.choice(powers)
        one = Arithmetic(**choices).normal()
        if KINDS[kind](one):
            return one


def secrets() -> list[Arithmetic]:
    draw = random.Random(SEED)
    kinds = list(KINDS)
    return [drawn(kinds[place % len(kinds)], draw) for place in range(DEVICES)]


@cache
def probed() -> Probe:
    """The probe that users get."""
    return probe("mlir")


@cache
def digits() -> tuple[Model, Array]:
    """A network, and images of which each layer's results are dumped."""
    return qlower.load(DIGITS), np.load(DIGITS.parent / "test_images.npy")[:IMAGES]


def replayed(model: Model, inputs: Mapping[str, Array], contract: str) -> Outputs:
    """Each layer's result by a contract's text."""
    replay = Replay(model, {"x": parse_contract(contract, "x", "x.mlir")})
    (values,) = replay.run(0, inputs)
    found = {replay.names[value]: array for value, array in values.items()}
    refused = [array for array in found.values() if isinstance(array, str)]
    assert not refused, refused
    return {name: np.asarray(array) for name, array in found.items()}


def dumped(contract: str) -> Outputs:
    """Each layer's results of the network, [image, ...]."""
    model, images = digits()
    rows = [replayed(model, {"image": image}, contract) for image in images]
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def is_left_open(secret: Arithmetic, found: qlower.Identification) -> bool:
    """Whether each choice that differs is among those that explain as much."""
    assert found.device is not None
    best, others = found.device.found.arithmetic.choices(), found.device.found.others
    return all(
        value == best[name] or value in others[name]
        for name, value in secret.choices().items()
        if name in secret.relevant
    )


@pytest.mark.parametrize("place", range(DEVICES))
def test_a_drawn_device_is_found_and_written(place: int, tmp_path: Path) -> None:
    """By the probe, and by a network's dump: the contract that is written gives its
    bits. What the probe gives has those of the network's every layer too, which the
    search hasn't seen, but for choices that it says the probe leaves open."""
    made, (model, images) = probed(), digits()
    secret = arithmetic_text(secrets()[place], "tflite", summary="secret")
    own = tmp_path / "own.mlir"
    outputs, dump = replayed(made.model, made.inputs, secret), dumped(secret)
    for given, source, inputs in (
        (outputs, made.model, list(made.inputs.values())),
        (dump, model, [images]),
    ):
        found = qlower.identify(given, source, *inputs)
        assert found.is_found, secrets()[place]
        own.write_text(found.text)
        assert qlower.diff(given, str(own), source, *inputs).is_equal
        if source is made.model:
            same = qlower.diff(dump, str(own), model, images).is_equal
            assert same or is_left_open(secrets()[place], found)


# ------------------------------------------------------------- by formulas in NumPy

F = np.float32
Values: TypeAlias = "Mapping[str, Array]"


def with_zero_point(rounded: Array, values: Values) -> Array:
    return rounded + values["output_zero_point"]


def shifted(numbers: Array, places: Array, rounding: str) -> Array:
    """Integers divided by a power of two; `places` below 0 multiply."""
    right, left = np.maximum(places, 0), np.maximum(-places, 0)
    numbers = numbers << left
    half = np.where(right > 0, np.int64(1) << np.maximum(right - 1, 0), 0)
    if rounding == "floor":
        return numbers >> right
    up = (numbers + half) >> right
    is_tie = (right > 0) & ((numbers & ((np.int64(1) << right) - 1)) == half)
    return up - (is_tie & (up % 2 == 1)) if rounding == "half even" else up


def by_multiplier(bits: int, rounding: str) -> Callable[[Values], Array]:
    """A multiplier that fills so many bits, less a sign, and a shift."""

    def run(values: Values) -> Array:
        mantissa, exponent = np.frexp(ratio(values))
        multiplier = np.floor(mantissa * 2.0**bits + 0.5).astype(np.int64)
        product = values["sum"] * multiplier
        places = bits - exponent.astype(np.int64)
        return with_zero_point(shifted(product, places, rounding), values)

    return run


def ratio(values: Values) -> Array:
    scales = (values[f"{name}_scale"].astype(np.float64) for name in OPERANDS)
    x, w, y = scales
    return x * w / y


OPERANDS = ("input", "weight", "output")


def by_power_of_two(rounding: str) -> Callable[[Values], Array]:
    def run(values: Values) -> Array:
        places = np.round(-np.log2(ratio(values))).astype(np.int64)
        return with_zero_point(shifted(values["sum"], places, rounding), values)

    return run


def by_float32_multiplier(values: Values) -> Array:
    """TPU-MLIR: the shortest multiplier that is the float32 ratio."""
    mantissa, exponent = np.frexp(ratio(values).astype(F))
    multiplier = (mantissa * F(2.0**24)).astype(np.int64)
    places = 24 - exponent.astype(np.int64)
    product = shifted(values["sum"] * multiplier, places, "half up")
    return with_zero_point(product, values)


def by_ranges(values: Values) -> Array:
    """OpenVINO: scales from ranges, real biases, an FMA with the zero point inside."""

    signed = {name: 128 * (not values[f"{name}_unsigned"]) for name in OPERANDS}

    def ends(name: str) -> tuple[Array, Array]:
        scale = values[f"{name}_scale"]
        point = values[f"{name}_zero_point"] + signed[name]
        return F(-point) * scale, F(255 - point) * scale

    low, high = ends("input")
    step = values["weight_scale"] * (F(high - low) / F(255))
    real = F(values["product_sum"]) * step + values["real_bias"]
    low, high = ends("output")
    scale, shift = F(255) / F(high - low), F(-low * F(255)) / F(high - low)
    steps = F(real.astype(np.float64) * scale + shift)
    codes = np.clip(np.rint(steps), -1e9, 1e9).astype(np.int64)
    return codes - signed["output"]


def by_reciprocals(values: Values) -> Array:
    """ncnn: scales multiply, an FMA with the bias, half away, no -128."""
    x, w, y = (F(1) / values[f"{name}_scale"] for name in OPERANDS)
    step = F(1) / (x * w)
    fused = F(values["product_sum"] * step.astype(np.float64) + values["real_bias"])
    steps = fused * y
    rounded = np.trunc((steps + np.copysign(F(0.5), steps)).astype(F))
    return with_zero_point(np.clip(rounded, -127, 127).astype(np.int64), values)


MAKERS: Mapping[str, Callable[[Values], Array]] = {
    "gap9": by_multiplier(8, "half up"),
    "pulp-nn": by_multiplier(8, "floor"),
    "16 bits": by_multiplier(15, "half up"),
    "esp32-p4": by_power_of_two("half even"),
    "max78000, dpu": by_power_of_two("half up"),
    "openvino": by_ranges,
    "ncnn": by_reciprocals,
    "tpu-mlir": by_float32_multiplier,
}


def made_by(maker: Callable[[Values], Array], one: Observed) -> Array:
    """What a maker's formula gives for a layer."""
    op = one.op
    values = {
        **operand_values("input", op.input.type),
        **operand_values("weight", op.weight.type),
        **activation_values(load_contract("tflite"), op.result.type, op.activation),
    }
    bias = one.start(with_bias=True).astype(np.int64)
    values["product_sum"] = one.products("exact")
    values["sum"] = values["product_sum"] + bias
    values["real_bias"] = F(bias) * (values["input_scale"] * values["weight_scale"])
    made = np.clip(maker(values), values["output_min"], values["output_max"])
    return made.astype(one.recorded.dtype)


def layers_by(
    maker: Callable[[Values], Array], model: Model, inputs: Mapping[str, Array]
) -> Outputs:
    """Each contraction by the formula, everything else by `tflite`, in order."""
    side, known = Computed("tflite", model, "tflite"), dict(inputs)
    for op in layers(model.module):
        name = layer_name(op) or ""
        run = side.layer(name, known)
        known[name] = run.result
        if isinstance(run.op, CONTRACTIONS):
            known[name] = made_by(maker, Observed(run.op, run.arguments, run.result))
    return {name: array for name, array in known.items() if name not in inputs}


@pytest.mark.parametrize("maker", MAKERS)
def test_a_makers_formula_is_found(maker: str, tmp_path: Path) -> None:
    """By the probe, and by the digits as far as these tell."""
    model, images = digits()
    rows = [layers_by(MAKERS[maker], model, {"image": one}) for one in images[:8]]
    dump = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    made = probed()
    outputs = layers_by(MAKERS[maker], made.model, made.inputs)
    own = tmp_path / "own.mlir"
    for given, source, inputs in (
        (outputs, made.model, list(made.inputs.values())),
        (dump, model, [images[:8]]),
    ):
        found = qlower.identify(given, source, *inputs, verify=False)
        assert found.is_found, found.render()
        own.write_text(found.text)
        assert qlower.diff(given, str(own), source, *inputs).is_equal
