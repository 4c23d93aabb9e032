"""Running Verilog on given inputs, in Icarus Verilog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from qlower.circuits.tools import find_program, run_within_limits
from qlower.diagnostics import QlowerError

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Pins:
    """The connections of a test bench: widths of driven inputs by name, inputs that are
    held at a number, the output with its width, and a clock with the number of cycles
    that it takes."""

    inputs: Mapping[str, int]
    held: Mapping[str, int]
    output: str
    bits: int
    clock: str | None = None
    latency: int = 0


def simulate(
    files: Sequence[Path],
    top: str,
    pins: Pins,
    values: Mapping[str, Integers],
    *,
    seconds: float = 60,
) -> list[int | None]:
    """The outputs of a module for sets of inputs, as numbers without a sign; None for
    one with bits that are unknown. With a clock a set is given each cycle.

    Raises `QlowerError` where Icarus Verilog is missing, refuses the files or takes
    longer than it may.
    """
    iverilog, vvp = find_program("iverilog"), find_program("vvp")
    count = len(next(iter(values.values())))
    with TemporaryDirectory() as name:
        folder = Path(name)
        for port, bits in pins.inputs.items():
            words = [int(one) % (1 << bits) for one in values[port]]
            text = "".join(f"{word:x}\n" for word in words)
            (folder / f"{port}.hex").write_text(text)
        (folder / "bench.sv").write_text(_bench(top, pins, count))
        made = run_within_limits(
            [iverilog, "-g2012", "-o", "bench.vvp", "-s", "bench", "bench.sv"]
            + [str(file.resolve()) for file in files],
            folder,
            seconds,
        )
        if made.code != 0:
            raise QlowerError(
                f"Icarus Verilog doesn't take {top}", notes=made.output.splitlines()[:5]
            )
        done = run_within_limits([vvp, "-n", "bench.vvp"], folder, seconds)
        if done.code != 0:
            why = "takes too long" if done.code is None else "fails"
            raise QlowerError(f"the simulation of {top} {why}")
        results = folder / "result.txt"
        lines = results.read_text().split() if results.is_file() else []
    if len(lines) != count:
        raise QlowerError(f"the simulation of {top} ends by itself")
    return [None if set(line) & set("xz") else int(line, 2) for line in lines]


def _bench(top: str, pins: Pins, count: int) -> str:
    """A module that gives sets of inputs and writes the output of each."""
    ports = [f".{name}({name})" for name in pins.inputs]
    ports += [f".{name}({value})" for name, value in pins.held.items()]
    ports.append(f".{pins.output}(out_)")
    if pins.clock is not None:
        ports.append(f".{pins.clock}(clk_)")
    later = max(pins.latency - 1, 0) if pins.clock is not None else 0
    lines = [
        "module bench;",
        "  integer n_, file_;",
        "  reg clk_ = 0;",
        f"  wire [{pins.bits - 1}:0] out_;",
    ]
    for name, bits in pins.inputs.items():
        lines += [
            f"  reg [{bits - 1}:0] {name};",
            f"  reg [{bits - 1}:0] {name}_all_ [0:{count - 1}];",
        ]
    lines += [f"  {top} dut_ ({', '.join(ports)});", "  initial begin"]
    lines += [f'    $readmemh("{name}.hex", {name}_all_);' for name in pins.inputs]
    lines += [
        '    file_ = $fopen("result.txt", "w");',
        f"    for (n_ = 0; n_ < {count + later}; n_ = n_ + 1) begin",
        *(
            f"      {name} = {name}_all_[n_ < {count} ? n_ : {count - 1}];"
            for name in pins.inputs
        ),
        "      #1 clk_ = 1;",
        f'      #1 if (n_ >= {later}) $fdisplay(file_, "%b", out_);',
        "      clk_ = 0;",
        "    end",
        "    $fclose(file_);",
        "    $finish;",
        "  end",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"
