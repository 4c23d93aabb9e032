"""One NPU from its contract to Verilog: the commands of README.md, one after another.

    python examples/npu-to-verilog/story.py FOLDER

writes circuits, vectors, C files and a picture into the folder. Needs yosys, iverilog
and an SMT solver (pip install bitwuzla).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from qlower.cli import main as qlower

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MODEL = str(ROOT / "examples/digits/digits.mlir")
IMAGES = str(ROOT / "examples/digits/test_images.npy")
NPU = str(ROOT / "examples/npu/my_npu.mlir")
LAYER = ["--contract", NPU, "--layer", "conv1"]


def step(title: str, *words: str) -> int:
    """A command, under its title."""
    print(f"\n== {title}\n$ qlower {' '.join(words)}", flush=True)
    return qlower(list(words))


def main(folder: Path) -> int:
    """All steps; 0 if each of them ends as the page says."""
    rtl, vectors = folder / "rtl", folder / "vectors"
    codes = [
        step(
            "Verilog that is made of the contract",
            *("compile", MODEL, "-o", str(rtl), "--emit", "systemverilog", *LAYER),
        ),
        step("vectors", "vectors", MODEL, "-o", str(vectors), *LAYER),
    ]
    print("\n== the test bench, in Icarus Verilog", flush=True)
    bench = folder / "bench"
    sources = [rtl / "conv1.sv", rtl / "conv1_tb.sv"]
    subprocess.run(["iverilog", "-g2012", "-o", bench, *sources], check=True)
    given = f"+vectors={vectors / '00-conv1'}"
    codes.append(subprocess.run([bench, given], check=False).returncode)
    for name, expected in (("requantize_narrow", 1), ("requantize", 0)):
        file = ["--rtl", str(HERE / f"{name}.sv"), "--top", name]
        found = step(f"an engineer's own {name}", "verify", MODEL, *file, *LAYER)
        codes.append(int(found != expected))
    codes += [
        step(
            "the model for C programs",
            *("compile", MODEL, "-o", str(folder / "c"), "--contract", NPU),
            *("--name", "digits", "--emit", "obj,header,c-example"),
        ),
        step(
            "what it costs",
            *("cost", "tflm", NPU, "arithmetic: multiplier 15 bits", "pow2-shift"),
            *("--model", f"{MODEL}={IMAGES}", "--plot", str(folder / "cost.svg")),
        ),
        step(
            "accuracy",
            *("validate", MODEL, "--data", IMAGES, "--against", "exact"),
            *("--labels", str(ROOT / "examples/digits/test_labels.npy")),
            *("--contract", f"{NPU},tflm,arithmetic: multiplier 15 bits,pow2-shift"),
        ),
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
