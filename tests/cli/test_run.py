"""`qlower run`: outputs, sets, layers, and every kind of wrong input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower import build
from qlower.cli import main
from qlower.compilation import to_arith
from qlower.dialects import qnn
from qlower.interp.values import Array
from qlower.model.printing import exact_module

Capture = pytest.CaptureFixture[str]


def refused(capsys: Capture, *arguments: str) -> str:
    """Standard error of a command that must fail politely and leave nothing behind."""
    before = sorted(Path.cwd().iterdir())
    assert main(["run", *arguments]) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in error
    assert sorted(path for path in Path.cwd().iterdir()) == before
    return error


@pytest.mark.parts(2)
@pytest.mark.parametrize("executor", ["jit", "interp"])
def test_output_and_layers(model: str, image: str, executor: str):
    command = ["run", model, "--input", image, "--executor", executor]
    assert main([*command, "--output", "y.npz", "--save-layers", "l.npz"]) == 0
    expected = qlower.interpret(model, np.load(image), at="qnn")
    outputs, layers = np.load("y.npz"), np.load("l.npz")
    assert list(outputs) == ["scores"]
    assert outputs["scores"].dtype == np.uint8
    np.testing.assert_array_equal(outputs["scores"], expected)
    assert list(layers) == ["conv", "flat", "scores"]
    assert layers["conv"].shape == (1, 2, 2, 2)
    np.testing.assert_array_equal(layers["conv"].ravel(), layers["flat"].ravel())
    np.testing.assert_array_equal(layers["scores"], expected)


@pytest.mark.parts(2)
@pytest.mark.parametrize("executor", ["jit", "interp"])
def test_layers_of_lowered_text(model: str, image: str, executor: str):
    """Operations that only make room for a result are no layers."""
    Path("arith.mlir").write_text(exact_module(qlower.lower(model)))
    assert "tensor.empty" in Path("arith.mlir").read_text()
    command = ["run", "arith.mlir", "--input", image, "--executor", executor]
    assert main([*command, "--save-layers", "l.npz"]) == 0
    layers = np.load("l.npz")
    assert not [name for name in layers if "empty" in name]
    expected: dict[str, Array] = {}
    qlower.interpret(model, np.load(image), layers=expected)
    for name, array in expected.items():
        found = [layers[key] for key in layers if key.split("#")[0] == name]
        assert any(
            np.array_equal(array.view(np.int8), other.view(np.int8))
            for other in found
            if other.shape == array.shape and other.itemsize == 1
        )


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    ("shape", "result"),
    [
        ((5, 1, 2, 2, 1), (5, 1, 3)),  # one more leading dimension
        ((5, 2, 2, 1), (5, 3)),  # the leading dimension of 1 counts
        ((2, 2, 1), (1, 3)),  # the leading dimension of 1 is left out
    ],
)
def test_sets(model: str, shape: tuple[int, ...], result: tuple[int, ...]):
    images = np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)
    np.savez("images.npz", x=images)
    command = ["run", model, "--input", "image=images.npz", "--output", "y.npz"]
    assert main([*command, "--save-layers", "l.npz"]) == 0
    scores = np.load("y.npz")["scores"]
    assert scores.shape == result
    run = qlower.jit(model)
    for image, given in zip(
        images.reshape(-1, 1, 2, 2, 1), scores.reshape(-1, 1, 3), strict=True
    ):
        np.testing.assert_array_equal(run(image), given)
    assert np.load("l.npz")["conv"].size == scores.size // 3 * 8


def test_summary_of_a_set(model: str, capsys: Capture):
    np.save("images.npy", np.zeros((2, 1, 2, 2, 1), np.int8))
    assert main(["run", model, "--input", "images.npy"]) == 0
    out, error = capsys.readouterr()
    head, _, *rows = out.splitlines()
    assert head.split() == ["input", "output", "type", "largest"]
    assert [row.split()[:4] for row in rows] == [
        [str(number), "scores", "1x3", "uint8"] for number in range(2)
    ]
    assert error == ""
    assert main(["run", model, "--input", "images.npy", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["rows"]
    expected = np.asarray(qlower.jit(model)(np.zeros((1, 2, 2, 1), np.int8)))
    for number, entry in enumerate(data):
        assert entry["input"] == number
        assert entry["stored"] == expected.ravel()[entry["indices"]].tolist()


def test_summary_has_the_stored_integers(model: str, image: str, capsys: Capture):
    assert main(["run", model, "--input", image]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("scores (1x3 uint8): values [")
    stored = np.ravel(np.asarray(qlower.jit(model)(np.load(image)))).tolist()
    assert second == f"  stored: {' '.join(map(str, stored))}"


def test_outputs_are_reproducible(model: str, image: str):
    for name in ("a.npz", "b.npz"):
        assert main(["run", model, "--input", image, "--output", name]) == 0
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes()


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3"])
def test_cpu(model: str, image: str, cpu: str):
    command = ["run", model, "--input", image, "--output", "y.npz", "--cpu", cpu]
    assert main(command) == 0
    expected = qlower.interpret(model, np.load(image))
    np.testing.assert_array_equal(np.load("y.npz")["scores"], expected)


def test_wrong_arrays(model: str, capsys: Capture):
    np.save("float.npy", np.zeros((1, 2, 2, 3), np.float32))
    np.save("shape.npy", np.zeros((1, 3, 2, 1), np.int8))
    np.save("nchw.npy", np.zeros((3, 1, 2, 2), np.int8))
    np.save("order.npy", np.zeros((2, 1, 2, 1), np.int8))
    np.save("empty.npy", np.zeros((0, 1, 2, 2, 1), np.int8))
    np.save("objects.npy", np.array([{}]), allow_pickle=True)
    np.savez("two.npz", a=np.zeros(1), b=np.zeros(1))
    Path("text.txt").write_text("0")
    Path("broken.npy").write_bytes(Path("shape.npy").read_bytes()[:-3])
    Path("broken.npz").write_bytes(Path("two.npz").read_bytes()[:-20])
    Path("random.npy").write_bytes(bytes(range(256)))
    for name, message in {
        "float.npy": "input 'image' has shape [1, 2, 2, 3], the model takes",
        "shape.npy": "input 'image' has shape [1, 3, 2, 1], the model takes",
        "nchw.npy": "NCHW? numpy.moveaxis(array, -3, -1) puts the channels last",
        "order.npy": "these are the model's dimensions in another order",
        "empty.npy": "the set of inputs is empty",
        "objects.npy": "it holds pickled Python objects",
        "two.npz": "two.npz holds 2 arrays (a, b), 1 is needed",
        "text.txt": "arrays are read from .npy and .npz files",
        "broken.npy": "shape (1, 3, 2, 1) of int8 needs 6",
        "broken.npz": "cannot read broken.npz",
        "random.npy": "cannot read random.npy",
        "missing.npy": "cannot read missing.npy: No such file",
        "other=shape.npy": "the model has no input 'other'",
        "image=missing.npy": "cannot read missing.npy: No such file",
    }.items():
        error = refused(capsys, model, "--input", name, "--output", "y.npz")
        assert error.startswith("error: ")
        assert message in error


def test_number_of_inputs(model: str, image: str, capsys: Capture):
    assert "takes 1 input, 0 are given" in refused(capsys, model)
    twice = ["--input", image, "--input", image]
    assert "takes 1 input, 2 are given" in refused(capsys, model, *twice)


def test_inputs_are_refused_before_the_model_is_compiled(
    model: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    def lower(*arguments: object, **options: object) -> None:
        raise AssertionError("the model was compiled")

    monkeypatch.setattr(to_arith, "lower_to_arith", lower)
    assert "takes 1 input, 0 are given" in refused(capsys, model)


def test_wrong_output(model: str, image: str, capsys: Capture):
    given = [model, "--input", image]
    Path("folder.npz").mkdir()
    for name, message in {
        "missing/y.npz": "cannot write missing/y.npz: No such file or directory",
        "folder.npz": "cannot write folder.npz: it is a directory",
        "y.txt": "arrays are written to .npz files",
    }.items():
        assert message in refused(capsys, *given, "--output", name)
        assert message in refused(capsys, *given, "--save-layers", name)


def test_failure_keeps_the_old_output(model: str, capsys: Capture):
    Path("y.npz").write_bytes(b"old")
    np.save("bad.npy", np.zeros((1, 1), np.int8))
    refused(capsys, model, "--input", "bad.npy", "--output", "y.npz")
    assert Path("y.npz").read_bytes() == b"old"


def test_device_output(model: str, image: str):
    assert main(["run", model, "--input", image, "--output", "/dev/null"]) == 0
    assert Path("/dev/null").is_char_device()


def test_unknown_contract_and_cpu(model: str, image: str, capsys: Capture):
    given = [model, "--input", image]
    error = refused(capsys, *given, "--contract", "tflight")
    assert "there is no contract 'tflight'" in error
    assert "did you mean tflite?" in error
    assert "unknown cpu 'z80'" in refused(capsys, *given, "--cpu", "z80")
    interp = ["--executor", "interp", "--cpu", "x86-64"]
    assert "for --executor jit" in refused(capsys, *given, *interp)


def test_profile_and_threads(model: str, image: str, capsys: Capture):
    command = ["run", model, "--input", image, "--output", "y.npz"]
    assert main([*command, "--profile", "--threads", "2"]) == 0
    head, _, *rows, _, total = capsys.readouterr().out.splitlines()
    assert head.split() == ["layer", "kernel", "us", "share", "GMAC/s", "KB"]
    assert [row.split()[0] for row in rows] == ["conv", "scores"]
    assert total.startswith("All together: ")
    expected = qlower.interpret(model, np.load(image))
    np.testing.assert_array_equal(np.load("y.npz")["scores"], expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threads", "0"], "can't run on 0 threads"),
        (["--threads", "2", "--executor", "interp"], "are for --executor jit"),
        (["--profile", "--executor", "interp"], "are for --executor jit"),
    ],
)
def test_refused_ways_to_run(
    model: str, image: str, capsys: Capture, options: list[str], message: str
):
    assert message in refused(capsys, model, "--input", image, *options)


def test_random_inputs(model: str, capsys: Capture):
    for seed in ("0", "1"):
        command = ["run", model, "--random", seed, "--output", f"{seed}.npz"]
        assert main(command) == 0
    assert main(["run", model, "--output", "2.npz", "--random"]) == 0
    first, second, again = (np.load(f"{seed}.npz")["scores"] for seed in range(3))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, again)
    for wrong in (["--random", "-1"], ["--random", "0", "--input", "x.npy"]):
        assert "a SEED of at least 0, and no --input" in refused(capsys, model, *wrong)


def test_labels(model: str, capsys: Capture):
    images = np.random.default_rng(0).integers(-128, 128, (20, 2, 2, 1)).astype(np.int8)
    found = qlower.jit(model)(images).argmax(axis=1)
    labels = np.where(np.arange(20) < 7, (found + 1) % 3, found)
    np.save("images.npy", images)
    np.save("labels.npy", labels)
    np.save("few.npy", labels[1:])
    np.save("high.npy", labels + 2)
    np.save("real.npy", labels.astype(np.float32))
    np.savez("two.npz", a=labels, b=labels)
    command = [model, "--input", "images.npy", "--output", "y.npz", "--labels"]
    for name, message in {
        "few.npy": "few.npy holds [19] labels, one for each of 20 examples is needed",
        "high.npy": "is no label, they are in [0, 3)",
        "real.npy": "real.npy holds float32, labels are integers",
        "two.npz": "two.npz holds 2 arrays, 1 is needed",
    }.items():
        assert message in refused(capsys, *command, name)
    assert main(["run", *command, "labels.npy"]) == 0
    assert capsys.readouterr().err == "note: 13 of 20 labels are met (65.00%)\n"


def test_one_of_several_arrays(model: str, image: str, capsys: Capture):
    x = np.load(image)
    labels = np.arange(3)
    np.savez("named.npz", image=x, labels=labels, other=x + np.int8(1))
    np.savez("fits.npz", pixels=x, labels=labels)
    np.savez("both.npz", pixels=x, other=x)
    expected = qlower.jit(model)(x)
    for name, note in {
        "named.npz": "input 'image' is 'image'; not read: labels, other",
        "fits.npz": "input 'image' is 'pixels'; not read: labels",
    }.items():
        assert main(["run", model, "--input", name, "--output", "y.npz"]) == 0
        assert f"{name}: {note}" in capsys.readouterr().err
        np.testing.assert_array_equal(np.load("y.npz")["scores"], expected)
        Path("y.npz").unlink()
    error = refused(capsys, model, "--input", "both.npz", "--output", "y.npz")
    assert "both.npz holds 2 arrays (pixels, other), 1 is needed" in error
    assert "help: 2 of them fit image: 1x2x2x1xint8" in error


def test_one_file_for_several_inputs(capsys: Capture):
    a, b = build.quantized([4], 0.5, 3), build.quantized([4], 0.25, -1)
    module = build.make_module([a, b], lambda x, y: [qnn.AddOp(x, y, a).result])
    Path("add.mlir").write_text(exact_module(module))
    first, second = (spec.name for spec in qlower.load("add.mlir").inputs)
    x, y = np.arange(4, dtype=np.int8), np.arange(4, 8, dtype=np.int8)
    np.savez("both.npz", **{second: y, first: x})
    np.savez("one.npz", **{first: x})
    command = ["run", "add.mlir", "--contract", "exact"]
    compared = ["--contract", "exact", "--contract", "tflite"]
    assert main([*command, "--input", "both.npz", "--output", "y.npz"]) == 0
    (sums,) = np.load("y.npz").values()
    expected = qlower.interpret(qlower.Model(module), x, y, contract="exact")
    np.testing.assert_array_equal(sums, expected)
    Path("y.npz").unlink()
    error = refused(capsys, *command[1:], "--input", "one.npz")
    assert "the model takes 2 inputs, 1 are given" in error
    assert "or all one .npz file with their names" in error
    assert main(["contracts", "compare", "add.mlir=both.npz", *compared]) == 0
    assert main(["contracts", "compare", "add.mlir=one.npz", *compared]) == 1


def test_inputs_by_name_come_in_any_order(capsys: Capture):
    a, b = build.quantized([4], 0.5, 3), build.quantized([4], 0.25, -1)
    module = build.make_module([a, b], lambda x, y: [qnn.AddOp(x, y, a).result])
    Path("add.mlir").write_text(exact_module(module))
    first, second = (spec.name for spec in qlower.load("add.mlir").inputs)
    np.save("x.npy", np.arange(4, dtype=np.int8))
    np.save("y.npy", np.arange(4, 8, dtype=np.int8))
    given = ["--input", f"{second}=y.npy", "--input", f"{first}=x.npy"]
    saved = ["--output", "out.npz", "--save-layers", "layers.npz"]
    assert main(["run", "add.mlir", "--contract", "exact", *given, *saved]) == 0
    assert main(["diff", "exact", "layers.npz", "add.mlir", *given]) == 0
    assert "nothing differs" in capsys.readouterr().out


REAL = {
    "run": "run m.mlir --input real.npy --json",
    "interp": "run m.mlir --input real.npz --executor interp --json",
    "diff": "diff tflite tvm m.mlir --input real.npy --json",
    "trace": "trace m.mlir --input real.npy --at 0[0,0,0,0] --json",
    "identify": "identify interp m.mlir --input real.npy --contract tflite --json",
    "lint": "lint m.mlir --input real.npy --accumulator-bits 4 --json",
    "compare": "contracts compare m.mlir=real.npy --contract tflite --contract tvm",
}


@pytest.mark.parts(6)
@pytest.mark.parametrize("name", REAL)
def test_real_inputs_are_quantized(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """In every command, to the same as `quantize` gives."""
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text(SMALL_MODEL)
    (spec,) = qlower.load("m.mlir").inputs
    real = np.random.default_rng(2).normal(size=spec.shape).astype(np.float32)
    np.save("real.npy", real)
    np.savez("real.npz", labels=np.zeros(3), given=real)
    np.save("stored.npy", spec.quantize(real))
    line = REAL[name]
    code = main(line.split())
    told = capsys.readouterr()
    assert f"note: input {spec.name!r} holds real values: quantized to int8" in told.err
    stored = line.replace("real.npz", "stored.npy").replace("real.npy", "stored.npy")
    assert main(stored.split()) == code
    assert capsys.readouterr().out == told.out
