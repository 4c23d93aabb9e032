"""What layers without weights add up, against enumeration of stored integers."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from verification.test_questions import POOLS, operation, window

from qlower.dialects.quant import quantized_element
from qlower.verification.addends import (
    Addends,
    Real,
    Unseen,
    addends_of,
    matrix_corners,
)

NARROW = "!n = !quant.uniform<i8<-2:3>:f32, 5.000000e-01:1>\n"


def unused() -> Any:
    raise AssertionError("the layer isn't run")


def run_of(op: Any, dtype: Any = np.int32, step: Any = 1, sums: bool = True) -> Any:
    """A run whose contract adds differences from the zero point, or stored integers."""

    def evaluate(given: Any) -> tuple[Any]:
        return ((step * (given["input"] - given["point"])).astype(dtype),)

    point = quantized_element(op.operands[0].type).zero_point
    addend = SimpleNamespace(
        rule=SimpleNamespace(name="addend", evaluate=evaluate), values={"point": point}
    )
    last = SimpleNamespace(values={"sum": None} if sums else {})
    return SimpleNamespace(op=op, evaluations=[addend, last])


def check_ends(found: Addends, op: Any, added: Any, places: Any) -> None:
    """Operands bring each row to its ends, at the element that is named."""
    for row, (least, most) in enumerate(zip(found.least, found.most, strict=True)):
        for is_high, total in ((False, least.sum()), (True, most.sum())):
            index, operands = found.ends(row, is_high)
            (stored,) = operands.values()
            assert [*operands] == [op.operands[0]]
            assert sum(int(added(stored[at])) for at in places(index)) == total


@pytest.mark.parametrize("sums", [False, True])
@pytest.mark.parametrize("name", [name for name in POOLS if name != "pool"])
def test_means_and_adaptive_pools(name: str, sums: bool) -> None:
    """The largest window's count of the least and of the greatest addend."""
    op = POOLS[name]
    type = quantized_element(op.operands[0].type)
    point = type.zero_point if sums else 0
    shape = op.results[0].type.get_shape()
    count = max(len(window(name, index)) for index in np.ndindex(*shape))
    found = addends_of(op, lambda: run_of(op, sums=sums))
    assert found is not None
    assert found.least.tolist() == [[count * (type.storage_min - point)]]
    assert found.most.tolist() == [[count * (type.storage_max - point)]]
    check_ends(
        *(found, op, lambda stored: int(stored) - point),
        lambda index: window(name, index),
    )


@pytest.mark.parametrize("sums", [False, True])
@pytest.mark.parametrize("pad", ["", ", count_include_pad"])
def test_pools_whose_windows_hang_over_the_image(sums: bool, pad: str) -> None:
    """A row for each set of taps that some window has inside; where what hangs over
    counts and stored integers are added, it adds the zero point."""
    op = operation(
        "%a: tensor<1x4x5x2x!x>",
        "qnn.avg_pool2d %a {kernel = [3, 2], stride = [2, 1], pad = [1, 1, 1, 0]"
        f"{pad}}} : (tensor<1x4x5x2x!x>) -> tensor<1x2x5x2x!x>",
        "tensor<1x2x5x2x!x>",
    )
    found = addends_of(op, lambda: run_of(op, sums=sums))
    assert found is not None
    point, outside = (3, 0) if sums else (0, 3 if pad else 0)
    wanted = {}
    for y, x in product(range(2), range(5)):
        inside = tuple(
            0 <= row < 4 and 0 <= column < 5
            for row in range(2 * y - 1, 2 * y + 2)
            for column in range(x - 1, x + 1)
        )
        wanted.setdefault(inside, (0, y, x, 0))
    rows = {
        tuple(row != outside for row in one): index
        for number, one in enumerate(found.most.tolist())
        for index in [found.ends(number, True)[0]]
    }
    assert rows == wanted
    for end, array in ((-128, found.least), (127, found.most)):
        for inside, row in zip(rows, array.tolist(), strict=True):
            assert row == [end - point if one else outside for one in inside]
    for number, index in enumerate(rows.values()):
        for is_high, end in ((False, -128), (True, 127)):
            where, operands = found.ends(number, is_high)
            assert where == index
            assert {int(one) for one in operands[op.operands[0]].flat} == {end}


TYPES = ["!x", "!u", "!n"]


@pytest.mark.parametrize(("left", "right"), [*product(TYPES, TYPES)])
def test_products_of_two_matrices(left: str, right: str) -> None:
    """Of all pairs of stored integers those with the least and the greatest product."""
    a, c = f"tensor<2x3x{left}>", f"tensor<3x4x{right}>"
    op = operation(
        *(f"%a: {a}, %c: {c}", f"qnn.matmul %a, %c : ({a}, {c}) -> tensor<2x4x!x>"),
        *("tensor<2x4x!x>", NARROW),
    )
    types = [quantized_element(value.type) for value in op.operands]
    centred = [
        np.arange(type.storage_min, type.storage_max + 1) - type.zero_point
        for type in types
    ]
    products = np.multiply.outer(*centred)
    found = addends_of(op, unused)
    assert found is not None
    assert found.least.tolist() == [[3 * products.min()]]
    assert found.most.tolist() == [[3 * products.max()]]
    corners = matrix_corners(op)
    assert len(corners) == 4
    assert (corners[0][0], corners[-1][0]) == (products.min(), products.max())
    for is_high, wanted in ((False, products.min()), (True, products.max())):
        index, operands = found.ends(0, is_high)
        assert index == (0, 0)
        one, other = (operands[value] for value in op.operands)
        pair = (
            int(one[0, 0]) - types[0].zero_point,
            int(other[0, 0]) - types[1].zero_point,
        )
        assert pair[0] * pair[1] == wanted
        assert np.ptp(one) == np.ptp(other) == 0


@pytest.mark.parametrize("type", TYPES)
def test_squares_of_a_row(type: str) -> None:
    x = f"tensor<2x5x{type}>"
    op = operation(
        f"%a: {x}",
        f"qnn.l2_normalize %a : ({x}) -> tensor<2x5x!x>",
        "tensor<2x5x!x>",
        NARROW,
    )
    own = quantized_element(op.operands[0].type)
    squares = [
        (stored - own.zero_point) ** 2
        for stored in range(own.storage_min, own.storage_max + 1)
    ]
    found = addends_of(op, unused)
    assert found is not None
    assert found.least.tolist() == [[5 * min(squares)]]
    assert found.most.tolist() == [[5 * max(squares)]]
    check_ends(
        *(found, op, lambda stored: (int(stored) - own.zero_point) ** 2),
        lambda index: [(index[0], column) for column in range(5)],
    )


@pytest.mark.parametrize(
    ("dtype", "step", "count", "is_real"),
    [
        (np.float32, 1, 64_035, False),  # 131 * 64,035 is below 2^23
        (np.float32, 1, 64_036, True),
        (np.float32, 0.5, 1, True),
        (np.int64, 1, 10**9, False),
    ],
)
def test_addends_that_are_real_numbers(
    dtype: Any, step: float, count: int, is_real: bool
) -> None:
    """Floats are looked at where their sums are exact."""
    x = f"tensor<{count}x!x>"
    op = operation(
        f"%a: {x}", f"qnn.mean %a {{axes = [0]}} : ({x}) -> tensor<!x>", "tensor<!x>"
    )
    if is_real:
        with pytest.raises(Real, match="adds real numbers"):
            addends_of(op, lambda: run_of(op, dtype, step))
    else:
        found = addends_of(op, lambda: run_of(op, dtype, step))
        assert found is not None
        assert found.least.tolist() == [[-131 * count]]


def test_what_adds_nothing_or_is_not_seen() -> None:
    x = "tensor<2x2x!x>"
    relu = operation(f"%a: {x}", f"qnn.relu %a : ({x}) -> {x}", x)
    assert addends_of(relu, unused) is None
    square = operation(f"%a: {x}", f"qnn.matmul %a, %a : ({x}, {x}) -> {x}", x)
    with pytest.raises(Unseen, match="an operand is constant, or both are the same"):
        addends_of(square, unused)
    several = operation(
        f"%a: {x}",
        f"qnn.product %a {{axes = [0]}} : ({x}) -> tensor<2x!x>",
        "tensor<2x!x>",
    )
    with pytest.raises(Unseen, match=r"^the sums of \w+ aren't bounded$"):
        addends_of(several, unused)
