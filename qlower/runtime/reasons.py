"""Why a kernel is far from what the machine can do, by rules over what it is."""

from __future__ import annotations

from qlower.codegen.program.compiled import Kernel
from qlower.runtime.roof import Roof

_SHORT_NANOSECONDS = 200.0
"""A limit within which little but the start of loops is done, and the clock is read."""

_TILE_ROWS = 4
"""Rows, or pixels, for which a vector of weights should be used once it is loaded."""

_WASTED = 0.1
"""The share of lanes without a channel from which on that is the reason."""


def reason(kernel: Kernel, roof: Roof) -> str:
    """The likeliest reason why a kernel is below its limit on this roof, in a few
    words.

    The first rule that holds gives it; rules are ordered by how much the limit leaves
    out.
    """
    limit = roof.limit(kernel)
    sums = kernel.products // max(kernel.results, 1)
    rows = kernel.results // kernel.channels
    vectors = -(-kernel.channels // roof.lanes)
    wasted = 1 - kernel.channels / (vectors * roof.lanes)
    match kernel.family:
        case "copy":
            return "a copy, row by row"
        case _ if limit.nanoseconds < _SHORT_NANOSECONDS:
            return "short: most of it is the start of loops, and the clock"
        case "depthwise" if kernel.step > 1:
            return f"depthwise, stride {kernel.step}: interleaves bytes that lie apart"
        case "depthwise":
            return "depthwise: interleaves the bytes of windows, each for few products"
        case "contraction" if rows < _TILE_ROWS:
            return f"weights are used {'once' if rows < 2 else f'for {rows} rows'}"
        case "contraction" if wasted > _WASTED:
            return f"tail: {kernel.channels} channels in vectors of {roof.lanes}"
        case "contraction" if sums <= roof.lanes * kernel.operations:
            return f"{kernel.operations} operations after a sum of {sums} products"
        case "contraction" if kernel.step > 1:
            return f"stride {kernel.step}: reads pixels that lie apart"
        case "contraction" if limit.bound == "bytes":
            return "bytes: other layers have taken the cache since they were written"
        case "contraction":
            return f"{limit.bound}: no rule names a reason"
        case _:
            return (
                f"{kernel.operations} operations on each number, which no limit counts"
            )
