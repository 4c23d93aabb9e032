"""Files of ncnn, written layer by layer, and what ncnn computes of them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from qlower.interp.values import Array

F = np.float32
INT8 = 0x000D4B38


class NcnnFile:
    """A model under construction; each layer gives one blob, named after it."""

    def __init__(self, *sizes: int) -> None:
        """Start with an input `data` of these sizes: c, h and w, or fewer."""
        numbers: dict[int, object] = dict(enumerate(reversed(sizes)))
        self.lines = [f"Input data 0 1 data {_words(numbers)}"]
        self.blobs = {"data"}
        self.weights = b""

    def add(
        self,
        kind: str,
        name: str,
        inputs: Sequence[str],
        outputs: Sequence[str] = (),
        data: bytes = b"",
        **parameters: object,
    ) -> str:
        """Add a layer with parameters `p0=...`, and what it has in the `.bin` file."""
        given = {int(key[1:]): value for key, value in parameters.items()}
        outputs = outputs or (name,)
        head = kind, name, len(inputs), len(outputs), *inputs, *outputs
        self.lines.append(f"{' '.join(map(str, head))} {_words(given)}".rstrip())
        self.blobs |= set(outputs)
        self.weights += data
        return name

    def filters(
        self,
        kind: str,
        name: str,
        given: str,
        weights: Array,
        bias: Array | None,
        scales: Sequence[Array | float],
        **parameters: object,
    ) -> str:
        """Add a layer with weights [O, ...], a bias and scales as ncnn orders them."""
        data = np.uint32(INT8).tobytes() + weights.astype(np.int8).tobytes()
        data += bytes(-len(data) % 4)
        for numbers in (*(() if bias is None else (bias,)), *scales):
            data += np.asarray(numbers, F).tobytes()
        numbers = dict(parameters)
        has_bias = int(bias is not None)
        if kind == "InnerProduct":
            numbers |= {"p1": has_bias, "p2": weights.size}
        else:
            numbers |= {"p5": has_bias, "p6": weights.size}
            numbers |= {"p1": weights.shape[3], "p11": weights.shape[2]}
        return self.add(kind, name, [given], (), data, p0=len(weights), **numbers)

    @property
    def text(self) -> str:
        counts = f"{len(self.lines)} {len(self.blobs)}"
        return "\n".join(["7767517", counts, *self.lines, ""])

    def save(self, path: Path) -> Path:
        """Write `path`, a `.param` file, and the `.bin` file beside it."""
        path.write_text(self.text)
        path.with_suffix(".bin").write_bytes(self.weights)
        return path


def _words(parameters: dict[int, object]) -> str:
    return " ".join(
        f"{-23300 - key}={len(value)},{','.join(f'{one:e}' for one in value)}"
        if isinstance(value, Sequence) and not isinstance(value, str)
        else f"{key}={value}"
        for key, value in parameters.items()
    )


def ncnn_answer(path: Path, x: Array, outputs: Sequence[str]) -> list[Array]:
    """What ncnn gives for one input [1, ...], with a dimension of images before."""
    net: Any = import_module("ncnn")
    made = net.Net()
    made.opt.num_threads = 1
    made.opt.use_packing_layout = False
    assert not made.load_param(str(path))
    assert not made.load_model(str(path.with_suffix(".bin")))
    extractor = made.create_extractor()
    extractor.set_light_mode(False)
    kept = np.ascontiguousarray(x[0])  # ncnn's matrix is only a view of it
    extractor.input("data", net.Mat(kept))
    found: list[Array] = []
    for name in outputs:
        status, result = extractor.extract(name)
        assert status == 0, name
        found.append(np.array(result).copy()[None])
    return found


def every_layer(seed: int) -> NcnnFile:
    """A network with every layer that is read, of weights and scales by chance."""
    draw = np.random.default_rng(seed)

    def filters(
        kind: str,
        name: str,
        given: str,
        shape: Sequence[int],
        *scales: float,
        **more: object,
    ) -> str:
        weights = draw.integers(-127, 128, shape)
        is_one = more.get("p8") in (2, 102) and kind == "ConvolutionDepthWise"
        groups = int(str(more.get("p7", shape[0])))
        of_weights = draw.uniform(200, 900, 1 if is_one else groups)
        bias = draw.normal(0, 0.5, shape[0]) if seed % 2 else None
        return file.filters(
            kind, name, given, weights, bias, (of_weights, *scales), **more
        )

    file = NcnnFile(3, 9 + seed % 2, 7)
    filters(
        "Convolution", "a", "data", (8, 3, 3, 3), 37.3, 21.7, p3=2, p4=1, p8=101, p9=1
    )
    file.add("ReLU", "b", ["a"])
    filters(
        "ConvolutionDepthWise", "c", "b", (8, 1, 3, 3), 21.7, p4=-233, p7=8, p8=1, p9=1
    )
    file.add("Split", "s", ["c"], ["s0", "s1"])
    filters("Convolution", "d", "s0", (8, 8, 1, 1), 51.3, p8=2, p9=2, p10=(0.1,))
    file.add("BinaryOp", "e", ["d", "s1"], p0=0)
    file.add("BinaryOp", "f", ["e"], p0=2, p1=1, p2=0.75)
    file.add("Eltwise", "g", ["f", "e"], p0=1)
    file.add("ReLU", "h", ["g"], p0=0.25)
    file.add("Clip", "i", ["h"], p0=-0.5, p1=6.0)
    file.add("Concat", "j", ["i", "e"], p0=0)
    file.add("Pooling", "k", ["j"], p0=1, p1=2, p2=2)
    file.add("Padding", "l", ["k"], p0=1, p1=1, p2=1, p3=1)
    file.add("Pooling", "m", ["l"], p0=0, p1=3, p2=1)
    file.add("Quantize", "n", ["m"], (), np.array([40.5], F).tobytes(), p0=1)
    filters(
        "ConvolutionDepthWise",
        "o",
        "n",
        (16, 1, 2, 3),
        40.5,
        17.9,
        p14=1,
        p4=1,
        p7=16,
        p8=102,
        p9=3,
        p10=(0.0, 6.0),
    )
    filters("ConvolutionDepthWise", "q", "o", (12, 4, 1, 1), 17.9, p7=4, p8=1)
    file.add("Pooling", "r", ["q"], p0=1, p1=2, p3=1, p6=1)
    file.add("Reshape", "t", ["r"], p0=0, p1=-1, p2=6)
    file.add("Pooling", "u", ["t"], p0=1, p4=1)
    file.add("Dropout", "v", ["u"])
    file.add("Flatten", "w", ["v"])
    file.add("Noop", "x", ["w"])
    filters("InnerProduct", "y", "x", (10, 6), 31.0, p8=2)
    return file


LAST = "y"
"""The output of `every_layer`."""
