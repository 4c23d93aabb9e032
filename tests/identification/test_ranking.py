"""Contracts ranked by what they explain of a dump, and dumps that say nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, StringAttr

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import REMARKS
from qlower.frontends.onnx.remarks import TRUNCATED_BIASES
from qlower.model import build
from qlower.model.signature import Array

EXAMPLES = Path(__file__).parents[2] / "examples"
DIGITS = EXAMPLES / "digits" / "digits.mlir"
RESIDUAL = EXAMPLES / "glow-divergence" / "residual.mlir"
IMAGE = EXAMPLES / "digits" / "images" / "3.npy"
FEW = ["tflite", "tosa", "glow-cpu", "pytorch-qnnpack", "onnxruntime"]


def layers_of(model: Path, contract: str) -> dict[str, Array]:
    found: dict[str, Array] = {}
    qlower.interpret(model, np.load(IMAGE), contract=contract, at="qnn", layers=found)
    return found


def test_layers_name_their_contract() -> None:
    dump = layers_of(RESIDUAL, "glow-cpu")
    found = qlower.identify(dump, RESIDUAL, np.load(IMAGE), contracts=FEW)
    assert found.is_found
    assert found.names == ["glow-cpu"]
    outputs = [array.size for name, array in dump.items() if name != "flatten"]
    assert found.best.outputs == sum(outputs)
    assert "glow-cpu explains all of the" in str(found)
    assert "<table>" in found._repr_html_()  # pyright: ignore[reportPrivateUsage]


def test_counts_are_those_of_diff() -> None:
    dump = layers_of(DIGITS, "pow2-shift")
    image = np.load(IMAGE)
    found = qlower.identify(dump, DIGITS, image, contracts=["tflite"], family=False)
    (row,) = found.contracts
    apart = qlower.diff(dump, "tflite", DIGITS, image)
    for layer in apart.layers:
        if layer.name in row.layers:
            explained = row.layers[layer.name]
            assert layer.alone is not None
            missed = explained.outputs - explained.explained
            assert missed == layer.alone.differing
            if explained.miss is not None:
                assert layer.alone.first == (0, explained.miss.index)


def test_a_model_that_may_not_be_the_one_that_was_run() -> None:
    """Its own remarks say so, and no device is made up."""
    model = qlower.load(DIGITS)
    remarks = ArrayAttr([StringAttr(TRUNCATED_BIASES)])
    module = model.module.clone()
    module.attributes[REMARKS] = remarks
    dump = layers_of(DIGITS, "pow2-shift")
    image = np.load(IMAGE)
    found = qlower.identify(dump, qlower.Model(module), image, contracts=["tflite"])
    assert found.device is None
    assert f"the reason may be the model: {TRUNCATED_BIASES}" in str(found)
    assert found.to_dict()["doubt"] == TRUNCATED_BIASES


def test_whole_outputs_carry_what_each_contract_made() -> None:
    images = np.load(EXAMPLES / "digits" / "test_images.npy")[:4].reshape(4, 1, 8, 8, 1)
    outputs = qlower.interpret(DIGITS, images, contract="pow2-shift", at="qnn")
    assert isinstance(outputs, np.ndarray)
    name = qlower.load(DIGITS).outputs[0].name
    tried = ["tflite", "pow2-shift"]
    found = qlower.identify({name: outputs}, DIGITS, images, contracts=tried)
    assert found.names == ["pow2-shift"]
    assert found.runs == 4


def test_the_same_here_is_decided_for_all_inputs() -> None:
    image = np.load(IMAGE)
    dump = layers_of(DIGITS, "tflite")
    dump = {name: dump[name] for name in ("conv1", "pool")}
    tried = ["tflite", "gemmlowp", "tflite-single"]
    found = qlower.identify(dump, DIGITS, image, contracts=tried)
    verdicts = {one.name: one.verdict for one in found.alike}
    assert verdicts == dict.fromkeys(found.same, "equal") | {
        name: "differs" for name, verdict in verdicts.items() if verdict == "differs"
    }
    assert "gemmlowp" in verdicts


def test_a_layer_without_a_rule_is_told() -> None:
    dump = layers_of(DIGITS, "tflite")
    found = qlower.identify(
        dump, DIGITS, np.load(IMAGE), contracts=["pytorch-qnnpack"], family=False
    )
    assert not found.is_found
    refusal = found.best.layers["probabilities"].refusal
    assert refusal is not None
    assert "has no rule softmax_term" in refusal
    assert "no contract explains all" in str(found)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "device.npz"
    np.savez(path, **layers_of(RESIDUAL, "glow-cpu"))
    options = [str(path), str(RESIDUAL), "--input", str(IMAGE), "--json"]
    assert main(["identify", *options, "--contract", "glow-cpu,tflite"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["found"] == "glow-cpu"
    assert [row["contract"] for row in found["contracts"]] == ["glow-cpu", "tflite"]
    options[-1] = "--no-family"
    assert main(["identify", *options, "--contract", "tflite"]) == ExitCode.FOUND
    assert "tflite explains the most" in capsys.readouterr().out
    assert main(["identify", "nobody", *options[1:]]) == ExitCode.USAGE


OUTPUT = "probabilities"


@pytest.mark.parametrize(
    ("dump", "message"),
    [
        ({"nothing": np.zeros(3)}, "none of its arrays"),
        ({OUTPUT: np.zeros((1, 11), np.int8)}, "none of its arrays"),
        ({OUTPUT: np.zeros((1, 10), np.int16)}, "none of its arrays"),
        ({OUTPUT: np.full((1, 10), np.nan, np.float32)}, "none of its arrays"),
    ],
)
def test_dumps_that_say_nothing(dump: dict[str, Array], message: str) -> None:
    with pytest.raises(QlowerError, match=message):
        qlower.identify(dump, DIGITS, np.load(IMAGE), contracts=["tflite"])


def test_a_model_without_arithmetic() -> None:
    flat = build.quantized([6], 0.5)
    given = build.quantized([2, 3], 0.5)
    model = build.make_model([given], lambda x: [qnn.ReshapeOp(x, flat).result])
    x = np.arange(6, dtype=np.int8)
    with pytest.raises(QlowerError, match="no result that a contract"):
        qlower.identify({model.outputs[0].name: x}, model, x.reshape(2, 3))


def test_pickles_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evil.npy"
    np.save(path, np.array([{"a": 1}], object), allow_pickle=True)
    options = [str(path), str(DIGITS), "--input", str(IMAGE)]
    assert main(["identify", *options]) == ExitCode.WRONG_INPUT
    assert str(path) in capsys.readouterr().err
