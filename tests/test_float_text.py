"""Floats keep their bits in text, and upstream's mlir-opt reads the same ones."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.systems.upstream import find_mlir_opt
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    ModuleOp,
    TensorType,
    f32,
    f64,
)

from qlower.cli.opt import main as qlower_opt
from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.interp.values import Array
from qlower.model.printing import exact_module
from qlower.text.parsing import parse_module

TYPES = {32: f32, 64: f64}

SPECIAL = {
    32: """0 80000000 1 7FFFFF 800000 7F7FFFFF 7F800000 FF800000 7FC00000 7FC00001
        FFFFFFFF 7F800001 FFBFFFFF 4B000001""",
    64: """0 8000000000000000 1 FFFFFFFFFFFFF 10000000000000 7FEFFFFFFFFFFFFF
        7FF0000000000000 FFF0000000000000 7FF8000000000000 7FF8000000000001
        7FF0000000000001 FFFFFFFFFFFFFFFF""",
}
"""Zeros, denormals, the ends of the range, infinities, quiet and signaling NaNs."""


def bit_patterns(width: int, count: int, random: np.random.Generator) -> Array:
    """Random patterns, small whole numbers, short decimals, and special ones."""
    bits = random.integers(0, 1 << width, count, np.dtype(f"u{width // 8}"))
    kinds = random.integers(0, 4, count)
    whole = random.integers(-(1 << 28), 1 << 28, count).astype(f"f{width // 8}")
    short = np.round(random.normal(size=count), 2).astype(f"f{width // 8}")
    bits = np.where(kinds == 1, whole.view(bits.dtype), bits)
    bits = np.where(kinds == 2, short.view(bits.dtype), bits)
    chosen = random.choice(np.array(special(width), bits.dtype), count)
    return np.where(kinds == 3, chosen, bits)


def special(width: int) -> list[int]:
    return [int(pattern, 16) for pattern in SPECIAL[width].split()]


def is_signaling(pattern: int, width: int) -> bool:
    mantissa = 23 if width == 32 else 52
    rest = pattern % (1 << (width - 1)) - (
        ((1 << (width - mantissa - 1)) - 1) << mantissa
    )
    return 0 < rest < 1 << (mantissa - 1)


def constants(seed: int, *, repeats_signaling: bool = True) -> ModuleOp:
    """Constants of many shapes and both types, splats and zeros of both signs too."""
    random = np.random.default_rng(seed)
    ops: list[arith.ConstantOp] = []
    for width, element in TYPES.items():
        shapes = [(), (1,), (2,), (3, 2), (2, 1, 3), (101,), (2, 60)]
        patterns = [bit_patterns(width, int(np.prod(s)), random) for s in shapes]
        for pattern in special(width):
            if is_signaling(pattern, width) and not repeats_signaling:
                continue
            shapes.append((3,))
            patterns.append(np.full(3, pattern, f"u{width // 8}"))
        shapes += [(4,), (200,)]
        patterns += [
            random.choice(np.array([0, 1 << (width - 1)], f"u{width // 8}"), size)
            for size in (4, 200)
        ]
        for shape, bits in zip(shapes, patterns, strict=True):
            type = TensorType(element, shape)
            ops.append(
                arith.ConstantOp(
                    DenseIntOrFPElementsAttr(type, BytesAttr(bits.tobytes()))
                )
            )
        for value in bit_patterns(width, 40, random).view(f"f{width // 8}"):
            ops.append(arith.ConstantOp(FloatAttr(float(value), element)))
    return ModuleOp(ops)


def values(module: ModuleOp) -> list[str]:
    """The bits of every constant."""
    found: list[str] = []
    for op in module.walk():
        if isinstance(op, arith.ConstantOp):
            match op.value:
                case DenseIntOrFPElementsAttr(data=data):
                    found.append(f"{op.result.type} {data.data.hex()}")
                case FloatAttr(value=number, type=element):
                    found.append(f"{element} {element.pack([number.data]).hex()}")
                case _:
                    raise AssertionError(op)
    return found


@pytest.mark.parts(6)
@pytest.mark.parametrize("seed", range(20))
def test_constants_round_trip(seed: int):
    module = constants(seed)
    assert values(parse_module(exact_module(module))) == values(module)


def test_tool_round_trips(tmp_path: Path):
    module = constants(100)
    for generic in ([], ["--print-op-generic"]):
        source, result = tmp_path / "source.mlir", tmp_path / "result.mlir"
        source.write_text(exact_module(module))
        assert qlower_opt([str(source), "-o", str(result), *generic]) == 0
        assert values(parse_module(result.read_text())) == values(module)


@pytest.mark.skipif(find_mlir_opt() is None, reason="no mlir-opt (extra `mlir`)")
def test_upstream_reads_the_same(tmp_path: Path):
    """It prints all that it has read in hexadecimal, but for repeated elements.

    Repeated signaling NaNs it prints in a form that we refuse.
    """
    tool = find_mlir_opt()
    assert tool is not None
    module = constants(200, repeats_signaling=False)
    source = tmp_path / "source.mlir"
    source.write_text(exact_module(module))
    options = ["--mlir-print-elementsattrs-with-hex-if-larger=0"]
    run = subprocess.run([tool, *options, source], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert values(parse_module(run.stdout)) == values(module)


@pytest.mark.parts(5)
@pytest.mark.parametrize("seed", range(5))
def test_scales_round_trip(seed: int):
    random = np.random.default_rng(seed)
    scales = bit_patterns(32, 200, random).view(np.float32)
    for scale in scales[np.isfinite(scales) & (scales > 0)]:
        type = QuantizedType.per_tensor(8, True, float(scale), 3)
        text = f"func.func private @f(%x: tensor<2x{type}>)"
        module = parse_module(text)
        (argument,) = (op for op in module.walk() if op.name == "func.func")
        assert str(type) in str(argument)
        parsed = parse_module(exact_module(module))
        assert exact_module(parsed) == exact_module(module)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("0x1FFFFFFFF : f32", 21, "int too big"),
        ("1.0e39 : f32", 21, "float too large"),
        ("dense<0x1FFFFFFFF> : tensor<2xf32>", 27, "is not 32 bits of f32"),
        ("dense<-0x1> : tensor<2xf32>", 27, "-0x1 is not 32 bits of f32"),
        ("dense<1.0e39> : tensor<2xf32>", 26, "float too large"),
    ],
)
def test_bits_that_are_no_number(text: str, column: int, message: str):
    with pytest.raises(QlowerError) as caught:
        parse_module(f"func.func @f() {{\n%c = arith.constant {text}\nreturn }}", "m")
    assert str(caught.value).startswith(f"m:2:{column}: error: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "column"),
    [("0x7F800001 : f32", 21), ("dense<0x7F800001> : tensor<2xf32>", 27)],
)
def test_signaling_nans(text: str, column: int):
    """Python makes them quiet ones, up to 3.13; they are refused there."""
    module = f"func.func @f() {{\n%c = arith.constant {text}\nreturn }}"
    bits = bytes.fromhex("0100807f")
    if struct.pack("<f", *struct.unpack("<f", bits)) == bits:
        assert "7f800001" in exact_module(parse_module(module)).lower()
        return
    with pytest.raises(QlowerError) as caught:
        parse_module(module, "m")
    assert str(caught.value).startswith(f"m:2:{column}: error: ")
    assert "0x7f800001 is a signaling NaN" in str(caught.value)
