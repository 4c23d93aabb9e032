"""Several threads give the bits of one, whatever is shared among them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.lanes import a_part
from support.layers.random_layers import LAYERS, random_layer_inputs
from support.machines.native import guarded_copies

import qlower
from qlower.codegen.nests import blocks
from qlower.codegen.nests.blocks import Blocks, plan_blocks, plan_channel_blocks
from qlower.codegen.nests.nest import analyse
from qlower.codegen.nests.recognise import Contraction, recognise
from qlower.codegen.program import team
from qlower.codegen.program.flavour import Flavour
from qlower.codegen.program.work import estimated_nanoseconds
from qlower.codegen.skeletons.choose import Skeletons
from qlower.codegen.targets.resolve import host_target
from qlower.compilation.compilation import Compilation
from qlower.compilation.to_code import generate_code
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import NestOp
from qlower.runtime import openmp
from qlower.runtime.executable import Executable
from qlower.text.parsing import parse_module


@pytest.fixture
def share_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "LEAST_NANOSECONDS", 0.0)
    monkeypatch.setattr(team, "LEAST_SAVED_NANOSECONDS", float("-inf"))


@pytest.mark.parts(23)
@pytest.mark.usefixtures("share_everything")
@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_random_layers(layer: str, tmp_path: Path):
    """Between pages that can't be touched, for threads that do and don't divide."""
    for seed, dtype in enumerate(("int8", "uint8")):
        path = tmp_path / f"{dtype}.tflite"
        path.write_bytes(LAYERS[layer](seed, dtype))
        model = qlower.load(path)
        inputs = random_layer_inputs(model, seed)
        serial = Compilation(model, "tflite")
        expected = Executable(serial.code)(inputs)
        for count in a_part((2, 5), 2, seed):
            flavour = Flavour(threads=count)
            compiled = generate_code(serial.kernels, serial.target, flavour)
            # the loops of a resize know their index, so they aren't cut
            is_shared = "call void @team_share" in compiled.llvm_text
            assert is_shared or layer == "resize_bilinear"
            run = Executable(compiled)
            for copies in zip(*map(guarded_copies, (*inputs, *expected)), strict=True):
                outputs = copies[len(inputs) :]
                for output in outputs:
                    output[...] = 0
                run.run(copies[: len(inputs)], outputs)
                for found, wanted in zip(outputs, expected, strict=True):
                    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parts(2)
@pytest.mark.usefixtures("share_everything")
@pytest.mark.parametrize("name", ["ic_resnet8_int8", "kws_dscnn_int8"])
def test_real_models(name: str):
    folder = models_directory() / name
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    model = qlower.load(folder / "model.tflite")
    run = Executable(Compilation(model, flavour=Flavour(threads=3)).code)
    with (
        np.load(folder / "inputs.npz") as inputs,
        np.load(folder / "golden.npz") as golden,
    ):
        for x, expected in zip(inputs["x"], golden["ref"], strict=True):
            (found,) = run([x.reshape(model.inputs[0].shape)])
            np.testing.assert_array_equal(found, expected.reshape(found.shape))


def product(rows: int) -> NestOp:
    """A matrix product of `rows` rows with 64 x 64 weights."""
    maps = ", ".join(
        f"affine_map<(m, n, k) -> {m}>" for m in ("(m, k)", "(n, k)", "(m, n)")
    )
    text = f"""
    func.func @main(%x: tensor<{rows}x64xi8>) -> tensor<{rows}x64xi32> {{
      %w = arith.constant dense<1> : tensor<64x64xi8>
      %y = kernel.nest contraction parallel [{rows}, 64] reduction [64] maps [{maps}]
          ins(%x, %w : tensor<{rows}x64xi8>, tensor<64x64xi8>)
          init {{
          ^bb0(%a: i8, %b: i8):
            %zero = arith.constant 0 : i32
            kernel.yield %zero : i32
          }} body {{
          ^bb0(%a: i8, %b: i8, %acc: i32):
            %a32 = arith.extsi %a : i8 to i32
            %b32 = arith.extsi %b : i8 to i32
            %p = arith.muli %a32, %b32 : i32
            %s = arith.addi %acc, %p : i32
            kernel.yield %s : i32
          }} epilogue {{
          ^bb0(%a: i8, %b: i8, %acc: i32):
            kernel.yield %acc : i32
          }} -> tensor<{rows}x64xi32> in [#kernel.output<0>]
      return %y : tensor<{rows}x64xi32>
    }}"""
    nests = [op for op in parse_module(text, "t").walk() if isinstance(op, NestOp)]
    return nests[0]


def planned(rows: int, count: int) -> Blocks | None:
    nest = analyse(product(rows))
    skeleton = Skeletons(host_target(), nest).of(nest, None)
    nanoseconds = estimated_nanoseconds(nest, skeleton, 0, host_target())
    return plan_blocks(nest, nanoseconds, 0, count)


def test_what_is_shared():
    assert planned(100_000, 1) is None
    assert planned(4, 2) is None, "too little work"
    # rows; never the channels, for which weights are packed
    assert planned(100_000, 3) == Blocks(0, 12, 8334, 8326, 4)


def test_channels_of_one_row():
    assert planned(1, 2) is None
    products = recognise(analyse(product(1)))
    assert isinstance(products, Contraction)
    assert plan_channel_blocks(products, 16, 1e4, 0, 2) == Blocks(0, 2, 32, 32, 1)
    assert plan_channel_blocks(products, 16, 1e4, 0, 3) == Blocks(0, 2, 32, 32, 1)
    assert plan_channel_blocks(products, 64, 1e4, 0, 2) is None, "one tile"


def test_a_number_of_threads(tmp_path: Path):
    with pytest.raises(QlowerError, match="0 threads"):
        Flavour(threads=0)


def test_no_runtime(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv(openmp.LIBRARY, str(tmp_path / "none.so"))
    openmp.openmp_runtime.cache_clear()
    with pytest.raises(QlowerError, match=r"no OpenMP runtime at .*none\.so"):
        openmp.openmp_runtime()
    monkeypatch.delenv(openmp.LIBRARY)
    monkeypatch.setattr(openmp, "_candidates", lambda: iter(()))
    with pytest.raises(QlowerError, match="none is found"):
        openmp.openmp_runtime()
    openmp.openmp_runtime.cache_clear()


def test_small_models_have_one_thread(tmp_path: Path):
    path = tmp_path / "layer.tflite"
    path.write_bytes(LAYERS["conv2d"](0, "int8"))
    compiled = Compilation(path, "tflite", flavour=Flavour(threads=2)).code
    assert compiled.llvm_text == Compilation(path, "tflite").code.llvm_text


@pytest.mark.usefixtures("share_everything")
def test_teams_of_several_callers(tmp_path: Path):
    """Each call has a frame of its own, whoever helps it."""
    path = tmp_path / "layer.tflite"
    path.write_bytes(LAYERS["softmax"](0, "int8"))
    model = qlower.load(path)
    plain = Executable(Compilation(model, "tflite").code)
    run = Executable(Compilation(model, "tflite", flavour=Flavour(threads=3)).code)
    inputs = [random_layer_inputs(model, seed) for seed in range(8)]
    expected = [plain(x) for x in inputs]

    def call(index: int) -> None:
        for found, wanted in zip(
            run(inputs[index % 8]), expected[index % 8], strict=True
        ):
            np.testing.assert_array_equal(found, wanted)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(call, range(60)))


def test_a_runtime_that_is_loaded_is_found(monkeypatch: pytest.MonkeyPatch):
    mapped = "7f00-7f01 r-xp 00000000 00:00 1    /opt/a b/libgomp-1a.so.1.0.0\n"

    def read(path: Path) -> str:
        assert path == Path("/proc/self/maps")
        return f"{mapped}{mapped}7f02-7f03 rw-p 0 00:00 0 [heap]\n"

    monkeypatch.setattr(Path, "read_text", read)
    assert list(openmp.mapped_runtimes()) == ["/opt/a b/libgomp-1a.so.1.0.0"]
