"""LSTM and GRU give ONNX Runtime's bits, of real and of stored weights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_builder import MICROSOFT
from support.formats.onnx_layers import Layers

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import AS_WRITTEN

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

GATES = {"LSTM": 4, "GRU": 3}


def reals(build: Layers, *shape: int) -> str:
    values = build.random.normal(0, 0.4, shape).astype(np.float32)
    return build.constant(values)


def recurrent(
    build: Layers,
    kind: str,
    sizes: tuple[int, int, int, int],
    more: tuple[str, ...] = ("bias",),
    outputs: tuple[str, ...] = ("y", "h"),
    **attributes: Any,
) -> None:
    """A layer of these steps, batch, inputs and units."""
    steps, batch, inputs, units = sizes
    count = 2 if attributes.get("direction") == "bidirectional" else 1
    rows = GATES[kind] * units
    x = build.value(steps, batch, inputs)
    operands = [x, reals(build, count, rows, inputs), reals(build, count, rows, units)]
    operands.append(reals(build, count, 2 * rows) if "bias" in more else "")
    operands.append("")
    if "state" in more:
        operands.append(build.value(count, batch, units))
    if "cell" in more:
        operands.append(reals(build, count, batch, units))
    if "peepholes" in more:
        operands += [""] * (7 - len(operands)) + [reals(build, count, 3 * units)]
    names = [name and f"{name}{len(build.nodes)}" for name in outputs]
    build.nodes.append(
        build.helper.make_node(
            kind, operands, names, name="", hidden_size=units, **attributes
        )
    )
    for name in filter(None, names):
        build.output(name)


SIZES = [(3, 2, 5, 7), (2, 1, 300, 9), (1, 1, 8, 8), (2, 3, 5, 260)]


@pytest.mark.parts(4)
@pytest.mark.parametrize("sizes", SIZES)
def test_lstm(sizes: tuple[int, int, int, int], tmp_path: Path) -> None:
    """Of one row and several, with sums of one block and two, and all that may be
    given."""
    build = Layers()
    recurrent(build, "LSTM", sizes)
    recurrent(build, "LSTM", sizes, (), ("", "h", "last"), direction="reverse")
    more = ("bias", "state", "cell", "peepholes")
    recurrent(build, "LSTM", sizes, more, direction="bidirectional")
    build.check(tmp_path)


@pytest.mark.parts(8)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("linear", [0, 1])
def test_gru(sizes: tuple[int, int, int, int], linear: int, tmp_path: Path) -> None:
    build = Layers()
    for direction, more in (
        ("forward", ()),
        ("reverse", ("bias", "state")),
        ("bidirectional", ("bias",)),
    ):
        recurrent(
            build, "GRU", sizes, more, direction=direction, linear_before_reset=linear
        )
    build.check(tmp_path)


def test_steps_are_a_loop(tmp_path: Path) -> None:
    """However many steps there are, as many operations."""
    sizes: list[int] = []
    for steps in (2, 50):
        build = Layers()
        recurrent(build, "LSTM", (steps, 1, 3, 4), direction="bidirectional")
        recurrent(build, "GRU", (steps, 1, 3, 4))
        model = qlower.load(build.save(tmp_path / f"{steps}.onnx"), qdq=AS_WRITTEN)
        sizes.append(sum(1 for _ in model.module.walk()))
    assert sizes[0] == sizes[1]


def dynamic(build: Layers, type: str, shape: tuple[int, ...]) -> str:
    """A layer in both directions, with weights of this type and scales of this
    shape."""
    steps, batch, inputs, units = 3, 2, 9, 8
    operands = [build.value(steps, batch, inputs)]
    steps_of: list[str] = []
    for rows in (inputs, units):
        low = 0 if type == "u1" else -128
        stored = build.random.integers(low, low + 256, (2, rows, 4 * units))
        operands.append(build.constant(stored.astype(type)))
        scales = build.random.uniform(0.001, 0.01, shape).astype(np.float32)
        zeros = np.full(shape, 120 if type == "u1" else 0).astype(type)
        steps_of += [build.constant(scales), build.constant(zeros)]
    operands += [reals(build, 2, 8 * units), *[""] * 4, *steps_of]
    return build.node(
        "DynamicQuantizeLSTM",
        operands,
        domain=MICROSOFT,
        hidden_size=units,
        direction="bidirectional",
    )


@pytest.mark.parts(4)
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("type", ["i1", "u1"])
def test_dynamically_quantized(columns: bool, type: str, tmp_path: Path) -> None:
    """With one scale for all weights of a direction, or one for each column."""
    build = Layers()
    build.output(dynamic(build, type, (2, 32) if columns else (2,)))
    build.check(tmp_path)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 8), (1, 32)])
def test_shapes_of_scales(shape: tuple[int, ...], tmp_path: Path) -> None:
    build = Layers()
    build.output(dynamic(build, "i1", shape))
    said = f"has shape {list(shape)}; expected [2] or [2, 32]"
    with pytest.raises(QlowerError, match=re.escape(said)):
        qlower.load(build.save(tmp_path / "model.onnx"))


SHAPES = {1: (28, 5), 2: (28, 7), 3: (56,), 5: (2, 7), 6: (2, 7), 7: (21,)}
"""What operands of an LSTM of the first sizes have for each direction."""


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("operand", SHAPES)
def test_shapes_of_operands(operand: int, count: int, tmp_path: Path) -> None:
    """ONNX Runtime takes no others, either: more directions or rows than are used."""
    more = ("bias", "state", "cell", "peepholes")
    *others, last = SHAPES[operand]
    for shape in (
        (3 - count, *others, last),
        (count, *others, last + 1),
        (count * last, *others),
    ):
        build = Layers()
        direction = ("forward", "bidirectional")[count - 1]
        recurrent(build, "LSTM", SIZES[0], more, direction=direction)
        build.nodes[-1].input[operand] = reals(build, *shape)
        said = f"has shape {list(shape)}; expected {[count, *others, last]}"
        with pytest.raises(QlowerError, match=re.escape(said)):
            qlower.load(build.save(tmp_path / "model.onnx"))


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"clip": 1.0}, "attribute clip is not supported; expected none"),
        ({"activations": ["Relu"] * 3}, "activations .*'Relu'.* are not supported"),
    ],
)
def test_refusals(attributes: dict[str, Any], said: str, tmp_path: Path) -> None:
    build = Layers()
    recurrent(build, "LSTM", SIZES[0], **attributes)
    with pytest.raises(QlowerError, match=said):
        qlower.load(build.save(tmp_path / "model.onnx"))
