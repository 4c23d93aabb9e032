"""Chains of steps: exact beside rounded numbers, and errors that add up."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.layers.run_files import RUN_TESTS, RunTest

import qlower
from qlower.cli import main
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import load_text
from qlower.model.layers import layer_name, layers
from qlower.model.signature import Array

EXAMPLES = Path(__file__).parents[2] / "examples"
RESIDUAL = EXAMPLES / "glow-divergence" / "residual.mlir"
TESTS = [test for test in RUN_TESTS if test.path.parent.name == "qnn"]
APPROXIMATE = {"hard_swish", "leaky_relu"}
"""What the contract `exact` computes in tables of float64."""


def traces(test: RunTest, contract: str) -> list[qlower.Trace]:
    """Some elements of the last layer."""
    model = load_text(test.text.encode(), str(test.path), ImportOptions())
    inputs = test.inputs(model)
    *_, last = layers(model.module)
    results: dict[str, Array] = {}
    chosen = contract or None
    qlower.interpret(model, *inputs, contract=chosen, at="qnn", layers=results)
    name = layer_name(last) or ""
    array = results[name]
    places = [np.unravel_index(n, array.shape) for n in range(min(array.size, 2))]
    found: list[qlower.Trace] = []
    for place in places:
        at = f"{name}[{','.join(map(str, place))}]"
        found.append(qlower.trace(model, *inputs, at=at, contract=chosen))
        assert found[-1].result == array[place]
    return found


@pytest.mark.parts(16)
@pytest.mark.parametrize("test", TESTS, ids=str)
def test_errors_add_up_to_the_result(test: RunTest) -> None:
    for contract in test.contracts[-1:]:
        for trace in traces(test, contract):
            for chain in trace.chains:
                if None in chain.exact_values or not np.isfinite(chain.result):
                    continue
                errors = [error for error in chain.errors if error is not None]
                start = chain.exact_values[-1]
                assert start is not None
                assert start + sum(errors) == Fraction(chain.result.item())
                assert chain.so_far[-1] == Fraction(chain.result.item())
            if trace.chains and trace.kind not in ("softmax", "compare"):
                assert trace.chains[-1].result == trace.result
            assert json.dumps(trace.to_dict())
            assert "<table>" in trace._repr_html_() or not trace.chains  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parts(6)
@pytest.mark.parametrize(
    "test", [test for test in TESTS if "exact" in test.contracts], ids=str
)
def test_the_exact_contract_rounds_what_is_exact(test: RunTest) -> None:
    for trace in traces(test, "exact"):
        if not trace.chains or trace.chains[-1].meant is None:
            continue
        exact, given = trace.exact, {s.name: s.value for s in trace.chains[-1].steps}
        assert exact is not None
        if trace.kind in ("dequantize", "dcast") or trace.kind in APPROXIMATE:
            assert float(exact) == pytest.approx(float(trace.result), abs=1)
            continue
        low, high = int(given["output_min"]), int(given["output_max"])
        zero = int(given["output_zero_point"])
        rounded = zero + round(exact - zero)
        assert min(max(rounded, low), high) == trace.result


def test_what_glow_does_to_an_element(capsys: pytest.CaptureFixture[str]) -> None:
    image = str(EXAMPLES / "digits" / "images" / "3.npy")
    arguments = [str(RESIDUAL), "--input", image, "--contract", "glow-cpu"]
    assert main(["trace", *arguments, "--at", "block1/conv1[0,2,3,4]"]) == 0
    printed = capsys.readouterr().out
    assert "conv2d block1/conv1[0,2,3,4] by glow-cpu:" in printed
    assert "the sum of 72 products and the bias, -258" in printed
    assert "constant 377.0001" in printed
    assert "glow-cpu.mlir:" in printed
    assert main(["trace", *arguments, "--at", "2[0,2,3,4]", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["products"]) == 72
    total = sum(product["product"] for product in found["products"])
    assert total + found["sum"]["bias"] == found["sum"]["accumulator"]
    assert found["rules"][0]["steps"][-1]["value"] == found["result"]


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("block1/conv1[0,2,3]", "has no element [0,2,3]"),
        ("block1/conv1[0,2,3,400]", "has no element [0,2,3,400]"),
        ("block1/conv1[0,2,3,-1]", "has no element [0,2,3,-1]"),
        ("block1/conv1", "which element of 'block1/conv1'?"),
        ("block1/*[0,0,0,0]", "means 3 layers"),
        ("conv17[0]", "the model has no layer 'conv17'"),
    ],
)
def test_places_that_are_not_there(at: str, message: str) -> None:
    image = np.zeros((1, 8, 8, 1), np.int8)
    with pytest.raises(QlowerError) as error:
        qlower.trace(RESIDUAL, image, at=at, contract="glow-cpu")
    assert message in str(error.value)


ASKED = EXAMPLES / "pytorch-conv-30-or-31" / "layer.mlir"


def asked(**given: float | str) -> qlower.Trace:
    """The element of a forum's question, with other values for its rule."""
    image = np.load(ASKED.parent / "inputs.npy")
    at, contract = "conv1[0,0,24,0]", "pytorch-fbgemm"
    return qlower.trace(ASKED, image, at=at, contract=contract, given=given)


def test_an_element_with_values_as_they_were_printed() -> None:
    printed = {"output_scale": 0.0040, "weight_scale": "0.0038", "input_scale": 0.0078}
    trace = asked(**printed)
    assert trace.result == 30
    together, *alone = trace.supposed
    assert together.result == 31
    assert [one.result for one in alone] == [30, 30, 30]
    # The rule is given a bias that isn't rounded.
    scales = [Fraction(np.float32(value).item()) for value in printed.values()]
    output, weight, step = scales
    bias = Fraction(np.float32(0.0317).item())
    assert together.exact == (24 * 127 * weight * step + bias) / output
    assert trace.to_dict()["supposed"] == [one.to_dict() for one in trace.supposed]
    assert str(trace).endswith(str(alone[-1]))
    assert not asked().supposed


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"output_scal": 1.0}, "rule conv2d computes this element without a value"),
        ({"output_scale": 0.0}, "output_scale=0.0 must be positive and finite"),
        ({"real_bias": "nan"}, "real_bias=nan must be finite"),
        ({"accumulator": "1e3"}, "accumulator=1e3 is not an integer of type int32"),
        ({"accumulator": 1 << 40}, "is not an integer of type int32"),
        ({"input_scale": "x"}, "input_scale=x is not a number of type float32"),
    ],
)
def test_values_that_no_rule_can_have(
    given: dict[str, float | str], message: str
) -> None:
    with pytest.raises(QlowerError, match=message):
        asked(**given)


def test_a_layer_whose_steps_the_model_states() -> None:
    """Multipliers that come with a model are no contract's."""
    text = """
#each = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
  %e = tensor.empty() : tensor<4xi8>
  %y = linalg.generic {indexing_maps = [#each, #each], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %places = arith.constant 3 : i8
    %s = arith.shrsi %a, %places : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  return %y : tensor<4xi8>
}
"""
    model = load_text(text.encode(), "own.mlir", ImportOptions())
    x = np.array([1, 90, -90, 4], np.int8)
    found = str(qlower.trace(model, x, at="y[1]", contract="tflite"))
    assert "The model itself states each step of this layer" in found
    assert "`qlower inspect --at qnn --layer 'y'` shows them" in found
