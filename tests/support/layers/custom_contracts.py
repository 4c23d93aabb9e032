"""Small contracts of a test's own, and running a layer by them on every executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.codegen.targets.resolve import host_target
from qlower.interp.values import Array
from support.systems.recordings import executors_for

ADDING = """module attributes {{contract.base = "{base}"}} {{
  func.func private @clamp_and_offset(
      %x: i32, %output_min: i32, %output_max: i32, %output_zero_point: i32)
      -> i32 replaces {{
    %c = arith.constant {added} : i32
    %y = arith.addi %x, %c : i32
    %z = arith.addi %y, %output_zero_point : i32
    %low = arith.maxsi %z, %output_min : i32
    %r = arith.minsi %low, %output_max : i32
    return %r : i32
  }}
}}
"""
"""A contract that adds a number to what another one gives."""


def rule_text(
    name: str,
    values: Mapping[str, str],
    body: str,
    result: str = "i32",
    attributes: str = "",
) -> str:
    """A rule whose arguments are called as the values they want: name to type."""
    arguments = ", ".join(f"%{value}: {type}" for value, type in values.items())
    if attributes:
        attributes = f"attributes {{{attributes}}} "
    return f"func.func @{name}({arguments}) -> {result} {attributes}{{\n{body}\n}}\n"


def write_contract(
    folder: Path, *rules: str, name: str = "custom", base: str | None = None
) -> str:
    """The path of a contract file that holds the rules, and those of its base, of
    words too."""
    path = folder / f"{name}.mlir"
    attributes = f'attributes {{contract.base = "{base}", contract.words}} '
    head = "" if base is None else attributes
    path.write_text(f"module {head}{{\n{''.join(rules)}}}\n")
    return str(path)


def run_everywhere(module: ModuleOp, contract: str, *inputs: Array) -> Array:
    """The one result of @main, after every executor gave the same bits."""
    return run_model_everywhere(qlower.Model(module), contract, inputs)[0]


def run_model_everywhere(
    model: qlower.Model, contract: str | None, inputs: Sequence[Array]
) -> tuple[Array, ...]:
    """The model's results, after every executor gave the same bits."""
    executors = executors_for({"host": host_target()}, model, contract)
    results = {name: run.run(inputs, {})[0] for name, run in executors.items()}
    for name, outputs in results.items():
        for output, expected in zip(outputs, results["qnn"], strict=True):
            np.testing.assert_array_equal(output, expected, err_msg=name)
    return results["qnn"]
