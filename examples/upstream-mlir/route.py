"""Compile the digit classifier with LLVM's own tools, and compare the bits with ours.

python examples/upstream-mlir/route.py [--keep FOLDER]

qlower makes plain upstream MLIR of the model; mlir-opt, mlir-translate, llc and a C
compiler make a shared library of that, which is called through ctypes.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import qlower
from qlower.cli.opt import main as qlower_opt
from qlower.files.llvm_tools import find_tool

DIGITS = Path(__file__).parents[1] / "digits"
MODEL = DIGITS / "digits.mlir"
OLDEST = 22
"""The first release of LLVM that reads all of our text."""

TO_UPSTREAM = (
    "lower-qnn{contract=tflite},canonicalize,cse,dce,expand-fixed,canonicalize"
)

TO_LLVM = (
    "--llvm-request-c-wrappers",
    "--one-shot-bufferize=bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map",
    "--buffer-results-to-out-params=modify-public-functions",
    "--convert-linalg-to-loops",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-scf-to-cf",
    "--arith-expand",
    "--convert-math-to-llvm",
    "--convert-math-to-libm",
    "--convert-arith-to-llvm",
    "--convert-index-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-func-to-llvm",
    "--convert-cf-to-llvm",
    "--reconcile-unrealized-casts",
)

TO_OBJECT = ("-O2", "-filetype=obj", "-relocation-model=pic")

Model = Callable[[NDArray[np.int8]], NDArray[np.int8]]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compile digits by upstream's tools.")
    parser.add_argument("--keep", metavar="FOLDER", help="where to leave every step")
    keep: str | None = parser.parse_args(arguments).keep
    missing = missing_tools()
    if missing:
        print(f"needs {', '.join(missing)}: pip install '.[mlir]'", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        upstream = load(compile_upstream(folder))
        ours = qlower.jit(MODEL, contract="tflite")
        same = 0
        for digit in range(10):
            image: NDArray[np.int8] = np.load(DIGITS / "images" / f"{digit}.npy")
            scores = upstream(image)
            same += np.array_equal(scores, np.asarray(ours(image)))
            print(f"images/{digit}.npy is a {scores.argmax()}: {scores[0].tolist()}")
    print(f"{same} of 10 images: the same bits as qlower's own code")
    return 0 if same == 10 else 1


def tool(name: str) -> str | None:
    """The path of one of LLVM's tools, from the extra `mlir` or the system."""
    return find_tool("llvm" if name == "llc" else "mlir", name, OLDEST)


def missing_tools() -> list[str]:
    """What the route needs and isn't here."""
    names = ["mlir-opt", "mlir-translate", "llc"]
    missing = [f"{name} of LLVM {OLDEST}" for name in names if tool(name) is None]
    return missing + ([] if shutil.which("cc") else ["a C compiler `cc`"])


def compile_upstream(folder: Path) -> Path:
    """The shared library of the model; every step is left in `folder`."""
    steps = [
        folder / f"digits.{suffix}"
        for suffix in ("upstream.mlir", "llvm.mlir", "ll", "o", "so")
    ]
    upstream, llvm, text, code, library = map(str, steps)
    if qlower_opt([str(MODEL), "-p", TO_UPSTREAM, "-o", upstream]):
        raise SystemExit("qlower-opt failed")
    for command in (
        [tool("mlir-opt"), upstream, *TO_LLVM, "-o", llvm],
        [tool("mlir-translate"), "--mlir-to-llvmir", llvm, "-o", text],
        [tool("llc"), *TO_OBJECT, text, "-o", code],
        ["cc", "-shared", code, *runner_utilities(), "-lm", "-o", library],
    ):
        subprocess.run([str(part) for part in command], check=True)
    return Path(library)


def runner_utilities() -> list[str]:
    """How to link MLIR's library that copies strided memory."""
    mlir_opt = tool("mlir-opt")
    assert mlir_opt is not None
    folder = Path(mlir_opt).resolve().parents[1] / "lib"
    return [str(folder / "libmlir_c_runner_utils.so"), f"-Wl,-rpath,{folder}"]


def load(path: Path) -> Model:
    """The function of a library: an image [1, 8, 8, 1] to scores [1, 10]."""
    main = ctypes.CDLL(str(path))._mlir_ciface_main

    def run(image: NDArray[np.int8]) -> NDArray[np.int8]:
        scores = np.zeros((1, 10), np.int8)
        given, taken = descriptor(image), descriptor(scores)
        main(ctypes.byref(given), ctypes.byref(taken))
        return scores

    return run


def descriptor(array: NDArray[np.int8]) -> ctypes.Structure:
    """MLIR's description of a dense array of bytes in memory."""

    class Descriptor(ctypes.Structure):
        _fields_ = [
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", ctypes.c_int64),
            ("sizes", ctypes.c_int64 * array.ndim),
            ("strides", ctypes.c_int64 * array.ndim),
        ]

    address, extents = array.ctypes.data, ctypes.c_int64 * array.ndim
    return Descriptor(
        address, address, 0, extents(*array.shape), extents(*array.strides)
    )


if __name__ == "__main__":
    raise SystemExit(main())
