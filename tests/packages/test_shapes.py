"""One object for inputs of several shapes: code for each, and weights once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.formats.onnx_builder import OnnxBuilder

import qlower
from qlower import cli
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError

pytest.importorskip("onnx")

COMPILER = shutil.which("cc")

SHAPES = [{"x": (1, 3)}, {"x": (1, 8)}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Rows of a large table by their codes, which are quantized and added up."""
    random = np.random.default_rng(4)
    builder = OnnxBuilder()
    x = builder.input("x", ["batch", "length"], "i8")
    table = random.integers(-128, 128, (256, 64)).astype("i1")
    weights = builder.node(
        "DequantizeLinear",
        [builder.constant(table), *builder.parameters(0.01, 0, "i1")],
    )
    rows = builder.pair(builder.node("Gather", [weights, x]), 0.02, 128)
    mean = builder.node("ReduceMean", [rows], axes=[1], keepdims=0)
    builder.node("Identity", [builder.pair(mean, 0.01, 128)], "y")
    builder.output("y")
    return builder.save(tmp_path / "text.onnx")


def test_names_begin_with_the_sizes(path: Path, tmp_path: Path) -> None:
    both = qlower.compile(path, shapes=SHAPES)
    assert [one.name for one in both.interfaces] == ["text_1x3", "text_1x8"]
    names = [file.name for file in both.save(tmp_path / "out")]
    assert names == ["text.o", "text.h"]
    header = (tmp_path / "out/text.h").read_text()
    assert "#define TEXT_1X3_INPUT_COUNT 3\n" in header
    assert "static inline int32_t text_1x8_run(" in header
    assert "text_1x3: " in repr(both)
    alone = qlower.compile(path, shapes=SHAPES[:1])
    assert alone.interface.name == "text"


def test_weights_are_there_once(path: Path) -> None:
    sizes = [
        qlower.compile(path, shapes=SHAPES[:count]).memory(with_stack=False).constants
        for count in (1, 2)
    ]
    assert sizes[0] is not None
    assert sizes[1] is not None
    assert 256 * 64 <= sizes[0] <= sizes[1] < sizes[0] + 1024


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
def test_each_entry_gives_what_the_model_gives(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["compile", str(path), "-o", str(tmp_path / "out")]
    arguments += ["--shape", "x=1x3,2x5", "--emit", "obj,header,shared"]
    assert cli.main(arguments) == 0
    run = qlower.jit_by_shape(path)
    for shape in (1, 3), (2, 5):
        library = qlower.load_compiled(tmp_path / "out", f"text_{shape[0]}x{shape[1]}")
        x = np.random.default_rng(shape[0]).integers(0, 256, shape)
        np.testing.assert_array_equal(library(x), run(x))
    with pytest.raises(QlowerError, match=r"libtext.so has code for 2 shapes") as error:
        qlower.load_compiled(tmp_path / "out")
    assert "expected an entry: one of text_1x3, text_2x5" in str(error.value)
    with pytest.raises(QlowerError, match="has no entry 'text'"):
        qlower.load_compiled(tmp_path / "out", "text")
    main = tmp_path / "main.c"
    main.write_text(
        '#include "text.h"\nint main(void) { return text_2x5_level() - 1; }'
    )
    built = tmp_path / "main"
    warnings = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    sources = [main, tmp_path / "out/text.o"]
    command = [COMPILER, *warnings, "-I", tmp_path / "out", *sources, "-o", built]
    subprocess.run([*map(str, command)], check=True)
    assert subprocess.run([built], check=False).returncode == 0


def test_several_levels_and_shapes(path: Path) -> None:
    both = qlower.compile(path, cpu=["x86-64-v2", "x86-64-v3"], shapes=SHAPES)
    assert [one.levels for one in both.interfaces] == [("x86-64-v2", "x86-64-v3")] * 2
    assert "call i32 @text_1x3_level()" in both.object.functions["text_1x8_level"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shape", "x=1x3,1x3"], "the same shapes of inputs are given twice"),
        (
            ["--shape", "x=1x3,1x4", "--shape", "y=1,2,3"],
            "--shape gives 2 and 3 shapes: inputs have as many each, or one",
        ),
        (["--shape", "x=1x3,4"], "shape [4] doesn't fit the file's [?, ?]"),
        (["--shape", "x=1x3,"], "--shape 'x=' is not NAME=SIZExSIZE..."),
        (
            ["--shape", "x=1x3,1x4", "--emit", "obj,selftest"],
            "--emit selftest is for inputs of one shape; several take obj, header",
        ),
        (
            ["--shape", "x=1x3,1x4", "--emit", "c"],
            "--emit c is for inputs of one shape; several take obj, header",
        ),
        (
            ["--shape", "x=1x3,1x4", "--target", "c99-none"],
            "C source is for inputs of one shape",
        ),
    ],
)
def test_refusals(
    path: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a model is lowered")

    monkeypatch.setattr(Compilation, "kernels", property(refuse))
    out = tmp_path / "out"
    assert cli.main(["compile", str(path), "-o", str(out), *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_shapes_are_of_files(path: Path) -> None:
    with pytest.raises(QlowerError, match="shapes are for a model's file"):
        qlower.compile(qlower.load(path), shapes=SHAPES)
