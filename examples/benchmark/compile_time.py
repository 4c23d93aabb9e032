"""Seconds to compile against layers, 10 to 1,000: a table in Markdown, and a picture.

python examples/benchmark/compile_time.py [--write] [--runs N] [MODEL ...]

The networks are chains of linear layers, sigmoids, products, sums and tanhs of 16
numbers, as of an unrolled recurrent network; no two have the same scales. Each is
compiled in a process of its own, without cache, for x86-64-v3. Seconds are the
processor's, of the median run; interpreter and imports are counted once, as 0 layers.
Before each run the yardstick is timed (yardstick.py), by whose seconds other machines,
and busy ones, can be compared. --write puts both into this folder, as compile_time.md
and .svg. Models that are named are compiled in place of the chains, and --write then
makes compile_time_networks.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from xdsl.ir import SSAValue
from yardstick import DESCRIPTION, yardstick

import qlower
from qlower.dialects import qnn
from qlower.model.build import constant, make_model, quantized
from qlower.model.layers import layers as layers_of
from qlower.tables.plots import BLUE, new_figure, save
from qlower.tables.table import Column, Table, counted

CHAINS = {str(layers): layers for layers in (10, 30, 100, 300, 1000)}
"""Lengths by the words for them."""

WIDTH = 16


@dataclass(frozen=True)
class Row:
    """CPU seconds of a process that compiles so many layers, and its most memory;
    the median of its seconds over those of the yardstick just before."""

    name: str
    layers: int
    seconds: float
    megabytes: int
    yardsticks: float
    start: float

    @property
    def milliseconds_per_layer(self) -> float | None:
        return (self.seconds - self.start) / self.layers * 1e3 if self.layers else None


def network(layers: int) -> qlower.Model:
    """A chain of layers with drawn weights and scales, the same at each call."""
    random = np.random.default_rng(1)
    shape = [1, WIDTH]

    def scale() -> float:
        return float(np.float32(random.uniform(0.01, 0.1)))

    def body(value: SSAValue) -> list[SSAValue]:
        values = [value]
        for index in range(layers):
            last, earlier = values[-1], values[-4:][0]
            result = quantized(shape, scale(), int(random.integers(-128, 128)))
            match index % 5:
                case 0:
                    stored = random.integers(-127, 128, [WIDTH, WIDTH], np.int8)
                    weight = constant(stored, quantized([WIDTH, WIDTH], scale() / 4))
                    bias = constant(random.integers(-300, 300, WIDTH, np.int32))
                    op = qnn.LinearOp(last, weight, bias, result)
                case 1:
                    op = qnn.SigmoidOp(last, quantized(shape, 1 / 256, -128))
                case 2:
                    op = qnn.MulOp(last, earlier, result)
                case 3:
                    op = qnn.AddOp(last, earlier, result)
                case _:
                    op = qnn.TanhOp(last, quantized(shape, 1 / 128))
            values.append(op.result)
        return [values[-1]]

    return make_model([quantized(shape, 0.05, 3)], body)


def layer_count(model: str) -> int:
    """How many operations a model's file has."""
    return len(list(layers_of(qlower.load(model).module)))


def compile_once(what: str) -> None:
    """What a measured process does with a number of layers, or a model's file."""
    if what != "0":
        model = network(int(what)) if what.isdecimal() else qlower.load(what)
        qlower.compile(model, "x86_64-linux-gnu", "x86-64-v3", contract="tflite")


def measured(what: str, layers: int, runs: int, start: float) -> Row:
    """The median of the processes, by the time that they took."""
    command = [sys.executable, __file__, "--once", what]
    environment = {**os.environ, "QLOWER_CACHE_DIR": ""}
    figures: list[tuple[float, int]] = []
    yardsticks: list[float] = []
    for _ in range(runs):
        measure = yardstick()
        process = subprocess.Popen(command, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(process.returncode)
        figures.append((used.ru_utime + used.ru_stime, used.ru_maxrss >> 10))
        yardsticks.append(figures[-1][0] / measure)
    seconds, megabytes = sorted(figures)[runs // 2]
    name = Path(what).stem.removeprefix("large.") if layers else "imports alone"
    return Row(name, layers, seconds, megabytes, statistics.median(yardsticks), start)


COLUMNS = [
    Column[Row]("layers", "layers", lambda row: row.layers),
    Column[Row]("CPU seconds", "seconds", lambda row: row.seconds),
    Column[Row]("yardsticks", "yardsticks", lambda row: row.yardsticks),
    Column[Row]("ms a layer", "each", lambda row: row.milliseconds_per_layer),
    Column[Row]("most memory, MB", "megabytes", lambda row: row.megabytes),
]


NETWORK_COLUMNS = [Column[Row]("network", "name", lambda row: row.name), *COLUMNS]

PAGE = """# Seconds to compile against layers

![Seconds against layers](compile_time.svg)

{text}
`python examples/benchmark/compile_time.py --write` made this;
[networks](compile_time_networks.md) are measured likewise.
"""

NETWORKS_PAGE = """# Seconds to compile networks

{text}
`python tests/support/systems/tensorflow_worker.py FOLDER large.`, by a Python that has
TensorFlow, writes these networks, and
`python examples/benchmark/compile_time.py --write FOLDER/*` made this. Parts of a
network are what `qlower import --outputs LAYER MODEL -o FOLDER/PART.mlir` cuts off.
"""


def draw(rows: Sequence[Row], path: Path) -> None:
    """Seconds against layers, both on logarithmic scales."""
    figure = new_figure(5, 3)
    axes = figure.subplots()
    shown = [row for row in rows if row.layers]
    axes.loglog(
        [row.layers for row in shown],
        [row.seconds for row in shown],
        color=BLUE,
        marker="o",
    )
    axes.set_xlabel("layers")
    axes.set_ylabel("CPU seconds to compile")
    axes.set_title("Small operators, cold, one process each")
    save(figure, path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Seconds to compile against layers.")
    parser.add_argument("--write", action="store_true", help="write table and picture")
    parser.add_argument("--runs", type=int, default=3, help="of each (default: 3)")
    parser.add_argument("--once", help="only compile that, and end")
    parser.add_argument("models", metavar="MODEL", nargs="*", help="files to compile")
    options = parser.parse_args(arguments)
    if options.once is not None:
        compile_once(options.once)
        return 0
    if options.runs < 1:
        parser.error(f"--runs must be positive, not {options.runs}")
    start = measured("0", 0, options.runs, 0.0)
    counts = {model: layer_count(model) for model in options.models} or CHAINS
    rows = [
        measured(what, count, options.runs, start.seconds)
        for what, count in counts.items()
    ]
    columns = NETWORK_COLUMNS if options.models else COLUMNS
    table = Table("compile time", [start, *rows], columns).render("markdown")
    load = f"{os.getloadavg()[0]:.1f} on {counted(os.cpu_count() or 1, 'core')}"
    text = (
        f"{table}\n\nMedians of {counted(options.runs, 'run')}. The yardstick, "
        f"{DESCRIPTION}, took {yardstick():.3f} s in the end; the load was {load}.\n"
    )
    print(text, end="")
    folder = Path(__file__).parent
    if options.write and options.models:
        page = NETWORKS_PAGE.format(text=text)
        (folder / "compile_time_networks.md").write_text(page)
    elif options.write:
        (folder / "compile_time.md").write_text(PAGE.format(text=text))
        draw(rows, folder / "compile_time.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
