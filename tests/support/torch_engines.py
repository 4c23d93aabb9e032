"""Running modules of qnn operations with PyTorch's quantized engines.

Needs the optional package `torch`; tests skip without it. PyTorch runs in a process of
its own, with one thread, because it reads limits on instruction sets once, from the
environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from qlower.dialects import qnn
from qlower.dialects.qnn.base import ActivatedOp
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.files.arrays import read_arrays, write_arrays
from qlower.interp.values import Array
from qlower.text.parsing import parse_module
from support.random_modules import RandomLayer

AVX2_ONLY: Mapping[str, str] = {
    "FBGEMM_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
}
"""An environment in which FBGEMM, oneDNN and ATen do without AVX-512 and VNNI. FBGEMM's
kernels for several channels a group don't."""


CONTRACTIONS = ("conv2d", "depthwise_conv2d", "linear")
POOLS = ("avg_pool2d", "adaptive_avg_pool2d")
TABLES = ("sigmoid", "tanh", "hard_swish", "elu", "leaky_relu")
OTHERS = (
    *("add", "mul", "quantize", "dequantize", "concat", "relu", "relu6", "clamp"),
    *POOLS,
    *TABLES,
)


@dataclass(frozen=True)
class Engine:
    """What a contract is the arithmetic of, and which of `random_modules` it takes.

    `operations` are its kinds besides contractions; `contiguous` images have their
    channels first in memory.
    """

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    asymmetric_weights: bool = False
    operations: tuple[str, ...] = OTHERS
    contiguous: bool = False
    even_groups: bool = True

    @property
    def kinds(self) -> tuple[str, ...]:
        return (*CONTRACTIONS, *self.operations)


# Without this limit oneDNN takes kernels for AMX where there is AMX.
VNNI = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI"}
ENGINES = {
    "pytorch-fbgemm": Engine("fbgemm", asymmetric_weights=True),
    # Groups of 4, 8 or 16 channels use VNNI in spite of this environment.
    "pytorch-fbgemm-avx2": Engine(
        "fbgemm", AVX2_ONLY, asymmetric_weights=True, even_groups=False
    ),
    "pytorch-onednn": Engine("onednn", VNNI),
    "pytorch-onednn-avx2": Engine("onednn", AVX2_ONLY),
    "pytorch-x86": Engine("x86", VNNI, asymmetric_weights=True),
    "pytorch-qnnpack": Engine(
        "qnnpack", asymmetric_weights=True, operations=(*OTHERS, "mean")
    ),
    # An add has its tail where the memory ends.
    "pytorch-nchw": Engine(
        "x86",
        VNNI,
        asymmetric_weights=True,
        operations=tuple(name for name in OTHERS if name != "add"),
        contiguous=True,
    ),
}


def run_torch(
    layers: Sequence[RandomLayer],
    engine: str,
    environment: Mapping[str, str] = {},
    *,
    contiguous: bool = False,
) -> list[Array]:
    """What PyTorch gives for each layer: stored integers, channels last.

    In memory images have their channels last, too, unless `contiguous`.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        for index, layer in enumerate(layers):
            (folder / f"{index}.mlir").write_text(str(layer.module))
            arrays = {f"x{i}": x for i, x in enumerate(layer.inputs)}
            with (folder / f"{index}.npz").open("wb") as stream:
                write_arrays(stream, arrays)
        subprocess.run(
            [
                *(sys.executable, "-m", __name__, name, engine, str(len(layers))),
                *(["contiguous"] if contiguous else []),
            ],
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
            cwd=Path(__file__).parents[1],
            check=True,
        )
        return list(read_arrays(folder / "answers.npz").values())


def _main(folder: Path, engine: str, count: int, contiguous: bool) -> None:
    # Quantized tensors are deprecated in favour of PT2E, which has other arithmetic.
    warnings.simplefilter("ignore")
    torch = import_module("torch")
    torch.set_num_threads(1)
    torch.backends.quantized.engine = engine
    answers: dict[str, Array] = {}
    for index in range(count):
        path = folder / f"{index}.mlir"
        module = parse_module(path.read_text(), str(path))
        inputs = list(read_arrays(path.with_suffix(".npz")).values())
        answers[str(index)] = _run(torch, module, inputs, contiguous)
    with (folder / "answers.npz").open("wb") as stream:
        write_arrays(stream, answers)


def _run(
    torch: Any, module: ModuleOp, inputs: Sequence[Array], contiguous: bool
) -> Array:
    """Its operations one after the other; constants are read by who takes them."""
    main = module.body.block.first_op
    assert isinstance(main, FuncOp)
    values: dict[Any, Any] = {}
    for x, argument in zip(inputs, main.args, strict=True):
        tensor = _tensor(torch, x, argument.type)
        values[argument] = tensor.contiguous() if contiguous else tensor
    for op in main.body.block.ops:
        xs = [values[operand] for operand in op.operands if operand in values]
        if isinstance(op, ReturnOp):
            return _stored(xs[0])
        if not isinstance(op, qnn.ConstantOp | ConstantOp):
            values[op.results[0]] = _evaluate(torch, op, xs)
    raise AssertionError("a verified function returns")


def _stored(y: Any) -> Array:
    """The integers of a tensor, an image with its channels last."""
    if y.is_quantized:
        y = y.int_repr()
    if y.dim() == 4:
        y = y.permute(0, 2, 3, 1)
    return np.ascontiguousarray(y.numpy())


def _tensor(torch: Any, stored: Array, type: Any) -> Any:
    """A tensor; a quantized image has its channels last in memory."""
    values = torch.from_numpy(np.ascontiguousarray(stored))
    element = element_type(type)
    if not isinstance(element, QuantizedType):
        return values
    if values.dim() == 4:
        values = values.permute(0, 3, 1, 2)
    make = torch._make_per_tensor_quantized_tensor
    return make(values, element.scales[0], element.zero_points[0])


def _evaluate(torch: Any, op: Any, xs: Sequence[Any]) -> Any:
    """The operation, and a bound that PyTorch doesn't fuse as one of its own.

    The bound is of a contiguous tensor: with engine qnnpack PyTorch mixes up the places
    of one whose channels are last in memory.
    """
    activation = op.activation if isinstance(op, ActivatedOp) else None
    y = _evaluate_unbounded(torch, op, xs, "_relu" if activation == "relu" else "")
    match activation:
        case "relu6":
            return torch.ops.quantized.relu6(y.contiguous(), False)
        case "relu_n1_to_1":
            return torch.ops.quantized.clamp(y.contiguous(), -1.0, 1.0)
        case _:
            return y


def _evaluate_unbounded(torch: Any, op: Any, xs: Sequence[Any], suffix: str) -> Any:
    """The operation, whose name has `suffix` where a relu is fused."""
    quantized, functional = torch.ops.quantized, torch.nn.functional
    element = element_type(op.results[0].type)
    scale, zero_point = 1.0, 0
    if isinstance(element, QuantizedType):
        scale, zero_point = element.scales[0], element.zero_points[0]
    to = scale, zero_point
    match op:
        case qnn.Conv2DOp() | qnn.DepthwiseConv2DOp():
            packed = _packed_convolution(torch, op, xs[0])
            return getattr(quantized, f"conv2d{suffix}")(xs[0], packed, *to)
        case qnn.LinearOp():
            packed = quantized.linear_prepack(_weights(torch, op), _bias(torch, op))
            return getattr(quantized, f"linear{suffix}")(xs[0], packed, *to)
        case qnn.AddOp():
            return getattr(quantized, f"add{suffix}")(xs[0], xs[1], *to)
        case qnn.MulOp():
            return getattr(quantized, f"mul{suffix}")(xs[0], xs[1], *to)
        case qnn.ConcatOp():
            return quantized.cat(xs, op.axis, *to)
        case qnn.AvgPool2DOp():
            return functional.avg_pool2d(
                xs[0],
                op.kernel,
                op.stride,
                op.pad[:1] + op.pad[2:3],
                count_include_pad=op.count_include_pad,
            )
        case qnn.AdaptiveAvgPool2DOp():
            size = op.result.type.get_shape()[1:3]
            return functional.adaptive_avg_pool2d(xs[0], size)
        case qnn.MeanOp():
            return xs[0].mean((2, 3), keepdim=True)
        case qnn.SigmoidOp():
            return torch.sigmoid(xs[0])
        case qnn.TanhOp():
            return torch.tanh(xs[0])
        case qnn.HardSwishOp():
            return quantized.hardswish(xs[0], *to)
        case qnn.EluOp():
            return quantized.elu(xs[0], *to)
        case qnn.LeakyReluOp():
            return quantized.leaky_relu(xs[0], op.alpha, False, *to)
        case qnn.QuantizeOp():
            return torch.quantize_per_tensor(xs[0], *to, torch.quint8)
        case qnn.DequantizeOp():
            return xs[0].dequantize()
        case qnn.Relu6Op():
            return quantized.relu6(xs[0], False)
        case qnn.ClampOp():
            return quantized.clamp(xs[0], op.min, op.max)
        case _:
            return torch.relu(xs[0])


def _packed_convolution(torch: Any, op: Any, x: Any) -> Any:
    groups = op.groups if isinstance(op, qnn.Conv2DOp) else x.shape[1]
    pad = list(op.pad[:1] + op.pad[2:3])
    weights, bias = _weights(torch, op), _bias(torch, op)
    return torch.ops.quantized.conv2d_prepack(
        weights, bias, list(op.stride), pad, list(op.dilation), groups
    )


def _weights(torch: Any, op: Any) -> Any:
    """The weights, output channels first and input channels second."""
    constant = op.weight.owner
    assert isinstance(constant, qnn.ConstantOp)
    shape = op.weight.type.get_shape()
    stored = np.frombuffer(constant.value.data.data, np.int8).reshape(shape)
    if isinstance(op, qnn.DepthwiseConv2DOp):
        stored = stored.transpose(3, 0, 1, 2)
    elif stored.ndim == 4:
        stored = stored.transpose(0, 3, 1, 2)
    values = torch.from_numpy(np.ascontiguousarray(stored))
    element = element_type(op.weight.type)
    assert isinstance(element, QuantizedType)
    if not element.is_per_axis:
        make = torch._make_per_tensor_quantized_tensor
        return make(values, element.scales[0], element.zero_points[0])
    make = torch._make_per_channel_quantized_tensor
    scales = torch.tensor(element.scales, dtype=torch.float64)
    return make(values, scales, torch.tensor(element.zero_points), 0)


def _bias(torch: Any, op: Any) -> Any:
    if op.bias is None:
        return None
    stored = np.frombuffer(op.bias.owner.value.data.data, np.float32)
    return torch.from_numpy(stored.copy())


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), "contiguous" in sys.argv)
