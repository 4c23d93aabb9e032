"""Rebuild the model of the question: asked.onnx, as PyTorch exports it, and asked.mlir.

    python examples/fbgemm-overflow/record.py

The question's script has a seed, so that its weights, calibration and outputs are
reproducible: a linear layer of 10 by 10 without bias, observers `MinMaxObserver` for
activations (quint8) and weights (qint8), engine fbgemm. Needs PyTorch and the package
onnx.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

import qlower
from qlower.dialects import qnn
from qlower.model.build import constant, make_module, quantized
from qlower.model.printing import exact_module

MODEL = Path(__file__).with_name("asked.mlir")
EXPORTED = Path(__file__).with_name("asked.onnx")
OPSET = 13
SEED = 100
SIZE = 10
ROWS = 800
"""The question asks for -4, -3.99, ... 3.99, in all inputs."""


def quantize_with_torch() -> Any:
    """The question's model, quantized by PyTorch as its script does."""
    warnings.simplefilter("ignore")
    torch: Any = import_module("torch")
    observer = torch.ao.quantization.MinMaxObserver
    torch.manual_seed(SEED)
    torch.backends.quantized.engine = "fbgemm"
    model = torch.nn.Sequential(
        torch.ao.quantization.QuantStub(),
        torch.nn.Linear(SIZE, SIZE, bias=False),
        torch.ao.quantization.DeQuantStub(),
    ).eval()
    model.qconfig = torch.ao.quantization.QConfig(
        activation=observer.with_args(dtype=torch.quint8),
        weight=observer.with_args(dtype=torch.qint8),
    )
    prepared = torch.ao.quantization.prepare(model)
    prepared(torch.randn((100, SIZE)))
    return torch.ao.quantization.convert(prepared)


def record() -> qlower.Model:
    """The same model at the qnn level."""
    stub, linear, _ = quantize_with_torch()
    weight = linear.weight()
    stored = weight.int_repr().numpy()
    weight_type = quantized(stored.shape, weight.q_scale(), weight.q_zero_point())
    shape = (ROWS, SIZE)
    codes = quantized(shape, float(stub.scale), int(stub.zero_point), signed=False)
    result = quantized(shape, linear.scale, linear.zero_point, signed=False)

    def body(x: SSAValue) -> list[SSAValue]:
        quantized_x = qnn.QuantizeOp(x, codes).result
        w = constant(np.ascontiguousarray(stored), weight_type)
        return [qnn.LinearOp(quantized_x, w, None, result).result]

    return qlower.Model(make_module([TensorType(f32, shape)], body))


def export() -> None:
    """The model as a file that other systems read."""
    torch: Any = import_module("torch")
    inputs = torch.zeros((ROWS, SIZE))
    names = {"input_names": ["x"], "output_names": ["y"]}
    torch.onnx.export(
        quantize_with_torch(),
        inputs,
        str(EXPORTED),
        opset_version=OPSET,
        dynamo=False,
        **names,
    )


if __name__ == "__main__":
    export()
    MODEL.write_text(exact_module(record().module))
