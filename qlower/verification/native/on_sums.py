"""Deciding a function of machine code that sums: it is run on every sum.

Where other layers are computed with it, as an addition of another tensor, their results
are functions of bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i64

from qlower.codegen.targets.resolve import Target
from qlower.dialects.kernel import NestOp
from qlower.model.layers import layer_names
from qlower.transforms.prove_epilogues.channels import (
    accumulator_bounds,
    evaluate_constants,
    parallel_constants,
    term_of,
)
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.native.found import PAIRS, Found, Given, Wrong, flips
from qlower.verification.native.products import StoredBytes
from qlower.verification.native.reference import CODES, References
from qlower.verification.native.sums import by_channel, given_sums
from qlower.verification.native.sweep import Bind, Code
from qlower.verification.native.verdict import Mismatch
from qlower.verification.pieces import Pieces
from qlower.verification.questions import POOLS
from qlower.verification.sum_rule import SumRule, Unfit

_ELEMENTS = 1 << 17
"""The number of sums that a call is given: caches hold them."""

_MOST = 1 << 33
"""The most sums of 64 bits that are tried: a minute's work."""

_SPARE = 1 << 20
"""The most pieces that a function may have beyond the contract's to be looked at."""


def decide_sums(
    nest: NestOp,
    references: References,
    target: Target,
    bind: Bind,
    stored: StoredBytes,
) -> Found:
    """Whether a nest that sums gives what its layers do, on every sum. Raises Unfit."""
    names = layer_names(nest)
    given = given_sums(nest, _ELEMENTS)
    rule = references.sum_rule(names[0])
    table = None if len(names) == 1 else references.table(names)
    if len(given.others) != (0 if table is None else table.ndim - 1):
        raise Unfit("it reads what the layers don't")
    is_known = not isinstance(references.operations[names[0]], POOLS)
    channels = np.array(given.channels)
    kept = nest.kept_channels
    if kept is not None and len(channels) == len(kept):
        channels = np.array(kept)
    elif kept is not None and len(channels) > 1:
        raise Unfit("it isn't known which channels it computes")
    if channels.max() >= len(rule.low):
        raise Unfit("constants differ from pixel to pixel")
    base = np.zeros(len(channels), np.int64)
    if nest.accumulator_types == (i64,):
        if not is_known:
            raise Unfit("its sum has 64 bits")
        # of sums without the bias, which takes more bits than a piece's key has
        base = rule.offset[channels]
        pieces = rule.pieces.spread(channels)
        low, high = rule.low[channels], rule.high[channels]
    else:
        words = references.words(names[0])
        pieces, low, high = _own_sums(nest, rule, channels, words, is_known=is_known)
    code = Code.of(given, base, target, bind)
    work = _Work(code, pieces, low, high, flips(nest.res[0]))
    if nest.accumulator_types == (i64,) and work.count > _MOST:
        return _of_model(work.at_ends(table), channels)
    if table is None:
        return _of_model(work.alone(pieces), channels)
    if table.ndim == 1:
        return _of_model(work.alone(pieces.mapped(table)), channels)
    found, other = work.with_bytes(table, stored.options(given.others[0]))
    if found.difference is None:
        stored.settle(given.others[0], other)
    return _of_model(found, channels)


def _of_model(found: Found, channels: Integers) -> Found:
    """The result in terms of the channels of the model's layer."""
    apart = found.difference
    if apart is None or apart.channel is None:
        return found
    channel = int(channels[apart.channel])
    return replace(found, difference=replace(apart, channel=channel))


def _own_sums(
    nest: NestOp,
    rule: SumRule,
    channels: Integers,
    words: Integers | None,
    *,
    is_known: bool,
) -> tuple[Pieces, Integers, Integers]:
    """The rule for the nest's own sums of bytes, or of any of `words`, and their least
    and greatest, by column.

    They are the rule's accumulators, if that `is_known`; else they may be more than its
    sums, all by the same number.
    """
    columns = (rule.low, rule.high, rule.offset)
    low, high, offset = (column[channels] for column in columns)
    pieces = rule.pieces.spread(channels)
    bounds = accumulator_bounds(nest)
    if bounds is None and words is not None:
        bounds = _bounds_of_words(nest, words)
    if is_known and not (_fits(low + offset) and _fits(high + offset)):
        raise Unfit("the accumulator may wrap")
    if bounds is not None and nest.kept_channels is not None and is_known:
        # Channels that are constant are a number in the start: fewer sums can occur.
        least, most = (by_channel(nest, bound) for bound in bounds)
        if np.any(least < low + offset) or np.any(most > high + offset):
            raise Unfit("its sum isn't that of the layer")
        return pieces.moved(offset).since(least).up_to(most), least, most
    if bounds is None:
        if not is_known:
            raise Unfit("its sum isn't one of bytes or words")
        return pieces.moved(offset), low + offset, high + offset
    least, most = (by_channel(nest, bound) for bound in bounds)
    if not is_known:
        offset = least - low
        if np.any(offset != offset[0]) or np.any(most - high != offset[0]):
            raise Unfit("its sum isn't that of the layer")
    elif np.any(least > low + offset) or np.any(most < high + offset):
        raise Unfit("its sum isn't that of the layer")
    return pieces.moved(offset), low + offset, high + offset


def _bounds_of_words(nest: NestOp, words: Integers) -> tuple[Integers, Integers] | None:
    """The least and the greatest sum of a nest whose every addend is made of one of
    these words, if that can't wrap."""
    start = evaluate_constants(nest.init.block, parallel_constants(nest))
    found = term_of(nest, arith.AddiOp, words.astype(np.int16))
    if start is None or found is None:
        return None
    terms = prod(nest.reduction_bounds) * found[1]
    low, high = (start + end for end in (terms.min(), terms.max()))
    return (low, high) if _fits(low) and _fits(high) else None


def _fits(sums: Integers) -> bool:
    """Whether code adds them up without wrapping."""
    return np.array_equal(sums, sums.astype(np.int32))


@dataclass(frozen=True)
class _Work:
    """Code for sums in low ... high, [column] each, where the first layer's result has
    these `pieces`. Results equal the expected ones up to one of `flips`."""

    code: Code
    pieces: Pieces
    low: Integers
    high: Integers
    flips: Sequence[int]

    @property
    def count(self) -> int:
        """The number of sums."""
        return int((self.high - self.low + 1).sum())

    def alone(self, expected: Pieces) -> Found:
        """Decide on every sum."""
        found, flip = self._difference(expected, self.flips)
        return Found("every sum", self.count, len(self.low), found, flip)

    def at_ends(self, table: Integers | None) -> Found:
        """Look at both ends of each piece, of a function whose results are in a table,
        if there is one: that there is no difference decides nothing."""
        sums, wanted = self._at_ends()
        wanted = wanted if table is None else table[wanted]
        results = self.code.at(sums)

        def given(place: int) -> Given:
            column = place % len(self.low)
            return column, (int(sums.flat[place] + self.code.base[column]),)

        wrong = {
            flip: Wrong().and_of((wanted ^ flip).astype(results.dtype), results, given)
            for flip in self.flips
        }
        flip = min(wrong, key=lambda one: wrong[one].count)
        how = (
            f"equal at {sums.size:,} ends of steps; not decided: the others of "
            f"{self.count:,} sums, too many to try each"
        )
        return Found(
            how, sums.size, len(self.low), wrong[flip].first, flip, is_decided=False
        )

    def with_bytes(
        self, table: Integers, other_flips: Sequence[int]
    ) -> tuple[Found, int]:
        """Decide code whose result for the first layer's result and another byte is in
        a table.

        Both ends of each piece are looked at with every other byte, and every sum with
        enough other bytes to distinguish all results of the first layer. Also returns
        how the other byte was read.
        """
        sums, middle = self._at_ends()
        columns = len(self.low)
        wrong = dict.fromkeys(product(other_flips, self.flips), Wrong())
        for byte in range(CODES):
            self._give(byte)
            results = self.code.at(sums)
            for other_flip, flip in wrong:
                other = byte ^ other_flip

                def given(place: int, other: int = other) -> Given:
                    return place % columns, (int(sums.flat[place]), other)

                wanted = (table[middle, other] ^ flip).astype(results.dtype)
                one = wrong[other_flip, flip]
                wrong[other_flip, flip] = one.and_of(wanted, results, given)
        flip = min(wrong, key=lambda one: wrong[one].count)
        numbers = sums.size * CODES
        if wrong[flip].count:
            return Found(PAIRS, numbers, columns, wrong[flip].first), flip[0]
        chosen = list(_separating(table[np.unique(self.pieces.value)]))
        for byte in chosen:
            self._give(byte ^ flip[0])
            expected = self.pieces.mapped(table[:, byte])
            found, _ = self._difference(expected, flip[1:], (byte,))
            numbers += self.count
            if found is not None:
                return Found("every sum", numbers, columns, found), flip[0]
        how = f"{PAIRS}, every sum with {len(chosen)}"
        return Found(how, numbers, columns, None, flip[1]), flip[0]

    def _at_ends(self) -> tuple[Integers, Integers]:
        """The sums at both ends of each piece, [any, column], and the first layer's
        results; columns with fewer pieces are filled up with their least sum."""
        columns = np.arange(len(self.low))
        channel, x, value = self.pieces.ends(self.high)
        order = np.argsort(channel, kind="stable")
        channel, x, value = channel[order], x[order], value[order]
        counts = np.bincount(channel)
        row = np.arange(len(x)) - np.repeat(np.cumsum(counts) - counts, counts)
        first = self.pieces.value[np.searchsorted(self.pieces.channel, columns)]
        sums, middle = (np.tile(one, (counts.max(), 1)) for one in (self.low, first))
        sums[row, channel], middle[row, channel] = x, value
        return sums, middle

    def _give(self, byte: int) -> None:
        (other,) = self.code.others
        other.view(np.uint8)[...] = byte

    def _difference(
        self, expected: Pieces, flips: Sequence[int], others: tuple[int, ...] = ()
    ) -> tuple[Mismatch | None, int]:
        """A difference of the code's pieces from the expected ones, on every sum; and
        the bits by which results are flipped."""
        most = len(expected.x) + _SPARE
        found, end = self.code.pieces(self.low, self.high, most)
        known = expected.up_to(end)
        apart: list[tuple[int, int, int, int]] = []
        for flip in flips:
            flipped = Pieces(known.channel, known.x, known.value ^ flip)
            difference = flipped.first_difference(found)
            if difference is None:
                return None, flip
            apart.append(difference)
        # what is stored otherwise goes wrong at once
        channel, x, wanted, given = max(apart)
        x += int(self.code.base[channel])
        return Mismatch(channel, (x, *others), wanted, given), flips[0]


def _separating(rows: Integers) -> Iterator[int]:
    """Columns that distinguish as many rows as all columns do."""
    _, every = np.unique(rows, axis=0, return_inverse=True)
    classes = np.zeros(len(rows), np.int64)
    while classes.max() < every.max():
        finer = [
            np.unique(classes * CODES + rows[:, column], return_inverse=True)[1]
            for column in range(rows.shape[1])
        ]
        best = max(range(len(finer)), key=lambda column: int(finer[column].max()))
        yield best
        classes = finer[best]
