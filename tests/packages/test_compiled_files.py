"""Texts, files and memory of a package, whose code stands in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from qlower.codegen.program.interface import Interface
from qlower.codegen.targets.resolve import resolve_target
from qlower.diagnostics import QlowerError
from qlower.model.signature import Signature, TensorSpec
from qlower.packages import compiled
from qlower.packages.compiled import EMITTED, Compiled, check_emitted, check_shared

LINUX = resolve_target("x86_64-linux-gnu", "x86-64")
BARE = resolve_target("thumbv7em-none-eabi", "cortex-m4")
SOURCE = resolve_target("c99-none")
WASM = resolve_target("wasm32-none", None, "+simd128")
SIGNATURE = Signature(
    (TensorSpec("x", (2,), "int8"),), (TensorSpec("y", (1,), "int8"),)
)


def level(target: Any = LINUX, **given: Any) -> Any:
    """A compilation, as far as a package asks."""
    return SimpleNamespace(target=target, **given)


INTERFACE = Interface(
    *("toy", SIGNATURE, 64, 64, "tflite", "0" * 64, "c99-none"), ("c99",)
)


def package(*levels: Any, others: tuple[Interface, ...] = ()) -> Compiled:
    code: Any = SimpleNamespace(
        llvm_text="llvm", assembly=lambda: "asm", object_bytes=b"bytes"
    )
    return Compiled(INTERFACE, levels, code, "toy", "", others)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ((level(SOURCE), level(SOURCE)), "C source has one level"),
        ((level(BARE.optimized("ram")),), "--optimize ram relies on the order of"),
    ],
)
def test_c_source_that_there_is_not(levels: Any, message: str) -> None:
    with pytest.raises(QlowerError, match=message):
        package(*levels).text("c")


def test_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "exact_module", lambda module: f"text of {module}")
    found = package(level(LINUX, arith="arith"), level(arith="other"))
    assert found.text("mlir") == "text of arith"
    assert (found.text("llvm"), found.text("asm")) == ("llvm", "asm")
    assert "int main(" in found.text("c-example")
    assert "TOY_ARENA_BYTES 64" in found.text("header")
    both = package(level(), others=(replace(INTERFACE, name="other"),)).text("header")
    assert both.index("#ifndef TOY_H") < both.index("#ifndef OTHER_H")
    with pytest.raises(QlowerError, match="there is no text form 'obj'"):
        found.text("obj")


def test_the_least_saturated_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a few inputs, computed by code for this machine."""
    rooms = {seed: -abs(index - 1) for index, seed in enumerate(compiled.SEEDS)}
    best = [*rooms][1]
    monkeypatch.setattr(compiled, "drawn_inputs", lambda specs, seed: [seed])
    monkeypatch.setattr(compiled, "room", lambda outputs: rooms[outputs[0]])
    monkeypatch.setattr(compiled, "digest", lambda outputs: 100 + outputs[0])
    monkeypatch.setattr(compiled, "self_test_text", lambda *given: given)
    run = SimpleNamespace(run=lambda inputs, named: (inputs, {}))
    one = level(for_target=lambda target: SimpleNamespace(function=lambda: run))
    assert package(one, level()).text("selftest") == (INTERFACE, best, 100 + best)


def test_files(tmp_path: Path) -> None:
    """In the order in which they are asked for; C source brings its header."""
    found = package(level())
    assert found.write(tmp_path, ["obj", "asm", "header"]) == [
        "toy.o",
        "toy.s",
        "toy.h",
    ]
    assert (tmp_path / "toy.o").read_bytes() == b"bytes"
    assert (tmp_path / "toy.s").read_text() == "asm"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compiled, "text", lambda self, kind: kind)
        assert found.write(tmp_path, ["c"]) == ["toy.c", "toy.h"]
        assert found.write(tmp_path, ["header", "c"]) == ["toy.h", "toy.c"]
    several = package(level(), others=(INTERFACE,))
    with pytest.raises(QlowerError, match="--emit c is for inputs of one shape"):
        several.write(tmp_path, ["obj", "c"])
    with pytest.raises(QlowerError, match="cannot emit wasm for x86_64-linux-gnu"):
        found.write(tmp_path, ["wasm"])


@pytest.mark.parametrize(
    ("bytes_", "is_known"), [(0, True), (200, True), (None, False)]
)
def test_the_stack_of_a_module(
    bytes_: int | None, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = SimpleNamespace(stack=SimpleNamespace(bytes=bytes_))
    monkeypatch.setattr(Compiled, "memory", lambda self: memory)
    monkeypatch.setattr(compiled, "linked_module", lambda *given: given)
    found = vars(Compiled)["_module"]
    one = package(level(WASM))
    if is_known:
        assert found(one) == (b"bytes", INTERFACE, bytes_)
    else:
        with pytest.raises(QlowerError, match="the depth of the stack isn't known"):
            found(one)


@pytest.mark.parametrize("with_stack", [True, False])
def test_memory(with_stack: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the shape with the largest arena; of source, of its interface alone."""
    monkeypatch.setattr(compiled, "memory_use", lambda *given: given)
    larger = replace(INTERFACE, arena_bytes=500)
    found: Any = package(level(), others=(larger, replace(INTERFACE, arena_bytes=70)))
    assembly = "asm" if with_stack else None
    assert found.memory(with_stack=with_stack) == (larger, b"bytes", assembly)
    source: Any = package(level(SOURCE))
    assert source.memory(with_stack=with_stack) == (INTERFACE, None, None)


def test_what_is_emitted() -> None:
    check_emitted([*EMITTED])
    check_emitted(["c"], "zephyr")
    check_shared(["obj", "header", "shared", "asm", "llvm"])
    for emit, package_, message in (
        ([], None, "nothing to emit; choose from obj, header"),
        (["obj"], "zephyr", "--package is made of C source"),
        (["objs"], None, "cannot emit"),
    ):
        with pytest.raises(QlowerError, match=message):
            check_emitted(emit, package_)
    for kind in ("mlir", "c-example", "selftest", "wasm"):
        with pytest.raises(QlowerError, match=f"--emit {kind} is for inputs of one"):
            check_shared(["obj", kind])


def test_how_a_package_is_shown() -> None:
    found = package(level())
    assert repr(found) == f"<Compiled {INTERFACE.summary}, 5 bytes of object file>"
    assert repr(package(level(SOURCE))) == f"<Compiled {INTERFACE.summary}>"
    assert found.interfaces == (INTERFACE,)
