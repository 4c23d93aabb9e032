"""Make asked.onnx: a small network, quantized by PyTorch and exported as it does it.

    python examples/tvm-vs-torch/record.py

It has what the questions about TVM are about: convolutions, the sum of two branches, an
average pool and a linear layer, with random weights. Needs PyTorch and the package
onnx.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

EXPORTED = Path(__file__).with_name("asked.onnx")
IMAGE = (3, 32, 32)
CHANNELS, CLASSES = 16, 10
OPSET = 13


def build() -> Any:
    """The network, with the default observers of the engine fbgemm."""
    warnings.simplefilter("ignore")
    torch: Any = import_module("torch")
    quantization, nn = torch.ao.quantization, torch.nn
    torch.manual_seed(0)
    torch.backends.quantized.engine = "fbgemm"

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant = quantization.QuantStub()
            self.conv = nn.Conv2d(IMAGE[0], CHANNELS, 3, stride=2, padding=1)
            self.relu = nn.ReLU()
            self.branch = nn.Conv2d(CHANNELS, CHANNELS, 1)
            self.sum = torch.ao.nn.quantized.FloatFunctional()
            self.pool = nn.AvgPool2d(4)
            self.linear = nn.Linear(CHANNELS * 16, CLASSES)
            self.dequant = quantization.DeQuantStub()

        def forward(self, image: Any) -> Any:
            x = self.relu(self.conv(self.quant(image)))
            x = self.pool(self.sum.add(self.branch(x), x))
            return self.dequant(self.linear(torch.flatten(x, 1)))

    network = Network().eval()
    quantization.fuse_modules(network, [["conv", "relu"]], inplace=True)
    network.qconfig = quantization.get_default_qconfig("fbgemm")
    prepared = quantization.prepare(network)
    prepared(torch.randn((16, *IMAGE)))
    return quantization.convert(prepared)


def export() -> None:
    """The network as a file that other systems read."""
    torch: Any = import_module("torch")
    torch.onnx.export(
        build(),
        torch.zeros((1, *IMAGE)),
        str(EXPORTED),
        opset_version=OPSET,
        dynamo=False,
        input_names=["image"],
        output_names=["scores"],
    )


if __name__ == "__main__":
    export()
