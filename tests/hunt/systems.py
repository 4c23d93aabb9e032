"""Which system a contract reproduces, and what of it may be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from hunt.hunting import NETWORK, Quarry, Tally
from support.layers.random_modules import Draw
from support.machines.native import machine_levels
from support.systems.onnx_runtime import run_onnx_runtime
from support.systems.torch_engines import ENGINES, run_torch

ONNX_RUNTIME = "onnxruntime"
ONNX_KINDS = {
    *("conv2d", "depthwise_conv2d", "linear", "add", "mul", "concat", "mean"),
    *("quantize", "dequantize", "leaky_relu", "relu", "relu6", "clamp"),
    *("avg_pool2d", "sigmoid"),
}


def options_of(contract: str) -> Draw:
    """The variants of layers that the contract's system takes, or its executors."""
    if contract in ENGINES:
        engine = ENGINES[contract]
        return Draw(
            0,
            asymmetric_weights=engine.asymmetric_weights,
            points_per_axis=engine.asymmetric_weights,
            even_groups=engine.even_groups,
        )
    is_onnx = contract == ONNX_RUNTIME
    return Draw(
        0,
        real_bias=False,
        asymmetric_weights=is_onnx,
        rescales_means=is_onnx,
        rescales_bounds=is_onnx,
        rescales_sigmoids=is_onnx,
        broadcasts=True,
        odd_pads=True,
    )


def compare_system(contract: str, batch: Sequence[Quarry], tally: Tally) -> None:
    """The installed system against the interpreter, for what both take.

    Those of the TFLite family and TOSA read TFLite files: their live tests have a long
    run of their own.
    """
    if "avx512vnni" not in machine_levels():
        return
    taken = [q for q in batch if q.expected is not None and q.kind != NETWORK]
    if contract in ENGINES and find_spec("torch") is not None:
        engine = ENGINES[contract]
        taken = [q for q in taken if q.kind in engine.kinds]
        layers = [q.layer for q in taken]
        answers = run_torch(
            layers, engine.name, engine.environment, contiguous=engine.contiguous
        )
        for quarry, answer in zip(taken, answers, strict=True):
            tally.compare(quarry, "PyTorch", [answer])
    if contract == ONNX_RUNTIME and find_spec("onnxruntime") is not None:
        for quarry in taken:
            if quarry.kind in ONNX_KINDS:
                answer = run_onnx_runtime(quarry.layer)
                tally.compare(quarry, "ONNX Runtime", [answer])
