"""How well the digit classifier reads with the arithmetic of an NPU.

python examples/npu/accuracy.py [CONTRACT ...]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import qlower

FOLDER = Path(__file__).parent
DIGITS = FOLDER.parent / "digits"
REFERENCE = "exact"
CONTRACTS = (str(FOLDER / "my_npu.mlir"), "tflite", "pow2-shift")


def main(contracts: Sequence[str]) -> int:
    """Print a table: the reference, then each contract against it."""
    images = np.load(DIGITS / "test_images.npy")
    labels = np.load(DIGITS / "test_labels.npy")
    expected = logits(REFERENCE, images)
    print(f"{'contract':12} {'right':>9} {'answers':>8} {'logits':>8} {'mean':>7}")
    for contract in (REFERENCE, *(contracts or CONTRACTS)):
        found = logits(contract, images)
        right = np.count_nonzero(found.argmax(1) == labels)
        answers = np.count_nonzero(found.argmax(1) != expected.argmax(1))
        difference = found - expected
        share = np.count_nonzero(difference) / difference.size
        print(
            f"{Path(contract).stem:12} {right:>3} of {len(labels)} {answers:8} "
            f"{share:8.1%} {difference.mean():+7.2f}"
        )
    print(f"\nanswers, logits: that differ from {REFERENCE}; mean: by how many codes")
    return 0


def logits(contract: str, images: np.ndarray) -> np.ndarray:
    """The stored logits [images, 10] under a contract, as int64."""
    run = qlower.jit(DIGITS / "digits.mlir", contract=contract, with_layers=True)
    layers = [run.run([image], {})[1]["logits"][0] for image in images]
    return np.stack(layers).astype(np.int64)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
