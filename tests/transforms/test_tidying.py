"""Our canonicalize, cse and dce leave what xDSL's leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.layers.programs import read_program
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms import canonicalize, dead_code_elimination
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)

from qlower.model.printing import exact_module
from qlower.text.context import make_context
from qlower.text.parsing import parse_module
from qlower.transforms.lower_qnn import LowerQnnPass
from qlower.transforms.tidying import CanonicalizePass, CsePass, DcePass

PROGRAMS = sorted((Path(__file__).parent / "arith").glob("*.mlir"))

PAIRS: list[tuple[Callable[[], ModulePass], Callable[[], ModulePass]]] = [
    (CanonicalizePass, canonicalize.CanonicalizePass),
    (CsePass, CommonSubexpressionElimination),
    (DcePass, dead_code_elimination.DeadCodeElimination),
]

SCOPES = """
func.func @scopes(%x: tensor<4xi32>, %a: i32, %b: i1) -> (tensor<4xi32>, i32) {
  %zero = arith.constant 0 : i32
  %same = arith.constant 0 : i32
  %unused = arith.addi %a, %zero : i32
  %kept = arith.addi %a, %same : i32
  %empty = tensor.empty() : tensor<4xi32>
  %other = tensor.empty() : tensor<4xi32>
  %one = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>,
      affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi32>) outs(%empty : tensor<4xi32>) {
  ^bb0(%in: i32, %out: i32):
    %inner = arith.constant 0 : i32
    %shift = arith.constant 3 : i32
    %again = arith.constant 3 : i32
    %u = arith.shli %in, %shift : i32
    %v = arith.shli %in, %again : i32
    %w = arith.muli %u, %v : i32
    %n = arith.addi %w, %inner : i32
    linalg.yield %n : i32
  } -> tensor<4xi32>
  %two = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>,
      affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%one : tensor<4xi32>) outs(%other : tensor<4xi32>) {
  ^bb0(%in: i32, %out: i32):
    %shift = arith.constant 3 : i32
    %n = arith.subi %in, %shift : i32
    %dead = arith.muli %n, %n : i32
    linalg.yield %n : i32
  } -> tensor<4xi32>
  %p = arith.select %b, %kept, %kept : i32
  return %two, %p : tensor<4xi32>, i32
}
func.func @blocks(%a: i32, %b: i1) -> i32 {
  %zero = arith.constant 0 : i32
  cf.cond_br %b, ^bb1, ^bb2
^bb1:
  %u = arith.addi %a, %zero : i32
  %dead = arith.muli %a, %a : i32
  cf.br ^bb2
^bb2:
  %v = arith.addi %a, %a : i32
  %w = arith.addi %a, %a : i32
  %x = arith.muli %v, %w : i32
  return %x : i32
}
"""

LAYERS = """
!in = !quant.uniform<i8:f32, 0.5:3>
!weight = !quant.uniform<i8:f32, 0.125>
!out = !quant.uniform<i8:f32, 0.25:-7>
module attributes {qnn.contract = "tflite"} {
  func.func @main(%x: tensor<1x4x4x3x!in>) -> tensor<1x2x2x4x!out> {
    %w = qnn.constant dense<5> : tensor<4x3x3x3xi8> -> tensor<4x3x3x3x!weight>
    %y = qnn.conv2d %x, %w {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
        : (tensor<1x4x4x3x!in>, tensor<4x3x3x3x!weight>) -> tensor<1x2x2x4x!out>
    %z = qnn.add %y, %y
        : (tensor<1x2x2x4x!out>, tensor<1x2x2x4x!out>) -> tensor<1x2x2x4x!out>
    return %z : tensor<1x2x2x4x!out>
  }
}
"""


def assert_same(module: ModuleOp) -> int:
    """How many of the passes changed the module, on their way through it."""
    changes = 0
    for ours, theirs in PAIRS:
        expected = module.clone()
        theirs().apply(make_context(), expected)
        before = exact_module(module)
        ours().apply(make_context(), module)
        after = exact_module(module)
        assert after == exact_module(expected), ours
        changes += after != before
    return changes


@pytest.mark.parts(12)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs(path: Path):
    assert_same(read_program(path))


def test_scopes_and_blocks():
    assert assert_same(parse_module(SCOPES, "scopes.mlir")) == 2


def test_lowered_layers():
    module = parse_module(LAYERS, "layers.mlir")
    LowerQnnPass().apply(make_context(), module)
    assert assert_same(module) == 2


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_each_alone(ours: Callable[[], ModulePass], theirs: Callable[[], ModulePass]):
    one, other = (parse_module(SCOPES, "scopes.mlir") for _ in range(2))
    ours().apply(make_context(), one)
    theirs().apply(make_context(), other)
    assert exact_module(one) == exact_module(other)
