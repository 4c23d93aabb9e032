"""Code that is kept is never that of another nest, whatever is edited."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from support.layers.programs import read_program
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from qlower.codegen.program import module
from qlower.codegen.program.module import compile_module
from qlower.codegen.targets.resolve import Target, host_target
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.dialects.fixed import RoundingMode, RoundingModeAttr
from qlower.kept.parts import PartsInMemory, kept_in

PROGRAMS = sorted((Path(__file__).parents[1] / "transforms/arith").glob("*.mlir"))
FEW = 8
"""Edits of a program that are tried by default."""


def edited(attribute: Attribute) -> Iterator[Attribute]:
    """Other attributes that may stand in the place of one."""
    match attribute:
        case IntegerAttr():
            yield IntegerAttr(attribute.value.data ^ 1, attribute.type)
        case FloatAttr():
            yield FloatAttr(-attribute.value.data, attribute.type)
            yield FloatAttr(attribute.value.data + 1, attribute.type)
        case DenseIntOrFPElementsAttr(data=data):
            changed = data.data[:-1] + bytes([data.data[-1] ^ 1])
            yield DenseIntOrFPElementsAttr(attribute.type, BytesAttr(changed))
        case DenseArrayBase():
            numbers = cast("DenseArrayBase[IntegerType]", attribute).get_values()
            *first, last = numbers or (0,)
            yield DenseArrayBase.from_list(i64, [*first, last + 1])
        case RoundingModeAttr(data=mode):
            modes = list(RoundingMode)
            yield RoundingModeAttr(modes[(modes.index(mode) + 1) % len(modes)])
        case ArrayAttr() if all(isinstance(map, AffineMapAttr) for map in attribute):
            for index, map in enumerate(attribute):
                assert isinstance(map, AffineMapAttr)
                zeros = [AffineExpr.constant(0)] * len(map.data.results)
                for results in (tuple(reversed(map.data.results)), tuple(zeros)):
                    other = type(map.data)(map.data.num_dims, 0, results)
                    maps = list(attribute)
                    maps[index] = AffineMapAttr(other)
                    yield ArrayAttr(maps)
        case _:
            pass


def edits(whole: ModuleOp) -> Iterator[ModuleOp]:
    """The module with one attribute, operand or flag changed."""

    def changed(number: int) -> tuple[ModuleOp, Operation]:
        copy = whole.clone()
        return copy, list(copy.walk())[number]

    for number, op in enumerate(whole.walk()):
        for name, attribute in op.properties.items():
            for other in edited(attribute):
                copy, place = changed(number)
                place.properties[name] = other
                yield copy
            copy, place = changed(number)
            del place.properties[name]
            yield copy
        if len(op.operands) > 1:
            copy, place = changed(number)
            operands: list[SSAValue] = list(place.operands)
            place.operands = operands[::-1]
            yield copy


def written(whole: ModuleOp, parts: PartsInMemory) -> object:
    """The text of each object, or what kind of error there is."""
    try:
        with kept_in(parts):
            return compile_module(whole, host_target()).objects
    except Exception as error:
        return type(error)


def text(text: str, target: Target) -> bytes:
    return text.encode()


def refuse(parts: PartsInMemory, digest: bytes, made: bytes) -> None:
    raise AssertionError("a part was made, and not found")


@pytest.mark.parts(12)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_an_edited_nest_is_written_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
):
    monkeypatch.setattr(module, "machine_code", text)
    kept = PartsInMemory()
    whole = lower_to_kernel(read_program(path), host_target())
    first = written(whole, kept)
    with monkeypatch.context() as patch:
        patch.setattr(PartsInMemory, "keep", refuse)
        assert written(whole, kept) == first
    others = list(edits(whole))
    step = 1 if request.config.getoption("--long") else len(others) // FEW + 1
    for other in others[::step]:
        assert written(other, kept) == written(other, PartsInMemory())


@pytest.mark.parts(14)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_is_found_is_what_was_made(path: Path):
    """Proofs and schedules of the second time are those of the first."""
    kept = PartsInMemory()
    with kept_in(kept):
        first, again = (
            str(lower_to_kernel(read_program(path), host_target())) for _ in range(2)
        )
    assert first == again
    assert first == str(lower_to_kernel(read_program(path), host_target()))
