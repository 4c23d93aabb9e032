"""Transformers and an LSTM that ONNX Runtime's tools quantize, beside ONNX Runtime.

    python examples/benchmark/transformer_speed.py [--rounds N] [NAME ...]

Networks have the published sizes and drawn weights. Each is quantized statically (QDQ,
int8, a scale per channel) and dynamically, and called in turns with a session of ONNX
Runtime in its default settings, one thread each. A line has the processor time of the
fastest call of both, the ratio of the fastest and of the medians, how many outputs
differ, and the time to compile.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import qlower

onnxruntime: Any = import_module("onnxruntime")
quantization: Any = import_module("onnxruntime.quantization")
torch: Any = import_module("torch")
nn = torch.nn

FORMS = ("static", "dynamic")
INPUT, OUTPUT = "input", "output"


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (
            nn.Linear(width, width) for _ in range(4)
        )

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        shape = batch, length, self.heads, width // self.heads
        q, k, v = (
            layer(x).view(shape).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        scores = q @ k.transpose(2, 3) / (shape[-1] ** 0.5)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2)
        return self.out(mixed.reshape(batch, length, width))


class Block(nn.Module):
    """A layer whose norms come first, as in ViT, or last, as in BERT."""

    def __init__(self, width: int, heads: int, *, norms_first: bool) -> None:
        super().__init__()
        self.norms_first = norms_first
        self.attention = Attention(width, heads)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inner = nn.Linear(width, 4 * width)
        self.outer = nn.Linear(4 * width, width)

    def _feed(self, x: Any) -> Any:
        return self.outer(nn.functional.gelu(self.inner(x)))

    def forward(self, x: Any) -> Any:
        if self.norms_first:
            x = x + self.attention(self.first(x))
            return x + self._feed(self.second(x))
        x = self.first(x + self.attention(x))
        return self.second(x + self._feed(x))


class Bert(nn.Module):
    def __init__(self, layers: int, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.words = nn.Embedding(30522, width)
        self.places = nn.Parameter(torch.randn(length, width))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 2)
        blocks = (Block(width, heads, norms_first=False) for _ in range(layers))
        self.blocks = nn.Sequential(*blocks)

    def forward(self, ids: Any) -> Any:
        return self.head(self.blocks(self.norm(self.words(ids) + self.places)))


class Vit(nn.Module):
    def __init__(self, layers: int, width: int, heads: int, pixels: int) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, 16, 16)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, 1 + (pixels // 16) ** 2, width))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)
        blocks = (Block(width, heads, norms_first=True) for _ in range(layers))
        self.blocks = nn.Sequential(*blocks)

    def forward(self, image: Any) -> Any:
        patches = self.patch(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.first, patches], 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


class Recurrent(nn.Module):
    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.layer, self.head = nn.LSTM(inputs, units, 2), nn.Linear(units, 10)

    def forward(self, x: Any) -> Any:
        return self.head(self.layer(x)[0][-1])


@dataclass(frozen=True)
class Network:
    """A network to be drawn, and the shape of its input; words below `words`."""

    make: Callable[[], Any]
    shape: Sequence[int]
    words: int = 0

    def examples(self, seed: int) -> Iterator[np.ndarray[Any, Any]]:
        random = np.random.default_rng(seed)
        while True:
            if self.words:
                yield random.integers(0, self.words, self.shape, np.int64)
            else:
                yield random.normal(0, 1, self.shape).astype(np.float32)


def bert(layers: int, width: int, heads: int, length: int = 128) -> Network:
    return Network(lambda: Bert(layers, width, heads, length), (1, length), 30522)


def vit(width: int, heads: int, pixels: int = 224) -> Network:
    shape = (1, 3, pixels, pixels)
    return Network(lambda: Vit(12, width, heads, pixels), shape)


NETWORKS = {
    "bert-tiny": bert(2, 128, 2),
    "bert-mini": bert(4, 256, 4),
    "distilbert": bert(6, 768, 12),
    "vit-tiny": vit(192, 3),
    "vit-small": vit(384, 6),
    "lstm": Network(lambda: Recurrent(128, 256), (64, 1, 128)),
}


def quantized(name: str, form: str, folder: Path) -> Path:
    """The file of a network in a form."""
    network = NETWORKS[name]
    torch.manual_seed(0)
    real, path = folder / f"{name}.onnx", folder / f"{name}-{form}.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        example = torch.from_numpy(next(network.examples(0)))
        names = {"input_names": [INPUT], "output_names": [OUTPUT]}
        torch.onnx.export(
            network.make().eval(),
            (example,),
            str(real),
            opset_version=17,
            dynamo=False,
            **names,
        )
    prepared = folder / f"{name}-prepared.onnx"
    quantization.quant_pre_process(str(real), str(prepared), skip_symbolic_shape=True)
    weights = quantization.QuantType.QInt8
    if form == "dynamic":
        quantization.quantize_dynamic(str(prepared), str(path), weight_type=weights)
        return path

    class Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.examples, self.left = network.examples(1), 4

        def get_next(self) -> dict[str, np.ndarray[Any, Any]] | None:
            self.left -= 1
            return {INPUT: next(self.examples)} if self.left >= 0 else None

    quantization.quantize_static(
        str(prepared),
        str(path),
        Reader(),
        quant_format=quantization.QuantFormat.QDQ,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=weights,
        per_channel=True,
    )
    return path


def session_of(
    path: Path, *, is_optimized: bool = True
) -> Callable[[Any], np.ndarray[Any, Any]]:
    """A session of one thread as a function."""
    options = onnxruntime.SessionOptions()
    if not is_optimized:
        level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.graph_optimization_level = level
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options)
    return lambda x: session.run(None, {INPUT: x})[0]


def seconds(function: Callable[[Any], object], x: object) -> float:
    start = time.process_time()
    function(x)
    return time.process_time() - start


def line(name: str, form: str, rounds: int, folder: Path) -> str:
    """Compare, and time in turns."""
    path = quantized(name, form, folder)
    start = time.process_time()
    ours = qlower.jit(qlower.load(path, qdq="x86"))
    compiling = time.process_time() - start
    theirs = session_of(path)
    examples = NETWORKS[name].examples(2)
    differing = total = 0
    for _ in range(4):
        x = next(examples)
        found, expected = np.asarray(ours(x)), theirs(x)
        differing += int((found.view(np.int32) != expected.view(np.int32)).sum())
        total += expected.size
    x = next(examples)
    both = [(seconds(ours, x), seconds(theirs, x)) for _ in range(rounds)]
    (least, middle), (least_of_theirs, middle_of_theirs) = (
        (min(times), statistics.median(times)) for times in zip(*both, strict=True)
    )
    return (
        f"{name:10} {form:8} {1e3 * least:9.2f} {1e3 * least_of_theirs:9.2f} ms"
        f" {least_of_theirs / least:6.2f} ({middle_of_theirs / middle:.2f}) x"
        f"  {differing} of {total} differ  {compiling:5.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NETWORKS))
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in NETWORKS]:
        parser.error(f"no network is named {unknown[0]!r}")
    logging.disable(logging.WARNING)  # the quantizer's, on each norm
    print(f"{'':19} {'qlower':>9} {'ONNX Runtime':>12}, least (median) ratio")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or NETWORKS:
            for form in FORMS:
                print(line(name, form, options.rounds, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
