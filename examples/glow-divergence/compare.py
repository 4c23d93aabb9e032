"""Where two arithmetics part in a quantized network, layer by layer.

    python examples/glow-divergence/compare.py
    python examples/glow-divergence/compare.py --model resnet8.tflite --input images.npy
    python examples/glow-divergence/compare.py --contracts tflite tflite-xnnpack

By default the two are Glow's interpreter and Glow's CPU back end, on the residual
network beside this script and the held-out images of examples/digits. For each layer
the table has two comparisons: of the *whole networks* up to there, where what earlier
layers did differently is in the input already; and of the layer *alone*, where both get
the input that the first network has there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import qlower
from qlower.model.extract import detach_layers, layer_name, layers
from qlower.model.signature import TensorSpec
from qlower.tables.plots import BLUE, RED, new_figure, save

FOLDER = Path(__file__).parent
DIGITS = FOLDER.parent / "digits"
CONTRACTS = ("glow-interpreter", "glow-cpu")

Array = NDArray[np.generic]


@dataclass
class Differences:
    """Of the second arithmetic's codes from the first one's, over all images."""

    count: int = 0
    differing: int = 0
    largest: int = 0
    total: int = 0

    def add(self, first: Array, second: Array) -> None:
        difference = second.astype(np.int64) - first.astype(np.int64)
        self.count += difference.size
        self.differing += int(np.count_nonzero(difference))
        self.largest = max(self.largest, int(np.abs(difference).max()))
        self.total += int(difference.sum())

    @property
    def share(self) -> float:
        return self.differing / self.count

    @property
    def mean(self) -> float:
        """Positive where the second arithmetic's codes are larger."""
        return self.total / self.count

    def __str__(self) -> str:
        return f"{self.share:7.2%} {self.largest:4d} {self.mean:+7.3f}"


@dataclass
class Layer:
    """A layer's differences in the whole networks, and on its own."""

    name: str
    kind: str
    whole: Differences
    alone: Differences

    @property
    def label(self) -> str:
        """Its kind and name; of a fused layer of TFLite, with several, the first."""
        first, *_ = self.name.split(";")
        return f"{self.kind} {first}"


@dataclass
class Comparison:
    layers: list[Layer]
    images: int
    other_answers: int
    """How many images have another largest output."""


def compare(
    model: qlower.Model, images: Sequence[Array], contracts: Sequence[str]
) -> Comparison:
    """Run both contracts on every image, and each layer of the second on its own."""
    first, second = (
        qlower.jit(model, contract=contract, with_layers=True) for contract in contracts
    )
    found = {
        name: Layer(name, op.name.removeprefix("qnn."), Differences(), Differences())
        for op in layers(model.module)
        if (name := layer_name(op)) is not None
    }
    detached, sources, names = detach_layers(model.module, found)
    alone = qlower.jit(qlower.Model(detached), contract=contracts[1])
    other_answers = 0
    for image in images:
        (answer, *_), expected = first.run([image], {})
        (other, *_), whole = second.run([image], {})
        known = {**expected, model.inputs[0].name: image}
        results, _ = alone.run([known[source] for source in sources], {})
        local = dict(zip(names, results, strict=True))
        other_answers += int(np.argmax(answer) != np.argmax(other))
        for name, layer in found.items():
            if expected[name].dtype.kind in "iu":
                layer.whole.add(expected[name], whole[name])
                layer.alone.add(expected[name], local[name])
    counted = [layer for layer in found.values() if layer.whole.count]
    return Comparison(counted, len(images), other_answers)


def read_images(path: Path | None, spec: TensorSpec) -> list[Array]:
    """All images of an .npy or .npz file as single inputs of the model, or 16 random
    ones."""
    if path is None:
        random = np.random.default_rng(0)
        info = np.iinfo(spec.dtype)
        return [
            random.integers(
                info.min, info.max, spec.shape, np.dtype(spec.dtype), endpoint=True
            )
            for _ in range(16)
        ]
    loaded = np.load(path)
    arrays = (
        [loaded[name] for name in loaded] if isinstance(loaded, Mapping) else [loaded]
    )
    return [image for array in arrays for image in array.reshape(-1, *spec.shape)]


def table(comparison: Comparison, contracts: Sequence[str]) -> Iterator[str]:
    """The lines that are printed."""
    yield f"{contracts[1]} against {contracts[0]}, {comparison.images} images"
    yield ""
    yield f"{'':32}    whole networks       layer alone"
    heading = f"{'differ':>7} {'max':>4} {'mean':>7}"
    yield f"{'layer':32} {heading}   {heading}"
    for layer in comparison.layers:
        yield f"{layer.label[:31]:32} {layer.whole}   {layer.alone}"
    yield ""
    yield "differ: share of elements; max, mean: difference in codes, mean with sign"
    yield f"{comparison.other_answers} of {comparison.images} images: another answer"


def draw(comparison: Comparison, contracts: Sequence[str], path: Path) -> None:
    """A bar for each layer: how many elements differ, alone and in the networks."""
    rows = np.arange(len(comparison.layers))
    figure = new_figure(8, 0.9 + 0.3 * len(rows))
    shares, sizes = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
    bars = [("whole networks", RED, -0.2), ("layer alone", BLUE, 0.2)]
    for label, colour, offset in bars:
        picked = [
            layer.alone if offset > 0 else layer.whole for layer in comparison.layers
        ]
        style = {"height": 0.4, "color": colour, "label": label}
        shares.barh(rows + offset, [100 * p.share for p in picked], **style)
        sizes.barh(rows + offset, [p.largest for p in picked], **style)
    shares.set_yticks(rows, [layer.label[:31] for layer in comparison.layers])
    shares.invert_yaxis()
    shares.set_xlabel("elements that differ, %")
    sizes.set_xlabel("largest difference, codes")
    sizes.xaxis.get_major_locator().set_params(integer=True)
    sizes.legend(loc="upper right", fontsize="small")
    figure.suptitle(f"{contracts[1]} against {contracts[0]}")
    for axes in (shares, sizes):
        axes.grid(axis="x", alpha=0.3)
    save(figure, path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Where two arithmetics part.")
    parser.add_argument("--model", type=Path, help="a .tflite or .mlir file")
    parser.add_argument(
        "--input", type=Path, help="stored images, .npy or .npz (default: random)"
    )
    parser.add_argument("--contracts", nargs=2, default=CONTRACTS, metavar="NAME")
    parser.add_argument("--images", type=int, help="take only the first so many")
    parser.add_argument(
        "--picture", type=Path, help="draw the table to this file (needs matplotlib)"
    )
    options = parser.parse_args(arguments)

    own = options.model is None
    model = qlower.load(FOLDER / "residual.mlir" if own else options.model)
    path = DIGITS / "test_images.npy" if own and not options.input else options.input
    if len(model.inputs) != 1:
        parser.error("the model has several inputs")
    if path is None and np.dtype(model.inputs[0].dtype).kind not in "iu":
        parser.error("the model takes real numbers: give some with --input")
    images = read_images(path, model.inputs[0])[: options.images]
    comparison = compare(model, images, options.contracts)
    print(*table(comparison, options.contracts), sep="\n")
    if options.picture is not None:
        draw(comparison, options.contracts, options.picture)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
