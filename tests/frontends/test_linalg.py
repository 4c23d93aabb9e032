"""Named `linalg` ops: upstream's own generic form, numpy's sums, and refusals."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.formats.named_ops import EXAMPLES, Example
from support.systems.upstream import find_mlir_opt
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.cli import main
from qlower.compilation.to_arith import lower_to_arith
from qlower.diagnostics import QlowerError
from qlower.dialects.linalg.named import MEMOIZED_MAPS
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.linalg import generalize_named
from qlower.frontends.load import load_text
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module

NATIVE = (
    "batch_matmul",
    "conv_2d_nchw_fchw",
    "conv_2d_nhwc_hwcf_q",
    "copy",
    "depthwise_conv_2d_nhwc_hwc_q",
    "dot",
    "pooling_nhwc_max_unsigned",
    "quantized_matmul",
    "select",
)
"""What runs as native code in every run of the tests; the rest in the long ones."""


FLOATS = """
#map = affine_map<(n) -> (n)>
!f = tensor<6xf32>
!b = tensor<6xi8>
func.func @main(%x: !f, %y: !b) -> (!b, !b) {
  %0 = linalg.copy ins(%x : !f) outs(%x : !f) -> !f
  %a, %b = linalg.generic
      {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%0 : !f) outs(%y, %y : !b, !b) {
  ^bb0(%in: f32, %one: i8, %other: i8):
    %signed = arith.fptosi %in : f32 to i8
    %unsigned = arith.fptoui %in : f32 to i8
    linalg.yield %signed, %unsigned : i8, i8
  } -> (!b, !b)
  return %a, %b : !b, !b
}
"""


def parsed(text: str) -> ModuleOp:
    module = parse_module(text)
    verify_module(module)
    return module


def generic(text: str) -> ModuleOp:
    """The module with nothing but `linalg.generic`, and without upstream's notes."""
    module = parsed(text)
    generalize_named(module)
    verify_module(module)
    for op in module.walk():
        op.attributes.pop(MEMOIZED_MAPS, None)
    return module


def upstream(text: str, *options: str) -> str:
    """What mlir-opt makes of the text."""
    command = [str(find_mlir_opt()), *options, "-"]
    run = subprocess.run(command, input=text, text=True, capture_output=True)
    assert run.returncode == 0, run.stderr[:2000]
    return run.stdout


@pytest.mark.long
@pytest.mark.skipif(find_mlir_opt() is None, reason="needs mlir-opt of LLVM 22")
def test_upstream_says_the_same_of_all():
    """Both of its forms are read, ours is; and its generic ops are ours."""
    text = "".join(example.text() for example in EXAMPLES)
    ours = str(parsed(text))
    expected = generic(upstream(text, "--linalg-generalize-named-ops"))
    for given in (
        text,
        ours,
        upstream(ours),
        upstream(text, "--mlir-print-op-generic"),
    ):
        module = generic(given)
        assert len(module.body.ops) == len(EXAMPLES)
        assert module.is_structurally_equivalent(expected)


def model(example: Example) -> qlower.Model:
    return load_text(example.text().encode(), "model.mlir", ImportOptions())


@pytest.mark.parts(12)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.kind)
def test_numpy_says_the_same(example: Example):
    inputs = example.inputs(np.random.default_rng(0))
    result = qlower.interpret(model(example), *inputs)
    np.testing.assert_array_equal(result, example.answer(inputs))


@pytest.mark.parts(6)
@pytest.mark.parametrize(
    "example",
    [
        pytest.param(e, marks=[] if e.kind in NATIVE else [pytest.mark.long])
        for e in EXAMPLES
    ],
    ids=lambda example: example.kind,
)
def test_native_code(example: Example):
    inputs = example.inputs(np.random.default_rng(0))
    if example.kind in ("div", "div_unsigned"):  # of integers
        with pytest.raises(QlowerError, match="has no result for a divisor of 0"):
            qlower.jit(model(example))
        return
    np.testing.assert_array_equal(
        qlower.jit(model(example))(*inputs), example.answer(inputs)
    )


NETWORK = Path(__file__).with_name("linalg") / "network.mlir"
CASTS = Path(__file__).with_name("linalg") / "casts.mlir"


@pytest.mark.parts(2)
@pytest.mark.skipif(find_mlir_opt() is None, reason="needs mlir-opt of LLVM 22")
@pytest.mark.parametrize("path", [NETWORK, CASTS], ids=lambda path: path.stem)
def test_upstream_texts_of_a_network(path: Path, tmp_path: Path):
    """What mlir-opt prints, in both forms and generalized, gives the same bits."""
    x = np.random.default_rng(1).integers(-128, 128, qlower.load(path).inputs[0].shape)
    expected = qlower.interpret(path, x.astype(np.int8))
    for option in ("--mlir-print-op-generic", "--linalg-generalize-named-ops", ""):
        printed = tmp_path / "printed.mlir"
        printed.write_text(upstream(path.read_text(), *([option] if option else [])))
        results = qlower.jit(printed)(x.astype(np.int8))
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, wanted)


def test_what_torch_mlir_writes():
    """Weights at the end of the file, and a variable that no operation reads."""
    x = np.array([[100, -128, 7, 127]], np.int8)
    weight = np.arange(1, 9).reshape(4, 2)
    expected = (x.astype(np.int32) - 7) @ weight + [5, -6]
    path = NETWORK.with_name("torch.mlir")
    np.testing.assert_array_equal(qlower.jit(path)(x), expected)
    np.testing.assert_array_equal(qlower.interpret(path, x), expected)


def test_layers_keep_their_names():
    names = list(qlower.load(NETWORK).full_names)
    assert [
        name for name in names if name in ("conv", "depthwise", "pool", "product")
    ] == ["conv", "depthwise", "pool", "product"]


def test_floats_out_of_range():
    """Upstream leaves them without a result; here they become the next number."""
    model = load_text(FLOATS.encode(), "model.mlir", ImportOptions())
    x = np.array([-1e30, -1.99, 1.99, 200.5, 1e30, np.nan], np.float32)
    for run in (qlower.jit(model), lambda *given: qlower.interpret(model, *given)):
        signed, unsigned = run(x, np.zeros(6, np.int8))
        np.testing.assert_array_equal(signed, [-128, -1, 1, 127, 127, 0])
        np.testing.assert_array_equal(unsigned.view(np.uint8), [0, 0, 1, 200, 255, 0])


@pytest.mark.parametrize("command", ["inspect", "lint", "import"])
def test_commands(command: str):
    assert main([command, str(NETWORK)]) == 0


def test_beside_quantized_operations():
    """Below a load, named operations are a pass's to take away."""
    module = parsed(CASTS.read_text())
    with pytest.raises(QlowerError, match=r"linalg.matmul can't stand beside qnn"):
        lower_to_arith(module)
