"""Code for the shapes of the arrays that a model of open sizes is called with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
from support.formats.onnx_builder import OnnxBuilder

import qlower
from qlower import cli
from qlower.diagnostics import QlowerError
from qlower.frontends import load as reading
from qlower.model.signature import Array
from qlower.runtime.by_shape import Shapes
from qlower.runtime.executors import JitFunction

pytest.importorskip("onnx")

SHAPES = [(1, 3), (1, 8), (2, 5)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Pairs of numbers, a table's rows by the codes of a text of any length, whose
    products with a matrix and their mean along the text are quantized."""
    random = np.random.default_rng(4)
    builder = OnnxBuilder()
    codes = builder.input("codes", ["batch", "length"], "i8")
    factor = builder.input("factor", [1])
    table = random.normal(size=(10, 6))
    rows = builder.node("Gather", [builder.constant(table), codes])
    scaled = builder.pair(builder.node("Mul", [rows, factor]), 0.03, 128)
    matrix = random.integers(-127, 128, (6, 4)).astype("i1")
    weights = builder.node(
        "DequantizeLinear",
        [builder.constant(matrix), *builder.parameters(0.01, 0, "i1")],
    )
    product = builder.pair(builder.node("MatMul", [scaled, weights]), 0.05, 120)
    mean = builder.node("ReduceMean", [product], axes=[1], keepdims=0)
    builder.node("Identity", [builder.pair(mean, 0.02, 128)], "y")
    builder.output("y")
    return builder.save(tmp_path / "text.onnx")


def drawn(shape: Sequence[int]) -> tuple[Array, Array]:
    random = np.random.default_rng(shape[-1])
    return random.integers(0, 10, shape), np.asarray([1.5], np.float32)


def test_outputs_are_those_of_a_model_of_fixed_shapes(path: Path) -> None:
    run = qlower.jit_by_shape(path)
    for shape in SHAPES:
        codes, factor = drawn(shape)
        model = qlower.load(path, shapes={"codes": shape})
        expected = qlower.interpret(model, codes, factor)
        np.testing.assert_array_equal(run(codes, factor), expected)
        np.testing.assert_array_equal(run(factor=factor, codes=codes), expected)
    assert run.shapes == [{"codes": shape, "factor": (1,)} for shape in SHAPES]
    assert repr(run).splitlines()[1] == "  codes: [1, 3], factor: [1]"


def test_shapes_are_compiled_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = qlower.jit_by_shape(path, most=2)
    ahead = run.function({"factor": (1,), "codes": (1, 3)})
    assert run.function({"codes": (1, 3), "factor": (1,)}) is ahead
    run.function({"codes": (1, 8), "factor": (1,)})
    run(*drawn((1, 3)))
    run.function({"codes": (2, 5), "factor": (1,)})  # and (1, 8) goes
    assert [shapes["codes"] for shapes in run.shapes] == [(1, 3), (2, 5)]

    def refuse(*_: object) -> None:
        raise AssertionError("a file is read again")

    monkeypatch.setattr(reading, "as_read", refuse)
    assert run.function({"codes": (1, 3), "factor": (1,)}) is ahead
    run(*drawn((1, 8)))  # its code comes from the cache


def test_threads_wait_for_one_that_compiles(path: Path) -> None:
    run = qlower.jit_by_shape(path)
    results: list[Array] = []
    threads = [
        Thread(target=lambda: results.append(run(*drawn((1, 3))))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert len(run.shapes) == 1


def test_known_shapes_wait_for_none(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = qlower.jit_by_shape(path)
    ready = run(*drawn((1, 3)))
    begun, may_go_on = Event(), Event()
    original = vars(run)["_make"]

    def slow(shapes: Shapes) -> JitFunction:
        begun.set()
        assert may_go_on.wait(60)
        return original(shapes)

    monkeypatch.setattr(run, "_make", slow)
    other = Thread(target=lambda: run(*drawn((2, 5))))
    other.start()
    assert begun.wait(60)
    found: list[Array] = []
    known = Thread(target=lambda: found.append(run(*drawn((1, 3)))))
    known.start()
    known.join(30)
    may_go_on.set()
    other.join()
    known.join()
    assert len(run.shapes) == 2
    assert run.shapes[-1]["codes"] == (2, 5), "the known shapes waited"
    np.testing.assert_array_equal(found[0], ready)


def test_refusals(path: Path) -> None:
    run = qlower.jit_by_shape(path)
    codes, factor = drawn((1, 3))
    with pytest.raises(QlowerError, match=r"input 'factor': shape \[2\] doesn't fit"):
        run(codes, np.asarray([1, 2], np.float32))
    with pytest.raises(QlowerError, match="input 'factor' is missing"):
        run(codes=codes)
    with pytest.raises(QlowerError, match="no input 'other'"):
        run(codes=codes, factor=factor, other=codes)
    with pytest.raises(QlowerError, match="most is 0, at least 1 function stays"):
        qlower.jit_by_shape(path, most=0)


def test_run_takes_sizes_from_its_inputs(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes, factor = drawn((2, 5))
    np.savez(tmp_path / "x.npz", codes=codes, factor=factor)
    output = tmp_path / "y.npz"
    arguments = ["run", str(path), "--input", str(tmp_path / "x.npz")]
    assert cli.main([*arguments, "--output", str(output)]) == 0
    note = "note: sizes are those of the inputs: --shape codes=2x5 factor=1"
    assert note in capsys.readouterr().err
    np.testing.assert_array_equal(
        np.load(output)["y"], qlower.jit_by_shape(path)(codes, factor)
    )


def test_sizes_of_the_file_stay(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes, _ = drawn((2, 5))
    np.savez(tmp_path / "x.npz", codes=codes, factor=np.asarray([1, 2, 3], np.float32))
    arguments = ["run", str(path), "--input", str(tmp_path / "x.npz")]
    assert cli.main(arguments) == 1
    error = capsys.readouterr().err
    assert "input 'codes' has shape [2, 5], the model takes [1, 1]" in error
