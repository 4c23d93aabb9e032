"""A training step through a device's integers beside PyTorch's fake quantization.

    python examples/benchmark/training_step.py MODEL.tflite [--contract NAME]

MODEL is MLPerf Tiny's image classification (ResNet8, int8). The other network has the
same layers in float, prepared by `torch.ao.quantization.prepare_qat`. A step is forward
and backward of 32 images; the two take turns. Each column has the fastest and the
median turn: milliseconds on the clock, and of all processors' time.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from importlib import import_module

import numpy as np
import torch
from torch import Tensor, nn
from torch.ao.nn import quantized

from qlower.torch import Module

BATCH = 32


class Block(nn.Module):
    """Two convolutions and a residual, which is a convolution where sizes change."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, padding=1)
        self.relu = nn.ReLU()
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.short = nn.Conv2d(inputs, outputs, 1, stride) if stride > 1 else None
        self.sum = quantized.FloatFunctional()

    def forward(self, x: Tensor) -> Tensor:
        y = self.second(self.relu(self.first(x)))
        return self.sum.add_relu(y, x if self.short is None else self.short(x))


class ResNet8(nn.Module):
    """The network of MLPerf Tiny, its batch norms folded."""

    def __init__(self) -> None:
        super().__init__()
        self.quantize = torch.ao.quantization.QuantStub()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.relu = nn.ReLU()
        blocks = [Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2)]
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AvgPool2d(8)
        self.dense = nn.Linear(64, 10)
        self.dequantize = torch.ao.quantization.DeQuantStub()

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(self.relu(self.first(self.quantize(x))))
        return self.dequantize(self.dense(self.pool(x).flatten(1))).softmax(-1)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a training step.")
    parser.add_argument("model")
    parser.add_argument("--contract", default="pow2-shift")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    warnings.filterwarnings("ignore", category=DeprecationWarning)

    device = Module(given.model, given.contract, threads=given.threads)
    network = ResNet8().train()
    quantization = import_module("torch.ao.quantization")
    quantization.propagate_qconfig_(
        network, {"": quantization.get_default_qat_qconfig("x86")}
    )
    fake = quantization.prepare_qat(network)
    images = torch.rand(BATCH, 32, 32, 3) * 255
    channels_first = images.permute(0, 3, 1, 2).contiguous()

    def step(module: nn.Module, x: Tensor) -> Callable[[], None]:
        def run() -> None:
            module(x).square().sum().backward()

        return run

    steps = {
        "fake quantization": step(fake, channels_first),
        given.contract: step(device, images),
    }
    turns = [[times_of(run) for run in steps.values()] for _ in range(given.turns + 2)]
    taken = dict(zip(steps, np.array(turns[2:]).swapaxes(0, 1), strict=True))
    print(f"{'':20}{'clock, ms':>16}{'processors, ms':>18}")
    for name, times in taken.items():
        least, median = times.min(0) * 1e3, np.median(times, 0) * 1e3
        print(
            f"{name:20}{least[0]:8.1f}{median[0]:8.1f}{least[1]:10.1f}{median[1]:8.1f}"
        )
    ratios = taken[given.contract] / taken["fake quantization"]
    clock, processors = np.median(ratios, 0)
    print(f"median ratio of a turn: {clock:.2f} by the clock, {processors:.2f} by time")


def times_of(run: Callable[[], None]) -> tuple[float, float]:
    """Seconds of a call, on the clock and of processors."""
    start, used = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - start, time.process_time() - used


if __name__ == "__main__":
    main()
