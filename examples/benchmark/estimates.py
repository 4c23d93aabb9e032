"""How well the code generator's estimates hold: estimated against measured times.

    pip install '.[tflite]'
    python examples/benchmark/estimates.py MODEL... [--rounds N]

One line for each kind of kernel of the models, in one thread on this machine: how many
there are, and the ratio of the estimated to the measured time, its quartiles. The
constants of `qlower/codegen/program/work.py` are right where the middle is near 1. What
is decided by them (whether threads pay, and whether tile registers do) bears a factor
of two. Kernels of less than a microsecond are left out: to read the clock takes some
20 ns of them.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

import qlower
from qlower.bench.comparison import layer_times
from qlower.codegen.program.flavour import Flavour
from qlower.codegen.program.plan import NestPlan, plan
from qlower.compilation.compilation import Compilation

LEAST_NANOSECONDS = 1_000.0


def ratios(model: Path, rounds: int) -> dict[str, list[float]]:
    """Estimated by measured times of a model's kernels, by what runs them."""
    compilation = Compilation(qlower.load(model), flavour=Flavour(is_profiled=True))
    steps = plan(compilation.kernels, compilation.target).steps.values()
    found: dict[str, list[float]] = defaultdict(list)
    for step, time in zip(steps, layer_times(compilation, rounds), strict=True):
        nest = isinstance(step, NestPlan)
        kind = type(step.whole.skeleton).__name__ if nest else type(step).__name__
        if time.nanoseconds >= LEAST_NANOSECONDS:
            found[kind].append(step.nanoseconds / time.nanoseconds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=41)
    options = parser.parse_args()
    every: dict[str, list[float]] = defaultdict(list)
    for model in options.models:
        for kind, some in ratios(model, options.rounds).items():
            every[kind] += some
    print(f"{'kernels':<20} {'count':>6} {'25 %':>6} {'50 %':>6} {'75 %':>6}")
    for kind, some in sorted(every.items()):
        low, middle, high = np.percentile(some, (25, 50, 75))
        print(f"{kind:<20} {len(some):>6} {low:>6.2f} {middle:>6.2f} {high:>6.2f}")


if __name__ == "__main__":
    main()
