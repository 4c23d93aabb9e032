"""Settings of the systems that outputs are held against."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

references: Any = import_module("qlower.validation.references")


class Options:
    """Options of a session as they are set."""

    def __init__(self) -> None:
        self.entries: dict[str, str] = {}

    def add_session_config_entry(self, name: str, value: str) -> None:
        self.entries[name] = value


class Session:
    """A session that doubles its input."""

    made: list[tuple[str, Any, list[str]]]

    def __init__(self, path: str, options: Any, providers: list[str]) -> None:
        if path.endswith("bad.onnx"):
            raise RuntimeError("no graph")
        self.made.append((path, options, providers))

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name="x", shape=[1, 2], type="tensor(int8)")]

    def get_outputs(self) -> list[Any]:
        return [
            SimpleNamespace(name="y", shape=[1, 2], type="tensor(int8)"),
            SimpleNamespace(name="z", shape=[3], type="tensor(float)"),
        ]

    def run(self, names: Any, feed: dict[str, Any]) -> list[Any]:
        assert names is None
        return [2 * feed["x"], feed["x"]]


def test_onnx_runtime_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(SessionOptions=Options, InferenceSession=Session)
    Session.made = []
    asked: list[tuple[str, str]] = []

    def imported(name: str, extra: str) -> Any:
        asked.append((name, extra))
        return module

    monkeypatch.setattr(references, "_import", imported)
    session = vars(references)["_OnnxRuntime"](Path("m.onnx"))
    assert asked == [("onnxruntime", "peers")]
    ((path, options, providers),) = Session.made
    assert (path, providers) == ("m.onnx", ["CPUExecutionProvider"])
    assert options.intra_op_num_threads == 1
    assert options.entries == {"session.qdqisint8allowed": "1"}
    assert [spec.name for spec in session.inputs] == ["x"]
    assert (session.output.name, session.output.dtype) == ("y", "int8")
    found = session.run([np.array([[3, -4]], np.int8)])
    assert found.tolist() == [[6, -8]]
    with pytest.raises(Exception, match=r"ONNX Runtime can't run bad\.onnx: no graph"):
        vars(references)["_OnnxRuntime"](Path("bad.onnx"))
