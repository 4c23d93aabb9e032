"""A program that runs layers on MNN, for a processor that QEMU has.

    python mnn_worker.py LAYERS RESULTS

The first file has a list of texts and inputs, pickled, the second then results.
"""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[number]) for number in (2, 3)]

from qlower.interp.values import Array
from qlower.text.parsing import parse_module
from support.layers.random_modules import RandomLayer
from support.systems.mnn_layers import run_mnn

PROCESSOR = "Haswell"
"""One with AVX2, and without AVX-512 or VNNI."""


def run_mnn_on_avx2(layers: Sequence[RandomLayer], folder: Path) -> list[Array]:
    """What MNN gives for layers on a processor with AVX2 alone, which is emulated.

    Skips the test where QEMU isn't installed.
    """
    emulator = shutil.which("qemu-x86_64")
    if emulator is None:
        pytest.skip("qemu-x86_64 isn't installed")
    given, made = folder / "layers", folder / "results"
    pairs = [(str(layer.module), layer.inputs) for layer in layers]
    given.write_bytes(pickle.dumps(pairs))
    command = [emulator, "-cpu", PROCESSOR, sys.executable, __file__]
    subprocess.run([*command, str(given), str(made)], check=True, capture_output=True)
    return cast("list[Array]", pickle.loads(made.read_bytes()))


def main(given: str, made: str) -> None:
    """Run the layers of a file, and write their results to another."""
    pairs = cast(
        "list[tuple[str, Sequence[Array]]]", pickle.loads(Path(given).read_bytes())
    )
    results = [
        run_mnn(RandomLayer(parse_module(text, "layer.mlir"), list(inputs)))
        for text, inputs in pairs
    ]
    Path(made).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
