"""Recurrent layers with real weights, of exported programs and of FX modules."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.pt2_builder import Pt2Builder
from support.machines.vnni import needs_vnni

import qlower
from qlower.diagnostics import QlowerError

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn

pytestmark = pytest.mark.filterwarnings("ignore")

LAST_BITS = 1e-6

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-45, 3e38, -3e38)

TWO_WAYS = {"num_layers": 2, "bidirectional": True, "batch_first": True}
CASES = [
    ("RNN", {}),
    ("RNN", {"nonlinearity": "relu", **TWO_WAYS}),
    ("GRU", {"bias": False}),
    ("GRU", TWO_WAYS),
    ("LSTM", {"bias": False}),
    ("LSTM", TWO_WAYS),
]


class States(nn.Module):
    """A layer that starts from states of its input, and returns the last ones."""

    def __init__(self, kind: str, **options: Any) -> None:
        super().__init__()
        self.layer = getattr(nn, kind)(5, 5, **options)
        directions = 1 + options.get("bidirectional", False)
        self.count = directions * options.get("num_layers", 1)

    def forward(self, x: Any) -> Any:
        first = x[:1] if not self.layer.batch_first else x[:, :1].transpose(0, 1)
        state = first.repeat(self.count, 1, 1)
        if isinstance(self.layer, nn.LSTM):
            steps, (state, cell) = self.layer(x, (state, -state))
            return steps, state, cell
        return self.layer(x, state)


@needs_vnni
@pytest.mark.parts(2)
@pytest.mark.parametrize(("kind", "options"), CASES)
def test_exported_layers(kind: str, options: dict[str, Any]) -> None:
    """Last bits differ: an LSTM's functions are oneDNN's, tanh and long sums MKL's."""
    torch.manual_seed(3)
    module = States(kind, **options).eval()
    x = torch.randn(4, 3, 5) * torch.tensor([0.1, 1.0, 20.0]).reshape(3, 1)
    program = torch.export.export(module, (x,))
    model = qlower.from_torch(program)
    found = qlower.jit(model)(x.numpy())
    inner = qlower.interpret(model, x.numpy(), at="qnn")
    with torch.no_grad():
        expected = [one.numpy() for one in module(x)]
    for one, other, same in zip(found, expected, inner, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        assert one.tobytes() == same.tobytes()
        assert np.abs(one - other).max() < LAST_BITS


@pytest.mark.parts(2)
@pytest.mark.parametrize(("kind", "options"), CASES)
def test_special_values(kind: str, options: dict[str, Any]) -> None:
    """Each row has a value that isn't normal, in the first state or in a later step."""
    torch.manual_seed(3)
    module = States(kind, **options).eval()
    x = torch.randn(4, 2 * len(SPECIAL), 5)
    for row, value in enumerate(SPECIAL):
        x[0, row, 1] = x[2, len(SPECIAL) + row] = value
    if options.get("batch_first"):
        x = x.transpose(0, 1).contiguous()
    model = qlower.from_torch(torch.export.export(module, (x,)))
    found = qlower.jit(model)(x.numpy())
    inner = qlower.interpret(model, x.numpy(), at="qnn")
    with torch.no_grad():
        expected = [one.numpy() for one in module(x)]
    for one, other, same in zip(found, expected, inner, strict=True):
        np.testing.assert_array_equal(one, same)
        np.testing.assert_allclose(one, other, LAST_BITS, LAST_BITS)
        numbers = ~np.isnan(other)
        assert (np.signbit(one) == np.signbit(other))[numbers].all()


def test_a_layer_between_quantized_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A remark says that its sums and tanh aren't those of PyTorch's libraries."""
    torch.manual_seed(3)

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(5, 5), nn.Linear(5, 2)
            self.recurrent = nn.GRU(5, 5, batch_first=True)

        def forward(self, x: Any) -> Any:
            return self.last(self.recurrent(self.first(x))[0])

    monkeypatch.setattr(torch.backends.quantized, "engine", "fbgemm")
    fx: Any = import_module("torch.ao.quantization.quantize_fx")
    mapping = torch.ao.quantization.get_default_qconfig_mapping("fbgemm")
    mapping = mapping.set_object_type(nn.GRU, None)
    x = torch.randn(2, 6, 5)
    prepared = fx.prepare_fx(Network().eval(), mapping, (x,))
    prepared(x)
    module = fx.convert_fx(prepared)
    model = qlower.from_fx(module, x)
    assert any("gru" in remark for remark in model.remarks)
    assert (qlower.jit(model)(x.numpy()) == module(x).numpy()).all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"count": 1}, "5 parameters of 1 layers; expected 4 of each direction"),
        ({"layers": 0}, "num_layers 0 is out of range"),
        ({"train": True}, "train True is not supported; expected False"),
        ({"x": (2, 5)}, r"an input of shape \[2, 5\] with weights of shapes"),
        ({"state": (20, 4)}, r"weights of shapes \[20, 5\] and \[20, 4\]"),
        ({"hx": [(1, 1, 5)]}, "1 initial states; expected 2"),
        ({"hx": [(1, 5)] * 2}, r"has shape \[1, 5\]; expected \[1, 1, 5\]"),
        ({"hx": [(1, 2, 5)] * 2}, r"has shape \[1, 2, 5\]; expected \[1, 1, 5\]"),
        ({"hx": [(5, 1, 5)] * 2}, r"has shape \[5, 1, 5\]; expected \[1, 1, 5\]"),
        (
            {"hx": [(1, 1, 5), (2, 1, 5)]},
            r"has shape \[2, 1, 5\]; expected \[1, 1, 5\]",
        ),
    ],
)
def test_refused_layers(given: dict[str, Any], words: str, tmp_path: Path) -> None:
    build = Pt2Builder()
    x = build.input("x", given.get("x", (2, 1, 5)))
    shapes = (20, 5), given.get("state", (20, 5)), (20,), (20,)
    params = [
        build.constant(np.zeros(shape, np.float32))
        for shape in (*shapes, *[(20,)] * given.get("count", 0))
    ]
    hx = [build.constant(np.zeros(shape, np.float32)) for shape in given.get("hx", [])]
    flags = {"has_biases": True, "train": given.get("train", False)}
    flags |= {"num_layers": given.get("layers", 1)}
    flags |= {"dropout": 0.0, "bidirectional": False, "batch_first": False}
    build.output(
        build.call("aten.lstm.input", 3, input=x, hx=hx or None, params=params, **flags)
    )
    with pytest.raises(QlowerError, match=words):
        qlower.load(build.save(tmp_path / "model.pt2"))
