"""Gathers of StableHLO: the shapes that they have, and those that are refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from qlower.diagnostics import QlowerError
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module

ROWS: dict[str, object] = {
    "x": "3x4x5xf32",
    "at": "2x1xi32",
    "offset_dims": [1, 2],
    "collapsed_slice_dims": [0],
    "operand_batching_dims": [],
    "start_indices_batching_dims": [],
    "start_index_map": [0],
    "index_vector_dim": 1,
    "sizes": [1, 4, 5],
    "y": "2x4x5xf32",
}
"""Rows of 4 by 5, each at one index."""

SAMPLES = {
    "at": "3x2x1xi64",
    "offset_dims": [2],
    "collapsed_slice_dims": [1],
    "operand_batching_dims": [0],
    "start_indices_batching_dims": [0],
    "start_index_map": [1],
    "index_vector_dim": 2,
    "sizes": [1, 1, 5],
    "y": "3x2x5xf32",
}
"""Rows of 5, of a matrix of 4 rows for each sample."""


def gathered(**given: object) -> None:
    """Parse and verify a gather, `ROWS` but for what is given."""
    parts = ROWS | given
    x, at, y = (f"tensor<{parts[name]}>" for name in ("x", "at", "y"))
    numbers = ", ".join(
        f"{name} = {value}"
        for name, value in parts.items()
        if "_" in name and value is not None
    )
    sizes = str(parts["sizes"]).strip("[]")
    module = parse_module(
        f"""func.func @f(%x: {x}, %i: {at}) -> {y} {{
  %0 = "stablehlo.gather"(%x, %i) <{{
    dimension_numbers = #stablehlo.gather<{numbers}>,
    slice_sizes = array<i64: {sizes}>}}> : ({x}, {at}) -> {y}
  return %0 : {y}
}}"""
    )
    verify_module(module)


TAKEN: Mapping[str, Mapping[str, object]] = {
    "rows": {},
    "boxes": {"collapsed_slice_dims": [], "offset_dims": [1, 2, 3], "y": "2x1x4x5xf32"},
    "parts": {"sizes": [1, 2, 0], "y": "2x2x0xf32"},
    "of nothing": {"sizes": [0, 4, 5]},
    "indices alone": {"at": "2xi32"},
    "lists along the first": {
        "at": "2x7xi64",
        "index_vector_dim": 0,
        "start_index_map": [0, 2],
        "y": "7x4x5xf32",
    },
    "at one place": {
        "at": "3xi32",
        "index_vector_dim": None,
        "start_index_map": [2, 0, 1],
        "offset_dims": [0, 1],
        "y": "4x5xf32",
    },
    "rows in front": {"offset_dims": [0, 1], "y": "4x5x2xf32"},
    "rows around": {"offset_dims": [0, 2], "y": "4x2x5xf32"},
    "samples": SAMPLES,
    "codes": {
        "x": "3x4x5x!quant.uniform<i8:f32, 0.5>",
        "y": "2x4x5x!quant.uniform<i8:f32, 0.5>",
    },
}


@pytest.mark.parametrize("name", TAKEN)
def test_gathers(name: str) -> None:
    gathered(**TAKEN[name])
    sizes = str({**ROWS, **TAKEN[name]}["y"])
    with pytest.raises(QlowerError, match="gather: result has shape"):
        gathered(**{**TAKEN[name], "y": f"1x{sizes}"})


def listed(name: str, numbers: list[int]) -> tuple[Mapping[str, object], str]:
    return {name: numbers}, f"{name} {numbers} are no dimensions"


SEVERAL = "!quant.uniform<i8:f32:1, {0.5, 0.5, 0.5, 0.5}>"
REFUSED: list[tuple[Mapping[str, object], str]] = [
    ({"sizes": [1, 4]}, "[1, 4] is no box of tensor<3x4x5xf32>"),
    ({"sizes": [1, 4, 6]}, "[1, 4, 6] is no box of tensor<3x4x5xf32>"),
    ({"sizes": [-1, 4, 5]}, "[-1, 4, 5] is no box of tensor<3x4x5xf32>"),
    listed("offset_dims", [1, 1]),
    listed("offset_dims", [1, -1]),
    listed("offset_dims", [1, 5]),
    ({"offset_dims": [1, 4]}, "offset_dims [1, 4] don't fit the box"),
    ({"offset_dims": [1, 3]}, "offset_dims [1, 3] don't fit the box"),
    ({"offset_dims": [1]}, "offset_dims [1] don't fit the box"),
    listed("collapsed_slice_dims", [0, 0]),
    listed("collapsed_slice_dims", [3]),
    listed("start_index_map", [3]),
    listed("start_index_map", [-1]),
    listed("operand_batching_dims", [3]),
    listed("start_indices_batching_dims", [2]),
    ({"index_vector_dim": 3}, "index_vector_dim 3 is no dimension"),
    ({"index_vector_dim": -1}, "index_vector_dim -1 is no dimension"),
    (
        {"index_vector_dim": 2, "start_index_map": [0, 1]},
        "lists have 1 indices, start_index_map 2",
    ),
    ({"index_vector_dim": 0}, "lists have 2 indices, start_index_map 1"),
    ({"sizes": [2, 4, 5]}, "a dimension of several elements is left out"),
    (
        {**SAMPLES, "at": "4x2x1xi64", "y": "4x2x5xf32"},
        "batching dimensions have different sizes",
    ),
    (
        {**SAMPLES, "start_indices_batching_dims": []},
        "batching dimensions have different sizes",
    ),
    ({"y": "2x4x5xi8"}, "elements of f32 become i8"),
    (
        {"x": f"3x4x5x{SEVERAL}", "y": f"2x4x5x{SEVERAL}"},
        "5.000000e-01}> has more than one scale",
    ),
    ({"at": "2x1xi8"}, "indices of i8, not of i32 or i64"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refusals(given: Mapping[str, object], message: str) -> None:
    with pytest.raises(QlowerError) as caught:
        gathered(**given)
    assert caught.value.message.startswith("stablehlo.gather: ")
    assert caught.value.message.endswith(message)
