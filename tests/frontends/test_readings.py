"""A contract that is named stands for how its system reads an ONNX file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.formats.onnx_builder import OnnxBuilder
from support.systems.openvino_networks import two_pairs
from xdsl.dialects.builtin import StringAttr

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import QDQ
from qlower.frontends.readings import reading_of

PAIR = ("onnxruntime", "onnxruntime-avx2")
WAKE = models_directory() / "vww_qdq_onnx" / "model.onnx"
DEFAULT = "stands for its default session on x86-64, which reads it differently"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A product of int8 activations, whose pairs saturate where they become uint8."""
    build = OnnxBuilder()
    build.input("x", (1, 4))
    weights = build.constant(np.full((4, 2), 127, np.int8))
    operands = [build.pair("x", 0.1, -128, "i1")]
    operands.append(build.dequantize(weights, 0.1, 0, "i1"))
    build.output(build.pair(build.node("MatMul", operands), 20.0, 5, "i1"))
    return build.save(tmp_path / "model.onnx")


@pytest.mark.parts(5)
def test_contracts_state_readings(tmp_path: Path) -> None:
    assert reading_of([]) == "integer"
    assert reading_of(["onnxruntime"]) == reading_of(PAIR) == "x86"
    assert reading_of(["onnx-reference"]) == "as-written"
    assert reading_of(["onnxruntime", "tflite"]) == "integer"
    assert reading_of(["esp-dl-p4", "vitis-dpu", "gemmini"]) == "device"
    heir = tmp_path / "heir.mlir"
    heir.write_text('module attributes {contract.base = "onnxruntime"} {}')
    assert reading_of([str(heir)]) == "x86"


@pytest.mark.parts(5)
def test_a_contract_reads_a_file_as_its_system_does(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for contract, reading in ((PAIR[1], "x86"), ("tflite", "integer")):
        module = Compilation(path, contract).model.module
        assert module.attributes[QDQ] == StringAttr(reading)
    assert not caplog.messages
    (verdict,) = (
        row
        for row in qlower.verify(path, equal=PAIR).layers
        if row.kind in ("linear", "conv2d")
    )
    assert verdict.verdict == "differs"
    qlower.diff(*PAIR, path, random=1)
    assert not caplog.messages
    qlower.verify(qlower.load(path), equal=PAIR)
    assert any(DEFAULT in message for message in caplog.messages)


@pytest.mark.parametrize("shared", [False, True])
def test_outputs_that_a_system_dequantizes_differently(
    shared: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = two_pairs("Flatten", tmp_path / "model.onnx", shared=shared)
    assert Compilation(path, "mnn").model
    assert not caplog.messages
    assert Compilation(path, "openvino-avx2").model
    assert len(caplog.messages) == shared
    assert all("two DequantizeLinear: 'y'" in message for message in caplog.messages)


def test_commands(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["verify", str(path), "--equal", *PAIR]
    assert main(words) == ExitCode.FOUND
    assert DEFAULT not in capsys.readouterr().err
    assert main([*words, "--qdq", "integer"]) == 0
    assert DEFAULT in capsys.readouterr().err
    words = ["diff", *PAIR, str(path), "--random", "1"]
    main(words)
    assert DEFAULT not in capsys.readouterr().err
    main(["verify", str(path), "--equal", "onnxruntime", "tflite"])
    assert DEFAULT in capsys.readouterr().err
    main(["lint", str(path)])
    assert DEFAULT in capsys.readouterr().err
    main(["trace", str(path), "--random", "1", "--at", "1[0,0]"])
    assert capsys.readouterr().err.count(DEFAULT) == 1


@pytest.mark.parts(6)
@pytest.mark.parametrize("contract", ["tflm", "esp-nn", "tflite"])
@pytest.mark.parametrize("type", ["u8", "i8"])
def test_a_system_without_unsigned_codes(
    contract: str, type: str, tmp_path: Path
) -> None:
    path, tensor = tmp_path / "add.mlir", f"tensor<4x!quant.uniform<{type}:f32, 0.5>>"
    path.write_text(
        f"func.func @main(%x: {tensor}) -> {tensor} {{\n"
        f"  %y = qnn.add %x, %x : ({tensor}, {tensor}) -> {tensor}\n"
        f"  return %y : {tensor}\n}}\n"
    )
    if type == "i8" or contract == "tflite":
        qlower.verify(path, equal=("tflite", contract))
        return
    with pytest.raises(QlowerError) as caught:
        qlower.verify(path, equal=("tflite", contract))
    place, first = f"{path}:2:8", str(caught.value).splitlines()[0]
    assert first.startswith(f"{place}: error: layer 'y' has unsigned codes, for which")


def test_unsigned_codes_that_tflite_micro_takes(tmp_path: Path) -> None:
    """To read them, to store them in another shape, and to change their sign."""
    path = tmp_path / "codes.mlir"
    unsigned, signed = (f"!quant.uniform<{kind}:f32, 0.5>" for kind in ("u8", "i8"))
    path.write_text(
        f"func.func @main(%x: tensor<4x{unsigned}>) -> tensor<2x2xf32> {{\n"
        f"  %y = qnn.reshape %x : (tensor<4x{unsigned}>) -> tensor<2x2x{unsigned}>\n"
        f"  %z = qnn.requantize %y : (tensor<2x2x{unsigned}>) -> tensor<2x2x{signed}>\n"
        f"  %a = qnn.requantize %z : (tensor<2x2x{signed}>) -> tensor<2x2x{unsigned}>\n"
        f"  %r = qnn.dequantize %a : (tensor<2x2x{unsigned}>) -> tensor<2x2xf32>\n"
        "  return %r : tensor<2x2xf32>\n}\n"
    )
    codes = np.array([0, 1, 100, 120], np.uint8)
    result = qlower.interpret(path, codes, contract="tflm")
    np.testing.assert_array_equal(result, codes.reshape(2, 2) * np.float32(0.5))


@pytest.mark.long
@pytest.mark.skipif(not WAKE.exists(), reason=f"{WAKE} isn't there")
def test_the_layers_in_which_the_default_session_parts() -> None:
    found = qlower.verify(WAKE, equal=PAIR).layers
    assert sum(row.verdict == "differs" for row in found) == 12
