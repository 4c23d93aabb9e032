"""Refusals and edges of small functions, which models hardly ever reach."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import VerifyException

from qlower.cli.progress import progress
from qlower.diagnostics import QlowerError
from qlower.emulation.elf import ElfObject, Relocation, Section, Symbol
from qlower.emulation.image import Fixup, LinkError, link
from qlower.model.weights import WeightSpec
from qlower.operators.movement import Pad
from qlower.text.upstream_checks import verify_as_upstream
from qlower.text.verification import verify_module
from qlower.validation.cells import differing_outputs
from qlower.validation.rows import ContractRow


def test_regions_that_nest_too_deeply() -> None:
    module = ModuleOp([])
    for _ in range(700):
        module = ModuleOp(Region(Block([module])))
    with pytest.raises(QlowerError, match="nested too deeply"):
        verify_module(module)


def test_a_type_that_is_no_tensor() -> None:
    with pytest.raises(VerifyException, match="i32 is no ranked tensor"):
        verify_as_upstream(tensor.EmptyOp.create(result_types=[i32]))


@pytest.mark.parametrize("sides", [((-1,), (0,)), ((0,), (-2,))])
def test_padding_by_less_than_nothing(sides: tuple[tuple[int], tuple[int]]) -> None:
    with pytest.raises(VerifyException, match="-"):
        Pad(*sides, value=0).result_shape((4,))


@pytest.mark.parametrize("name", ["missing", "known", ""])
def test_objects_that_need_what_is_not_there(name: str) -> None:
    code = Section(".text", True, True, 4, bytes(8))
    symbol = Symbol(name, 0, 0)
    elf = ElfObject(40, False, (code,), (symbol,), (Relocation(0, 4, 2, symbol, 0),))
    fixups: list[Fixup] = []

    def linked() -> list[int]:
        link(elf, 64, {"known": 16}, lambda _, found, __: fixups.extend(found))
        return [fixup.value for fixup in fixups]

    if name == "missing":
        with pytest.raises(LinkError, match="needs missing"):
            linked()
    else:
        assert linked() == ([16] if name else [])  # a remark needs nothing


def test_progress_of_what_has_no_length() -> None:
    assert list(progress(iter("ab"), "letters")) == ["a", "b"]


@pytest.mark.parametrize(("compared", "shown"), [(3, 2), (0, None)])
def test_outputs_that_differ_where_some_were_compared(
    compared: int, shown: int | None
) -> None:
    counts = SimpleNamespace(compared=compared, output=SimpleNamespace(differing=2))
    row = cast("ContractRow", SimpleNamespace(counts=counts))
    assert differing_outputs(row) == shown


@pytest.mark.parametrize(("most", "size"), [(1 << 23, 8), ((1 << 23) - 1, 4)])
def test_integers_that_float32_cannot_give_again(most: int, size: int) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    from qlower.torch.quantizing import initial_parameter

    stored = np.array([-most, 1], np.int32)
    spec = WeightSpec(
        "fc", "bias", stored, (0.5,), (0,), None, -most, most, None, ("fc",)
    )
    assert initial_parameter(spec).element_size() == size
