"""The other tool's parts, and tables of commands, without a run."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    UnknownLoc,
    i32,
)
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, ShrinkException, VerifyException

from qlower.cli import opt
from qlower.cli.opt import ExactTarget, QlowerOptMain
from qlower.cli.tables import cache_table as caches
from qlower.cli.tables import machine_code
from qlower.cli.tables.check_table import check_table
from qlower.cli.tables.microcontrollers import PEERS, ModelCount, model_table
from qlower.compilation.passes import CompilerBug
from qlower.diagnostics import QlowerError
from qlower.frontends.check import Checked
from qlower.text import context as contexts
from qlower.text.context import (
    INPUT_DIALECTS,
    OWN_DIALECTS,
    UPSTREAM_DIALECTS,
    make_context,
    operation_on_demand,
)
from qlower.universe import QLOWER_UNIVERSE

tool_type: Any = QlowerOptMain


def tool(*arguments: str) -> Any:
    return QlowerOptMain("about it", list(arguments))


def refused(call: Any) -> QlowerError:
    with pytest.raises(QlowerError) as caught:
        call()
    return caught.value


# The tool


def test_dialects_of_the_tool() -> None:
    """xDSL's, and ours, which take the place of xDSL's where both have one."""
    names = set(tool().ctx.registered_dialect_names)
    assert names >= set(get_all_dialects())
    assert names >= {*OWN_DIALECTS, *INPUT_DIALECTS, *UPSTREAM_DIALECTS}
    loaded = tool().ctx.get_dialect("tosa")
    assert loaded is contexts.input_dialects()["tosa"]()


def test_passes_and_targets_of_the_tool() -> None:
    found = tool()
    assert {*QLOWER_UNIVERSE.all_passes, "cse", "canonicalize"} <= {
        *found.available_passes
    }
    assert {"mlir", "wat", "riscv-asm"} <= set(found.available_targets)
    assert found.available_targets["mlir"]() is ExactTarget


def test_options_of_the_tool(capsys: pytest.CaptureFixture[str]) -> None:
    assert tool("--list-passes").args.list_passes is True
    assert tool().args.list_passes is False
    for word in ("-V", "--version"):
        with pytest.raises(SystemExit) as end:
            tool(word)
        assert end.value.code == 0
        assert capsys.readouterr().out.startswith("qlower-opt ")
    with pytest.raises(SystemExit):
        tool("--help")
    text = capsys.readouterr().out
    assert "exit codes:" in text
    assert opt.PASSES_HELP in " ".join(text.split())
    assert "lower-qnn" not in text
    assert "The same as --version" in text


@pytest.mark.parametrize(
    ("pipeline", "message", "help"),
    [
        ("lower-qn", "unknown pass 'lower-qn'", "did you mean 'lower-qnn'?"),
        ("cse,csee", "unknown pass 'csee'", "did you mean 'cse'?"),
        ("zzzzzz", "unknown pass 'zzzzzz'", None),
    ],
)
def test_passes_that_there_are_not(
    pipeline: str, message: str, help: str | None
) -> None:
    error = refused(lambda: tool("-p", pipeline))
    assert (error.message, error.help) == (message, help)


@pytest.mark.parametrize("pipeline", ["cse{", "lower-qnn{contract=}", "cse{no=1}"])
def test_pipelines_that_are_wrong(pipeline: str) -> None:
    assert refused(lambda: tool("-p", pipeline)).message.startswith("pass pipeline: ")


def test_pipelines_take_paths_without_quotes() -> None:
    passes = tool("-p", "lower-qnn{contract=./a/b.mlir},cse").pipeline.passes
    assert [one.name for one in passes] == ["lower-qnn", "cse"]
    assert passes[0].contract == "./a/b.mlir"


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    gone = tmp_path / "gone.mlir"
    error = refused(lambda: tool(str(gone)).prepare_input())
    assert error.message == f"cannot read {gone}: No such file or directory"
    odd = tmp_path / "m.xyz"
    odd.write_text("")
    assert refused(lambda: tool(str(odd)).prepare_input()).message.startswith(
        f"{odd}: "
    )
    there = tmp_path / "there.mlir"
    there.write_text("")
    below = there / "out.mlir"
    error = refused(lambda: tool("-o", str(below)).prepare_output())
    assert error.message == f"cannot write {below}: Not a directory"


def test_reports_between_passes_go_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = tool("-p", "cse,dce", "--print-between-passes")
    first, second = found.pipeline.passes
    found.pipeline.callback(first, ModuleOp([]), second)
    out, error = capsys.readouterr()
    assert out == ""
    assert "builtin.module" in error


class Failing(ModulePass):
    """A pass that fails with a given exception."""

    name = "failing"
    fault: Any = None

    def apply(self, ctx: Any, op: ModuleOp) -> None:
        if self.fault is not None:
            raise self.fault


class Noting(ModulePass):
    """Leaves a mark."""

    name = "noting"

    def apply(self, ctx: Any, op: ModuleOp) -> None:
        op.attributes["noted"] = IntegerAttr(1, i32)


@pytest.mark.parametrize(
    ("fault", "raised"),
    [
        (QlowerError("refused"), DiagnosticException),
        (DiagnosticException("said"), DiagnosticException),
        (ShrinkException("shrunk"), ShrinkException),
        (MemoryError(), MemoryError),
        (ValueError("odd"), CompilerBug),
        (VerifyException("wrong"), CompilerBug),
    ],
)
def test_failures_of_passes(
    fault: Exception, raised: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refusals are diagnostics; of bugs the first pass that fails is named, with the
    module as it got it."""
    monkeypatch.setattr(Failing, "fault", fault)
    found = tool()
    steps = (Noting(), Failing())
    found.pipeline = SimpleNamespace(
        passes=steps,
        apply=lambda ctx, module: [step.apply(ctx, module) for step in steps],
    )
    with pytest.raises(raised) as caught:
        found.apply_passes(ModuleOp([]))
    if raised is DiagnosticException:
        assert str(caught.value) in ("error: refused", "said", "refused")
    if isinstance(caught.value, CompilerBug):
        assert str(caught.value).startswith(f"failing: {type(fault).__name__}: ")
        assert "noted = 1 : i32" in caught.value.before
        assert caught.value.passes == "failing"


def test_errors_that_a_test_expects(capsys: pytest.CaptureFixture[str]) -> None:
    report: Any = vars(opt)["_report"]
    error = QlowerError("it is wrong")
    report(error, expected=True)
    assert capsys.readouterr().out == f"{error}\n"
    assert refused(lambda: report(error, expected=False)) is error


def test_text_keeps_the_bits_of_floats() -> None:
    module = ModuleOp([])
    stream = StringIO()
    ExactTarget().emit(make_context(), module, stream)
    assert stream.getvalue() == "builtin.module {\n}\n\n"


def test_dialects_of_texts() -> None:
    names = set(make_context().registered_dialect_names)
    assert names == {*UPSTREAM_DIALECTS, *OWN_DIALECTS, *INPUT_DIALECTS}
    assert {*contexts.own_dialects()} == {*OWN_DIALECTS}
    assert {*contexts.input_dialects()} == {*INPUT_DIALECTS}


def test_operations_that_some_text_needs() -> None:
    assert operation_on_demand("arith.addi") is None
    assert operation_on_demand("xlinalg.matmul") is None
    found = operation_on_demand("linalg.matmul")
    assert found is not None
    assert found.name == "linalg.matmul"
    assert operation_on_demand("linalg.nothing") is None


# Tables


def problem(text: str, name: str | None = None, line: int | None = None) -> QlowerError:
    place: Any = None
    if line is not None:
        place = FileLineColLoc(StringAttr("f"), IntAttr(line), IntAttr(1))
    if name is not None:
        place = NameLoc(StringAttr(name), place or UnknownLoc())
    return QlowerError(text, place, help=f"help on {text}")


def test_models_and_their_obstacles() -> None:
    good = Checked(Path("good"), ())
    bad = Checked(Path("bad"), (problem("p", "conv", 7), problem("q")))
    slow = Checked(Path("slow"), (), (problem("r"),))
    found = check_table([good, bad, slow])
    rows = [
        ("good", True, True, None, None, None),
        ("bad", False, False, 7, "layer 'conv': p", "help on p"),
        ("bad", False, False, None, "q", "help on q"),
        ("slow", True, False, None, "r", "help on r"),
    ]
    keys = ("model", "imports", "compiles", "line", "reason", "help")
    assert [tuple(row[key] for key in keys) for row in found.records()] == rows
    assert found.notes == [
        "2 of 3 models can be imported",
        "1 of these can't be compiled",
    ]
    assert check_table([good]).notes == ["1 of 1 model can be imported"]
    first = found.columns[0]
    assert [first.text(row) for row in found.rows] == ["good", "bad", "", "slow"]


def test_what_has_no_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nest:
        def __init__(self, *regions: Any) -> None:
            self.regions = [SimpleNamespace(blocks=one) for one in regions]

    made: list[Any] = [
        SimpleNamespace(walk=lambda: [Nest([1], []), "other", Nest([2])])
    ]

    class Compiled:
        def __init__(self, model: Any) -> None:
            assert model == "model"

        @property
        def kernels(self) -> Any:
            if isinstance(made[0], QlowerError):
                raise made[0]
            return made[0]

    monkeypatch.setattr(machine_code, "NestOp", Nest)
    monkeypatch.setattr(machine_code, "Compilation", Compiled)
    monkeypatch.setattr(machine_code, "without_code", lambda region: region.blocks)
    model: Any = "model"
    unread = Checked(Path("m"), (problem("p"),))
    assert machine_code.check_machine_code(unread) is unread
    found = machine_code.check_machine_code(Checked(Path("m"), (), model=model))
    assert (found.without_code, found.model) == ((1, 2), None)
    made[0] = problem("refused")
    found = machine_code.check_machine_code(Checked(Path("m"), (), model=model))
    assert (found.without_code, found.model) == ((made[0],), None)


@pytest.mark.parametrize("folder", [None, Path("there")])
def test_the_cache_as_it_is(
    folder: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = list(caches.KINDS)
    files = Counter({kinds[0]: 2, kinds[-1]: 3})
    monkeypatch.setattr(caches, "cache_folder", lambda: folder)
    monkeypatch.setattr(caches, "cache_size", lambda: (files, 1000))
    monkeypatch.setattr(caches, "cache_limit", lambda: 5000)
    found = caches.cache_table()
    (row,) = found.records()
    counts = {kind.replace(" ", "_"): files[s] for s, kind in caches.KINDS.items()}
    assert row == {
        **{"folder": folder and "there", "files": 5, "bytes": 1000, "limit": 5000},
        **counts,
    }
    note = "There is no cache: $QLOWER_CACHE_DIR is empty."
    assert found.notes == ([] if folder else [note])


def counted(sha256: str, cycles: Any = (3, 4), **memory: Any) -> ModelCount:
    kernels: Any = [
        SimpleNamespace(instructions=n, products=10 * n, cycles=one)
        for n, one in enumerate(cycles, 1)
    ]
    sizes: dict[str, Any] = {
        **{"code": 100, "constants": 20, "arena": 5, "inputs": 6, "outputs": 7},
        **{"state": 8, "stack": SimpleNamespace(bytes=99), **memory},
    }
    given: Any = SimpleNamespace(**sizes)
    return ModelCount("m", sha256, kernels, given)


def test_models_on_a_microcontroller() -> None:
    own = counted("0" * 64)
    assert (own.instructions, own.products, own.cycles) == (3, 30, 7)
    assert (own.flash, own.ram, own.peers) == (120, 26, None)
    assert counted("", (3, None)).cycles is None
    assert counted("", (0, 0)).cycles == 0
    assert counted("", code=None).flash == 20
    assert counted("", constants=None).flash == 100
    digits, peers = next(iter(PEERS.items()))
    known = counted(digits + "0" * 48)
    assert known.peers is peers
    assert counted(digits[:-1] + "x" + "0" * 48).peers is None
    plain = {
        **{"model": "m", "products": 30, "instructions": 3, "cycles": 7},
        **{"flash": 120, "ram": 26, "stack": 99},
    }
    note = "RAM is that of arena, inputs and outputs."
    for models, cpu in (([own], "cortex-m4"), ([known], "cortex-m55")):
        found = model_table(models, cpu=cpu)
        assert found.records() == [plain]
        assert found.notes == [note]
    found = model_table([known, own], cpu="cortex-m4")
    assert len(found.notes) == 3
    names = ("instructions", "cycles", "flash", "arena", "measured", "best")
    first, second = found.records()
    assert first == plain | {f"peers_{n}": getattr(peers, n) for n in names}
    assert second == plain | {f"peers_{name}": None for name in names}


def test_the_end_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Diagnostics are complaints, and the end of a run is that of all commands."""
    said: list[str] = []
    monkeypatch.setattr(opt, "complain", said.append)
    monkeypatch.setattr(opt, "ending", lambda run, tool, given: (run(), tool, given))

    def failing(self: Any) -> None:
        raise DiagnosticException("wrong")

    monkeypatch.setattr(tool_type, "run", failing)
    assert opt.main(["-p", "cse"]) == (1, "qlower-opt", ["-p", "cse"])
    assert said == ["wrong"]
    monkeypatch.setattr(tool_type, "run", lambda self: None)
    assert opt.main([]) == (0, "qlower-opt", [])
    monkeypatch.setattr(opt.sys, "argv", ["qlower-opt", "-p", "cse"])
    assert opt.main() == (0, "qlower-opt", ["-p", "cse"])


def test_lists_of_passes_have_a_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    widths: list[int | None] = []
    table = SimpleNamespace(render=lambda width: (widths.append(width), "table")[1])
    monkeypatch.setattr(opt, "pass_table", lambda passes: table)
    tool("--list-passes").run()
    monkeypatch.setenv("COLUMNS", "77")
    tool("--list-passes").run()
    assert widths == [100, 77]
    assert capsys.readouterr().out == "table\ntable\n"


def test_names_of_contracts_in_results(monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[Any] = []
    monkeypatch.setattr(opt, "name_contracts_from", lambda *of: named.append(of))
    module = ModuleOp([])
    plain = tool()
    assert plain.output_resulting_program(module).startswith("builtin.module")
    assert named == []
    plain.args = Namespace(**{**vars(plain.args), "output_file": "a/b.mlir"})
    plain.output_resulting_program(module)
    assert named == [(module, "a")]
