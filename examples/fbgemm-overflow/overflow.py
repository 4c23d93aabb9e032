"""A quantized linear layer whose ramp should be monotone and is not.

    python examples/fbgemm-overflow/overflow.py
    python examples/fbgemm-overflow/overflow.py --torch
    python examples/fbgemm-overflow/overflow.py --model model.tflite

Without VNNI x86 multiplies bytes by `vpmaddubsw`, which saturates the sum of two
products at 16 bits. Shown on the model of the question (`asked.mlir`, which `record.py`
made) and on rows of weights that show one thing each. With --torch PyTorch itself runs
both, with --model the layers of a model are searched for weights that can saturate.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

import qlower
from qlower.contracts.pair_range import PAIR_BITS, row_bounds
from qlower.dialects import qnn
from qlower.dialects.types import integer_range
from qlower.interp.fixed import pair_dot
from qlower.model.build import constant, make_module, quantized
from qlower.model.layers import layer_name
from qlower.model.printing import exact_module
from qlower.tables.plots import BLUE, RED, new_figure, save

ASKED = Path(__file__).with_name("asked.mlir")
"""The model of the question: a linear layer of 10 by 10, and the quantization of its
input. Its weights have a zero point, -1, which `MinMaxObserver` gives by default."""

BENT = (0, 3)
"""The outputs that the question shows bent; its output 9 is right."""

TEST_SUPPORT = str(Path(__file__).parents[2] / "tests")
"""The folder of what the project's tests share."""

# Ten weights each, of which neighbours are paired.
WEIGHTS = {
    "steady": [90, -40, 30, 25, -60, 100, 40, 20, 64, 64],
    "one bend": [120, 30, 25, -70, 60, 20, -30, 10, 50, -90],
    "two bends": [127, 127, -100, -50, 30, 10, -20, 40, 10, -5],
}
"""Sums of pairs: below 128.5 in magnitude, one above, two above."""

EXACT, SATURATING = "pytorch-fbgemm", "pytorch-fbgemm-avx2"
LARGEST_CODE, REDUCED_CODE = 255, 127
PAIRS = [
    ((211, 171), (71, 107)),
    ((255, 255), (113, 113)),
    ((255, 255), (-128, -128)),
    ((255, 255), (127, 127)),
    ((255, 0), (127, 0)),
    ((127, 127), (127, 127)),
]
"""Activations and weights of single pairs; the first two are from reports of users."""


def ramp(codes: int) -> tuple[qlower.Model, NDArray[np.uint8]]:
    """The layer, and inputs that are all 0, all 1, ... all `codes`."""
    stored = np.array(list(WEIGHTS.values()), np.int8)
    shape = (codes + 1, stored.shape[1])
    image = quantized(shape, 0.01, signed=False)
    result = quantized((codes + 1, len(stored)), 5.0, signed=False)

    def body(x: SSAValue) -> list[SSAValue]:
        weight = constant(stored, quantized(stored.shape, 1.0))
        bias = constant(np.zeros(len(stored), np.float32))
        return [qnn.LinearOp(x, weight, bias, result).result]

    rows = np.repeat(np.arange(codes + 1, dtype=np.uint8)[:, np.newaxis], 10, axis=1)
    return qlower.Model(make_module([image], body)), rows


def outputs(contract: str, codes: int) -> NDArray[np.uint8]:
    """The stored outputs of the ramp, one column a row of weights."""
    model, rows = ramp(codes)
    result = qlower.interpret(model, rows, contract=contract, at="qnn")
    return np.asarray(result, np.uint8)


def asked_inputs() -> NDArray[np.float32]:
    """-4, -3.99, ... 3.99, in all ten inputs."""
    values = np.arange(-4, 4, 0.01).astype(np.float32)
    return np.repeat(values[:, np.newaxis], 10, axis=1)


def asked_outputs(contract: str) -> NDArray[np.uint8]:
    """What the question's model stores for these, one column an output."""
    model = qlower.load(ASKED)
    run = qlower.interpret(model, asked_inputs(), contract=contract, at="qnn")
    return np.asarray(run, np.uint8)


def turns(ramp: NDArray[np.uint8]) -> int:
    """How often a line of outputs goes from rising to falling or back."""
    slopes = np.sign(np.diff(ramp.astype(np.int64)))
    moving = slopes[slopes != 0]
    return int(np.count_nonzero(moving[1:] != moving[:-1]))


def asked_lines() -> Iterator[str]:
    exact, saturating = (asked_outputs(name) for name in (EXACT, SATURATING))
    differ = exact != saturating
    distance = np.abs(exact.astype(int) - saturating)
    yield "the model of the question, inputs from -4 to 4: exact products, and pairs"
    columns = f"{'differ':>10}{'by up to':>10}{'turns, exact':>14}{'in pairs':>10}"
    yield f"{'output':>8}{columns}"
    for index in range(exact.shape[1]):
        row = turns(exact[:, index]), turns(saturating[:, index])
        share = f"{np.mean(differ[:, index]):.1%}"
        largest = distance[:, index].max()
        yield f"{index:>8}{share:>10}{largest:>10}{row[0]:>14}{row[1]:>10}"
    yield f"{np.count_nonzero(differ)} of {differ.size} outputs differ"


def bends(weights: Sequence[int]) -> dict[tuple[int, int], int]:
    """The pairs that saturate in the ramp, and the code from which on."""
    found: dict[tuple[int, int], int] = {}
    for pair in zip(weights[::2], weights[1::2], strict=True):
        for code in range(LARGEST_CODE + 1):
            if pair_dot(code, pair[0], code, pair[1]) != code * sum(pair):
                found[pair] = code
                break
    return found


def ramp_lines() -> Iterator[str]:
    exact, saturating = (outputs(name, LARGEST_CODE) for name in (EXACT, SATURATING))
    yield "one code for all ten inputs; outputs with exact products, and with pairs"
    yield f"{'code':>6}" + "".join(f"{name:>18}" for name in WEIGHTS)
    for code in (0, 60, 100, 128, 129, 160, 200, 218, 219, 240, 255):
        ramps = exact[code], saturating[code]
        row = [f"{a:>8} {b:>4}" for a, b in zip(*ramps, strict=True)]
        yield f"{code:>6}" + "".join(f"{cell:>18}" for cell in row)
    yield ""
    for name, weights in WEIGHTS.items():
        where = [f"{pair} from {code} on" for pair, code in bends(weights).items()]
        yield f"{name + ':':12}{'; '.join(where) or 'no pair saturates'}"
    reduced = outputs(SATURATING, REDUCED_CODE)
    wrong = np.count_nonzero(reduced != exact[: REDUCED_CODE + 1])
    yield f"codes up to 127 (reduce_range): {wrong} of {reduced.size} outputs differ"


def pair_lines() -> Iterator[str]:
    yield f"{'activations':>14}{'weights':>14}{'sum':>9}{'vpmaddubsw':>12}"
    for (a, c), (b, d) in PAIRS:
        cells = f"{f'{a}, {c}':>14}{f'{b}, {d}':>14}{a * b + c * d:>9}"
        yield f"{cells}{int(pair_dot(a, b, c, d)):>12}"


def depthwise(channels: int, pad: int) -> tuple[qlower.Model, NDArray[np.uint8]]:
    """A 3x3 depthwise convolution of large weights, and a bright image."""
    random = np.random.default_rng(0)
    stored = random.integers(60, 128, (1, 3, 3, channels)).astype(np.int8)
    size = 6 + 2 * pad
    image = quantized((1, 8, 8, channels), 0.01, signed=False)
    result = quantized((1, size, size, channels), 9.0, signed=False)

    def body(x: SSAValue) -> list[SSAValue]:
        weight = constant(stored, quantized(stored.shape, 1.0))
        bias = constant(np.zeros(channels, np.float32))
        op = qnn.DepthwiseConv2DOp(x, weight, bias, result, pad=[pad] * 4)
        return [op.result]

    codes = random.integers(150, 256, (1, 8, 8, channels)).astype(np.uint8)
    return qlower.Model(make_module([image], body)), codes


def depthwise_lines() -> Iterator[str]:
    names = (EXACT, SATURATING, "pytorch-x86", "pytorch-onednn")
    yield "depthwise 3x3: outputs that differ from exact products"
    yield f"{'channels, padding':20}" + "".join(f"{name:>21}" for name in names)
    for channels, pad in ((96, 1), (104, 1), (104, 0), (100, 1)):
        model, codes = depthwise(channels, pad)
        expected = qlower.interpret(model, codes, contract="exact", at="qnn")
        cells: list[str] = []
        for name in names:
            found = qlower.interpret(model, codes, contract=name, at="qnn")
            cells.append(f"{np.mean(found != expected):21.1%}")
        yield f"{f'{channels}, {pad}':20}" + "".join(cells)


def model_lines(path: Path) -> Iterator[str]:
    """Of each layer: the output channels that some input makes saturate."""
    yield f"{'layer':24}{'channels':>10}{'8 bits':>10}{'7 bits':>10}"
    for op in qlower.load(path).module.walk():
        if not isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp):
            continue
        source = op.weight.owner
        if not isinstance(source, qnn.ConstantOp):
            continue
        shape = op.weight.type.get_shape()
        stored = np.frombuffer(source.value.data.data, np.int8).reshape(shape)
        is_depthwise = isinstance(op, qnn.DepthwiseConv2DOp)
        rows = stored.reshape(-1, shape[-1]).T if is_depthwise else stored
        rows = rows.reshape(len(rows), -1).astype(np.int64)
        counts = [channels_at_risk(rows, code) for code in (255, 127)]
        name = layer_name(op) or op.name
        cells = "".join(f"{count:>10}" for count in counts)
        yield f"{name:24}{len(rows):>10}{cells}"


def channels_at_risk(rows: NDArray[np.int64], largest: int) -> int:
    """How many rows have neighbours whose products can leave 16 bits."""
    least, most = row_bounds(rows, 0, largest)
    low, high = integer_range(PAIR_BITS)
    return int(np.count_nonzero((most > high) | (least < low)))


def torch_lines() -> Iterator[str]:
    """Both by PyTorch itself, with VNNI and limited to AVX2."""
    try:
        import torch
    except ImportError:
        yield "PyTorch isn't installed"
        return
    sys.path.append(TEST_SUPPORT)
    from record import record
    from support.layers.random_modules import RandomLayer
    from support.systems.torch_engines import AVX2_ONLY, run_torch

    same = exact_module(record().module) == ASKED.read_text()
    yield f"asked.mlir is{'' if same else ' not'} what the question's script makes"
    model, rows = ramp(LARGEST_CODE)
    layers = [
        RandomLayer(model.module, [rows]),
        RandomLayer(qlower.load(ASKED).module, [asked_inputs()]),
    ]
    for contract, environment in ((EXACT, {}), (SATURATING, AVX2_ONLY)):
        limit = " limited to AVX2" if environment else ""
        expected = outputs(contract, LARGEST_CODE), asked_outputs(contract)
        found = run_torch(layers, "fbgemm", environment)
        for name, ours, theirs in zip(
            ("ramps", "question"), expected, found, strict=True
        ):
            wrong = np.count_nonzero(theirs != ours)
            yield (
                f"{name}, PyTorch {torch.__version__}{limit}: {wrong} of {theirs.size} "
                f"outputs differ from {contract}"
            )


def lines() -> Iterator[str]:
    """What is printed."""
    yield from asked_lines()
    yield ""
    yield from ramp_lines()
    yield ""
    yield from pair_lines()
    yield ""
    yield from depthwise_lines()


def draw(path: Path) -> None:
    """Three outputs of the question's model, and the three ramps."""
    figure = new_figure(8, 5)
    above, below = figure.subplots(2, 3)
    asked = [asked_outputs(name) for name in (EXACT, SATURATING)]
    inputs = asked_inputs()[:, 0]
    for index, axes in zip((9, *BENT), above, strict=True):
        axes.plot(inputs, asked[0][:, index], "k:", label="exact products")
        axes.plot(inputs, asked[1][:, index], color=RED, label="saturating pairs")
        axes.set_title(f"the question's output {index}")
        axes.set_xlabel("all inputs")
    ramps = [outputs(name, LARGEST_CODE) for name in (EXACT, SATURATING)]
    for index, (name, axes) in enumerate(zip(WEIGHTS, below, strict=True)):
        axes.plot(ramps[0][:, index], "k:")
        axes.plot(ramps[1][:, index], color=RED)
        axes.axvline(REDUCED_CODE, color=BLUE, lw=0.7, label="reduce_range")
        axes.set_title(name)
        axes.set_xlabel("code of all inputs")
    for axes in (above[0], below[0]):
        axes.set_ylabel("output")
        axes.legend(fontsize="small")
    save(figure, path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Where pairs of products saturate.")
    parser.add_argument("--torch", action="store_true", help="run PyTorch, too")
    parser.add_argument("--model", type=Path, help="search this model's weights")
    parser.add_argument(
        "--picture", type=Path, help="draw the ramps (needs matplotlib)"
    )
    options = parser.parse_args(arguments)
    if options.model is not None:
        print(*model_lines(options.model), sep="\n")
        return 0
    print(*lines(), sep="\n")
    if options.torch:
        print("", *torch_lines(), sep="\n")
    if options.picture is not None:
        draw(options.picture)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
