"""Modules for engines of WebAssembly, which need no linker."""

from __future__ import annotations

import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.cli import main
from qlower.diagnostics import QlowerError
from qlower.model.signature import Array
from qlower.packages.wasm_module import linked_module

WEB = Path(__file__).parents[2] / "examples/web"
DIGITS = WEB.parent / "digits"
TARGET = ["--target", "wasm32-unknown-unknown", "--features", "+simd128"]
MODELS = (
    *("ic_resnet8_int8", "kws_dscnn_int8", "vww_mobilenetv1_025_96_int8"),
    *("ad01_fc_autoencoder_int8", "vww_mcunet_80_int8", "person_detect_int8"),
    *("hello_world_int8", "micro_kws_m_int8", "mobilenet_v1_0.25_128_uint8"),
    *("mobilenet_v1_1.0_224_uint8", "mobilenet_v2_1.0_224_int8"),
)


def run_in_node(module: Path, x: Array) -> bytes:
    """The outputs of one call for each row of x, by the example's script."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed (apt-get install nodejs)")
    given, made = module.with_suffix(".in"), module.with_suffix(".out")
    given.write_bytes(x.tobytes())
    subprocess.run([node, WEB / "run.mjs", module, made, given], check=True)
    return made.read_bytes()


def test_a_module_imports_nothing(tmp_path: Path) -> None:
    path = tmp_path / "small.mlir"
    path.write_text(SMALL_MODEL)
    out = tmp_path / "out"
    assert main(["compile", str(path), "-o", str(out), *TARGET, "--emit", "wasm"]) == 0
    wasmtime = import_module("wasmtime")
    store = wasmtime.Store()
    module = wasmtime.Module(store.engine, (out / "small.wasm").read_bytes())
    assert list(module.imports) == []
    exports = wasmtime.Instance(store, module, []).exports(store)
    names = ["memory", "heap_base", "identity", "state_bytes"]
    assert [one.name for one in module.exports] == [
        *names,
        "small_run_checked",
        "small_level",
    ]
    compiled = qlower.compile(path, target=TARGET[1], features=TARGET[3])
    interface = compiled.interface
    assert exports["identity"].value(store) % (1 << 64) == interface.identity
    assert exports["state_bytes"].value(store) == 0
    base = exports["heap_base"].value(store)
    memory = exports["memory"]
    assert base == memory.data_len(store)
    memory.grow(store, 1)
    image = np.array([-128, -1, 64, 127], np.int8).reshape(1, 2, 2, 1)
    memory.write(store, image.tobytes(), base)
    call = exports["identity"].value(store), base, base + 64, base + 4096
    run = exports["small_run_checked"]
    assert run(store, *call, interface.arena_bytes - 1) == 3
    assert run(store, *call, interface.arena_bytes) == 0
    expected = qlower.interpret(path, image)
    assert isinstance(expected, np.ndarray)
    got = memory.read(store, base + 64, base + 64 + expected.nbytes)
    assert bytes(got) == expected.tobytes()


def test_what_no_module_is_made_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "small.mlir"
    path.write_text(SMALL_MODEL)
    command = ["compile", str(path), "-o", str(tmp_path / "out"), "--emit", "wasm"]
    assert main([*command, "--target", "riscv32im-unknown-none-elf"]) == 1
    assert "cannot emit wasm for riscv32" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    compiled = qlower.compile(path, target=TARGET[1])
    wasmtime = import_module("wasmtime")
    calling = wasmtime.wat2wasm('(module (import "env" "memcpy" (func)))')
    with pytest.raises(QlowerError, match="would import 'memcpy'"):
        linked_module(bytes(calling), compiled.interface, 0)


@pytest.mark.long
def test_digits_in_node(tmp_path: Path) -> None:
    path = DIGITS / "digits.mlir"
    images = np.load(DIGITS / "test_images.npy")
    command = ["compile", str(path), "-o", str(tmp_path), *TARGET, "--emit", "wasm"]
    assert main(command) == 0
    model = qlower.load(path)
    x = images.reshape(-1, *model.inputs[0].shape[1:])
    expected = qlower.jit(model)(x)
    assert isinstance(expected, np.ndarray)
    assert run_in_node(tmp_path / "digits.wasm", x) == expected.tobytes()


@pytest.mark.long
@pytest.mark.parametrize("contract", ["tflite", "tflite-xnnpack", "tflm"])
@pytest.mark.parametrize("name", MODELS)
def test_models_in_node(name: str, contract: str, tmp_path: Path) -> None:
    """Every output for every recorded input: as on this machine, and as recorded from
    LiteRT's reference kernels."""
    folder = models_directory() / name
    if not folder.is_dir():
        pytest.skip(f"no model {name} in {folder.parent}")
    path = folder / "model.tflite"
    options = [*TARGET, "--contract", contract, "--emit", "wasm"]
    assert main(["compile", str(path), "-o", str(tmp_path), *options]) == 0
    with np.load(folder / "inputs.npz") as arrays:
        (key,) = arrays.files
        given = arrays[key]
    run = qlower.jit(path, contract=contract)
    x = given.reshape(-1, *run.inputs[0].shape[1:])
    expected = run(x)
    assert isinstance(expected, np.ndarray)
    made = run_in_node(tmp_path / "model.wasm", x)
    assert made == expected.tobytes()
    with np.load(folder / "golden.npz") as golden:
        if contract == "tflite" and "ref" in golden.files:
            assert made == golden["ref"].tobytes()
