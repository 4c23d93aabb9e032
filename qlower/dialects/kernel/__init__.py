"""The kernel level: one op is one native loop nest.

A function at the kernel level is a straight line of

- `arith.constant` (dense): read-only data of the program,
- `tensor.expand_shape`, `tensor.collapse_shape`: the same bytes seen as another shape,
  no code,
- `kernel.nest`: a loop nest with the arithmetic of the arith level, unchanged,
- `kernel.copy`: data movement (slice, concatenation, padding),
- `kernel.scan`: a function at this level, run for each step of a sequence (it is an op
  of the levels above, too),
- `func.return`.

All shapes are static and every tensor is stored densely in row-major order, iN in the
next larger power of two of bytes, sign-extended (i1 in one byte, zero-extended), index
in eight bytes.

**Nest.** The loops are the `parallel` ones followed by the `reduction` ones, counted
from zero to their trip count; dimension d of all maps and of `kernel.index d` is the
d-th loop in that order. For every point of the parallel loops

```
    scalars      = input[map(point)]                      for each input
    accumulators = init(scalars)
    for every point of the reduction loops, in row-major order:
        accumulators = body(scalars, accumulators)
    result[map(point)] = epilogue(scalars, accumulators)  for each result
```

Without reduction loops there are no accumulators: `init` and `body` are absent (regions
without a block) and `epilogue` gets the scalars only. The accumulators are scalars of
any number and types, independent of the results.

**Copy.** A strided box of the source is written into a strided box of the same sizes of
the result; the elements of the result outside the box are those of the destination
operand, or all one fill value, or unspecified.

**Buffers.** `buffers`, written by the pass plan-memory, says where each result is:
`#kernel.arena<n>`: n bytes after the start of the arena, `#kernel.output<k>`: the
caller's buffer of the function's k-th result. `#kernel.unstored`: the result of a copy
that only puts a border around its source is nowhere; the nests that read it read the
source, and the fill value outside of it. `#kernel.box`: the result of a nest that only
a copy uses, lies in the copy's result, where that would put it. Values that share a
buffer are never live at the same time, except where an op may work in place:
- the result of a copy has either the buffer of its destination (only the box is
  written) or one that overlaps no live buffer (all of the result is written);
- a result of a nest may have the buffer of an input that no `body` uses, that is only
  read by the result's map and has elements of the same size, so that each element is
  read before it is overwritten. It may not for family depthwise, whose code computes
  some points twice; all other code computes each once, after its sums.
Offsets in the arena are multiples of 64, those of results below 64 bytes of 16; nothing
is known of the alignment of outputs.

`scratch` of a nest is memory in the arena that overlaps no buffer of a value that is
live while the nest runs, nor of its results.

A returned value that does not live in its output (an argument, a constant, a value that
is returned twice) is copied there at the return. Outputs overlap neither inputs nor
each other.
"""

from xdsl.ir import Dialect

from .copy import CopyOp, is_in_box, root
from .maps import linear_form
from .memory import (
    ARENA_ALIGNMENT,
    ARENA_BYTES,
    ARENA_INPUTS,
    ARENA_OUTPUTS,
    PACKED,
    ArenaAttr,
    BoxAttr,
    Buffer,
    OutputAttr,
    ScratchAttr,
    UnstoredAttr,
    arena_offsets,
    byte_size,
    element_byte_size,
    integer_byte_size,
)
from .nest import KEPT_CHANNELS, IndexOp, NestOp, YieldOp
from .scan import ScanOp, of_step
from .schedule import Schedule, TileAttr, TileRegistersAttr

__all__ = [
    "ARENA_ALIGNMENT",
    "ARENA_BYTES",
    "ARENA_INPUTS",
    "ARENA_OUTPUTS",
    "KEPT_CHANNELS",
    "KERNEL",
    "PACKED",
    "ArenaAttr",
    "BoxAttr",
    "Buffer",
    "CopyOp",
    "IndexOp",
    "NestOp",
    "OutputAttr",
    "ScanOp",
    "Schedule",
    "ScratchAttr",
    "TileAttr",
    "TileRegistersAttr",
    "UnstoredAttr",
    "YieldOp",
    "arena_offsets",
    "byte_size",
    "element_byte_size",
    "integer_byte_size",
    "is_in_box",
    "linear_form",
    "of_step",
    "root",
]

KERNEL = Dialect(
    "kernel",
    [NestOp, YieldOp, IndexOp, CopyOp, ScanOp],
    [
        ArenaAttr,
        OutputAttr,
        ScratchAttr,
        UnstoredAttr,
        BoxAttr,
        TileAttr,
        TileRegistersAttr,
    ],
)
