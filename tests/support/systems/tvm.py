"""Running `.tflite` models as TVM compiles them, in another Python.

TVM lost the quantized operators of Relay in v0.20, and earlier versions do not install
beside qlower. `$QLOWER_TVM_PYTHON` names a Python that has one: PyPI's hhb-tvm 3.2.3
for Python 3.10 is TVM 0.16, and needs the package tflite. Tests skip without it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from qlower.interp.values import Array
from support.systems import tvm_worker

TVM_VARIABLE = "QLOWER_TVM_PYTHON"


def has_tvm() -> bool:
    """Whether a Python with TVM is named."""
    return TVM_VARIABLE in os.environ


def run_tvm(models: Sequence[tuple[Path, Sequence[Array]]]) -> list[dict[str, Array]]:
    """The first output of each model on its inputs, by contract. The models are all
    those of one folder, where further files are made."""
    for path, inputs in models:
        np.savez(path.with_suffix(".npz"), *inputs)
    command = [os.environ[TVM_VARIABLE], "-I", tvm_worker.__file__]
    environment = {**os.environ, "TVM_NUM_THREADS": "1"}
    subprocess.run(
        [*command, str(models[0][0].parent)],
        check=True,
        capture_output=True,
        env=environment,
    )
    results: list[dict[str, Array]] = []
    for path, _ in models:
        outputs: dict[str, Array] = {}
        for contract in tvm_worker.CONFIGURATIONS:
            with np.load(path.with_suffix(f".{contract}.npz")) as arrays:
                outputs[contract] = arrays["arr_0"]
        results.append(outputs)
    return results
