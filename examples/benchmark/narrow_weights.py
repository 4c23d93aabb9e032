"""Fully connected layers with weights of 4 bits beside those of 8, timed in turns.

    python examples/benchmark/narrow_weights.py [--cpu NAME ...] [--rows N ...]

Each line is a chain of square layers, up to 24, whose weights are 4 MiB as bytes or
less. One weight in each layer of 8 bits is 100, all others are the same. Microseconds
are those of a layer, one thread: the fastest of 100 turns, less the time of a chain of
one layer, so that calls aren't counted.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import SSAValue

import qlower
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.interp.values import Array
from qlower.model.build import constant, make_model, quantized
from qlower.model.nests import dense

SIZES = (128, 256, 512, 1024)
TURNS = 100
LEAST_SECONDS = 5e-4
"""How long a turn takes at least."""


def chain(size: int, rows: int, layers: int, bits: int) -> qlower.Model:
    """Layers with drawn weights of so many bits."""
    random = np.random.default_rng(1)
    type = TensorType(QuantizedType.per_tensor(bits, True, 0.01, 0), [size, size])
    result = quantized([rows, size], 0.05, 3)

    def body(value: SSAValue) -> list[SSAValue]:
        for _ in range(layers):
            weights = random.integers(-8, 8, [size, size], np.int8)
            if bits == 8:
                weights[0, 0] = 100
            stored = qnn.ConstantOp(dense(weights, IntegerType(bits)), type)
            bias = constant(random.integers(-500, 500, size, np.int32))
            value = qnn.LinearOp(value, stored, bias, result).result
        return [value]

    return make_model([result], body)


def seconds(functions: list[qlower.JitFunction], x: Array) -> list[float]:
    """The fastest call of each."""
    best = [float("inf")] * len(functions)
    for _ in range(TURNS):
        for index, function in enumerate(functions):
            calls, start = 0, time.perf_counter()
            while (passed := time.perf_counter() - start) < LEAST_SECONDS:
                function(x)
                calls += 1
            best[index] = min(best[index], passed / calls)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cpu", nargs="+", default=[None], help="default: this one")
    parser.add_argument("--rows", nargs="+", type=int, default=[1, 8])
    options = parser.parse_args()
    print("| CPU | layer | rows | KiB of bytes | 8 bits, us | 4 bits, us | ratio |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for cpu in options.cpu:
        for size in SIZES:
            for rows in options.rows:
                layers = max(2, min(24, (4 << 20) // size**2))
                functions = [
                    qlower.jit(
                        chain(size, rows, count, bits),
                        cpu=cpu,
                        contract="tflite",
                        threads=1,
                    )
                    for bits in (8, 4)
                    for count in (1, layers)
                ]
                x = np.random.default_rng(2).integers(-128, 128, [rows, size], np.int8)
                one, all, narrow_one, narrow_all = seconds(functions, x)
                wide = (all - one) / (layers - 1) * 1e6
                narrow = (narrow_all - narrow_one) / (layers - 1) * 1e6
                print(
                    f"| {cpu or 'host'} | {size} x {size} | {rows} | {size**2 >> 10} "
                    f"| {wide:.2f} | {narrow:.2f} | {narrow / wide:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
