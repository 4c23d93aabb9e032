"""Values for functions of libraries that contracts share: whatever their arguments are,
and at the numbers at which their text changes from one formula to another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from zlib import crc32

import numpy as np
from xdsl.dialects.builtin import AnyFloat, IntegerType, ModuleOp, i1
from xdsl.dialects.cf import AssertOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Attribute, Operation

from qlower.contracts.definition import Definition
from qlower.contracts.outline import functions_of
from qlower.contracts.reading import Rule
from qlower.interp import InterpretationError, evaluate_function, make_interpreter
from qlower.interp.values import Array, dtype_of

LANES = 2000
FEW_LANES = 1200
MEETINGS = 3000
"""Arguments that are drawn at random, of a library's functions and of others."""

_COMMENT = re.compile(r"//[^\n]*")
_TABLE = re.compile(r"dense<[^>]*>")
_NUMBER = re.compile(
    r"(?<![\w.@%#])-?(?:0x[\dA-F]+|\d+\.\d+(?:e[-+]?\d+)?|\d+(?![\w.]|\s*x))"
)

_SPECIAL = (
    *(0.0, 0.5, 1.0, 1.5, 2.0, 2.5, np.inf, np.nan, 1e-45, 1e-40, 2.0**-126, 3.4e38),
    *(0.49999997, 0.50000006, 0.99999994, 1.0000001, 2.0**23, 2.0**24, 2.0**31, 88.8),
)

_OWN = 3

_SMALL = 40
"""Integers up to it are places, exponents and indices."""


def numbers_of(definition: Definition, name: str) -> list[float | int]:
    """The numbers in the text of a function and of those it calls, but for entries of
    tables; bits of a float32 or float64 number as that number. Its own come first, as
    often as they are to be drawn more."""
    every = _numbers_in(definition, functions_of(name, definition.outlines))
    return _OWN * _numbers_in(definition, frozenset([name])) + every


def _numbers_in(definition: Definition, names: frozenset[str]) -> list[float | int]:
    found: set[float | int] = set()
    for outline in definition.outlines:
        for piece in outline.pieces:
            if piece.name in names:
                text = outline.text[piece.start : piece.end]
                text = _TABLE.sub("", _COMMENT.sub("", text))
                found.update(map(_number, _NUMBER.findall(text)))
    return sorted(found, key=lambda n: (isinstance(n, int), n != n, n))


def _number(text: str) -> float | int:
    if text.startswith("0x"):
        bits, is_wide = int(text, 16), len(text) > 10
        kinds = (np.uint64, np.float64) if is_wide else (np.uint32, np.float32)
        return float(np.array(bits, kinds[0]).view(kinds[1]))
    return float(text) if "." in text else int(text)


def _reals(numbers: Sequence[float | int]) -> Array:
    """Special reals and those numbers, by value and by bits, with their neighbours of
    float32 and either sign."""
    bits = [n for n in numbers if isinstance(n, int) and 1 << 20 <= n < 1 << 31]
    of_bits = np.array(bits, np.int32).view(np.float32)
    with np.errstate(over="ignore"):
        at = np.concatenate([np.array([*_SPECIAL, *numbers], np.float32), of_bits])
        ends = [np.nextafter(at, np.float32(end)) for end in (-np.inf, np.inf)]
        scaled = [np.ldexp(at, places) for places in (-1, 1, 2)]
    halves = np.arange(0.5, 20, dtype=np.float32)
    powers = np.ldexp(np.float32(1), np.arange(24)) - np.float32(1)
    below = [powers * np.float32(1 - ulps * 2.0**-24) for ulps in (2, 4)]
    every = np.concatenate([at, *ends, *scaled, halves, powers, *below])
    both = np.concatenate([every, -every])
    # Which one of equal numbers with other bits is kept depends on the processor.
    alone = np.unique(both[(both != 0) & ~np.isnan(both)])
    return np.concatenate([alone, np.array([0.0, -0.0, np.nan], np.float32)])


def _integers(numbers: Sequence[float | int], width: int) -> Array:
    """Integers about powers of two and about those numbers, and small ones."""
    places = np.left_shift(np.int64(1), np.arange(width - 1, dtype=np.int64))
    given = [n for n in numbers if isinstance(n, int) and abs(n) < 1 << width - 1]
    at = np.concatenate([np.arange(_SMALL + 1), places, np.array(given, np.int64)])
    every = np.concatenate([at, at - 1, at + 1])
    most = (1 << width - 1) - 1
    every = np.unique(np.concatenate([every, -every, [-most - 1, most, 1 - most]]))
    return every[(every <= most) & (every >= -most - 1)]


def arguments_of(
    rule: Rule, numbers: Sequence[float | int], count: int = LANES
) -> list[Array]:
    """Columns of values of a function's arguments. One argument takes each value, and
    others at random. Several are drawn together, some of them the same; in many of
    the lanes all but one are plain values, which systems refuse least."""
    types = rule.function.function_type.inputs.data
    random = np.random.default_rng(crc32(rule.name.encode()))
    if len(types) == 1:
        (type,) = types
        return [np.concatenate([_pool(type, numbers), _usual(type, random, count)])]
    is_plain = random.random(count) < 0.4
    kinds = random.integers(0, 3, count)
    other = random.integers(0, len(types) + 1, count)
    columns: list[Array] = []
    for index, type in enumerate(types):
        is_same = is_plain & (other != index)
        plain = _plain(type, numbers, random, np.where(is_same, kinds, 2))
        special = random.choice(_pool(type, numbers), count)
        usual = _usual(type, random, count)
        choices = [plain, plain, special, special, usual]
        of_each = np.choose(random.integers(0, len(choices), count), choices)
        of_each = np.where(is_same, plain, of_each)
        if index and type == types[index - 1]:
            same = random.random(count) < 0.1
            of_each = np.where(same, columns[index - 1], of_each)
        columns.append(of_each)
    return columns


def meeting_arguments_of(rule: Rule, numbers: Sequence[float | int]) -> list[Array]:
    """Columns in which all arguments are numbers of the function's own text, or about
    these, or plain: what holds only where several meet is reached so."""
    random = np.random.default_rng(crc32(rule.name.encode()))
    own = _own(numbers) or numbers
    columns: list[Array] = []
    for type in rule.function.function_type.inputs.data:
        if type == i1:
            some = np.array([False, True])
        elif isinstance(type, AnyFloat):
            some = np.array([*_MEETING_REALS, *own, *own], dtype_of(type))
        else:
            whole = [n for n in own if isinstance(n, int) and abs(n) < 1 << 31]
            near = [number + step for number in whole for step in (-1, 1)]
            some = np.array([0, 1, *whole, *whole, *whole, *near])
            some = some[np.abs(some) < 1 << 31].astype(dtype_of(type))
        columns.append(random.choice(some, MEETINGS))
    return columns


def _own(numbers: Sequence[float | int]) -> Sequence[float | int]:
    """Those numbers that `numbers_of` repeats."""
    sizes = range(len(numbers) // (_OWN + 1), -1, -1)
    return next(
        numbers[:size]
        for size in sizes
        if [*numbers[: _OWN * size]] == [*numbers[:size]] * _OWN
    )


_MEETING_REALS = (1.0, 0.5, 2.5, -1.5, 0.0, 300.0)

_PLAIN_REALS = (1.0, np.inf, 2.0**-8, 0.5, 2.0**16, 2.0**-15, 2.0**20, np.nan, -128.0)
_PLAIN_INTEGERS = (0, 1, 3, 2, 128)


def _plain(
    type: Attribute,
    numbers: Sequence[float | int],
    random: np.random.Generator,
    kind: Array,
) -> Array:
    """Powers of two, zeros and ones: those of the first kinds all the same. The last
    kind has at random these or the given numbers."""
    if isinstance(type, AnyFloat):
        some = np.array([*_PLAIN_REALS, *numbers], dtype_of(type))
    elif type == i1:
        some = np.array([False, True])
    else:
        small = [n for n in numbers if isinstance(n, int) and abs(n) < 1 << 31]
        some = np.array([*_PLAIN_INTEGERS, *small], dtype_of(type))
    few = random.integers(0, min(len(some), len(_PLAIN_REALS)), kind.size)
    every = random.integers(0, len(some), kind.size)
    drawn = np.where(random.random(kind.size) < 0.5, few, every)
    return some[np.where(kind == 2, drawn, np.minimum(kind, len(some) - 1))]


def _pool(type: Attribute, numbers: Sequence[float | int]) -> Array:
    if isinstance(type, AnyFloat):
        reals = _reals(numbers)
        if type.bitwidth == 32:
            return reals
        at = np.array(numbers, np.float64)
        ends = [np.nextafter(at, end) for end in (-np.inf, np.inf)]
        return np.concatenate([reals.astype(np.float64), at, *ends])
    assert isinstance(type, IntegerType)
    width = type.width.data
    if width == 1:
        return np.array([False, True])
    return _integers(numbers, width).astype(dtype_of(type))


def _usual(type: Attribute, random: np.random.Generator, count: int) -> Array:
    if isinstance(type, AnyFloat):
        most = random.choice([2, 30, 126], count)
        places = random.integers(-most, most)
        drawn = np.ldexp(random.uniform(-2, 2, count), places)
        return drawn.astype(dtype_of(type))
    assert isinstance(type, IntegerType)
    width = type.width.data
    if width == 1:
        return random.random(count) < 0.5
    small = random.integers(0, _SMALL, count)
    places = random.integers(0, width - 1, count)
    large = random.integers(-(1 << 62), 1 << 62, count) >> (62 - places)
    return np.where(random.random(count) < 0.5, small, large).astype(dtype_of(type))


def without_assertions(rule: Rule) -> Rule:
    """A function that accepts all values, as do the functions that it calls."""
    module = rule.function.parent_op()
    assert isinstance(module, ModuleOp)
    (function,) = (
        op
        for op in _without_assertions(module).body.ops
        if isinstance(op, FuncOp) and op.sym_name == rule.function.sym_name
    )
    return replace(rule, function=function)


@lru_cache(maxsize=1)
def _without_assertions(module: ModuleOp) -> ModuleOp:
    copied = module.clone()
    for op in list(copied.walk()):
        if isinstance(op, AssertOp):
            op.detach()
    return copied


class _Last(Interpreter.Listener):
    """The operation that was to run last, and its operands."""

    op: Operation
    values: PythonValues

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        self.op, self.values = op, args


def evaluate_defined(
    rule: Rule, columns: Sequence[Array]
) -> tuple[Array, tuple[Array, ...], dict[str, int]]:
    """In which lanes a function is defined, and what it gives in these; and how many
    each of its assertions refuses, by the text."""
    size = columns[0].size if columns else 1
    single = make_interpreter(ModuleOp([]))
    defined = np.arange(size)
    refused: dict[str, int] = {}
    while defined.size:
        last = _Last()
        try:
            arguments = [column[defined] for column in columns]
            found = evaluate_function(rule.function, arguments, listeners=[last])
        except InterpretationError:
            kept = _kept(single, last, defined.size)
            assert not all(kept), last.op
            if isinstance(last.op, AssertOp):
                text = last.op.msg.data
                refused[text] = refused.get(text, 0) + kept.count(False)
            defined = defined[kept]
        else:
            return np.isin(np.arange(size), defined), found, refused
    return np.zeros(size, np.bool_), (), refused


def _kept(single: Interpreter, last: _Last, count: int) -> list[bool]:
    """In which lanes an operation has a result."""
    if isinstance(last.op, AssertOp):
        return np.broadcast_to(last.values[0], count).tolist()
    return [_runs(single, last.op, lane) for lane in _lanes(last.values, count)]


def _lanes(values: PythonValues, count: int) -> Iterator[PythonValues]:
    """Operands of each lane; a table is the same in all."""
    for lane in range(count):
        yield tuple(
            value[lane] if np.shape(value) == (count,) else value for value in values
        )


def _runs(single: Interpreter, op: Operation, values: PythonValues) -> bool:
    """Whether an operation has a result for operands."""
    try:
        single.run_op(op, values)
    except InterpretationError:
        return False
    return True
