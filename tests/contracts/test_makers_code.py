"""Contracts of devices against their makers' own C, compiled from checkouts.

The variable QLOWER_MAKERS names a folder with checkouts, called like their
repositories: esp-nn, esp-dl, Deeploy, nnom. Nothing of them is kept.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.values.rule_values import Layer, LayerValues

from qlower.contracts import load_contract
from qlower.interp.values import Array

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        "QLOWER_MAKERS" not in os.environ,
        reason="QLOWER_MAKERS names no folder with makers' checkouts",
    ),
]

OUTPUTS = 200_000

ESP_NN = """
#include "common_functions.h"
void run(const int32_t *acc, const int32_t *m, const int32_t *n, int32_t *y, int size) {
  for (int i = 0; i < size; i++)
    y[i] = esp_nn_multiply_by_quantized_mult(acc[i], m[i], 31 - n[i]);
}
"""
ESP_DL = """
#include <cstdint>
namespace dl {{ namespace tool {{
template <typename T> void truncate(T &to, int64_t from) {{ to = (T)from; }}
{functions}
}} }}
extern "C" void run(const int32_t *acc, const int32_t *m, const int32_t *n, int32_t *y,
                    int size) {{
  for (int i = 0; i < size; i++) y[i] = dl::tool::shift_and_round{end}(acc[i], n[i]);
}}
"""
DEEPLOY = """
#include "DeeployBasicMath.h"
void run(const int32_t *acc, const int32_t *m, const int32_t *n, int32_t *y,
         int size) {{
  for (int i = 0; i < size; i++) {{
    int32_t x = acc[i], mul = m[i], add = 0;
    int8_t out;
    RequantShift_s32_s8_NHWC(&x, 1, &mul, &add, &out, n[i], 1, 0, 0, -128, 127,
                             {rounds});
    y[i] = out;
  }}
}}
"""
NNOM = """
#include "nnom.h"
#include "nnom_local.h"
void run(const int32_t *acc, const int32_t *m, const int32_t *n, int32_t *y, int size) {
  for (int i = 0; i < size; i++) {
    /* two products; the first is a multiple of 127 */
    q7_t x[256], w[256], out;
    int count = 0, rest = acc[i];
    while (rest > 127 || rest < -127) {
      x[count] = 127;
      w[count] = rest / 127 > 127 ? 127 : rest / 127 < -127 ? -127 : rest / 127;
      rest -= 127 * w[count++];
    }
    x[count] = 1;
    w[count++] = rest;
    /* by a linear layer, or a convolution of one pixel */
    q7_t bias = 0;
    nnom_qformat_param_t none = 0, places = n[i];
    if (i % 2)
      local_fully_connected_q7(x, w, count, 1, 0, n[i], 0, &out, 0);
    else
      local_convolve_HWC_q7_nonsquare(x, 1, 1, count, w, 1, 1, 1, 0, 0, 1, 1, 1, 1,
                                      &bias, &none, &places, NNOM_QTYPE_PER_TENSOR,
                                      &out, 1, 1, 0, 0);
    y[i] = out;
  }
}
"""


def _esp_dl(root: Path, end: str) -> str:
    """The functions alone: the file is for the chip's own compiler."""
    text = (root / "esp-dl/esp-dl/dl/tool/src/dl_tool.cpp").read_text()
    start = text.index("template <typename T>\nT shift_and_round_half_even")
    stop = text.index("template <typename T>\nT shift_and_round(T value")
    return ESP_DL.format(functions=text[start:stop], end=end)


Source = Callable[[Path], tuple[str, list[str]]]
"""C or C++ with a function `run`, and what the compiler is given besides."""


def _deeploy(rounds: str) -> Source:
    def source(root: Path) -> tuple[str, list[str]]:
        generic = root / "Deeploy/TargetLibraries/Generic"
        more = [f"-I{generic}/inc", f"{generic}/src/RequantShift_s8.c"]
        return DEEPLOY.format(rounds=rounds), more

    return source


def _nnom(root: Path) -> tuple[str, list[str]]:
    nnom = root / "nnom"
    folders = [f"-I{nnom}/inc", f"-I{nnom}/port"]
    return NNOM, [*folders, "-w", f"{nnom}/src/backends/nnom_local.c"]


SOURCES: dict[str, Source] = {
    "esp-nn": lambda root: (ESP_NN, [f"-I{root}/esp-nn/src/common"]),
    "esp-dl-esp32": lambda root: (_esp_dl(root, "_half_up<int32_t>"), []),
    "esp-dl-p4": lambda root: (_esp_dl(root, "_half_even<int32_t>"), []),
    "deeploy": _deeploy("true"),
    "pulp-nn": _deeploy("false"),
    "nnom": _nnom,
}

POWERS = ("esp-dl-esp32", "esp-dl-p4", "nnom")


@pytest.mark.parametrize("name", SOURCES)
def test_rescaling(name: str, tmp_path: Path) -> None:
    """Half of the sums are ties, or next to one."""
    random = np.random.default_rng(len(name))
    run = _compiled(*SOURCES[name](Path(os.environ["QLOWER_MAKERS"])), tmp_path)
    contract, compared = load_contract(name), 0
    while compared < OUTPUTS:
        bits = {"esp-nn": 31}.get(name, 0 if name in POWERS else 10)
        least = 1 << 30 if bits == 31 else 1
        multiplier = int(random.integers(least, max(2, (1 << bits) - 1)))
        places = int(random.integers(1, 9)) + (bits and bits - 1)
        # 24 bits are what a scale holds
        multiplier = multiplier >> 7 << 7 if bits == 31 else multiplier
        sums = _sums(random, multiplier, places)
        expected = run(sums, multiplier, places).clip(-128, 127)
        scale = float(np.ldexp(np.float64(multiplier), -places))
        layer = Layer("device", (1.0, scale, 1.0), (0, 0, 0), flags=True)
        rule = contract.rule("conv2d")
        values = LayerValues(layer, contract, "conv2d").of(rule)
        (found,) = rule.evaluate({**values, "accumulator": sums})
        np.testing.assert_array_equal(found, expected, f"{multiplier} 2^-{places}")
        compared += sums.size


@pytest.mark.parametrize(
    ("name", "end"),
    [("esp-dl-esp32", "_half_up<int64_t>"), ("esp-dl-p4", "_half_even<int64_t>")],
)
def test_rescaling_of_words(name: str, end: str, tmp_path: Path) -> None:
    """Sums of int16 have 64 bits; most are ties, or next to one."""
    random = np.random.default_rng(len(name))
    source = _esp_dl(Path(os.environ["QLOWER_MAKERS"]), end)
    source = source.replace("*acc,", "*low, const int32_t *high,").replace(
        "(acc[i],", "(((int64_t)high[i] << 32) | (uint32_t)low[i],"
    )
    run = _compiled_words(source, tmp_path)
    rule = load_contract(name).of_words.rule("linear")
    compared = 0
    while compared < OUTPUTS:
        places = int(random.integers(1, 31))
        step = 1 << places
        ties = random.integers(-40_000, 40_000, 1000) * step + step // 2
        any_sum = random.integers(-40_000 * step, 40_000 * step, 1000)
        sums = np.concatenate([ties, ties + 1, ties - 1, any_sum])
        scales = {"input_scale": 1.0, "output_scale": 1.0, "weight_scale": 1 / step}
        values: dict[str, Array] = {
            **{key: np.array(scale, np.float32) for key, scale in scales.items()},
            "input_zero_point": np.array(0, np.int32),
            "output_zero_point": np.array(0, np.int32),
            "output_min": np.array(-32768, np.int32),
            "output_max": np.array(32767, np.int32),
            "accumulator": sums,
        }
        (found,) = rule.evaluate(values)
        expected = run(sums, places).clip(-32768, 32767)
        np.testing.assert_array_equal(found, expected, str(places))
        compared += sums.size


def _compiled_words(source: str, folder: Path) -> Callable[[Array, int], Array]:
    path, library = folder / "words.cpp", folder / "words.so"
    path.write_text(source)
    command = ["g++", "-O1", "-shared", "-fPIC", str(path), "-o", str(library)]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library)).run

    def run(sums: Array, places: int) -> Array:
        count = np.full(sums.size, places, np.int32)
        low, high = (part.astype(np.int32) for part in (sums & 0xFFFFFFFF, sums >> 32))
        result = np.zeros(sums.size, np.int32)
        arrays = [low, high, count, count, result]
        function(*(a.ctypes.data_as(ctypes.c_void_p) for a in arrays), sums.size)
        return result

    return run


def _sums(random: np.random.Generator, multiplier: int, places: int) -> Array:
    """Sums in and around the range of codes: any, and those nearest to ties."""
    step = (1 << places) / multiplier
    any_sum = random.integers(int(-140 * step), int(140 * step) + 1, 1000)
    ties = np.rint((np.arange(-130, 130) + 0.5) * step).astype(np.int64)
    return np.concatenate([any_sum, ties, ties + 1, ties - 1, ties]).astype(np.int32)


def _compiled(
    source: str, more: list[str], folder: Path
) -> Callable[[Array, int, int], Array]:
    is_c = "namespace" not in source
    path, library = folder / f"run.{'c' if is_c else 'cpp'}", folder / "run.so"
    path.write_text(source)
    compiler = "gcc" if is_c else "g++"
    command = [compiler, "-O1", "-shared", "-fPIC", str(path), *more]
    subprocess.run([*command, "-o", str(library)], check=True)
    function = ctypes.CDLL(str(library)).run

    def run(sums: Array, multiplier: int, places: int) -> Array:
        result = np.zeros(sums.size, np.int32)
        columns = (np.full(sums.size, n, np.int32) for n in (multiplier, places))
        arrays = [np.ascontiguousarray(sums, np.int32), *columns, result]
        function(*(a.ctypes.data_as(ctypes.c_void_p) for a in arrays), sums.size)
        return result

    return run
