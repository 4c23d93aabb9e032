"""What applying passes says and does: when modules are verified, what is a bug, and
what observers see."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, StringAttr, i8
from xdsl.passes import ModulePass

from qlower.compilation import observers, passes
from qlower.compilation.named_passes import parse_passes
from qlower.compilation.observers import IrFiles, IrPrinter, Timing
from qlower.compilation.observing import observed_by, present_observers
from qlower.compilation.passes import (
    VERIFY_EACH,
    Applied,
    CompilerBug,
    Observer,
    apply_passes,
    pipeline_text,
)
from qlower.compilation.to_arith import arith_passes
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import CONTRACT
from qlower.tally import Tally, count
from qlower.text.parsing import parse_module
from qlower.transforms.tidying import CsePass, DcePass

TEXT = """func.func @main(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  return %c : i32
}"""


@dataclass(frozen=True)
class Step(ModulePass):
    """Does what it is given."""

    name = "test-step"
    act: Callable[[ModuleOp], object] = field(default=lambda _: None)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.act(op)

    def spec(self, *, include_default: bool = False) -> Any:
        return "test-step"


def breaks(module: ModuleOp) -> None:
    """A type that doesn't verify."""
    (op,) = (op for op in module.walk() if op.name == "arith.muli")
    wrong = arith.MuliOp.create(operands=op.operands, result_types=[i8])
    op.parent.insert_op_before(wrong, op)  # pyright: ignore


def mends(module: ModuleOp) -> None:
    (op, _) = (op for op in module.walk() if op.name == "arith.muli")
    op.detach()


def raises(error: Exception) -> Step:
    def act(_: ModuleOp) -> None:
        raise error

    return Step(act)


@pytest.fixture(autouse=True)
def _unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VERIFY_EACH, raising=False)


def test_a_copy_goes_through_the_passes() -> None:
    module = parse_module(TEXT)
    after = apply_passes(module, [CsePass(), DcePass()])
    assert [op.name for op in after.walk()].count("arith.addi") == 1
    assert [op.name for op in module.walk()].count("arith.addi") == 2
    assert str(apply_passes(module, [])) == str(module)
    assert pipeline_text([CsePass(), DcePass()]) == "cse,dce"


def test_users_mistakes_and_lack_of_memory_pass() -> None:
    module = parse_module(TEXT)
    for error in (QlowerError("mistake"), MemoryError("full")):
        with pytest.raises(type(error)) as caught:
            apply_passes(module, [raises(error)])
        assert caught.value is error
    with pytest.raises(QlowerError) as caught:
        apply_passes(module, [raises(RecursionError())])
    assert caught.value.message == "the module is nested too deeply for test-step"
    assert caught.value.location == module.location


def test_what_else_a_pass_raises_is_a_bug() -> None:
    module = parse_module(TEXT)
    with pytest.raises(CompilerBug) as caught:
        apply_passes(module, [CsePass(), raises(KeyError("x")), DcePass()])
    assert str(caught.value) == "test-step: KeyError: 'x'"
    assert caught.value.passes == "test-step"
    # the IR is that before the pass
    assert caught.value.before.count("arith.addi") == 1


def test_the_pass_that_breaks_a_module_is_to_blame() -> None:
    module = parse_module(TEXT)
    steps = [CsePass(), Step(breaks), Step()]
    with pytest.raises(CompilerBug) as caught:
        apply_passes(module, steps)
    assert str(caught.value).startswith("test-step: arith.muli: ")
    assert caught.value.before.count("arith.muli") == 1


def test_the_ir_of_a_bug_can_be_read_from_anywhere() -> None:
    """Contract files that it names are found from any folder."""
    module = parse_module(TEXT)
    module.attributes[CONTRACT] = StringAttr("./mine.mlir")
    with pytest.raises(CompilerBug) as caught:
        apply_passes(module, [raises(KeyError("x"))])
    assert f'"{Path("mine.mlir").resolve()}"' in caught.value.before
    assert module.attributes[CONTRACT] == StringAttr("./mine.mlir")


def test_modules_are_verified_in_the_end_or_after_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = parse_module(TEXT)
    mended = [Step(breaks), Step(mends)]
    seen: list[str] = []
    verify: Callable[[ModuleOp], None] = vars(passes)["verify_module"]

    def noted(found: ModuleOp) -> None:
        seen.append("verified")
        verify(found)

    monkeypatch.setattr(passes, "verify_module", noted)
    assert apply_passes(module, mended)
    assert len(seen) == 1
    assert apply_passes(module, [Step(breaks)], verify=False)
    assert len(seen) == 1

    class Blind(Observer):
        sees_modules: ClassVar[bool] = False

    assert apply_passes(module, mended, [Blind()])
    assert len(seen) == 2
    with pytest.raises(CompilerBug):
        apply_passes(module, mended, [Blind(), Observer()])
    monkeypatch.setenv(VERIFY_EACH, "1")
    with pytest.raises(CompilerBug):
        apply_passes(module, mended)
    with pytest.raises(CompilerBug):
        apply_passes(module, [Step(breaks)], verify=False)
    monkeypatch.setenv(VERIFY_EACH, "")
    assert apply_passes(module, mended)


class Noting(Observer):
    def __init__(self) -> None:
        self.log: list[object] = []

    def before(self, module: ModuleOp, steps: Sequence[ModulePass]) -> None:
        self.log.append((len(list(module.walk())), len(steps)))

    def after(
        self, module: ModuleOp, applied: Applied, rest: Sequence[ModulePass]
    ) -> None:
        left = [one.name for one in rest]
        self.log.append((applied.step.name, str(applied.tally), left))
        assert applied.seconds >= 0
        assert applied.verification_seconds >= 0

    def finish(self) -> None:
        self.log.append("finished")


def test_observers_see_each_pass_and_those_that_follow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    noting = Noting()
    steps = [Step(lambda _: count("sums merged", 2)), DcePass()]
    with caplog.at_level(logging.DEBUG, "qlower"):
        apply_passes(parse_module(TEXT), steps, [noting])
    assert noting.log == [
        (6, 2),
        ("test-step", "2 sums merged", ["dce"]),
        ("dce", "", []),
    ]
    assert caplog.messages == ["test-step", "test-step: 2 sums merged", "dce"]
    assert present_observers() == ()
    other = Noting()
    with observed_by((noting, other)):
        assert present_observers() == (noting, other)
        assert other.log == []
    assert noting.log[-1] == other.log[-1] == "finished"
    assert present_observers() == ()


def test_files_of_each_level(tmp_path: Path) -> None:
    files = IrFiles(tmp_path / "ir")
    module = parse_module(TEXT)
    middle = apply_passes(module, [CsePass(), DcePass()], [files])
    apply_passes(middle, [Step()], [files])
    code: Any = SimpleNamespace(llvm_text="; code\n")
    files.generated(code, 0.0)
    texts = {path.name: path.read_text() for path in (tmp_path / "ir").iterdir()}
    assert sorted(texts) == [
        *("00-input.mlir", "01-cse.mlir", "02-dce.mlir", "03-test-step.mlir"),
        "04-llvm.ll",
    ]
    first = {name: text.splitlines()[0] for name, text in texts.items()}
    assert first["00-input.mlir"] == "// qlower-opt 00-input.mlir -p 'cse,dce'"
    assert first["01-cse.mlir"] == "// qlower-opt 01-cse.mlir -p 'dce'"
    assert not first["02-dce.mlir"].startswith("//")
    assert texts["04-llvm.ll"] == "; code\n"
    assert texts["00-input.mlir"].count("arith.addi") == 2
    assert texts["01-cse.mlir"].count("arith.addi") == 1
    (tmp_path / "file").write_text("")
    with pytest.raises(QlowerError, match=r"^error: cannot write .*/file/00-llvm\.ll"):
        IrFiles(tmp_path / "file").generated(code, 0.0)


def test_modules_are_printed_to_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    apply_passes(parse_module(TEXT), [CsePass(), DcePass()], [IrPrinter()])
    error = capsys.readouterr().err
    first, second, third = error.split("// after ")
    assert first == ""
    assert second.startswith("cse\n")
    assert third.startswith("dce\n")
    assert "arith.muli" in third


def test_times_of_passes_and_layers(capsys: pytest.CaptureFixture[str]) -> None:
    timing = Timing()
    module = parse_module(TEXT)
    for step, seconds, layers in (
        (CsePass(), 0.0015, {"conv": 0.001, "pool": 0.0002}),
        (DcePass(), 0.25, {"conv": 0.25}),
        (CsePass(), 0.0005, {"conv": 0.0005}),
    ):
        tally = Tally()
        tally.seconds |= layers
        tally.counts["sums"] = 3 if step == DcePass() else 0
        timing.after(module, Applied(step, seconds, 0.001, tally), [])
    timing.generated(SimpleNamespace(llvm_text=""), 1.0)  # pyright: ignore
    timing.finish()
    words = [line.split() for line in capsys.readouterr().err.splitlines()]
    assert words[2:7] == [
        ["cse", "1,500", "0", "sums"],
        ["dce", "250,000", "3", "sums"],
        ["cse", "500", "0", "sums"],
        ["machine", "code", "1,000,000"],
        ["verification", "3,000"],
    ]
    assert words[8] == ["all", "1,255,000"]
    assert words[-4:] == [
        ["conv", "1,500", "250,000"],
        ["pool", "200", "0"],
        words[-2],
        ["all", "1,700", "250,000"],
    ]
    empty = Timing()
    empty.finish()
    assert "layer" not in capsys.readouterr().err
    assert vars(observers)["Stage"]("a", 1.0).done == ""


def test_passes_by_their_names() -> None:
    assert parse_passes("") == []
    assert [one.name for one in parse_passes("cse,dce")] == ["cse", "dce"]
    (one,) = parse_passes("lower-qnn{contract=./x.mlir}")
    assert vars(one)["contract"] == "./x.mlir"
    for text in ("nothing", "cse{", "lower-qnn{nothing=1}"):
        with pytest.raises(QlowerError, match=r"^error: pass pipeline: "):
            parse_passes(text)


LEVELS = {
    "%y = arith.addi %x, %x : tensor<4xi8>": [],
    "%y = tosa.add %x, %x : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>": [
        "lower-tosa"
    ],
    "%y = stablehlo.add %x, %x : tensor<4xi8>": ["lower-stablehlo"],
    "%z = quant.scast %x : tensor<4xi8> to tensor<4x!q>\n"
    "  %y = quant.scast %z : tensor<4x!q> to tensor<4xi8>": ["lower-qnn"],
}


@pytest.mark.parametrize("line", LEVELS)
def test_what_is_left_to_do(line: str) -> None:
    text = (
        "!q = !quant.uniform<i8:f32, 0.5>\n"
        "func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {\n"
        f"  {line}\n  return %y : tensor<4xi8>\n}}"
    )
    found = [one.name for one in arith_passes(parse_module(text), None)]
    assert found == [*LEVELS[line], "canonicalize", "cse", "dce"]


def test_types_of_blocks_are_lowered_too() -> None:
    """A function that passes a quantized tensor on has no other operation."""
    text = (
        "!q = !quant.uniform<i8:f32, 0.5>\n"
        "func.func @main(%x: tensor<4x!q>) -> tensor<4x!q> {\n"
        "  return %x : tensor<4x!q>\n}"
    )
    (first, *_) = arith_passes(parse_module(text), None)
    assert first.name == "lower-qnn"
