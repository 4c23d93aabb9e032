"""Straight code that is written again with other names."""

from __future__ import annotations

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I32, Value, constant

WRITTEN: list[str] = []


def function() -> Function:
    WRITTEN.clear()
    module = Module("x86_64-unknown-linux-gnu", "")
    return Function(module, "f", [I32, I32], ["", ""])


def twice_and_product(f: Function, a: Value, b: Value) -> list[Value]:
    """a + a and (a + a) * b, as code for "both"; `WRITTEN` grows if it is written."""

    def write() -> list[Value]:
        WRITTEN.append("both")
        twice = f.binary("add", a, a)
        return [twice, f.binary("mul", twice, b)]

    return f.again("both", [a, b], write)


def lines(f: Function) -> list[str]:
    f.finish()
    return str(f).splitlines()[2:-2]


def test_copies_are_what_would_be_written() -> None:
    f, g = function(), function()
    for each, copies in ((f, True), (g, False)):
        x = each.binary("xor", *each.arguments)
        y = each.binary("or", *each.arguments)
        for a, b in ((x, y), (y, x), (x, y)):
            first, second = twice_and_product(each, a, b)
            each.binary("sub", first, second)
            if not copies:
                each._pieces.clear()  # pyright: ignore[reportPrivateUsage]
    assert len(WRITTEN) == 4
    assert lines(f) == lines(g)


def test_other_constants_and_arguments_are_other_code() -> None:
    f = function()
    x = f.binary("xor", *f.arguments)
    for a, b in (
        (x, constant(I32, 3)),
        (x, constant(I32, 4)),
        (x, f.arguments[0]),
        (x, f.arguments[1]),
        (x, x),
    ):
        twice_and_product(f, a, b)
    assert len(WRITTEN) == 5
    assert [text for text in lines(f) if "mul" in text] == [
        "  %v3 = mul i32 %v2, 3",
        "  %v5 = mul i32 %v4, 4",
        "  %v7 = mul i32 %v6, %a0",
        "  %v9 = mul i32 %v8, %a1",
        "  %v11 = mul i32 %v10, %v1",
    ]


def test_arguments_that_were_equal_may_differ() -> None:
    f = function()
    x, y = (f.binary(name, *f.arguments) for name in ("xor", "or"))
    twice_and_product(f, x, x)
    twice_and_product(f, x, y)
    twice_and_product(f, y, y)
    assert len(WRITTEN) == 2
    assert [text for text in lines(f) if "mul" in text] == [
        "  %v4 = mul i32 %v3, %v1",
        "  %v6 = mul i32 %v5, %v2",
        "  %v8 = mul i32 %v7, %v2",
    ]


def test_code_that_reads_other_names_is_written_each_time() -> None:
    f = function()
    x, y, z = (f.binary(name, *f.arguments) for name in ("xor", "or", "and"))
    for captured in (y, z):
        f.again("one", [x], lambda captured=captured: [f.binary("add", x, captured)])
    assert [text for text in lines(f) if "add" in text] == [
        "  %v4 = add i32 %v1, %v2",
        "  %v5 = add i32 %v1, %v3",
    ]


def test_loops_are_written_each_time() -> None:
    f = function()

    def write() -> list[Value]:
        WRITTEN.append("loop")
        zero = constant(I32, 0)
        return f.loop(2, [zero], lambda _, c: [f.binary("add", c[0], f.arguments[0])])

    for _ in range(2):
        f.again("loop", [], write)
    assert len(WRITTEN) == 2
