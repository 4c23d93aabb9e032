"""What the functions of the Python interface pass on, without compiling anything."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower import api
from qlower.codegen.program.flavour import Flavour
from qlower.codegen.targets.resolve import resolve_target
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import ImportOptions
from qlower.model import Model
from qlower.model.signature import TensorSpec
from qlower.packages import compiled
from qlower.runtime import by_shape, library

LAYERS = {"pool*": "tflite"}
SPEC = TensorSpec("x", (1, 2), "int8", (1.0,), (0,))


class Recorder:
    """A compilation: what it was made of, and what is asked of it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self.given, self.named = given, named
        self.model = SimpleNamespace(inputs=(SPEC,))
        self.arith = ("arith", given, named)

    def function(self) -> Any:
        return "function", self.given, self.named

    def for_target(self, level: Any) -> Any:
        return self.named, level

    def interpreter(self, at: str) -> Any:
        def run(inputs: Any, named: Any, state: Any) -> Any:
            made = at, self.given, self.named, inputs, named, state
            return [made], {"layer": at}

        return SimpleNamespace(run=run)


@pytest.fixture(autouse=True)
def _recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "Compilation", Recorder)


def given(function: Any, *words: Any, **named: Any) -> Any:
    return function(*words, **named)


@pytest.mark.parametrize("layers", [None, {}, LAYERS])
def test_a_model_is_lowered_by_its_contracts(layers: Any) -> None:
    assert given(api.lower, "m", "exact", layer_contracts=layers) == (
        *("arith", ("m", "exact")),
        {"layer_contracts": layers or {}},
    )
    assert given(api.lower, "m")[1] == ("m", None)


@pytest.mark.parametrize("layers", [None, {}, LAYERS])
@pytest.mark.parametrize("recorded", [None, {"old": 1}])
@pytest.mark.parametrize("at", [None, "qnn", "kernel"])
def test_a_model_is_interpreted(layers: Any, recorded: Any, at: Any) -> None:
    """At a level; the results of layers are added to those that are there."""
    kept = None if recorded is None else dict(recorded)
    more = {} if at is None else {"at": at}
    found = given(
        *(api.interpret, "m", 1, 2),
        **{"contract": "exact", "layers": kept, "layer_contracts": layers},
        **{"state": "state", "z": 3, **more},
    )
    level = at or "arith"
    options = {"with_layers": recorded is not None, "layer_contracts": layers or {}}
    assert found == (*(level, ("m", "exact"), options, (1, 2), {"z": 3}, "state"),)
    assert kept == (None if recorded is None else {"old": 1, "layer": level})
    assert given(api.interpret, "m") == (
        *("arith", ("m", None), {"with_layers": False, "layer_contracts": {}}),
        *((), {}, None),
    )


def test_a_model_is_compiled_for_this_machine() -> None:
    host = resolve_target(None, None, None)
    plain = ("m", None, host, Flavour(1, False), False, False, {})
    assert given(api.jit, "m") == ("function", plain, {})
    changes: dict[str, tuple[Any, int, Any]] = {
        "contract": ("exact", 1, "exact"),
        "features": ("", 2, resolve_target(None, None, "")),
        "threads": (3, 3, Flavour(3, False)),
        "profile": (True, 3, Flavour(1, True)),
        "tune": (True, 4, True),
        "with_layers": (True, 5, True),
        "layer_contracts": (LAYERS, 6, LAYERS),
    }
    for name, (value, place, wanted) in changes.items():
        expected = [*plain]
        expected[place] = wanted
        assert given(api.jit, "m", **{name: value})[1] == tuple(expected)


def test_processors_are_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "resolve_target", lambda *words: words)
    for function in (api.jit, api.jit_by_shape, api.bisect):
        asked: list[Any] = []
        monkeypatch.setattr(
            api, "resolve_target", lambda *words, asked=asked: asked.append(words)
        )
        monkeypatch.setattr(api, "assign_inputs", lambda *_: [])
        monkeypatch.setattr(
            api, "ordered_input_set", lambda *_: SimpleNamespace(runs=[])
        )
        given(function, "m", cpu="cpu", features="+f")
        assert asked == [(None, "cpu", "+f")]


@pytest.mark.parametrize("most", [-1, 0])
def test_some_function_stays_loaded(most: int) -> None:
    with pytest.raises(QlowerError) as caught:
        api.jit_by_shape("m.onnx", most=most)
    assert caught.value.message == (f"most is {most}, at least 1 function stays loaded")


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is asked about files; they are read as `x86` unless something is said."""
    from qlower.frontends import load

    asked: list[Any] = []
    monkeypatch.setattr(
        load,
        "reading_by",
        lambda *words: (asked.append(words), SimpleNamespace(qdq="x86"))[1],
    )
    monkeypatch.setattr(
        load,
        "as_read",
        lambda path, reading: SimpleNamespace(inputs=(path, reading)),
    )
    return asked


@pytest.mark.parametrize("layers", [None, LAYERS])
@pytest.mark.parametrize("qdq", [None, "as-written"])
def test_a_function_for_each_shape(
    layers: Any, qdq: str | None, files: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_shape, "FunctionByShape", lambda *words: words)
    make, inputs, most = given(
        *(api.jit_by_shape, "m.onnx", "exact"),
        **{"threads": 2, "layer_contracts": layers, "qdq": qdq, "most": 1},
    )
    assert most == 1
    read = qdq or "x86"
    name, words, options = make({"x": (1, 2)})
    host = resolve_target(None, None, None)
    assert (name, words) == ("function", ("m.onnx", "exact", host, Flavour(2)))
    assert options == {
        "layer_contracts": layers or {},
        "reading": ImportOptions.of({"x": (1, 2)}, (), read),
    }
    assert inputs() == ("m.onnx", ImportOptions.of({}, (), read))
    assert files == [("m.onnx", ["exact"])] * 2
    _, inputs, most = given(api.jit_by_shape, "m.onnx")
    inputs()
    assert (files[-1], most) == (("m.onnx", []), 32)


def test_shapes_are_those_of_a_file() -> None:
    model = object.__new__(Model)
    with pytest.raises(QlowerError) as caught:
        api.compile(model, shapes=[{"x": (1, 2)}])
    assert caught.value.message == (
        "shapes are for a model's file: this one is read already"
    )


def test_a_package_has_levels_and_shapes(
    files: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "compile_shapes", lambda *words: words)

    class Level:
        def __init__(self, *words: Any) -> None:
            self.words = words

        def optimized(self, how: str) -> Any:
            return *self.words, how

    monkeypatch.setattr(
        api, "resolve_levels", lambda *words: {"a": Level("a", *words), "b": Level("b")}
    )
    host = ("host", None, None)
    found = given(api.compile, "m")
    plain = {"tuned": False, "layer_contracts": {}, "reading": None}
    assert found == (
        [{"a": (plain, ("a", *host, "speed")), "b": (plain, ("b", "speed"))}],
        *(None, ""),
    )
    found = given(
        *(api.compile, "m", "t", ["c"], "+f", "exact"),
        **{"name": "n", "tune": True, "layer_contracts": LAYERS, "optimize": "ram"},
        **{"weights_section": "s", "shapes": [{"x": (1, 2)}, {"x": (3, 4)}]},
    )
    first, second = found[0]
    for one, shape in ((first, (1, 2)), (second, (3, 4))):
        reading = ImportOptions.of({"x": shape}, (), "x86")
        options = {"tuned": True, "layer_contracts": LAYERS, "reading": reading}
        assert one == {
            "a": (options, ("a", "t", ["c"], "+f", "ram")),
            "b": (options, ("b", "ram")),
        }
    assert found[1:] == ("n", "s")
    assert files == [("m", ["exact"])] * 2


@pytest.mark.parametrize("faults", [[], [None, None], [None, "x", "y"]])
def test_the_first_fault_of_a_set_is_shown(
    faults: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from qlower.compilation import bisection

    seen: list[Any] = []

    def search(compilation: Recorder, run: int) -> Any:
        seen.append((compilation.given, compilation.named, run))
        return faults[run]

    monkeypatch.setattr(bisection, "bisect", search)
    monkeypatch.setattr(api, "assign_inputs", lambda *words: words)
    monkeypatch.setattr(
        api,
        "ordered_input_set",
        lambda specs, arrays: (
            SimpleNamespace(runs=range(len(faults)))
            if (specs, arrays) == ((SPEC,), ((SPEC,), (1,), {"z": 2}))
            else None
        ),
    )
    found = given(api.bisect, "m", 1, contract="exact", layer_contracts=LAYERS, z=2)
    known = [fault for fault in faults if fault is not None]
    assert found == bisection.Bisection(known[0] if known else None)
    host = resolve_target(None, None, None)
    made = ("m", "exact", host), {"layer_contracts": LAYERS}
    assert seen == [(*made, run) for run in range(min(2, len(faults)))]


def test_a_saved_folder_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "load_library", lambda *words: words)
    assert given(api.load_compiled, "folder") == (Path("folder"), None)
    assert given(api.load_compiled, Path("f"), "e") == (Path("f"), "e")


def test_contracts_are_listed() -> None:
    names = [row.name for row in api.list_contracts().table.rows]
    assert {"exact", "tflite"} <= {*names}
    assert np.unique(names).size == len(names)
