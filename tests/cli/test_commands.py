"""import, inspect and compile, and what all commands do about errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.cli import inspect, main
from qlower.cli.exit_codes import ExitCode
from qlower.cli.usage.inspect import LEVELS
from qlower.compilation.bisection import Fault
from qlower.model.signature import Array

Capture = pytest.CaptureFixture[str]


def output(capsys: Capture, *arguments: str) -> str:
    assert main(arguments) == 0
    out, error = capsys.readouterr()
    assert error == ""
    return out


def refused(
    capsys: Capture, *arguments: str, code: ExitCode = ExitCode.WRONG_INPUT
) -> str:
    assert main(arguments) == code
    out, error = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in error
    return error


@pytest.mark.parametrize("command", ["import", "inspect", "run", "compile", "bench"])
def test_help_shows_an_example(command: str, capsys: Capture):
    assert f"example:\n  qlower {command} " in output(capsys, command, "--help")


def test_import_round_trip(model: str, capsys: Capture):
    assert main(["import", model, "-o", "again.mlir"]) == 0
    text = Path("again.mlir").read_text()
    assert 'loc("conv"("model.mlir":12:13))' in text
    assert main(["import", "again.mlir", "-o", "third.mlir"]) == 0
    assert Path("third.mlir").read_text() == text
    assert output(capsys, "import", model) == text
    x = np.array([[[[-128], [5]], [[77], [127]]]], np.int8)
    assert np.array_equal(qlower.interpret(model, x), qlower.interpret("again.mlir", x))


def test_inspect_levels(model: str, capsys: Capture):
    qnn = output(capsys, "inspect", model)
    assert "!w0 = !quant.uniform<i8<-127:127>:f32:0, {3.906250e-03" in qnn
    assert "// conv" in qnn
    assert "dense<24 x i8, sha1:" in qnn
    arith = output(capsys, "inspect", model, "--at", "arith")
    assert "fixed.shift_right" in arith
    assert "qnn.conv2d" not in arith
    assert "kernel.nest" in output(capsys, "inspect", model, "--at", "kernel")
    assert "define " in output(capsys, "inspect", model, "--at", "llvm")
    assert "qlower_main:" in output(capsys, "inspect", model, "--at", "asm")


def test_import_in_generic_form(model: str, capsys: Capture):
    text = output(capsys, "import", model, "--generic", "-o", "-")
    assert '"qnn.conv2d"(' in text
    assert 'loc("conv"(' in text  # what Netron shows of a layer's name
    Path("generic.mlir").write_text(text)
    x = np.array([[[[-128], [5]], [[77], [127]]]], np.int8)
    expected = qlower.interpret(model, x)
    assert np.array_equal(qlower.interpret("generic.mlir", x), expected)


def test_inspect_constants_in_full(model: str, capsys: Capture):
    for level in ("qnn", "arith", "kernel"):
        command = ("inspect", model, "--at", level)
        assert "sha1" in output(capsys, *command)
        assert "sha1" not in output(capsys, *command, "--constants")
    digits = str(Path(qlower.__file__).parents[1] / "examples/digits/digits.mlir")
    command = ("inspect", digits, "--layer", "logits", "--constants")
    text = output(capsys, *command)
    (line,) = (line for line in text.splitlines() if "dense<[[" in line)
    shown = json.loads(line[line.index("dense<") + 6 : line.index("> :")])
    assert np.shape(shown) == (10, 256)
    exact = output(capsys, "import", digits)
    assert np.array(shown, np.int8).tobytes().hex().upper() in exact


@pytest.mark.parts(2)
@pytest.mark.parametrize("level", ["qnn", "arith"])
def test_inspect_layer_as_a_model(level: str, capsys: Capture):
    digits = str(Path(qlower.__file__).parents[1] / "examples/digits/digits.mlir")
    x = np.random.default_rng(1).integers(-128, 128, (1, 8, 8, 1)).astype(np.int8)
    before, after = (
        qlower.interpret(qlower.load(digits, outputs=[name]), x)
        for name in ("depthwise", "pointwise")
    )
    command = ("inspect", digits, "--layer", "pointwise", "--constants")
    Path("layer.mlir").write_text(output(capsys, *command, "--at", level))
    layer = qlower.load("layer.mlir")
    assert [spec.name for spec in layer.outputs] == ["pointwise"]
    assert np.array_equal(qlower.interpret(layer, before), after)


def test_inspect_layer(model: str, capsys: Capture):
    layer = ["--layer", "scores"]
    qnn = output(capsys, "inspect", model, *layer)
    assert "qnn.linear" in qnn
    assert "qnn.conv2d" not in qnn
    assert "linalg.generic" in output(capsys, "inspect", model, "--at", "arith", *layer)
    for level in ("llvm", "asm"):
        text = output(capsys, "inspect", model, "--at", level, *layer)
        assert "scores" in text
        assert "nest_0_conv" not in text
    error = refused(capsys, "inspect", model, "--layer", "score")
    assert "the model has no layer 'score'" in error
    assert "did you mean 'scores'?" in error


@pytest.mark.parametrize("layer", ["2", "scores", "sc*"])
def test_inspect_layer_by_number_name_and_glob(model: str, capsys: Capture, layer: str):
    assert "// scores" in output(capsys, "inspect", model, "--layer", layer)


def test_inspect_several_layers(model: str, capsys: Capture):
    rows = json.loads(
        output(capsys, "inspect", model, "--stats", "--json", "--layer", "*[ts]")
    )["rows"]
    assert [(row["number"], row["layer"]) for row in rows] == [
        (1, "flat"),
        (2, "scores"),
    ]


def test_layers_have_short_names_and_full_ones(model: str, image: str, capsys: Capture):
    flat = "    %flat ="
    text = (
        Path(model)
        .read_text()
        .replace(f"\n{flat}", f' loc("n/conv/Relu;n/conv/Conv2D")\n{flat}')
    )
    Path("long.mlir").write_text(text)
    stats = ("inspect", "long.mlir", "--stats")
    assert "n/conv/Relu" not in output(capsys, *stats)
    assert "n/conv/Relu;n/conv/Conv2D" in output(capsys, *stats, "--full-names")
    (row,) = json.loads(output(capsys, *stats, "--json", "--layer", "0"))["rows"]
    assert (row["layer"], row["full_name"]) == ("conv", "n/conv/Relu;n/conv/Conv2D")
    command = ["run", "long.mlir", "--input", image, "--save-layers", "l.npz"]
    assert main(command) == 0
    assert list(np.load("l.npz")) == ["conv", "flat", "scores"]
    assert main([*command, "--full-names"]) == 0
    assert list(np.load("l.npz")) == ["n/conv/Relu;n/conv/Conv2D", "flat", "scores"]
    assert qlower.load("long.mlir").full_names["conv"] == "n/conv/Relu;n/conv/Conv2D"


def test_inspect_statistics(model: str, capsys: Capture):
    lines = output(capsys, "inspect", model, "--stats").splitlines()
    conv = next(line for line in lines if line.split()[:2] == ["0", "conv"])
    # Channel 0: 100 + 64 * [0, 255]; channel 1: -200 - 32 * [0, 255].
    assert "[-8360, 16420]" in conv
    assert "1x2x2x1 i8 (0.0078125, -128)" in conv
    assert " 16 " in conv  # bits
    assert " 8 " in conv  # 4 positions, 2 channels
    assert "2/2" in conv  # channels whose requantization is proved
    assert " 4 " in conv  # channel 1 is never positive: it is the zero point
    assert "3 layers" in lines[-5]
    assert lines[-3] == (
        "Run `qlower lint model.mlir` to find layers that can overflow 32 bits (or "
        "--accumulator-bits N)."
    )
    assert lines[-2].startswith("fma: one multiply-add takes the place")
    assert lines[-1].startswith("needed: products that can change an output")


def test_inspect_statistics_for_programs(model: str, capsys: Capture):
    command = ("inspect", model, "--stats")
    rows = json.loads(output(capsys, *command, "--json"))["rows"]
    assert [row["layer"] for row in rows] == ["conv", "flat", "scores"]
    conv = rows[0]
    bounds = (conv["accumulator_min"], conv["accumulator_max"])
    assert (*bounds, conv["accumulator_bits"], conv["macs"]) == (-8360, 16420, 16, 8)
    for format in ("markdown", "csv", "html"):
        assert "conv" in output(capsys, *command, "--format", format)
    wide = output(capsys, *command, "--layer", "conv")
    assert "1 layer " in wide


def test_statistics_where_a_rule_is_missing(model: str, capsys: Capture):
    """What needs no contract is told, and of which layers the rest isn't."""
    Path("none.mlir").write_text("module {}")
    command = ("inspect", model, "--stats", "--contract", "./none.mlir")
    text = output(capsys, *command)
    assert "[-8360, 16420]" in text
    assert "No epilogue of 1 layer (conv): contract none has no rule conv2d" in text
    rows = json.loads(
        output(capsys, *command, "--layer-contract", "conv=tflite", "--json")
    )["rows"]
    assert [row["epilogue"] for row in rows] == ["fma", None, None]


@pytest.mark.parametrize("format", ["plain", "json", "csv"])
def test_statistics_by_a_contract_that_does_not_exist(
    model: str, format: str, capsys: Capture
):
    command = ["inspect", model, "--stats", "--contract", "nosuch", "--format", format]
    assert main(command) == 1
    printed = capsys.readouterr()
    if format == "json":
        assert json.loads(printed.out)["error"]["kind"] == "input"
    else:
        assert printed.out == ""
    assert "nosuch" in printed.err
    assert main(["inspect", model, "--stats", "--layer-contract", "conv=nosuch"]) == 1


def test_layers_under_another_contract(model: str, capsys: Capture):
    np.save("x.npy", np.array([-128, -1, 64, 127], np.int8).reshape(1, 2, 2, 1))
    x = np.load("x.npy")
    for layers in ("conv=exact", "0=exact", "conv2d=exact", "c*=exact"):
        options = ["--layer-contract", layers, "--layer-contract", "linear=pow2-shift"]
        output(capsys, "run", model, "--input", "x.npy", "--output", "y.npz", *options)
        chosen = {"conv": "exact", "scores": "pow2-shift"}
        found = np.load("y.npz")["scores"]
        assert np.array_equal(found, qlower.jit(model, layer_contracts=chosen)(x))
        assert np.array_equal(
            found, qlower.interpret(model, x, at="qnn", layer_contracts=chosen)
        )
    assert str(qlower.lower(model, layer_contracts=chosen)) != str(qlower.lower(model))
    text = output(capsys, "inspect", model, "--layer-contract", "conv=exact")
    assert 'contract = "exact"' in text
    error = refused(capsys, "inspect", model, "--layer-contract", "pool=exact")
    assert "the model has no layer 'pool'" in error
    for wrong in ("pool", "pool=", "=exact", "="):
        error = refused(capsys, "inspect", model, "--layer-contract", wrong)
        assert f"--layer-contract {wrong!r} is not LAYER=NAME" in error


def test_inspect_shows_the_contract_that_was_asked_for(model: str, capsys: Capture):
    shown = output(capsys, "inspect", model, "--contract", "tvm")
    assert 'qnn.contract = "tvm"' in shown
    arith = output(capsys, "inspect", model, "--contract", "tvm", "--at", "arith")
    assert arith.startswith("// contract tvm\n")
    error = refused(capsys, "inspect", model, "--contract", "tflit")
    assert "there is no contract 'tflit'" in error
    Path("mine.mlir").write_text("module {}")
    error = refused(capsys, "inspect", model, "--contract", "mine")
    assert "did you mean the file ./mine.mlir?" in error


def test_every_level_is_listed():
    assert LEVELS == ("qnn", "arith", "kernel", "llvm", "asm")


def test_compile(model: str, capsys: Capture):
    names = ["model.o", "model.s", "model.ll", "model.mlir"]
    emit = ["--emit", "obj,asm,llvm,mlir"]
    listed = output(capsys, "compile", model, "-o", "out/deep", *emit)
    files, memory = listed.split("\n\n")
    assert files.split() == [f"out/deep/{name}" for name in names]
    assert memory.startswith("memory")
    assert sorted(os.listdir("out/deep")) == sorted(names)
    assert Path("out/deep/model.o").read_bytes()[:4] == b"\x7fELF"
    x = np.zeros((1, 2, 2, 1), np.int8)
    lowered = qlower.interpret("out/deep/model.mlir", x)
    assert np.array_equal(lowered, qlower.interpret(model, x))
    assert np.array_equal(qlower.jit("out/deep/model.mlir")(x), lowered)


def test_compile_refusals(model: str, capsys: Capture):
    Path("file").write_text("")
    for arguments, message in (
        (
            ["-o", "out", "--emit", "obj,pdf"],
            "cannot emit 'pdf': known are obj, header",
        ),
        (["-o", "out", "--emit", ""], "nothing to emit"),
        (["-o", "out", "--cpu", "z80"], "unknown cpu 'z80'"),
        (["-o", "out", "--features", "+mmxx"], "unknown feature 'mmxx'"),
        (["-o", "out", "--target", "z80-none-elf"], "architecture 'z80'"),
        (["-o", "out", "--contract", "none"], "there is no contract 'none'"),
        (["-o", "file"], "cannot write into file: it is not a directory"),
        (["-o", "file/out"], "cannot write file/out: Not a directory"),
    ):
        assert message in refused(capsys, "compile", model, *arguments)
        assert not Path("out").exists()
    error = refused(capsys, "compile", model, code=ExitCode.USAGE)
    assert "the following arguments are required: -o/--output" in error


def test_models_that_cannot_be_read(capsys: Capture):
    Path("folder.mlir").mkdir()
    Path("net.onnx").write_bytes(b"")
    Path("net.xyz").write_bytes(b"")
    Path("empty.mlir").write_bytes(b"")
    Path("empty.tflite").write_bytes(b"")
    Path("binary.mlir").write_bytes(b"ML\xefR\x01")
    Path("unknown.mlir").write_text(SMALL_MODEL.replace("qnn.conv2d", "qnn.conv3d"))
    for name, message in {
        "folder.mlir": "cannot read folder.mlir: it is a directory",
        "net.onnx": "net.onnx:0:0: error: not an ONNX file",
        "net.pt": "pickles, which can run any code, are not read",
        "net.xyz": "unknown kind of model '.xyz'",
        "missing.mlir": "cannot read missing.mlir: no such file",
        "empty.mlir": "empty.mlir:1:1: error: there is no MLIR text",
        "empty.tflite": "not a TFLite file",
        "binary.mlir": "binary.mlir:1:3: error: not MLIR text",
        "unknown.mlir": "unknown.mlir:12:13: error: operation qnn.conv3d is not "
        "registered; did you mean qnn.conv2d?",
    }.items():
        assert message in refused(capsys, "inspect", name)


def test_verification_points_at_the_source(capsys: Capture):
    Path("bad.mlir").write_text(
        SMALL_MODEL.replace("stride = [1, 1]", "stride = [0, 1]")
    )
    lines = refused(capsys, "inspect", "bad.mlir").splitlines()
    assert lines[0].startswith("bad.mlir:12:13: error: ")
    assert "0 is outside [1," in lines[0]
    assert lines[1] == "      %conv = qnn.conv2d %image, %w, %b"
    assert lines[2] == " " * 14 + "^"


def test_unwritable_import(model: str, capsys: Capture):
    assert "it is a directory" in refused(capsys, "import", model, "-o", ".")
    assert not list(Path.cwd().glob(".*.mlir*"))


def test_our_own_bug(model: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    def fail(options: object) -> int:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(inspect, "run", fail)
    assert main(["inspect", model]) == ExitCode.OUR_BUG == 70
    error = capsys.readouterr().err
    assert "qlower itself failed: ZeroDivisionError: oh" in error
    folder = Path(error.split("what reproduces it is in ")[1].splitlines()[0])
    assert (folder / "model.mlir").read_text() == SMALL_MODEL
    assert "inspect model.mlir --debug" in (folder / "command.sh").read_text()
    assert "in fail" in (folder / "report.txt").read_text()
    with pytest.raises(ZeroDivisionError):
        main(["inspect", model, "--debug"])


def test_interrupt(model: str, monkeypatch: pytest.MonkeyPatch):
    def interrupt(options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(inspect, "run", interrupt)
    assert main(["inspect", model]) == 130


def test_closed_pipe_and_module_entry(model: str):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "qlower", "inspect", model]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


def test_import_loads_nothing_heavy():
    code = "import sys, qlower, qlower.cli; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_bisect_compares_each_input_of_a_set(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    images = np.arange(-6, 6, dtype=np.int8).reshape(3, 1, 2, 2, 1)
    np.save("set.npy", images)
    assert main(["bisect", model, "set.npy"]) == 0
    assert "give the same bits for 3 inputs" in capsys.readouterr().out

    def fault(_: object, inputs: Mapping[str, Array]) -> Fault | None:
        (image,) = inputs.values()
        return Fault(1, 3, "0", "planted") if (image == images[1]).all() else None

    monkeypatch.setattr("qlower.cli.bisect.bisect", fault)
    assert main(["bisect", model, "set.npy"]) == ExitCode.FOUND
    assert "input 1: 1 of 3 outputs differ" in capsys.readouterr().out


def test_trace_says_which_input_of_a_set_it_shows(model: str, capsys: Capture):
    np.save("set.npy", np.zeros((3, 1, 2, 2, 1), np.int8))
    options = [model, "--input", "set.npy", "--at", "conv[0,0,0,0]"]
    assert output(capsys, "trace", *options).startswith("input 0 of 3\n")
