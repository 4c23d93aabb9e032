"""Bytes that are made of other bytes: proofs by looking at all of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from support.machines.native import machine_levels
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.compilation.compilation import Compilation
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_code import generate_code
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.dialects import qnn
from qlower.dialects.kernel import NestOp
from qlower.interp.values import Array
from qlower.model.build import make_module, quantized
from qlower.runtime.executable import Executable
from qlower.runtime.executors import Level
from qlower.text.context import make_context
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module
from qlower.transforms.form_kernels import FormKernelsPass
from qlower.transforms.prove_epilogues import Machine, Proof, prove_epilogues
from qlower.transforms.prove_epilogues.best_plane import best_plane

pytestmark = pytest.mark.usefixtures("verify_each")

EVERY_BYTE = np.arange(256, dtype=np.uint8)
PAIRS = tuple(np.ascontiguousarray(x) for x in np.meshgrid(EVERY_BYTE, EVERY_BYTE))
SCALES = {"random": (0.0731, 0.1377, 0.1129), "ties": (0.25, 0.25, 0.5)}
ZERO_POINTS = (3, -100, 7)


def binary(
    op: type[qnn.AddOp | qnn.SubOp | qnn.MulOp], scales: Sequence[float], signed: bool
) -> ModuleOp:
    """All pairs of bytes, as [256, 256] each."""
    lhs, rhs, result = (
        quantized([256, 256], scale, zero if signed else zero + 128, signed=signed)
        for scale, zero in zip(scales, ZERO_POINTS, strict=True)
    )
    return make_module([lhs, rhs], lambda a, b: [op(a, b, result).result])


def proved(
    arith: ModuleOp, *, fused: bool = True, mended: bool = True, tables: int = 0
) -> tuple[list[Proof], ModuleOp]:
    """What is proved of an arith-level module's kernels, and these."""
    kernels = arith.clone()
    FormKernelsPass().apply(make_context(), kernels)
    machine = Machine(fused=fused, mended=mended, tables=tables)
    proofs = prove_epilogues(kernels, machine)
    verify_module(kernels)
    return proofs, kernels


def names(module: ModuleOp) -> set[str]:
    nests = (op for op in module.walk() if isinstance(op, NestOp))
    return {op.name for nest in nests for op in nest.epilogue.walk()}


def run(module: ModuleOp, at: Level, inputs: Sequence[Array]) -> Array:
    return Compilation(qlower.Model(module)).interpreter(at).run(inputs, {})[0][0]


OPERATORS = {"add": qnn.AddOp, "sub": qnn.SubOp, "mul": qnn.MulOp}
PLANES = [
    *product(["tflite", "tflite-xnnpack", "tflite-ruy", "tosa"], ["add", "sub"]),
    *product(["pytorch-fbgemm", "pytorch-qnnpack", "onnxruntime"], ["add", "mul"]),
    *product(["tflite", "gemmlowp", "tflite-single", "tosa", "tvm"], ["mul"]),
]


@pytest.mark.parts(76)
@pytest.mark.parametrize(("turn", "case"), [*enumerate(PLANES)])
def test_every_pair_keeps_its_result(turn: int, case: tuple[str, str]):
    contract, operator = case
    signed = turn % 2 == 0
    module = binary(OPERATORS[operator], SCALES["random"], signed)
    arith = lower_to_arith(module, contract)
    inputs = [x.view(np.int8) if signed else x for x in PAIRS]
    expected = run(arith, "arith", inputs)
    proofs, kernels = proved(arith)
    assert [proof.proved for proof in proofs] == [1]
    assert "math.fma" in names(kernels)
    assert not names(kernels) & {"fixed.shift_right", "kernel.index"}
    _, apart = proved(arith, fused=False)
    for module in (kernels, apart):
        np.testing.assert_array_equal(run(module, "kernel", inputs), expected)
    levels = machine_levels()
    level = levels[list(levels)[turn % len(levels)]]
    native = Executable(generate_code(lower_to_kernel(arith, level), level))
    np.testing.assert_array_equal(native(inputs)[0], expected)


@pytest.mark.parts(8)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("contract", ["tflite", "tvm", "glow-cpu"])
def test_ties_keep_their_results(contract: str, operator: str):
    """Where no plane has the same ties, what the contract says is left."""
    arith = lower_to_arith(binary(OPERATORS[operator], SCALES["ties"], True), contract)
    inputs = [x.view(np.int8) for x in PAIRS]
    _, kernels = proved(arith)
    expected = run(arith, "arith", inputs)
    np.testing.assert_array_equal(run(kernels, "kernel", inputs), expected)


def test_what_is_no_plane_stays():
    """TVM rounds each operand before it adds them."""
    arith = lower_to_arith(binary(qnn.AddOp, SCALES["random"], True), "tvm")
    (proof,), kernels = proved(arith)
    assert proof.form is None
    assert "fixed.shift_right" in names(kernels)


def test_integers_stay_where_they_round_fast():
    """A rounding product that is one instruction is as good as a conversion."""
    arith = lower_to_arith(binary(qnn.MulOp, SCALES["random"], True), "tflite")
    (proof,), kernels = proved(arith, mended=False)
    assert proof.form is None
    assert "fixed.shift_right" in names(kernels)
    (proof,), _ = proved(arith)
    assert proof.form == "odd fma of product"


UNARY = {
    "copy": "%y = fixed.saturate %wide : i32 to i8",
    "xor": """
      %c128 = arith.constant 128 : i32
      %moved = arith.addi %wide, %c128 : i32
      %y = arith.trunci %moved : i32 to i8""",
    "clamp": """
      %low = arith.constant -17 : i32
      %high = arith.constant 99 : i32
      %raised = arith.maxsi %wide, %low : i32
      %limited = arith.minsi %raised, %high : i32
      %y = fixed.saturate %limited : i32 to i8""",
    "fma": """
      %real = arith.sitofp %wide : i32 to f32
      %scale = arith.constant 1.2345 : f32
      %offset = arith.constant 3.1 : f32
      %product = arith.mulf %real, %scale : f32
      %sum = arith.subf %product, %offset : f32
      %twice = arith.addf %sum, %sum : f32
      %half = arith.constant 0.5 : f32
      %once = arith.mulf %twice, %half : f32
      %rounded = fixed.convert %once {rounding = half_away} : f32 to i32
      %y = fixed.saturate %rounded : i32 to i8""",
    "table": """
      %square = arith.muli %wide, %wide : i32
      %c7 = arith.constant 7 : i32
      %y32 = arith.shrsi %square, %c7 : i32
      %y = fixed.saturate %y32 : i32 to i8""",
}


@pytest.mark.parts(4)
@pytest.mark.parametrize(
    ("form", "tables"),
    [*((form, 0) for form in UNARY if form != "table"), ("table", 4), ("fma", 12)],
)
def test_functions_of_one_byte(form: str, tables: int):
    """The cheapest form, with a look at a table that costs so much, or without one."""
    module = parse_module(
        f"""
  func.func @main(%x: tensor<256xi8>) -> tensor<256xi8> {{
    %r = kernel.nest map parallel [256]
      maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
      ins(%x : tensor<256xi8>) epilogue {{
    ^bb0(%a: i8):
      %wide = arith.extsi %a : i8 to i32
      {UNARY[form]}
      kernel.yield %y : i8
    }} -> tensor<256xi8>
    func.return %r : tensor<256xi8>
  }}""",
        "test.mlir",
    )
    inputs = [EVERY_BYTE.view(np.int8)]
    expected = run(module, "kernel", inputs)
    (proof,) = prove_epilogues(module, Machine(tables=tables))
    verify_module(module)
    assert str(proof) == form
    np.testing.assert_array_equal(run(module, "kernel", inputs), expected)


@pytest.mark.long
def test_a_sum_of_bytes_inside_of_an_epilogue():
    """What follows an 8-bit value is proved apart from what makes that value."""
    random = np.random.default_rng(0)
    weights = random.integers(-127, 128, (8, 4), np.int8)
    module = parse_module(
        f"""
  func.func @main(%x: tensor<4xi8>, %z: tensor<8xi8>) -> tensor<8xi8> {{
    %w = arith.constant dense<{weights.tolist()}> : tensor<8x4xi8>
    %r = kernel.nest contraction parallel [8] reduction [4]
      maps [affine_map<(o, i) -> (i)>, affine_map<(o, i) -> (o, i)>,
        affine_map<(o, i) -> (o)>, affine_map<(o, i) -> (o)>]
      ins(%x, %w, %z : tensor<4xi8>, tensor<8x4xi8>, tensor<8xi8>) init {{
    ^bb0(%a: i8, %f: i8, %b: i8):
      %zero = arith.constant 0 : i32
      kernel.yield %zero : i32
    }} body {{
    ^bb0(%a: i8, %f: i8, %b: i8, %sum: i32):
      %a32 = arith.extsi %a : i8 to i32
      %f32 = arith.extsi %f : i8 to i32
      %product = arith.muli %a32, %f32 : i32
      %next = arith.addi %sum, %product : i32
      kernel.yield %next : i32
    }} epilogue {{
    ^bb0(%a: i8, %f: i8, %b: i8, %acc: i32):
      %m = arith.constant 1234567891 : i64
      %c39 = arith.constant 39 : i64
      %acc64 = arith.extsi %acc : i32 to i64
      %p = arith.muli %acc64, %m : i64
      %r64 = fixed.shift_right %p, %c39 {{rounding = half_away}} : i64
      %q = fixed.saturate %r64 : i64 to i8
      %q64 = arith.extsi %q : i8 to i64
      %b64 = arith.extsi %b : i8 to i64
      %n = arith.constant 987654321 : i64
      %c30 = arith.constant 30 : i64
      %qm = arith.muli %q64, %m : i64
      %bn = arith.muli %b64, %n : i64
      %s = arith.addi %qm, %bn : i64
      %s64 = fixed.shift_right %s, %c30 {{rounding = half_up}} : i64
      %y = fixed.saturate %s64 : i64 to i8
      kernel.yield %y : i8
    }} -> tensor<8xi8>
    func.return %r : tensor<8xi8>
  }}""",
        "test.mlir",
    )
    before = module.clone()
    proofs = prove_epilogues(module, Machine())
    verify_module(module)
    assert [(proof.form, proof.proved) for proof in proofs] == [
        ("2 x fma", 1),
        ("fma", 8),
    ]
    for _ in range(5):
        inputs = [random.integers(-128, 128, size, np.int8) for size in (4, 8)]
        np.testing.assert_array_equal(
            run(module, "kernel", inputs), run(before, "kernel", inputs)
        )


@pytest.mark.parametrize("seed", range(5))
def test_the_best_plane(seed: int):
    """No plane that is looked at is nearer."""
    random = np.random.default_rng(seed)
    x, y = (axis.reshape(-1) for axis in np.meshgrid(*[np.arange(-8, 8)] * 2))
    columns = np.stack([x, y, np.ones_like(x)], axis=1).astype(float)
    real = columns @ random.uniform(-1, 1, 3) + random.uniform(0, 0.7, len(x))
    values = np.clip(np.rint(real), -5, 6).astype(np.int64)

    def distance(coefficients: Array) -> float:
        off = columns @ coefficients - values
        inside = np.where(values == -5, np.maximum(off, 0), off)
        return float(np.abs(np.where(values == 6, np.minimum(off, 0), inside)).max())

    best = best_plane(columns, values)
    assert best is not None
    coefficients, least = best
    assert distance(coefficients) == pytest.approx(least)
    for _ in range(500):
        other = coefficients + random.normal(0, 0.05, 3)
        assert distance(other) >= least - 1e-9
