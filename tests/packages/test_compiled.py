"""What a package is made of and refuses, by models and code that stand in."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from qlower.codegen.targets.resolve import resolve_target
from qlower.diagnostics import QlowerError
from qlower.model.signature import Signature, StateSpec, TensorSpec
from qlower.packages import compiled
from qlower.packages.compiled import (
    Compiled,
    compile_shapes,
)

inner: Any = vars(import_module("qlower.packages.compiled"))

LINUX = resolve_target("x86_64-linux-gnu", "x86-64")
SOURCE = resolve_target("c99-none")
WASM = resolve_target("wasm32-none", None, "+simd128")


def signature(
    *shapes: tuple[int, ...], states: tuple[StateSpec, ...] = ()
) -> Signature:
    inputs = tuple(TensorSpec(f"x{n}", one, "int8") for n, one in enumerate(shapes))
    return Signature(inputs, (TensorSpec("y", (1,), "int8"),), states)


def level(target: Any = LINUX, arena: int = 0, **given: Any) -> Any:
    """A compilation whose kernels are in an arena of this many bytes."""
    kernels = SimpleNamespace(arena=arena)
    ports = given.pop("ports", signature((2,)))
    model = SimpleNamespace(
        path=given.pop("path", Path("a/my-model.tflite")), signature=ports, module="m"
    )
    fields = {
        **{"contract": "tflite", "layer_contracts": {}, "observers": ()},
        **{"parts": None, "kernels": kernels, "target": target, "model": model},
        **{"signature": ports},
    }
    return SimpleNamespace(**fields | given)


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, found in {
        "main_function": lambda module: module,
        "arena_bytes": lambda function: function.arena,
        "arena_offsets": lambda function, name: (function.arena, len(name)),
        "_sha256": lambda model: "ab" * 32,
        "module_contract": lambda module: None,
    }.items():
        monkeypatch.setattr(compiled, name, found)


COUNT = StateSpec("count", (3,), "int8", initial=b"\1\2\3")


@pytest.mark.parametrize(
    ("arenas", "states", "wanted"),
    [
        ((100, 300), (), 300),
        ((300, 100), (), 300),
        ((0,), (), 64),
        ((65,), (), 65),
        ((100,), (COUNT,), 104 + 8),
        ((104,), (COUNT,), 104 + 8),
        ((10,), (COUNT, COUNT), 64),
    ],
)
def test_arenas(
    arenas: tuple[int, ...], states: tuple[StateSpec, ...], wanted: int
) -> None:
    """The largest of all levels, with states at multiples of 8 behind it."""
    ports = signature((2,), states=states)
    levels = {f"l{n}": level(arena=one, ports=ports) for n, one in enumerate(arenas)}
    found = inner["_interface"]("toy", levels)
    assert (found.arena_bytes, found.arena_alignment) == (wanted, 64)
    assert found.levels == tuple(levels)
    assert found.arena_inputs == (arenas[0], len("kernel.arena_inputs"))
    assert found.arena_outputs == (arenas[0], len("kernel.arena_outputs"))
    assert (found.name, found.signature, found.target) == ("toy", ports, LINUX.triple)
    assert found.model_sha256 == "ab" * 32


@pytest.mark.parametrize(
    ("contract", "of_module", "of_layers", "wanted"),
    [
        ("tflite", "tflm", {}, "tflite"),
        (None, "tflm", {}, "tflm"),
        (None, None, {}, "none"),
        ("tflite", None, {"a": "gemmlowp", "b": "tflite", "c": "gemmlowp"}, None),
    ],
)
def test_contracts(
    contract: str | None,
    of_module: str | None,
    of_layers: dict[str, str],
    wanted: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The model's, and each other one once."""
    monkeypatch.setattr(compiled, "module_contract", lambda module: of_module)
    one = level(contract=contract, layer_contracts=of_layers)
    found = inner["_interface"]("toy", {"l": one}).contract
    assert found == (wanted or "tflite, gemmlowp")


@pytest.mark.parametrize(
    ("shapes", "labels"),
    [
        ([((1, 16),)], [""]),
        ([((1, 16),), ((1, 64),)], ["_1x16", "_1x64"]),
        ([((1, 16), (3,)), ((1, 64), (3,))], ["_1x16", "_1x64"]),
        ([((2,), (2,)), ((4,), (4,))], ["_2", "_4"]),
        ([((2,), (3,)), ((4,), (3,)), ((2,), (5,))], ["_2_3", "_4_3", "_2_5"]),
    ],
)
def test_names_of_shapes(shapes: list[Any], labels: list[str]) -> None:
    """Sizes that differ, each once."""
    assert inner["_labels"]([signature(*one) for one in shapes]) == labels


def test_shapes_that_are_given_twice() -> None:
    with pytest.raises(QlowerError, match="the same shapes of inputs are given twice"):
        inner["_labels"]([signature((2,)), signature((4,)), signature((2,))])


@pytest.mark.parametrize("section", ["", ".flash", "_x9.y"])
def test_sections(section: str) -> None:
    assert inner["_check_section"](section, LINUX) is None
    if section:
        with pytest.raises(QlowerError, match="wasm32-none has no sections"):
            inner["_check_section"](section, WASM)


@pytest.mark.parametrize("section", ["9x", "a b", "ä", ".a-b", '"'])
def test_what_is_no_section(section: str) -> None:
    with pytest.raises(QlowerError) as caught:
        inner["_check_section"](section, LINUX)
    assert caught.value.message == (
        f"{section!r} is no name of a section: expected letters, digits, _ and dots"
    )


def made(*shapes: dict[str, Any], name: str | None = None) -> tuple[Compiled, Any]:
    """What is compiled, and what the code generator was given."""
    given: list[Any] = []

    def generate(models: Any, section: str, listed: str | None) -> str:
        given.append((models, section, listed))
        return "object"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "generate_package", generate)
        return compile_shapes(shapes, name, ".w"), given


def test_one_shape() -> None:
    """Named after the model's file, or as the caller says."""
    one, other = level(), level()
    found, given = made({"a": one, "b": other})
    assert found.interface.name == found.name == "my_model"
    assert (found.levels, found.object) == ((one, other), "object")
    assert (found.others, found.weights_section) == ((), ".w")
    code = [(one.kernels, LINUX), (other.kernels, LINUX)]
    assert given == [([(found.interface, code)], ".w", None)]
    assert made({"a": one}, name="toy")[0].interface.name == "toy"
    assert made({"a": level(path=None)})[0].name == "model"
    with pytest.raises(QlowerError):
        made({"a": one}, name="no name")


def test_several_shapes() -> None:
    small, large = (level(ports=signature((1, n)), arena=100 * n) for n in (1, 3))
    found, given = made({"a": small}, {"a": large}, name="toy")
    assert [one.name for one in found.interfaces] == ["toy_1x1", "toy_1x3"]
    assert found.levels == (small,)
    assert found.others == (found.interfaces[1],)
    ((models, _, listed),) = given
    assert listed == "toy"
    assert [interface for interface, _ in models] == [*found.interfaces]


def test_source_has_no_object() -> None:
    """As much memory is known as its interface says; observers see it."""
    seen: list[Any] = []
    observer = SimpleNamespace(
        generated=lambda code, seconds: seen.append((code, seconds))
    )
    found, given = made({"a": level(SOURCE, arena=100, observers=(observer,))})
    assert given == []
    ((code, seconds),) = seen
    assert code is found.object
    assert (found.object.objects, found.object.arena_bytes) == ((), 100)
    assert 0 <= seconds < 60
    shapes = [{"a": level(SOURCE, ports=signature((n,)))} for n in (1, 2)]
    with pytest.raises(QlowerError, match="C source is for inputs of one shape"):
        made(*shapes)
