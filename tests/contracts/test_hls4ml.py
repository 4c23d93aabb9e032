"""hls4ml's sums in fixed point: against Python's integers, and against its own C++.

The variable QLOWER_MAKERS names a folder with a checkout of hls4ml, or its unpacked
package. Nothing of it is kept.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.interp.values import Array
from qlower.text.parsing import parse_module

INPUTS, CHANNELS = 24, 8

SATURATE = """\
func.func private @hold(%x: i64, %bits: i64) -> i64 replaces {
  %places = arith.subi %bits, 1 : i64
  %end = arith.shli 1, %places : i64
  %most = arith.subi %end, 1 : i64
  %least = arith.subi 0, %end : i64
  %above = arith.maxsi %x, %least : i64
  %result = arith.minsi %above, %most : i64
}
"""
HALF_UP = """\
func.func private @round_shift(%x: i64, %places: i64) -> i64 replaces {
  %result = fixed.shift_right %x, %places {rounding = half_up} : i64
}
"""

PROGRAM = """\
#include <cstdio>
#include <vector>
#include "ap_fixed.h"
#include "nnet_utils/nnet_dense_latency.h"
typedef ap_fixed<{bits}, {bits} - {places[0]}> input_t;
typedef ap_fixed<{bits}, {bits} - {places[1]}> weight_type;
typedef ap_fixed<{bits}, {bits} - {places[2]}, {modes}> result_t;
struct config {{
  static const unsigned n_in = {inputs}, n_out = {channels}, reuse_factor = 1;
  static const unsigned multiplier_limit = 0;
  typedef ap_fixed<{accum}, {modes}> accum_t;
  typedef accum_t bias_t;
  typedef weight_type weight_t;
  template <class x_T, class y_T> using product = nnet::product::mult<x_T, y_T>;
}};
static int read() {{ int code; return fread(&code, 4, 1, stdin) == 1 ? code : 0; }}
int main() {{
  const int rows = read();
  static weight_type weights[{inputs} * {channels}];
  static config::accum_t biases[{channels}];
  for (auto &weight : weights) weight.range() = read();
  for (auto &bias : biases) bias.range() = read();
  for (int row = 0; row < rows; row++) {{
    input_t x[{inputs}];
    result_t y[{channels}];
    for (auto &one : x) one.range() = read();
    nnet::dense_latency<input_t, result_t, config>(x, y, weights, biases);
    for (auto &one : y) {{
      ap_int<{bits}> code;
      code.range() = one.range();
      const int number = code;
      fwrite(&number, 4, 1, stdout);
    }}
  }}
}}
"""


@dataclass(frozen=True)
class Types:
    """The bits of a layer's codes, the places behind the points of input, weight and
    result, accum_t's bits and places, and whether Q is AP_RND and O AP_SAT."""

    bits: int
    places: tuple[int, int, int]
    accum: tuple[int, int] = (16, 10)
    rounds: bool = False
    saturates: bool = False

    def contract(self, folder: Path) -> str:
        """A contract based on hls4ml's."""
        path = folder / "types.mlir"
        constants = [
            f"func.func private @{name}() -> i64 replaces "
            f"{{ %result = arith.constant {number} : i64 }}\n"
            for name, number in zip(
                ("accum_bits", "accum_places"), self.accum, strict=True
            )
        ]
        parts = [HALF_UP * self.rounds, SATURATE * self.saturates]
        path.write_text(
            'module attributes {contract.base = "hls4ml", contract.words} {\n'
            f"{''.join(constants + parts)}}}\n"
        )
        return str(path)

    def model(self, rows: int, weights: Array, biases: Array) -> qlower.Model:
        """A linear layer; biases are in steps of accum_t."""
        x, w, y = (
            f"!quant.uniform<i{self.bits}:f32, {2.0**-places!r}>"
            for places in self.places
        )
        moved = self.places[0] + self.places[1] - self.accum[1]
        start = biases.astype(np.int64) << moved
        kind = "i32" if self.bits == 8 else "i64"
        module = parse_module(
            f"""\
func.func @main(%x: tensor<{rows}x{INPUTS}x{x}>) -> tensor<{rows}x{CHANNELS}x{y}> {{
  %w = qnn.constant dense<{weights.tolist()}> : tensor<{CHANNELS}x{INPUTS}xi{self.bits}>
      -> tensor<{CHANNELS}x{INPUTS}x{w}>
  %b = arith.constant dense<{start.tolist()}> : tensor<{CHANNELS}x{kind}>
  %y = qnn.linear %x, %w, %b : (tensor<{rows}x{INPUTS}x{x}>,
      tensor<{CHANNELS}x{INPUTS}x{w}>, tensor<{CHANNELS}x{kind}>)
      -> tensor<{rows}x{CHANNELS}x{y}>
  return %y : tensor<{rows}x{CHANNELS}x{y}>
}}
""",
            "layer.mlir",
        )
        return qlower.Model(module)

    def cut(self, number: int, places: int, bits: int) -> int:
        """A number with `places` more than a type of `bits`, as that type holds it."""
        half = 1 << (places - 1) if self.rounds and places > 0 else 0
        number = (number + half) >> places if places > 0 else number << -places
        end = 1 << (bits - 1)
        if self.saturates:
            return max(-end, min(end - 1, number))
        return (number + end) % (2 * end) - end

    def expected(self, x: Array, weights: Array, biases: Array) -> Array:
        """The results of `dense_latency`, in Python's integers."""
        bits, places = self.accum
        found: list[list[int]] = []
        for row in x.tolist():
            found.append([])
            for channel, total in zip(weights.tolist(), biases.tolist(), strict=True):
                for code, weight in zip(row, channel, strict=True):
                    lost = self.places[0] + self.places[1] - places
                    product = self.cut(code * weight, lost, 64)
                    total = self.cut(total + product, 0, bits)
                result = self.cut(total, places - self.places[2], self.bits)
                found[-1].append(result)
        return np.array(found, f"int{self.bits}")


def draw(types: Types, rows: int, seed: int) -> tuple[Array, Array, Array]:
    """Inputs, weights and biases: some products are near a tie of a step of accum_t,
    and sums reach the ends of its range."""
    random = np.random.default_rng(seed)
    end = 1 << (types.bits - 1)
    lost = max(sum(types.places[:2]) - types.accum[1], 1)
    small = min(1 << (lost // 2 + 2), end)
    limits = np.array([small, end, min(4 * small, end)])
    x = random.integers(-end, end, (rows, INPUTS)) % random.choice(limits, (rows, 1))
    x = np.where(random.random(x.shape) < 0.5, x, -x).clip(-end, end - 1)
    weights = random.integers(-end, end, (CHANNELS, INPUTS))
    weights[::2] = random.integers(-small, small, weights[::2].shape)
    weights[1, ::3] = 1 << (lost - 1) if 1 << (lost - 1) < end else 1
    most = 1 << (types.accum[0] - 1)
    if types.saturates:
        # no product leaves accum_t
        weights = weights.clip(
            -((most << lost) // end) + 1, ((most << lost) // end) - 1
        )
    biases = random.integers(-most, most, CHANNELS)
    dtype = f"int{types.bits}"
    return x.astype(dtype), weights.astype(dtype), biases.astype(np.int64)


ALL = {
    f"{bits}-{'rnd' if rounds else 'trn'}-{'sat' if saturates else 'wrap'}-{number}": (
        Types(bits, places, accum, rounds, saturates)
    )
    for bits, number, places, accum in (
        (8, 0, (6, 6, 4), (16, 10)),
        (8, 1, (7, 7, 5), (14, 8)),
        (16, 0, (10, 10, 10), (16, 10)),
        (16, 1, (12, 9, 8), (20, 12)),
    )
    for rounds in (False, True)
    for saturates in (False, True)
}


@pytest.mark.parts(8)
@pytest.mark.parametrize("name", ALL)
def test_it_is_fixed_point(name: str, tmp_path: Path) -> None:
    types = ALL[name]
    x, weights, biases = draw(types, 40, len(name))
    model, contract = types.model(len(x), weights, biases), types.contract(tmp_path)
    expected = types.expected(x, weights, biases)
    np.testing.assert_array_equal(qlower.jit(model, contract=contract)(x), expected)
    found = qlower.interpret(model, x, contract=contract)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.long
@pytest.mark.skipif("QLOWER_MAKERS" not in os.environ, reason="no makers' checkouts")
@pytest.mark.parametrize("name", ALL)
def test_it_is_hls4ml(name: str, tmp_path: Path) -> None:
    types = ALL[name]
    rows = 2048
    x, weights, biases = draw(types, rows, len(name))
    model, contract = types.model(len(x), weights, biases), types.contract(tmp_path)
    expected = run(types, x, weights, biases, tmp_path)
    np.testing.assert_array_equal(qlower.jit(model, contract=contract)(x), expected)


def run(types: Types, x: Array, weights: Array, biases: Array, folder: Path) -> Array:
    """The results of hls4ml's own function, compiled."""
    templates = Path(os.environ["QLOWER_MAKERS"], "hls4ml/hls4ml/templates/vivado")
    modes = f"{'AP_RND' if types.rounds else 'AP_TRN'}, "
    modes += "AP_SAT" if types.saturates else "AP_WRAP"
    bits, places = types.accum
    source = folder / "dense.cpp"
    source.write_text(
        PROGRAM.format(
            **{"bits": types.bits, "places": types.places, "modes": modes},
            **{"inputs": INPUTS, "channels": CHANNELS},
            accum=f"{bits}, {bits - places}",
        )
    )
    folders = [f"-I{templates}", f"-I{templates / 'ap_types'}"]
    command = ["g++", "-O1", "-std=c++17", "-w", *folders, str(source)]
    subprocess.run([*command, "-o", str(folder / "dense")], check=True)
    parts = [np.array([len(x)]), weights.T, biases, x]
    given = b"".join(part.astype(np.int32).tobytes() for part in parts)
    done = subprocess.run([folder / "dense"], input=given, stdout=-1, check=True)
    found = np.frombuffer(done.stdout, np.int32).reshape(len(x), CHANNELS)
    return found.astype(x.dtype)
