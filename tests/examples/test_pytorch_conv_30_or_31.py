"""The example pytorch-conv-30-or-31: its page shows what it prints, and it is right."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import qlower

FOLDER = Path(__file__).parents[2] / "examples" / "pytorch-conv-30-or-31"


@pytest.fixture(scope="module")
def explain() -> Any:
    """The script as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        module = import_module("explain")
        # kept: its data classes look their module up
        yield module
        del sys.modules["explain"]


@pytest.mark.long
def test_the_page_shows_what_is_printed(
    explain: Any, capsys: pytest.CaptureFixture[str]
):
    assert explain.main([]) == 0
    page = (FOLDER / "README.md").read_text()
    for table in capsys.readouterr().out.strip().split("\n\n"):
        lines = [f"    {line}".rstrip() for line in table.splitlines()]
        assert "\n".join(lines) in page


def test_by_hand(explain: Any):
    product, bias, value = explain.by_hand(explain.PRINTED)
    assert (product, bias) == (3048, 1070)
    assert value == pytest.approx(30.514379999999996, rel=1e-15)
    low, high = explain.allowed()
    assert low < explain.exact(explain.REAL) < high


@pytest.mark.parts(3)
@pytest.mark.parametrize("contract", ["pytorch-fbgemm", "pytorch-qnnpack", "tflite"])
def test_native_code_and_interpreter_agree(explain: Any, contract: str):
    model = explain.layer(explain.REAL, len(explain.OUTPUTS))
    (result,), _ = qlower.jit(model, contract=contract).run([explain.image()], {})
    found = result.reshape(-1).tolist()
    assert found == explain.answers(contract, explain.REAL) == list(explain.OUTPUTS)


@pytest.mark.parts(4)
def test_the_picture(explain: Any, tmp_path: Path):
    pytest.importorskip("matplotlib", reason="matplotlib isn't installed")
    explain.draw(tmp_path / "digits.svg")
    assert "from here on 31" in (tmp_path / "digits.svg").read_text()


@pytest.mark.parametrize("engine", ["fbgemm", "qnnpack"])
def test_pytorch_itself(explain: Any, engine: str):
    pytest.importorskip("torch", reason="PyTorch isn't installed")
    printed, full, real = explain.torch_answers(engine)
    assert (printed[24], full[24]) == (31, 30)
    assert real == list(explain.OUTPUTS)
