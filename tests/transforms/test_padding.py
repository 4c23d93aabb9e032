"""Which borders need no memory: every reason against it, one at a time."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp

from qlower.dialects.kernel import CopyOp
from qlower.text.parsing import parse_module
from qlower.transforms.padding import is_read_in_place


def module(
    *,
    before: tuple[int, int] = (1, 0),
    after: tuple[int, int] = (1, 0),
    channels: int = 4,
    type: str = "i8",
    source: str = "%x",
    into: str = "",
    row: str = "d1 + d3",
    lane: str = "d2",
    taps: int = 3,
    family: str = "depthwise",
    weights: str = "%w",
    more: str = "",
) -> str:
    """An image of [1, 6, channels] with borders of rows and channels, and sums of
    products along its rows."""
    rows, depth = (
        size + low + high
        for size, low, high in zip((6, channels), before, after, strict=True)
    )
    image, padded = f"tensor<1x6x{channels}x{type}>", f"tensor<1x{rows}x{depth}x{type}>"
    factors = padded if weights == "%p" else f"tensor<{taps}x{depth}x{type}>"
    read = "d0, d3, d2" if weights == "%p" else "d3, d2"
    names = f"%v: {type}, %f: {type}"
    return f"""
    func.func @main(%x: {image}, %w: tensor<{taps}x{depth}x{type}>) {{
      %k = arith.constant dense<1> : {image}
      %p = kernel.copy {source}[0, 0, 0] [1, 6, {channels}] [1, 1, 1]
        into {into or f"fill(0 : {type})"}[0, {before[0]}, {before[1]}] [1, 1, 1]
        : {image} into {padded}
      {more.replace("PADDED", padded)}
      %y = kernel.nest {family} parallel [1, {rows - 4}, {depth}] reduction [{taps}]
        maps [affine_map<(d0, d1, d2, d3) -> (d0, {row}, {lane})>,
              affine_map<(d0, d1, d2, d3) -> ({read})>,
              affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
        ins(%p, {weights} : {padded}, {factors}) init {{
        ^bb0({names}):
          %zero = arith.constant 0 : {type}
          kernel.yield %zero : {type}
        }} body {{
        ^bb0({names}, %s: {type}):
          %m = arith.muli %v, %f : {type}
          %n = arith.addi %s, %m : {type}
          kernel.yield %n : {type}
        }} epilogue {{
        ^bb0({names}, %s: {type}):
          kernel.yield %s : {type}
        }} -> tensor<1x{rows - 4}x{depth}x{type}>
      return
    }}"""


COPIED = """%q = kernel.copy %p[0, 0, 0] [1, 8, 4] [1, 1, 1]
  into empty[0, 0, 0] [1, 1, 1] : PADDED into PADDED"""


@pytest.mark.parametrize(
    ("text", "is_in_place"),
    [
        (module(), True),
        (module(type="i16"), True),
        (module(type="i32"), False),
        (module(source="%k"), False),
        (module(into="empty"), False),
        (module(family="window"), False),
        (module(weights="%p"), False),
        (module(more=COPIED), False),
        (module(channels=1), False),
        (module(channels=2), True),
        # no window lies in the border alone, at either end
        (module(before=(2, 0)), True),
        (module(before=(3, 0)), False),
        (module(after=(2, 0)), True),
        (module(after=(3, 0)), False),
        (module(before=(0, 0), after=(2, 0)), True),
        (module(before=(2, 0), after=(0, 0)), True),
        (module(before=(3, 0), row="d1 + d3 * 2"), True),
        (module(before=(4, 0), row="d1 + d3 * 2"), True),
        (module(before=(5, 0), row="d1 + d3 * 2"), False),
        (module(before=(2, 0), taps=2), False),
        (module(before=(2, 0), row="d1 * 2 + d3"), True),
        # channels have no border
        (module(before=(1, 1)), False),
        (module(after=(1, 1)), False),
        (module(before=(0, 1), lane="d2 + d3"), False),
        (module(before=(0, 0), after=(0, 0)), True),
    ],
)
def test_borders(text: str, is_in_place: bool) -> None:
    (function,) = parse_module(text, "test.mlir").ops
    assert isinstance(function, FuncOp)
    copy = next(op for op in function.body.block.ops if isinstance(op, CopyOp))
    assert is_read_in_place(copy) == is_in_place
