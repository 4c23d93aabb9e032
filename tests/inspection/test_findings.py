"""What is said of layers whose sums can leave their width: every sentence and row."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.frontends.load import named
from qlower.inspection import lint as lint_module
from qlower.inspection.findings import Finding, Lint, lint_table
from qlower.inspection.layer_table import describe, tensor_bytes
from qlower.inspection.linting import lint
from qlower.model.layers import layers
from qlower.text.parsing import parse_module
from qlower.transforms.drop_channels import Dropped

SUM = Finding("conv", "conv2d", "accumulator", 1200, 1000, 7, -70000, 65536, 17)
PAIR = Finding("fc", "linear", "pairs", 10, 1, 3, -32768, 49152, 16)

WIDER = "Use a larger scale for the weights, fewer inputs or wider accumulators."
REDUCED = (
    "Use reduce_range=True (7-bit activations), a CPU with VNNI, or an engine that "
    "doesn't multiply in pairs, such as QNNPACK."
)


def test_a_finding_in_words() -> None:
    assert str(SUM) == "1,000 of 1,200 channels of conv can reach 1.1 times the limit"
    assert str(PAIR) == "1 of 10 channels of fc can reach 1.5 times the limit"
    assert SUM.excess == 70000 / 65536
    assert PAIR.excess == 49152 / 32768


def named_layers(*excess: int) -> list[Finding]:
    return [
        replace(SUM, layer=f"l{number}", minimum=0, maximum=one << 16, channels=1)
        for number, one in enumerate(excess)
    ]


def notes(*findings: Finding, elsewhere: list[Finding] | None = None) -> list[str]:
    return [*lint_table(findings, elsewhere or []).notes]


def test_sentences_of_each_kind() -> None:
    shown = [
        "1,000 of 1 channel of l2 can reach 9 times the limit",
        "1,000 of 1 channel of l0 can reach 3 times the limit",
        "1,000 of 1 channel of l3 can reach 2 times the limit",
    ]
    lead = "Sums can leave the 17 bits of an accumulator: "
    last = "1,000 of 1 channel of l1 can reach 1 times the limit"
    assert notes(*named_layers(3, 1, 9)) == [
        "3 findings.",
        f"{lead}{shown[0]}; {shown[1]}; {last}. {WIDER}",
    ]
    assert notes(*named_layers(3, 1, 9, 2))[1] == (
        f"{lead}{'; '.join(shown)}; and 1 more layer. {WIDER}"
    )
    assert "; and 2 more layers." in notes(*named_layers(3, 1, 9, 2, 1))[1]
    pair = "x86 without VNNI adds two uint8*int8 products in 16 bits and saturates: "
    assert notes(PAIR, SUM) == [
        "2 findings.",
        f"{pair}{PAIR}. {REDUCED}",
        f"{lead}{SUM}. {WIDER}",
    ]
    owned = replace(SUM, owner="tpu")
    assert notes(owned)[1] == (
        "Sums can leave the 17 bits of tpu's register, and what that does beyond them "
        f"isn't published: {SUM}. {WIDER}"
    )
    assert notes(elsewhere=[PAIR]) == [
        "0 findings.",
        "The contract's own system multiplies exactly. Others don't, such as PyTorch's "
        f"FBGEMM: {pair}{PAIR}. {REDUCED}",
    ]
    assert lint_table([], (), ["sum", "the bias of x"]).notes[-1] == (
        "Not looked at: sum, the bias of x."
    )


def test_rows_of_findings() -> None:
    (row,) = lint_table([SUM]).records()
    assert row == {
        **{"layer": "conv", "op": "conv2d", "what": "accumulator", "bits": 17},
        **{"channels": 1200, "channels_at_risk": 1000, "worst_channel": 7},
        **{"minimum": -70000, "maximum": 65536, "times_the_limit": 70000 / 65536},
        "advice": WIDER[0].lower() + WIDER[1:-1],
    }
    shown = lint_table([SUM]).render().splitlines()[2].split("  ")
    assert [part.strip() for part in shown if part] == [
        *("conv", "conv2d", "accumulator", "17", "1000/1200", "7"),
        *("[-70000, 65536]", "1.068"),
    ]
    table = lint_table([replace(SUM, on_data=(3, 8000)), PAIR])
    first, second = table.records()
    assert (first["out_of_range"], first["sums"]) == (3, 8000)
    assert (second["out_of_range"], second["sums"]) == (None, None)
    head, _, *lines = table.render().splitlines()
    assert head.rstrip().endswith("on data")
    assert lines[0].endswith("0.037% of 8,000") or lines[0].endswith("0.038% of 8,000")
    assert lines[1].rstrip().endswith("1.5")


def dropped(
    layer: str, channels: int, kept: int, products: int, needed: int
) -> Dropped:
    given = {
        **{"layer": layer, "channels": channels, "kept": kept},
        **{"products": products, "needed": needed, "weights": 900},
        **{"weights_needed": 800, "constant": 0},
    }
    return Dropped(**given)  # pyright: ignore


def test_products_that_change_no_output() -> None:
    few = [
        dropped("a", 8, 8, 1000, 900),
        dropped("b", 8, 6, 1000, 200),
        dropped("c", 8, 7, 1000, 700),
        dropped("d", 8, 0, 1000, 950),
        dropped("e", 8, 5, 1000, 1000),
    ]
    last = Lint([], dropped=few).table.notes[-1]
    # the three layers that do most for nothing, if they have such channels
    assert last == (
        "1,250 of 5,000 products (25%), and 500 of 4,500 weights, change no output: "
        "their channels have one value for all inputs, or meet zero weights only. "
        "Machine code leaves them out. Channels that change no output: 2 of 8 of b, "
        "1 of 8 of c. The model has capacity that it doesn't use: train it with less "
        "weight decay, or with fewer channels."
    )
    whole = Lint([], dropped=[few[0]]).table.notes[-1]
    assert "leaves them out. The model has" in whole
    assert Lint([], dropped=[few[-1]]).table.notes == ["0 findings."]


def test_nothing_to_look_at() -> None:
    empty = "No layer is quantized: nothing was looked at."
    assert Lint([], is_empty=True).table.notes == [empty]
    unbounded = Lint([], unbounded=["sum"], is_empty=True).table.notes
    assert unbounded == ["0 findings.", "Not looked at: sum."]
    assert Lint([]).is_clean
    assert not Lint([SUM]).is_clean


EMPTY = "func.func @main(%x: tensor<1xi8>) -> tensor<1xi8> { return %x : tensor<1xi8> }"


@pytest.mark.parametrize("bits", [1, 2, 63, 64])
def test_widths_that_can_be_asked_for(bits: int) -> None:
    model = named(parse_module(EMPTY), None)
    if bits in (2, 63):
        assert lint(model, accumulator_bits=bits).is_clean
        return
    with pytest.raises(QlowerError) as caught:
        lint(model, accumulator_bits=bits)
    assert caught.value.message == (
        f"--accumulator-bits must be in [2, 63], not {bits}"
    )


def test_bounds_are_of_two_ends() -> None:
    outside = vars(lint_module)["_outside"]
    ends = np.array([-8, -9, 0, -20, 3]), np.array([7, 0, 8, 30, 3])
    least, most, beyond = outside(ends, 4)
    assert least is ends[0]
    assert most is ends[1]
    assert beyond.tolist() == [0, 1, 1, 23, 0]
    assert outside((np.array([-8]), np.array([7])), 4) is None
    counts = vars(lint_module)["_counts"]
    assert counts([]) is None
    assert counts([np.array([True, False]), np.array([[True], [True]])]) == (3, 4)


TYPES = {
    "tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>": (6, "2x3 i8 (0.5, 3)"),
    "tensor<5x!quant.uniform<i4:f32, 1.0>>": (3, "5 i4 (1, 0)"),
    "tensor<4x!quant.uniform<u4:f32, 1.0>>": (2, "4 u4 (1, 0)"),
    "tensor<3x!quant.uniform<i16:f32, 1.23456789>>": (6, "3 i16 (1.23457, 0)"),
    "tensor<3x!quant.uniform<i12:f32, 1.0>>": (6, "3 i12 (1, 0)"),
    "tensor<2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>": (2, "2 i8 (2 scales)"),
    "tensor<7xi32>": (28, "7 i32"),
    "tensor<3xi1>": (3, "3 i1"),
    "tensor<2x2xf64>": (32, "2x2 f64"),
    "tensor<0xf32>": (0, "0 f32"),
}


@pytest.mark.parametrize("text", TYPES)
def test_tensors_in_short(text: str) -> None:
    module = parse_module(f"func.func private @f({text})")
    (function,) = module.body.ops
    (type,) = function.properties["function_type"].inputs  # pyright: ignore
    assert (tensor_bytes(type), describe(type)) == TYPES[text]


@pytest.mark.parametrize(
    ("own", "stated", "bits", "width", "owner"),
    [
        (None, True, None, 32, None),
        (None, True, 20, 20, None),
        (24, True, None, 24, "c"),
        (24, True, 23, 23, None),
        (24, True, 24, 24, "c"),
        (24, True, 25, 24, "c"),
        (24, False, None, 24, None),
        (40, False, None, 40, None),
        (40, True, 32, 32, None),
    ],
)
def test_the_narrower_of_a_register_and_what_is_asked_for(
    own: int | None,
    stated: bool,
    bits: int | None,
    width: int,
    owner: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of: Any = vars(lint_module)["_width"]
    monkeypatch.setattr(lint_module, "own_bits", lambda *_: own)
    monkeypatch.setattr(lint_module, "stated_bits", lambda _: stated)
    linear, relu = layers(parse_module(LAYERS))
    contract = SimpleNamespace(name="c")
    found = of(contract, linear, bits)
    assert (found.bits, found.owner) == (width, owner)
    for given, op in ((None, linear), (contract, relu)):
        found = of(given, op, bits)
        assert (found.bits, found.owner) == (bits or 32, None)


LAYERS = """
!x = !quant.uniform<u8:f32, 0.25>
!w = !quant.uniform<i8:f32, 0.5>
!y = !quant.uniform<u8:f32, 0.5>
func.func @main(%x: tensor<1x3x!x>) -> tensor<1x2x!y> {
  %w = qnn.constant dense<[[100, 50, -3], [-9, 0, 0]]> : tensor<2x3xi8>
    -> tensor<2x3x!w>
  %b = arith.constant dense<[40, -7]> : tensor<2xi32>
  %y = qnn.linear %x, %w, %b
    : (tensor<1x3x!x>, tensor<2x3x!w>, tensor<2xi32>) -> tensor<1x2x!y>
  %z = qnn.relu %y : (tensor<1x2x!y>) -> tensor<1x2x!y>
  return %z : tensor<1x2x!y>
}"""


@pytest.mark.parametrize("bits", range(12, 19))
def test_sums_and_pairs_of_a_layer(bits: int) -> None:
    """40 + [-3, 150] * 255 and -7 + [-9, 0] * 255; pairs of 150 * 255 saturate."""
    model = named(parse_module(LAYERS), None)
    ends = [(40 - 3 * 255, 40 + 150 * 255), (-7 - 9 * 255, -7)]
    out = [
        max(-(1 << bits - 1) - low, high - (1 << bits - 1) + 1, 0) for low, high in ends
    ]
    found = [one for one in lint_module.lint(model, bits=bits) if one.what != "pairs"]
    assert len(found) == (sum(out) > 0)
    for one in found:
        worst = out.index(max(out))
        assert (one.layer, one.kind) == ("y", "linear")
        assert (one.channels, one.risky) == (2, sum(n > 0 for n in out))
        assert (one.channel, one.minimum, one.maximum) == (worst, *ends[worst])
        assert (one.bits, one.on_data) == (bits, None)
    values = [
        {"x": np.array([[255, 255, 0]], np.uint8)},
        {"x": np.array([[80, 1, 255]], np.uint8)},
    ]
    sums = [[40 + 150 * 255, -7 - 9 * 255], [40 + 8050 - 765, -7 - 720]]
    beyond = sum(not -(1 << bits - 1) <= n < 1 << bits - 1 for row in sums for n in row)
    for one in lint_module.lint(model, bits=bits, values=values, pairs=True):
        # [255, 255] by [100, 50] is 38,250, of 16 bits 32,767
        assert one.on_data == ((1, 4) if one.what == "pairs" else (beyond, 4))
        if one.what == "pairs":
            assert (one.channel, one.maximum, one.bits) == (0, 38250, 16)
