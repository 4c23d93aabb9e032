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


LINES = """\
layer   kernel         us  share  GMAC/s    KB  limit us  by        reached  why not more
-------------------------------------------------------------------------------------------------------------------
near    contraction  1.50   5.9%    66.7   0.4      1.00  products      67%  -
slow    contraction  5.00  19.6%    20.0   0.4      1.00  products      20%  products: no rule names a reason
slower  contraction  9.00  35.3%    22.2   0.4      2.00  products      22%  products: no rule names a reason
wide    contraction  3.00  11.8%     0.1   7.5      1.50  bytes         50%  3 operations after a sum of 1 products
copied  copy         3.00  11.8%       -  10.0      2.00  bytes         67%  -
words   contraction  4.00  15.7%    25.0   0.4      2.00  products      50%  -
"""  # noqa: E501


def test_lines() -> None:
    assert profile_table(TIMES, ROOF).render().startswith(LINES)
    narrow = [
        profile_table(TIMES, ROOF).render("plain", width) for width in (100, 70, 50)
    ]
    hidden = [
        " ".join(text.split("Hidden on a narrow terminal: ")[1].split())
        for text in narrow
    ]
    assert hidden == [
        "why not more; --format csv has all.",
        "kernel, why not more; --format csv has all.",
        "kernel, KB, why not more; --format csv has all.",
    ]


def test_records() -> None:
    slow, copied = (profile_table(TIMES, ROOF).records()[row] for row in (1, 4))
    assert slow == {
        "layer": "slow",
        "family": "contraction",
        "nanoseconds": 5000,
        "share": 5000 / 25_500,
        "gmacs_per_second": 20.0,
        "macs": 100_000,
        "bytes": 400,
        "limit_nanoseconds": 1000.0,
        "bound": "products",
        "reached": 0.2,
        "reason": f"products: {NO_RULE}",
    }
    assert (copied["gmacs_per_second"], copied["reason"]) == (None, None)


def test_half_of_the_limit_is_near_enough() -> None:
    half = profile_table([kernel("half", 2000, 100_000)], ROOF)
    assert half.records()[0]["reached"] == 0.5
    assert half.records()[0]["reason"] is None
    assert len(half.notes) == 2


def test_no_time_at_all() -> None:
    """A clock may say so of a kernel, and there may be none."""
    table = profile_table([kernel("quick", 0, 0, 0)], ROOF)
    assert [table.records()[0][key] for key in ("share", "reached")] == [0, 0]
    assert table.notes[:2] == [
        "All together: 0.00 us.",
        "Limits together: 0.00 us, 0%.",
    ]
    assert profile_table([], ROOF).notes == table.notes[:2]
