"""Inner loops reach what the core's products alone would take, as llvm-mca has it."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.formats.tflite_models import conv2d
from support.machines import inner_loops as loops_module
from support.machines.inner_loops import estimate, find_llvm_mca, inner_loops
from support.values.stored import random_stored
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.model.build import constant, make_module, quantized

EXAMPLE = Path(__file__).parents[2] / "examples/benchmark/estimate_aarch64.py"

LOOP = """
f:
.LBB0_1:
	ldr	q0, [x0], #16
	sdot	v1.4s, v0.16b, v2.4b[1]
	b.lo	.LBB0_1
	b.ne	.LBB0_2
g:
.LBB1_1:
	smull	v1.2d, v0.2s, v2.2s
	b.lo	.LBB1_1
.LBB1_2:
	smlal	v1.4s, v0.4h, v2.h[1]
	smlal2	v3.4s, v0.8h, v2.h[1]
	cbnz	x0, .LBB1_2
"""

needs_mca = pytest.mark.skipif(find_llvm_mca() is None, reason="there is no llvm-mca")


def test_loops_that_sum_products_are_found():
    first, second = inner_loops(LOOP)
    assert (first.function, first.multiply_accumulates) == ("f", 16)
    assert [i.split()[0] for i in first.instructions] == ["ldr", "sdot", "b.lo"]
    assert (second.function, second.multiply_accumulates) == ("g", 8)


def test_what_llvm_mca_is_asked(monkeypatch: pytest.MonkeyPatch):
    """Three regions a loop, of 100 iterations: all of it, 60 products or more that
    don't wait for each other, and all the rest."""
    asked: list[tuple[list[str], str]] = []

    def run(command: list[str], *, input: bytes) -> Any:
        asked.append((command, input.decode()))
        views = [
            {"SummaryView": {"TotalCycles": total, "Iterations": 100}}
            for total in (250, 3100, 75, 500, 900, 25)
        ]
        found = json.dumps({"CodeRegions": views}).encode()
        return SimpleNamespace(returncode=0, stdout=found, stderr=b"")

    monkeypatch.setattr(loops_module, "find_llvm_mca", lambda: Path("/bin/mca"))
    monkeypatch.setattr(loops_module, "run_program", run)
    target = resolve_target("aarch64-linux-gnu", "neoverse-n1")
    first, second = estimate(inner_loops(LOOP), target)
    # 60 copies of one product, and 30 of two
    assert (first.cycles, first.limit, first.rest) == (2.5, 31 / 60, 0.75)
    assert (second.cycles, second.limit, second.rest) == (5.0, 9 / 30, 0.25)
    assert first.ratio == 2.5 / (31 / 60)
    ((command, text),) = asked
    assert command[:6] == [
        *("/bin/mca", "-mtriple=aarch64-linux-gnu", "-mcpu=neoverse-n1", "--json"),
        *("-iterations=100", "--instruction-info=0"),
    ]
    assert f"-mattr={target.features}" in command or not target.features
    regions = [one.splitlines() for one in text.split("// LLVM-MCA-BEGIN ")[1:]]
    assert [one[0] for one in regions] == list("012345")
    assert all(
        one[-1] == "// LLVM-MCA-END" for one in (r[: len(r) - 1] for r in regions[:-1])
    )
    bodies = [
        [line for line in one[1:] if line and "MCA" not in line] for one in regions
    ]
    loop = ["ldr	q0, [x0], #16", "sdot	v1.4s, v0.16b, v2.4b[1]", "b.lo	."]
    assert bodies[0] == loop
    assert bodies[2] == [loop[0], loop[2]]
    assert bodies[1] == [f"sdot v{n % 15}.4s, v31.16b, v31.4b[1]" for n in range(60)]
    assert bodies[4] == [
        *(f"smlal v{n % 15}.4s, v15.4h, v15.h[1]" for n in range(30)),
        *(f"smlal2 v{n % 15}.4s, v15.8h, v15.h[1]" for n in range(30, 60)),
    ]
    assert bodies[5] == ["cbnz	x0, ."]


def test_a_failing_llvm_mca_is_quoted(monkeypatch: pytest.MonkeyPatch):
    failed = SimpleNamespace(returncode=1, stdout=b"", stderr=b" no core ")
    monkeypatch.setattr(loops_module, "find_llvm_mca", lambda: Path("/bin/mca"))
    monkeypatch.setattr(loops_module, "run_program", lambda *_, **__: failed)
    target = resolve_target("aarch64-linux-gnu", "neoverse-n1")
    with pytest.raises(QlowerError, match=r"mca fails: no core$"):
        estimate(inner_loops(LOOP), target)


@needs_mca
def test_an_estimate_has_the_parts_of_a_loop():
    target = resolve_target("aarch64-linux-gnu", "neoverse-n1")
    found = estimate(inner_loops(LOOP), target)[0]
    # one sum in the chain; two products could start in each cycle
    assert found.limit == pytest.approx(0.5, abs=0.1)
    assert found.cycles >= 1
    assert found.rest >= 0.3


@pytest.mark.parts(6)
@needs_mca
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(
    ("cpu", "features", "expected"),
    [
        ("neoverse-n1", None, ("sdot", "sdot")),
        ("neoverse-v1", None, ("smmla", "usmmla")),
        ("neoverse-v1", "-i8mm", ("sdot", "sdot")),
        ("neoverse-n1", "-dotprod", ("smlal", "smlal")),
    ],
)
def test_convolutions_reach_the_limit_of_products(
    cpu: str, features: str | None, expected: tuple[str, str], signed: bool
):
    """Within 15 %, in the loop of a layer that does the most at once."""
    module = convolution((1, 16, 16, 32), (32, 3, 3, 32), signed=signed)
    target = resolve_target("aarch64-linux-gnu", cpu, features)
    compiled = Compilation(qlower.Model(module), "tflite", target).code
    loops = inner_loops(compiled.assembly())
    main = max(estimate(loops, target), key=lambda e: e.loop.multiply_accumulates)
    assert main.ratio < 1.15
    product = main.loop.products[0].split()[0]
    assert product.removesuffix("2") == expected[not signed]


@pytest.mark.parts(6)
@needs_mca
@pytest.mark.parametrize(
    ("cpu", "image", "weights"),
    [
        # rows that tiles don't divide, and a first layer with a run of nine bytes
        ("neoverse-n1", (1, 7, 7, 64), (64, 1, 1, 64)),
        ("neoverse-n1", (1, 5, 13, 32), (24, 1, 1, 32)),
        ("neoverse-n1", (1, 18, 18, 3), (16, 3, 3, 3)),
        ("neoverse-v1", (1, 8, 8, 64), (64, 1, 1, 64)),
        ("neoverse-v1", (1, 6, 12, 32), (32, 1, 1, 32)),
        ("neoverse-v1", (1, 18, 18, 3), (16, 3, 3, 3)),
    ],
)
def test_every_tile_reaches_the_limit_of_products(
    cpu: str, image: tuple[int, ...], weights: tuple[int, ...]
):
    """Within 15 %, in all loops of a layer: no tile is low for want of rows."""
    target = resolve_target("aarch64-linux-gnu", cpu)
    model = qlower.Model(convolution(image, weights))
    loops = inner_loops(Compilation(model, "tflite", target).code.assembly())
    assert loops
    assert max(found.ratio for found in estimate(loops, target)) < 1.15


def convolution(
    image: tuple[int, ...], weights: tuple[int, ...], *, signed: bool = True
) -> ModuleOp:
    """A layer without padding."""
    size = [image[axis] - weights[axis] + 1 for axis in (1, 2)]
    return make_module(
        [quantized(image, 0.02, 3, signed=signed)],
        lambda x: [
            qnn.Conv2DOp(
                x,
                constant(random_stored(weights), quantized(weights, 0.01)),
                None,
                quantized((1, *size, weights[0]), 0.1, 5, signed=signed),
            ).result
        ],
    )


def test_no_tool_is_said_plainly(monkeypatch: pytest.MonkeyPatch):
    module = "support.machines.inner_loops.find_llvm_mca"
    monkeypatch.setattr(module, lambda: None)
    target = resolve_target("aarch64-linux-gnu", "neoverse-n1")
    with pytest.raises(QlowerError, match="there is no llvm-mca here"):
        estimate(inner_loops(LOOP), target)


@needs_mca
def test_the_example_prints_a_line_a_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "model.tflite"
    path.write_bytes(conv2d())
    monkeypatch.setattr("sys.argv", ["estimate", str(path), "--cpu", "cortex-a55"])
    runpy.run_path(str(EXAMPLE))["main"]()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "cortex-a55"
    assert printed[1].split()[0] == "layer"
    assert len(printed) > 2
