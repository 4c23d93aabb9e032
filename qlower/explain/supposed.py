"""An element, had its rule been given other values: scales as somebody printed them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.interp.values import Array
from qlower.observe.chain import Chain
from qlower.observe.layer_run import LayerRun
from qlower.observe.place import Index
from qlower.observe.rows import ratio, show_exact, show_value


@dataclass(frozen=True)
class Supposed:
    """The element that a rule would give for `values` instead of its `own`, and that
    number before any rounding."""

    values: Mapping[str, Array]
    own: Mapping[str, Array]
    result: Array
    exact: Fraction | None

    def __str__(self) -> str:
        changes = ", ".join(
            f"{name} {show_value(value)} for {show_value(self.own[name])}"
            for name, value in self.values.items()
        )
        exact = "" if self.exact is None else f", exact {show_exact(self.exact)}"
        return f"with {changes}: {show_value(self.result)}{exact}"

    def to_dict(self) -> dict[str, object]:
        """Plain data; the exact number is a fraction as text."""
        return {
            "given": {name: value.item() for name, value in self.values.items()},
            "result": self.result.item(),
            "exact": ratio(self.exact),
        }


def suppose(
    run: LayerRun, index: Index, given: Mapping[str, float | str]
) -> tuple[Supposed, ...]:
    """The element with all given values, then with each of several alone.

    Raises `QlowerError` for a name that the rule isn't given, or a number that its type
    doesn't hold.
    """
    if not given:
        return ()
    chain = run.chain_given(index, {})
    if chain is None:
        raise QlowerError("no rule of the contract makes this element of such values")
    own = {step.name: step.value for step in chain.steps if step.op is None}
    values = {name: _value(name, text, own, chain) for name, text in given.items()}
    each = [{name: value} for name, value in values.items()] if len(values) > 1 else []
    found: list[Supposed] = []
    for one in (values, *each):
        changed = run.chain_given(index, one)
        assert changed is not None, "the rule is the same"
        found.append(Supposed(one, own, changed.result, changed.exact))
    return tuple(found)


def _value(
    name: str, given: float | str, own: Mapping[str, Array], chain: Chain
) -> Array:
    known = own.get(name)
    if known is None:
        close = get_close_matches(name, own, n=1)
        raise QlowerError(
            f"rule {chain.rule} computes this element without a value {name!r}",
            notes=[f"it is given {', '.join(own)}"],
            help=f"did you mean {close[0]}?" if close else None,
        )
    is_integer = known.dtype.kind in "iu"
    try:
        number = int(given) if is_integer else float(given)
        value = np.array(number, known.dtype)
    except (ValueError, OverflowError) as error:
        kind = "an integer" if is_integer else "a number"
        raise QlowerError(
            f"{name}={given} is not {kind} of type {known.dtype}"
        ) from error
    is_scale = name.endswith("_scale")
    if not np.isfinite(value) or (is_scale and value <= 0):
        legal = "positive and finite" if is_scale else "finite"
        raise QlowerError(f"{name}={given} must be {legal}")
    return value
