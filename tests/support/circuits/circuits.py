"""Circuits in a simulator, and the same function by the interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from qlower.circuits.make import Circuit
from qlower.circuits.simulate import Pins, simulate
from qlower.emit.systemverilog import port_bits
from qlower.interp import evaluate_function
from qlower.interp.values import dtype_of
from qlower.transforms.pipeline_circuits import CLOCK

Integers = NDArray[np.int64]


def pins_of(circuit: Circuit) -> Pins:
    """The pins of a circuit with one result."""
    ports = {p.port_name.data: p for p in circuit.module.module_type.ports.data}
    clock = CLOCK if ports.pop(CLOCK, None) is not None else None
    output = ports.pop("result")
    inputs = {name: port_bits(port) for name, port in ports.items()}
    return Pins(inputs, {}, "result", port_bits(output), clock, circuit.stages)


def simulated(circuit: Circuit, values: dict[str, Integers], folder: Path) -> Integers:
    """The circuit's results as signed or unsigned numbers of 64 bits."""
    pins = pins_of(circuit)
    file = folder / f"{circuit.name}.sv"
    file.write_text(circuit.text)
    found = simulate([file], circuit.name, pins, values)
    assert None not in found
    return np.array(found, np.int64)


def interpreted(circuit: Circuit, values: dict[str, Integers]) -> Integers:
    """The function's results, modulo two to the bits of the circuit's output."""
    function = circuit.function
    assert isinstance(function.parent_op(), ModuleOp)
    given = [
        values[one.name].astype(dtype_of(type))
        for one, type in zip(
            circuit.arguments, function.function_type.inputs, strict=True
        )
    ]
    (result,) = evaluate_function(function, given)
    wide = np.broadcast_to(result, given[0].shape).astype(np.int64)
    return wide % (1 << pins_of(circuit).bits)


def drawn(circuit: Circuit, count: int, seed: int) -> dict[str, Integers]:
    """Sets of inputs: of one lane each, with many at the ends of the ranges."""
    random = np.random.default_rng(seed)
    lanes = max(len(one.low) for one in circuit.arguments)
    lane = random.integers(0, lanes, count)
    values: dict[str, Integers] = {}
    for one in circuit.arguments:
        low, high = (end[lane % len(end)] for end in (one.low, one.high))
        inner = random.integers(low, high, endpoint=True)
        kind = random.integers(0, 8, count)
        values[one.name] = np.select([kind == 0, kind == 1], [low, high], inner)
    return values
