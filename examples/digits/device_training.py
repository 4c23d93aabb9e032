"""Train the digit classifier for a device that rescales by shifts alone.

    pip install '.[torch]'
    python examples/digits/device_training.py [--seeds N] [--plot curves.svg]
                                              [--per-tensor BITS]

The contract `pow2-shift` rounds every ratio of scales to a power of two, which
`digits.mlir` was not trained for. The network is trained on two thirds of the held-out
images, once with PyTorch's fake quantization and once through the device's own integers
(`qlower.torch.Module`), and both are tested on the last third by these integers. The
model is also improved without training or labels (`qlower improve`), on the images of
the first two thirds. Each seed draws another split. Takes about three minutes on two
idle cores.

With `--per-tensor BITS`, the device also has weights of BITS bits, and one power of two
as the scale of all weights of a layer.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import mean, stdev
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

import qlower
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.improvement.improve import improve
from qlower.improvement.rounding import correct_biases, learn_rounding
from qlower.improvement.work import Work
from qlower.model.layers import layer_name, layers
from qlower.model.scales import weight_types
from qlower.model.weights import weight_specs
from qlower.torch import Module

FOLDER = Path(__file__).parent
CONTRACT = "pow2-shift"
TESTED = 120
EPOCHS = 20
BATCH = 32
RATE = 1e-3
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 8: 2.365, 10: 2.262}
"""The 97.5 % quantile of Student's t for a number of values."""

Network: TypeAlias = Callable[[Tensor], Tensor]
Examples: TypeAlias = tuple[Tensor, Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description="Train through a device's integers.")
    parser.add_argument("--seeds", type=int, default=5, choices=STUDENT)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--plot", metavar="FILE", help="draw the curves (matplotlib)")
    parser.add_argument(
        "--per-tensor",
        type=int,
        choices=range(3, 9),
        metavar="BITS",
        help="weights of BITS bits, and one power of two as their scale in a layer",
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    images = np.load(FOLDER / "test_images.npy").reshape(-1, 8, 8, 1)
    labels = np.load(FOLDER / "test_labels.npy").astype(np.int64)
    model = qlower.load(FOLDER / "digits.mlir", outputs=["logits"])
    start = Module(model).state_dict()
    work = coarse(model, given.per_tensor)
    curves: dict[str, list[list[float]]] = {"fake quantization": [], "device": []}
    intended: list[float] = []
    improved: list[float] = []
    for seed in range(given.seeds):
        torch.manual_seed(seed)
        order = torch.randperm(len(labels)).numpy()
        training, tested = order[TESTED:], order[:TESTED]
        sets = [
            (torch.from_numpy(images[part]), torch.from_numpy(labels[part]))
            for part in (training, tested)
        ]
        intended.append(accuracy(Module(model), sets[1]))
        better = without_labels(work, images[training], given.per_tensor is not None)
        improved.append(accuracy(Module(better, CONTRACT), sets[1]))
        for name, curve in curves.items():
            module = Module(work.model, CONTRACT)
            module.load_state_dict(start)
            network = module if name == "device" else fake_quantized(module, work.model)
            curve.append(train(module, network, sets[0], sets[1], given.epochs))
    report(intended, improved, curves)
    if given.plot:
        draw(given.plot, intended, curves)


def coarse(model: qlower.Model, bits: int | None) -> Work:
    """The model with the real weights that it stands for; where `bits` are given, with
    one scale for the weights of a layer, the least power of two that holds them."""
    real = {spec.name: spec.real for spec in weight_specs(model.module)}
    work = Work(model, real, (), CONTRACT, {})
    if bits is None:
        return work
    high = (1 << bits - 1) - 1
    types: dict[str, QuantizedType] = {}
    for name, type in weight_types(model.module).items():
        scale = 2.0 ** np.ceil(np.log2(np.abs(real[name]).max() / high))
        scales = [float(scale)] * len(type.scales)
        types[name] = QuantizedType.per_axis(
            8, True, type.axis or 0, scales, storage_min=-high, storage_max=high
        )
    return work.rescaled({}, types)


def without_labels(
    work: Work, images: NDArray[np.int8], has_narrow_weights: bool
) -> qlower.Model:
    """The model improved on images alone. `improve` takes the stored weights for the
    real ones; narrow weights are rounded anew from those before."""
    if not has_narrow_weights:
        return improve(work.model, images[:, None], contract=CONTRACT).model
    return correct_biases(learn_rounding(work.on([images]))).model


def train(
    module: Module, network: Network, training: Examples, tested: Examples, epochs: int
) -> list[float]:
    """Train the module's parameters as `network` uses them; return the accuracy that
    the device has before the first epoch and after each."""
    images, labels = training
    optimizer = torch.optim.Adam(module.parameters(), lr=RATE)
    found = [accuracy(module, tested)]
    for _ in range(epochs):
        order = torch.randperm(len(labels))
        for chosen in order.split(BATCH):
            optimizer.zero_grad()
            logits = network(images[chosen])
            functional.cross_entropy(logits, labels[chosen]).backward()
            optimizer.step()
        found.append(accuracy(module, tested))
    return found


def accuracy(module: Module, examples: Examples) -> float:
    """The percentage of images that the device's integers read right."""
    images, labels = examples
    return 100 * float((module.stored(images).argmax(1) == labels).float().mean())


def fake_quantized(module: Module, model: qlower.Model) -> Network:
    """The network with PyTorch's fake quantization of the same scales."""
    specs = {spec.name: spec for spec in weight_specs(model.module)}
    types = {
        layer_name(op): quantized_element(op.results[0].type)
        for op in layers(model.module)
    }

    def fake(real: Tensor, layer: str) -> Tensor:
        scale, zero_point = types[layer].scale, types[layer].zero_point
        return torch.fake_quantize_per_tensor_affine(real, scale, zero_point, -128, 127)

    def parameters(layer: str) -> tuple[Tensor, Tensor]:
        spec, found = specs[f"{layer}.weight"], dict(module.named_parameters())
        weight = torch.fake_quantize_per_channel_affine(
            found[f"layers.{layer}.weight"],
            torch.tensor(spec.scales, dtype=torch.float32),
            torch.zeros(len(spec.scales), dtype=torch.int32),
            spec.axis or 0,
            spec.low,
            spec.high,
        )
        return weight, found[f"layers.{layer}.bias"]

    def convolution(x: Tensor, layer: str, pad: int, groups: int = 1) -> Tensor:
        weight, bias = parameters(layer)
        order = (3, 0, 1, 2) if groups > 1 else (0, 3, 1, 2)
        y = functional.conv2d(x, weight.permute(order), bias, 1, pad, 1, groups)
        return fake(functional.relu(y), layer)

    def network(stored: Tensor) -> Tensor:
        x = ((stored.float() + 128) / 255).permute(0, 3, 1, 2)
        x = convolution(x, "conv1", 1)
        x = convolution(x, "depthwise", 1, groups=8)
        x = functional.max_pool2d(convolution(x, "pointwise", 0), 2)
        x = x.permute(0, 2, 3, 1).flatten(1)
        return fake(functional.linear(x, *parameters("logits")), "logits")

    return network


def report(
    intended: list[float], improved: list[float], curves: dict[str, list[list[float]]]
) -> None:
    """Print the accuracies with intervals of 95 % over the seeds."""
    plain = [curve[0] for curve in curves["device"]]
    rows = {"tflite, as intended": intended, f"{CONTRACT}, plain": plain}
    rows |= {name: [curve[-1] for curve in found] for name, found in curves.items()}
    rows |= {"improve, no labels": improved}
    print(f"{'accuracy, %':22}{'mean':>7}{'95 %':>8}   seeds")
    for name, values in rows.items():
        each = " ".join(f"{value:.1f}" for value in values)
        print(f"{name:22}{mean(values):7.1f}{interval(values):+8.1f}   {each}")
    for name in (*curves, "improve, no labels"):
        shares = [
            (after - before) / (goal - before)
            for after, before, goal in zip(rows[name], plain, intended, strict=True)
        ]
        text = f"{100 * mean(shares):.0f} % +- {100 * interval(shares):.0f}"
        print(f"recovered of the loss by {name}: {text}")


def interval(values: list[float]) -> float:
    """Half of the 95 % confidence interval of the mean."""
    return STUDENT[len(values)] * stdev(values) / len(values) ** 0.5


def draw(
    path: str, intended: list[float], curves: dict[str, list[list[float]]]
) -> None:
    pyplot: Any = import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(6, 3.5))
    for name, found in curves.items():
        array = np.array(found)
        (line,) = axes.plot(array.mean(0), label=name)
        axes.fill_between(
            range(array.shape[1]),
            array.min(0),
            array.max(0),
            color=line.get_color(),
            alpha=0.2,
        )
    axes.axhline(mean(intended), color="gray", linestyle=":", label="tflite")
    axes.set(xlabel="epoch", ylabel=f"accuracy by {CONTRACT}, %")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    main()
