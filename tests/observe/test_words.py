"""What `diff` and `trace` say in words, held against what is computed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.lanes import a_part

import qlower
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import load_text
from qlower.model.signature import Array
from qlower.observe.words import show_beside_tie, side_of_tie

EXAMPLES = Path(__file__).parents[2] / "examples"
DIGITS = EXAMPLES / "digits" / "digits.mlir"


def rescaling(input_scale: float, output_scale: float, zero: int) -> qlower.Model:
    """One requantization of 256 codes."""
    text = f"""
!x = !quant.uniform<i8:f32, {input_scale}>
!y = !quant.uniform<i8:f32, {output_scale}:{zero}>
func.func @main(%x: tensor<1x256x!x>) -> tensor<1x256x!y> {{
  %rescaled = qnn.requantize %x : (tensor<1x256x!x>) -> tensor<1x256x!y>
  return %rescaled : tensor<1x256x!y>
}}
"""
    return load_text(text.encode(), "rescaling.mlir", ImportOptions())


CODES = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)

ROUNDED: Mapping[str, Callable[[Fraction], int]] = {
    "away from zero": lambda n: int(math.copysign(math.floor(abs(n) + 0.5), n)),
    "to even": round,
    "up": lambda n: math.floor(n + Fraction(1, 2)),
}


@pytest.mark.parts(3)
@pytest.mark.parametrize("zero", [0, 3, -7])
def test_ties_are_called_what_they_become(zero: int) -> None:
    """Halves of odd numbers: all differences are ties, by the modes that are named."""
    model = rescaling(0.5, 1.0, zero)
    found = qlower.diff("tflite", "pytorch-fbgemm", model, CODES)
    assert found.guilty is not None
    assert found.guilty.alone is not None
    (line,) = [one for one in str(found).splitlines() if "roundings of ties" in one]
    assert f"all {found.guilty.alone.differing} differences" in line
    modes = dict(re.findall(r"([\w-]+) rounds them ([a-z ]+)", line))
    assert modes == {"tflite": "up", "pytorch-fbgemm": "to even"}
    # PyTorch adds the zero point before it rounds
    added = {"tflite": 0, "pytorch-fbgemm": zero}
    results = [qlower.interpret(model, CODES, contract=one) for one in modes]
    assert all(isinstance(one, np.ndarray) for one in results)
    for contract, mode, given in zip(modes, modes.values(), results, strict=True):
        for code, one in zip(CODES[0], np.asarray(given)[0], strict=True):
            exact = Fraction(int(code), 2) + added[contract]
            assert one - zero + added[contract] == ROUNDED[mode](exact)


@pytest.mark.parts(4)
def test_who_rounds_twice_shows_the_tie_that_it_made() -> None:
    """Numbers that the first rounding moves beyond a tie: the sentence has the exact
    number, that of the first rounding, and both results, before the zero point."""
    text = (EXAMPLES / "tvm-vs-torch" / "multiplier.mlir").read_text()
    told: list[str] = []
    scales = ("1.0057373046875", "1.3", "1.7", "0.9")
    for scale in scales:
        for zero in a_part(("", ":-128", ":5"), 3, scales.index(scale)):
            changed = text.replace("1.0057373046875", f"{scale}{zero}")
            model = load_text(changed.encode(), "m.mlir", ImportOptions())
            for other in ("tvm-neon", "tflite"):
                found = qlower.diff("tvm", other, model, CODES.reshape(1, 1, 256, 1))
                lines = str(found).splitlines()
                told += [line for line in lines if "rounds twice" in line]
    assert len(told) > 4
    for line in told:
        numbers = [
            [Fraction(number) for number in path.split(" -> ")]
            for path in re.findall(r"rounds \w+: ([-\d. >]+\d)", line)
        ]
        once, twice = sorted(numbers, key=len)
        assert len(once) == 2
        assert once[0] == twice[0]
        assert once[-1] != twice[-1]
        assert abs(once[0] - once[1]) <= Fraction(1, 2)
        assert (2 * twice[1]).denominator == 1 or abs(twice[1] - twice[2]) <= 0.5


def test_no_headline_contradicts_itself() -> None:
    """Whatever is called a tie is a half, and goes where its mode takes it."""
    image = np.load(EXAMPLES / "digits" / "test_images.npy")[:8].reshape(-1, 8, 8, 1)
    seen = 0
    others = ("tvm-neon", "tvm", "onnxruntime", "gemmlowp", "exact")
    for other in a_part(others, 3, 0):
        text = str(qlower.diff("tflite", other, DIGITS, image))
        for before, after, mode in re.findall(
            r"(-?[\d.]+)(?: \([^)]*\))? -> (-?\d+) \((half_\w+), tie", text
        ):
            seen += 1
            assert Fraction(before) % 1 == Fraction(1, 2)
            words = mode.removeprefix("half_").replace("even", "to even")
            words = words.replace("away", "away from zero")
            assert int(after) == ROUNDED[words](Fraction(before))
    assert seen


def layers_of(contract: str) -> tuple[Array, dict[str, Array]]:
    image: Array = np.load(EXAMPLES / "digits" / "images" / "3.npy")
    found: dict[str, Array] = {}
    qlower.interpret(DIGITS, image, contract=contract, at="qnn", layers=found)
    return image, found


def test_what_is_no_rounding_is_not_called_one() -> None:
    image, layers = layers_of("tflite")
    layers["conv1"] = np.roll(layers["conv1"], 1, axis=1)
    text = str(qlower.diff(layers, "tflite", DIGITS, image))
    assert "more than a rounding: dump is up to" in text
    assert "Suspect another layout" in text


def test_a_truncating_device_is_recognised() -> None:
    """Codes that a device rounds down, in a dump."""
    model = rescaling(0.0037, 0.0061, 0)
    exact = [Fraction(np.float32(0.0037).item()) / Fraction(np.float32(0.0061).item())]
    down = [math.floor(int(code) * exact[0]) for code in CODES[0]]
    dump = {"rescaled": np.array([down], np.int8)}
    text = str(qlower.diff("tflite", dump, model, CODES))
    assert "tflite takes the nearest number; dump rounds them down" in text


def test_saturated_sums_are_the_cause_of_all() -> None:
    asked = EXAMPLES / "fbgemm-overflow" / "asked.mlir"
    found = qlower.diff("pytorch-fbgemm-avx2", "pytorch-fbgemm", asked, random=0)
    assert "sums that saturate or wrap before anything is rounded" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["in_words"]


@pytest.mark.parts(3)
@pytest.mark.parametrize("width", [60, 80, 100])
def test_words_stay_on_narrow_terminals(width: int) -> None:
    image, _ = layers_of("tflite")
    found = qlower.diff("tflite", "tvm", DIGITS, image, at="conv1[0,0,0,0]")
    parts = [
        found.render(width),
        qlower.trace(DIGITS, image, at="conv1[0,0,0,0]", contract="tflite").render(
            width
        ),
    ]
    for text in parts:
        assert "what it does" in text
        assert "multiply by" in text
        assert "%result" not in text or width > 80


@pytest.mark.parametrize(
    "number",
    [Fraction(1, 2) + Fraction(1, 10**n) for n in range(1, 20)]
    + [Fraction(7, 2), Fraction(-7, 2), Fraction(-1, 3), Fraction(0), Fraction(10**9)],
)
def test_numbers_show_on_which_side_of_a_tie_they_are(number: Fraction) -> None:
    assert side_of_tie(Fraction(show_beside_tie(number))) == side_of_tie(number)


@pytest.mark.parts(2)
@pytest.mark.parametrize("contract", ["openvino", "mnn"])
def test_exact_results_are_cut_to_codes_not_to_what_a_contract_calls_a_bound(
    contract: str,
) -> None:
    """Both bounds are in other units there than the codes of other systems."""
    images = np.load(DIGITS.parent / "test_images.npy")
    softmax = {"softmax": "tflite"}
    found = str(
        qlower.diff(contract, "tflite", DIGITS, images, layer_contracts=softmax)
    )
    assert "of a tie, where one step of the arithmetic decides" in found
    assert "from the exact result" not in found
