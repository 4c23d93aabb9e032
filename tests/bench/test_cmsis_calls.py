"""Calls of CMSIS-NN's kernels as C, and counts of layers beside ours."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.table_forms import forms

import qlower
from qlower.bench.cmsis_nn import count
from qlower.bench.cmsis_nn.calls import ARGUMENTS, Call, call_of
from qlower.bench.cmsis_nn.count import LayerCount, layers_table
from qlower.bench.emulated import KernelCount
from qlower.diagnostics import QlowerError
from qlower.model.layers import layers
from qlower.text.parsing import parse_module

CONV = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32:0, {0.25, 0.5, 1.0, 2.0}>
!y = !quant.uniform<i8:f32, 0.5:7>
func.func @main(%x: tensor<1x5x9x2x!x>) -> tensor<1x3x8x4x!y> {
  %w = qnn.constant dense<3> : tensor<4x3x2x2xi8> -> tensor<4x3x2x2x!w>
  %b = arith.constant dense<9> : tensor<4xi32>
  %y = qnn.conv2d %x, %w, %b {stride = [2, 1], pad = [1, 1, 0, 2], dilation = [1, 3],
    activation = "relu6"}
    : (tensor<1x5x9x2x!x>, tensor<4x3x2x2x!w>, tensor<4xi32>) -> tensor<1x3x8x4x!y>
  return %y : tensor<1x3x8x4x!y>
}"""
DEPTHWISE = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.5:7>
func.func @main(%x: tensor<1x5x6x2x!x>) -> tensor<1x5x6x4x!y> {
  %w = qnn.constant dense<3> : tensor<1x2x3x4xi8> -> tensor<1x2x3x4x!w>
  %y = qnn.depthwise_conv2d %x, %w {stride = [1, 1], pad = [0, 1, 1, 1],
    dilation = [1, 1]} : (tensor<1x5x6x2x!x>, tensor<1x2x3x4x!w>) -> tensor<1x5x6x4x!y>
  return %y : tensor<1x5x6x4x!y>
}"""
LINEAR = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32:0, {0.25, 0.5}>
!y = !quant.uniform<i8:f32, 0.5:7>
func.func @main(%x: tensor<2x3x5x!x>) -> tensor<2x3x2x!y> {
  %w = qnn.constant dense<3> : tensor<2x5xi8> -> tensor<2x5x!w>
  %y = qnn.linear %x, %w {activation = "relu"}
    : (tensor<2x3x5x!x>, tensor<2x5x!w>) -> tensor<2x3x2x!y>
  return %y : tensor<2x3x2x!y>
}"""
POOL = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
func.func @main(%x: tensor<1x5x6x2x!x>) -> tensor<1x3x6x2x!x> {
  %y = qnn.KIND_pool2d %x {kernel = [2, 1], stride = [2, 1], pad = [1, 0, 0, 0]}
    : (tensor<1x5x6x2x!x>) -> tensor<1x3x6x2x!x>
  return %y : tensor<1x3x6x2x!x>
}"""
ADD = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
!o = !quant.uniform<i8:f32, 0.25:4>
!y = !quant.uniform<i8:f32, 0.75:7>
func.func @main(%x: tensor<1x5x2x!x>, %o: tensor<SHAPEx!o>) -> tensor<1x5x2x!y> {
  %y = qnn.add %x, %o {activation = "relu_n1_to_1"}
    : (tensor<1x5x2x!x>, tensor<SHAPEx!o>) -> tensor<1x5x2x!y>
  return %y : tensor<1x5x2x!y>
}"""
SOFTMAX = """\
!x = !quant.uniform<i8:f32, SCALE:-3>
!y = !quant.uniform<i8:f32, 0.00390625:-128>
func.func @main(%x: tensor<2x3x5x!x>) -> tensor<2x3x5x!y> {
  %y = qnn.softmax %x {beta = 1.0 : f64, axis = 2 : i64}
    : (tensor<2x3x5x!x>) -> tensor<2x3x5x!y>
  return %y : tensor<2x3x5x!y>
}"""


def call(text: str) -> Call | None:
    module = qlower.Model(parse_module(text, "model.mlir")).module
    *_, op = layers(module)
    return call_of(op)


def dims(**sizes: str) -> list[str]:
    return [f"static const cmsis_nn_dims {n} = {{{x}}};" for n, x in sizes.items()]


SCALED = (
    "(&context, &params, &scales, &given, x, &taps, weights, &biases, bias, &made, y);"
)
PER_CHANNEL = (
    "cmsis_nn_per_channel_quant_params scales = {multipliers, shifts}; return "
)
HALF = 1 << 30
CALLS: dict[str, tuple[str, str, list[str], str, str, dict[str, list[int]]]] = {
    "convolution": (
        CONV,
        "arm_convolve_wrapper_s8",
        [
            "static const cmsis_nn_conv_params params = "
            "{3, 7, {1, 2}, {0, 1}, {3, 1}, {7, 19}};",
            *dims(given="1, 5, 9, 2", taps="4, 3, 2, 2"),
            *dims(biases="1, 1, 1, 4", made="1, 3, 8, 4"),
        ],
        f"{PER_CHANNEL}arm_convolve_wrapper_s8{SCALED}",
        "arm_convolve_wrapper_s8_get_buffer_size(&params, &given, &taps, &made)",
        {
            **{"weights": [3] * 48, "bias": [9] * 4},
            **{"multipliers": [HALF] * 4, "shifts": [-1, 0, 1, 2]},
        },
    ),
    "depthwise": (
        DEPTHWISE,
        "arm_depthwise_conv_wrapper_s8",
        [
            "static const cmsis_nn_dw_conv_params params = "
            "{3, 7, 2, {1, 1}, {1, 0}, {1, 1}, {-128, 127}};",
            *dims(given="1, 5, 6, 2", taps="1, 2, 3, 4"),
            *dims(biases="1, 1, 1, 4", made="1, 5, 6, 4"),
        ],
        f"{PER_CHANNEL}arm_depthwise_conv_wrapper_s8{SCALED}",
        "arm_depthwise_conv_wrapper_s8_get_buffer_size(&params, &given, &taps, &made)",
        {"weights": [3] * 24, "multipliers": [HALF] * 4, "shifts": [-1] * 4},
    ),
    "linear by channels": (
        LINEAR,
        "arm_fully_connected_wrapper_s8",
        [
            "static const cmsis_nn_fc_params params = {3, 0, 7, {7, 127}};",
            *dims(given="6, 1, 1, 5", taps="5, 1, 1, 2"),
            *dims(biases="1, 1, 1, 2", made="6, 1, 1, 2"),
        ],
        "cmsis_nn_quant_params scales = {multipliers, shifts, 1}; return "
        f"arm_fully_connected_wrapper_s8{SCALED}",
        "arm_fully_connected_s8_get_buffer_size(&taps)",
        {"weights": [3] * 10, "multipliers": [HALF] * 2, "shifts": [-1, 0]},
    ),
    "linear": (
        LINEAR.replace("f32:0, {0.25, 0.5}", "f32, 0.25"),
        "arm_fully_connected_wrapper_s8",
        [
            "static const cmsis_nn_fc_params params = {3, 0, 7, {7, 127}};",
            *dims(given="6, 1, 1, 5", taps="5, 1, 1, 2"),
            *dims(biases="1, 1, 1, 2", made="6, 1, 1, 2"),
        ],
        "cmsis_nn_quant_params scales = {multipliers, shifts, 0}; return "
        f"arm_fully_connected_wrapper_s8{SCALED}",
        "arm_fully_connected_s8_get_buffer_size(&taps)",
        {"weights": [3] * 10, "multipliers": [HALF], "shifts": [-1]},
    ),
    "average": (
        POOL.replace("KIND", "avg"),
        "arm_avgpool_s8",
        [
            "static const cmsis_nn_pool_params params = {{1, 2}, {0, 1}, {-128, 127}};",
            *dims(given="1, 5, 6, 2", taps="1, 2, 1, 1", made="1, 3, 6, 2"),
        ],
        "return arm_avgpool_s8(&context, &params, &given, x, &taps, &made, y);",
        "arm_avgpool_s8_get_buffer_size(6, 2)",
        {},
    ),
    "maximum": (
        POOL.replace("KIND", "max"),
        "arm_max_pool_s8",
        [
            "static const cmsis_nn_pool_params params = {{1, 2}, {0, 1}, {-128, 127}};",
            *dims(given="1, 5, 6, 2", taps="1, 2, 1, 1", made="1, 3, 6, 2"),
        ],
        "return arm_max_pool_s8(&context, &params, &given, x, &taps, &made, y);",
        "0",
        {},
    ),
    "sum": (
        ADD.replace("SHAPE", "1x5x2"),
        "arm_elementwise_add_s8",
        [],
        "return arm_elementwise_add_s8(x, other, 3, 1073741824, 0, -4, 1073741824, -1, "
        "20, y, 7, 1431655765, -19, 6, 8, 10);",
        "0",
        {},
    ),
    "softmax": (
        SOFTMAX.replace("SCALE", "0.1"),
        "arm_softmax_s8",
        [],
        "arm_softmax_s8(x, 6, 5, 1717986944, 23, -248, y); return 0;",
        "0",
        {},
    ),
    "softmax of large scales": (
        SOFTMAX.replace("SCALE", "64.0"),
        "arm_softmax_s8",
        [],
        "arm_softmax_s8(x, 6, 5, 2147483647, 31, 0, y); return 0;",
        "0",
        {},
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_as_text(name: str) -> None:
    """Widths before heights, the padding before, offsets with the other sign, and
    ratios of scales as multipliers."""
    text, kernel, statements, written, memory, arrays = CALLS[name]
    found = call(text)
    assert found is not None
    assert (found.kernel, found.call, found.memory) == (kernel, written, memory)
    assert found.statements == statements
    given = {key: array.reshape(-1).tolist() for key, array in found.arrays.items()}
    assert given == arrays


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("!x = !quant.uniform<i8:", "!x = !quant.uniform<u8:"),
        ("!x = !quant.uniform<i8:", "!x = !quant.uniform<i16:"),
        ("!w = !quant.uniform<i8:f32, 0.25>", "!w = !quant.uniform<i8:f32, 0.25:1>"),
        ("!w = !quant.uniform<i8:", "!w = !quant.uniform<u8:"),
        ("0.5:7>", "0.5:7> // none"),
    ],
)
def test_types_without_a_kernel(old: str, new: str) -> None:
    changed = DEPTHWISE.replace(old, new)
    assert changed != DEPTHWISE
    assert (call(changed) is None) == ("none" not in new)


def test_sums_without_a_kernel() -> None:
    assert call(ADD.replace("SHAPE", "2")) is None
    assert call(ADD.replace("SHAPE", "1x5x2").replace("1x5x2x", "")) is None


def test_a_layer_as_functions() -> None:
    made = Call("k", ["int a;", "int b;"], "return k(x);", "size(&a)", {})
    layer: Any = vars(count)["_Layer"]("conv", None, made)
    assert layer.text(3) == (
        "int32_t memory_3(void) {\n  int a;\n  int b;\n  return size(&a);\n}\n"
        "int32_t layer_3(const int8_t *x, const int8_t *other, int8_t *y, void *memory,"
        " const int8_t *weights, const int32_t *bias, int32_t *multipliers, int32_t "
        "*shifts) {\n  int a;\n  int b;\n  cmsis_nn_context context = {memory, 0};\n"
        "  (void)context;\n  return k(x);\n}\n"
    )


class Emulator:
    """Memory by pages, and a function that doubles `x`."""

    def __init__(self, refuses: bool = False) -> None:
        self.memory: dict[int, bytes] = {}
        self.mapped: list[tuple[int, int]] = []
        self.calls: list[tuple[Any, ...]] = []
        self.refuses = refuses

    def map_buffers(self, sizes: Any) -> list[tuple[int, int]]:
        self.mapped = [(4096 * (n + 1), size) for n, size in enumerate(sizes)]
        return list(self.mapped)

    def unmap(self, start: int, size: int) -> None:
        self.mapped.remove((start, size))

    def write(self, address: int, data: bytes) -> None:
        self.memory[address] = data

    def read(self, address: int, size: int) -> bytes:
        return self.memory[address][:size]

    def call(self, name: str, *words: int) -> int:
        self.calls.append((name, *words))
        x, y = words[0], words[2]
        codes = np.frombuffer(self.memory[x], np.int8)
        self.memory[y] = (codes * 2).tobytes()
        return int(self.refuses)


def test_a_layer_runs_in_memory_of_its_own() -> None:
    run: Any = vars(count)["_run_layer"]
    given = {"weights": np.zeros(7, np.int8), "x": np.arange(6, dtype=np.int8)}
    emulator = Emulator()
    found = run(emulator, 2, given, np.zeros((2, 3), np.int8), 100)
    assert found.tolist() == [[0, 2, 4], [6, 8, 10]]
    assert emulator.mapped == []
    # x, other, y, memory, weights, bias, multipliers, shifts
    assert emulator.calls == [("layer_2", 8192, 0, 12288, 16384, 4096, 0, 0, 0)]
    assert len(ARGUMENTS) == 8
    with pytest.raises(QlowerError) as caught:
        run(Emulator(refuses=True), 2, given, np.zeros((2, 3), np.int8), 0)
    assert caught.value.message == "CMSIS-NN refuses layer 2"


def kernel(layer: str, instructions: int, cycles: int | None) -> KernelCount:
    return KernelCount(layer, "f", 1, instructions, cycles, 8)


def theirs(layer: str, count: int, differ: int) -> LayerCount:
    return LayerCount(layer, f"k_{layer}", 0, count, 0, 10 * count, differ)


def test_layers_are_joined_by_their_names() -> None:
    """A fused layer has the sum of its parts, copies for it are counted with it, and a
    layer with a part that CMSIS-NN lacks is left out."""
    joined: Any = vars(count)["_joined"]
    kernels = [
        *(kernel("a", 5, 50), kernel("a", 7, None), kernel("b + c", 100, 1000)),
        *(kernel("b", 3, 30), kernel("c", 4, 40), kernel("d + e", 9, 9)),
    ]
    parts = [theirs("a", 20, 1), theirs("b", 30, 2), theirs("c", 40, 4)]
    found = list(
        joined(kernels, {one.layer: one for one in [*parts, theirs("d", 1, 0)]})
    )
    assert found == [
        LayerCount("a", "k_a", 12, 20, 50, 200, 1),
        LayerCount("b + c", "k_b + k_c", 107, 70, 1070, 700, 6),
    ]
    assert found[0].ratio == 0.6


def test_the_table_of_layers() -> None:
    counts = [
        LayerCount("a", "k", 12, 20, 50, 200, 1),
        LayerCount("b", "l", 1000, 2000, 3, 4, 0),
    ]
    table = layers_table(counts)
    lines = [" ".join(line.split()) for line in table.render("plain").splitlines()]
    shown = [line for line in lines if line[:1] in ("a", "b", "t")]
    assert shown[:3] == [
        "a k 12 20 0.60 50 200 1",
        "b l 1,000 2,000 0.50 3 4 0",
        "total 1,012 2,020 53 204 1",
    ]
    text = " ".join(" ".join(lines).split())
    assert "Together 0.501 times CMSIS-NN's instructions." in text
    assert "Outputs that differ are those of the layer for the same inputs." in text
    assert "Together" not in layers_table([]).render("plain")
    assert forms(table) == [
        *("layer, left, cut to 12", "CMSIS-NN's kernel, left"),
        *("instructions, right, sums", "CMSIS-NN, right, sums", "ratio, right"),
        *("cycles, right, rank 2, sums", "CMSIS-NN, right, rank 1, sums"),
        "differ, right, sums",
    ]
    assert table.records()[0] == {
        **{"layer": "a", "kernels": "k", "instructions": 12, "theirs": 20},
        **{"ratio": 0.6, "cycles": 50, "their_cycles": 200, "differ": 1},
    }


def test_operands_that_are_data() -> None:
    data: Any = vars(count)["_data"]
    for name, given in (("qnn.conv2d", 1), ("qnn.linear", 1), ("qnn.add", 3)):
        assert len(data(SimpleNamespace(name=name, operands=(1, 2, 3)))) == given
    assert len(data(SimpleNamespace(name="qnn.depthwise_conv2d", operands=(1, 2)))) == 1


def test_files_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources: Any = vars(count)["_sources"]
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(QlowerError) as caught:
        sources(tmp_path)
    assert caught.value.message == "--cmsis-nn needs arm-none-eabi-gcc"
    monkeypatch.setattr("shutil.which", lambda _: "/bin/gcc")
    missing = f"--cmsis-nn {tmp_path}: there is no Include/arm_nnfunctions.h"

    def refused() -> None:
        with pytest.raises(QlowerError) as caught:
            sources(tmp_path)
        assert caught.value.message == missing

    refused()
    header = tmp_path / "Include" / "arm_nnfunctions.h"
    header.parent.mkdir()
    header.touch()
    refused()
    files = [tmp_path / "Source" / "B" / "b.c", tmp_path / "Source" / "a.c"]
    files[0].parent.mkdir(parents=True)
    for file in files:
        file.touch()
    assert sources(tmp_path) == files
    header.unlink()
    refused()


@pytest.mark.parametrize(
    ("text", "defines"),
    [
        ("int32_t k(void)", True),
        ("void  *k(const x)", True),
        ("arm_cmsis_nn_status k(", True),
        ("  k(x);", False),
        ("int k2(x)", False),
        ("#define k(x) y", False),
        ("// a\nint k(int x)\n{", True),
    ],
)
def test_files_that_define_a_function(text: str, defines: bool) -> None:
    assert vars(count)["_defines"](text, "k") == defines


def test_a_compiler_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    done = SimpleNamespace(returncode=1, stderr=b"a.c\na.c:1: error: \xff\nerror 2\n")
    monkeypatch.setattr(count, "run_program", lambda _: done)
    run: Any = vars(count)["_run"]
    with pytest.raises(QlowerError) as caught:
        run(["gcc", "x"])
    assert caught.value.message == "gcc: a.c:1: error: \ufffd"
    done.stderr = b"a warning\n"
    with pytest.raises(QlowerError) as caught:
        run(["gcc"])
    assert caught.value.message == "gcc: failed"
    done.returncode = 0
    run(["gcc"])


def test_processors_without_kernels() -> None:
    built: Any = vars(count)["_built"]
    with pytest.raises(QlowerError) as caught:
        built([], [], SimpleNamespace(triple="riscv64-none-elf", cpu="generic"))
    assert caught.value.message == (
        "--cmsis-nn: its kernels aren't counted for riscv64-none-elf"
    )
    assert caught.value.help == (
        "--target: thumbv7em-none-eabi, thumbv7m-none-eabi, thumbv8m.main-none-eabi"
    )
