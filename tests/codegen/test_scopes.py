"""What is computed before a loop, and once."""

from __future__ import annotations

import re

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I1, I32, I64, POINTER, Type, Value, constant
from qlower.codegen.program.machine_code import machine_code
from qlower.codegen.targets.resolve import host_target

VECTOR = Type("i32", 4)


def function() -> Function:
    module = Module("x86_64-unknown-linux-gnu", "nofree")
    return Function(module, "f", [POINTER, I1], ["", ""])


def text(f: Function) -> str:
    """The function's definition, which LLVM accepts."""
    f.finish()
    machine_code(str(f.module), host_target())
    return str(f)


def addresses(text: str) -> list[str]:
    return [line for line in text.splitlines() if "getelementptr" in line]


def in_order(text: str, *parts: str) -> bool:
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


def test_a_constant_is_loaded_before_the_loops_that_need_no_other() -> None:
    f = function()
    table = f.module.add_constant(bytes(range(256)))

    def outer(row: Value, carried: list[Value]) -> list[Value]:
        def inner(column: Value, carried: list[Value]) -> list[Value]:
            for index in (constant(I64, 2), row, column):
                loaded = f.load(VECTOR, f.at(table, f.scale(index, 16)), 16)
                f.store(loaded, f.arguments[0], 16)
            return carried

        return f.loop(3, carried, inner)

    f.loop(4, [], outer)
    written = text(f)
    before, in_outer, in_inner = re.split(r"\nloop\d+:", written)
    for part in (before, in_outer, in_inner):
        assert part.count("load <4 x i32>") == 1
    assert f"ptr {table.text}, i64 32" in before


def test_what_may_be_written_is_loaded_each_time() -> None:
    f = function()

    def body(_: Value, carried: list[Value]) -> list[Value]:
        for _time in range(2):
            f.store(f.load(I32, f.arguments[0], 4), f.arguments[0], 4)
        return carried

    f.loop(4, [], body)
    assert text(f).split("loop1:")[1].count("load i32") == 2


def test_nothing_leaves_a_branch() -> None:
    f = function()
    table = f.module.add_constant(bytes(16))

    def load_and_store() -> None:
        f.store(f.load(VECTOR, table, 16), f.arguments[0], 16)

    def body(_: Value, carried: list[Value]) -> list[Value]:
        load_and_store()
        return carried

    def branch() -> None:
        f.loop(4, [], body)

    f.when(f.arguments[1], branch)
    load_and_store()
    written = text(f)
    assert in_order(written, "when1:", "load", "loop2:", "store", "when1.end:")
    assert "load" in written.split("when1.end:")[1]


def test_an_address_goes_from_the_outermost_loop_inwards() -> None:
    f = function()

    def outer(row: Value, carried: list[Value]) -> list[Value]:
        def inner(column: Value, carried: list[Value]) -> list[Value]:
            steps = [f.scale(column, 4), f.scale(f.add(row, constant(I64, 1)), 60)]
            place = f.beyond(f.arguments[0], steps)
            f.store(constant(I32, 0), place, 4)
            return carried

        return f.loop(15, carried, inner)

    f.loop(8, [], outer)
    _, in_outer, in_inner = re.split(r"\nloop\d+:", text(f))
    row, after_row = addresses(in_outer)
    assert row.endswith("ptr %a0, i64 %v7")
    assert "%v7 = mul nsw i64 %v2, 60" in in_outer
    assert after_row.endswith("ptr %v9, i64 60")
    assert [line.split("ptr ")[-1] for line in addresses(in_inner)] == ["%v10, i64 %v5"]


def test_an_index_tells_its_range() -> None:
    f = function()

    def body(index: Value, carried: list[Value]) -> list[Value]:
        moved = f.add(f.scale(index, 2), constant(I64, 3))
        assert f.is_below(index, 5)
        assert not f.is_below(index, 4)
        assert f.is_below(moved, 12)
        assert not f.is_below(moved, 11)
        assert not f.is_below(f.add(index, constant(I64, -1)), 5)
        assert f.is_below(f.add(f.scale(index, -1), constant(I64, 4)), 5)
        assert not f.is_below(f.load(I64, f.arguments[0], 8), 5)
        return carried

    f.loop(5, [], body)
    text(f)


def test_copied_code_knows_nothing_of_its_arguments() -> None:
    """An index that is a multiple of another may be neither, the next time."""
    f = function()

    def body(index: Value, carried: list[Value]) -> list[Value]:
        twice = f.scale(index, 2)
        for a, b in ((index, twice), (twice, index)):
            f.again("scaled", [a, b], lambda a=a, b=b: [f.add(f.scale(b, 3), a)])
        return carried

    f.loop(5, [], body)
    written = text(f)
    index, twice = "%v2", "%v3"
    assert f"mul nsw i64 {twice}, 3" in written
    assert f"mul nsw i64 {index}, 3" in written


def test_a_value_may_be_used_after_its_loop() -> None:
    f = function()
    last: list[Value] = []

    def inner(index: Value, carried: list[Value]) -> list[Value]:
        last[:] = [f.scale(index, 4)]
        return carried

    def outer(_: Value, carried: list[Value]) -> list[Value]:
        f.loop(3, carried, inner)
        place = f.at(f.arguments[0], last[0])
        f.store(constant(I32, 0), place, 4)
        return carried

    f.loop(2, [], outer)
    f.store(constant(I32, 1), f.at(f.arguments[0], last[0]), 4)
    text(f)
