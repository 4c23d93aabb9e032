"""The example fbgemm-overflow: its page shows what it prints, and it is right."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.machines.native import machine_levels

import qlower

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDER = EXAMPLES / "fbgemm-overflow"


@pytest.fixture(scope="module")
def overflow() -> Any:
    """The script as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield import_module("overflow")
        del sys.modules["overflow"]


@pytest.mark.parts(5)
def test_the_page_shows_what_is_printed(
    overflow: Any, capsys: pytest.CaptureFixture[str]
):
    assert overflow.main([]) == 0
    page = (FOLDER / "README.md").read_text()
    for table in capsys.readouterr().out.strip().split("\n\n"):
        lines = [f"    {line}".rstrip() for line in table.splitlines()]
        assert "\n".join(lines) in page


def test_ramps(overflow: Any):
    """Monotone with exact products, and with reduce_range; not so else."""
    exact = overflow.outputs(overflow.EXACT, 255).astype(int)
    assert np.all(np.diff(exact, axis=0) >= 0)
    saturating = overflow.outputs(overflow.SATURATING, 255).astype(int)
    assert np.any(np.diff(saturating, axis=0) < 0)
    np.testing.assert_array_equal(saturating[:128], exact[:128])


def test_the_model_of_the_question(overflow: Any):
    """Outputs 0 and 3 bend and 9 doesn't, as its plots show."""
    exact, saturating = (
        overflow.asked_outputs(name) for name in (overflow.EXACT, overflow.SATURATING)
    )
    assert not any(overflow.turns(exact[:, index]) for index in range(10))
    assert all(overflow.turns(saturating[:, index]) for index in overflow.BENT)
    np.testing.assert_array_equal(saturating[:, 9], exact[:, 9])
    run = qlower.jit(qlower.load(overflow.ASKED), contract=overflow.SATURATING)
    np.testing.assert_array_equal(run(overflow.asked_inputs()), saturating)


def test_the_exported_model_is_the_same(overflow: Any):
    """PyTorch's file has casts, and zero points that nodes compute."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    exported = qlower.load(
        FOLDER / "asked.onnx", outputs=["/1/QuantizeLinear_output_0"]
    )
    for contract in (overflow.EXACT, overflow.SATURATING):
        found = qlower.jit(exported, contract=contract)(overflow.asked_inputs())
        np.testing.assert_array_equal(found, overflow.asked_outputs(contract))


def test_native_code_and_interpreter_agree(overflow: Any):
    model, rows = overflow.ramp(255)
    native = qlower.jit(model, contract=overflow.SATURATING)(rows)
    np.testing.assert_array_equal(native, overflow.outputs(overflow.SATURATING, 255))


def test_weights_at_risk(overflow: Any):
    rows = np.array(list(overflow.WEIGHTS.values()))
    assert overflow.channels_at_risk(rows, 255) == 2
    assert overflow.channels_at_risk(rows, 127) == 0


def test_a_model(overflow: Any, capsys: pytest.CaptureFixture[str]):
    assert overflow.main(["--model", str(EXAMPLES / "digits" / "digits.mlir")]) == 0
    assert "pointwise" in capsys.readouterr().out


@pytest.mark.long
def test_the_picture(overflow: Any, tmp_path: Path):
    pytest.importorskip("matplotlib", reason="matplotlib isn't installed")
    overflow.draw(tmp_path / "ramps.svg")
    assert "reduce_range" in (tmp_path / "ramps.svg").read_text()


@pytest.mark.skipif(
    "avx512vnni" not in machine_levels(), reason="the machine has no AVX-512 VNNI"
)
def test_pytorch_itself(overflow: Any):
    pytest.importorskip("torch", reason="PyTorch isn't installed")
    recorded, *compared = overflow.torch_lines()
    assert recorded == "asked.mlir is what the question's script makes"
    assert len(compared) == 4
    assert all(": 0 of " in line for line in compared)
