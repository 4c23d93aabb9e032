"""Circuits of a model's layers, or of a contract's rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from xdsl.dialects import arith, hw
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import ExtractOp

from qlower.circuits.functions import (
    Argument,
    ScalarFunction,
    identifier,
    layer_functions,
    with_constants,
)
from qlower.circuits.ports import RULES_OF_CIRCUITS, integer_contracts, open_function
from qlower.compilation.compilation import Compilation
from qlower.contracts import Contract, load_contract
from qlower.diagnostics import QlowerError
from qlower.emit.systemverilog import systemverilog
from qlower.frontends.load import ModelOrPath
from qlower.model import Model
from qlower.model.entry import signature_of
from qlower.model.layers import layer_name, layers
from qlower.model.random_inputs import random_inputs
from qlower.model.selection import select_layers
from qlower.observe.layer_run import run_layer
from qlower.process.float_environment import default_floats
from qlower.tables.table import Column, Table, Tabled
from qlower.transforms.arith_to_comb import to_comb
from qlower.transforms.arith_to_comb.circuit import bits_of
from qlower.transforms.pipeline_circuits import pipeline
from qlower.transforms.ranges import width_of
from qlower.transforms.scalar_ranges import function_ranges

Constants: TypeAlias = Literal["inside", "ports"]
"""Whether a module has its layer's constants inside, or takes them as inputs."""


@dataclass(frozen=True)
class Circuit:
    """A function as a circuit: `module`, whose outputs are `stages` cycles later.

    `source` is the layer's function; None for that of a contract alone.
    """

    name: str
    layer: str
    rule: str
    contract: str
    function: FuncOp
    arguments: Sequence[Argument]
    module: hw.HWModuleOp
    stages: int
    source: ScalarFunction | None = None

    @property
    def text(self) -> str:
        """The module in SystemVerilog."""
        of = f"layer {self.layer}, " if self.layer else ""
        latency = f", {self.stages} cycles" if self.stages else ", no clock"
        return systemverilog(
            self.module, [f"{of}rule {self.rule} of contract {self.contract}{latency}"]
        )

    @property
    def bits(self) -> tuple[int, int]:
        """The bits of all inputs and steps: in the types of the contract's text, and in
        the circuit. Constants and what only changes a type count for nothing."""
        ranges = function_ranges(self.function)
        written = needed = 0
        for value in self.function.args:
            written += width_of(value.type) or 0
            needed += bits_of(ranges[value])
        for op in self.function.body.block.ops:
            if isinstance(op, _NO_STEPS):
                continue
            low, high = ranges[op.results[0]]
            written += width_of(op.results[0].type) or 0
            needed += bits_of((low, high)) if low != high else 0
        return written, needed

    @property
    def multipliers(self) -> Sequence[tuple[int, int]]:
        """The widths of the two factors of each product."""
        ranges = function_ranges(self.function)
        found: list[tuple[int, int]] = []
        for op in self.function.body.block.ops:
            if isinstance(op, arith.MuliOp):
                a, b = (bits_of(ranges[operand]) for operand in op.operands)
                found.append((max(a, b), min(a, b)))
        return found


_NO_STEPS = (
    arith.ConstantOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
    arith.IndexCastOp,
    ExtractOp,
    ReturnOp,
)


@dataclass(frozen=True, repr=False)
class Circuits(Tabled[Circuit]):
    """The circuits of a model or contract; `refused` says why others are missing."""

    contract: str
    circuits: Sequence[Circuit]
    refused: Sequence[tuple[str, str]] = field(default=())

    def to_dict(self) -> dict[str, object]:
        """Plain data: the circuits' widths, and what is refused."""
        return {
            "contract": self.contract,
            "circuits": self.table.records(),
            "refused": dict(self.refused),
        }

    @property
    def table(self) -> Table[Circuit]:
        """A line for each circuit: what goes in, and what the proved widths save."""
        columns: list[Column[Circuit]] = [
            Column("module", "module", lambda row: row.name, least=12),
            Column("rule", "rule", lambda row: row.rule, right=False, rank=2),
            Column("inputs", "inputs", _inputs, least=20),
            Column("multiplies", "multiplies", _products, right=False, rank=1),
            Column("bits written", "bits_written", lambda row: row.bits[0], sums=True),
            Column("needed", "bits_needed", lambda row: row.bits[1], sums=True),
            Column("saved", "saved", lambda row: _share(*row.bits)),
        ]
        notes = [f"{name}: {why}" for name, why in self.refused]
        if self.circuits:
            written, needed = np.sum([one.bits for one in self.circuits], axis=0)
            notes = [
                "bits: of all inputs and steps, in the types of the contract's text "
                f"and in the circuit; {_share(written, needed)} are saved.",
                *notes,
            ]
        return Table(
            f"circuits by {self.contract}",
            self.circuits,
            columns,
            "all",
            notes=notes,
            whole="--json",
        )


def _share(written: int, needed: int) -> str:
    return f"{100 * (written - needed) / written:.0f} %" if written else ""


def _inputs(row: Circuit) -> str:
    ranges = function_ranges(row.function)
    return ", ".join(
        f"{one.name} {bits_of(ranges[value])}"
        for one, value in zip(row.arguments, row.function.args, strict=True)
    )


def _products(row: Circuit) -> str:
    counts = Counter(f"{a} x {b}" for a, b in row.multipliers)
    return ", ".join(
        f"{count} of {sizes}" if count > 1 else sizes for sizes, count in counts.items()
    )


@default_floats()
def model_circuits(
    model: ModelOrPath,
    contract: str | None = None,
    *,
    layer: str = "*",
    constants: Constants = "inside",
    stages: int = 0,
) -> Circuits:
    """A circuit of each rule that the layers which `layer` means compute when the model
    runs; of those that are no function of a few integers, why not.

    Constants that differ from channel to channel are looked up by the input `channel`,
    or are inputs themselves if `constants` is `ports`.
    """
    loaded = Compilation(model, contract).model
    wanted = set(select_layers(loaded.module, layer))
    found: list[Circuit] = []
    refused: list[tuple[str, str]] = []
    used = contract or ""
    names = _Names()
    for op in layers(loaded.module):
        name = layer_name(op) or ""
        if name not in wanted:
            continue
        try:
            functions = functions_of_layer(loaded, contract, name)
        except QlowerError as error:
            if error.location is not None and layer != "*":
                raise
            refused.append((name, error.message))
            continue
        for one in functions:
            used = used or one.contract
            given = with_constants(one) if constants == "inside" else one
            own = names.new(given.name)
            found.append(_circuit(own, name, given, stages))
    return Circuits(used, found, refused)


def functions_of_layer(
    model: Model, contract: str | None, name: str
) -> list[ScalarFunction]:
    """The functions of a layer; `QlowerError` says why there are none."""
    module, sources, _ = model.index.detach([name])
    inputs = random_inputs(signature_of(module).inputs, 0)
    values = dict(zip(sources, inputs, strict=True))
    try:
        return layer_functions(name, run_layer(model, contract, name, values))
    except QlowerError as error:
        message = error.message.removeprefix(f"layer {name}: ")
        raise QlowerError(message, error.location, help=error.help) from error


def _circuit(name: str, layer: str, given: ScalarFunction, stages: int) -> Circuit:
    function = given.function.clone()
    function.properties["sym_name"] = type(function.sym_name)(name)
    module = to_comb(function)
    if stages:
        pipeline(module, stages)
    return Circuit(
        name,
        layer,
        given.rule_name,
        given.contract,
        given.function,
        given.arguments,
        module,
        stages,
        given,
    )


class _Names:
    """Names of modules, none of them twice."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, name: str) -> str:
        base = identifier(name)
        found = next(one for one in self._from(base) if one not in self._taken)
        self._taken.add(found)
        return found

    @staticmethod
    def _from(base: str) -> Iterator[str]:
        yield base
        number = 1
        while True:
            number += 1
            yield f"{base}_{number}"


def contract_circuits(
    contract: str | Contract,
    *,
    rules: Sequence[str] = RULES_OF_CIRCUITS,
    unsigned: bool = False,
    accumulator_bits: int = 32,
    stages: int = 0,
) -> Circuits:
    """A circuit of each rule of a contract that computes in integers, with inputs for
    all that the driver of a device computes from the scales."""
    loaded = load_contract(contract) if isinstance(contract, str) else contract
    found: list[Circuit] = []
    refused: list[tuple[str, str]] = []
    seen: dict[object, str] = {}
    for rule in rules:
        if rule not in loaded.rules:
            if rules is not RULES_OF_CIRCUITS:
                loaded.rule(rule)
            continue
        function = loaded.rule(rule).function
        if function in seen:
            refused.append((rule, f"is the same function as {seen[function]}"))
            continue
        try:
            opened = open_function(
                loaded, rule, unsigned=unsigned, bits=accumulator_bits
            )
        except QlowerError as error:
            if rules is not RULES_OF_CIRCUITS:
                known = ", ".join(integer_contracts(rule))
                raise QlowerError(
                    error.message,
                    error.location,
                    help=f"contracts whose rule {rule} is of integers: {known}",
                ) from error
            refused.append((rule, error.message))
            continue
        seen[function] = rule
        module = to_comb(opened.function)
        if stages:
            pipeline(module, stages)
        name = opened.function.sym_name.data
        found.append(
            Circuit(
                name,
                "",
                rule,
                loaded.name,
                opened.function,
                opened.arguments,
                module,
                stages,
            )
        )
    return Circuits(loaded.name, found, refused)
