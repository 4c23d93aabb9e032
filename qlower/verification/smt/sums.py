"""Claims that no sum on the way to an accumulator leaves its width.

They are about integers (QF_LIA): each product is a weight times the difference d of a
stored input and its zero point. A difference may be 0, as it is outside the image and
for an input that isn't added yet, so the sum of any d is each sum on the way, whatever
the order. In the order of memory, each sum on the way is looked at instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from qlower.contracts.accumulator_range import centred_rows, product_terms
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import integer_range
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.fit_table import ORDERS
from qlower.verification.fits import LayerSums
from qlower.verification.smt.claims import Claim, Claims


def add_sums(claims: Claims, layer: LayerSums, start: Integers) -> None:
    """Enter a claim for each channel of a contraction whose weights are constant."""
    terms, rows = product_terms(layer.op), centred_rows(layer.op)
    assert terms is not None
    assert rows is not None
    low, high = layer.sums(*terms, start)
    starts = np.broadcast_to(start, len(rows))
    least, most = integer_range(layer.bits)
    type = quantized_element(layer.op.input.type)
    ends = type.storage_min - type.zero_point, type.storage_max - type.zero_point

    for channel, (row, first) in enumerate(
        zip(rows.tolist(), starts.tolist(), strict=True)
    ):
        fits = least <= low[channel] and high[channel] <= most

        def replay(
            values: Mapping[str, int],
            channel: int = channel,
            row: list[int] = row,
            first: int = first,
        ) -> str | None:
            left_out = first - values.get("bias", first)
            taps = _up_to_a_fault(layer, row, first, values)
            found = layer.held(channel, lambda n, _: type.zero_point + taps.get(n, 0))
            on_the_way = found.sum - left_out
            return None if least <= on_the_way <= most else f"{on_the_way}"

        claim = Claim(
            says=f"No sum on the way to an accumulator leaves {layer.bits} bits, with "
            f"products added in {ORDERS[layer.order]}: each is a weight times d, a "
            "stored input without its zero point; and there is the bias.",
            logic="QF_LIA",
            script="\n".join(_script(layer, row, first, ends)),
            variables=_variables(layer, row),
            expected="unsat" if fits else "sat",
            replay=replay,
        )
        claims.add(claim, layer.name, str(channel))


def _variables(layer: LayerSums, row: list[int]) -> list[str]:
    products = [f"d{place}" for place, weight in enumerate(row) if weight]
    return products if layer.order == "memory" else [*products, "bias"]


def _up_to_a_fault(
    layer: LayerSums, row: list[int], first: int, values: Mapping[str, int]
) -> dict[int, int]:
    """The differences of inputs, in the order of memory up to a sum that doesn't fit;
    later ones are 0."""
    least, most = integer_range(layer.bits)
    total, taps = first, dict[int, int]()
    for place, weight in enumerate(row):
        if layer.order == "memory" and not least <= total <= most:
            break
        taps[place] = values.get(f"d{place}", 0)
        total += weight * taps[place]
    return taps


def _script(
    layer: LayerSums, row: list[int], first: int, ends: tuple[int, int]
) -> Iterator[str]:
    least, most = (_number(end) for end in integer_range(layer.bits))
    low, high = (_number(end) for end in (min(ends[0], 0), max(ends[1], 0)))
    products: list[str] = []
    for place, weight in enumerate(row):
        if weight:
            yield f"(declare-const d{place} Int)"
            yield f"(assert (and (<= {low} d{place}) (<= d{place} {high})))"
            products.append(f"(* {_number(weight)} d{place})")
    if layer.order == "memory":
        yield f"(define-fun s0 () Int {_number(first)})"
        for number, product in enumerate(products):
            yield f"(define-fun s{number + 1} () Int (+ s{number} {product}))"
        sums = [f"s{number}" for number in range(len(products) + 1)]
    else:
        yield "(declare-const bias Int)"
        yield f"(assert (or (= bias 0) (= bias {_number(first)})))"
        yield f"(define-fun sum () Int (+ {' '.join([*products, 'bias', '0'])}))"
        sums = ["sum"]
    outside = " ".join(f"(< {one} {least}) (> {one} {most})" for one in sums)
    yield f"(assert (or {outside}))"


def _number(value: int) -> str:
    """An integer, which SMT-LIB writes without a sign."""
    return str(value) if value >= 0 else f"(- {-value})"
