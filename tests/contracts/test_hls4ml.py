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
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array
from qlower.text.parsing import parse_module

INPUTS, CHANNELS = 24, 8
HEIGHT, WIDTH, DEPTH = 4, 5, 6
"""An image, whose windows of 2 x 2 are `INPUTS`, with a row and a column of padding."""

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
ROUNDS = """\
func.func private @round_shift(%x: i64, %places: i64) -> i64 replaces {{
  %result = fixed.shift_right %x, %places {{rounding = {}}} : i64
}}
"""

MODES = {
    "trn": "floor",
    "rnd": "half_up",
    "rnd_conv": "half_even",
    "rnd_inf": "half_away",
    "trn_zero": "toward_zero",
}
"""AP_TRN and the others, as qlower calls them."""

PROGRAM = """\
#include <cstdio>
#include <vector>
#include "ap_fixed.h"
#include "nnet_utils/nnet_dense_latency.h"
#include "nnet_utils/nnet_conv2d_latency.h"
typedef ap_fixed<{bits}, {bits} - {places[0]}> input_t;
typedef ap_fixed<{bits}, {bits} - {places[1]}> weight_type;
typedef ap_fixed<{bits}, {bits} - {places[2]}, {modes}> result_t;
template <class data_T, class C> struct windows {{
  static void fill_buffer(data_T *image, data_T buffer[][{inputs}], unsigned) {{
    for (int pixel = 0; pixel < C::n_pixels; pixel++)
      for (int n = 0; n < {inputs}; n++) {{
        const int row = pixel / C::in_width + n / (2 * C::n_chan) - 1;
        const int column = pixel % C::in_width + n / C::n_chan % 2 - 1;
        const int place = (row * C::in_width + column) * C::n_chan + n % C::n_chan;
        buffer[pixel][n] = row < 0 || column < 0 ? data_T(0) : image[place];
      }}
  }}
}};
struct config {{
  static const unsigned n_in = {inputs}, n_out = {channels}, reuse_factor = 1;
  static const unsigned multiplier_limit = 0;
  typedef ap_fixed<{accum}, {modes}> accum_t;
  typedef ap_fixed<48, 48 - {places[0]} - {places[1]}> bias_t;
  typedef weight_type weight_t;
  template <class x_T, class y_T> using product = nnet::product::mult<x_T, y_T>;
  typedef config mult_config;
  static const unsigned in_height = {height}, in_width = {width}, n_chan = {depth};
  static const unsigned filt_height = 2, filt_width = 2, n_filt = n_out;
  static const unsigned out_height = in_height, out_width = in_width;
  static const unsigned n_pixels = out_height * out_width, n_partitions = 1;
  template <class data_T, class C> using fill_buffer = windows<data_T, C>;
}};
static int read() {{ int code; return fread(&code, 4, 1, stdin) == 1 ? code : 0; }}
int main() {{
  const int rows = read();
  static weight_type weights[{inputs} * {channels}];
  static config::bias_t biases[{channels}];
  for (auto &weight : weights) weight.range() = read();
  for (auto &bias : biases) bias.range() = (ap_int<48>)read();
  for (int row = 0; row < rows; row++) {{
    input_t x[{elements}];
    result_t y[{results}];
    for (auto &one : x) one.range() = read();
    nnet::{function}<input_t, result_t, config>(x, y, weights, biases);
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
    result, accum_t's bits and places, Q, and whether O is AP_SAT."""

    bits: int
    places: tuple[int, int, int]
    accum: tuple[int, int] = (16, 10)
    mode: str = "trn"
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
        parts = [ROUNDS.format(MODES[self.mode]), SATURATE * self.saturates]
        path.write_text(
            'module attributes {contract.base = "hls4ml", contract.words} {\n'
            f"{''.join(constants + parts)}}}\n"
        )
        return str(path)

    def model(self, rows: int, weights: Array, biases: Array) -> qlower.Model:
        """A linear layer; biases are in steps of products."""
        x, w, y = (
            f"!quant.uniform<i{self.bits}:f32, {2.0**-places!r}>"
            for places in self.places
        )
        kind = "i32" if self.bits == 8 else "i64"
        module = parse_module(
            f"""\
func.func @main(%x: tensor<{rows}x{INPUTS}x{x}>) -> tensor<{rows}x{CHANNELS}x{y}> {{
  %w = qnn.constant dense<{weights.tolist()}> : tensor<{CHANNELS}x{INPUTS}xi{self.bits}>
      -> tensor<{CHANNELS}x{INPUTS}x{w}>
  %b = arith.constant dense<{biases.tolist()}> : tensor<{CHANNELS}x{kind}>
  %y = qnn.linear %x, %w, %b : (tensor<{rows}x{INPUTS}x{x}>,
      tensor<{CHANNELS}x{INPUTS}x{w}>, tensor<{CHANNELS}x{kind}>)
      -> tensor<{rows}x{CHANNELS}x{y}>
  return %y : tensor<{rows}x{CHANNELS}x{y}>
}}
""",
            "layer.mlir",
        )
        return qlower.Model(module)

    def convolution(self, images: int, weights: Array, biases: Array) -> qlower.Model:
        """A convolution with the weights of a linear layer."""
        x, w, y = (
            f"!quant.uniform<i{self.bits}:f32, {2.0**-places!r}>"
            for places in self.places
        )
        image = f"tensor<{images}x{HEIGHT}x{WIDTH}x{DEPTH}x{x}>"
        result = f"tensor<{images}x{HEIGHT}x{WIDTH}x{CHANNELS}x{y}>"
        window = f"tensor<{CHANNELS}x2x2x{DEPTH}x"
        added = f"tensor<{CHANNELS}x{'i32' if self.bits == 8 else 'i64'}>"
        stored = weights.reshape(CHANNELS, 2, 2, DEPTH).tolist()
        module = parse_module(
            f"""\
func.func @main(%x: {image}) -> {result} {{
  %w = qnn.constant dense<{stored}> : {window}i{self.bits}> -> {window}{w}>
  %b = arith.constant dense<{biases.tolist()}> : {added}
  %y = qnn.conv2d %x, %w, %b {{stride = [1, 1], pad = [1, 0, 1, 0], dilation = [1, 1]}}
      : ({image}, {window}{w}>, {added}) -> {result}
  return %y : {result}
}}
""",
            "layer.mlir",
        )
        return qlower.Model(module)

    def cut(self, number: int, places: int, bits: int) -> int:
        """A number with `places` more than a type of `bits`, as that type holds it."""
        number = self.rounded(number, places) if places > 0 else number << -places
        end = 1 << (bits - 1)
        if self.saturates:
            return max(-end, min(end - 1, number))
        return (number + end) % (2 * end) - end

    def rounded(self, number: int, places: int) -> int:
        """A number without its last places."""
        below, rest = number >> places, number & ((1 << places) - 1)
        half = 1 << (places - 1)
        match self.mode:
            case "rnd":
                is_up = rest >= half
            case "rnd_conv":
                is_up = rest > half or (rest == half and below % 2 == 1)
            case "rnd_inf":
                is_up = rest > half or (rest == half and number >= 0)
            case "trn_zero":
                is_up = number < 0 and rest > 0
            case _:
                is_up = False
        return below + is_up

    def expected(self, x: Array, weights: Array, biases: Array) -> Array:
        """The results of `dense_latency`, in Python's integers."""
        bits, places = self.accum
        found: list[list[int]] = []
        for row in x.tolist():
            found.append([])
            for channel, bias in zip(weights.tolist(), biases.tolist(), strict=True):
                lost = self.places[0] + self.places[1] - places
                total = self.cut(bias, lost, bits)
                for code, weight in zip(row, channel, strict=True):
                    product = self.cut(code * weight, lost, bits)
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
    biases = random.integers(-(most << lost), most << lost, CHANNELS)
    dtype = f"int{types.bits}"
    return x.astype(dtype), weights.astype(dtype), biases.astype(np.int64)


ALL = {
    f"{bits}-{mode}-{'sat' if saturates else 'wrap'}-{number}": (
        Types(bits, places, accum, mode, saturates)
    )
    for bits, number, places, accum in (
        (8, 0, (6, 6, 4), (16, 10)),
        (8, 1, (7, 7, 5), (14, 8)),
        (16, 0, (10, 10, 10), (16, 10)),
        (16, 1, (12, 9, 8), (20, 12)),
    )
    for mode in MODES
    for saturates in (False, True)
}


@pytest.mark.parts(40)
@pytest.mark.parametrize("name", ALL)
def test_it_is_fixed_point(name: str, tmp_path: Path) -> None:
    types = ALL[name]
    x, weights, biases = draw(types, 40, len(name))
    model, contract = types.model(len(x), weights, biases), types.contract(tmp_path)
    expected = types.expected(x, weights, biases)
    np.testing.assert_array_equal(qlower.jit(model, contract=contract)(x), expected)
    found = qlower.interpret(model, x, contract=contract)
    np.testing.assert_array_equal(found, expected)


def test_a_rule_that_sees_products_sees_each(tmp_path: Path) -> None:
    path = tmp_path / "pairs.mlir"
    path.write_text(
        'module attributes {contract.base = "hls4ml"} {\n'
        "func.func @accumulate_group() -> i32 { %result = arith.constant 2 : i32 }\n}\n"
    )
    types = Types(8, (6, 6, 4))
    _, weights, biases = draw(types, 2, 1)
    with pytest.raises(QlowerError, match="looks at single products, and adds 2 at a"):
        qlower.jit(types.model(2, weights, biases), contract=str(path))


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


@pytest.mark.long
@pytest.mark.skipif("QLOWER_MAKERS" not in os.environ, reason="no makers' checkouts")
@pytest.mark.parametrize("name", ALL)
def test_its_convolutions(name: str, tmp_path: Path) -> None:
    types = ALL[name]
    images = 128
    rows = images * HEIGHT * WIDTH * DEPTH // INPUTS
    x, weights, biases = draw(types, rows, len(name))
    x = x.reshape(images, HEIGHT, WIDTH, DEPTH)
    model = types.convolution(images, weights, biases)
    expected = run(types, x, weights, biases, tmp_path)
    found = qlower.jit(model, contract=types.contract(tmp_path))(x)
    np.testing.assert_array_equal(found, expected)


def run(types: Types, x: Array, weights: Array, biases: Array, folder: Path) -> Array:
    """The results of hls4ml's own function for rows or images, compiled."""
    function = "dense_latency" if x.ndim == 2 else "conv_2d_latency_cl"
    shape = (*x.shape[:-1], CHANNELS)
    templates = Path(os.environ["QLOWER_MAKERS"], "hls4ml/hls4ml/templates/vivado")
    modes = f"AP_{types.mode.upper()}, {'AP_SAT' if types.saturates else 'AP_WRAP'}"
    bits, places = types.accum
    source = folder / "dense.cpp"
    source.write_text(
        PROGRAM.format(
            **{"bits": types.bits, "places": types.places, "modes": modes},
            **{"inputs": INPUTS, "channels": CHANNELS, "function": function},
            **{"height": HEIGHT, "width": WIDTH, "depth": DEPTH},
            elements=x[0].size,
            results=int(np.prod(shape[1:])),
            accum=f"{bits}, {bits - places}",
        )
    )
    folders = [f"-I{templates}", f"-I{templates / 'ap_types'}"]
    command = ["g++", "-O1", "-std=c++17", "-w", *folders, str(source)]
    subprocess.run([*command, "-o", str(folder / "dense")], check=True)
    parts = [np.array([len(x)]), weights.T, biases, x]
    given = b"".join(part.astype(np.int32).tobytes() for part in parts)
    done = subprocess.run([folder / "dense"], input=given, stdout=-1, check=True)
    found = np.frombuffer(done.stdout, np.int32).reshape(shape)
    return found.astype(x.dtype)
