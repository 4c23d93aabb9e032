"""Code is loaded where the system has room, however far its parts would be apart."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

MODEL = """
!a = !quant.uniform<i8:f32, 0.5>
module attributes {qnn.contract = "tflite"} {
  func.func @main(%x: tensor<1x512x!a>) -> tensor<1x512x!a> {
    %v = qnn.constant dense<"0xWEIGHTS"> : tensor<512x512xi8> -> tensor<512x512x!a>
    %y = qnn.linear %x, %v : (tensor<1x512x!a>, tensor<512x512x!a>) -> tensor<1x512x!a>
    return %y : tensor<1x512x!a>
  }
}
"""

PROGRAM = """
import ctypes
import sys

import numpy as np

import qlower
from qlower.compilation.compilation import Compilation
from qlower.runtime.executable import Executable

compiled = Compilation(qlower.load(sys.argv[1])).code

system = ctypes.CDLL(None)
address, length, integer = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
system.mmap.restype = address
system.mmap.argtypes = [address, length, integer, integer, integer, ctypes.c_long]
system.munmap.argtypes = [address, length]

def take(size):
    private_anonymous_without_swap = 0x4022
    return system.mmap(None, size, 0, private_anonymous_without_swap, -1, 0)

for bits in range(30, 15, -1):  # the gaps that there are
    for _ in range(32):
        take(1 << bits)
wall = take(8 << 30)
system.munmap(wall + (7 << 30), 1 << 16)  # has room for code, not for weights
(result,) = Executable(compiled)([np.zeros((1, 512), np.int8)])
print(result.shape)
"""


@pytest.mark.long
def test_no_part_is_out_of_reach(tmp_path: Path):
    """RuntimeDyld ends the process where an address is over 2 GiB away."""
    path = tmp_path / "model.mlir"
    weights = np.arange(512 * 512, dtype=np.uint8).tobytes().hex()
    path.write_text(MODEL.replace("WEIGHTS", weights))
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "(1, 512)\n"), ran.stderr
