"""Remarks on what PyTorch's engines compute otherwise, and faults of theirs."""

from __future__ import annotations

from importlib import import_module
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from qlower.frontends.fx.faults import CLAMPS, POOLS, fault_of_transposed, remark_on

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:.*quantized tensor creation")

FIRST = torch.zeros(1, 2, 3, 4)
LAST = FIRST.contiguous(memory_format=torch.channels_last)
BOTH = torch.zeros(1, 1, 3, 4)
NEITHER = FIRST[:, :, ::2, ::2]


@pytest.mark.parametrize("name", [*CLAMPS, *POOLS, "relu"])
def test_remarks(name: str) -> None:
    """On clamps of qnnpack whose image has its channels last, and on pools of the
    others whose image has them first; not where an image has both orders, or none."""
    engines = "qnnpack", "fbgemm", "onednn", "x86"
    for engine, image in product(engines, (FIRST, LAST, BOTH, NEITHER)):
        found = remark_on(name, image, engine)
        if name in CLAMPS and engine == "qnnpack" and image is LAST:
            assert found is not None
            assert found.startswith("PyTorch's qnnpack mixes up the elements of images")
        elif name in POOLS and engine != "qnnpack" and image is FIRST:
            assert found is not None
            assert found.startswith("its image has the channels first in memory")
            assert ("pytorch-nchw" in found) == (engine == "x86")
        else:
            assert found is None


def layer(output_padding: tuple[int, ...] = (0, 0)) -> Any:
    """A transposed convolution of one weight, 2."""
    weight = torch.quantize_per_tensor(
        torch.full((1, 1, 1, 1), 2.0), 0.5, 0, torch.qint8
    )
    return SimpleNamespace(
        stride=(1, 1),
        padding=(0, 0),
        output_padding=output_padding,
        groups=1,
        dilation=(1, 1),
        weight=lambda: weight,
        bias=lambda: torch.tensor([1.0]),
    )


def image(*numbers: float) -> Any:
    real = torch.tensor(numbers).reshape(1, 1, 1, -1)
    return torch.quantize_per_tensor(real, 0.5, 10, torch.quint8)


@pytest.mark.parametrize(
    ("result", "apart"),
    [
        ((3.0, 5.0, 1.0), 0),
        ((3.5, 5.0, 0.5), 0),
        ((4.0, 5.0, 1.0), 2),
        ((3.0, 2.5, 1.0), 5),
    ],
)
def test_weights_that_an_engine_mixes_up(result: tuple[float, ...], apart: int) -> None:
    """A step apart is a rounding, more isn't."""
    given = image(1.0, 2.0, 0.0)
    name = "conv_transpose2d"
    found = fault_of_transposed(name, layer(), given, image(*result), "onednn")
    assert found == (
        None
        if not apart
        else "PyTorch's engine onednn gives other results than the convolution of its"
        f" weights, by up to {apart} steps: it mixes up weights here"
    )


@pytest.mark.parametrize(
    ("codes", "apart"), [((255, 0), 0), ((253, 0), 2), ((255, 2), 2)]
)
def test_results_beyond_the_range(codes: tuple[int, int], apart: int) -> None:
    """They are clipped to [0, 255] before they are compared."""
    result = image(*((code - 10) * 0.5 for code in codes))
    name = "conv_transpose2d"
    found = fault_of_transposed(name, layer(), image(100.0, -8.0), result, "x86")
    assert (found is None) == (apart == 0)
    assert found is None or f"by up to {apart} steps" in found


def test_padding_of_results() -> None:
    given = image(1.0, 2.0)
    other = layer((0, 1))
    other.stride = (1, 2)
    result = image(3.0, 1.0, 5.0, 1.0)
    assert (
        fault_of_transposed("conv_transpose2d", other, given, result, "onednn") is None
    )
    for padding in ((1, 0), (0, 1)):
        found = fault_of_transposed(
            *("conv_transpose2d", layer(padding), given, given), engine="x86"
        )
        assert found == (
            "with output_padding the engine x86 leaves it to fbgemm: convert for that"
        )


ENGINES = {"fbgemm": True, "onednn": True, "x86": False, "qnnpack": False}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_contract_of_an_engine(engine: str) -> None:
    """Two of them compute otherwise on processors without VNNI."""
    remark = vars(import_module("qlower.frontends.fx"))["_remark"]
    told = f"the contract is pytorch-{engine}, the engine that is set"
    more = f", on CPUs with VNNI; without, pytorch-{engine}-avx2 is"
    assert remark(engine) == told + more * ENGINES[engine]
