"""Running modules of qnn operations with PyTorch's quantized engines.

Needs the optional package `torch`; tests skip without it. PyTorch runs in processes of
its own, with one thread, because it reads limits on instruction sets once, from the
environment: one process for each limit.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from typing import Any
from unittest.mock import patch

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from qlower.interp.values import Array
from qlower.sides.systems.torch import evaluate_all, stored_of, tensor_of
from qlower.text.parsing import parse_module
from support.layers.random_modules import RandomLayer

AVX2_ONLY: Mapping[str, str] = {
    "FBGEMM_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
}
"""An environment in which FBGEMM, oneDNN and ATen do without AVX-512 and VNNI. FBGEMM's
kernels for several channels a group don't."""


CONTRACTIONS = ("conv2d", "depthwise_conv2d", "linear")
POOLS = ("avg_pool2d", "adaptive_avg_pool2d", "mean")
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
    "pytorch-qnnpack": Engine("qnnpack", asymmetric_weights=True),
    # An add has its tail where the memory ends, a mean no rule.
    "pytorch-nchw": Engine(
        "x86",
        VNNI,
        asymmetric_weights=True,
        operations=tuple(name for name in OTHERS if name not in ("add", "mean")),
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
    texts = [(str(layer.module), layer.inputs) for layer in layers]
    process = _process(tuple(environment.items()))
    return process.submit(_answers, texts, engine, contiguous).result()


@cache
def _process(environment: tuple[tuple[str, str], ...]) -> ProcessPoolExecutor:
    """A process in which PyTorch has found these variables; it ends with this one."""
    process = ProcessPoolExecutor(1, get_context("spawn"))
    with patch.dict(os.environ, {"OMP_NUM_THREADS": "1", **dict(environment)}):
        process.submit(os.getpid).result()  # starts it
    return process


def _answers(
    layers: Sequence[tuple[str, Sequence[Array]]], engine: str, contiguous: bool
) -> list[Array]:
    # Quantized tensors are deprecated in favour of PT2E, which has other arithmetic.
    warnings.simplefilter("ignore")
    torch = import_module("torch")
    torch.set_num_threads(1)
    torch.backends.quantized.engine = engine
    return [
        _run(torch, parse_module(text, engine), inputs, contiguous)
        for text, inputs in layers
    ]


def _run(
    torch: Any, module: ModuleOp, inputs: Sequence[Array], contiguous: bool
) -> Array:
    """Its operations one after the other; constants are read by who takes them."""
    main = module.body.block.first_op
    assert isinstance(main, FuncOp)
    values: dict[SSAValue, Any] = {}
    for x, argument in zip(inputs, main.args, strict=True):
        tensor = tensor_of(torch, x, argument.type)
        values[argument] = tensor.contiguous() if contiguous else tensor
    ops = main.body.block.ops
    evaluate_all(torch, ops, values)
    terminator = main.body.block.last_op
    assert isinstance(terminator, ReturnOp)
    return stored_of(values[terminator.operands[0]])
