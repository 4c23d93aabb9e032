"""What the inner loops of a model cost on AArch64 cores, estimated by llvm-mca.

    pip install '.[tflite,mlir]'
    python examples/benchmark/estimate_aarch64.py model.tflite [--cpu neoverse-n1 ...]

One line a loop that sums products: the layer, what an iteration does, and the cycles of
a multiply-accumulate: of the loop, of its products alone (the core's limit), of all
else in it, such as the loads of weights that a product with a vector uses only once.
No cache misses are in it, nor what happens outside of these loops.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import qlower

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from support.machines.inner_loops import Estimate, estimate, inner_loops

CPUS = ["cortex-a55", "cortex-a76", "neoverse-n1", "neoverse-v1"]


def line(found: Estimate) -> str:
    work = found.loop.multiply_accumulates
    return (
        f"{found.loop.function:<40.40} {work:>6} {len(found.loop.products):>6} "
        f"{len(found.loop.instructions):>6} {found.cycles:>8.1f} "
        f"{found.cycles / work:>8.4f} {found.limit / work:>8.4f} "
        f"{found.rest / work:>8.4f} {found.ratio:>6.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--cpu", nargs="+", default=CPUS)
    parser.add_argument("--features", help="refine the CPUs, such as -dotprod")
    options = parser.parse_args()
    model = qlower.load(options.model)
    for cpu in options.cpu:
        compiled = qlower.compile(
            model, target="aarch64-linux-gnu", cpu=cpu, features=options.features
        )
        print(f"{cpu}\n{'layer':<40} {'MACs':>6} {'dots':>6} {'instrs':>6} ", end="")
        print(f"{'cycles':>8} {'a MAC':>8} {'limit':>8} {'rest':>8} {'ratio':>6}")
        for found in estimate(inner_loops(compiled.text("asm")), compiled.target):
            print(line(found))


if __name__ == "__main__":
    main()
