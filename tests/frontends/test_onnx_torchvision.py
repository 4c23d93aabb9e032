"""Networks of torchvision, quantized by ONNX Runtime's tool, give ONNX Runtime's bits.

Their weights are drawn from a seed. They need the package torchvision, which belongs to
no extra: its version must be the one that was built for the installed PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_models import compare

from qlower.frontends.import_options import AS_WRITTEN, INTEGER, X86
from qlower.interp.values import Array

NETWORKS = (
    *("googlenet", "inception_v3", "squeezenet1_1", "densenet121"),
    *("resnet18", "resnext50_32x4d", "regnet_x_400mf", "regnet_y_400mf"),
    *("mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "mnasnet0_5"),
    *("efficientnet_b0", "shufflenet_v2_x0_5"),
)
SHAPE = (1, 3, 96, 96)

WITH_BRANCHES = ("googlenet", "inception_v3")
"""Networks with outputs for training alone."""

FORMATS = {
    "u8s8": ("QDQ", "QUInt8", True),
    "s8s8": ("QDQ", "QInt8", False),
    "qoperator": ("QOperator", "QUInt8", False),
}
"""The format, the type of activations, and whether weights have scales by channel."""

READINGS: dict[str, Sequence[str]] = {
    "u8s8": (INTEGER, AS_WRITTEN),
    "s8s8": (INTEGER, X86, AS_WRITTEN),
    "qoperator": (INTEGER,),
    "dynamic": (INTEGER,),
}
"""Those that differ: x86 has integers wherever activations are uint8."""

FEWEST_VALUES = 30_000

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore"),
]


def examples() -> Iterator[dict[str, Array]]:
    for seed in range(2):
        random = np.random.default_rng(seed)
        yield {"input": random.normal(size=SHAPE).astype(np.float32)}


def export(name: str, folder: Path) -> Path:
    """The network with real numbers, as the quantization tool wants it."""
    torch: Any = pytest.importorskip("torch")
    models: Any = pytest.importorskip("torchvision.models")
    quantization: Any = pytest.importorskip("onnxruntime.quantization")
    torch.manual_seed(0)
    whole = {"aux_logits": False, "init_weights": True}
    options = whole if name in WITH_BRANCHES else {}
    network = getattr(models, name)(weights=None, **options).eval()
    real, prepared = folder / "real.onnx", folder / "prepared.onnx"
    torch.onnx.export(
        network,
        torch.zeros(SHAPE),
        str(real),
        opset_version=17,
        dynamo=False,
        input_names=["input"],
        output_names=["output"],
    )
    quantization.quant_pre_process(str(real), str(prepared), skip_symbolic_shape=True)
    return prepared


def quantize(prepared: Path, format: str, folder: Path) -> Path:
    quantization: Any = import_module("onnxruntime.quantization")
    path, weights = folder / "model.onnx", quantization.QuantType.QInt8
    if format == "dynamic":
        quantization.quantize_dynamic(str(prepared), str(path), weight_type=weights)
        return path
    layout, activations, per_channel = FORMATS[format]

    class Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.examples = examples()

        def get_next(self) -> dict[str, Array] | None:
            return next(self.examples, None)

    quantization.quantize_static(
        str(prepared),
        str(path),
        Reader(),
        quant_format=getattr(quantization.QuantFormat, layout),
        activation_type=getattr(quantization.QuantType, activations),
        weight_type=weights,
        per_channel=per_channel,
    )
    return path


@pytest.mark.parametrize("name", NETWORKS)
def test_network(name: str, tmp_path: Path) -> None:
    """In every form and every reading of it, with the values between."""
    prepared = export(name, tmp_path)
    inputs = list(examples())[:1]
    for format, readings in READINGS.items():
        path = quantize(prepared, format, tmp_path)
        for qdq in readings:
            found = compare(path, tmp_path, inputs, interpreted=False, qdq=qdq)
            assert found.is_equal, (format, qdq, found.differing)
            assert found.values > FEWEST_VALUES, (format, qdq, found.values)
