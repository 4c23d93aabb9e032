"""A hunt for wrong bits: layers without end, every executor, the systems themselves.

A contract's layers are drawn in batches, of the kinds and values of `random_modules`.
What the interpreter says at the qnn level is compared with native code at every level
of this machine, on one thread and on two, with the interpreter at the lower levels for
small layers, and with the system that the contract reproduces where it is installed.
Whatever differs is written down with all that it takes to see it again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from support.layers import random_modules
from support.layers.random_modules import Draw, RandomLayer
from support.layers.random_networks import random_network
from support.machines.native import machine_levels
from support.values.stored import random_stored

import qlower
from qlower.codegen.program.flavour import Flavour
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.files.arrays import write_arrays
from qlower.interp.values import Array
from qlower.model.printing import exact_module

KINDS = (
    *("conv2d", "depthwise_conv2d", "linear"),
    *("add", "mul", "concat", "quantize", "dequantize", "requantize"),
    *("avg_pool2d", "adaptive_avg_pool2d", "mean"),
    *("sigmoid", "tanh", "hard_swish", "elu", "leaky_relu"),
    *("relu", "relu6", "clamp"),
)
NETWORK = "network"

OUTPUTS = 240_000
"""About how many numbers a layer gives: enough that its compilations cost little."""

SMALL = 600
"""The same of every fourth layer, which the interpreter runs at the lower levels."""

BATCH = len(KINDS) + 2
"""The layers of a batch: one of each kind and two networks."""

Outputs: TypeAlias = Sequence[Array]


@dataclass(frozen=True)
class Quarry:
    """A drawn layer or network, and what the interpreter says of it.

    `expected` is None where the contract refuses it, for the reason `refusal`.
    """

    kind: str
    seed: int
    layer: RandomLayer
    compilation: Compilation
    expected: Outputs | None
    refusal: str = ""


@dataclass
class Tally:
    """What a hunt has seen. `outputs` counts each number that a layer gives once,
    `comparisons` once for each executor and system that it is compared with."""

    contract: str
    folder: Path
    outputs: int = 0
    comparisons: int = 0
    layers: int = 0
    refused: int = 0
    mismatches: list[str] = field(default_factory=lambda: [])

    def compare(
        self, quarry: Quarry, executor: str, found: Outputs | None, reason: str = ""
    ) -> None:
        """Count what an executor gave, None for a refusal; report what differs."""
        if quarry.expected is None or found is None:
            if (quarry.expected is None) != (found is None):
                self._report(quarry, executor, quarry.refusal or reason, found or ())
            return
        for result, wanted in zip(found, quarry.expected, strict=True):
            self.comparisons += wanted.size
            wrong = int(np.count_nonzero(_bits(result) != _bits(wanted)))
            if result.dtype != wanted.dtype or wrong:
                self._report(quarry, executor, f"{wrong} of {wanted.size}", found)
                return

    def _report(self, quarry: Quarry, executor: str, what: str, found: Outputs) -> None:
        """Write the module, its inputs and all answers to a folder of their own."""
        name = f"{self.contract}-{quarry.kind}-{quarry.seed}-{executor}"
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.mlir").write_text(exact_module(quarry.layer.module))
        (folder / "what.txt").write_text(
            f"contract {self.contract}, kind {quarry.kind}, seed {quarry.seed}\n"
            f"{executor} differs from the interpreter at the qnn level: {what}\n"
        )
        arrays = {f"x{i}": x for i, x in enumerate(quarry.layer.inputs)}
        arrays |= {f"expected{i}": y for i, y in enumerate(quarry.expected or ())}
        arrays |= {f"found{i}": y for i, y in enumerate(found)}
        with (folder / "arrays.npz").open("wb") as stream:
            write_arrays(stream, arrays)
        self.mismatches.append(f"{name}: {what}")
        tell(f"{name}: {what}; see {folder}")


def tell(text: str) -> None:
    """Progress, on standard error."""
    print(text, file=sys.stderr, flush=True)


def draw_batch(contract: str, first_seed: int, options: Draw) -> Iterator[Quarry]:
    """A layer of each kind, and networks, from `first_seed` on; `options` says which
    variants of a kind are drawn."""
    for index in range(BATCH):
        seed = first_seed + index
        kind = KINDS[index] if index < len(KINDS) else NETWORK
        if kind == NETWORK:
            module = random_network(seed)
            (port,) = qlower.Model(module).inputs
            is_signed = port.dtype == "int8"
            x = random_stored(port.shape, signed=is_signed, seed=seed)
            layer = RandomLayer(module, [x])
        else:
            outputs = SMALL if seed % 4 == 0 else OUTPUTS
            draw = replace(options, seed=seed, outputs=outputs)
            layer = getattr(random_modules, kind)(draw)
        compilation = Compilation(qlower.Model(layer.module), contract)
        try:
            expected, refusal = _interpret(compilation, "qnn", layer), ""
        except QlowerError as error:
            expected, refusal = None, str(error)
        yield Quarry(kind, seed, layer, compilation, expected, refusal)


def compare_executors(quarry: Quarry, tally: Tally) -> None:
    """Every executor of this machine against the interpreter at the qnn level."""
    tally.layers += 1
    tally.refused += quarry.expected is None
    tally.outputs += sum(array.size for array in quarry.expected or ())
    if quarry.kind == NETWORK or quarry.seed % 4 == 0:
        for level in ("arith", "kernel"):
            try:
                found = _interpret(quarry.compilation, level, quarry.layer)
            except QlowerError as error:
                tally.compare(quarry, level, None, str(error))
            else:
                tally.compare(quarry, level, found)
    for name, target in machine_levels().items():
        # Two threads share what is large enough, on the machine as it is.
        counts = (1, 2) if name == "host" else (1,)
        for threads in counts:
            executor = f"{name}-{threads}"
            try:
                level = quarry.compilation.for_target(target)
                run = replace(level, flavour=Flavour(threads=threads)).function()
                found = run(*quarry.layer.inputs)
            except QlowerError as error:
                tally.compare(quarry, executor, None, str(error))
            else:
                several = found if isinstance(found, tuple) else (found,)
                tally.compare(quarry, executor, several)


def _interpret(compilation: Compilation, level: str, layer: RandomLayer) -> Outputs:
    assert level in ("qnn", "arith", "kernel")
    return compilation.interpreter(level).run(layer.inputs, {})[0]


def _bits(array: Array) -> Array:
    """Floats compare by their bits."""
    return array.view(np.uint32) if array.dtype == np.float32 else array
