"""An index in brackets as operators of ATen, one for each dimension."""

from __future__ import annotations

from collections.abc import Sequence

from ..pt2.program import Argument

IndexCall = tuple[str, dict[str, Argument]]
"""An operator, and its arguments but for the value."""


def steps_of(shape: Sequence[int], index: Sequence[object]) -> list[IndexCall] | None:
    """Return the operators that `value[index]` is, for a value of this shape; None for
    an index that is neither numbers, slices, None nor an ellipsis."""
    taken = sum(item is not None and item is not Ellipsis for item in index)
    steps: list[IndexCall] = []
    axis = place = 0
    for item in index:
        match item:
            case None:
                steps.append(("aten.unsqueeze.default", {"dim": place}))
                place += 1
            case int() if not isinstance(item, bool):
                given: dict[str, Argument] = {"dim": place, "index": item % shape[axis]}
                steps.append(("aten.select.int", given))
                axis += 1
            case slice():
                start, end, step = item.indices(shape[axis])
                if (start, end, step) != (0, shape[axis], 1):
                    given = {"dim": place, "start": start, "end": end, "step": step}
                    steps.append(("aten.slice.Tensor", given))
                axis, place = axis + 1, place + 1
            case _ if item is Ellipsis:
                axis += len(shape) - taken
                place += len(shape) - taken
            case _:
                return None
    return steps
