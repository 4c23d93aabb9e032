"""Circuits have the results of the interpreter."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.circuits.circuits import drawn, interpreted, pins_of, simulated
from support.layers.small_model import SIGNED_MODEL, SMALL_MODEL

from qlower.circuits import ports
from qlower.circuits.make import Circuit, contract_circuits, model_circuits
from qlower.circuits.ports import open_function
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.text.parsing import parse_module

needs_icarus = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="iverilog isn't installed"
)


@pytest.mark.parts(5)
@needs_icarus
@pytest.mark.parametrize(
    "contract", [pytest.param("tflite", marks=pytest.mark.long), "pow2-shift"]
)
def test_rules_with_ports(contract: str, tmp_path: Path) -> None:
    found = contract_circuits(contract, rules=("conv2d", "add"))
    for circuit in found.circuits:
        values = usual(drawn(circuit, 4000, 1))
        results = simulated(circuit, values, tmp_path)
        np.testing.assert_array_equal(results, interpreted(circuit, values))


def test_no_two_modules_have_one_name() -> None:
    names = vars(import_module("qlower.circuits.make"))["_Names"]()
    wanted = ["a", "a_2", "a_3", "b", "a_2_2", "a_4"]
    assert [names.new(name) for name in ("a", "a", "a", "b", "a_2", "a")] == wanted


def usual(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Amounts of shifts to the left that don't shift numbers out."""
    return {
        name: one % 2 if name.startswith("left") else one
        for name, one in values.items()
    }


@pytest.mark.parts(6)
@needs_icarus
@pytest.mark.parametrize(("contract", "stages"), [("tflm", 0), ("gemmlowp", 3)])
def test_layers_in_stages(contract: str, stages: int, tmp_path: Path) -> None:
    model = tmp_path / "small.mlir"
    model.write_text(SIGNED_MODEL if contract == "tflm" else SMALL_MODEL)
    found = model_circuits(model, contract, stages=stages)
    assert [one.name for one in found.circuits] == ["conv", "scores"]
    assert [name for name, _ in found.refused] == ["flat"]
    for circuit in found.circuits:
        (argument, *_) = circuit.arguments
        channels = len(argument.low)
        low, high = int(argument.low.min()), int(argument.high.max())
        sums = np.repeat(np.arange(low, high + 1), channels)
        inside = np.tile(np.arange(channels), high + 1 - low)
        keep = (sums >= argument.low[inside]) & (sums <= argument.high[inside])
        values = {argument.name: sums[keep], "channel": inside[keep]}
        values = {name: values[name] for name in pins_of(circuit).inputs}
        results = simulated(circuit, values, tmp_path)
        np.testing.assert_array_equal(results, interpreted(circuit, values))


SIGMOID = """\
!in = !quant.uniform<i8:f32, 6.250000e-02:3>
!out = !quant.uniform<i8:f32, 3.906250e-03:-128>
func.func @main(%x: tensor<1x8x!in>) -> tensor<1x8x!out> {
  %y = qnn.sigmoid %x : (tensor<1x8x!in>) -> tensor<1x8x!out>
  return %y : tensor<1x8x!out>
}
"""


@pytest.mark.parts(2)
@needs_icarus
@pytest.mark.parametrize("contract", ["tflm", "pow2-shift"])
def test_activations(contract: str, tmp_path: Path) -> None:
    model = tmp_path / "sigmoid.mlir"
    model.write_text(SIGMOID)
    (circuit,) = model_circuits(model, contract).circuits
    (argument,) = circuit.arguments
    values = {argument.name: np.arange(-128, 128)}
    results = simulated(circuit, values, tmp_path)
    np.testing.assert_array_equal(results, interpreted(circuit, values))


def test_no_bits_are_wasted() -> None:
    (circuit,) = contract_circuits(
        "tflm", rules=("conv2d",), accumulator_bits=20
    ).circuits
    assert pins_of(circuit).inputs["accumulator"] == 20
    assert circuit.bits[1] < circuit.bits[0]


def test_a_value_that_is_named_like_a_word_of_the_language() -> None:
    (circuit,) = contract_circuits("tflite", rules=("requantize",)).circuits
    assert "operand" in pins_of(circuit).inputs
    assert "input  logic signed [7:0] operand" in circuit.text


@pytest.mark.long
def test_floats_are_refused_by_name() -> None:
    with pytest.raises(QlowerError, match="computes in floats") as error:
        contract_circuits("pytorch-fbgemm", rules=("conv2d",))
    assert "tflite" in str(error.value)


def test_a_float_that_no_step_takes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.mlir"
    path.write_text("""func.func @real_linear(%sum: f32) -> f32 {
  return %sum : f32
}""")
    with pytest.raises(QlowerError) as caught:
        open_function(load_contract(str(path)), "real_linear")
    assert caught.value.message == (
        "rule real_linear of contract own computes in floats, a circuit has integers "
        "only"
    )


def test_ports_take_what_their_steps_have_results_for() -> None:
    rule = open_function(load_contract("tflite"), "conv2d")
    ends = {
        one.name: (int(one.low.min()), int(one.high.max())) for one in rule.arguments
    }
    assert ends == {
        **dict.fromkeys(("accumulator", "multiplier"), (-(1 << 31), (1 << 31) - 1)),
        **dict.fromkeys(("left_shift", "shift"), (0, 31)),
        **dict.fromkeys(("output_zero_point", "output_min", "output_max"), (-128, 127)),
    }


def test_contracts_whose_rules_are_of_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    known = ["exact", "tflm", "pow2-shift"]
    monkeypatch.setattr(ports, "contract_names", lambda: known)
    assert ports.integer_contracts("requantize") == known[1:]


def test_what_an_elements_number_decides_is_a_port() -> None:
    """The number itself isn't: whether it is in a row's tail is known when a device is
    driven, and one bit."""
    rule = open_function(load_contract("tflite-ruy"), "add")
    ends = {
        one.name: (int(one.low.min()), int(one.high.max())) for one in rule.arguments
    }
    assert ends["lhs"] == ends["rhs"] == (-128, 127)
    assert "element" not in ends
    assert list(ends)[:2] == ["lhs", "rhs"]


def test_a_step_with_one_result_takes_no_bits() -> None:
    """None of the 32 in its type are needed; nor does a constant count."""
    text = """func.func @f(%a: i32) -> i32 {
      %three = arith.constant 3 : i32
      %zero = arith.constant 0 : i32
      %none = arith.muli %a, %zero : i32
      %five = arith.maxsi %none, %three : i32
      %low = arith.andi %a, %three : i32
      %sum = arith.addi %low, %five : i32
      return %sum : i32
    }"""
    (function,) = parse_module(text).body.block.ops
    bits: Any = vars(Circuit)["bits"].fget
    assert bits(SimpleNamespace(function=function)) == (5 * 32, 32 + 2 + 3)
