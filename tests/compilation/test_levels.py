"""Levels that compilations share, their messages, and parts that stand alone."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from support.layers.small_model import SMALL_MODEL
from xdsl.dialects.arith import MuliOp
from xdsl.dialects.builtin import i8

from qlower.codegen.targets.resolve import host_target, resolve_target
from qlower.compilation import to_kernel
from qlower.compilation.compilation import Compilation
from qlower.compilation.passes import CompilerBug, apply_passes
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.diagnostics import QlowerError
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.tally import tallied
from qlower.text.parsing import parse_module
from qlower.transforms.check_defined import CHECKED_ALONE
from qlower.transforms.expand_fixed import ExpandFixedPass
from qlower.transforms.tidying import CanonicalizePass

TWO_NESTS = """
#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<8xi8>) -> (tensor<8xi32>, tensor<8xi8>) {
  %table = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi8>
  %i = tensor.empty() : tensor<8xi32>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : tensor<8xi8>) outs(%i : tensor<8xi32>) {
  ^bb0(%a: i8, %o: i32):
    %zero = arith.constant 0 : i32
    %three = arith.constant MOST : i32
    %w = arith.extsi %a : i8 to i32
    %low = arith.maxsi %w, %zero : i32
    %high = arith.minsi %low, %three : i32
    linalg.yield %high : i32
  } -> tensor<8xi32>
  %j = tensor.empty() : tensor<8xi8>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%c : tensor<8xi32>) outs(%j : tensor<8xi8>) {
  ^bb0(%a: i32, %o: i8):
    REST
    linalg.yield %e : i8
  } -> tensor<8xi8>
  return %c, %y : tensor<8xi32>, tensor<8xi8>
}"""
LOOKS_UP = """%k = arith.index_cast %a : i32 to index
    %e = tensor.extract %table[%k] : tensor<4xi8>"""
TRUNCATES = "%e = arith.trunci %a : i32 to i8"


def compilation(tmp_path: Path) -> Compilation:
    path = tmp_path / "small.mlir"
    path.write_text(SMALL_MODEL)
    return Compilation(path, "tflite")


def test_another_target_shares_all_above_the_kernels(tmp_path: Path) -> None:
    first = compilation(tmp_path)
    second = first.for_target(resolve_target("aarch64-linux-gnu", "neoverse-n1"))
    assert second.target.cpu == "neoverse-n1"
    assert second.model is first.model
    assert second.arith is first.arith
    assert second.kernels is not first.kernels
    for name in ("_journal", "_exposed", "parts"):
        assert getattr(second, name) is getattr(first, name)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (host_target(), [f"generate code for {host_target().cpu}"]),
        (
            resolve_target("wasm32-unknown-unknown", None),
            ["warning: target wasm32-unknown-unknown is experimental", "generate"],
        ),
    ],
)
def test_what_code_is_made_for_is_said(
    target: Any, expected: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "qlower"):
        assert compilation(tmp_path).for_target(target).code
    said = [
        text for text in caplog.messages if "experimental" in text or "code" in text
    ]
    assert len(said) == len(expected)
    for text, start in zip(said, expected, strict=True):
        assert text.startswith(start)


@pytest.mark.parametrize(
    ("most", "rest", "is_alone"),
    [(3, LOOKS_UP, False), (3, TRUNCATES, True), (9, TRUNCATES, True)],
)
def test_a_part_stands_alone_if_its_nests_do(
    most: int, rest: str, is_alone: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """An index is in a table because of the nest that made it: calls of kernels are
    made of parts without such nests alone."""
    text = TWO_NESTS.replace("MOST", str(most)).replace("REST", rest)
    with tallied() as tally, caplog.at_level(logging.DEBUG, "qlower"):
        lower_to_kernel(parse_module(text), host_target())
    assert bool(tally.counts[CHECKED_ALONE]) is is_alone
    assert any(CHECKED_ALONE in one for one in caplog.messages) is is_alone
    calls = vars(Compilation)["_calls"]
    given = Compilation(Model(parse_module(text)))
    assert (calls(given, parse_module(text)) is not None) is is_alone


ROUNDED = """
func.func @main(%a: i32) -> i32 {
  %none = arith.constant 0 : i32
  %b = fixed.shift_right %a, %none {rounding = half_up} : i32
  %places = arith.constant 3 : i32
  %c = fixed.shift_right %b, %places {rounding = half_up} : i32
  return %c : i32
}"""


def test_upstream_text_is_canonical() -> None:
    """Steps of `fixed` become plain ones, of which those by 0 places go."""
    whole = lower_to_arith(parse_module(ROUNDED), expand_fixed=True)
    assert [op.name for op in whole.walk()].count("arith.shrsi") == 1
    expanded = apply_passes(parse_module(ROUNDED), [ExpandFixedPass()])
    assert [op.name for op in expanded.walk()].count("arith.shrsi") == 2
    again = apply_passes(whole, [CanonicalizePass()])
    assert str(again) == str(whole)


def test_a_level_that_does_not_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the pass that is to blame is not found anew, the module itself is."""
    whole = compilation(tmp_path)
    wrong = lower_to_arith(parse_module(SMALL_MODEL), "tflite")
    block = main_function(wrong).body.block
    first = block.first_op
    assert first is not None
    block.insert_op_before(MuliOp.create(operands=[], result_types=[i8]), first)
    vars(whole)["_lowered"] = wrong
    with pytest.raises(QlowerError, match=r"arith\.muli"):
        assert whole.arith
    # a pass below fails because of it, and alone
    bug = CompilerBug("prove-epilogues: KeyError", "", "")

    def fails(*_: object) -> None:
        raise bug

    monkeypatch.setattr(to_kernel, "lower_to_kernel", fails)
    with pytest.raises(QlowerError, match=r"arith\.muli"):
        assert whole.kernels
    with pytest.raises(CompilerBug) as caught:
        assert compilation(tmp_path).kernels
    assert caught.value is bug
