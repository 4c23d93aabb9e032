"""Networks with drawn layers: the bits of the interpreter, nothing touched outside."""

from __future__ import annotations

import numpy as np
import pytest
from support.layers.random_networks import random_network
from support.machines.native import guarded_runs, levels
from support.values.stored import random_stored

import qlower
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_code import generate_code
from qlower.compilation.to_kernel import lower_to_kernel

pytestmark = pytest.mark.usefixtures("verify_each")

LEVELS = sorted(levels())


@pytest.mark.parts(50)
@pytest.mark.parametrize("seed", range(10))
def test_random_networks(seed: int):
    check_network(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 40))
def test_more_random_networks(seed: int):
    check_network(seed)


def check_network(seed: int) -> None:
    """At one of the levels in turn."""
    module = random_network(seed)
    model = qlower.Model(module)
    (port,) = model.inputs
    x = random_stored(port.shape, signed=port.dtype == "int8", seed=seed)
    expected = qlower.interpret(model, x, contract="tflite", at="qnn")
    results = [expected] if isinstance(expected, np.ndarray) else list(expected)
    arith = lower_to_arith(module, "tflite")
    level = LEVELS[seed % len(LEVELS)]
    target = levels()[level]
    compiled = generate_code(lower_to_kernel(arith, target), target)
    for found in guarded_runs(compiled, [x]):
        for result, wanted in zip(found, results, strict=True):
            message = f"{level}:\n{module}"
            np.testing.assert_array_equal(result, wanted, err_msg=message)
