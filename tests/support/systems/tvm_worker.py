"""A program for a Python that has TVM with Relay: builds TFLite models and runs them.

    python -I tvm_worker.py FOLDER

Each `NAME.tflite` in the folder comes with its inputs, in order, `NAME.npz`; outputs go
to `NAME.CONTRACT.npz`. Builds are for x86-64 without FMA, so that products and sums of
float32 are not fused.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=nehalem"
CONFIGURATIONS = {
    "tvm": {"compute_dtype": "int64", "rounding": "UPWARD"},
    "tvm-tonearest": {"compute_dtype": "int64", "rounding": "TONEAREST"},
    "tvm-float32": {"compute_dtype": "float32", "rounding": "UPWARD"},
}
"""How TVM requantizes, by contract."""


def run_folder(folder: Path) -> None:
    for path in sorted(folder.glob("*.tflite")):
        with np.load(path.with_suffix(".npz")) as arrays:
            inputs = [arrays[name] for name in arrays.files]
        for contract, configuration in CONFIGURATIONS.items():
            outputs = run(path.read_bytes(), inputs, configuration)
            np.savez(path.with_suffix(f".{contract}.npz"), *outputs)


def run(
    model: bytes, inputs: list[NDArray[np.generic]], configuration: dict[str, str]
) -> list[NDArray[np.generic]]:
    tvm, relay = import_module("tvm"), import_module("tvm.relay")
    qnn = import_module("tvm.relay.qnn.op.qnn")
    executor = import_module("tvm.contrib.graph_executor")
    # A build writes its configuration into the module: each has its own.
    graph = import_module("tflite").Model.GetRootAsModel(model, 0)
    module, parameters = relay.frontend.from_tflite(graph)
    with qnn.requantize_config(**configuration):
        library = relay.build(module, target=TARGET, params=parameters)
    runner = executor.GraphModule(library["default"](tvm.cpu()))
    names = [var.name_hint for var in module["main"].params]
    names = [name for name in names if name not in parameters]
    for name, value in zip(names, inputs, strict=True):
        runner.set_input(name, value)
    runner.run()
    return [runner.get_output(i).numpy() for i in range(runner.get_num_outputs())]


if __name__ == "__main__":
    run_folder(Path(sys.argv[1]))
