"""A 1x1 convolution that gives 30, where a calculation by hand gives 31.

    python examples/pytorch-conv-30-or-31/explain.py
    python examples/pytorch-conv-30-or-31/explain.py --torch

The layer is one of PyTorch's quantized tutorials: one channel, one weight, one bias.
With --torch PyTorch's own engines run it, too.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

import qlower
from qlower.contracts import contract_names, load_contract
from qlower.dialects import qnn
from qlower.model.build import constant, make_module, quantized
from qlower.tables.plots import BLUE, RED, new_figure, save

TEST_SUPPORT = str(Path(__file__).parents[2] / "tests")
"""The folder of what the project's tests share."""

WEIGHT = 127
STORED = 24

# What the layer gave for the inputs 0 to 32, as its user printed it.
OUTPUTS = (*range(8, 14), *range(13, 29), *range(28, 39))


@dataclass(frozen=True)
class Numbers:
    """The real numbers of the layer; what they are called in the tables."""

    input_scale: float
    weight_scale: float
    bias: float
    output_scale: float

    @property
    def step(self) -> float:
        """The scale of the accumulator."""
        return self.input_scale * self.weight_scale


PRINTED = Numbers(0.0078, 0.0038, 0.0317, 0.0040)
FULL_OUTPUT = replace(PRINTED, output_scale=0.004018464591354132)

# The output scale is printed in full in the model's description. The weight is 0.4808
# and its observer divides by 127.5; the largest input is 254 of 255, less about
# 0.05 % that its histogram cuts off, and a reduced range divides by 127.
REAL = replace(
    FULL_OUTPUT, input_scale=254 / 255 * 0.9995 / 127, weight_scale=0.4808 / 127.5
)
VARIANTS = {
    "printed, four digits": PRINTED,
    "output scale in full": FULL_OUTPUT,
    "all digits": REAL,
}
HALF_A_DIGIT = 0.00005


def by_hand(numbers: Numbers) -> tuple[int, int, float]:
    """The product, the integer bias, and the output before it is rounded."""
    product = STORED * WEIGHT
    bias = round(numbers.bias / numbers.step)
    return product, bias, (product + bias) * numbers.step / numbers.output_scale


def exact(numbers: Numbers) -> float:
    """The output before it is rounded, of a bias that isn't rounded either."""
    step = Fraction(numbers.input_scale) * Fraction(numbers.weight_scale)
    real = STORED * WEIGHT * step + Fraction(numbers.bias)
    return float(real / Fraction(numbers.output_scale))


def layer(numbers: Numbers, width: int) -> qlower.Model:
    """The convolution of an image of so many pixels in a row, with a real bias."""
    image = quantized((1, 1, width, 1), numbers.input_scale, signed=False)
    result = quantized((1, 1, width, 1), numbers.output_scale, signed=False)
    shape = (1, 1, 1, 1)
    stored = np.full(shape, WEIGHT, np.int8)

    def body(x: SSAValue) -> list[SSAValue]:
        weight = constant(stored, quantized(shape, numbers.weight_scale))
        bias = constant(np.array([numbers.bias], np.float32))
        conv = qnn.Conv2DOp(x, weight, bias, result, stride=[1, 1], pad=[0] * 4)
        return [conv.result]

    return qlower.Model(make_module([image], body))


def image() -> NDArray[np.uint8]:
    return np.arange(len(OUTPUTS), dtype=np.uint8).reshape(1, 1, -1, 1)


def answers(contract: str, numbers: Numbers) -> list[int]:
    """The outputs for the inputs 0 to 32."""
    model = layer(numbers, len(OUTPUTS))
    result = qlower.interpret(model, image(), contract=contract, at="qnn")
    return np.asarray(result).reshape(-1).tolist()


def torch_answers(engine: str) -> list[list[int]]:
    """The same by PyTorch itself, for all variants."""
    sys.path.append(TEST_SUPPORT)
    from support.layers.random_modules import RandomLayer
    from support.systems.torch_engines import run_torch

    models = [layer(numbers, len(OUTPUTS)) for numbers in VARIANTS.values()]
    layers = [RandomLayer(model.module, [image()]) for model in models]
    return [result.reshape(-1).tolist() for result in run_torch(layers, engine)]


def term_lines() -> Iterator[str]:
    yield f"{'by hand, term by term':24}" + "".join(f"{name:>22}" for name in VARIANTS)
    for field in fields(Numbers):
        values = [getattr(numbers, field.name) for numbers in VARIANTS.values()]
        label = field.name.replace("_", " ")
        yield f"{label:24}" + "".join(f"{value:22.10g}" for value in values)
    hands = [by_hand(numbers) for numbers in VARIANTS.values()]
    steps = [numbers.step for numbers in VARIANTS.values()]
    rows = {
        "24 * 127": [product for product, _, _ in hands],
        "bias / step, rounded": [bias for _, bias, _ in hands],
        "their sum": [product + bias for product, bias, _ in hands],
        "step = input * weight": [f"{step:.7g}" for step in steps],
        "sum * step / output": [f"{value:.5f}" for _, _, value in hands],
        "bias not rounded": [f"{exact(n):.5f}" for n in VARIANTS.values()],
        "rounded": [round(value) for _, _, value in hands],
    }
    for label, row in rows.items():
        yield f"{label:24}" + "".join(f"{value:>22}" for value in row)


def digit_ranges() -> dict[str, tuple[float, float]]:
    """Of each printed number: the outputs where it alone is anything that is printed
    so."""
    ranges: dict[str, tuple[float, float]] = {}
    lowest = highest = PRINTED
    for field in fields(Numbers):
        value = getattr(PRINTED, field.name)
        # the output falls with its own scale and rises with the rest
        half = HALF_A_DIGIT if field.name != "output_scale" else -HALF_A_DIGIT
        low, high = {field.name: value - half}, {field.name: value + half}
        label = field.name.replace("_", " ")
        ranges[label] = exact(replace(PRINTED, **low)), exact(replace(PRINTED, **high))
        lowest, highest = replace(lowest, **low), replace(highest, **high)
    ranges["all together"] = exact(lowest), exact(highest)
    return ranges


def allowed() -> tuple[float, float]:
    """The output for 24 that all outputs together allow, from the full output scale
    and the printed bias: each bounds the slope 127 * step / output scale."""
    offset = FULL_OUTPUT.bias / FULL_OUTPUT.output_scale
    points = list(enumerate(OUTPUTS))[1:]
    low = max((stored - 0.5 - offset) / x for x, stored in points)
    high = min((stored + 0.5 - offset) / x for x, stored in points)
    return STORED * low + offset, STORED * high + offset


def contract_lines() -> Iterator[str]:
    yield "24 becomes, in every contract with conv2d and real biases; (n): n of the 33"
    yield "outputs for 0 to 32 aren't what the user's layer gave"
    yield f"{'':24}" + "".join(f"{name:>22}" for name in VARIANTS)
    refusing: list[str] = []
    for name in contract_names():
        rules = load_contract(name).rules
        has_bias = "conv2d" in rules and "real_bias" in rules["conv2d"].values
        if has_bias or {"conv2d", "quantize_bias"} <= rules.keys():
            try:
                yield row(name, [answers(name, n) for n in VARIANTS.values()])
            except qlower.QlowerError:
                refusing.append(name)
    yield from textwrap.wrap(f"refuse such a layer: {', '.join(refusing)}", 90)


def torch_lines() -> Iterator[str]:
    try:
        import torch
    except ImportError:
        yield "PyTorch isn't installed"
        return
    yield f"PyTorch {torch.__version__} itself"
    for engine in ("fbgemm", "onednn", "qnnpack", "x86"):
        yield row(engine, torch_answers(engine))


def row(label: str, variants: Sequence[Sequence[int]]) -> str:
    cells: list[str] = []
    for found in variants:
        wrong = sum(a != b for a, b in zip(found, OUTPUTS, strict=True))
        cells.append(f"{found[STORED]} ({wrong})")
    return f"{label:24}" + "".join(f"{cell:>22}" for cell in cells)


def lines() -> Iterator[str]:
    """What is printed."""
    yield from term_lines()
    yield ""
    yield f"{'what a digit is worth':24}{'printed':>10}{'may be':>20}{'output':>20}"
    for label, (low, high) in digit_ranges().items():
        value = getattr(PRINTED, label.replace(" ", "_"), None)
        cells = f"{'':10}{'':20}"
        if value is not None:
            between = f"{value - HALF_A_DIGIT:.5f}..{value + HALF_A_DIGIT:.5f}"
            cells = f"{value:10.4f}{between:>20}"
        yield f"{label:24}{cells}{f'{low:.2f}..{high:.2f}':>20}"
    yield ""
    low, high = allowed()
    yield f"all outputs together allow {low:.3f} to {high:.3f} for 24, so it is 30"
    yield ""
    yield from contract_lines()


def draw(path: Path) -> None:
    """What each printed number leaves open, and where the layer is."""
    ranges = digit_ranges()
    figure = new_figure(8, 2.8)
    axes = figure.subplots()
    axes.set_title("the output for 24, as far as four digits tell")
    for place, (low, high) in enumerate(ranges.values()):
        axes.barh(place, high - low, left=low, height=0.5, color=BLUE)
    axes.set_yticks(range(len(ranges)), list(ranges))
    axes.invert_yaxis()
    axes.axvline(30.5, color=RED, label="from here on 31")
    axes.axvline(exact(PRINTED), color="black", ls=":", label="by hand")
    axes.axvline(exact(REAL), color="black", label="the layer")
    axes.set_xlabel("output before rounding")
    axes.legend(loc="upper right", fontsize="small")
    save(figure, path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Why 24 becomes 30 and not 31.")
    parser.add_argument("--torch", action="store_true", help="run PyTorch, too")
    parser.add_argument(
        "--picture", type=Path, help="draw what digits leave open (needs matplotlib)"
    )
    options = parser.parse_args(arguments)
    print(*lines(), sep="\n")
    if options.torch:
        print("", *torch_lines(), sep="\n")
    if options.picture is not None:
        draw(options.picture)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
