"""The search for a fault with a made-up fault, each size by brute force; and what
decides the code of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL
from xdsl.context import Context
from xdsl.dialects.builtin import IntAttr, ModuleOp
from xdsl.passes import ModulePass

from qlower.codegen.program.flavour import Flavour
from qlower.compilation.bisection import Bisection, Fault
from qlower.compilation.compilation import Compilation
from qlower.compilation.observers import Timing
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import load, named
from qlower.model.signature import Array
from qlower.tally import Tally
from qlower.text.parsing import parse_module

own: Any = vars(import_module("qlower.compilation.bisection"))

PAIRS: list[tuple[Array, Array, int]] = [
    (np.array([1, 2, 3], np.int8), np.array([1, 2, 3], np.uint8), 0),
    (np.array([-1, 2], np.int8), np.array([255, 3], np.uint8), 1),
    (np.array([0.0, 1.0], np.float32), np.array([-0.0, 1.0], np.float32), 1),
    (np.array([np.nan]), np.array([np.nan]), 0),
    (np.array([[1, 256], [2, 3]], np.int16), np.array([[1, 0], [2, 4]], np.int16), 2),
    (np.arange(6).reshape(2, 3).T, np.arange(6).reshape(2, 3).T.copy(), 0),
    (np.array(5), np.array(6), 1),
    (np.zeros((2, 0)), np.zeros((2, 0)), 0),
]


@pytest.mark.parametrize(("first", "second", "differing"), PAIRS)
def test_elements_with_other_bits(first: Array, second: Array, differing: int) -> None:
    assert own["_differing"](first, second) == differing


def test_a_fault_in_lines_and_as_a_row() -> None:
    fault = Fault(3, 10, "1, conv", "its code")
    found = Bisection(fault)
    lines = "3 of 10 outputs differ\nfirst kernel: 1, conv\ncause: its code"
    assert str(found) == lines
    assert not found.is_equal
    assert found.table.records() == [
        {"differing": 3, "outputs": 10, "kernel": "1, conv", "cause": "its code"}
    ]
    equal = Bisection(None)
    assert equal.is_equal
    assert str(equal) == "native code and interpreter give the same bits"
    assert equal.table.records() == []


EMPTY = "func.func @main(%x: tensor<1xi8>) -> tensor<1xi8> { return %x : tensor<1xi8> }"


@dataclass(frozen=True)
class Limited(ModulePass):
    name = "limited"
    limit: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["done"] = IntAttr(99 if self.limit is None else self.limit)


@dataclass(frozen=True)
class Unlimited(ModulePass):
    name = "unlimited"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


def search(first_wrong: int, asked: list[int]) -> Any:
    """A search in which modules with that many rewrites or more are wrong."""

    def is_right(module: ModuleOp) -> bool:
        done = module.attributes["done"]
        assert isinstance(done, IntAttr)
        asked.append(done.data)
        return done.data < first_wrong

    made = object.__new__(own["_Search"])
    vars(made)["_is_right"] = is_right
    vars(made)["_kernel_of"] = lambda layer: f"kernel of {layer}"
    return made


@pytest.mark.parametrize("count", range(9))
def test_the_first_wrong_rewrite_is_found(count: int) -> None:
    """By halving, for each number of rewrites and each that is wrong."""
    module = parse_module(EMPTY)
    tally = Tally(rewrites=[f"l{number}" for number in range(count)])
    for wrong in range(1, count + 1):
        asked: list[int] = []
        kernel, cause = search(wrong, asked)._wrong_rewrite(module, Limited(), tally)
        assert kernel == f"kernel of l{wrong - 1}"
        assert cause == (
            f"limited, rewrite {wrong} of {count}, of l{wrong - 1} "
            f"(limited{{limit={wrong - 1}}})"
        )
        assert len(asked) == len(set(asked)) <= count.bit_length()
        assert max(asked, default=0) < count
    unknown = "not known", "limited, in what it doesn't count as rewrites"
    assert search(0, [])._wrong_rewrite(module, Limited(), tally) == unknown
    other = search(1, [])._wrong_rewrite(module, Unlimited(), tally)
    assert other == ("not known", "unlimited, in what it doesn't count as rewrites")


def test_values_of_the_entry_are_recorded_not_those_within() -> None:
    module = parse_module(
        EMPTY.replace("return", "%y = arith.addi %x, %x : tensor<1xi8>\n return")
    )
    (add,) = (op for op in module.walk() if op.name == "arith.addi")
    recorder = own["_Recorder"]()
    recorder.did_interpret_op(add, (np.array([2]),))
    inner = add.clone()
    recorder.did_interpret_op(inner, (np.array([3]),))
    assert list(recorder.values) == [add.results[0]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "small.mlir"
    file.write_text(SMALL_MODEL)
    return file


def content(compilation: Compilation) -> Any:
    return vars(Compilation)["_content"].func(compilation)


def test_all_that_decides_the_code_is_in_its_key(path: Path, tmp_path: Path) -> None:
    copy, other = tmp_path / "copy.mlir", tmp_path / "other.mlir"
    copy.write_text(SMALL_MODEL)
    other.write_text(SMALL_MODEL.replace("[1, 2, 3]>", "[1, 2, 4]>"))
    usual = Compilation(path)
    assert (
        content(Compilation(copy)) == content(Compilation(str(path))) == content(usual)
    )
    reading = ImportOptions.of({"image": (1, 2, 2, 1)}, (), "integer")
    changed = {
        "contract": Compilation(path, "tflite"),
        "another": Compilation(path, "exact"),
        "layers": Compilation(path, with_layers=True),
        "layer contracts": Compilation(path, layer_contracts={"conv": "exact"}),
        "reading": Compilation(path, reading=reading),
        "file": Compilation(other),
        "model": Compilation(load(path)),
        "its layers": Compilation(load(path), with_layers=True),
        "other model": Compilation(load(other)),
    }
    keys = {name: content(one) for name, one in changed.items()}
    assert len({*keys.values(), content(usual)}) == len(keys) + 1
    assert content(Compilation(load(path))) == keys["model"]


@pytest.mark.parametrize("with_layers", [False, True])
def test_levels_are_interpreted(path: Path, with_layers: bool) -> None:
    compilation = Compilation(path, with_layers=with_layers)
    image = {"image": np.array([-128, -20, 30, 127], np.int8).reshape(1, 2, 2, 1)}
    found = [compilation.interpreter(level).run((), image) for level in LEVELS]
    for outputs, layers in found:
        assert len(outputs) == 1
        np.testing.assert_array_equal(outputs[0], found[0][0][0])
        assert [*layers] == (["conv", "flat", "scores"] if with_layers else [])
        for name, layer in layers.items():
            np.testing.assert_array_equal(layer, found[0][1][name])
    wrong: Any = "llvm"
    with pytest.raises(QlowerError) as caught:
        compilation.interpreter(wrong)
    message = "nothing runs at level 'llvm': choose qnn, arith or kernel"
    assert caught.value.message == message


LEVELS: tuple[Any, ...] = ("qnn", "arith", "kernel")

PLAIN = "func.func @main(%x: tensor<2xi8>) -> tensor<2xi8> {\n" + (
    "  %y = arith.addi %x, %x : tensor<2xi8>\n  return %y : tensor<2xi8>\n}"
)


def test_arithmetic_of_its_own_is_run_where_a_contract_is_asked_for() -> None:
    compilation = Compilation(named(parse_module(PLAIN), None))
    for level in LEVELS[:2]:
        (output,), _ = compilation.interpreter(level).run(
            (np.array([3, 100], np.int8),), {}
        )
        assert output.tolist() == [6, -56]


def test_who_observes_sees_code_made(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("qlower.compilation.compilation")
    asked: list[str] = []

    def find(*_: object) -> None:
        asked.append("found")

    def cached(*given: Any) -> object:
        asked.append("cached")
        return given[0]

    monkeypatch.setattr(module, "find_object", find)
    monkeypatch.setattr(module, "cached", cached)
    plain = Compilation(path)
    assert plain.object == content(plain)
    assert asked == ["found", "cached"]
    asked.clear()
    with_pass = replace(plain, passes=(Unlimited(),))
    kind, _ = with_pass.object  # pyright: ignore
    assert kind == b"kernels"
    assert asked == ["cached"]
    asked.clear()
    seen = Timing()
    observed = replace(plain, observers=(seen,))
    assert observed.object is observed.code
    assert asked == []
    assert seen.stages[-1].name == "machine code"
    assert seen.stages[-1].seconds > 0


@pytest.mark.parametrize("with_layers", [False, True])
def test_native_results_are_those_of_the_levels(path: Path, with_layers: bool) -> None:
    compilation = Compilation(path, with_layers=with_layers)
    image = {"image": np.array([-128, -20, 30, 127], np.int8).reshape(1, 2, 2, 1)}
    outputs, layers = compilation.function().run((), image)
    expected, of_layers = compilation.interpreter("arith").run((), image)
    assert [one.tolist() for one in outputs] == [one.tolist() for one in expected]
    assert [*layers] == [*of_layers]
    for name, layer in layers.items():
        np.testing.assert_array_equal(layer, of_layers[name])


@dataclass(frozen=True)
class Marking(ModulePass):
    name = "marking"
    seen: list[str]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        dialects = {one.name.partition(".")[0] for one in op.walk()}
        self.seen.append("qnn" if "qnn" in dialects else "arith")
        op.attributes["marked"] = IntAttr(1)


def test_additional_passes_run_once_at_the_arith_level(path: Path) -> None:
    seen: list[str] = []
    plain = Compilation(path)
    marked = replace(plain, passes=(Marking(seen),))
    assert "marked" in marked.arith.attributes
    assert marked.kernels.attributes["marked"] == IntAttr(1)
    assert seen == ["arith"]
    assert "marked" not in plain.arith.attributes


@pytest.mark.parametrize(
    ("changes", "exchanged"),
    [
        ({}, True),
        ({"tuned": True}, False),
        ({"passes": (Unlimited(),)}, False),
        ({"flavour": Flavour(threads=2)}, False),
    ],
)
def test_data_is_exchanged_in_plain_code_alone(
    changes: dict[str, Any],
    exchanged: bool,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And only where a cache keeps parts."""
    module = import_module("qlower.compilation.compilation")
    made = SimpleNamespace(without_text=lambda: "made")
    monkeypatch.setattr(Compilation, "_make_what_changed", lambda self: "exchanged")
    monkeypatch.setattr(Compilation, "_generate", lambda self: made)
    make = vars(Compilation)["_make"]
    for kept in (True, False):
        monkeypatch.setattr(module, "are_kept", lambda kept=kept: kept)
        found = make(replace(Compilation(path), **changes))
        assert found == ("exchanged" if exchanged and kept else "made")
