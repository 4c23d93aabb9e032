"""`qlower improve` beside AIMET and NNCF, on the digits and by a device's integers.

    pip install '.[rounding]'
    python examples/digits/rounding_methods.py [--seeds N] [--iterations N]

For each seed a float network is trained. Its weights get 4 bits with AIMET's scales;
AIMET and qlower learn whether each is rounded up or down, from the same 512 images.
With 8 bits, biases are corrected by NNCF and by qlower. All of it is put into the same
quantized model, which is compared with the float network on the held-out images: signal
to noise of the logits in dB, and the percentage read right, by each contract's
integers. AIMET and NNCF don't know the device; qlower does. Takes 15 minutes.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from statistics import mean, stdev
from typing import Any, TypeAlias

import numpy as np
import torch
from network import CHANNEL_AXIS, Floats, Tensors, forward
from numpy.typing import NDArray
from quantize import quantized_model, store
from torch import Tensor, nn
from train import Examples, read_data, train

import qlower
from qlower.improvement.rounding import correct_biases, learn_rounding
from qlower.improvement.work import Work, decibels
from qlower.model.scales import weight_types

CONTRACTS = ("tflite", "pow2-shift")
IMAGES = 512
BITS = 4
LOW, HIGH = -(1 << BITS - 1), (1 << BITS - 1) - 1

Scales: TypeAlias = Mapping[str, NDArray[np.float64]]
Stored: TypeAlias = Mapping[str, NDArray[np.int8]]


class Network(nn.Module):
    """The float network for PyTorch, images NCHW."""

    def __init__(self, parameters: Tensors) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.pointwise = nn.Conv2d(8, 16, 1)
        self.pool = nn.MaxPool2d(2)
        self.logits = nn.Linear(256, 10)
        state: dict[str, Tensor] = {}
        for layer in CHANNEL_AXIS:
            weight = to_torch(layer, parameters[f"{layer}/weight"])
            state[f"{layer}.weight"] = torch.from_numpy(weight.copy())
            state[f"{layer}.bias"] = torch.from_numpy(parameters[f"{layer}/bias"])
        self.load_state_dict(state)

    def forward(self, x: Tensor) -> Tensor:
        for layer in (self.conv1, self.depthwise, self.pointwise):
            x = torch.relu(layer(x))
        return self.logits(self.pool(x).flatten(1))


def to_torch(layer: str, weight: Floats) -> Floats:
    """Weights in PyTorch's order, whose images are NCHW."""
    if layer == "logits":
        return weight.reshape(10, 4, 4, 16).transpose(0, 3, 1, 2).reshape(10, 256)
    return weight.transpose(3, 0, 1, 2) if layer == "depthwise" else nchw(weight)


def from_torch(layer: str, weight: Floats) -> Floats:
    """Weights in the order of the qnn dialect."""
    if layer == "logits":
        return weight.reshape(10, 16, 4, 4).transpose(0, 2, 3, 1).reshape(10, 256)
    order = (1, 2, 3, 0) if layer == "depthwise" else (0, 2, 3, 1)
    return weight.transpose(order)


def nchw(images: Floats) -> Floats:
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2))


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare ways to round weights.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=1000, help="AIMET's, a layer")
    given = parser.parse_args()
    torch.set_num_threads(1)
    training, held_out = read_data()
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    seconds: dict[str, list[float]] = {}
    for seed in range(given.seeds):
        parameters = train(training, np.random.default_rng(seed))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "float.onnx")
            export(parameters, path)
            with timed(seconds, "AIMET, rounding"):
                scales, rounded = aimet(path, training.images, given.iterations)
            with timed(seconds, "NNCF, biases"):
                biases = nncf_biases(path, training.images)
        for contract in CONTRACTS:
            given_all = parameters, training, contract
            few = quantized(*given_all, scales)
            with timed(seconds, "qlower, rounding"):
                learned = learn_rounding(few)
            stored = few.stored(rounded)
            eight = quantized(*given_all)
            works = {
                "4 bits: nearest": few,
                "4 bits: AIMET's AdaRound": stored,
                "4 bits: qlower's rounding": learned,
                "4 bits: AIMET's AdaRound, qlower's biases": correct_biases(stored),
                "4 bits: qlower's rounding and biases": correct_biases(learned),
                "8 bits: nearest": eight,
                "8 bits: NNCF's biases": with_biases(eight, biases),
                "8 bits: qlower's biases": correct_biases(eight),
            }
            for name, work in works.items():
                figures = tested(work, parameters, training, held_out)
                found.setdefault((name, contract), []).append(figures)
    report(found, seconds)


def export(parameters: Tensors, path: Path) -> None:
    """Write the float network as an ONNX file."""
    example = torch.zeros(1, 1, 8, 8)
    axes = {"image": {0: "n"}, "logits": {0: "n"}}
    write: Any = torch.onnx.export
    write(
        Network(parameters).eval(),
        (example,),
        path,
        input_names=["image"],
        output_names=["logits"],
        dynamic_axes=axes,
        dynamo=False,
    )


def aimet(path: Path, images: Floats, iterations: int) -> tuple[Scales, Stored]:
    """The scales of weights that AIMET takes, and the integers that its AdaRound
    rounds them to, by layer."""
    library: Any = import_module("aimet_onnx")
    onnx: Any = import_module("onnx")
    logging.disable(logging.INFO)
    simulated = library.QuantizationSimModel(
        onnx.load(path), param_type=library.int4, activation_type=library.int8
    )
    chosen = nchw(images[:IMAGES])
    batches = [{"image": chosen[at : at + 32]} for at in range(0, IMAGES, 32)]
    simulated.compute_encodings(batches)
    library.apply_adaround(simulated, batches, num_iterations=iterations)
    logging.disable(logging.NOTSET)
    tensors = {
        one.name: onnx.numpy_helper.to_array(one)
        for one in simulated.model.model.graph.initializer
    }
    scales: dict[str, NDArray[np.float64]] = {}
    rounded: dict[str, NDArray[np.int8]] = {}
    for layer, axis in CHANNEL_AXIS.items():
        name = f"{layer}.weight"
        encodings = simulated.qc_quantize_op_dict[name].get_encodings()
        scales[layer] = np.array([encoding.delta for encoding in encodings])
        weight = from_torch(layer, tensors[name])
        along = [-1 if d == axis else 1 for d in range(weight.ndim)]
        steps = np.rint(weight / scales[layer].reshape(along))
        rounded[f"{layer}.weight"] = np.clip(steps, LOW, HIGH).astype(np.int8)
    return scales, rounded


def nncf_biases(path: Path, images: Floats) -> Tensors:
    """The biases that NNCF corrects while it quantizes to 8 bits, by layer."""
    library: Any = import_module("nncf")
    onnx: Any = import_module("onnx")
    library.set_log_level(logging.ERROR)
    chosen = nchw(images[:IMAGES])
    data = library.Dataset([{"image": one[None]} for one in chosen])
    corrected = library.quantize(
        onnx.load(path), data, subset_size=IMAGES, fast_bias_correction=False
    )
    tensors = {
        one.name: onnx.numpy_helper.to_array(one) for one in corrected.graph.initializer
    }
    return {
        f"{layer}.bias": next(
            array for name, array in tensors.items() if name.startswith(f"{layer}.bias")
        )
        for layer in CHANNEL_AXIS
    }


def quantized(
    parameters: Tensors, training: Examples, contract: str, scales: Scales | None = None
) -> Work:
    """The network with 8 bits, or with weights of 4 bits of some scales."""
    ranges = {
        layer: (float(result.min()), float(result.max()))
        for layer, result in forward(parameters, training.images).items()
    }
    model = qlower.Model(quantized_model(parameters, ranges))
    real = {name.replace("/", "."): array for name, array in parameters.items()}
    inputs = store(training.images[:IMAGES], ranges["image"])
    layer_contracts = {"probabilities": "tflite"}
    work = Work(model, real, (inputs,), contract, layer_contracts)
    if scales is None:
        return work
    types = {
        name: type.rescaled(scales[name.removesuffix(".weight")].tolist())
        for name, type in weight_types(model.module).items()
    }
    return work.rescaled({}, types)


def with_biases(work: Work, biases: Tensors) -> Work:
    """The work with biases that were corrected elsewhere."""
    return work.stored(
        {name: work.weights[name].quantize(bias) for name, bias in biases.items()}
    )


def tested(
    work: Work, parameters: Tensors, training: Examples, held_out: Examples
) -> tuple[float, float]:
    """Signal to noise of the logits, and the percentage read right."""
    images = forward(parameters, training.images)["image"]
    seen = float(images.min()), float(images.max())
    there = work.on([store(held_out.images, seen)])
    logits = there.found["logits"]
    right = float((logits.argmax(1) == held_out.labels).mean())
    return decibels(there.error("logits")), 100 * right


@contextmanager
def timed(seconds: dict[str, list[float]], name: str) -> Generator[None]:
    start = time.process_time()
    yield
    seconds.setdefault(name, []).append(time.process_time() - start)


def report(
    found: Mapping[tuple[str, str], list[tuple[float, float]]],
    seconds: Mapping[str, list[float]],
) -> None:
    print(f"{'':44}" + "".join(f"{name + ': dB, right':>28}" for name in CONTRACTS))
    for name in dict.fromkeys(name for name, _ in found):
        columns = [
            "".join(f"{interval(one):>14}" for one in zip(*found[name, c], strict=True))
            for c in CONTRACTS
        ]
        print(f"{name:44}" + "".join(columns))
    for name, times in seconds.items():
        print(f"{name}: {mean(times):.1f} s of processor")


def interval(values: tuple[float, ...]) -> str:
    """Mean and standard deviation over the seeds."""
    deviation = stdev(values) if len(values) > 1 else 0.0
    return f"{mean(values):.1f} (+-{deviation:.1f})"


if __name__ == "__main__":
    main()
