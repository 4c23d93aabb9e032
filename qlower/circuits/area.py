"""The size of a circuit, as Yosys maps it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from qlower.circuits.make import Circuit
from qlower.circuits.tools import PROGRAMS, find_program, run_within_limits
from qlower.diagnostics import QlowerError

NO_YOSYS = f"yosys is not installed ({PROGRAMS['yosys']})"

SECONDS = 300.0
"""The time limit of Yosys for a module."""

_LUTS = "synth -flatten -lut 6 -top {top}; stat"
_CELLS = (
    "synth -flatten -top {top}; abc -g AND,OR,XOR,NAND,NOR,XNOR,MUX; stat -tech cmos"
)


@dataclass(frozen=True)
class Area:
    """Gates of two inputs, inverters and multiplexers; the transistors that they would
    have in CMOS; and tables of six inputs, as FPGAs have them."""

    cells: int
    transistors: int
    luts: int


def area_of(circuit: Circuit) -> Area:
    """The area of a circuit. Raises `QlowerError` where Yosys is missing or slow."""
    text = circuit.text.partition("\n")[2]  # without the contract's name
    cells = _stat(text, circuit.name, _CELLS)
    transistors = re.search(r"transistors: +(\d+)", cells)
    assert transistors is not None, "Yosys counts transistors"
    return Area(_cells(cells), int(transistors[1]), luts_of(circuit))


def luts_of(circuit: Circuit) -> int:
    """The tables of six inputs alone, which takes a quarter of the time."""
    text = circuit.text.partition("\n")[2]
    return _cells(_stat(text, circuit.name, _LUTS))


def _cells(text: str) -> int:
    found = re.search(r"Number of cells: +(\d+)", text)
    assert found is not None, "Yosys counts cells"
    return int(found[1])


@lru_cache(maxsize=1 << 10)
def _stat(text: str, top: str, script: str) -> str:
    """The statistics that Yosys prints for a module at the end of a script."""
    yosys = find_program("yosys")
    with TemporaryDirectory() as name:
        (Path(name) / "circuit.sv").write_text(text)
        commands = f"read_verilog -sv circuit.sv; {script.format(top=top)}"
        done = run_within_limits([yosys, "-p", commands], Path(name), SECONDS)
    if done.code != 0:
        why = "takes too long for" if done.code is None else "fails on"
        raise QlowerError(f"Yosys {why} {top}", notes=done.output.splitlines()[-3:])
    return done.output[done.output.rindex("Printing statistics") :]
