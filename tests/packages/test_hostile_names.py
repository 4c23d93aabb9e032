"""Names that would do harm in C, shells, HTML or archives do none in our files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from support.layers.random_layers import LAYERS
from support.layers.small_model import SMALL_MODEL
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
)

import qlower
from qlower.cli import main
from qlower.diagnostics import location_full_name, printable
from qlower.model.entry import main_function, name_tensors
from qlower.model.layers import layer_name, layers, name_layers
from qlower.model.printing import exact_module
from qlower.text.parsing import parse_module

HOSTILE = {
    "comment": "*/ int main(void) { return 1; } /*",
    "line": "a\n#error b\r\n\\",
    "trigraph": "what??/\n??)",
    "quotes": '"\'`\\" $(touch harm) ${x} %s %n',
    "html": "<script>alert(1)</script>&amp;<!--",
    "path": "../../etc/passwd",
    "nul": "a\0b",
    "control": "\x1b[31mred\x07\u202e\u2028",
    "word": "int",
    "lengthy": "n" * 10_000,
    "empty": "",
    "unicode": "\u00e9\u4e2d\U0001f600",
}

EMITTED = ["obj", "header", "c-example", "asm", "llvm", "mlir"]

FORMATS = ("plain", "markdown", "csv", "json", "html")


def hostile_module(name: str) -> ModuleOp:
    """Every layer, the input and the output are called `name`."""
    module = parse_module(SMALL_MODEL, "model.mlir")
    function = main_function(module)
    named = ArrayAttr([DictionaryAttr({"qnn.name": StringAttr(name)})])
    function.arg_attrs = function.res_attrs = named
    for op in function.body.block.ops:
        op.location = NameLoc(StringAttr(name), op.location)
    name_layers(module)
    name_tensors(module)
    return module


class Elements(HTMLParser):
    """The kinds of elements on a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)


@pytest.fixture(params=HOSTILE, autouse=True)
def name(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.chdir(tmp_path)
    return HOSTILE[request.param]


@pytest.mark.parts(2)
def test_text_keeps_the_name(name: str) -> None:
    module = hostile_module(name)
    text = exact_module(module)
    again = parse_module(text.encode(), "model.mlir")
    assert exact_module(again) == text
    full = [location_full_name(op.location) for op in layers(again)]
    assert full == [name] * 3


@pytest.mark.parts(48)
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c_files_compile(name: str) -> None:
    model = qlower.Model(hostile_module(name))
    paths = qlower.compile(model).save("out", EMITTED)
    assert sorted(path.name for path in Path("out").iterdir()) == sorted(
        path.name for path in paths
    )
    for path in paths:
        if path.suffix != ".o":
            assert path.read_bytes().decode("utf-8").count("\0") == 0
    (example,) = Path("out").glob("main.c")
    (object_,) = Path("out").glob("*.o")
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    command += [str(example), str(object_), "-lm", "-o", "program"]
    subprocess.run(command, check=True, capture_output=True)
    source, _ = qlower.compile(model, target="c99-none").save("source", ["c"])
    subprocess.run([*command[:6], "-c", str(source), "-o", "c.o"], check=True)
    (assembly,) = Path("out").glob("*.s")
    subprocess.run(["cc", "-c", str(assembly), "-o", "asm.o"], check=True)


@pytest.mark.parts(60)
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_contract_s_file_may_be_called_anything(name: str) -> None:
    """A C program that prints the header's macro prints one line, a terminal's text."""
    folder = Path(name.replace("\0", "").replace("/", "_")[:80])
    folder.mkdir(exist_ok=True)
    contract = folder / "own??_.mlir"
    contract.write_text('module attributes {contract.base = "tflite"} {}\n')
    Path("model.mlir").write_text(SMALL_MODEL)
    out = qlower.compile("model.mlir", contract=f"./{contract}", name="m")
    out.save("out", ["header", "llvm", "c-example"])
    Path("show.c").write_text(
        '#include <stdio.h>\n#include "out/m.h"\n'
        "int main(void) { return puts(M_CONTRACT) < 0; }\n"
    )
    command = ["cc", "-std=c99", "-trigraphs", "-Wall", "-Wextra", "-Werror"]
    command += ["-Wno-trigraphs", "show.c", "-o", "show"]
    subprocess.run(command, check=True, capture_output=True)
    shown = subprocess.run(["./show"], check=True, capture_output=True).stdout.decode()
    assert shown == f"{printable(f'./{contract}')}\n"


@pytest.mark.parts(48)
def test_commands_take_the_model(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = exact_module(hostile_module(name))
    Path("model.mlir").write_bytes(text.encode())
    model = qlower.load("model.mlir")
    short = [layer_name(op) for op in layers(model.module)]
    image = np.array([-128, -1, 64, 127], np.int8).reshape(1, 2, 2, 1)
    np.save("image.npy", image)
    files = ["--output", "y.npz", "--save-layers", "l.npz"]
    assert main(["run", "model.mlir", "--input", "image.npy", *files]) == 0
    with np.load("l.npz") as arrays:
        assert list(arrays) == short
    with np.load("y.npz") as arrays:
        (output,) = arrays.values()
    np.testing.assert_array_equal(output, qlower.interpret(model, image))
    files = ["--save-layers", "full.npz", "--full-names"]
    assert main(["run", "model.mlir", "--input", "image.npy", *files]) == 0
    with np.load("full.npz") as arrays:
        assert len(list(arrays)) == 3
    capsys.readouterr()
    for format in FORMATS:
        # The short names, which are harmless, go through the same tables.
        for options in ([], ["--full-names"])[format != "json" :]:
            command = ["inspect", "model.mlir", "--stats", "--format", format]
            assert main([*command, *options]) == 0
            out = capsys.readouterr().out
            assert "\x1b" not in out
            if format == "json":
                assert [row["layer"] for row in json.loads(out)["rows"]] == short
            if format == "html":
                assert not Elements(out).found & {"script", "img", "a"}
    assert not Path("harm").exists()


@pytest.mark.parts(2)
@pytest.mark.parametrize("name", [b"a\xff.mlir", b"a\xff.tflite"])
def test_files_whose_names_are_not_utf8(
    name: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The byte is escaped where a location names the file."""
    path = tmp_path / os.fsdecode(name)
    layer = LAYERS["conv2d"](0, "int8")
    path.write_bytes(layer if name.endswith(b"tflite") else SMALL_MODEL.encode())
    out = tmp_path / "out"
    emitted = ",".join(EMITTED)
    for command in (
        ["inspect", str(path), "--at", "arith"],
        ["compile", str(path), "-o", str(out), "--emit", emitted],
        ["import", str(path), "-o", str(tmp_path / "copy.mlir")],
        ["import", str(path), "--generic", "-o", str(tmp_path / "generic.mlir")],
    ):
        assert main(command) == 0, capsys.readouterr().err
    assert f'"{tmp_path}/a\\\\xff' in (tmp_path / "copy.mlir").read_text()
    path.write_bytes(b"module {")
    assert main(["inspect", str(path)]) == 1
    assert "a\\xff" in capsys.readouterr().err
