"""Linear layers that are marked where OpenVINO computes several in one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.formats.tflite_builder import TFLiteBuilder
from xdsl.dialects.builtin import UnitAttr

import qlower
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import OPEN_SIZES
from qlower.frontends.linear_sequences import in_sequences
from qlower.model.layers import layers
from qlower.text.parsing import parse_module

BOTH = ["openvino", "tflite"]


def chain(count: int, rows: int = 8, size: int = 2, more: str = "") -> qlower.Model:
    """Layers in a row of the same size."""
    value = f"tensor<{rows}x{size}x!a>"
    weights = f"tensor<{size}x{size}"
    codes = "01" * size * size
    lines = [
        f"%{at + 1} = qnn.linear %{at}, %w {more} : ({value}, {weights}x!w>) -> {value}"
        for at in range(count)
    ]
    text = f"""
    !a = !quant.uniform<i8:f32, 0.5:-3>
    !w = !quant.uniform<i8:f32, 0.01>
    func.func @main(%0: {value}) -> {value} {{
      %w = qnn.constant dense<"0x{codes}"> : {weights}xi8> -> {weights}x!w>
      {"; ".join(lines)}
      return %{count} : {value}
    }}""".replace("; ", "\n")
    return qlower.Model(parse_module(text, "model.mlir"))


def marks(model: qlower.Model, contracts: Sequence[str] = BOTH) -> list[bool]:
    read = in_sequences(model, contracts)
    ops = layers(read.module)
    found = [op.in_sequence for op in ops if isinstance(op, qnn.LinearOp)]
    assert any(found) == (read is not model)
    return found


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (chain(1), [False]),
        (chain(2), [True] * 2),
        (chain(8), [*[True] * 7, False]),
        (chain(9), [True] * 9),
        (chain(2, rows=9), [False] * 2),
        (chain(2, size=257), [False] * 2),
        (chain(2, more='{contract = "tflite"}'), [False] * 2),
    ],
)
def test_sequences(model: qlower.Model, expected: list[bool]) -> None:
    assert marks(model) == expected
    # nobody else has such a kernel
    assert not any(marks(model, ["openvino-avx2", "tflite"]))
    assert not any(marks(model, []))


@pytest.mark.parametrize("rows", [-1, 1])
def test_open_sizes(rows: int, tmp_path: Path) -> None:
    """Only where all sizes are fixed, by the file or the user."""
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 4), scale=0.1, signature=(rows, 4))
    y = builder.tensor("y", (1, 4), scale=0.1, signature=(rows, 4))
    builder.operator("RELU", [x], [y])
    path = tmp_path / "model.tflite"
    path.write_bytes(builder.build([x], [y]))
    assert (OPEN_SIZES in qlower.load(path).module.attributes) == (rows < 0)
    given = qlower.load(path, shapes={"x": (1, 4)})
    assert OPEN_SIZES not in given.module.attributes
    model = chain(2)
    model.module.attributes[OPEN_SIZES] = UnitAttr()
    assert not any(marks(model))
