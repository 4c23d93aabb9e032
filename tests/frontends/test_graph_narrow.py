"""Which values are floats of fewer bits than float32, and numbers of their codes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.formats.small_graphs import graph

from qlower.frontends.graph.context import NodeContext
from qlower.frontends.graph.narrow import ALL_CODES, NARROW, named, narrow_types
from qlower.frontends.graph.operators.open_quantization import is_open
from qlower.frontends.graph.schema import Constant, Port

HALF, E4, E5 = "FLOAT16", "FLOAT8E4M3FN", "FLOAT8E5M2"


@pytest.mark.parametrize(
    ("line", "type"),
    [
        ("y = Identity h", HALF),
        ("y = Add x h", HALF),
        ("y = Add e h", E4),
        ("y = Relu x", ""),
        ("y = Cast h to:1", ""),
        ("y = Cast x to:10", HALF),
        ("y = Cast h to:17", E4),
        ("y = Cast h", ""),
        ("y = QuantizeLinear x s e", E4),
        ("y = QuantizeLinear x s", ""),
        ("y = QuantizeLinear h h", ""),
        ("y = QuantizeLinear x s output_dtype:19", E5),
        ("y = QuantizeLinear x s e output_dtype:19", E4),
        ("y = DequantizeLinear e h", HALF),
        ("y = DequantizeLinear e s", ""),
        ("y = DequantizeLinear e s output_dtype:10", HALF),
        ("y = QLinearMatMul e h", ""),
        ("z, y = Split h", HALF),
        ("a = Identity h\ny = Reshape a", HALF),
    ],
)
def test_types_of_results(line: str, type: str) -> None:
    """A constant h of float16, an input e of 8 bits, and others of float32."""
    built = graph(line, "y")
    built.inputs = {"e": Port("e", E4, (2,)), "x": Port("x", "FLOAT", (2,))}
    built.constants = {
        "h": Constant(HALF, (2,), None),
        "s": Constant("FLOAT", (2,), None),
    }
    found = narrow_types(built)
    assert found.get("y", "") == type
    assert (found["h"], found["e"]) == (HALF, E4)
    assert not {"x", "s", ""} & set(found)


@pytest.mark.parametrize(
    ("number", "name"),
    [(10, HALF), (17, E4), (19, E5), (23, "FLOAT4E2M1"), (1, ""), (None, ""), (11, "")],
)
def test_names_of_types(number: object, name: str) -> None:
    assert named(number) == name


@pytest.mark.parametrize(
    ("type", "zeros", "codes"),
    [
        ("FLOAT8E4M3FN", [0, 128], {56: 1.0, 126: 448.0, 184: -1.0, 1: 2.0**-9}),
        ("FLOAT8E4M3FNUZ", [0], {64: 1.0, 127: 240.0, 192: -1.0, 1: 2.0**-10}),
        ("FLOAT8E5M2", [0, 128], {60: 1.0, 123: 57344.0, 188: -1.0, 124: np.inf}),
        ("FLOAT8E5M2FNUZ", [0], {64: 1.0, 127: 57344.0, 192: -1.0}),
        (
            "FLOAT4E2M1",
            [*range(0, 256, 8)],
            {2: 1.0, 7: 6.0, 10: -1.0, 15: -6.0, 18: 1},
        ),
    ],
)
def test_numbers_of_codes(type: str, zeros: list[int], codes: dict[int, float]) -> None:
    """Higher bits of a byte than a code has don't matter."""
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    numbers = NARROW[type].numbers(ALL_CODES)
    assert numbers.dtype == np.float32
    assert np.flatnonzero(numbers == 0).tolist() == zeros
    assert {code: float(numbers[code]) for code in codes} == codes
    assert NARROW[type].has_signed_zero is (len(zeros) > 1)
    finite = numbers[np.isfinite(numbers)]
    assert finite.max() == NARROW[type].most


@pytest.mark.parametrize(
    ("narrow", "numbers", "found"),
    [
        ({}, (1, 2), False),
        ({}, (1, 2, 3), False),
        ({}, (1, 0), True),
        ({"y": E4}, (), True),
        ({"x": E5}, (), True),
        ({"x": HALF, "y": HALF}, (1, 2), False),
        ({"s": HALF}, (1, 2), True),
        ({"s": HALF}, (2,), False),
        ({"s": E4}, (1, 2), False),
    ],
)
def test_steps_that_only_a_run_knows(
    narrow: dict[str, str], numbers: tuple[int, ...], found: bool
) -> None:
    """Or those of fewer bits, of codes or of scales."""
    built = graph("y = QuantizeLinear x s z", "y", s=np.float32(1), z=np.uint8(0))
    importer: Any = SimpleNamespace(
        graph=built, builder=None, narrow=narrow, way_out=lambda _node: None
    )
    (node,) = built.nodes
    assert is_open(NodeContext(importer, node), *numbers) is found
