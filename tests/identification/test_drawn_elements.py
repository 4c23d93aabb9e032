"""Layers that a probe has, elements that a search looks at, and products of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.contracts.products import EXACT, FLAT, PIXEL, TAPS
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.identification import evidence, search
from qlower.identification.evidence import Observed
from qlower.identification.probe import Format
from qlower.interp.values import Array
from qlower.model.layers import layers
from qlower.text.parsing import parse_module

probing: Any = import_module("qlower.identification.probe")


class Both:
    """Two cases, and two layers of products, each named with its codes' sign."""

    def __init__(self, *, signed: bool) -> None:
        self.sign = "i" if signed else "u"

    def all(self) -> Iterator[Any]:
        yield from (SimpleNamespace(name=f"{name}{self.sign}") for name in "ab")

    def products(self) -> Iterator[tuple[str, str]]:
        yield from ((name, f"{name} of {self.sign}8") for name in "pq")


@pytest.mark.parametrize(
    ("format", "sign", "more"),
    [
        ("tflite", "i", {}),
        ("onnx", "u", {}),
        ("mlir", "i", {"p_unsigned": "p of u8", "q_unsigned": "q of u8"}),
    ],
)
def test_layers_of_a_probe(
    format: Format, sign: str, more: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Sequence[int], str]] = []

    def progress(numbers: Sequence[int], work: str) -> Iterator[int]:
        seen.append((numbers, work))
        yield from numbers

    monkeypatch.setattr(probing, "Cases", Both)
    monkeypatch.setattr(probing, "contract_names", lambda: ["c"])
    monkeypatch.setattr(probing, "load_contract", lambda name: f"loaded {name}")
    monkeypatch.setattr(probing, "chosen", lambda case, known: (case.name, known))
    monkeypatch.setattr(probing, "make_probe", lambda found: found)
    known = {"c": "loaded c"}
    products = {name: f"{name} of {sign}8" for name in "pq"}
    assert probing.probe(format, progress) == {
        **{f"{name}{sign}": (f"{name}{sign}", known) for name in "ab"},
        **products,
        **more,
    }
    assert seen == [(range(2), "probe")]


class Elements:
    """Elements that the numbers 0 and 1 part where their place divides by 8."""

    def __init__(self, observed: object, contract: object, places: Array) -> None:
        self.places = places

    def results(self, member: int | None) -> Array | None:
        if member is None:
            return None
        assert member < 2, "more members than are asked"
        return np.where(self.places % 8 == 0, member, 7)

    def at(self, places: Array) -> Elements:
        return Elements(None, None, self.places[places])


def drawn(size: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setattr(search, "DRAWN", 64)
    monkeypatch.setattr(search, "MOST", 16)
    monkeypatch.setattr(search, "FEW", 3)
    monkeypatch.setattr(search, "Evidence", Elements)
    monkeypatch.setattr(search, "first_members", lambda: iter([None, 0, 1, 2]))
    halves = (np.zeros(size // 2), np.zeros(size - size // 2))
    runs: Any = [SimpleNamespace(recorded=array) for array in halves]
    informative: Any = vars(search)["_informative"]
    return informative(runs, None).places.tolist()


def test_few_elements_are_all_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(16, monkeypatch) == [*range(16)]


def test_elements_that_part_members_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of those, and of others as many as there is room for, in order."""
    for size in (17, 64, 65, 200):
        found = drawn(size, monkeypatch)
        assert len(found) == 16
        assert found == sorted(set(found))
        assert found[-1] < size
        parting = [place for place in found if place % 8 == 0]
        if size <= 64:
            assert parting == [*range(0, size, 8)]
        else:
            assert 1 < len(parting) < 16
            assert found[-1] > 64 or size == 65
    assert drawn(200, monkeypatch) == drawn(200, monkeypatch)


MODEL = """
!x = !quant.uniform<u8:f32, 0.5:3>
!w = !quant.uniform<{w}:f32, 0.25>
func.func @main(%x: tensor<1x1x1x2x!x>) -> tensor<1x1x1x2x!x> {{
  %w = qnn.constant dense<1> : tensor<{shape}xi8> -> tensor<{shape}x!w>
  %y = qnn.{op} %x, %w {{stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}}
    : (tensor<1x1x1x2x!x>, tensor<{shape}x!w>) -> tensor<1x1x1x2x!x>
  return %y : tensor<1x1x1x2x!x>
}}"""


def layer(op: str, weight: str) -> Observed:
    shape = "2x1x1x2" if op == "conv2d" else "1x1x1x2"
    text = MODEL.format(op=op, w=weight, shape=shape)
    (found,) = layers(parse_module(text))
    assert isinstance(found, qnn.Conv2DOp | qnn.DepthwiseConv2DOp)
    return Observed(found, ["x", "w"], np.zeros(2))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("op", "product", "summed"),
    [
        *[(op, one, one) for op in ("conv2d", "depthwise_conv2d") for one in (EXACT,)],
        *[(op, FLAT, FLAT) for op in ("conv2d", "depthwise_conv2d")],
        *[("conv2d", PIXEL, PIXEL), ("depthwise_conv2d", PIXEL, TAPS)],
    ],
)
def test_products_are_summed_once(
    op: str, product: str, summed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As integers of 64 bits; a depthwise layer has no pixel to take pairs of."""
    calls: list[tuple[object, ...]] = []

    def sums(*given: object) -> Array:
        calls.append(given)
        return np.array([1, 2], np.int32)

    monkeypatch.setattr(evidence, "sums_of", sums)
    one = layer(op, "i8")
    for _ in range(2):
        found = one.products(product)
        assert (found.dtype, found.tolist()) == (np.int64, [1, 2])
    assert calls == [(one.op, summed, "x", "w")]


def test_pairs_need_signed_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "sums_of", lambda *_: np.zeros(2))
    one = layer("conv2d", "u8")
    assert one.products(EXACT).tolist() == [0, 0]
    with pytest.raises(QlowerError, match="with int8 weights only"):
        one.products(PIXEL)
