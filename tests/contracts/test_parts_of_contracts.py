"""Parts of reading and applying contracts by themselves: pairs of products, blocks of
sums, and attributes of a text."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32

from qlower.contracts import module_string
from qlower.contracts.pair_range import row_bounds, weight_rows
from qlower.contracts.products import PIXEL
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn

real_sums: Any = import_module("qlower.contracts.real_sums")


@pytest.mark.parametrize("codes", [(0, 3), (-2, 3), (-3, -1), (2, 2)])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_sums_of_two_products(codes: tuple[int, int], count: int) -> None:
    """Every code at every place: neighbours from the first one on, and a last one."""
    rows = np.random.default_rng(count).integers(-5, 6, (20, count))
    least, most = row_bounds(rows, *codes)
    for row, low, high in zip(rows.tolist(), least, most, strict=True):
        places = [*row, 0][: count + count % 2]
        pairs = [pair for at, pair in enumerate(pairwise(places)) if at % 2 == 0]
        sums = [
            a * x + b * y
            for a, b in pairs
            for x, y in product(range(codes[0], codes[1] + 1), repeat=2)
        ]
        assert (min(sums), max(sums)) == (low, high)


def test_rows_of_weights() -> None:
    """Of a depthwise convolution the last dimension is the channels'; by pixels an odd
    last channel of each tap has a neighbour of 0."""
    weights = np.arange(12).reshape(2, 1, 2, 3)
    conv, depthwise = (
        object.__new__(kind) for kind in (qnn.Conv2DOp, qnn.DepthwiseConv2DOp)
    )
    assert weight_rows(depthwise, weights, PIXEL).tolist() == [
        [0, 3, 6, 9],
        [1, 4, 7, 10],
        [2, 5, 8, 11],
    ]
    assert weight_rows(conv, weights, "other").tolist() == [
        [0, 1, 2, 3, 4, 5],
        [6, 7, 8, 9, 10, 11],
    ]
    assert weight_rows(conv, weights, PIXEL).tolist() == [
        [0, 1, 2, 0, 3, 4, 5, 0],
        [6, 7, 8, 0, 9, 10, 11, 0],
    ]
    even = weights.reshape(2, 1, 3, 2)
    assert weight_rows(conv, even, PIXEL).tolist() == even.reshape(2, 6).tolist()


@pytest.mark.parametrize("size", [None, 4, 1, 0])
def test_blocks_of_a_sum(size: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule gives their size, 1 at least; without one a sum is one block."""
    asked: list[object] = []

    def evaluate(sizes: object) -> tuple[object]:
        asked.append(sizes)
        return (np.array(size),)

    name = "real_conv2d_block"
    contract: Any = SimpleNamespace(
        name="c",
        rules={} if size is None else {name: None},
        rule=lambda rule: {name: SimpleNamespace(evaluate=evaluate)}[rule],
    )
    op: Any = SimpleNamespace(
        products=SimpleNamespace(count=9), kind="real_conv2d", location=None
    )
    monkeypatch.setattr(real_sums, "_sizes", lambda one: ("of", one))
    if size != 0:
        found = real_sums.block_of(contract, op)
        assert (found, type(found)) == (size or 9, int)
        assert asked == ([] if size is None else [("of", op)])
        return
    with pytest.raises(QlowerError) as caught:
        real_sums.block_of(contract, op)
    assert caught.value.message == (
        "rule real_conv2d_block of contract c gives 0; expected 1 or more"
    )


def test_strings_of_a_module() -> None:
    module = ModuleOp([])
    assert module_string(module, "contract.summary") == ""
    module.attributes["contract.summary"] = StringAttr("s")
    assert module_string(module, "contract.summary") == "s"
    module.attributes["contract.summary"] = IntegerAttr(3, i32)
    with pytest.raises(QlowerError) as caught:
        module_string(module, "contract.summary")
    assert caught.value.message == "contract.summary must be a string, not 3 : i32"
