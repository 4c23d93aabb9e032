"""The printed SystemVerilog of circuits, evaluated without a simulator."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from support.circuits.circuits import drawn, interpreted, pins_of
from support.circuits.verilog_text import evaluate, ports_of
from support.layers.small_model import SIGNED_MODEL, SMALL_MODEL
from support.table_forms import forms
from xdsl.dialects import hw

from qlower.circuits.bench import bench_text, has_vectors
from qlower.circuits.make import Circuit, contract_circuits, model_circuits
from qlower.diagnostics import QlowerError
from qlower.emit.systemverilog import systemverilog
from qlower.text.parsing import parse_module

RECORDED = Path(__file__).parent / "recorded"


def hold(circuit: Circuit, count: int) -> None:
    """The text has the interpreter's results, and ports of the arguments' integers."""
    values = drawn(circuit, count, 2)
    for name in values:
        if name.startswith("left"):  # no shift drops numbers
            values[name] %= 2
    ports = ports_of(circuit.text)
    for one in circuit.arguments:
        ends = int(one.low.min()), int(one.high.max())
        if one.name in ports and ports[one.name].range:
            assert ports[one.name].range == ends
    found = evaluate(
        circuit.text, {n: values[n] for n in pins_of(circuit).inputs}, circuit.stages
    )
    np.testing.assert_array_equal(found, interpreted(circuit, values))


@pytest.mark.parts(4)
@pytest.mark.parametrize("stages", [0, 3])
@pytest.mark.parametrize(
    ("contract", "rules"),
    [
        ("tflite", ("conv2d", "add", "requantize")),
        ("pow2-shift", ("conv2d", "add")),
        ("tvm", ("conv2d",)),
        ("gemmlowp", ("conv2d",)),
        ("pulp-nn", ("conv2d",)),
    ],
)
def test_rules_with_ports(contract: str, rules: tuple[str, ...], stages: int) -> None:
    for circuit in contract_circuits(contract, rules=rules, stages=stages).circuits:
        hold(circuit, 40)


@pytest.mark.parametrize(
    ("contract", "stages"), [("tflm", 0), ("gemmlowp", 3), ("pow2-shift", 1)]
)
def test_layers_with_their_constants(
    contract: str, stages: int, tmp_path: Path
) -> None:
    model = tmp_path / "small.mlir"
    model.write_text(SIGNED_MODEL if contract == "tflm" else SMALL_MODEL)
    found = model_circuits(model, contract, stages=stages)
    assert [one.name for one in found.circuits] == ["conv", "scores"]
    for circuit in found.circuits:
        hold(circuit, 40)


SIGMOID = """\
!in = !quant.uniform<i8:f32, 6.250000e-02:3>
!out = !quant.uniform<i8:f32, 3.906250e-03:-128>
func.func @main(%x: tensor<1x8x!in>) -> tensor<1x8x!out> {
  %y = qnn.sigmoid %x : (tensor<1x8x!in>) -> tensor<1x8x!out>
  return %y : tensor<1x8x!out>
}
"""


@pytest.mark.parametrize("contract", ["tflm", "pow2-shift"])
def test_tables(contract: str, tmp_path: Path) -> None:
    """A function that is a table in the text."""
    model = tmp_path / "sigmoid.mlir"
    model.write_text(SIGMOID)
    (circuit,) = model_circuits(model, contract).circuits
    (argument,) = circuit.arguments
    values = {argument.name: np.array([*range(-128, 128, 9), -127, 126])}
    np.testing.assert_array_equal(
        evaluate(circuit.text, values), interpreted(circuit, values)
    )


def test_numbers_of_four_bits() -> None:
    literal = vars(import_module("qlower.emit.systemverilog"))["_literal"]
    numbers = ((6, True), (8, True), (-3, True), (-3, False))
    found = [literal(value, 4, signed) for value, signed in numbers]
    assert found == ["4'sd6", "-4'sd8", "-4'sd3", "4'd13"]


def test_a_register_with_a_reset_is_refused() -> None:
    text = """hw.module @m(in %x: i8, in %clk: !seq.clock, in %r: i1, out result: i8) {
  %y = seq.compreg %x, %clk reset %r, %x : i8
  hw.output %y : i8
}"""
    (module,) = parse_module(text, "m.mlir").body.ops
    assert isinstance(module, hw.HWModuleOp)
    with pytest.raises(QlowerError, match=r"m.mlir:2.*a register with a reset"):
        systemverilog(module)


def test_steps_of_several_bits() -> None:
    """Parts, copies, comparisons and shifts, each with its sign or without."""
    text = """hw.module @m(in %a: i6, in %b: i6, in %c: i1, out r: i12) {
  %part = comb.extract %a from 2 : (i6) -> i2
  %end = comb.extract %b from 5 : (i6) -> i1
  %times = comb.replicate %part : (i2) -> i6
  %sign = comb.replicate %end : (i1) -> i6
  %less = comb.icmp slt %a, %times : i6
  %below = comb.icmp ult %b, %sign : i6
  %arithmetic = comb.shrs %a, %b : i6
  %logical = comb.shru %a, %b : i6
  %one = comb.mux %less, %arithmetic, %logical : i6
  %other = comb.mux %below, %one, %times : i6
  %whole = comb.concat %one, %other : i6, i6
  hw.output %whole : i12
}"""
    (module,) = parse_module(text, "m.mlir").body.ops
    assert isinstance(module, hw.HWModuleOp)
    lines = [line.strip() for line in systemverilog(module).splitlines()]
    assert [line for line in lines if " = " in line] == [
        "wire [1:0] part = a[3:2];",
        "wire end_ = b[5];",
        "wire [5:0] times = {3{part}};",
        "wire [5:0] sign = {6{end_}};",
        "wire less = $signed(a) < $signed(times);",
        "wire below = b < sign;",
        "wire [5:0] arithmetic = $signed(a) >>> b;",
        "wire [5:0] logical = a >> b;",
        "wire [5:0] one = less ? arithmetic : logical;",
        "wire [5:0] other = below ? one : times;",
        "wire [11:0] whole = {one, other};",
        "assign r = whole;",
    ]


@pytest.mark.parametrize("stages", [0, 2])
def test_a_bench_that_was_recorded(stages: int, tmp_path: Path) -> None:
    """Icarus Verilog has run these texts on the layer's vectors: 16 of 16 pass."""
    model = tmp_path / "small.mlir"
    model.write_text(SIGNED_MODEL)
    (circuit, _) = model_circuits(model, "tflm", stages=stages).circuits
    assert has_vectors(circuit)
    assert bench_text(circuit) == (RECORDED / f"conv_{stages}_tb.sv").read_text()


def test_the_sizes_of_circuits(tmp_path: Path) -> None:
    """What goes in, what is multiplied, and bits in types and in the circuit."""
    model = tmp_path / "small.mlir"
    model.write_text(SIGNED_MODEL)
    found = model_circuits(model, "tflm")
    assert found.table.records() == [
        {
            **{"module": "conv", "rule": "conv2d", "multiplies": "31 x 16"},
            **{"inputs": "accumulator 16, channel 1", "saved": "63 %"},
            **{"bits_written": 384, "bits_needed": 141},
        },
        {
            **{"module": "scores", "rule": "linear", "multiplies": "31 x 15"},
            **{"inputs": "accumulator 15", "saved": "63 %"},
            **{"bits_written": 352, "bits_needed": 131},
        },
    ]
    assert forms(found.table) == [
        *("module, left, cut to 12", "rule, left, rank 2", "inputs, left, cut to 20"),
        *("multiplies, left, rank 1", "bits written, right, sums"),
        *("needed, right, sums", "saved, right"),
    ]
    assert found.table.notes == [
        "bits: of all inputs and steps, in the types of the contract's text and in the "
        "circuit; 63 % are saved.",
        "flat: qnn.reshape has no arithmetic: it moves or compares elements",
    ]
    # 0 to 255 times 64 or -32, and the bias
    (accumulator, channel) = found.circuits[0].arguments
    assert (accumulator.low.tolist(), accumulator.high.tolist()) == (
        *([100, -8360], [16420, -200]),
    )
    assert (channel.low.tolist(), channel.high.tolist()) == ([0, 1], [0, 1])
