"""TPU-MLIR's text of lowered models: what is read, beside numpy and beside TPU-MLIR's
own interpreter, and what is refused."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.formats.tpu_files import TpuFile, network

import qlower
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.frontends.check import check_model
from qlower.frontends.import_options import ImportOptions
from qlower.interp.values import Array

PYTHON = "QLOWER_TPU_MLIR_PYTHON"
"""Names an interpreter of Python 3.10 that has tpu_mlir."""


def computed(path: Path, names: list[str], x: Array) -> dict[str, Array]:
    model = qlower.load(path, outputs=names)
    results, _ = Compilation(model, None).interpreter("qnn").run([x], {})
    return dict(zip(names, results, strict=True))


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 40)] + [1]
)
def test_every_operation(seed: int, tmp_path: Path) -> None:
    file, reals = network(seed)
    path = file.save(tmp_path, "y")
    found = computed(path, [*file.codes, "y"], file.x)
    for name, codes in file.codes.items():
        np.testing.assert_array_equal(found[name], codes, name)
    np.testing.assert_array_equal(found["y"], reals)


LIVE = """
import sys
import numpy as np, pymlir
pymlir.set_mem_mode("value_mem")
module = pymlir.module()
module.load("model.mlir")
x = np.load("x.npy")
module.set_tensor("x", x, x.shape)
module.invoke()
names = module.all_tensor_names
np.savez("live.npz", **{name: np.array(module.get_tensor(name)) for name in names})
"""


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_beside_tpu_mlir(seed: int, tmp_path: Path) -> None:
    """The interpreter of TPU-MLIR, tensor by tensor; it gives codes times scales."""
    python = os.environ.get(PYTHON)
    if python is None:
        pytest.skip(f"set {PYTHON} to a Python 3.10 with tpu_mlir")
    file, _ = network(seed)
    file.save(tmp_path, "y")
    np.save(tmp_path / "x.npy", file.x)
    home = next(Path(python).parent.parent.glob("lib/python3.*/site-packages/tpu_mlir"))
    # The package's own libc stops every program.
    libraries = f"/lib/x86_64-linux-gnu:{home}/lib:{home}/lib/third_party"
    variables = {"LD_LIBRARY_PATH": libraries, "PYTHONPATH": str(home / "python")}
    subprocess.run(
        [python, "-c", LIVE],
        cwd=tmp_path,
        env={**os.environ, **variables, "TPUC_ROOT": str(home)},
        check=True,
        capture_output=True,
    )
    live = np.load(tmp_path / "live.npz")
    found = computed(tmp_path / "model.mlir", [*file.codes, "y"], file.x)
    for name, codes in file.codes.items():
        steps = np.rint(live[name].reshape(codes.shape) / file.scales[name])
        np.testing.assert_array_equal(found[name], steps, name)
    np.testing.assert_array_equal(found["y"], live["y"].reshape(found["y"].shape))


def small() -> TpuFile:
    """A convolution of one channel into two, on line 6, and a cast on line 7."""
    file = TpuFile(np.ones((1, 1, 2, 2), np.float32))
    file.cast("q", 0.5)
    weights = np.arange(2, dtype=np.int8).reshape(2, 1, 1, 1)
    file.conv("q", "c", weights, None, ([3, 5], [2, 3]))
    file.reals("c", "y")
    return file


MORE = "  } loc(unknown)\n} loc"

REFUSALS = {
    "main": ("@main", "@other", "2:1", "expected a function @main, and nothing else"),
    "functions": (
        MORE,
        MORE.replace("\n", "\n  func.func @more() loc(unknown)\n"),
        "11:1",
        "func.func 'line 11': expected a function @main, and nothing else",
    ),
    "no result": (
        "    return",
        '    "tpu.Foo"() : () -> () loc(unknown)\n    return',
        "9:1",
        "tpu.Foo 'line 9': this operation has no result, which is not supported",
    ),
    "input": (
        *("xf32>", "xf16>", "4:1"),
        "an input of type tensor<1x1x2x2xf16>; expected a tensor of f32",
    ),
    "bias": ("with_bias = false", "with_bias = true", "7:1", "with_bias 1 is not"),
    "attribute": (
        *('"top.Weight"() {}', '"top.Weight"() {scale = 1.0 : f64}', "6:1"),
        "attribute scale is not supported",
    ),
    "words": (
        *("2x1x1x1xsi8", "2x1x1x1xi16", "6:1"),
        "weights of type tensor<2x1x1x1xi16> are not supported",
    ),
    "state": ('"TPU_LOWERED"', '"TOP_F32"', "1:1", "module.state 'TOP_F32' is not"),
    "chip": ('"bm1684x"', '"cv183x"', "1:1", "module.chip 'cv183x' is not supported"),
    "mode": ('module.mode = "INT8", ', "", "1:1", "module.mode is missing"),
    "asymmetric": ("asymmetric = false", "asymmetric = true", "1:1", "asymmetric 1 is"),
    "weights": ('"model_w.npz"', '"../a.npz"', "1:1", "beside the text"),
    "key": ('loc("c_w")', 'loc("d_w")', "6:1", "no array of this name"),
    "shape": ("2x1x1x1xsi8", "3x1x1x1xsi8", "6:1", "has int8 [2]; expected int8 [3,"),
    "type": ("2x1x1x1xsi8", "2x1x1x1xi32", "6:1", "has int8 [2]; expected int32"),
    "operation": ("tpu.Conv2D", "tpu.Conv3D", "7:1", "tpu.Conv3D 'c': this operator"),
    "requantization": ("rq_mode MultiplierShift", "rq_mode QDM", "7:1", "'QDM' is"),
    "rounding": ("round_mode HalfUp", "round_mode Up", "7:1", "round_mode 'Up' is not"),
    "zero": ("kernel_zp = 0", "kernel_zp = 3", "7:1", "kernel_zp 3 is not supported"),
    "unknown": ("kernel_zp = 0", "use_winograd = 1", "7:1", "use_winograd is not"),
    "shift": (
        "rshift = [2, 3]",
        "rshift = [2, 63]",
        "7:1",
        "rshift 63 is out of range",
    ),
    "count": ("rshift = [2, 3]", "rshift = [2, 3, 4]", "7:1", "3 numbers of rshift"),
    "multiplier": ("= [3, 5]", "= [3, 2147483648]", "7:1", "[-2147483647, 2147483647]"),
    "result": (
        "1x2x2x2x",
        "1x2x2x1x",
        "7:1",
        "shape [1, 2, 2, 1]; expected [1, 2, 2, 2]",
    ),
    "point": ("f32, 0.25>", "f32, 0.25:3>", "7:1", "no zero point"),
    "half": ("i8:f32, 0.5>", "i8:f16, 0.5>", "5:1", "!quant.uniform<i8:f16, "),
    "border": ("HalfAwayFromZero", "HalfToEven", "5:1", "round_mode 'HalfToEven' is"),
    "text": ("return %y", "return %z", "9:12", "%z is used but never defined"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str, tmp_path: Path) -> None:
    old, new, place, message = REFUSALS[name]
    path = small().save(tmp_path, "y")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(QlowerError) as caught:
        qlower.load(path)
    shown = str(caught.value)
    assert shown.startswith(f"{path}:{place}: error: ")
    assert message in shown


def matmul(
    file: TpuFile, multipliers: str = "none", rows: int = 2, bias: int = 2
) -> str:
    """A product of the convolution's codes with a matrix of `rows` by 2."""
    weights = np.arange(rows * 2, dtype=np.int8).reshape(rows, 2)
    file.weight("w", weights, weights.shape)
    file.weight("b", np.arange(bias, dtype=np.int32), (1, bias))
    file.weight("k", np.arange(2, dtype=np.int32), (1, 2))
    return file.add(
        *("MatMul", ["c", "w", "b", multipliers, "none"], "m", file.codes["c"], 0.25),
        multipliers=[3],
        rshifts=[2],
        do_relu=False,
    )


def pool(file: TpuFile, **more: object) -> str:
    return file.add(
        *("Pool2D", ["c"], "a", file.codes["c"], 0.25),
        multiplier=1,
        rshift=2,
        kernel_shape=[3, 3],
        pads=[1] * 4,
        strides=[1, 1],
        **more,
    )


OPERATIONS: list[tuple[Callable[[TpuFile], str], str]] = [
    (
        lambda file: file.add(
            *("Add", ["q", "c"], "a", file.codes["c"], 0.25),
            multipliers=[1, 1],
            rshifts=[0, 0],
            do_relu=False,
        ),
        "operands of shapes [[1, 1, 2, 2], [1, 2, 2, 2]]; expected the same shape",
    ),
    (
        lambda file: file.add(
            "Concat", ["q", "c"], "a", np.zeros((1, 3, 2, 2)), 0.25, axis=1
        ),
        "parts of other scales than the result's are not supported",
    ),
    (
        lambda file: file.add("Reshape", ["c"], "a", np.zeros((1, 2, 3)), 0.25),
        "shape [1, 2, 3] does not hold the elements of [1, 2, 2, 2]",
    ),
    (
        lambda file: pool(
            file, pool_mode="#tpu<pool_mode Avg>", count_include_pad=False
        ),
        "a mean that leaves out padding is not supported",
    ),
    (
        lambda file: pool(
            file, pool_mode="#tpu<pool_mode Mid>", count_include_pad=True
        ),
        "pool_mode 'Mid' is not supported; expected 'Avg' or 'Max'",
    ),
    (lambda file: matmul(file, "k"), "multipliers that are weights are not supported"),
    (
        lambda file: matmul(file, rows=3),
        "an input of shape [1, 2, 2, 2] with weights for 3 numbers",
    ),
    (lambda file: matmul(file, bias=3), "a bias of 3 numbers; expected 2"),
    (
        lambda file: file.add("Cast", ["c"], "a", file.codes["c"], 0.5),
        "a cast from !quant.uniform<i8:f32, 2.500000e-01> to !quant.uniform<i8:f32,"
        " 5.000000e-01> is not supported",
    ),
]


@pytest.mark.parametrize(("build", "message"), OPERATIONS, ids=range(len(OPERATIONS)))
def test_refused_operations(
    build: Callable[[TpuFile], str], message: str, tmp_path: Path
) -> None:
    file = small()
    file.lines.pop()
    file.reals(build(file), "y")
    with pytest.raises(QlowerError) as caught:
        qlower.load(file.save(tmp_path, "y"))
    assert caught.value.message.endswith(f": {message}")


def test_no_weights(tmp_path: Path) -> None:
    path = small().save(tmp_path, "y")
    (tmp_path / "model_w.npz").write_bytes(b"PK")
    with pytest.raises(QlowerError, match=r"cannot read .*model_w\.npz: File is not"):
        qlower.load(path)
    (tmp_path / "model_w.npz").unlink()
    with pytest.raises(QlowerError, match=r"cannot read .*model_w\.npz: No such file"):
        qlower.load(path)


def test_every_problem(tmp_path: Path) -> None:
    path = small().save(tmp_path, "y")
    text = path.read_text().replace("kernel_zp = 0", "kernel_zp = 3")
    path.write_text(re.sub(r'"tpu.Cast"\(%c\)', '"tpu.Softmax"(%c)', text))
    problems = check_model(path, ImportOptions()).problems
    assert [str(one).partition(": error: ")[2][:20] for one in problems] == [
        "line 7 tpu.Conv2D 'c",
        "line 8 tpu.Softmax '",
    ]
