"""Looking at the functions of machine code that compute a softmax together.

A result depends on a whole row, and there are too many rows to run all of them. The
code runs on rows that have every pair of a byte and its row's maximum, and on drawn
ones. The last function, which makes quotients, also runs on given sums, at both sides
of the steps of the contract's results: a fault that moves a step shows there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from xdsl.ir import SSAValue

from qlower.codegen.program.module import compile_module
from qlower.codegen.targets.resolve import Target
from qlower.dialects.kernel import NestOp
from qlower.interp import Array
from qlower.model.layers import layer_names
from qlower.observe.layer_run import Evaluation, LayerRun
from qlower.runtime.alone import alone
from qlower.semantics.elementwise import row_sums
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.native.found import Found, flips, without_reshapes
from qlower.verification.native.products import StoredBytes
from qlower.verification.native.reference import CODES, References
from qlower.verification.native.sweep import Bind
from qlower.verification.native.verdict import Mismatch
from qlower.verification.sum_rule import Unfit

_ELEMENTS = 1 << 15
"""Elements of the drawn rows."""

_STEPS = 1 << 12
"""Steps of the contract's results that are looked at, drawn if there are more."""

_GRID = 257
"""Sums between which steps are searched."""


def look_at_rows(
    nests: Sequence[NestOp],
    references: References,
    target: Target,
    bind: Bind,
    stored: StoredBytes,
) -> Found:
    """Run the functions of a softmax of bytes on some rows. Raises Unfit."""
    contract = _Contract(references.rows(layer_names(nests[0])))
    code = _Code.of(nests, target, bind)
    source = contract.run.arguments[0]
    rows = code.filled(np.concatenate([_pairs(source), _drawn(source)]))
    wanted = contract.of_rows(rows)
    found: Found | None = None
    for read, written in product(stored.options(code.leaf), flips(nests[-1].res[0])):
        apart = _apart(wanted ^ written, code.of_rows(rows, read), rows)
        if apart is None:
            stored.settle(code.leaf, read)
            return _at_steps(contract, code, rows, read, written)
        found = found or apart
    assert found is not None
    return found


def _apart(wanted: Array, got: Array, rows: Array) -> Found | None:
    """The first row whose results differ, with its first result that does."""
    wrong = np.argwhere(wanted != got)
    if not len(wrong):
        return None
    row, place = (int(one) for one in wrong[0])
    pair = int(wanted[row, place]), int(got[row, place])
    bytes_of_row = tuple(int(one) for one in rows[row])
    difference = Mismatch(None, (place, *bytes_of_row), *pair, of="element")
    return Found("rows", rows.size, 0, difference)


def _at_steps(
    contract: _Contract, code: _Code, rows: Array, read: int, written: int
) -> Found:
    """Decide at both sides of steps, where rows are right."""
    position, sums = contract.steps()
    count = len(position)
    if count:
        top = np.iinfo(rows.dtype).max
        byte = (position + top + 1 - CODES).astype(rows.dtype)
        given = code.filled(np.repeat(byte[:, np.newaxis], rows.shape[1], axis=1))
        position, sums = (code.filled(one) for one in (position, sums))
        expected = contract.quotients(position, sums)[:, np.newaxis] ^ written
        got = code.quotients(given, sums, top, read)
        wrong = np.argwhere(expected != got)
        if len(wrong):
            row, place = wrong[0]
            numbers = int(position[row]) + 1 - CODES, int(sums[row])
            pair = int(expected[row, 0]), int(got[row, place])
            return Found("steps", count, 0, Mismatch(None, numbers, *pair))
    how = (
        f"equal on {len(rows):,} rows, which have every pair of a byte and its row's "
        "maximum"
    )
    if count:
        how += f", and at {count:,} sides of steps of the quotient"
    how += "; not decided: all other rows"
    return Found(how, rows.size + count, 0, None, written, is_decided=False)


@dataclass(frozen=True)
class _Contract:
    """A softmax by its contract: a run of the layer, whose rules take other numbers."""

    run: LayerRun

    @cached_property
    def _rules(self) -> tuple[Evaluation, Evaluation, Evaluation]:
        """The rules of terms, addends and quotients."""
        term, addend, quotient = self.run.evaluations
        return term, addend, quotient

    @cached_property
    def _tables(self) -> tuple[Array, Array]:
        """The term and the addend of each byte's difference from its maximum."""
        term, addend, _ = self._rules
        differences = np.arange(1 - CODES, 1, dtype=np.int32)
        given = {**term.values, "difference": differences}
        (terms,) = term.rule.evaluate_each(given, differences.shape)
        (addends,) = addend.rule.evaluate_each({"term": terms}, differences.shape)
        return terms, addends

    def of_rows(self, rows: Array) -> Array:
        """The bits of the results of rows, [row, element]."""
        wide = rows.astype(np.int32)
        positions = wide - wide.max(axis=1, keepdims=True) + CODES - 1
        return self.quotients(positions, row_sums(self._tables[1][positions]))

    def quotients(self, positions: Integers, sums: Array) -> Array:
        """The bits of the results for differences, less the smallest one, and sums."""
        rule = self._rules[-1]
        given = {
            **rule.values,
            "difference": (positions + 1 - CODES).astype(np.int32),
            "term": self._tables[0][positions],
            "sum": sums.astype(rule.values["sum"].dtype),
        }
        (codes,) = rule.rule.evaluate_each(given, positions.shape)
        return codes.astype(self.run.result.dtype).view(np.uint8)

    def steps(self) -> tuple[Integers, Integers]:
        """Differences, less the smallest one, and sums at both sides of steps."""
        addends = self._tables[1]
        if addends.dtype.kind != "i":
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        least = int(addends[-1])
        more = (self.run.result.shape[-1] - 1) * int(addends.max())
        ratio = max(least + more, 1) / max(least, 1)
        grid: Array = max(least, 1) * ratio ** (np.arange(_GRID) / (_GRID - 1))
        low, high = (part.astype(np.int64) for part in (grid[:-1], grid[1:]))
        place, at = np.meshgrid(np.arange(CODES), np.arange(len(low)), indexing="ij")
        place, low, high = place.reshape(-1), low[at].reshape(-1), high[at].reshape(-1)
        below = self.quotients(place, low)
        some = np.flatnonzero(below != self.quotients(place, high))
        drawn = np.random.default_rng(0).permutation(some)[:_STEPS]
        place, low, high, below = (one[drawn] for one in (place, low, high, below))
        while np.any(high - low > 1):
            middle = (low + high) // 2
            is_below = self.quotients(place, middle) == below
            low, high = (
                np.where(is_below, middle, low),
                np.where(is_below, high, middle),
            )
        return np.tile(place, 2), np.concatenate([low, high])


@dataclass(frozen=True)
class _Code:
    """The machine code of a softmax's functions, one after the other.

    `calls` read `given`, [row, element], the bytes of `leaf`; the last one also `sums`,
    [row], and writes `results`, as bits.
    """

    calls: Sequence[Callable[[], object]]
    leaf: SSAValue
    given: Array
    sums: Array
    results: Array

    @staticmethod
    def of(nests: Sequence[NestOp], target: Target, bind: Bind) -> _Code:
        """The code that the target's compiler makes. Raises Unfit."""
        made: dict[SSAValue, Array] = {}
        calls: list[Callable[[], object]] = []
        leaves: dict[SSAValue, Array] = {}
        for nest in nests:
            cut = alone(nest)
            compiled = compile_module(cut.module, target)
            ports = compiled.signature
            inputs: list[Array] = []
            for value, port in zip(cut.arguments, ports.inputs, strict=True):
                key = without_reshapes(value)
                array = made.get(key)
                if array is None:
                    array = leaves.setdefault(
                        value, np.zeros(port.shape, port.numpy_dtype)
                    )
                inputs.append(array.reshape(port.shape))
            outputs = [np.zeros(one.shape, one.numpy_dtype) for one in ports.outputs]
            made |= zip(nest.res, outputs, strict=True)
            calls.append(bind(compiled, inputs, outputs))
        if len(leaves) != 1 or len(nests) != 3 or nests[-1].reduction_bounds:
            raise Unfit("its functions aren't a maximum, a sum and quotients")
        ((leaf, given),) = leaves.items()
        sums, results = made[nests[1].res[0]], made[nests[-1].res[0]]
        shape = -1, given.shape[-1]
        bits = results.reshape(shape).view(np.uint8)
        return _Code(calls, leaf, given.reshape(shape), sums.reshape(-1), bits)

    def of_rows(self, rows: Array, flip: int) -> Array:
        """The results of rows whose bytes are flipped."""
        found = np.empty(rows.shape, np.uint8)
        for first in range(0, len(rows), len(self.given)):
            block = slice(first, first + len(self.given))
            self._give(rows[block], flip)
            for call in self.calls:
                call()
            found[block] = self.results
        return found

    def filled(self, rows: Array) -> Array:
        """Rows, with the first ones again until they fill the last call."""
        count = len(rows) + -len(rows) % len(self.given)
        return np.resize(rows, (count, *rows.shape[1:]))

    def quotients(self, rows: Array, sums: Array, top: int, flip: int) -> Array:
        """The results of rows as if each had the maximum `top`, and of given sums."""
        found = np.empty(rows.shape, np.uint8)
        self._give(np.full(self.given.shape, top, rows.dtype), flip)
        self.calls[0]()
        for first in range(0, len(rows), len(self.given)):
            block = slice(first, first + len(self.given))
            self._give(rows[block], flip)
            self.sums[...] = sums[block]
            self.calls[-1]()
            found[block] = self.results
        return found

    def _give(self, rows: Array, flip: int) -> None:
        self.given.view(np.uint8)[...] = rows.view(np.uint8) ^ np.uint8(flip)


def _pairs(like: Array) -> Array:
    """Rows of every maximum with all bytes that are smaller, in each place somewhere;
    of few elements with all that fit into a row."""
    size, limits = like.shape[-1], np.iinfo(like.dtype)
    rows: list[Array] = []
    for maximum in range(limits.min, limits.max + 1):
        others = np.arange(limits.min, maximum + 1)
        step = max(size - 1, 1)
        for first in range(0, len(others), step):
            row = np.full(size, maximum)
            part = others[first : first + step][: size - 1]
            row[1 : len(part) + 1] = part
            rows.append(np.roll(row, len(rows)))
    return np.array(rows, like.dtype)


def _drawn(like: Array) -> Array:
    """Rows whose bytes are near their maximum, or anywhere."""
    size, limits = like.shape[-1], np.iinfo(like.dtype)
    random = np.random.default_rng(0)
    count = max(_ELEMENTS // size, 16)
    top = random.integers(limits.min, limits.max + 1, (count, 1))
    depth = random.choice([1, 2, 8, 32, 256], (count, 1))
    rows = top - random.integers(0, depth, (count, size))
    return np.maximum(rows, limits.min).astype(like.dtype)
