"""The Python interface on a small model."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.diagnostics import QlowerError
from qlower.model.build import quantized
from qlower.model.signature import Array
from qlower.runtime.executors import Level


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QLOWER_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "model.mlir"
    path.write_text(SMALL_MODEL)
    return path


def image(seed: int) -> Array:
    pixels = np.random.default_rng(seed).integers(-128, 128, (1, 2, 2, 1))
    return pixels.astype(np.int8)


def test_a_model_tells_what_it_takes_and_gives(path: Path):
    model = qlower.load(path)
    run = qlower.jit(model)
    for source in (model, run, qlower.jit(path)):
        (given,), (scores,) = source.inputs, source.outputs
        assert (given.name, given.shape, given.dtype) == ("image", (1, 2, 2, 1), "int8")
        assert (given.scale, given.zero_point) == (2**-7, -128)
        assert (scores.name, scores.shape, scores.dtype) == ("scores", (1, 3), "uint8")
        assert (scores.scale, scores.zero_point) == (2**-4, 128)
    assert "image: 1x2x2x1xint8, scale 0.0078125, zero point -128" in str(model)


def test_what_people_see_of_objects(path: Path, tmp_path: Path):
    model = qlower.load(path)
    compiled = qlower.compile(model, cpu="x86-64-v3", contract="exact")
    ports = [
        "  input image: 1x2x2x1xint8, scale 0.0078125, zero point -128",
        "  output scores: 1x3xuint8, scale 0.0625, zero point 128",
    ]
    assert repr(model).splitlines() == [
        f"model {path}",
        *ports,
        "  3 layers: 1 conv2d, 1 reshape, 1 linear",
    ]
    first, *rest = repr(qlower.jit(model)).splitlines()
    assert first.startswith("<JitFunction for ")
    assert rest == [ports[0], f"{ports[1]}>"]
    first, *rest, last = repr(compiled).splitlines()
    assert first.startswith("<Compiled model: x86_64")
    assert first.endswith("(x86-64-v3), contract exact")
    assert rest == ports
    assert re.fullmatch(r"  [\d,]+ bytes of arena, [\d,]+ bytes of object file>", last)
    for thing in (model, qlower.jit(model), compiled):
        page = thing._repr_html_()  # pyright: ignore[reportPrivateUsage]
        assert page.startswith("<table")
        assert page.count("<tr>") == 3
        assert ">0.0078125</td>" in page


@pytest.mark.parts(3)
@pytest.mark.parametrize("level", ["qnn", "arith", "kernel"])
def test_all_executors_agree(path: Path, level: Level):
    run = qlower.jit(path)
    for seed in range(10):
        expected = run(image(seed))
        assert expected.dtype == np.uint8
        found = qlower.interpret(path, image(seed), at=level)
        np.testing.assert_array_equal(found, expected)


def test_inputs_by_name_and_without_copies(path: Path):
    run = qlower.jit(path)
    x = image(0)
    np.testing.assert_array_equal(run(image=x), run(x))
    strided = np.repeat(x, 2, axis=1)[:, ::2]
    assert not strided.flags.c_contiguous
    np.testing.assert_array_equal(run(strided), run(x))
    x.flags.writeable = False
    run(x)
    for inputs, named, message in (
        ((), {}, "input 'image' is missing"),
        ((x, x), {}, "2 inputs given, the model takes 1"),
        ((x,), {"image": x}, "input 'image' is given twice"),
        ((x,), {"other": x}, "the model has no input 'other'"),
        ((x.view(np.uint8),), {}, "has type uint8, the model takes int8"),
        ((x[0, 0],), {}, r"has shape \[2, 1\], the model takes \[1, 2, 2, 1\]"),
        ((x.view(np.uint8)[None],), {}, "has type uint8, the model takes int8"),
        ((np.empty((0, 2, 2, 1), np.int8),), {}, "the set of inputs is empty"),
    ):
        with pytest.raises(qlower.QlowerError, match=message):
            run(*inputs, **cast(dict[str, Any], named))


@pytest.mark.parts(12)
@pytest.mark.parametrize("level", ["native", "qnn", "arith", "kernel"])
@pytest.mark.parametrize(
    ("shape", "result"),
    [
        ((4, 1, 2, 2, 1), (4, 1, 3)),  # one more leading dimension
        ((4, 2, 2, 1), (4, 3)),  # the leading dimension of 1 counts
        ((2, 2, 1), (1, 3)),  # the leading dimension of 1 is left out
    ],
)
def test_sets_of_inputs(
    path: Path,
    level: Literal["native", "qnn", "arith", "kernel"],
    shape: tuple[int, ...],
    result: tuple[int, ...],
):
    run = qlower.jit(path)
    images = np.concatenate([image(seed) for seed in range(4)])
    given = images[: shape[0]] if len(shape) > 3 else images[:1]
    expected = np.concatenate([run(x[None]) for x in given])
    if level == "native":
        scores = run(given.reshape(shape))
    else:
        layers: dict[str, Array] = {}
        scores = qlower.interpret(path, given.reshape(shape), at=level, layers=layers)
        np.testing.assert_array_equal(layers["scores"], scores)
        assert layers["conv"].shape == (*result[:-1], 2, 2, 2)
    assert scores.shape == result
    np.testing.assert_array_equal(scores.reshape(-1, 3), expected)
    np.testing.assert_array_equal(qlower.jit(path)(image=given.reshape(shape)), scores)


README = Path(__file__).parents[1] / "README.md"

PROGRAM = """\
import numpy as np

from qlower.model.signature import Array

x: Array = np.zeros((1, 8), np.int8)
out = y = np.zeros((1, 8), np.int8)
"""
"""What README's lines of Python leave to the reader."""

SEVERAL_OUTPUTS = """
boxes, scores = run(x)
print(boxes.shape, scores[0], qlower.interpret(model, x).max())
"""


def python_of_readme() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_a_model_is_built():
    """README's second block: a layer that clips at 0, where 0 is stored as -3."""
    names: dict[str, Any] = {}
    exec(python_of_readme()[1], names)
    model = names["model"]
    assert isinstance(model, qlower.Model)
    assert "1 layer: 1 relu" in str(model)
    x = np.array([[-128, -4, -3, -2, -1, 1, 3, 127]], np.int8)
    expected = [[-128, -128, -128, -128, -127, -126, -125, -63]]
    y = qlower.jit(model, contract="exact")(x)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.long
def test_results_are_typed(tmp_path: Path):
    """README's own lines pass pyright's strict mode, and wrong ones don't."""
    pyright = shutil.which("pyright", path=Path(sys.executable).parent)
    if pyright is None:
        pytest.skip("pyright is not installed (pip install 'qlower[lint]')")
    program = "".join([PROGRAM, python_of_readme()[0], SEVERAL_OUTPUTS])
    (tmp_path / "right.py").write_text(program)
    (tmp_path / "wrong.py").write_text(program + "print(run.inputs[0].sise)\n")
    settings = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(Path(qlower.__file__).parents[1])],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [pyright, "--pythonpath", sys.executable, "--project", str(tmp_path)]
    done = subprocess.run([*command, "--outputjson"], capture_output=True, text=True)
    errors = json.loads(done.stdout)["generalDiagnostics"]
    assert {Path(error["file"]).name for error in errors} == {"wrong.py"}, errors


def test_layers(path: Path):
    layers: dict[str, Array] = {}
    scores = qlower.interpret(path, image(3), layers=layers)
    assert list(layers) == ["conv", "flat", "scores"]
    np.testing.assert_array_equal(layers["scores"], scores)
    outputs, native = qlower.jit(path, with_layers=True).run([image(3)], {})
    assert len(outputs) == 1
    for name, expected in layers.items():
        np.testing.assert_array_equal(native[name], expected)


def test_threads_and_several_models(path: Path, tmp_path: Path):
    other_path = tmp_path / "other.mlir"
    other_path.write_text(SMALL_MODEL.replace("[100, -200]", "[900, 700]"))
    runs = [qlower.jit(path), qlower.jit(other_path)]
    images = [image(seed) for seed in range(200)]
    expected = [[run(x) for x in images] for run in runs]
    assert not np.array_equal(expected[0], expected[1])
    with ThreadPoolExecutor(8) as pool:
        for run, results in zip(runs, expected, strict=True):
            for found, result in zip(pool.map(run, images), results, strict=True):
                np.testing.assert_array_equal(found, result)


def test_compile(path: Path, tmp_path: Path):
    compiled = qlower.compile(path, cpu="x86-64-v3")
    assert compiled.target.vector_bits == 256
    saved, header = compiled.save(tmp_path / "out")
    assert header.name == "model.h"
    assert saved == tmp_path / "out" / "model.o"
    assert saved.read_bytes() == compiled.object.object_bytes
    with pytest.raises(qlower.QlowerError, match="cannot emit 'exe'"):
        compiled.save(tmp_path / "other", emit=["exe"])
    with pytest.raises(qlower.QlowerError, match="cannot emit 'obje'") as error:
        compiled.save(tmp_path / "other", emit=["obje"])
    assert error.value.help == "did you mean 'obj'?"
    assert not (tmp_path / "other").exists()


def test_lower(path: Path):
    dialects = {op.dialect_name() for op in qlower.lower(path).walk()}
    assert "qnn" not in dialects
    assert "fixed" in dialects


def test_public_names():
    for name in qlower.__all__:
        assert getattr(qlower, name) is not None
    assert dir(qlower) == sorted(qlower.__all__)
    assert qlower.build.quantized is quantized
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = qlower.nothing


def test_bound_calls_read_and_write_in_place(path: Path):
    run = qlower.jit(path)
    x, out = image(0), np.empty((1, 3), np.uint8)
    call = run.bind(x, out=out)
    for seed in range(3):
        x[...] = image(seed)
        call()
        np.testing.assert_array_equal(out, run(x))
    assert call.inputs[0] is x
    assert call.outputs[0] is out
    own = run.bind(image=x)
    own()
    np.testing.assert_array_equal(own.outputs[0], out)


def test_a_bound_call_keeps_what_it_needs(path: Path):
    call = qlower.jit(path).bind(image(0))
    call()
    np.testing.assert_array_equal(call.outputs[0], qlower.jit(path)(image(0)))


def test_a_profile_tells_the_time_of_every_kernel(path: Path):
    run = qlower.jit(path, profile=True)
    np.testing.assert_array_equal(run(image(0)), qlower.jit(path)(image(0)))
    for function in (run, qlower.jit(path, profile=True)):  # compiled, and cached
        times = function.profile(image(0), calls=3)
        found = [(time.layer, time.products) for time in times]
        assert found == [("conv", 8), ("scores", 24)]
        assert all(0 < time.nanoseconds < 1e9 for time in times)
        assert times[0].bytes >= 4 + 2 + 8
    with pytest.raises(QlowerError, match="takes no times"):
        qlower.jit(path).profile(image(0))


def read_only() -> Array:
    array = np.empty((1, 3), np.uint8)
    array.flags.writeable = False
    return array


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty((1, 3), np.int8), r"\[1, 3\] of uint8, the array \[1, 3\] of int8"),
        (np.empty(3, np.uint8), r"\[1, 3\] of uint8, the array \[3\] of uint8"),
        (np.empty((1, 6), np.uint8)[:, ::2], "'scores' is not contiguous"),
        (read_only(), "read-only"),
        ([], "has 1 output, 0 arrays"),
        (3, "needs an array to be written into, not int"),
        ([[[0]]], "needs an array to be written into, not list"),
        ("y", "needs an array to be written into, not str"),
        ([None], "needs an array to be written into, not NoneType"),
    ],
)
def test_arrays_that_cannot_be_written_in_place(
    path: Path, out: Array | list[Array], message: str
):
    with pytest.raises(QlowerError, match=message):
        qlower.jit(path).bind(image(0), out=out)


def test_bound_arrays_must_not_overlap_or_need_copies(path: Path):
    run = qlower.jit(path)
    memory = np.zeros(8, np.uint8)
    x = memory[:4].view(np.int8).reshape(1, 2, 2, 1)
    with pytest.raises(QlowerError, match="overlaps"):
        run.bind(x, out=memory[3:6].reshape(1, 3))
    with pytest.raises(QlowerError, match="'image' is not contiguous"):
        run.bind(np.repeat(image(0), 2, axis=1)[:, ::2])
