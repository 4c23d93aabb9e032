"""PyTorch on an exported program of real numbers, with the result of every node."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from qlower.interp.values import Array
from qlower.model import Model
from qlower.sides.live import Run, file_of


def prepare(model: Model, kernels: str) -> Run:
    """The `.pt2` file, node by node on one thread; results have the nodes' names."""
    torch: Any = import_module("torch")
    fx: Any = import_module("torch.fx")
    program = torch.export.load(str(file_of(model, ".pt2"))).module()
    found: dict[str, Array] = {}

    interpreter: Any = fx.Interpreter(program)
    run_node: Any = interpreter.run_node

    def keep(node: Any) -> Any:
        result: Any = run_node(node)
        if node.op == "call_function" and torch.is_tensor(result):
            found[node.name] = np.array(result.numpy())
        return result

    interpreter.run_node = keep

    def run(arrays: Sequence[Array]) -> dict[str, Array]:
        with torch.no_grad():
            interpreter.run(*map(torch.from_numpy, arrays))
        return dict(found)

    return run
