"""Train the residual network, quantize it to int8, and write residual.mlir.

    pip install scikit-learn
    python examples/glow-divergence/make_model.py

Takes less than a minute. The data set and the quantization of activations are those of
examples/digits; weights have one scale a layer, as Glow's convolutions have.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.hints import isa

import qlower
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.model.printing import exact_module
from qlower.text.verification import verify_module

FOLDER = Path(__file__).parent
DIGITS = FOLDER.parent / "digits"
sys.path.insert(0, str(DIGITS))

from network import Tensors  # noqa: E402
from quantize import (  # noqa: E402
    LARGEST_WEIGHT,
    Range,
    activation_type,
    dense,
    named,
    tensor_name,
)
from residual import BLOCKS, backward, forward, initial_parameters  # noqa: E402
from train import BATCH, EPOCHS, Examples, batches, read_data, report  # noqa: E402

SEED = 1
LEARNING_RATE = 3e-3


def main() -> None:
    training, held_out = read_data()
    parameters = train(training, np.random.default_rng(SEED))
    ranges = {
        layer: (float(result.min()), float(result.max()))
        for layer, result in forward(parameters, training.images).items()
    }
    model = qlower.Model(quantized_model(parameters, ranges))
    (FOLDER / "residual.mlir").write_text(exact_module(model.module))

    logits = forward(parameters, held_out.images)["logits"]
    report("float", logits.argmax(axis=1), held_out.labels)
    images = np.load(DIGITS / "test_images.npy")
    for contract in ("glow-interpreter", "glow-cpu"):
        run = qlower.jit(model, contract=contract)
        answers = np.array([np.argmax(run(image)) for image in images])
        report(contract, answers, held_out.labels)


def train(examples: Examples, random: np.random.Generator) -> Tensors:
    """Adam (Kingma and Ba, 2015) with a learning rate that falls to zero."""
    parameters = initial_parameters(random)
    mean = {name: np.zeros_like(value) for name, value in parameters.items()}
    square = {name: np.zeros_like(value) for name, value in parameters.items()}
    steps = EPOCHS * (len(examples.labels) // BATCH)
    for step, batch in enumerate(batches(examples, random), 1):
        results = forward(parameters, batch.images)
        rate = LEARNING_RATE * (1 - step / steps)
        for name, gradient in backward(parameters, results, batch.labels).items():
            mean[name] += 0.1 * (gradient - mean[name])
            square[name] += 0.001 * (gradient**2 - square[name])
            deviation = np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8
            parameters[name] -= rate * mean[name] / (1 - 0.9**step) / deviation
    return parameters


def quantized_model(parameters: Tensors, ranges: Mapping[str, Range]) -> ModuleOp:
    """The module, verified; `ranges` gives the smallest and largest of each result."""

    def tensor(layer: str, *shape: int) -> TensorType[QuantizedType]:
        return TensorType(activation_type(ranges[layer]), shape)

    def weight_and_bias(layer: str, input: SSAValue) -> tuple[SSAValue, SSAValue]:
        real: NDArray[np.float32] = parameters[f"{layer}/weight"]
        scale = float(np.abs(real).max()) / LARGEST_WEIGHT
        stored = np.rint(real / scale).astype(np.int8)
        type = TensorType(QuantizedType.per_tensor(8, True, scale, 0), real.shape)
        assert isa(input.type, TensorType[QuantizedType])
        step = input.type.element_type.scale * scale
        bias = np.rint(parameters[f"{layer}/bias"] / step).astype(np.int32)
        return (
            named(f"{layer}/weight", qnn.ConstantOp(dense(stored), type)),
            named(f"{layer}/bias", arith.ConstantOp(dense(bias))),
        )

    def convolve(
        layer: str, x: SSAValue, size: int, stride: int, relu: bool
    ) -> SSAValue:
        weight, bias = weight_and_bias(layer, x)
        outputs, kernel = parameters[f"{layer}/weight"].shape[:2]
        op = qnn.Conv2DOp(
            x,
            weight,
            bias,
            tensor(layer, 1, size, size, outputs),
            stride=(stride, stride),
            pad=[kernel // 2] * 4,
            activation="relu" if relu else None,
        )
        return named(layer, op)

    image = tensor("image", 1, 8, 8, 1)
    logits = tensor("logits", 1, 10)
    block = Block(arg_types=[image])
    with ImplicitBuilder(block) as (x,):
        x.name_hint = "image"
        size = 8
        x = convolve("stem", x, size, 1, relu=True)
        for part in BLOCKS:
            name, size = part.name, size // part.stride
            inner = convolve(f"{name}/conv1", x, size, part.stride, relu=True)
            outer = convolve(f"{name}/conv2", inner, size, 1, relu=False)
            if part.has_shortcut:
                x = convolve(f"{name}/shortcut", x, size, part.stride, relu=False)
            type = tensor(f"{name}/add", 1, size, size, part.outputs)
            x = named(f"{name}/add", qnn.AddOp(outer, x, type, activation="relu"))
        op = qnn.AvgPool2DOp(
            x,
            tensor("pool", 1, 1, 1, 16),
            kernel=(size, size),
            stride=(1, 1),
            count_include_pad=True,
        )
        x = named("pool", op)
        x = named("flatten", qnn.ReshapeOp(x, tensor("pool", 1, 16)))
        weight, bias = weight_and_bias("logits", x)
        x = named("logits", qnn.LinearOp(x, weight, bias, logits))
        func.ReturnOp(x)

    main = func.FuncOp(
        "main",
        ([image], [logits]),
        Region(block),
        arg_attrs=ArrayAttr([tensor_name("image")]),
        res_attrs=ArrayAttr([tensor_name("logits")]),
    )
    module = ModuleOp([main], {"qnn.contract": StringAttr("glow-interpreter")})
    verify_module(module)
    return module


if __name__ == "__main__":
    main()
