"""What is in the name of an entry: the compiler's text, and the environment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.layers.custom_contracts import ADDING
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower import contracts
from qlower.kept.cache import DIRECTORY, cache_folder
from qlower.runtime import objects
from qlower.text.parsing import parse_module

TEXT_THAT_COUNTS = (
    *("api.py", "codegen/a.py", "codegen/values/b.py", "codegen/team.ll"),
    *("contracts/tflite.mlir", "contracts/values.py", "runtime/objects.py"),
)

OTHER_TEXT = (
    *("cli/run.py", "bench/peers/a.py", "report/a.py", "contracts/pages/a.md"),
    *("codegen/a.pyc", "../other/a.py", "../a.py"),
)


def test_every_file_of_the_compiler_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """And no other; the place of the package doesn't."""

    def key() -> bytes:
        objects.own_code.cache_clear()
        return objects.own_code()

    keys = {b"": "the compiler as it is", key(): "the compiler as it is"}
    for folder in ("one", "two"):
        root = tmp_path / folder / "qlower"
        for name in (*TEXT_THAT_COUNTS, *OTHER_TEXT):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("a")
        monkeypatch.setattr(objects, "__file__", f"{root}/runtime/objects.py")
        keys.setdefault(key(), "a package")
        for name in TEXT_THAT_COUNTS:
            (root / name).write_text("b")
            assert keys.setdefault(key(), name) == name
            (root / name).write_text("a")
        for name in OTHER_TEXT:
            (root / name).write_text("b")
            assert keys[key()] == "a package"
    assert len(keys) == 3 + len(TEXT_THAT_COUNTS)
    objects.own_code.cache_clear()


@pytest.mark.parts(5)
def test_where_other_packages_have_contracts_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The old file is there still, and a package names another one."""
    monkeypatch.setenv(DIRECTORY, str(tmp_path / "cache"))
    model = tmp_path / "model.mlir"
    model.write_text(SMALL_MODEL)
    results: list[object] = []
    for number in (1, 2):
        file = tmp_path / str(number) / "npu.mlir"
        file.parent.mkdir()
        file.write_text(ADDING.format(base="onnxruntime", added=5 * number))
        for module in (contracts, objects):
            monkeypatch.setattr(module, "plugin_contracts", lambda f=file: {"npu": f})
        function = qlower.jit(model, "npu")
        image = function.inputs[0].quantize([[[[0.5], [0.1]], [[0.2], [0.3]]]])
        results.append(function(image).tolist())
        assert results[-1] == qlower.interpret(model, image, contract="npu").tolist()
    assert results[0] != results[1]


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({DIRECTORY: "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/c"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/qlower"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/qlower"),
        ({"HOME": "/h"}, "/h/.cache/qlower"),
        ({DIRECTORY: "", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, None),
    ],
)
def test_the_folder(
    variables: dict[str, str], folder: str | None, monkeypatch: pytest.MonkeyPatch
):
    for name in (DIRECTORY, "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == (None if folder is None else Path(folder))


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch):
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv(DIRECTORY, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert cache_folder() is None


def test_models_in_memory_are_told_apart_by_their_weights() -> None:
    x = np.array([-128, -64, 127, 5], np.int8).reshape(1, 2, 2, 1)
    found = [
        qlower.jit(qlower.Model(parse_module(text, "model.mlir")))(x).tolist()
        for text in (SMALL_MODEL, SMALL_MODEL.replace("50, 0", "99, 0"))
    ]
    assert found == [[[129, 127, 130]], [[129, 127, 131]]]
