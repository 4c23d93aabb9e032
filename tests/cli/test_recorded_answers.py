"""What commands say, line by line: refusals of options, and short outputs.

`answers.txt` has each command line with its exit code, its output and its errors;
`pytest tests/cli/test_recorded_answers.py --bless` records them. Read what changes
before you commit it. Files are those that `files` writes.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SIGNED_MODEL, SMALL_MODEL

from qlower.cli import main
from qlower.version import __version__

Capture = pytest.CaptureFixture[str]

RECORDED = Path(__file__).with_name("answers.txt")

VERIFY = [
    *("", "--native --groups", "--equal tflite tvm --native", "--rtl a.v --native"),
    *("--rtl a.v --groups", "--rtl a.v --equal tflite tvm", "--rtl a.v --check f"),
    *("--rtl a.v --smt d", "--rtl a.v", "--rtl a.v --top t", "--top t --native"),
    *("--rule r --native", "--port a=b --native", "--value a=1 --native"),
    *("--channel c --native", "--latency 1 --native"),
    *("--rtl a.v --top t --save s", "--rtl a.v --top t --junit j"),
    *("--rtl a.v --top t --latency 65", "--rtl a.v --top t --latency -1"),
    *("--rtl a.v --top t --rule conv2d", "--rtl a.v --top t --value a=1"),
    *("--accumulator-bits 1", "--accumulator-bits 64"),
    *("--native --smt d", "--groups --smt d", "--native --certificate d"),
    "--equal tflite tvm --certificate d --layer-contract a=tvm",
    "--equal tflite tvm --certificate d --b-layer-contract a=tvm",
    "--equal tflite tvm --certificate d --layer conv",
    "--equal tflite tvm --solvers z3",
    "--equal tflite tvm --time-limit 0",
    "--equal tflite tvm -o v.json --layer conv",
    "--equal tflite tvm --contract exact",
    "--equal tflite tvm --order memory",
    "--equal tflite tvm --target aarch64-linux-gnu",
    "--equal tflite tvm --sample 3",
    *("--native --order memory", "--native --b-layer-contract a=tvm"),
    *("--groups --save s", "--groups --layer conv", "--groups --contract exact"),
    *("--accumulator-bits 20 --cpu x", "--accumulator-bits 20 --b-layer-contract a=b"),
    *("--check f --sample 0", "--check f --sample -1", "--check f --output g"),
    *("--check f --layer conv", "--check none.json", "--equal tflite nobody"),
    *("--accumulator-bits 12", "--accumulator-bits 17", "--accumulator-bits 31"),
    "--accumulator-bits 20 --contract pytorch-fbgemm-avx2",
    "--accumulator-bits 20 --order memory --layer conv",
    "--accumulator-bits 20 --layer 9",
    "--accumulator-bits 20 --json --layer scores",
]

COMPILE = [
    *("--emit systemverilog,obj", "--emit gates,comb", "--emit gates --layer conv"),
    *(
        "--emit comb --max-flash 3",
        "--emit comb --max-ram 3",
        "--emit comb --package a",
    ),
    "--emit comb --weights-section a",
    *("--emit comb --accumulator-bits 1", "--emit comb --accumulator-bits 33"),
    *("--emit comb --stages -1", "--emit comb --stages 65", "--emit comb --rules add"),
    *("--emit comb --unsigned", "--emit comb --accumulator-bits 8"),
    *("--emit obj --layer conv", "--emit obj --rules a", "--emit obj --stages 2"),
    *("--emit obj --unsigned", "--emit obj --constants ports", "--emit nothing"),
    *("--emit obj --accumulator-bits 8", "--emit c --name 1x", "--emit c --cpu none"),
    *("--emit comb --contract exact", "--emit gates --contract exact"),
    *(
        "--emit obj --shape x",
        "--emit obj --shape image=1x2",
        "--emit c --package none",
    ),
    *("--emit comb,systemverilog --contract tflm --layer scores",),
    *("--emit c --contract tflm --max-ram 1", "--emit c --contract tflm --max-flash 9"),
    *("--emit c --contract tflm", "--emit c,header --contract tflm --json"),
    "--emit gates --contract tflm",
]

OTHERS = [
    *("compile tflm -o out --emit comb --layer a", "compile tflm -o out --emit comb"),
    "compile exact -o out --emit comb",
    "compile tflm -o out --emit comb --contract tvm",
    "compile tflm -o out --emit comb --rules requantize --json",
    "compile tflm -o out --emit comb --rules none",
    "verify tflm --rtl a.v --top t",
    "verify tflm --rtl a.v --top t --rule conv2d --layer a",
    "verify tflm --rtl a.v --top t --rule conv2d --value a=x",
    "verify tflm --rtl a.v --top t --rule conv2d --value a",
    "cost tflm --model signed.mlir --examples 0",
    "cost tflm --model signed.mlir --plot a.pdf",
    *("contracts show", "contracts show nobody", "contracts show tvm"),
    *("contracts new a --base tflite", "contracts new signed --base tflite"),
    "contracts new b --base tflite --rounding half_even",
    "contracts new c --base gemmini",
    *("lint signed.mlir", "lint signed.mlir --accumulator-bits 16"),
    "lint signed.mlir --accumulator-bits 12 --format json",
    "lint signed.mlir --contract pytorch-fbgemm-avx2 --input x.npy",
    *("inspect signed.mlir --format csv", "inspect signed.mlir --dump-ir d"),
    *("inspect signed.mlir", "inspect signed.mlir --layer conv"),
    "inspect signed.mlir --at arith --layer scores --contract tflite",
    "inspect signed.mlir --at arith --layer scores --constants",
    "inspect signed.mlir --at kernel --layer conv --cpu x86-64-v3",
    "inspect signed.mlir --at kernel --layer flat --cpu x86-64-v3",
    "inspect signed.mlir --layer none",
    "inspect signed.mlir --layer conv --constants",
    "inspect signed.mlir --contract exact --layer flat",
    "inspect signed.mlir --contract nobody",
    "inspect signed.mlir --stats --format csv",
    "inspect signed.mlir --stats --layer conv --contract tflm",
    *(
        "run signed.mlir",
        "run signed.mlir --random -1",
        "run signed.mlir --input no.npy",
    ),
    "run signed.mlir --random --input x.npy",
    "run signed.mlir --executor interp --input x.npy --contract tflite",
    "run signed.mlir --executor interp --input image=x.npy --contract exact",
    "run signed.mlir --executor interp --input other=x.npy",
    "run signed.mlir --executor interp --input x.npy --input x.npy",
    "run signed.mlir --executor interp --input real.npy --contract tflite",
    "run signed.mlir --executor interp --input two.npz --contract tflite",
    "run signed.mlir --executor interp --input wrong.npy",
    "run signed.mlir --executor interp --input x.npy --layer-contract conv",
    "run signed.mlir --executor interp --input x.npy --layer-contract none=tvm",
    "run signed.mlir --executor interp --input x.npy --layer-contract conv=tvm",
    "trace signed.mlir --input x.npy --at scores[0] --contract tflite",
    "trace signed.mlir --input x.npy --at scores[99]",
    "trace signed.mlir --input x.npy --at none[0]",
    "trace signed.mlir --input x.npy --at conv[0,1,0,1] --contract exact",
    "diff tflite exact signed.mlir --executor interp --input x.npy",
    "diff tflite nobody signed.mlir --input x.npy",
    "diff tflite tflite signed.mlir --input x.npy",
    *("report signed.mlir", "report signed.mlir -o r.html --fail-below 3"),
    "report signed.mlir -o r.html --junit j.xml",
    "report signed.mlir -o r.html --verify",
    "report signed.mlir -o r.html --against exact --match a",
    *("import signed.mlir", "import none.tflite", "import signed.mlir --shape a=1"),
    "import signed.mlir --shape image",
    "import signed.mlir --shape image=1x2x2x1 --shape image=1x2",
    "import signed.mlir --qdq x86",
    *("import bad.mlir", "import bad.tflite"),
    *("validate signed.mlir --data x.npy --jobs 0", "validate signed.mlir --data no"),
    "validate signed.mlir --data x.npy --against tvm --contract tflite,exact --jobs 1",
    "validate signed.mlir --data x.npy --classes --contract tvm --jobs 1",
    "validate signed.mlir --data x.npy --layers --against tvm --contract tflm --jobs 1",
    "validate signed.mlir --data x.npy --labels l.txt --against exact --jobs 1",
    "validate signed.mlir --data x.npy --labels l.txt --json --jobs 1 --contract tvm",
    *("identify none", "identify x.npy", "vectors signed.mlir --layer none -o v"),
    *("bisect signed.mlir x.npy --contract nobody", "bench none.mlir"),
    *("cache --nothing", "nothing", "targets none", "run none.mlir --random"),
    "explore signed.mlir --data no.npy",
]

LINES = [
    *(f"verify signed.mlir {words}".strip() for words in VERIFY),
    *(f"compile small.mlir -o out {words}" for words in COMPILE),
    *OTHERS,
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "signed.mlir").write_text(SIGNED_MODEL)
    (folder / "small.mlir").write_text(SMALL_MODEL)
    (folder / "bad.mlir").write_text("func.func @main(")
    (folder / "bad.tflite").write_bytes(b"nothing of the kind")
    x = np.arange(-8, 8, dtype=np.int8).reshape(4, 1, 2, 2, 1)
    np.save(folder / "x.npy", x)
    np.save(folder / "real.npy", x[0].astype(np.float32) / 4)
    np.save(folder / "wrong.npy", np.zeros((3, 5), np.int8))
    np.savez(folder / "two.npz", image=x[0], other=x[1])
    (folder / "l.txt").write_text("0\n1\n\n1\n")
    (folder / "f").write_text("{}")
    return folder


def answer(line: str, capsys: Capture) -> str:
    """The exit code, what is printed, and what is said of errors."""
    code = main(shlex.split(line))
    out, err = capsys.readouterr()
    text = "\n".join([f"$ qlower {line}", f"exit {code}", *out.splitlines()])
    text += "".join(f"\n! {one}" for one in err.splitlines())
    text = re.sub(r"/\S*/files\d+/", "", text).replace(__version__, "VERSION")
    text = re.sub(r"\b[0-9a-f]{64}\b", "HASH", text)
    text = re.sub(r"in \d[\d.]* m?s\b|\d[\d.]* (?:m?s|seconds)\b", "TIME", text)
    return text + "\n"


@cache
def recorded() -> dict[str, str]:
    texts = RECORDED.read_text().split("\n$ ")
    found = {one.partition("\n")[0].removeprefix("$ qlower "): one for one in texts}
    return {line.removeprefix("qlower "): text for line, text in found.items()}


@pytest.mark.usefixtures("files")
def test_write(
    files: Path,
    capsys: Capture,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only with --bless: all lines."""
    monkeypatch.chdir(files)
    if request.config.getoption("--bless"):
        RECORDED.write_text("\n".join(answer(line, capsys) for line in LINES))
        for path in files.glob("*.mlir"):
            if path.stem in "abc":
                path.unlink()
    assert list(recorded()) == LINES


@pytest.mark.parts(5)
@pytest.mark.parametrize("line", LINES)
def test_answers(
    line: str, files: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    found = answer(line, capsys).removeprefix("$ ").rstrip("\n")
    assert found == recorded()[line].removeprefix("$ ").rstrip("\n")
