"""Windows of neighbouring pixels in C: which function each tile has, and where its
lines and taps are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from qlower.codegen.nests.point import Segment
from qlower.packages.c_source import windows
from qlower.packages.c_source.loops import Lines
from qlower.packages.c_source.windows import Windows


def made(**given: Any) -> Any:
    found = object.__new__(Windows)
    vars(found).update(given)
    return found


@pytest.mark.parametrize(
    ("tiles", "expected"),
    [
        ([(0, 2, 4)], ["0 True"]),
        ([(0, 1, 4), (4, 2, 4)], ["if (x < 4) {", "0", "}", "else {", "4 True", "}"]),
        (
            [(0, 1, 2), (2, 3, 2), (8, 1, 2)],
            [
                *("if (x < 2) {", "0", "}", "else if (x < 8) {", "2", "}"),
                *("else {", "8 True", "}"),
            ],
        ),
    ],
)
def test_tiles_have_functions_by_their_columns(
    tiles: list[tuple[int, int, int]], expected: list[str]
) -> None:
    lines = Lines()
    windows = made(
        writer=SimpleNamespace(lines=lines), names=["y", "x"], column=1, plan=None
    )
    windows._sum = lambda channels, segment, is_inner: lines.add(
        f"{segment.start}{' True' if is_inner else ''}"
    )
    group = [(Segment(*tile), tile == tiles[-1]) for tile in tiles]
    windows._cases(8, group)
    assert [line.strip() for line in lines.texts] == expected


def edge(size: int, first: int | None, **strides: int) -> Any:
    """Of the nest's loops y, x, line and tap."""
    order = [strides.get(name, 0) for name in ("y", "x", "line", "tap")]
    return SimpleNamespace(
        size=size, first=SimpleNamespace(constant=first), strides=order
    )


def test_taps_beside_the_image_are_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is known of a tile whose first column is, by edges that it moves along."""
    monkeypatch.setattr(
        windows, "tap_offset", lambda products, tap, column, loop: (tap, column, loop)
    )
    edges = [edge(6, -1, x=1, tap=2), edge(9, None, y=1, line=1)]
    products = SimpleNamespace(activation=SimpleNamespace(operand=SimpleNamespace()))
    products.activation.operand.edges = edges
    found = made(
        products=products,
        column=1,
        nest=SimpleNamespace(bounds=[3, 8, 2, 3]),
        plan=SimpleNamespace(lines=[[(5, 0), (5, 1)]]),
    )
    for start in (0, 2, 3):
        for column in range(3):
            for tap in range(3):
                at = -1 + start + column + 2 * tap
                inside = at in range(6)
                expected = ((5, tap), column, 1) if inside else None
                assert found._place(tap, column, start) == expected
                assert found._place(tap, column, None) == ((5, tap), column, 1)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("has_edge", [True, False])
def test_a_line_beyond_the_image_is_a_constant(signed: bool, has_edge: bool) -> None:
    """As long as the tile needs; columns that are beyond it are no line's."""
    named: list[tuple[str, bytes]] = []

    def name(scalar: str, content: bytes) -> str:
        named.append((scalar, content))
        return "padding"

    operand = SimpleNamespace(
        strides=[40, 4, 20, 4],
        offset=100,
        scalar="i8",
        edges=[edge(6, -1, x=1, tap=1), *([edge(9, -2, y=3, line=2)] * has_edge)],
        border_bytes=lambda length: bytes(length),
    )
    activation = SimpleNamespace(operand=operand, signed=signed, index=0)
    writer = SimpleNamespace(
        constants=SimpleNamespace(name=name),
        base=lambda *_: "base",
        op=SimpleNamespace(inputs=["input"]),
    )
    found = made(
        writer=writer,
        products=SimpleNamespace(activation=activation),
        nest=SimpleNamespace(parallel=[0, 1]),
        plan=SimpleNamespace(lines=[[(0, 0)], [(1, 0)]]),
        names=["y", "x"],
        column=1,
    )
    base = "base" if signed else "bytes"
    for number, first in ((0, 0), (1, 8)):
        start = 100 + first + 20 * number
        address = f"&{base}[{windows.linear([40, 4], start, ['y', 'x'])}]"
        text = found._line(number, first, 512)
        if not has_edge:
            assert text == address
            continue
        at = windows.linear([3, 0], -2 + 2 * number, ["y", "x"])
        cast = "" if signed else "(const uint8_t *)"
        assert text == f"(((uint32_t)({at}) < 9u)) ? {address} : {cast}padding"
    assert named == [("i8", bytes(512))] * (2 * has_edge)
