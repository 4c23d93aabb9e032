"""Instructions as text, one by one: what each is, and what is no instruction at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import (
    FLOAT,
    I1,
    I32,
    I64,
    POINTER,
    Type,
    Value,
    constant,
)

WORDS, FLOATS = Type("i32", 4), Type("float", 4)
N, M, WORD, A, B, X, Y, S = (
    Value(type, f"%a{index}")
    for index, type in enumerate((I64, I64, I32, WORDS, WORDS, FLOATS, FLOATS, FLOAT))
)
"""Arguments: two indices, a word, vectors of words and of floats, a float."""

FLAGS = Value(Type("i1", 4), "%a8")

TARGET = "x86_64-unknown-linux-gnu"


def function(*, apart: bool = False) -> Function:
    module = Module(TARGET, "nofree", takes_floats_apart=apart)
    types = [value.type for value in (N, M, WORD, A, B, X, Y, S, FLAGS)]
    return Function(module, "f", types, [""] * len(types))


def lines(f: Function) -> list[str]:
    """The instructions so far."""
    return [
        line.strip().partition(" = ")[2]
        for line in str(f).splitlines()
        if line.startswith("  %")
    ]


def index(number: int) -> Value:
    return constant(I64, number)


Make = Callable[[Function], Value]


@pytest.mark.parametrize(
    ("make", "type", "wanted"),
    [
        (lambda f: f.binary("add", A, B), WORDS, "add <4 x i32> %a3, %a4"),
        (lambda f: f.unary("fneg", X), FLOATS, "fneg <4 x float> %a5"),
        (lambda f: f.cast("sext", WORD, "i64"), I64, "sext i32 %a2 to i64"),
        (
            lambda f: f.cast("sitofp", A, "float"),
            FLOATS,
            "sitofp <4 x i32> %a3 to <4 x float>",
        ),
        (
            lambda f: f.bitcast(A, FLOATS),
            FLOATS,
            "bitcast <4 x i32> %a3 to <4 x float>",
        ),
        (lambda f: f.compare("slt", WORD, WORD), I1, "icmp slt i32 %a2, %a2"),
        (lambda f: f.compare("olt", X, Y), FLAGS.type, "fcmp olt <4 x float> %a5, %a6"),
        (
            lambda f: f.select(FLAGS, A, B),
            WORDS,
            "select <4 x i1> %a8, <4 x i32> %a3, <4 x i32> %a4",
        ),
        (
            lambda f: f.shuffle(A, [2, 0]),
            Type("i32", 2),
            "shufflevector <4 x i32> %a3, <4 x i32> poison, <2 x i32> <i32 2, i32 0>",
        ),
        (
            lambda f: f.concatenate(A, B),
            Type("i32", 8),
            "shufflevector <4 x i32> %a3, <4 x i32> %a4, <8 x i32> <i32 0, i32 1, "
            "i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>",
        ),
        (
            lambda f: f.interleave(A, B),
            Type("i32", 8),
            "shufflevector <4 x i32> %a3, <4 x i32> %a4, <8 x i32> <i32 0, i32 4, "
            "i32 1, i32 5, i32 2, i32 6, i32 3, i32 7>",
        ),
        (lambda f: f.shuffle(A, [3]), I32, "extractelement <4 x i32> %a3, i64 3"),
        (lambda f: f.extract(A, 1), I32, "extractelement <4 x i32> %a3, i64 1"),
        (
            lambda f: f.insert(A, WORD, 2),
            WORDS,
            "insertelement <4 x i32> %a3, i32 %a2, i64 2",
        ),
        (lambda f: f.add(N, M), I64, "add nsw i64 %a0, %a1"),
        (lambda f: f.add(N, index(-3)), I64, "add nsw i64 %a0, -3"),
        (lambda f: f.add(index(7), N), I64, "add nsw i64 %a0, 7"),
        (lambda f: f.scale(N, -2), I64, "mul nsw i64 %a0, -2"),
        (lambda f: f.divide(N, 6), I64, "udiv exact i64 %a0, 6"),
        (
            lambda f: f.hidden(N),
            I64,
            'call i64 asm "", "=r,0"(i64 %a0) nounwind memory(none)',
        ),
    ],
)
def test_instructions(make: Make, type: Type, wanted: str) -> None:
    f = function()
    made = make(f)
    assert (made.type, lines(f)) == (type, [wanted])


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda f: f.cast("sext", A, "i32"), A),
        (lambda f: f.bitcast(A, WORDS), A),
        (lambda f: f.splat(A, 4), A),
        (lambda f: f.splat(WORD, 1), WORD),
        (lambda f: f.splat(constant(I32, 5), 4), Value(WORDS, "splat (i32 5)")),
        (lambda f: f.shuffle(A, range(4)), A),
        (lambda f: f.shuffle(A, [0, 1, 2, 3]), A),
        (lambda f: f.shuffle(WORD, [0]), WORD),
        (lambda f: f.extract(WORD, 0), WORD),
        (lambda f: f.insert(WORD, S, 0), S),
        (lambda f: f.join([WORD]), WORD),
        (lambda f: f.concatenate_all([A]), A),
        (lambda f: f.add(index(3), index(-5)), index(-2)),
        (lambda f: f.add(index(0), N), N),
        (lambda f: f.add(N, index(0)), N),
        (lambda f: f.scale(N, 1), N),
        (lambda f: f.scale(N, 0), index(0)),
        (lambda f: f.scale(index(-3), 4), index(-12)),
        (lambda f: f.divide(index(12), 4), index(3)),
    ],
)
def test_what_needs_no_instruction(make: Make, wanted: Value) -> None:
    f = function()
    assert make(f) == wanted
    assert not lines(f)


def test_a_scalar_in_all_lanes() -> None:
    f = function()
    assert f.splat(f.extract(A, 1), 4) == Value(WORDS, "%v3")
    assert f.shuffle(S, [0, 0]).type == Type("float", 2)
    assert lines(f) == [
        "extractelement <4 x i32> %a3, i64 1",
        "insertelement <4 x i32> poison, i32 %v1, i64 0",
        "shufflevector <4 x i32> %v2, <4 x i32> poison, <4 x i32> <i32 0, i32 0, "
        "i32 0, i32 0>",
        "insertelement <2 x float> poison, float %a7, i64 0",
        "shufflevector <2 x float> %v4, <2 x float> poison, <2 x i32> <i32 0, i32 0>",
    ]


def test_parts_are_joined_in_order() -> None:
    f = function()
    assert f.concatenate_all([A, B, B, A]).type == Type("i32", 16)
    first, second, both = lines(f)
    assert first.startswith("shufflevector <4 x i32> %a3, <4 x i32> %a4, <8 x")
    assert second.startswith("shufflevector <4 x i32> %a4, <4 x i32> %a3, <8 x")
    assert both.startswith("shufflevector <8 x i32> %v1, <8 x i32> %v2, <16 x")
    f = function()
    assert f.join([WORD, constant(I32, 9)]) == Value(Type("i32", 2), "%v2")
    assert lines(f) == [
        "insertelement <2 x i32> poison, i32 %a2, i64 0",
        "insertelement <2 x i32> %v1, i32 9, i64 1",
    ]


@pytest.mark.parametrize("is_comparison", [False, True])
def test_floats_lane_by_lane(is_comparison: bool) -> None:
    """Where a target has them so; integers and scalars are as elsewhere."""
    f = function(apart=True)
    if is_comparison:
        made = f.compare("ogt", X, Y)
        f.compare("sgt", A, B)
        f.compare("ogt", S, S)
    else:
        made = f.binary("fadd", X, Y)
        f.binary("add", A, B)
        f.binary("fadd", S, S)
    name, word = ("fcmp ogt", "i1") if is_comparison else ("fadd", "float")
    assert made.type == FLOATS.of(word)
    *each, whole, single = lines(f)
    parts = [line for line in each if line.startswith(name)]
    assert len(parts) == 4
    assert all(line.startswith(f"{name} float ") for line in parts)
    for lane in range(4):
        for vector in ("%a5", "%a6"):
            assert f"extractelement <4 x float> {vector}, i64 {lane}" in each
    assert len(each) == 8 + 4 + 4
    assert whole.endswith("<4 x i32> %a3, %a4")
    assert single == f"{name} float %a7, %a7"


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda f: f.add(f.add(N, index(3)), index(4)), ["add nsw i64 %a0, 7"]),
        (
            lambda f: f.scale(f.add(N, index(3)), 4),
            ["mul nsw i64 %a0, 4", "add nsw i64 %v2, 12"],
        ),
        (lambda f: f.scale(f.scale(N, 3), 5), ["mul nsw i64 %a0, 15"]),
        (
            lambda f: f.add(index(2), f.scale(f.add(f.scale(N, 3), index(-1)), 2)),
            ["mul nsw i64 %a0, 6"],
        ),
        (
            lambda f: f.add(f.add(N, index(3)), f.add(M, index(3))),
            ["add nsw i64 %v1, %v2"],
        ),
    ],
)
def test_indices_are_sums_of_one_product(make: Make, wanted: list[str]) -> None:
    """`base * factor + offset`, whatever it was made of."""
    f = function()
    last = make(f)
    found = lines(f)
    assert [line for line in found if line in wanted] == wanted
    place = int(last.text.removeprefix("%v")) - 1
    assert found[place] == wanted[-1]


@pytest.mark.parametrize(
    ("factor", "offset", "least"),
    [(1, 0, 5), (1, 2, 7), (3, 0, 13), (3, -1, None), (-1, 4, 5), (-2, 9, 10)],
)
def test_bounds_of_a_counter(factor: int, offset: int, least: int | None) -> None:
    """Of 0 ... 4: the least bound that its multiple with an offset is below."""
    f = function()

    def body(counter: Value, carried: list[Value]) -> list[Value]:
        place = f.add(f.scale(counter, factor), index(offset))
        below = [bound for bound in range(20) if f.is_below(place, bound)]
        assert below == ([] if least is None else [*range(least, 20)])
        assert not f.is_below(f.add(place, N), 1 << 40)
        return carried

    f.loop(5, [], body)
    assert not f.is_below(N, 1 << 40)


@pytest.mark.parametrize(
    ("type", "alignment", "is_hidden"),
    [
        *((Type("i32", 2), 4, True), (Type("i8", 8), 7, True)),
        *((Type("i32", 2), 8, False), (I64, 4, False), (WORDS, 4, False)),
    ],
)
def test_loads_of_two_words_may_be_hidden(
    type: Type, alignment: int, is_hidden: bool
) -> None:
    """From LLVM, which would join them; where the target needs it."""
    for hides in (False, True):
        module = Module(TARGET, "nofree", hides_loads=hides)
        f = Function(module, "f", [POINTER], [""])
        f.load(type, f.arguments[0], alignment)
        load, *more = lines(f)
        assert load == f"load {type}, ptr %a0, align {alignment}"
        hidden = f'call {type} asm "", "=w,0"({type} %v1) nounwind memory(none)'
        assert more == ([hidden] if hides and is_hidden else [])


def test_numbers_of_the_caller_are_in_all_lanes_from_the_beginning() -> None:
    """Once for each count of lanes, wherever they are needed first."""
    f = Function(Module(TARGET, "nofree", parameters={}), "f", [I32], [""])
    number = f.number(1234)

    def body(_: Value, carried: list[Value]) -> list[Value]:
        for _time in range(2):
            for lanes in (1, 2, 4):
                found = f.splat(number, lanes)
                assert found.type == Type("i32", lanes)
        return carried

    f.loop(3, [], body)
    name = number.text
    before, _, inside = str(f).partition("loop1:")
    assert before.count("insertelement") == before.count("shufflevector") == 2
    assert f"{name}x4.first = insertelement <4 x i32> poison, i32 {name}" in before
    assert "zeroinitializer" not in inside


def test_what_is_copied_stands_by_itself() -> None:
    """An index in straight code is computed of the one before."""
    f = function()

    def write() -> list[Value]:
        return [f.add(f.add(N, index(3)), index(4))]

    f.again("what", [N], write)
    assert lines(f) == ["add nsw i64 %a0, 3", "add nsw i64 %v1, 4"]
