"""What the page's functions give for many inputs, as it is recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.inspection.layer_table import describe
from qlower.model.layers import layers
from qlower.report import blocks
from qlower.report.attributes import attributes_of, summary
from qlower.report.columns import fold
from qlower.report.drawing import draw, neighbours
from qlower.report.elements import choose_elements, cut_of
from qlower.report.graph import Node
from qlower.report.layout import lay_out
from qlower.report.maps import Grid, difference_map, palettes, value_map
from qlower.report.measures import Cut, Measure, percent, saturation
from qlower.text.parsing import parse_module

RECORDED = Path(__file__).with_name("recorded.txt")
"""Made by `pytest tests/report/test_recorded.py --bless`, after the pages were looked
at."""


def graphs() -> Iterator[list[tuple[int, ...]]]:
    """Threads, branches, long edges and graphs that are drawn at random."""
    yield []
    yield [()]
    yield [(), ()]
    yield [(), (0,), (1,), (2,), (3,), (0, 4)]
    yield [(), (0,), (0,), (0,), (1, 2, 3), (), (4, 5)]
    yield [(), *[(n,) for n in range(40)]]
    random = np.random.default_rng(11)
    for size in (5, 9, 14, 25, 60):
        sources: list[tuple[int, ...]] = [()]
        for node in range(1, size):
            read = random.integers(max(0, node - 6), node, random.integers(0, 4))
            sources.append(tuple(dict.fromkeys(read.tolist())))
        yield sources


def nodes_of(sources: list[tuple[int, ...]]) -> list[Node]:
    found: list[Node] = []
    for number, read in enumerate(sources):
        role: Any = "layer" if read else "input"
        name = f"layer_{number}" + "_of_a_long_name" * (number % 3)
        kind = "" if role == "input" else ["conv2d", "relu"][number % 2]
        found.append(Node(number, role, name, name, kind, "1x4 i8 (0.5)", read))
    return found


MODEL = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32, 0.25>
func.func @main(%x: tensor<1x5x6x2x!x>) -> tensor<1x3x6x2x!x> {
  %w = qnn.constant dense<3> : tensor<2x3x1x2xi8> -> tensor<2x3x1x2x!w>
  %0 = qnn.conv2d %x, %w {stride = [1, 1], pad = [1, 1, 0, 0], dilation = [1, 1],
    groups = 2 : i64, activation = "relu"}
    : (tensor<1x5x6x2x!x>, tensor<2x3x1x2x!w>) -> tensor<1x5x6x2x!x> loc("a")
  %1 = qnn.max_pool2d %0 {kernel = [2, 1], stride = [2, 1], pad = [1, 0, 0, 0]}
    : (tensor<1x5x6x2x!x>) -> tensor<1x3x6x2x!x> loc("b")
  %2 = qnn.leaky_relu %1 {alpha = 1.0e-01 : f64}
    : (tensor<1x3x6x2x!x>) -> tensor<1x3x6x2x!x> loc("c")
  return %2 : tensor<1x3x6x2x!x>
}"""


def lines() -> Iterator[tuple[str, object]]:
    """Names of functions with what they give."""
    for number, sources in enumerate(graphs()):
        layout = lay_out(sources)
        yield f"lay_out {number}", repr(layout)
        for across, down, gap in ((250, 96, 0.35), (100, 300, 0.5), (500, 20, 0.1)):
            columns = fold(layout, across, down, gap)
            yield f"fold {number} {down}", repr(columns)
        nodes = nodes_of(sources)
        yield f"neighbours {number}", repr(neighbours(nodes, layout))
        shares = {node.name: node.number / 7 for node in nodes if node.number % 4}
        texts = {name: f"{share:.2f} <x>" for name, share in shares.items()}
        measure = Measure("key", "title", "about", shares, texts)
        yield f"draw {number}", draw(nodes, layout, measure) if nodes else ""
        page = vars(import_module("qlower.report.page"))
        yield f"_measure {number}", json.dumps(page["_measure"](measure, nodes))
        yield f"_nodes {number}", json.dumps(page["_nodes"](nodes, layout))
        yield f"_choice {number}", page["_choice"](measure, number)
    for shares in ([], [0.0], [0.5], [0.001, 0.02, 0.9], [0.0, 1.0, 0.1, 0.11]):
        named = {str(n): share for n, share in enumerate(shares)}
        one = Measure("", "", "", named, {})
        colours = [one.colour(name) for name in (*named, "none")]
        bars = [one.bar(name, 220) for name in (*named, "none")]
        yield f"measure {shares}", f"{one.edges} {colours} {bars} {one.legend}"
    for share in (0, 1e-7, 0.00123, 0.05, 0.0999, 0.1, 0.5, 0.999, 1):
        yield f"percent {share}", percent(share)
    cuts = {"a": Cut(100, 3, 4, 2), "b": Cut(0, 0, 0), "c": Cut(9, 9, 0, 9)}
    yield "saturation", repr(saturation(cuts))
    random = np.random.default_rng(12)
    for shape in (
        (),
        (5,),
        (33,),
        (70,),
        (3, 5),
        (2, 3, 4),
        (2, 6, 7, 5),
        (9, 40, 40, 8),
    ):
        a = random.integers(-128, 128, shape).astype(np.int8)
        for most in (4, 100, 4096):
            grid = Grid.of(shape, most)
            yield f"grid {shape} {most}", f"{grid} {grid.cells}"
            last = tuple(size - 1 for size in shape)
            cells = grid.cell(last, shape), grid.cell((0,) * len(shape), shape)
            yield f"cell {shape} {most}", cells
            b = np.clip(a + random.integers(-2, 3, shape), -128, 127).astype(np.int8)
            yield f"difference {shape} {most}", difference_map("t", a, b, grid)
            yield f"values {shape} {most}", value_map("t", a, grid)
            real = a.astype(np.float32) * np.float32(0.37)
            far = random.permutation(real.reshape(-1)).reshape(shape)
            yield (
                f"real differences {shape} {most}",
                difference_map("t", real, far, grid),
            )
            yield f"real values {shape} {most}", value_map("t", real, grid)
            equal = difference_map("t", a, a, grid)
            yield f"equal {shape} {most}", equal
            wide = a.astype(np.int32) * 1000
            yield f"wide {shape} {most}", difference_map("t", wide, wide * 2, grid)
            yield f"wide values {shape} {most}", value_map("t", wide, grid)
    yield "palettes", palettes()
    for name, array in {
        "bytes": random.integers(-128, 128, 500).astype(np.int8),
        "few": np.array([3, 3, 4, 9], np.int8),
        "64": np.arange(64, dtype=np.int8),
        "65": np.arange(65, dtype=np.int8),
        "one": np.array([7], np.int8),
        "none": np.array([np.nan, np.inf], np.float32),
        "real": random.standard_normal(300).astype(np.float32),
        "equal": np.full(4, 2.5, np.float32),
        "empty": np.zeros(0, np.int8),
        "yes": np.array([True, False, True]),
    }.items():
        yield f"histogram {name}", blocks.histogram("t", array)
    for numbers in ([1.0], [0.5, 0.25, 1.0], [1e-9, 3.0, 3.0, 0.0]):
        yield f"strip {numbers}", blocks.strip("t", numbers)
    yield "facts", blocks.facts("t", [("a", "b\x07"), ("c", ""), ("d", "e")])
    yield "code", blocks.code("t", "a\nb\x07", "about")
    yield "elements", blocks.elements("t", "about", [blocks.code("a", "b")])
    yield "maps", blocks.maps("t", [blocks.code("a", "b")])
    for op in layers(parse_module(MODEL, "m.mlir")):
        yield f"attributes {op.name}", f"{attributes_of(op)}; {summary(op)}"
        yield f"type {op.name}", describe(op.results[0].type)
    yield from chosen(random)
    cut = vars(import_module("qlower.report.levels"))["_cut"]
    for count in (10, 6666, 6667, 9000):
        yield f"cut {count}", repr(cut("arith", "12345\n" * count))


def chosen(random: np.random.Generator) -> Iterator[tuple[str, object]]:
    """The elements of a layer that are shown."""
    for shape in ((), (3,), (2, 5), (1, 6, 7, 12)):
        result = random.integers(-9, 9, shape).astype(np.int8)
        lanes: Any = SimpleNamespace(
            roundings=[
                SimpleNamespace(name=f"%{n}", distance=distance)
                for n, distance in enumerate(
                    [
                        np.full(shape, np.nan),
                        random.integers(-5, 6, shape) / 8 + 1,
                        np.zeros(shape),
                        *[random.random(shape) for _ in range(3)],
                    ]
                )
            ],
            low=np.asarray(result == -9),
            high=np.asarray(result > 7),
        )
        apart = np.asarray(random.integers(-1, 2, shape))
        run: Any = SimpleNamespace(
            evaluations=[1],
            result=result,
            op=next(layers(parse_module(MODEL, "m.mlir"))),
        )
        for most in (1, 4, 20, 100):
            for case, given in enumerate(
                ((None, None), (lanes, None), (lanes, apart), (None, apart * 0))
            ):
                found = choose_elements(run, *given, most)
                yield f"elements {shape} {most} {case}", repr(found)
        yield f"cut {shape}", repr(cut_of(run, lanes))
        nothing: Any = SimpleNamespace(evaluations=[], result=result)
        yield f"nothing {shape}", repr(choose_elements(nothing, None, None, 4))


def test_what_is_recorded(request: pytest.FixtureRequest) -> None:
    """Short results as they are, long ones by their digests."""
    rows: list[str] = []
    for name, value in lines():
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        digest = f"#{sha256(text.encode()).hexdigest()[:12]}"
        rows.append(f"{name}: {text if len(text) < 70 else digest}")
    found = "\n".join(rows) + "\n"
    if request.config.getoption("--bless"):
        RECORDED.write_text(found)
    assert found.splitlines() == RECORDED.read_text().splitlines()
