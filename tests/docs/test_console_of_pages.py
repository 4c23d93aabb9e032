"""Commands that pages show, with their output: both are as written.

`pytest tests/docs/test_console_of_pages.py --bless` writes the outputs into the pages.
A page's commands run in order, in a folder with the files of `FILES`. Hashes may
differ, but equal ones have to be equal.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.cli import main
from qlower.model.layers import layer_name, layers
from qlower.sides.sides import Computed

EXAMPLES = Path(__file__).parents[2] / "examples"
PAGES = Path(qlower.__file__).parent / "docs/pages"
FILES = (
    "digits/digits.mlir",
    "digits/test_images.npy",
    "digits/test_labels.npy",
    "one-answer/classifier.onnx",
    "one-answer/nine.npy",
)
BLOCK = re.compile(r"```console\n(.*?)```\n", re.DOTALL)
HASH = re.compile(r"\b[0-9a-f]{64}\b")


def make_files(folder: Path) -> None:
    """Twenty images, and the layers of a device that has a fault, which follow it."""
    images = np.load(folder / "test_images.npy")[:20]
    np.save(folder / "images.npy", images)
    model = qlower.load(folder / "digits.mlir")
    runs: list[dict[str, np.ndarray]] = []
    for image in images:
        run = Computed("tflm", model, "tflm")
        known = {"image": image}
        for op in layers(model.module):
            name = layer_name(op) or ""
            known[name] = run.layer(name, known).result
            if name == "pointwise":
                known[name] = np.where(np.arange(16) % 2, known[name], np.int8(-128))
        runs.append(known)
    names = [name for name in runs[0] if name != "image"]
    np.savez(
        folder / "broken.npz", **{n: np.stack([run[n] for run in runs]) for n in names}
    )


def shown(command: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What a command prints, of which `head -n` or `tail -n` take some lines."""
    first, *rest = (shlex.split(part) for part in command.split(" | "))
    assert first[0] == "qlower", command
    status, printed = main(first[1:]), capsys.readouterr()
    assert status in (0, 1), command
    assert "error:" not in printed.err, printed.err
    lines = printed.out.splitlines()
    for name, option, count in rest:
        assert (name, option) in (("head", "-n"), ("tail", "-n")), command
        lines = lines[: int(count)] if name == "head" else lines[-int(count) :]
    return [line.rstrip() for line in lines]


def made(blocks: Sequence[str], capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    """The blocks with what their commands print now."""
    for block in blocks:
        parts = re.split(r"(?m)^\$ ", block)[1:]
        lines: list[str] = []
        for command in (part.split("\n")[0] for part in parts):
            lines += [f"$ {command}", *shown(command, capsys)]
        yield "".join(f"{line}\n" for line in lines)


def numbered(text: str) -> str:
    """The text with its hashes numbered, equal ones alike."""
    found = {
        one: f"{n:064x}" for n, one in enumerate(dict.fromkeys(HASH.findall(text)))
    }
    return HASH.sub(lambda match: found[match[0]], text)


@pytest.mark.parametrize(
    "page", ["one-answer", pytest.param("symptoms", marks=pytest.mark.long)]
)
def test_commands_print_what_the_page_shows(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    for name in FILES:
        shutil.copy(EXAMPLES / name, tmp_path)
    make_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    path = PAGES / f"{page}.md"
    text = path.read_text()
    blocks = BLOCK.findall(text)
    printed = list(made(blocks, capsys))
    if request.config.getoption("--bless"):
        for block, new in zip(blocks, printed, strict=True):
            text = text.replace(f"```console\n{block}```", f"```console\n{new}```")
        path.write_text(text)
    assert numbered("".join(printed)) == numbered("".join(BLOCK.findall(text)))
