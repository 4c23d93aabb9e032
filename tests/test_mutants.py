"""Mutated modules and contracts: refused at their place, or run alike everywhere.

Native code runs between pages that can't be touched. $QLOWER_TEST_MUTANTS is how many
mutants of each kind there are; another $QLOWER_TEST_MUTANTS_SEED draws others.
"""

from __future__ import annotations

import math
import os
import random
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.mutants import judge_all, mutate
from support.native import guarded_runs
from support.programs import read_program
from support.small_model import SMALL_MODEL
from support.tosa import TOSA_LAYER

from qlower.codegen.program.module import compile_module
from qlower.codegen.targets.resolve import host_target
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.linalg import complete_linalg
from qlower.frontends.tosa import complete_tosa
from qlower.interp import run_function
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.layers import has_dialect
from qlower.model.printing import exact_module
from qlower.model.signature import TensorSpec
from qlower.pipeline import lower_to_arith, lower_to_kernel
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module

pytestmark = pytest.mark.usefixtures("verify_each")

MUTANTS = int(os.environ.get("QLOWER_TEST_MUTANTS", "15"))
SEED = os.environ.get("QLOWER_TEST_MUTANTS_SEED", "0")
LARGEST = 1 << 16
"""Elements of all inputs and outputs of a mutant that is run."""

PROGRAMS = sorted((Path(__file__).parent / "transforms" / "arith").glob("*.mlir"))
LINALG_MODULES = sorted((Path(__file__).parent / "frontends" / "linalg").glob("*.mlir"))
TOSA_MODULES = sorted((Path(__file__).parent / "frontends" / "tosa").glob("*.mlir"))

CONTRACT = """module attributes {contract.base = "exact"} {
func.func @requantize(
    %x: i32 {contract.value = "input"}, %scale: f32 {contract.value = "input_scale"},
    %out: f32 {contract.value = "output_scale"},
    %zp: i32 {contract.value = "output_zero_point"}) -> i32 {
  %ratio = arith.divf %scale, %out : f32
  %unit = arith.constant 4096.0 : f32
  %scaled = arith.mulf %ratio, %unit : f32
  %multiplier = fixed.convert %scaled {rounding = half_even} : f32 to i32
  %wide = arith.extsi %x : i32 to i64
  %m = arith.extsi %multiplier : i32 to i64
  %product = arith.muli %wide, %m : i64
  %c12 = arith.constant 12 : i64
  %high = fixed.shift_right %product, %c12 {rounding = half_up} : i64
  %y = fixed.saturate %high : i64 to i32
  %r = arith.addi %y, %zp : i32
  return %r : i32
}
}
"""
REQUANTIZED = """module attributes {qnn.contract = "exact"} {
func.func @main(%x: tensor<2x9x!quant.uniform<i8:f32, 0.5:3>>)
    -> tensor<2x9x!quant.uniform<i8:f32, 0.25:-1>> {
  %y = qnn.requantize %x : (tensor<2x9x!quant.uniform<i8:f32, 0.5:3>>)
      -> tensor<2x9x!quant.uniform<i8:f32, 0.25:-1>>
  return %y : tensor<2x9x!quant.uniform<i8:f32, 0.25:-1>>
}
}
"""


def seeds(kind: str) -> list[str]:
    match kind:
        case "qnn":
            return [SMALL_MODEL, REQUANTIZED]
        case "contract":
            return [CONTRACT, CONTRACT.replace('contract.base = "exact"', "")]
        case "tosa":
            return [path.read_text() for path in (TOSA_LAYER, *TOSA_MODULES)]
        case "linalg":
            return [path.read_text() for path in LINALG_MODULES]
        case "arith":
            return [str(read_program(path)) for path in PROGRAMS]
        case _:
            modules = [parse_module(SMALL_MODEL), *map(read_program, PROGRAMS)]
            return [
                str(lower_to_kernel(lower_to_arith(module), host_target()))
                for module in modules
            ]


def random_input(spec: TensorSpec, random: np.random.Generator) -> Array:
    if spec.numpy_dtype.kind == "f":
        values = random.normal(size=spec.shape) * 100
        values.flat[:3] = [np.nan, np.inf, -np.inf][: values.size]
        return values.astype(spec.numpy_dtype)
    raw = random.integers(0, 256, (*spec.shape, spec.numpy_dtype.itemsize), np.uint8)
    if spec.numpy_dtype.kind == "b":
        raw %= 2
    return raw.view(spec.numpy_dtype).reshape(spec.shape)


def judge(text: str, contract: Path | None = None) -> str:
    """ "refused" with a place, "alike", or a fault."""
    try:
        if contract is not None:
            contract.write_text(text)
            text = REQUANTIZED
        module = parse_module(text, "mutant.mlir")
        verify_module(module)
        if has_dialect(module, "tosa"):
            complete_tosa(module, ImportOptions())
        complete_linalg(module)
        model = Model(module)
        ports = (*model.inputs, *model.outputs)
        if sum(math.prod(spec.shape) for spec in ports) > LARGEST:
            return "too large"
        name = None if contract is None else str(contract)
        arith = lower_to_arith(model.module, name)
        kernel = lower_to_kernel(arith, host_target())
        compiled = compile_module(kernel, host_target())
    except QlowerError as error:
        return "refused" if str(error).strip() else "fault: an empty message"
    random = np.random.default_rng(1)
    inputs = [random_input(spec, random) for spec in model.inputs]
    entry = main_function(arith).sym_name.data
    want = run_function(arith, entry, inputs)
    for outputs in guarded_runs(compiled, inputs):
        for output, right in zip(outputs, want, strict=True):
            np.testing.assert_array_equal(output.view(right.dtype), right)
    again = parse_module(exact_module(arith))
    for output, right in zip(run_function(again, entry, inputs), want, strict=True):
        np.testing.assert_array_equal(output, right)
    return "alike"


@pytest.mark.parametrize(
    "kind", ["qnn", "tosa", "linalg", "arith", "kernel", "contract"]
)
def test_mutants(kind: str, tmp_path: Path) -> None:
    choice = random.Random(f"{kind} {SEED}")
    originals = seeds(kind)
    count = MUTANTS * (3 if kind == "linalg" else 1)
    mutants = [mutate(choice.choice(originals), choice) for _ in range(count)]
    path = tmp_path / "mutant.mlir" if kind == "contract" else None
    texts = [*originals[:2], *mutants]
    outcomes = judge_all(texts, partial(judge, contract=path))
    print(kind, Counter(outcome[:160] for outcome in outcomes).most_common())
    for text, outcome in zip(texts, outcomes, strict=True):
        assert not outcome.startswith("fault"), f"{outcome}\n{text}"
    assert set(outcomes[: -len(mutants)]) == {"alike"}
