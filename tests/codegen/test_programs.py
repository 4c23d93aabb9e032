"""Programs of the arith level as native code, fused and between guard pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.layers.programs import read_program
from support.machines.native import guarded_runs, machine_levels

from qlower.codegen.program.module import compile_module
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.interp import run_function
from qlower.model.entry import main_function

pytestmark = pytest.mark.usefixtures("verify_each")

PROGRAMS = sorted((Path(__file__).parents[1] / "transforms/arith").glob("*.mlir"))


@pytest.mark.parts(24)
@pytest.mark.parametrize("level", ["x86-64", "host"])
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_same_bits(path: Path, level: str):
    target = machine_levels()[level]
    arith = read_program(path)
    compiled = compile_module(lower_to_kernel(arith, target), target)
    rng = np.random.default_rng(0)
    empty = [np.empty(s.shape, s.numpy_dtype) for s in compiled.signature.inputs]
    inputs = [
        np.frombuffer(rng.bytes(x.nbytes), x.dtype).reshape(x.shape) for x in empty
    ]
    name = main_function(arith).sym_name.data
    expected = run_function(arith, name, [x.view(f"i{x.itemsize}") for x in inputs])
    for outputs in guarded_runs(compiled, inputs):
        for got, want in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(got.view(want.dtype), want)
