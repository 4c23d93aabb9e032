"""Contracts without a system to run beside: every operator, in all executors alike."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.recordings import make_executors
from support.tflite_cases import CASES, random_inputs

import qlower
from qlower.diagnostics import QlowerError

CONTRACTS = (
    "tflite-single",
    "gemmlowp",
    "tosa",
    "tosa-double",
    "xnnpack-rndnu",
    "exact",
    "pow2-shift",
    "tvm",
)

GLOW = ("glow-interpreter", "glow-cpu")

NOT_IN_GLOW = (
    *("hard_swish", "elu", "softmax_uint8"),
    *("resize_nearest_", "resize_bilinear_"),
)

MOVES = (
    *("pad", "reshape", "squeeze", "expand_dims", "transpose", "slice"),
    *("strided_slice", "split", "pack", "unpack", "arg_max"),
)
"""The beginnings of the names of cases in which no contract has a say."""

REFUSED = {
    "tosa": ("resize_bilinear",),
    "tosa-double": ("resize_bilinear",),
    "glow-interpreter": (*NOT_IN_GLOW, "leaky_relu"),
    "glow-cpu": (*NOT_IN_GLOW, "relu6"),
    "tvm": ("elu",),
}
"""The beginnings of the names of cases that a contract refuses."""

REFUSAL = "not described by this contract|has no rule|Glow"


@pytest.mark.parametrize(
    ("contract", "case"),
    [
        *product(CONTRACTS, CASES),
        *product(GLOW, [case for case in CASES if not case.startswith(MOVES)]),
    ],
)
def test_every_executor_gives_the_same_bits(contract: str, case: str, tmp_path: Path):
    path = tmp_path / f"{case}.tflite"
    path.write_bytes(CASES[case]())
    model = qlower.load(path)
    if case.startswith(REFUSED.get(contract, ("none",))):
        with pytest.raises(QlowerError, match=REFUSAL):
            qlower.jit(model, contract=contract)
        return
    inputs = random_inputs([(spec.shape, spec.dtype) for spec in model.inputs])
    results = {
        name: executor.run(inputs, {})[0]
        for name, executor in make_executors(model, contract).items()
    }
    for name, outputs in results.items():
        for output, reference in zip(outputs, results["qnn"], strict=True):
            assert output.dtype == reference.dtype
            np.testing.assert_array_equal(output, reference, err_msg=name)
