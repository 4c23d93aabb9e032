"""Work on a model's layers, one after the other, grows with their number: it is
counted, not timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.machines.counted_calls import counted_calls

import qlower
from qlower.compilation.compilation import Compilation
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.transforms.plan_memory import plan_memory
from qlower.verification.equal import equal

_HEAD = """\
!t = !quant.uniform<i8:f32, 0.1:3>
!w = !quant.uniform<i8<-127:127>:f32, 0.017>
module attributes {qnn.contract = "tflite"} {
  func.func @main(%x: tensor<1x2x!t> {qnn.name = "x"}) -> tensor<1x2x!t> {
    %v0 = qnn.requantize %x : (tensor<1x2x!t>) -> tensor<1x2x!t>
"""

_LAYER = """\
    %w$n = qnn.constant dense<[[$n, 7], [-3, 5]]> : tensor<2x2xi8> -> tensor<2x2x!w>
    %v$n = qnn.linear %v$m, %w$n : (tensor<1x2x!t>, tensor<2x2x!w>) -> tensor<1x2x!t>
"""

_SIZES = 6, 12, 24


_BESIDE = _LAYER.replace("%v$m", "%v0")


def _chain(count: int, path: Path, layer: str = _LAYER) -> Model:
    layers = [
        layer.replace("$n", str(n)).replace("$m", str(n - 1))
        for n in range(1, count + 1)
    ]
    end = f"    return %v{count} : tensor<1x2x!t>\n  }}\n}}\n"
    text = "".join([_HEAD, *layers, end])
    path.write_text(
        text if layer != _PADDED else text.replace("<1x2x!t>", "<1x2x2x1x!t>")
    )
    return qlower.load(path)


WORK: dict[str, Callable[[Model], object]] = {
    "detach": lambda model: [model.index.detach([name]) for name in model.index],
    "diff": lambda model: qlower.diff("tflite", "tosa", model, random=0),
}

_PADDED = """\
    %w$n = qnn.constant dense<$n> : tensor<1x3x3x1xi8> -> tensor<1x3x3x1x!w>
    %v$n = qnn.conv2d %v$m, %w$n
      {stride = [1, 1], pad = [1, 1, 1, 1], dilation = [1, 1]}
      : (tensor<1x2x2x1x!t>, tensor<1x3x3x1x!w>) -> tensor<1x2x2x1x!t>
"""

MORE_WORK: dict[str, Callable[[Model], object]] = {
    "equal": lambda model: equal("tflite", "tosa", model, native=False),
    "fits": lambda model: qlower.verify(model, accumulator_bits=8),
    "lint": lambda model: qlower.lint(model, accumulator_bits=8),
    "stats": qlower.stats,
    "vectors": qlower.vectors,
}


@pytest.mark.parametrize("name", WORK)
def test_twice_the_layers_are_twice_the_work(name: str, tmp_path: Path):
    check(counts_of(WORK[name], tmp_path / "model.mlir"))


def test_layers_that_read_one_value_are_confirmed_in_linear_work(tmp_path: Path):
    def confirm(model: Model) -> None:
        assert qlower.verify(model, equal=("tflite", "tosa"))

    check(counts_of(confirm, tmp_path / "model.mlir", _BESIDE))


@pytest.mark.long
@pytest.mark.parametrize("name", MORE_WORK)
def test_twice_the_layers_are_twice_the_work_of_longer_kinds(name: str, tmp_path: Path):
    check(counts_of(MORE_WORK[name], tmp_path / "model.mlir"))


def test_memory_is_planned_in_linear_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("qlower.transforms.plan_memory._BOXES", 2)

    path = tmp_path / "model.mlir"
    functions = [
        main_function(Compilation(_chain(size, path, _PADDED)).kernels)
        for size in _SIZES
    ]
    counts: list[int] = []
    for function in functions:
        with counted_calls() as calls:
            plan_memory(function)
        counts.append(calls.count)
    check(counts)


def counts_of(
    work: Callable[[Model], object], path: Path, layer: str = _LAYER
) -> list[int]:
    """The calls of work on models with the sizes as numbers of layers."""
    work(_chain(1, path, layer))
    counts: list[int] = []
    for size in _SIZES:
        model = _chain(size, path, layer)
        with counted_calls() as calls:
            work(model)
        counts.append(calls.count)
    return counts


def check(counts: Sequence[int]) -> None:
    """What the second half of the layers adds to the work is what the first one did."""
    few, some, many = counts
    assert many - some < 2.1 * (some - few)
