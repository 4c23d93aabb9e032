"""What a table of times says of kernels that are far from what the machine can do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from qlower.runtime.profile_table import profile_table
from qlower.runtime.profiling import KernelTime
from qlower.runtime.reasons import reason
from qlower.runtime.roof import Roof

ROOF = Roof(peak=100.0, bandwidths={1000: 10.0, 100_000: 5.0}, lanes=8, word_peak=50.0)


def kernel(layer: str, nanoseconds: float, products: int, bytes: int = 400):
    """Of 16 rows of 16 channels, which is a contraction of a step of 1."""
    return KernelTime(
        name=layer,
        layer=layer,
        layers=(layer,),
        family="contraction",
        products=products,
        bytes=bytes,
        results=256,
        operations=3,
        channels=16,
        step=1,
        takes_words=False,
        nanoseconds=nanoseconds,
    )


TIMES = [
    kernel("near", 1500, 100_000),  # 1 us for products
    kernel("slow", 5000, 100_000),
    kernel("slower", 9000, 200_000),  # 2 us for products
    kernel("wide", 3001, 256, 7500),  # 1.5 us for bytes, beyond the first level
    replace(kernel("copied", 3000, 0, 10_000), family="copy"),
    replace(kernel("words", 3999, 100_000), takes_words=True),  # 2 us
]


def test_limits_are_of_products_or_bytes() -> None:
    limits = [ROOF.limit(time) for time in TIMES]
    assert [one.nanoseconds for one in limits] == [1000, 1000, 2000, 1500, 2000, 2000]
    bounds = [one.bound for one in limits]
    assert bounds == [*3 * ["products"], *2 * ["bytes"], "products"]


def test_kernels_that_take_twice_their_limit_are_named() -> None:
    """By reason, the longest time beyond the limit first, with the sum of each."""
    notes = profile_table(TIMES, ROOF).notes
    none = "products: no rule names a reason"
    assert notes[:2] == [
        "All together: 25.50 us.",
        "Limits together: 9.50 us, 37%.",
    ]
    assert notes[2:] == [
        "Below 50% of the limit, with the time beyond:",
        f"11.00 us, {none}: slower, slow.",
        "1.50 us, 3 operations after a sum of 1 products: wide.",
    ]
    (alone,) = profile_table(TIMES).notes
    assert alone == notes[0]


def test_nothing_is_named_where_all_are_near() -> None:
    assert len(profile_table(TIMES[:1], ROOF).notes) == 2


def other(**changed: Any) -> KernelTime:
    """Of 4 rows of 16 channels, each the sum of 1,000 products."""
    whole = replace(kernel("l", 1.0, 64_000, 900), results=64, operations=2)
    return replace(whole, **changed)


NO_RULE = "no rule names a reason"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, f"products: {NO_RULE}"),
        ({"family": "copy"}, "a copy, row by row"),
        ({"family": "copy", "products": 0, "bytes": 1}, "a copy, row by row"),
        ({"products": 19_999, "bytes": 1}, "short: most of it is the start"),
        ({"products": 20_000, "bytes": 1}, f"products: {NO_RULE}"),
        ({"family": "depthwise", "step": 2}, "depthwise, stride 2: interleaves bytes"),
        ({"family": "depthwise", "step": 1}, "depthwise: interleaves the bytes of wi"),
        ({"results": 63}, "weights are used for 3 rows"),
        ({"results": 32}, "weights are used for 2 rows"),
        ({"results": 31}, "weights are used once"),
        ({"channels": 14, "results": 56}, "tail: 14 channels in vectors of 8"),
        ({"channels": 36, "results": 144}, f"products: {NO_RULE}"),
        ({"channels": 35, "results": 140}, "tail: 35 channels in vectors of 8"),
        ({"operations": 125}, "125 operations after a sum of 1000 products"),
        ({"operations": 124}, f"products: {NO_RULE}"),
        ({"step": 2}, "stride 2: reads pixels that lie apart"),
        ({"bytes": 100_000}, "bytes: other layers have taken the cache since"),
        ({"family": "elementwise"}, "2 operations on each number, which no limit"),
        ({"products": 0, "results": 0, "bytes": 5000}, "weights are used once"),
    ],
)
def test_the_first_rule_that_holds(changed: dict[str, Any], told: str) -> None:
    assert reason(other(**changed), ROOF).startswith(told)


@pytest.mark.parametrize("column", ["limit_nanoseconds", "bound", "reached", "reason"])
def test_a_roof_adds_columns(column: str) -> None:
    def names(roof: Roof | None) -> list[str | None]:
        return [one.key for one in profile_table(TIMES, roof).columns]

    assert column in names(ROOF)
    assert column not in names(None)
