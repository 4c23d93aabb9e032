"""The number of a set's examples that get the right class, for `--labels`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qlower.diagnostics import QlowerError
from qlower.model.signature import Array, TensorSpec
from qlower.tables.table import percentage
from qlower.validation.labels import label_array


@dataclass(frozen=True)
class Labels:
    """The right class of each example, an integer in [0, classes)."""

    path: Path
    classes: NDArray[np.int64]

    def check(self, outputs: Sequence[TensorSpec], examples: int) -> None:
        """Refuse labels for a model with several outputs, or not of these examples."""
        if len(outputs) != 1:
            raise QlowerError(
                f"--labels needs a model with 1 output, this one has {len(outputs)}"
            )
        if self.classes.shape != (examples,):
            raise QlowerError(
                f"{self.path} holds {list(self.classes.shape)} labels, one for each of "
                f"{examples} examples is needed"
            )
        count = prod(outputs[0].shape)
        wrong = self.classes[(self.classes < 0) | (self.classes >= count)]
        if wrong.size:
            raise QlowerError(
                f"{self.path}: {wrong[0]} is no label, they are in [0, {count})"
            )

    def judge(self, results: Sequence[Array]) -> str:
        """The number of results whose largest element, the first of equals, is at the
        right index."""
        found = np.array([result.argmax() for result in results])
        right = int(np.count_nonzero(found == self.classes))
        share = right / len(found)
        return f"{right:,} of {len(found):,} labels are met ({percentage(share)})"


def read_labels(path: Path) -> Labels:
    """The labels in a file with one array of integers; a column of them will do."""
    return Labels(path, label_array(path))
