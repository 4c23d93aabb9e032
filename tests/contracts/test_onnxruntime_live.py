"""The ONNX Runtime contract against the installed one on random layers."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from support.layers import random_modules
from support.layers.random_modules import Draw
from support.machines.native import machine_levels
from support.systems.onnx_runtime import run_onnx_runtime

import qlower
from qlower.compilation.compilation import Compilation

pytestmark = [
    pytest.mark.skipif(
        find_spec("onnx") is None or find_spec("onnxruntime") is None,
        reason="onnx and onnxruntime are not installed",
    ),
    pytest.mark.skipif(
        "avx512vnni" not in machine_levels(),
        reason="the contract is that of a CPU with AVX-512 VNNI",
    ),
]

KINDS = {
    **dict.fromkeys(("conv2d", "depthwise_conv2d", "linear"), 14),
    **dict.fromkeys(("add", "mul", "mean", "concat"), 8),
    **dict.fromkeys(("avg_pool2d", "softmax"), 8),
    **dict.fromkeys(("quantize", "dequantize", "leaky_relu", "sigmoid"), 4),
    **dict.fromkeys(("relu", "relu6", "clamp"), 4),
}
"""The operations and how many layers of each."""

OUTPUTS = 16_000


def test_random_layers():
    compared = 0
    for kind, seeds in KINDS.items():
        for seed in range(seeds):
            draw = Draw(
                seed,
                OUTPUTS,
                real_bias=False,
                asymmetric_weights=True,
                signed=seed % 4 > 1,
                rescales_means=True,
                rescales_bounds=True,
                rescales_sigmoids=True,
                broadcasts=True,
                odd_pads=True,
            )
            layer = getattr(random_modules, kind)(draw)
            expected = run_onnx_runtime(layer)
            model = qlower.Model(layer.module)
            interpreter = Compilation(model, "onnxruntime").interpreter("qnn")
            ((result,), _) = interpreter.run(layer.inputs, {})
            np.testing.assert_array_equal(result, expected, f"{kind}, seed {seed}")
            compared += expected.size
            if seed in (0, 3):
                native = qlower.jit(model, contract="onnxruntime")(*layer.inputs)
                np.testing.assert_array_equal(native, expected, f"{kind}, seed {seed}")
    assert compared >= 1_000_000
