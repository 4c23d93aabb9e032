"""The cost of contracts as circuits of a model, with how often they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qlower.circuits.area import NO_YOSYS, Area, area_of
from qlower.circuits.make import Circuit
from qlower.circuits.requantizer import requantizer
from qlower.circuits.tools import is_installed
from qlower.contract_pages.contract_differences import Disagreement, Subject, compare
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.explain.diff import Progress, no_progress
from qlower.files.replacing import writing
from qlower.model import Model
from qlower.tables.plots import BLUE, GREY, new_figure, save
from qlower.tables.table import NOTHING, Column, Table, Tabled
from qlower.transforms.arith_to_comb.circuit import bits_of

SUMS = ("conv2d", "depthwise_conv2d", "linear")
"""The kinds of layers whose outputs are compared."""


@dataclass(frozen=True)
class Cost:
    """A contract's requantizer; `why` it has none. `difference` is of the outputs of
    the model's convolutions and linear layers, each on the same inputs."""

    contract: str
    circuit: Circuit | None
    area: Area | None
    difference: Disagreement
    why: str = ""


@dataclass(frozen=True, repr=False)
class Costs(Tabled[Cost]):
    """The costs of contracts for a model; the first one is the yardstick, `against` is
    what outputs are held against."""

    model: str
    against: str
    rows: Sequence[Cost]

    @property
    def table(self) -> Table[Cost]:
        """A line for each contract."""
        columns: list[Column[Cost]] = [
            Column("contract", "contract", lambda row: row.contract, right=False),
            Column("ports", "ports", _ports, least=20, rank=2),
            Column("multiplies", "multiplies", _products, right=False),
            Column("wires", "wires", lambda row: row.circuit and row.circuit.bits[1]),
            Column("cells", "cells", lambda row: row.area and row.area.cells),
            Column("LUTs", "luts", lambda row: row.area and row.area.luts),
            Column(
                "transistors",
                "transistors",
                lambda row: row.area and row.area.transistors,
            ),
            Column("area", "relative_area", self._relative, self._shown_relative),
            Column("outputs that differ", "differing", _differing, _shown),
        ]
        notes = [
            "one requantizer for all convolutions, combinational, with ports for what "
            "differs between layers and channels; bits of ports and wires, cells of "
            "two inputs and LUTs of six by Yosys; area: transistors, beside "
            f"{self.rows[0].contract}",
            f"outputs of each convolution and linear layer by itself, held against "
            f"{self.against}; in brackets the largest difference, if more than 1",
            *(f"{row.contract}: {row.why}" for row in self.rows if row.why),
            *([] if is_installed("yosys") else [f"no cells and LUTs: {NO_YOSYS}"]),
        ]
        return Table(f"cost on {self.model}", self.rows, columns, notes=notes)

    def _relative(self, row: Cost) -> float | None:
        first = self.rows[0].area
        if row.area is None or first is None:
            return None
        return row.area.transistors / first.transistors

    def _shown_relative(self, row: Cost) -> str:
        found = self._relative(row)
        return NOTHING if found is None else f"{found:.2f}"

    def plot(self, path: Path) -> None:
        """Draw area against the share of outputs that differ."""
        figure = new_figure(6.4, 3.6)
        axes: Any = figure.subplots()  # pyright: ignore[reportUnknownMemberType]
        for row in self.rows:
            if row.area is None or not row.difference.count:
                continue
            share = 100 * row.difference.differing / row.difference.count
            axes.plot(share, row.area.cells, "o", color=BLUE)
            axes.annotate(
                row.contract.removeprefix("arithmetic: base tflite; "),
                (share, row.area.cells),
                (4, 4),
                textcoords="offset points",
                fontsize=7,
            )
        axes.set_xlabel(f"outputs that differ from {self.against}, in %")
        axes.set_ylabel("cells")
        axes.set_ylim(0)
        axes.grid(color=GREY, linewidth=0.4)
        with writing(path):
            save(figure, path)


def _ports(row: Cost) -> str:
    if row.circuit is None:
        return ""
    return ", ".join(
        f"{one.name} {bits_of((int(np.min(one.low)), int(np.max(one.high))))}"
        for one in row.circuit.arguments
    )


def _products(row: Cost) -> str:
    if row.circuit is None:
        return ""
    return ", ".join(f"{a} x {b}" for a, b in row.circuit.multipliers) or "nothing"


def _differing(row: Cost) -> float | None:
    found = row.difference
    return found.differing / found.count if found.count else None


def _shown(row: Cost) -> str:
    return str(row.difference)


def costs(
    subject: Subject,
    contracts: Sequence[str],
    against: str = "exact",
    *,
    examples: int | None = None,
    progress: Progress = no_progress,
) -> Costs:
    """The cost of the contracts on a model, and how often they differ on its inputs.

    Without Yosys there are no areas. Raises `QlowerError` if no contract has a
    requantizer.
    """
    names = list(dict.fromkeys(contracts))
    found = compare([subject], list(dict.fromkeys([*names, against])), examples)
    reference = load_contract(against).name
    rows = [
        _cost(
            subject.model,
            name,
            _sum(
                [
                    kind.difference(load_contract(name).name, reference)
                    for key, kind in found.kinds.items()
                    if key in SUMS
                ]
            ),
        )
        for name in (names[n] for n in progress(range(len(names)), "cost"))
    ]
    if not any(row.circuit for row in rows):
        raise QlowerError(
            "no contract has a requantizer of integers",
            notes=[f"{row.contract}: {row.why}" for row in rows],
        )
    return Costs(subject.name, against, rows)


def _sum(parts: Sequence[Disagreement]) -> Disagreement:
    total = Disagreement()
    for part in parts:
        total.add(part.count, part.differing, part.largest)
    return total


def _cost(model: Model, name: str, difference: Disagreement) -> Cost:
    contract = load_contract(name)
    try:
        circuit = requantizer(model, contract)
    except QlowerError as error:
        return Cost(contract.name, None, None, difference, error.message)
    area = area_of(circuit) if is_installed("yosys") else None
    return Cost(contract.name, circuit, area, difference)
