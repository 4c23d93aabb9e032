"""A module as Yosys reads it: ports, and SMT-LIB functions of its state."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict, cast

from qlower.circuits.rtl.source import MAIN, copy_source
from qlower.circuits.tools import find_program, run_within_limits
from qlower.diagnostics import QlowerError

_SCRIPT = (
    "read_verilog -sv {file}; hierarchy -check -top {top}; proc; flatten; opt; "
    "memory; async2sync; setundef -undriven -anyseq; setundef -anyseq; opt_clean; "
    "check -assert; write_smt2 -stbv design.smt2; write_json design.json"
)
"""Bits that Verilog leaves unknown may be anything."""


class _Port(TypedDict, total=False):
    direction: str
    signed: int
    bits: list[int | str]


class _Cell(TypedDict):
    type: str
    parameters: Mapping[str, str]
    connections: Mapping[str, list[int | str]]


class _Module(TypedDict):
    ports: Mapping[str, _Port]
    cells: Mapping[str, _Cell]


@dataclass(frozen=True)
class Port:
    """A port and its width."""

    name: str
    is_input: bool
    is_signed: bool
    bits: int


@dataclass(frozen=True)
class Design:
    """A module: `smt` defines its state's sort, ports and transition; `clock` is the
    port of its registers, if it has any."""

    top: str
    ports: Mapping[str, Port]
    clock: str | None
    smt: str

    @property
    def state_bits(self) -> int:
        """Bits of the state, which has the inputs, too."""
        pattern = rf"\(define-sort \|{self.top}_s\| \(\) \(_ BitVec (\d+)\)\)"
        found = re.search(pattern, self.smt)
        assert found is not None, "Yosys writes the state's sort"
        return int(found[1])

    @property
    def places(self) -> Sequence[tuple[int, int, str]]:
        """The lowest bit in the state, the bits and the name of each input."""
        names = dict(
            re.findall(
                rf"\(define-fun \|{self.top}_n (\S+)\| .* "
                rf"\((\|{self.top}#\d+\|) state\)\)",
                self.smt,
            )
        )
        extracts = {
            name: (int(low), int(high) - int(low) + 1)
            for name, high, low in re.findall(
                rf"\(define-fun (\|{self.top}#\d+\|) \(\(state \|{self.top}_s\|\)\) "
                r"(?:Bool \(= |\(_ BitVec \d+\) )\(\(_ extract (\d+) (\d+)\) state\)",
                self.smt,
            )
        }
        return [
            (*extracts[names[port.name]], port.name)
            for port in self.ports.values()
            if port.is_input
        ]


def read_design(file: Path, top: str, seconds: float) -> Design:
    """Read a module of a Verilog file by Yosys.

    Raises `QlowerError` for what isn't Verilog that Yosys synthesizes, for latches, and
    for registers of several clocks or the falling edge.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", top):
        raise QlowerError(f"{top!r} is no name of a module")
    yosys = find_program("yosys")
    with TemporaryDirectory() as name:
        folder = Path(name)
        copy_source(file, folder)
        script = _SCRIPT.format(file=MAIN, top=top)
        done = run_within_limits([yosys, "-q", "-p", script], folder, seconds)
        if done.code is None:
            raise QlowerError(f"Yosys takes more than {seconds:g} s to read {file}")
        if done.code != 0:
            lines = [one for one in done.output.splitlines() if "ERROR" in one]
            why = (lines or done.output.splitlines()[-1:] or ["no output"])[0]
            why = why.replace(MAIN, str(file)).removeprefix("ERROR: ")
            raise QlowerError(f"Yosys doesn't take {file}: {why}")
        smt = (folder / "design.smt2").read_text()
        found = json.loads((folder / "design.json").read_text())
    module = cast(_Module, found["modules"][top])
    for key in module["ports"]:
        if not re.fullmatch(r"[A-Za-z_][\w$]*", key):
            raise QlowerError(f"port {key!r} of module {top} has characters of its own")
    ports = {
        key: Port(
            key,
            port.get("direction") == "input",
            bool(port.get("signed")),
            len(port.get("bits", [])),
        )
        for key, port in module["ports"].items()
    }
    return Design(top, ports, _clock(module, top), smt)


def _clock(module: _Module, top: str) -> str | None:
    """The port that all registers have as clock."""
    bits = {tuple(p["bits"]): key for key, p in module["ports"].items() if "bits" in p}
    found: set[str] = set()
    for cell in module["cells"].values():
        if "latch" in cell["type"]:
            raise QlowerError(f"module {top} has a latch: an output isn't always set")
        if "CLK" not in cell["connections"]:
            continue
        clock = bits.get(tuple(cell["connections"]["CLK"]))
        if clock is None or not cell["parameters"].get("CLK_POLARITY", "1").endswith(
            "1"
        ):
            raise QlowerError(
                f"module {top} has a register whose clock is no port, or falls"
            )
        found.add(clock)
    if len(found) > 1:
        raise QlowerError(f"module {top} has {len(found)} clocks: {sorted(found)}")
    return next(iter(found), None)
