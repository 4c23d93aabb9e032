"""Improve ResNet8 for a device without labels, and test it on CIFAR-10's test images.

    pip install '.[torch,tflite]'
    python examples/cifar/improve_resnet8.py --cifar cifar-10-batches-py \
        --model pretrainedResnet_quant.tflite --contract pow2-shift -o better.tflite

Neither images nor network come with qlower: README.md says where they are.
"""

from __future__ import annotations

import argparse
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import qlower
from qlower.diagnostics import QlowerError
from qlower.improvement.improve import improve

IMPROVED_ON, TESTED_ON = "data_batch_1", "test_batch"
CIFAR = (
    "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz (folder "
    f"cifar-10-batches-py, files {IMPROVED_ON} and {TESTED_ON})"
)
RESNET8 = "pretrainedResnet_quant.tflite of https://github.com/mlcommons/tiny"


def main() -> None:
    parser = argparse.ArgumentParser(description="Improve ResNet8 for a device.")
    parser.add_argument("--cifar", type=Path, required=True, metavar="DIR")
    parser.add_argument("--model", type=Path, required=True, metavar="FILE")
    parser.add_argument("--contract", required=True, help="the device's arithmetic")
    parser.add_argument("--examples", type=int, default=512, help="to improve on")
    parser.add_argument("--tested", type=int, default=10_000, help="test images")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.tflite")
    given = parser.parse_args()
    try:
        run(given)
    except QlowerError as error:
        raise SystemExit(str(error)) from None


def run(given: argparse.Namespace) -> None:
    """Print top-1 by both contracts, improve the model, and print it again."""
    unlabelled, _ = read_batch(given.cifar / IMPROVED_ON)
    tested, labels = read_batch(given.cifar / TESTED_ON)
    model = qlower.load(there(given.model, RESNET8))
    image = model.inputs[0]
    if [spec.shape for spec in model.inputs] != [(1, 32, 32, 3)]:
        raise QlowerError(f"{given.model} doesn't take one image of 1x32x32x3")
    stored = image.quantize(tested[: given.tested])
    pairs = list(zip(stored, labels, strict=False))
    print(f"{'top-1, %':40}      95 % interval, {len(pairs):,} images")
    show("as it is, the model's own contract", model, pairs, [])
    show(f"as it is, {given.contract}", model, pairs, [given.contract])
    examples = image.quantize(unlabelled[: given.examples])[:, None]
    better = improve(model, examples, contract=given.contract, limit=len(examples))
    show(f"improved, {given.contract}", better.model, pairs, [given.contract])
    if given.output is not None:
        qlower.to_tflite(better.model, given.model, given.output)
        print(f"wrote {given.output}")


def show(title: str, model: qlower.Model, pairs: list[Any], names: list[str]) -> None:
    """Validate by one contract, and print the accuracy with Wilson's interval."""
    (row,) = qlower.validate(model, pairs, contracts=names).contracts
    low, high = row.interval or (0.0, 1.0)
    top1 = row.share(row.counts.top1) or 0.0
    print(f"{title:40}{100 * top1:6.2f}   {100 * low:.2f} to {100 * high:.2f}")


class Pixels:
    """Stands for a pickled array; only unsigned bytes are accepted."""

    def __setstate__(self, state: tuple[int, Any, ByteType, bool, bytes]) -> None:
        _, shape, kind, in_columns, data = state
        if type(kind) is not ByteType or in_columns:
            raise pickle.UnpicklingError("an array isn't of bytes in rows")
        self.array = np.frombuffer(data, np.uint8).reshape(shape)


class ByteType:
    """Stands for a pickled element type, which must be uint8."""

    def __init__(self, name: bytes | str, *_: object) -> None:
        if name not in (b"u1", "u1"):
            raise pickle.UnpicklingError(f"an array of {name!r}, not of bytes")

    def __setstate__(self, state: object) -> None:
        """Byte order and the like, which bytes don't have."""


STAND_INS = {
    "numpy.ndarray": Pixels,
    "numpy.dtype": ByteType,
    "numpy.core.multiarray._reconstruct": lambda *_: Pixels(),
}


class PlainUnpickler(pickle.Unpickler):
    """Reads plain values and arrays of bytes: no name in a file is ever imported."""

    def find_class(self, module: str, name: str, /) -> Any:
        asked = f"{module}.{name}"
        if asked not in STAND_INS:
            raise pickle.UnpicklingError(f"it asks for {asked}")
        return STAND_INS[asked]


def there(path: Path, what: str) -> Path:
    """The path of a file that the user downloaded."""
    if not path.is_file():
        raise QlowerError(f"there is no file {path}; it comes from {what}")
    return path


def read_batch(path: Path) -> tuple[NDArray[np.uint8], list[int]]:
    """Images uint8 `[N, 32, 32, 3]` and classes of a batch in the python version."""
    try:
        with there(path, CIFAR).open("rb") as file:
            read = PlainUnpickler(file, encoding="bytes").load()
        images = read[b"data"].array.reshape(len(read[b"labels"]), 3, 32, 32)
        return images.transpose(0, 2, 3, 1), [int(one) for one in read[b"labels"]]
    except (OSError, QlowerError):
        raise
    except Exception as error:  # a malformed pickle raises of all kinds
        raise QlowerError(f"{path} is no batch of CIFAR-10: {error}") from None


if __name__ == "__main__":
    main()
