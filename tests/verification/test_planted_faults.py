"""Faults planted in the kernel level are found in machine code."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import models_directory
from support.damage.planted_faults import FAULTS, Plant, PlantPass, entry_of_table
from xdsl.passes import ModulePass

from qlower.codegen.targets.base import Target
from qlower.codegen.targets.resolve import host_target
from qlower.compilation import bisection, to_kernel
from qlower.compilation.compilation import Compilation
from qlower.dialects.kernel import NestOp
from qlower.model.random_inputs import random_inputs
from qlower.verification.native.sweep import bind_code
from qlower.verification.native.verify import native
from qlower.verification.native.whole import DRAWN, WholeModel

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"
REAL = models_directory()
MODELS = {
    "digits": (DIGITS, range(8)),
    "ResNet8": (REAL / "ic_resnet8_int8" / "model.tflite", (0, 2, 9, 10, 12, 13)),
    "DS-CNN": (REAL / "kws_dscnn_int8" / "model.tflite", (0, 1, 2, 9, 10, 12, 13)),
}
"""Models and the numbers of nests: convolutions, with a sum, depthwise, pools, linear
layers, tables."""

MAY_DO_NOTHING = {
    *("half up", "half away", "upper bound", "lower bound", "number"),
    *("scale, 2^-20", "scale, 2^-23", "addend, 0.001", "scales exchanged"),
}
"""Faults that may change no result: no sum is a tie or near one, another bound is
narrower, two scales are equal."""

FEW = ("weight", "bias, 1 more", "scale, 2^-16", "addend, 0.25", "no flip", "padding")


@contextmanager
def planted(
    nest: int, fault: str, patch: pytest.MonkeyPatch
) -> Generator[list[tuple[str, ...]]]:
    """A fault in all code that is made meanwhile; what layers it is in."""
    passes = to_kernel.kernel_passes
    found: list[tuple[str, ...]] = []

    def with_fault(target: Target) -> list[ModulePass]:
        return [*passes(target), PlantPass(nest, FAULTS[fault], found)]

    with patch.context() as here:
        here.setattr(to_kernel, "kernel_passes", with_fault)
        here.setattr(bisection, "kernel_passes", with_fault)
        yield found


@pytest.mark.parts(21)
@pytest.mark.parametrize("fault", [*FEW, "upper bound"])
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the function itself, or by the one that reads its bytes."""
    only = ["conv1", "depthwise"] if fault == "no flip" else ["conv1"]
    with planted(0, fault, monkeypatch) as layers:
        rows = native(DIGITS, {"host": host_target()}, only=only).layers
    assert layers
    assert any(row.verdict == "differs" for row in rows)


SOFTMAX = {"maximum": 5, "sum": 6, "quotient": 7}
"""The nests that compute the softmax of `DIGITS` together."""


@pytest.mark.parts(16)
@pytest.mark.parametrize(
    ("part", "plant"),
    [
        ("sum", entry_of_table(255, 1 << 12)),
        ("quotient", entry_of_table(250, 1 << 26)),
        ("quotient", FAULTS["upper bound"]),
        ("quotient", FAULTS["floor"]),
    ],
)
def test_a_fault_of_a_softmax_is_found(
    part: str, plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FAULTS, "planted", plant)
    with planted(SOFTMAX[part], "planted", monkeypatch) as layers:
        (row,) = native(DIGITS, {"host": host_target()}, only=["probabilities"]).layers
    assert layers
    assert row.verdict == "differs"


@pytest.mark.parts(4)
def test_what_is_not_decided_of_a_softmax_is_said() -> None:
    (row,) = native(DIGITS, {"host": host_target()}, only=["probabilities"]).layers
    assert row.verdict == "undecided"
    assert row.how.endswith("not decided: all other rows")


def outcome(path: Path, nest: int, fault: str, patch: pytest.MonkeyPatch) -> str | None:
    """What finds a fault, a function's verdict, the whole code or `bisect`, or what is
    said if none does; None where there is no place for it."""
    level = host_target()
    compilation = Compilation(path).for_target(level)
    with planted(nest, fault, patch) as found:
        code = compilation.code
        if not found:
            return None
        rows = native(path, {"host": level}, only=found[0]).layers
        if any(row.verdict == "differs" for row in rows):
            return "function"
        whole = WholeModel(compilation).on(compilation, bind_code)
        assert whole is not None
        assert code is compilation.code
        if whole.differing:
            return "whole"
        specs = compilation.model.signature.inputs
        for seed in range(DRAWN):
            given = {
                spec.name: array
                for spec, array in zip(specs, random_inputs(specs, seed), strict=True)
            }
            if bisection.bisect(Compilation(path).for_target(level), given) is not None:
                return "bisect"
    return ", ".join(sorted({row.verdict for row in rows})) or "nothing"


def nests_of(path: Path) -> int:
    kernels = Compilation(path).for_target(host_target()).kernels
    return sum(isinstance(op, NestOp) for op in kernels.walk())


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_found_or_said_to_be_undecided(
    model: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No fault with an effect is in a function that is called equal, but for what the
    whole code then shows."""
    path, nests = MODELS[model]
    if not path.exists():
        pytest.skip(f"{path} isn't there")
    assert max(nests) < nests_of(path)
    for nest in nests:
        found = outcome(path, nest, fault, monkeypatch)
        print(model, nest, fault, found, flush=True)
        if found == "equal":
            assert fault in MAY_DO_NOTHING
        assert found in (None, "function", "whole", "bisect", "equal", "undecided")
