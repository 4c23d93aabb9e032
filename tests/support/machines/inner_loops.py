"""Cycles of AArch64 inner loops by llvm-mca, where there is no such machine.

llvm-mca replays a loop on LLVM's model of a core: its issue width, pipes and latencies,
all loads from the first cache. A loop's limit is the number of cycles that the same
core needs for the loop's products alone, independent of each other.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from qlower.codegen.targets.resolve import Target
from qlower.diagnostics import QlowerError
from qlower.files.llvm_tools import find_tool
from qlower.files.programs import run_program
from qlower.process.extras import install_line

_OLDEST_LLVM = 22
"""The release whose models of cores were looked at; older tools print other things."""

_ITERATIONS = 100

_FREE_PRODUCTS = 60
"""So many in a row show what a core can do; registers come again after 15."""

_MULTIPLY_ACCUMULATES = {
    re.compile(r"[su]{1,2}dot\s+v\d+\.4s"): 16,
    re.compile(r"[su]{1,2}mmla\s+v\d+\.4s"): 32,
    re.compile(r"[su]mlal2?\s+v\d+\.4s"): 4,
}
"""Multiply-accumulates of bytes or 16-bit numbers that an instruction makes."""


@dataclass(frozen=True)
class InnerLoop:
    """A loop of one block. `instructions` are assembly lines, the branch the last."""

    function: str
    instructions: tuple[str, ...]

    @property
    def products(self) -> tuple[str, ...]:
        """The instructions that multiply and accumulate."""
        return tuple(i for i in self.instructions if _multiply_accumulates(i))

    @property
    def multiply_accumulates(self) -> int:
        """The multiply-accumulates of one iteration of the loop."""
        return sum(map(_multiply_accumulates, self.instructions))


@dataclass(frozen=True)
class Estimate:
    """Cycles of an iteration: of the loop, of its products alone, of all the rest."""

    loop: InnerLoop
    cycles: float
    limit: float
    rest: float

    @property
    def ratio(self) -> float:
        """Cycles over the dot-product limit: 1 at best."""
        return self.cycles / self.limit


def inner_loops(assembly: str) -> list[InnerLoop]:
    """The loops of one block that sum products, in the order of the text."""
    found: list[InnerLoop] = []
    function, label = "", ""
    block: list[str] = []
    for line in assembly.splitlines():
        text = line.strip()
        if named := re.match(r"(\.?\w+):", text):
            if named[1].startswith(".LBB"):
                label = named[1]
            elif not named[1].startswith("."):
                function, label = named[1], ""
            block = []
        elif text and not text.startswith("."):
            block.append(text)
            if re.match(r"(b\.\w+|cbn?z|tbn?z)\b", text) and text.split()[-1] == label:
                loop = InnerLoop(function, tuple(block))
                if loop.products:
                    found.append(loop)
    return found


def estimate(loops: Sequence[InnerLoop], target: Target) -> list[Estimate]:
    """The cost of each loop on the target's CPU. Raises QlowerError without
    llvm-mca."""
    blocks: list[tuple[str, ...]] = []
    for loop in loops:
        rest = (i for i in loop.instructions if i not in loop.products)
        products = tuple(_independent(loop.products * _copies(loop)))
        blocks += [loop.instructions, products, tuple(rest)]
    cycles = _cycles(blocks, target)
    return [
        Estimate(loop, whole, products / _copies(loop), rest)
        for loop, whole, products, rest in zip(
            loops, cycles[::3], cycles[1::3], cycles[2::3], strict=True
        )
    ]


def _copies(loop: InnerLoop) -> int:
    """The repetitions of products that keep many from waiting for each other."""
    return -(-_FREE_PRODUCTS // len(loop.products))


def find_llvm_mca() -> Path | None:
    """llvm-mca of the `mlir` extra, else the one on the path, if it is new enough."""
    found = find_tool("llvm", "llvm-mca", _OLDEST_LLVM)
    return None if found is None else Path(found)


@cache
def _multiply_accumulates(instruction: str) -> int:
    for pattern, count in _MULTIPLY_ACCUMULATES.items():
        if pattern.match(instruction):
            return count
    return 0


def _independent(products: Iterable[str]) -> Iterator[str]:
    """Yields as many products of the same kinds, no two adding to the same register."""
    kinds = Counter(re.split(r"\s", product)[0] for product in products)
    number = 0
    for kind, count in kinds.items():
        example = next(p for p in products if p.split()[0] == kind)
        _, first, *others = re.split(r"[\s,]+", example)
        arrangement = first.split(".")[1]
        operands = ", ".join(re.sub(r"v\d+", "v31", operand) for operand in others)
        if "smlal" in kind or "umlal" in kind:  # an element must be in v0 to v15
            operands = operands.replace("v31", "v15")
        for _ in range(count):
            yield f"{kind} v{number % 15}.{arrangement}, {operands}"
            number += 1


def _cycles(blocks: Sequence[Sequence[str]], target: Target) -> list[float]:
    """Cycles of one run of each block, when it is repeated."""
    tool = find_llvm_mca()
    if tool is None:
        raise QlowerError(
            f"there is no llvm-mca here of LLVM {_OLDEST_LLVM} or newer",
            help=f"{install_line('mlir')}, or install LLVM's own",
        )
    lines: list[str] = []
    for number, block in enumerate(blocks):
        local = (re.sub(r"\.LBB\w+", ".", line) for line in block)
        lines += [f"// LLVM-MCA-BEGIN {number}", *local, "// LLVM-MCA-END", ""]
    command = [str(tool), f"-mtriple={target.triple}", f"-mcpu={target.cpu}", "--json"]
    command += [f"-iterations={_ITERATIONS}", "--instruction-info=0"]
    if target.features:
        command += [f"-mattr={target.features}"]
    done = run_program(command, input="\n".join(lines).encode())
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip()[:500]
        raise QlowerError(f"{tool.name} fails: {reason}")
    regions = json.loads(done.stdout)["CodeRegions"]
    return [
        region["SummaryView"]["TotalCycles"] / region["SummaryView"]["Iterations"]
        for region in regions
    ]
