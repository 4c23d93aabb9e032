"""Where the roundings of TVM and PyTorch part: requantization and average pools.

    python examples/tvm-vs-torch/compare.py

Both are contracts here: neither has to be installed. With --torch PyTorch's own pools
run, too.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

import qlower
from qlower.dialects import qnn
from qlower.model.build import constant, make_module, quantized
from qlower.tables.plots import GREY, RED, new_figure, save

TEST_SUPPORT = str(Path(__file__).parents[2] / "tests")
"""The folder of what the project's tests share."""

Stored = NDArray[np.generic]

TVM = ("tvm", "tvm-neon", "tvm-neon-fix")
MULTIPLIER, SHIFT = 1607255613, -1

SHIFTS = (1, 2, 3, 4, 6, 8, 10)
PAIRS = {
    "two roundings": ("tvm-neon", False),
    "repaired": ("tvm-neon-fix", False),
    "half even": ("pytorch-fbgemm", False),
    "half even, 2^s": ("pytorch-fbgemm", True),
    "z inside, 2^s": ("pytorch-onednn", True),
}
"""Heading: what is compared with tvm, and whether the ratio is a power of two."""
LAYERS, PIXELS = 4, 768

MEANS = (0.5, 1.5, 2.5, 3.5)
ROUNDING = re.compile(r"= (fixed\.|arith\.muli .*i64|arith\.mulf|math\.fma)")
POOLS = ("tvm", "pytorch-nchw", "pytorch-fbgemm")


def convolution(
    weights: NDArray[np.int8],
    pixels: int,
    input_scale: float,
    output_scale: float,
    zero_points: tuple[int, int],
) -> ModuleOp:
    """A 1x1 convolution with uint8 images, weights [outputs, inputs] of scale 1 and
    biases of 0."""
    outputs, inputs = weights.shape
    kernel = (outputs, 1, 1, inputs)
    image = quantized((1, 1, pixels, inputs), input_scale, zero_points[0], signed=False)
    result = quantized(
        (1, 1, pixels, outputs), output_scale, zero_points[1], signed=False
    )

    def body(x: SSAValue) -> list[SSAValue]:
        weight = constant(weights.reshape(kernel), quantized(kernel, 1.0))
        bias = constant(np.zeros(outputs, np.float32))
        conv = qnn.Conv2DOp(x, weight, bias, result, stride=[1, 1], pad=[0] * 4)
        return [conv.result]

    return make_module([image], body)


def run(module: ModuleOp, image: Stored, contract: str) -> NDArray[np.int64]:
    """The stored results, in a row."""
    model = qlower.Model(module)
    result = qlower.interpret(model, image, contract=contract, at="qnn")
    return np.asarray(result).reshape(-1).astype(np.int64)


def one_multiplier() -> ModuleOp:
    """A layer whose accumulators are its inputs, -128 to 127, times m * 2^(s-31)."""
    sys.path.append(TEST_SUPPORT)
    from support.layers.rescaling import rescale_by_quotient

    none = np.zeros(1, np.int32)
    scales = rescale_by_quotient(none, MULTIPLIER, SHIFT)
    weight = np.ones((1, 1), np.int8)
    return convolution(weight, 256, scales.input_scale, scales.output_scale, (128, 128))


def multiplier_lines() -> Iterator[str]:
    yield f"requantization by y = {MULTIPLIER}, q = 31, s = {SHIFT}"
    yield f"{'x':>5} {'exact':>9}" + "".join(f"{name:>14}" for name in TVM)
    module = one_multiplier()
    image = np.arange(256, dtype=np.uint8).reshape(1, 1, 256, 1)
    results = {name: run(module, image, name) - 128 for name in TVM}
    for x in (1, -2, -5, 100, -127):
        real = x * MULTIPLIER / 2 ** (31 - SHIFT)
        found = "".join(f"{results[name][x + 128]:14}" for name in TVM)
        yield f"{x:5} {real:9.3f}{found}"
    parting = np.count_nonzero(results["tvm"] != results["tvm-neon"])
    repaired = np.count_nonzero(results["tvm"] != results["tvm-neon-fix"])
    yield f"of 256 inputs {parting} part with tvm-neon, {repaired} with tvm-neon-fix"


def shares() -> Mapping[str, list[float]]:
    """For each pair how many outputs differ, by shift."""
    columns: dict[str, list[float]] = {heading: [] for heading in PAIRS}
    for shift in SHIFTS:
        for heading, share in differing(shift).items():
            columns[heading].append(share)
    return columns


def differing(shift: int) -> Mapping[str, float]:
    """The share of 49,152 outputs of random layers that differ, for each pair."""
    random = np.random.default_rng(shift)
    largest = min(2 ** (shift - 1), 127)
    counts = dict.fromkeys(PAIRS, 0)
    for _ in range(LAYERS):
        weights = random.integers(-largest, largest + 1, (16, 4), np.int8)
        image = random.integers(0, 256, (1, 1, PIXELS, 4), np.uint8)
        power = 2.0**-shift
        ratios = {True: power, False: float(np.float32(power * random.uniform(0.5, 1)))}
        for is_power, ratio in ratios.items():
            module = convolution(weights, PIXELS, ratio, 1.0, (128, 127))
            expected = run(module, image, "tvm")
            for heading, (contract, wants_power) in PAIRS.items():
                if wants_power == is_power:
                    found = run(module, image, contract)
                    counts[heading] += np.count_nonzero(found != expected)
    outputs = LAYERS * PIXELS * 16
    return {heading: count / outputs for heading, count in counts.items()}


def share_lines(shares: Mapping[str, Sequence[float]]) -> Iterator[str]:
    yield "outputs of random 1x1 convolutions that differ from those of tvm"
    yield f"{'':6}" + "".join(f"{heading:>17}" for heading in shares)
    names = [contract for contract, _ in PAIRS.values()]
    yield f"{'shift':6}" + "".join(f"{name:>17}" for name in names)
    for place, shift in enumerate(SHIFTS):
        values = [column[place] for column in shares.values()]
        yield f"{-shift:5} " + "".join(f"{value:17.2%}" for value in values)


def pool(zero_point: int) -> tuple[ModuleOp, Stored]:
    """The average of two pixels, whose means are `MEANS` steps above the zero point."""
    channels = len(MEANS)
    pair = [np.floor(MEANS), np.ceil(MEANS)]
    image = (np.array(pair) + zero_point).astype(np.uint8).reshape(1, 1, 2, channels)
    source = quantized((1, 1, 2, channels), 0.5, zero_point, signed=False)
    target = quantized((1, 1, 1, channels), 0.5, zero_point, signed=False)

    def body(x: SSAValue) -> list[SSAValue]:
        return [qnn.AdaptiveAvgPool2DOp(x, target).result]

    return make_module([source], body), image


def pool_lines() -> Iterator[str]:
    yield f"adaptive_avg_pool2d, means of {', '.join(map(str, MEANS))} steps"
    yield f"{'zero point':>10}" + "".join(f"{name:>18}" for name in POOLS)
    for zero_point in range(4):
        module, image = pool(zero_point)
        cells = [run(module, image, name) - zero_point for name in POOLS]
        yield f"{zero_point:10}" + "".join(f"{spaced(cell):>18}" for cell in cells)


def torch_lines() -> Iterator[str]:
    try:
        import torch
    except ImportError:
        yield "PyTorch isn't installed"
        return
    sys.path.append(TEST_SUPPORT)
    from support.layers.random_modules import RandomLayer
    from support.systems.torch_engines import run_torch

    yield f"PyTorch {torch.__version__} itself, contiguous"
    pools = [pool(zero_point) for zero_point in range(4)]
    layers = [RandomLayer(module, [image]) for module, image in pools]
    results = run_torch(layers, "x86", contiguous=True)
    for zero_point, result in enumerate(results):
        steps = result.reshape(-1).astype(np.int64) - zero_point
        yield f"{zero_point:10}{'':18}{spaced(steps):>18}"


def spaced(values: NDArray[np.int64]) -> str:
    return " ".join(map(str, values.tolist()))


def rounding_lines() -> Iterator[str]:
    """What multiplies, rounds and saturates after the sum, in the lowered layer."""
    module = one_multiplier()
    for name in (*TVM, "pytorch-fbgemm"):
        yield f"{name}:"
        text = str(qlower.lower(qlower.Model(module), name))
        lines = [line.strip() for line in text.splitlines()]
        yield from (f"  {line}" for line in lines if ROUNDING.search(line))


def draw(shares: Mapping[str, Sequence[float]], path: Path) -> None:
    """The shares by shift in a logarithmic scale: a panel for each pair of contracts,
    with the other ones behind it."""
    drawn = {heading: values for heading, values in shares.items() if any(values)}
    figure = new_figure(9, 2.8)
    panels = figure.subplots(1, len(drawn), sharex=True, sharey=True)
    for heading, axes in zip(drawn, panels, strict=True):
        for other in sorted(drawn, key=lambda each: each == heading):
            percents = [100 * value or np.nan for value in drawn[other]]
            is_own = other == heading
            axes.plot(
                SHIFTS,
                percents,
                marker="o" if is_own else None,
                markersize=4,
                color=RED if is_own else GREY,
            )
        axes.set_title(f"{PAIRS[heading][0]}: {heading}", fontsize="small")
        axes.set_yscale("log")
        axes.grid(alpha=0.3)
    figure.supxlabel("shift to the right, -s", fontsize="medium")
    panels[0].set_ylabel("outputs that differ\nfrom tvm, %")
    save(figure, path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Where TVM and PyTorch part.")
    parser.add_argument("--torch", action="store_true", help="run PyTorch's pools, too")
    parser.add_argument(
        "--picture", type=Path, help="draw the shares to this file (needs matplotlib)"
    )
    options = parser.parse_args(arguments)
    print(*multiplier_lines(), "", sep="\n")
    found = shares()
    print(*share_lines(found), "", *pool_lines(), "", sep="\n")
    if options.torch:
        print(*torch_lines(), "", sep="\n")
    print(*rounding_lines(), sep="\n")
    if options.picture is not None:
        draw(found, options.picture)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
