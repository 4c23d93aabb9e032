"""Contractions in tile registers: all shapes that can be cut, and who gets them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.layers.windows import Window, build, sampled
from support.machines.native import compile_text, guarded_runs

import qlower
from qlower.codegen.skeletons.tile_registers import plan as tile_plan
from qlower.codegen.targets.resolve import host_target, resolve_target

needs_tiles = pytest.mark.skipif(
    host_target().tiles is None, reason="this machine has no tile registers"
)


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch):
    """Tiles wherever they are possible, not only where they are faster."""
    monkeypatch.setattr(tile_plan, "product_cycles", lambda *_: 0.0)


CASES = [
    *(sampled(seed, depthwise=False) for seed in range(100, 124)),
    # odd and even numbers of registers along a row, and of rows of one register
    *(Window(rows, columns, 16, 20, (3, 3)) for rows in (3, 5) for columns in (4, 9)),
    *(Window(1, columns, 64, 33, zero_x=-5) for columns in (15, 17, 31, 49, 65, 100)),
    # few channels: pixels that are finished together, and some that are left over
    *(Window(3, 21, 32, outputs, (1, 3)) for outputs in (1, 8, 16, 24, 40, 48, 56)),
    # short runs, read with their neighbours
    *(Window(6, 9, channels, 16, (3, 3), (2, 2)) for channels in (1, 2, 3)),
    Window(5, 20, 1, 8, (2, 3), dilation=(2, 1), unsigned_w=True, zero_w=128),
    Window(5, 20, 1, 8, (1, 3)),
    # runs that aren't whole pieces, many steps, sums of activations
    *(Window(4, 18, channels, 70, (2, 1)) for channels in (5, 63, 65, 100, 129)),
    Window(5, 5, 130, 9, (4, 3), dilation=(1, 2), zero_w=None),
    Window(6, 7, 33, 40, (3, 3), unsigned_w=True, zero_w=200, zero_x=7),
    Window(6, 20, 36, 34, (1, 1), groups=2, unsigned_x=True, zero_w=-128),
]


@needs_tiles
def test_windows():
    """The bits of numpy, and nothing touched outside of input and output."""
    target = resolve_target(cpu="x86-64-v4", features="+avx512vnni,+amx-int8")
    with_tiles = 0
    for case in CASES:
        text, x, want = build(case, 0)
        compiled = compile_text(text, target)
        with_tiles += "tdpb" in compiled.llvm_text
        for (result,) in guarded_runs(compiled, [x]):
            np.testing.assert_array_equal(result.reshape(want.shape), want, str(case))
    assert with_tiles > len(CASES) / 2


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    ("triple", "cpu", "features", "expected"),
    [
        ("x86_64-linux-gnu", "sapphirerapids", "", True),
        ("x86_64-linux-gnu", "sapphirerapids", "-amx-int8", False),
        ("x86_64-linux-gnu", "sapphirerapids", "-amx-tile", False),
        ("x86_64-linux-gnu", "icelake-server", "+amx-int8", True),
        ("x86_64-linux-gnu", "icelake-server", "", False),
        ("x86_64-linux-gnu", "haswell", "+amx-int8", False),
        ("x86_64-none-elf", "sapphirerapids", "", False),
    ],
)
def test_who_has_tiles(triple: str, cpu: str, features: str, expected: bool):
    target = resolve_target(triple, cpu, features)
    assert (target.tiles is not None) == expected
    text, _, _ = build(Window(4, 20, 64, 32), 0)
    assembly = compile_text(text, target).assembly()
    assert ("tdpbssd" in assembly) == ("ldtilecfg" in assembly) == expected


_MODEL = """
!x = !quant.uniform<i8:f32, 7.812500e-03:-128>
!w = !quant.uniform<i8<-127:127>:f32, 3.906250e-03>
module attributes {qnn.contract = "tflite"} {
func.func @main(%image: tensor<1x16x16x64x!x>) -> tensor<1x16x16x32x!x> {
  %w = qnn.constant dense<3> : tensor<32x1x1x64xi8> -> tensor<32x1x1x64x!w>
  %b = arith.constant dense<5> : tensor<32xi32>
  %y = qnn.conv2d %image, %w, %b
    {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
    : (tensor<1x16x16x64x!x>, tensor<32x1x1x64x!w>, tensor<32xi32>)
    -> tensor<1x16x16x32x!x>
  return %y : tensor<1x16x16x32x!x>
}
}
"""

_REFUSED = """
import ctypes, sys
import numpy as np
import qlower
from qlower.codegen.targets.resolve import host_target

class Stack(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("size", ctypes.c_size_t)]

# Linux refuses tiles where they don't fit the stack that signals are handled on
memory = ctypes.create_string_buffer(8192)
stack = Stack(ctypes.addressof(memory), 0, len(memory))
assert ctypes.CDLL(None).sigaltstack(ctypes.byref(stack), None) == 0
assert host_target().tiles is None
model, library = sys.argv[1:]
print(qlower.load_compiled(library).level)
try:
    qlower.jit(model, cpu="sapphirerapids")
except qlower.QlowerError as error:
    print(error)
"""


@needs_tiles
def test_refused(tmp_path: Path):
    """Without the system's permission a lesser level runs, or nothing."""
    model = tmp_path / "wide.mlir"
    model.write_text(_MODEL)
    levels = ["icelake-server", "sapphirerapids"]
    qlower.compile(model, cpu=levels).save(tmp_path, emit=["shared"])
    library = qlower.load_compiled(tmp_path)
    assert library.level == "sapphirerapids"
    x = np.arange(1 << 14).astype(np.int8).reshape(1, 16, 16, 64)
    np.testing.assert_array_equal(library(x), qlower.interpret(model, x))
    done = subprocess.run(
        [sys.executable, "-c", _REFUSED, str(model), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("icelake-server\n")
    assert "--features=-amx-tile" in done.stdout
