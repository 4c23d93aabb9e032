"""The accumulator and the given values that a trace shows, of a small model's layer."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.diagnostics import QlowerError
from qlower.explain.trace import sum_of, trace_of
from qlower.frontends.load import named
from qlower.model.layers import layer_name, layers
from qlower.observe.layer_run import LayerRun, run_layer
from qlower.text.parsing import parse_module

VALUE: Any = vars(import_module("qlower.explain.supposed"))["_value"]


def first_run() -> LayerRun:
    model = named(parse_module(SMALL_MODEL, "m.mlir"), None)
    (op, *_) = layers(model.module)
    (spec,) = model.inputs
    x = np.arange(np.prod(spec.shape), dtype=np.int8).reshape(spec.shape)
    return run_layer(model, "tflite", layer_name(op) or "", {spec.name: x})


def test_the_accumulator_of_each_element() -> None:
    """With its own channel's bias, which the sum has before."""
    run = first_run()
    assert run.bias is not None
    assert len(set(run.bias.tolist())) > 1
    assert run.exact_accumulators is not None
    for index in np.ndindex(run.result.shape):
        found = sum_of(run, index, 4)
        assert found is not None
        assert found.bias == run.bias[index[-1]]
        assert found.exact == found.held == run.exact_accumulators[index]
        assert (found.count, found.rule_adds_bias, found.product) == (4, False, "exact")
    bare = LayerRun(run.op, run.contract, run.arguments, run.result, ())
    assert sum_of(bare, (0, 0, 0, 0), 4) is None


def test_values_that_are_given_stand_above_the_steps() -> None:
    """Without the accumulator, which is computed."""
    run = first_run()
    index = (0,) * run.result.ndim
    (line,) = (
        line
        for line in trace_of(run, "l", index).render().splitlines()
        if line.startswith("rule ")
    )
    given = {part.split()[0] for part in line.partition(": ")[2].split(", ")}
    assert "accumulator" not in given
    assert {"output_zero_point", "input_scale"} & given


OWN = {
    "output_scale": np.array(0.5, np.float32),
    "output_zero_point": np.array(3, np.int32),
}


@pytest.mark.parametrize(
    ("name", "given", "message", "help"),
    [
        (
            "output_scal",
            1,
            "rule r computes this element without a value 'output_scal'",
            "did you mean output_scale?",
        ),
        ("x", 1, "rule r computes this element without a value 'x'", None),
        ("output_scale", "a", "output_scale=a is not a number of type float32", None),
        (
            "output_zero_point",
            "1.5",
            "output_zero_point=1.5 is not an integer of type int32",
            None,
        ),
        ("output_scale", 0.0, "output_scale=0.0 must be positive and finite", None),
        ("output_scale", "inf", "output_scale=inf must be positive and finite", None),
    ],
)
def test_supposed_values_that_are_refused(
    name: str, given: float | str, message: str, help: str | None
) -> None:
    chain: Any = SimpleNamespace(rule="r")
    with pytest.raises(QlowerError) as caught:
        VALUE(name, given, OWN, chain)
    assert (caught.value.message, caught.value.help) == (message, help)
    assert VALUE("output_zero_point", "-7", OWN, chain).tolist() == -7
