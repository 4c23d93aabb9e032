"""Train the digit classifier, quantize it to int8, and write all files beside this one.

    pip install scikit-learn
    python examples/digits/train.py

Takes less than a minute. The data set is scikit-learn's `load_digits`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from network import Floats, Integers, Tensors, backward, forward, initial_parameters
from numpy.typing import NDArray
from quantize import quantized_model, store
from sklearn.datasets import load_digits

import qlower
from qlower.model.printing import exact_module

FOLDER = Path(__file__).parent
SEED = 1
EPOCHS = 60
BATCH = 32
LEARNING_RATE = 3e-3
HELD_OUT = 360
"""How many images are tested with, the last of the data set in its own order."""


@dataclass(frozen=True)
class Examples:
    """Images [N, 8, 8, 1] of real values 0 (paper) to 1 (ink), and their digits."""

    images: Floats
    labels: Integers


def main() -> None:
    training, held_out = read_data()
    parameters = train(training, np.random.default_rng(SEED))

    ranges = {
        layer: (float(result.min()), float(result.max()))
        for layer, result in forward(parameters, training.images).items()
    }
    model = qlower.Model(quantized_model(parameters, ranges))
    (FOLDER / "digits.mlir").write_text(exact_module(model.module))

    stored = store(held_out.images, ranges["image"])
    np.save(FOLDER / "test_images.npy", stored[:, None])
    np.save(FOLDER / "test_labels.npy", held_out.labels.astype(np.uint8))
    for digit in range(10):
        first = np.flatnonzero(held_out.labels == digit)[0]
        np.save(FOLDER / "images" / f"{digit}.npy", stored[first][None])

    logits = forward(parameters, held_out.images)["logits"]
    report("float", logits.argmax(axis=1), held_out.labels)
    run = qlower.jit(model)
    answers = [np.argmax(run(image[None])) for image in stored]
    report("int8", np.array(answers), held_out.labels)


def read_data() -> tuple[Examples, Examples]:
    """What to train with, and what to test with, in the data set's own order."""
    pixels, labels = cast(
        tuple[NDArray[np.float64], Integers], load_digits(return_X_y=True)
    )
    images = (pixels.reshape(-1, 8, 8, 1) / 16).astype(np.float32)
    return (
        Examples(images[:-HELD_OUT], labels[:-HELD_OUT]),
        Examples(images[-HELD_OUT:], labels[-HELD_OUT:]),
    )


def train(examples: Examples, random: np.random.Generator) -> Tensors:
    """Adam (Kingma and Ba, 2015) with a learning rate that falls to zero."""
    parameters = initial_parameters(random)
    mean = {name: np.zeros_like(value) for name, value in parameters.items()}
    square = {name: np.zeros_like(value) for name, value in parameters.items()}
    steps = EPOCHS * (len(examples.labels) // BATCH)
    for step, batch in enumerate(batches(examples, random), 1):
        results = forward(parameters, batch.images)
        rate = LEARNING_RATE * (1 - step / steps)
        for name, gradient in backward(parameters, results, batch.labels).items():
            mean[name] += 0.1 * (gradient - mean[name])
            square[name] += 0.001 * (gradient**2 - square[name])
            deviation = np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8
            parameters[name] -= rate * mean[name] / (1 - 0.9**step) / deviation
    return parameters


def batches(examples: Examples, random: np.random.Generator) -> Iterator[Examples]:
    """All examples once an epoch, shuffled, each image moved by up to a pixel."""
    for _ in range(EPOCHS):
        order = random.permutation(len(examples.labels))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            images = np.pad(examples.images[chosen], ((0, 0), (1, 1), (1, 1), (0, 0)))
            down, right = random.integers(0, 3, 2)
            moved = images[:, down : down + 8, right : right + 8]
            yield Examples(moved, examples.labels[chosen])


def report(name: str, answers: Integers, labels: Integers) -> None:
    right = np.count_nonzero(answers == labels)
    accuracy = 100 * right / len(labels)
    print(f"{name:5} {right} of {len(labels)} held-out images: {accuracy:.1f} %")


if __name__ == "__main__":
    main()
