"""Compile the digit classifier, and let it read the handwritten digits beside it.

python examples/digits/classify.py [DIGIT]
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import which
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

import qlower
from qlower.cli import main as qlower_command

FOLDER = Path(__file__).parent
MODEL = FOLDER / "digits.mlir"
SHADES = " .:-=+*#%@"
"""Paper to ink."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Read handwritten digits.")
    parser.add_argument(
        "digit",
        nargs="?",
        type=int,
        choices=range(10),
        default=7,
        metavar="DIGIT",
        help="which of the ten images to show, 0 to 9 (default: 7)",
    )
    shown: int = parser.parse_args(arguments).digit

    start = perf_counter()
    classify = qlower.jit(MODEL)
    print(f"ready after {perf_counter() - start:.2f} s: {classify}\n")

    (input,), (output,) = classify.inputs, classify.outputs
    image = read_image(shown)
    answer = np.asarray(classify(image))
    probabilities = output.dequantize(answer)[0]
    best = int(probabilities.argmax())
    print(picture(input.dequantize(image)))
    print(f"images/{shown}.npy is a {best}, probability {probabilities[best]:.3f}\n")

    for level in ("qnn", "arith", "kernel"):
        if not np.array_equal(answer, qlower.interpret(MODEL, image, at=level)):
            raise SystemExit(f"the interpreter differs at the {level} level")
    print("interpreter: the same bits at the qnn, arith and kernel level")
    digits = [np.argmax(classify(read_image(digit))) for digit in range(10)]
    print("images/0.npy to 9.npy are", *digits)
    print_accuracy(classify)

    arguments = ["inspect", os.path.relpath(MODEL), "--at", "arith", "--layer", "conv1"]
    print(f"\n$ {shlex.join([command(), *arguments])}")
    return qlower_command(arguments)


def command() -> str:
    """How `qlower` is called here: it may be in an environment that isn't activated."""
    return "qlower" if which("qlower") else str(Path(sys.executable).parent / "qlower")


def read_image(digit: int) -> NDArray[np.int8]:
    """The stored image [1, 8, 8, 1] of a digit."""
    return np.load(FOLDER / "images" / f"{digit}.npy")


def picture(ink: NDArray[np.float64]) -> str:
    """An image [1, 8, 8, 1] of values 0 to 1 as text, two characters a pixel."""
    shades = np.rint(ink[0, :, :, 0] * (len(SHADES) - 1)).astype(int)
    return "\n".join("".join(2 * SHADES[shade] for shade in row) for row in shades)


def print_accuracy(classify: qlower.JitFunction) -> None:
    """Read all of the images that the classifier wasn't trained with."""
    images: NDArray[np.int8] = np.load(FOLDER / "test_images.npy")
    labels: NDArray[np.uint8] = np.load(FOLDER / "test_labels.npy")
    start = perf_counter()
    digits = [np.argmax(classify(image)) for image in images]
    microseconds = (perf_counter() - start) / len(images) * 1e6
    right = np.count_nonzero(digits == labels)
    print(
        f"{right} of {len(labels)} held-out images are read right "
        f"({100 * right / len(labels):.1f} %), {microseconds:.0f} us each"
    )


if __name__ == "__main__":
    raise SystemExit(main())
