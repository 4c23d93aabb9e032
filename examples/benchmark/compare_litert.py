"""qlower beside LiteRT's default kernels (XNNPACK), one thread, interleaved in one run.

    pip install 'qlower[tflite,peers]'
    python examples/benchmark/compare_litert.py model.tflite [more.tflite ...]

Prints the median time of each and the median of the ratios of neighbouring calls.
LiteRT is timed in `invoke` alone, qlower in the whole call from Python.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter

import qlower


def compare(path: Path, calls: int) -> str:
    """One line of results for a model."""
    run = qlower.jit(path)
    random = np.random.default_rng(0)
    inputs = [
        random.integers(*_range(spec.dtype), spec.shape, spec.dtype, endpoint=True)
        if np.dtype(spec.dtype).kind in "iu"
        else random.normal(size=spec.shape).astype(spec.dtype)
        for spec in run.inputs
    ]
    peer = Interpreter(model_path=str(path), num_threads=1)
    peer.allocate_tensors()
    for detail, value in zip(peer.get_input_details(), inputs, strict=True):
        peer.set_tensor(detail["index"], value)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(calls):
        start = time.perf_counter()
        run(*inputs)
        middle = time.perf_counter()
        peer.invoke()
        end = time.perf_counter()
        ours.append(middle - start)
        theirs.append(end - middle)
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    times = (1e6 * statistics.median(values) for values in (ours, theirs))
    return "{:<32} {:>10.1f} {:>10.1f} {:>7.2f}".format(path.parent.name, *times, ratio)


def _range(dtype: str) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return limits.min, limits.max


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--calls", type=int, default=200)
    options = parser.parse_args()
    print(f"{'model (folder)':<32} {'qlower us':>10} {'LiteRT us':>10} {'ratio':>7}")
    for path in options.models:
        print(compare(path, options.calls), flush=True)


if __name__ == "__main__":
    main()
