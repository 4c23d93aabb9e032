"""Test benches that give a circuit the vectors of `qlower vectors`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from qlower.circuits.functions import CHANNEL, OPERAND
from qlower.circuits.make import Circuit
from qlower.emit.systemverilog import port_bits
from qlower.transforms.pipeline_circuits import CLOCK
from qlower.transforms.scalar_ranges import function_ranges

MOST_BITS = 64
"""Bits of the words in which vectors are read."""

FILES = {
    "accumulator": "accumulator",
    "lhs": "input0",
    "rhs": "input1",
    OPERAND: "input",
}
"""The file of each input, by its name."""


@dataclass(frozen=True)
class _Port:
    name: str
    bits: int


def has_vectors(circuit: Circuit) -> bool:
    """Whether the vectors of the circuit's layer are its own inputs and results."""
    source = circuit.source
    return (
        source is not None
        and source.selector == CHANNEL
        and source.name == circuit.layer
        and not any(one.parameter and one.name != CHANNEL for one in circuit.arguments)
    )


def bench_text(circuit: Circuit) -> str:
    """A test bench in SystemVerilog of a layer's circuit with its constants inside.

    It reads the vectors' folder, `+vectors=DIR`, whose files have a word a line after a
    comment, all in the same order; the channel is the place along the last axis. It
    gives a set of inputs each cycle, compares each result, and ends with PASS, or with
    the first differences and FAIL. Simulators run it by
    `iverilog -g2012 -o M M.sv M_tb.sv && ./M +vectors=DIR`.
    """
    source = circuit.source
    assert source is not None
    assert has_vectors(circuit)
    inputs, outputs = _ports(circuit)
    channels = [one for one in inputs if one.name == source.selector]
    read = [one for one in inputs if one not in channels]
    (result,) = outputs
    latency = circuit.stages
    word = max(-(-result.bits // 8) * 8, 8)
    low = function_ranges(source.function)[_returned(source.function)][0]
    read_as = f"$signed({result.name})" if low < 0 else result.name
    lines = [
        f"// vectors for {circuit.name}: run with +vectors=FOLDER",
        f"module {circuit.name}_tb;",
        f"  localparam int LATER = {max(latency - 1, 0)};",
        f"  localparam int CHANNELS = {source.lane_count};",
        "  string folder, file;",
        "  logic [2047:0] head;",
        "  int word, last, given, seen, faults;",
        "  bit done;",
        *(f"  int {one.name}_file;" for one in [*read, result]),
        *(f"  logic {_size(one)}{one.name};" for one in inputs),
        f"  logic {_size(result)}{result.name};",
        f"  logic [{MOST_BITS - 1}:0] bits;",
        f"  logic [{word - 1}:0] wanted [0:LATER];",
        f"  wire [{word - 1}:0] got = {word}'({read_as});",
        "  bit valid [0:LATER];",
        *(["  logic clk = 0;"] if latency else []),
        "",
        f"  {circuit.name} dut (.*);",
        "",
        "  initial begin",
        '    if (!$value$plusargs("vectors=%s", folder)) folder = ".";',
        *_opened([*read, result], circuit),
        "    for (int n = 0; n <= LATER; n++) valid[n] = 0;",
        "    while (!done || given > seen) begin",
        "      for (int n = LATER; n > 0; n--) begin",
        "        wanted[n] = wanted[n - 1];",
        "        valid[n] = valid[n - 1];",
        "      end",
        "      valid[0] = 0;",
        "      if (!done) begin",
        *_words(read, result, word),
        "        if (!done) begin",
        *(f"          {one.name} = {one.bits}'(given % CHANNELS);" for one in channels),
        "          given++;",
        "          valid[0] = 1;",
        "        end",
        "      end",
        *(["      #1 clk = 1;"] if latency else []),
        "      #1;",
        *_compared(inputs, result, latency),
        *(["      clk = 0;"] if latency else []),
        "    end",
        f'    if (given == 0) $display("FAIL {circuit.name}: no vectors");',
        "    else if (faults == 0)",
        f'      $display("PASS {circuit.name}: %0d vectors", given);',
        f'    else $display("FAIL {circuit.name}: %0d of %0d differ", faults, given);',
        "    if (given == 0 || faults > 0) $fatal(1);",
        "    $finish;",
        "  end",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _returned(function: FuncOp) -> SSAValue:
    """The result of a function that has one."""
    end = function.body.block.last_op
    assert end is not None
    return end.operands[0]


def _ports(circuit: Circuit) -> tuple[list[_Port], list[_Port]]:
    """The inputs but for the clock, and the outputs."""
    inputs: list[_Port] = []
    outputs: list[_Port] = []
    for port in circuit.module.module_type.ports.data:
        if port.port_name.data == CLOCK:
            continue
        into = inputs if port.dir.data.is_input_like() else outputs
        into.append(_Port(port.port_name.data, port_bits(port)))
    return inputs, outputs


def _size(port: _Port) -> str:
    return f"[{port.bits - 1}:0] "


def _file_of(port: _Port, circuit: Circuit) -> str:
    if port.name == "result":
        return "output"
    alone = len([one for one in circuit.arguments if one.name in ("lhs", "rhs")]) == 1
    return "input" if alone else FILES.get(port.name, port.name)


def _opened(ports: Sequence[_Port], circuit: Circuit) -> list[str]:
    lines: list[str] = []
    for port in ports:
        name = f"{_file_of(port, circuit)}.hex"
        lines += [
            f'    file = $sformatf("%0s/{name}", folder);',
            f'    {port.name}_file = $fopen(file, "r");',
            f"    if ({port.name}_file == 0) begin",
            f'      $display("FAIL {circuit.name}: no file %0s", file);',
            "      $fatal(1);",
            "    end",
            f"    last = $fgets(head, {port.name}_file);",
        ]
    return lines


def _words(read: Sequence[_Port], result: _Port, word: int) -> list[str]:
    """Each file's next word; at the end of one all are done."""
    lines: list[str] = []
    for port in [*read, result]:
        target = "wanted[0]" if port is result else port.name
        bits = word if port is result else port.bits
        lines += [
            f'        word = $fscanf({port.name}_file, "%h", bits);',
            "        if (word != 1) done = 1;",
            f"        {target} = bits[{bits - 1}:0];",
        ]
    return lines


def _compared(inputs: Sequence[_Port], result: _Port, latency: int) -> list[str]:
    shown = ", ".join(f"{one.name} %0h" for one in inputs)
    values = ", ".join(one.name for one in inputs)
    at = "" if latency else f", inputs in hexadecimal: {shown}"
    more = "" if latency else f", {values}"
    message = f'"vector %0d: {result.name} %0h, expected %0h{at}"'
    return [
        "      if (valid[LATER]) begin",
        "        if (got !== wanted[LATER]) begin",
        "          faults++;",
        "          if (faults <= 10)",
        f"            $display({message}, seen, got, wanted[LATER]{more});",
        "        end",
        "        seen++;",
        "      end",
    ]
