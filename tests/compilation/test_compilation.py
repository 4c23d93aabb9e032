"""A compilation by itself: what it shares, what it looks up and what it keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation import bisection, compilation
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import named
from qlower.kept.parts import PartsInMemory, kept_in
from qlower.model import Model
from qlower.runtime import changed
from qlower.text.parsing import parse_module
from qlower.transforms.tidying import CanonicalizePass


def in_a_file(tmp_path: Path, name: str = "small.mlir") -> Compilation:
    path = tmp_path / name
    path.write_text(SMALL_MODEL)
    return Compilation(path, "tflite")


def inner(whole: Compilation, name: str) -> Any:
    return getattr(whole, name)


@pytest.mark.parametrize("name", ["model", "_lowered", "_journal", "_exposed", "parts"])
def test_what_another_target_shares(name: str, tmp_path: Path) -> None:
    """Even where it isn't made yet."""
    first = in_a_file(tmp_path)
    second = first.for_target(resolve_target("aarch64-linux-gnu", "neoverse-n1"))
    made = object()
    vars(first)[name] = made
    assert inner(second, name) is made


def test_the_signature_of_kept_code(tmp_path: Path) -> None:
    """Which is known without reading the model."""
    whole, kept = in_a_file(tmp_path), SimpleNamespace(signature=object())
    vars(whole)["_kept"] = kept
    assert whole.signature is kept.signature
    assert whole.object is kept
    assert "model" not in vars(whole)
    vars(whole)["_kept"] = None
    assert whole.signature is whole.model.signature


CHANGES: dict[str, Callable[[Compilation], Compilation]] = {
    "contract": lambda one: replace(one, contract="tflm"),
    "no contract": lambda one: replace(one, contract=None),
    "layer": lambda one: replace(one, layer_contracts={"conv": "tflm"}),
    "layers": lambda one: replace(one, with_layers=True),
    "reading": lambda one: replace(one, reading=ImportOptions()),
}


def test_settings_decide_what_is_looked_up(tmp_path: Path) -> None:
    whole = in_a_file(tmp_path)
    contents = [inner(whole, "_content")]
    contents += [inner(change(whole), "_content") for change in CHANGES.values()]
    other = in_a_file(tmp_path, "other.qlower.mlir")
    assert inner(other, "_content") == contents[0], "a folder and a name decide nothing"
    Path(str(other.source)).write_text(SMALL_MODEL + "\n")
    contents.append(inner(replace(other), "_content"))
    assert len(set(contents)) == 2 + len(CHANGES)
    file = sha256(SMALL_MODEL.encode()).digest()
    settings = (b"contract tflite", b"[]", b"file", b".mlir", b"")
    assert contents[0] == (*settings, file, b"")
    assert contents[-2][-1] == repr(ImportOptions()).encode()


def test_a_model_in_memory_is_looked_up_by_its_content() -> None:
    one, two = (Compilation(named(parse_module(SMALL_MODEL), None)) for _ in range(2))
    assert inner(one, "_content") == inner(two, "_content")
    three = replace(one, with_layers=True)
    assert inner(three, "_content") != inner(one, "_content")


@pytest.mark.parametrize(
    "change",
    [
        {"observers": (object(),)},
        {"tuned": True},
        {"passes": (CanonicalizePass(),)},
        {},
    ],
)
def test_what_is_measured_or_of_others_is_not_looked_up(
    change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = object()
    monkeypatch.setattr(compilation, "find_object", lambda *_: found)
    whole = replace(in_a_file(tmp_path), **change)
    assert inner(whole, "_kept") is (None if change else found)


@dataclass(frozen=True)
class Code:
    """Kept code that says what it is made of, and what it was made from."""

    content: tuple[bytes, ...]
    before: bytes = b""

    def to_json(self) -> bytes:
        return b"|".join(self.content) + self.before

    @staticmethod
    def from_json(text: bytes) -> Code:
        return Code((b"older",), text)

    def exchanged(self, *given: object) -> tuple[Code, object] | None:
        assert given[2] == "object of older"
        return (Code((b"newer",), self.before), "made") if self.before else None


def test_code_that_was_exchanged_is_the_next_to_exchange(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The older's object may be gone when the next is made."""
    monkeypatch.setattr(changed, "KeptCode", Code)
    monkeypatch.setattr(compilation, "last_kept", lambda _: b" kept")
    monkeypatch.setattr(
        *(compilation, "find_object"),
        lambda content, *_: f"object of {content[0].decode()}",
    )
    whole = Compilation(Model(parse_module(SMALL_MODEL)), "tflite")
    memory = PartsInMemory()
    with kept_in(memory):
        assert inner(whole, "_make_what_changed")() == "made"
    assert [*memory.made.values()] == [
        Code(inner(whole, "_content"), b" kept").to_json()
    ]


def test_levels_that_run(tmp_path: Path) -> None:
    whole: Any = in_a_file(tmp_path)
    with pytest.raises(QlowerError) as caught:
        whole.interpreter("llvm")
    assert caught.value.message == (
        "nothing runs at level 'llvm': choose qnn, arith or kernel"
    )


BROKEN = """
func.func @main(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  return %y : i32
}"""


@pytest.mark.parametrize("is_broken", [False, True])
def test_the_arith_level_is_verified(
    is_broken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it doesn't verify, it is made again, to find the pass that is to blame."""
    module = parse_module(BROKEN)
    if is_broken:
        (function,) = module.ops
        block = function.regions[0].block
        last = block.last_op
        assert last is not None
        block.detach_op(last)
        block.insert_op_before(last, block.ops.first or last)
    made = in_a_file(tmp_path)
    vars(made)["_lowered"] = module
    again: list[bool] = []
    monkeypatch.setattr(
        Compilation, "_lower", lambda self, *, verify=False: again.append(verify)
    )
    if is_broken:
        with pytest.raises(QlowerError):
            _ = made.arith
        assert again == [True]
    else:
        assert made.arith is module
        assert again == []


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("passes", [(), (CanonicalizePass(),)])
def test_passes_after_the_arith_level(
    passes: tuple[CanonicalizePass, ...],
    verify: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What they are given is verified first."""
    given: list[Any] = []

    def lower(*arguments: Any, verify: bool, observers: Any) -> str:
        given.append((arguments[1:], observers, verify))
        return "arith"

    monkeypatch.setattr("qlower.compilation.to_arith.lower_to_arith", lower)
    monkeypatch.setattr(
        "qlower.compilation.passes.apply_passes", lambda *arguments: arguments
    )
    observers: Any = ("observer",)
    whole = replace(in_a_file(tmp_path), passes=passes, observers=observers)
    found = inner(whole, "_lower")(verify=verify)
    assert given == [(("tflite",), observers, verify or bool(passes))]
    assert found == (("arith", passes, observers) if passes else "arith")


def test_arguments_of_a_search_for_a_fault() -> None:
    """Inputs in order, then the states as they are before the first call."""
    states = SimpleNamespace(arrays=("first", "second"))
    model = SimpleNamespace(
        signature=SimpleNamespace(bind=lambda given, named: ["bound", *named]),
        new_state=lambda: states,
    )
    search = SimpleNamespace(
        compilation=SimpleNamespace(model=model), inputs={"x": 1, "y": 2}
    )
    (kind,) = (one for one in vars(bisection).values() if hasattr(one, "_arguments"))
    found = vars(kind)["_arguments"](search)
    assert found == ["bound", "x", "y", "first", "second"]
