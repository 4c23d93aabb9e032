"""Float, fixed-point and shift requantization after a convolution: what each costs.

    python examples/relay-requantize/compare.py
    python examples/relay-requantize/compare.py --model model.tflite --input inputs.npz

The network is that of examples/digits, as it was quantized, with symmetric scales, and
with scales that are powers of two, as a shift needs them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FunctionType,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

import qlower
from qlower.compilation.to_arith import lower_to_arith
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.files.arrays import read_arrays
from qlower.model.layers import layer_name
from qlower.tables.plots import BLUE, new_figure, save

DIGITS = Path(__file__).parents[1] / "digits"
CONTRACTS = ("exact", "tvm-relay-float", "tvm", "tvm-relay-shift", "pow2-shift")
FORMS = {
    "exact": "rational numbers, half to even",
    "tvm-relay-float": "float32 product, round half away",
    "tvm": "31-bit multiplier, one rounding half up",
    "tvm-relay-shift": "add half and shift, where a power of two",
    "pow2-shift": "shift by the nearest power of two",
}
LAYER = "pointwise"

ChooseScale = Callable[[float], float]
"""From the largest magnitude that a symmetric int8 must hold to its scale."""


def tight(largest: float) -> float:
    return largest / 127


def power_of_two(largest: float) -> float:
    """The next one that holds the largest magnitude."""
    return float(2.0 ** np.ceil(np.log2(largest / 127)))


def symmetric(model: qlower.Model, choose: ChooseScale) -> qlower.Model:
    """The model with zero points 0 and chosen scales; the probabilities keep theirs."""
    module = model.module.clone()
    for op in list(module.walk()):
        if isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp):
            _requantize_weights(op, choose)
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    values: list[SSAValue] = [*function.body.block.args]
    for op in function.body.block.ops:
        if not isinstance(op, qnn.ConstantOp | qnn.SoftmaxOp):
            values += op.results
    for value in values:
        element = element_type(value.type)
        if isinstance(element, QuantizedType):
            assert isinstance(value.type, TensorType)
            new = _symmetric_type(element, choose)
            shape = value.type.get_shape()
            Rewriter.replace_value_with_new_type(value, TensorType(new, shape))
    block = function.body.block
    returned = block.last_op
    assert returned is not None
    function.function_type = FunctionType.from_lists(
        block.arg_types, [operand.type for operand in returned.operands]
    )
    return qlower.Model(module)


def _symmetric_type(element: QuantizedType, choose: ChooseScale) -> QuantizedType:
    ends = np.array([element.storage_min, element.storage_max]) - element.zero_point
    largest = float(np.abs(ends * element.scale).max())
    return QuantizedType.per_tensor(8, True, choose(largest))


def _requantize_weights(
    op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp, choose: ChooseScale
) -> None:
    """New weights and bias for the scales that the op will have."""
    weight, bias = op.weight.owner, op.bias and op.bias.owner
    assert isinstance(weight, qnn.ConstantOp)
    assert isinstance(bias, arith.ConstantOp)
    old, image = element_type(weight.result.type), element_type(op.input.type)
    assert isinstance(old, QuantizedType)
    assert isinstance(image, QuantizedType)
    assert old.axis is not None
    shape = op.weight.type.get_shape()
    along = [-1 if axis == old.axis else 1 for axis in range(len(shape))]
    stored = np.frombuffer(weight.value.data.data, np.int8).reshape(shape)
    real = stored * np.array(old.scales).reshape(along)
    others = tuple(axis for axis in range(len(shape)) if axis != old.axis)
    largest = np.abs(real).max(axis=others).tolist()
    scales = np.array([choose(magnitude) for magnitude in largest])
    new = np.rint(real / scales.reshape(along)).astype(np.int8)
    type = QuantizedType.per_axis(8, True, old.axis, scales.tolist())
    dense = DenseIntOrFPElementsAttr(weight.value.type, BytesAttr(new.tobytes()))
    Rewriter.replace_op(weight, qnn.ConstantOp(dense, TensorType(type, shape)))

    assert isinstance(bias.value, DenseIntOrFPElementsAttr)
    steps = np.frombuffer(bias.value.data.data, np.int32)
    step = _symmetric_type(image, choose).scale * scales
    moved = np.rint(steps * image.scale * np.array(old.scales) / step)
    moved = moved.astype(np.int32)
    dense = DenseIntOrFPElementsAttr(bias.value.type, BytesAttr(moved.tobytes()))
    Rewriter.replace_op(bias, arith.ConstantOp(dense))


def variants() -> dict[str, qlower.Model]:
    model = qlower.load(DIGITS / "digits.mlir")
    return {
        "as quantized": model,
        "symmetric": symmetric(model, tight),
        "powers of two": symmetric(model, power_of_two),
    }


def images_for(model: qlower.Model) -> NDArray[np.int8]:
    """The test images, stored in the model's input type."""
    original = qlower.load(DIGITS / "digits.mlir")
    old, new = (_input_type(one.module) for one in (original, model))
    stored = np.load(DIGITS / "test_images.npy").astype(np.int64)
    real = (stored - old.zero_point) * old.scale
    codes = np.rint(real / new.scale) + new.zero_point
    return np.clip(codes, -128, 127).astype(np.int8)


def _input_type(module: ModuleOp) -> QuantizedType:
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    element = element_type(function.body.block.args[0].type)
    assert isinstance(element, QuantizedType)
    return element


def logits(model: qlower.Model, contract: str) -> NDArray[np.int64]:
    """The stored logits [images, 10]."""
    run = qlower.jit(model, contract=contract, with_layers=True)
    found = [run.run([image], {})[1]["logits"][0] for image in images_for(model)]
    return np.stack(found).astype(np.int64)


def epilogue(contract: str) -> list[str]:
    """The operations by which one layer stores an accumulator, constants left out."""
    module = qlower.load(DIGITS / "digits.mlir").module
    generics = [
        op
        for op in lower_to_arith(module, contract).walk()
        if op.name == "linalg.generic" and layer_name(op) == LAYER
    ]
    ops = generics[-1].regions[0].block.ops
    return [op.name for op in ops if op.name not in ("arith.constant", "linalg.yield")]


def accuracy_lines() -> Iterator[str]:
    labels = np.load(DIGITS / "test_labels.npy")
    for name, model in variants().items():
        expected = logits(model, "exact")
        yield f"{name:18}{'right':>12}{'answers':>9}{'logits':>9}{'largest':>9}"
        for contract in CONTRACTS:
            found = logits(model, contract)
            right = np.count_nonzero(found.argmax(1) == labels)
            answers = np.count_nonzero(found.argmax(1) != expected.argmax(1))
            off = np.abs(found - expected)
            share = np.count_nonzero(off) / off.size
            yield (
                f"  {contract:16}{f'{right} of {len(labels)}':>12}{answers:>9}"
                f"{share:>9.1%}{off.max():>9}"
            )
    yield "answers, logits: that differ from exact; largest: difference in codes"


def cost_lines() -> Iterator[str]:
    yield f"{'contract':17}{'a pointwise output is stored by':42}{'operations':>10}"
    for contract in CONTRACTS:
        yield f"{contract:17}{FORMS[contract]:42}{len(epilogue(contract)):>10}"


def model_lines(path: Path, inputs: Path) -> Iterator[str]:
    """A model's outputs for each example of `inputs`, against the exact ones."""
    model = qlower.load(path)
    (examples,) = list(read_arrays(inputs).values())[:1]

    function = model.module.body.block.first_op
    assert isinstance(function, FuncOp)
    image = function.body.block.args[0].type
    assert isinstance(image, TensorType)
    shape = image.get_shape()

    def outputs(contract: str) -> NDArray[np.int64]:
        run = qlower.jit(model, contract=contract)
        found = [np.asarray(run(x.reshape(shape))).reshape(-1) for x in examples]
        return np.stack(found).astype(np.int64)

    expected = outputs("exact")
    yield f"{'contract':18}{'answers':>9}{'outputs':>9}{'largest':>9}"
    for contract in CONTRACTS:
        found = outputs(contract)
        answers = np.count_nonzero(found.argmax(1) != expected.argmax(1))
        off = np.abs(found - expected)
        share = np.count_nonzero(off) / off.size
        yield f"{contract:18}{answers:>9}{share:>9.1%}{off.max():>9}"
    yield f"of {len(examples)} examples; differences from exact"


def lines() -> Iterator[str]:
    """What is printed."""
    yield from cost_lines()
    yield ""
    yield from accuracy_lines()


def draw(path: Path) -> None:
    """The share of logits that differ from exact arithmetic."""
    figure = new_figure(8, 2.8)
    all_axes = figure.subplots(1, 3, sharey=True)
    for (name, model), axes in zip(variants().items(), all_axes, strict=True):
        expected = logits(model, "exact")
        shares = [np.mean(logits(model, c) != expected) * 100 for c in CONTRACTS]
        axes.barh(range(len(CONTRACTS)), shares, height=0.6, color=BLUE)
        for place, share in enumerate(shares):
            axes.text(share + 2, place, f"{share:.3g} %", va="center", fontsize="small")
        axes.set_yticks(range(len(CONTRACTS)), CONTRACTS)
        axes.set_title(name)
        axes.set_xlim(0, 115)
        axes.set_xticks(range(0, 101, 25))
        axes.set_xlabel("% of logits that differ")
    all_axes[0].invert_yaxis()
    save(figure, path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What a requantization costs.")
    parser.add_argument("--model", type=Path, help="compare on this model instead")
    parser.add_argument("--input", type=Path, help="its examples (.npy or .npz)")
    parser.add_argument(
        "--picture", type=Path, help="draw what differs (needs matplotlib)"
    )
    options = parser.parse_args(arguments)
    if options.model is not None:
        if options.input is None:
            parser.error("--model needs --input")
        print(*model_lines(options.model, options.input), sep="\n")
        return 0
    print(*lines(), sep="\n")
    if options.picture is not None:
        draw(options.picture)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
