"""Networks of torchvision, quantized by ONNX Runtime's tool, give ONNX Runtime's bits.

Their weights are drawn from a seed. They need the package torchvision, which belongs to
no extra: its version must be the one that was built for the installed PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_models import compare

from qlower.frontends.import_options import AS_WRITTEN, X86
from qlower.interp.values import Array

NETWORKS = (
    "resnet18",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "squeezenet1_1",
    "googlenet",
    "regnet_y_400mf",
    "efficientnet_b0",
    "shufflenet_v2_x0_5",
    "mnasnet0_5",
)
SHAPE = (1, 3, 96, 96)

FORMATS = {
    "u8s8": ("QDQ", "QUInt8", True),
    "s8s8": ("QDQ", "QInt8", False),
    "qoperator": ("QOperator", "QUInt8", False),
}
"""The format, the type of activations, and whether weights have scales by channel."""

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
    options = {"aux_logits": False, "init_weights": True} if name == "googlenet" else {}
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
    layout, activations, per_channel = FORMATS[format]

    class Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.examples = examples()

        def get_next(self) -> dict[str, Array] | None:
            return next(self.examples, None)

    path = folder / "model.onnx"
    quantization.quantize_static(
        str(prepared),
        str(path),
        Reader(),
        quant_format=getattr(quantization.QuantFormat, layout),
        activation_type=getattr(quantization.QuantType, activations),
        weight_type=quantization.QuantType.QInt8,
        per_channel=per_channel,
    )
    return path


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", NETWORKS)
def test_network(name: str, format: str, tmp_path: Path) -> None:
    path = quantize(export(name, tmp_path), format, tmp_path)
    found = compare(path, tmp_path, list(examples())[:1], interpreted=False)
    assert found.is_equal, found.differing
    assert found.values > 100_000


@pytest.mark.parametrize("qdq", [X86, AS_WRITTEN])
@pytest.mark.parametrize("name", NETWORKS)
def test_network_on_float32(name: str, qdq: str, tmp_path: Path) -> None:
    """Of int8 activations, which stay real by default."""
    path = quantize(export(name, tmp_path), "s8s8", tmp_path)
    inputs = list(examples())[:1]
    found = compare(path, tmp_path, inputs, interpreted=False, qdq=qdq)
    assert found.is_equal, found.differing
