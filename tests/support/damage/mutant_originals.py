"""What mutants are made of: small modules of every level, and small contracts.

Most are one operation (`tests/run`), since a mutant costs what its module costs.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qlower.codegen.targets.resolve import host_target
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.contracts import BASE, Contract, contract_names, load_contract
from qlower.contracts.needs import rules_of
from qlower.contracts.outline import functions_of
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.text.parsing import parse_module

from ..formats.tosa import TOSA_LAYER
from ..layers.programs import read_program
from ..layers.run_files import RUN_TESTS, SEPARATOR
from ..layers.small_model import SMALL_MODEL

KINDS = ("qnn", "tosa", "linalg", "stablehlo", "arith", "kernel", "contract")

LONGEST_CONTRACT = 2500
"""Characters of rules that are drawn as a contract."""

_TESTS = Path(__file__).parents[2]
_PROGRAMS = sorted((_TESTS / "transforms" / "arith").glob("*.mlir"))
_LINALG_MODULES = sorted((_TESTS / "frontends" / "linalg").glob("*.mlir"))
_STABLEHLO_MODULES = sorted((_TESTS / "frontends" / "stablehlo").glob("*.mlir"))
_TOSA_MODULES = sorted((_TESTS / "frontends" / "tosa").glob("*.mlir"))

_CONTRACT = """module attributes {contract.base = "exact"} {
func.func @requantize(
    %x: i32 {contract.value = "input"}, %scale: f32 {contract.value = "input_scale"},
    %out: f32 {contract.value = "output_scale"},
    %zp: i32 {contract.value = "output_zero_point"}) -> i32 {
  %ratio = arith.divf %scale, %out : f32
  %unit = arith.constant 4096.0 : f32
  %scaled = arith.mulf %ratio, %unit : f32
  %multiplier = fixed.convert %scaled {rounding = half_even} : f32 to i32
  %wide = arith.extsi %x : i32 to i64
  %m = arith.extsi %multiplier : i32 to i64
  %product = arith.muli %wide, %m : i64
  %c12 = arith.constant 12 : i64
  %high = fixed.shift_right %product, %c12 {rounding = half_up} : i64
  %y = fixed.saturate %high : i64 to i32
  %r = arith.addi %y, %zp : i32
  return %r : i32
}
}
"""
_REQUANTIZED = """module attributes {qnn.contract = "exact"} {
func.func @main(%x: tensor<2x9x!quant.uniform<i8:f32, 0.5:3>>)
    -> tensor<2x9x!quant.uniform<i8:f32, 0.25:-1>> {
  %y = qnn.requantize %x : (tensor<2x9x!quant.uniform<i8:f32, 0.5:3>>)
      -> tensor<2x9x!quant.uniform<i8:f32, 0.25:-1>>
  return %y : tensor<2x9x!quant.uniform<i8:f32, 0.25:-1>>
}
}
"""


def examples(kind: str) -> list[str]:
    """Originals that are drawn rarely: each is known to run alike everywhere.

    A contract is a module, a line `// -----`, and the contract's own text.
    """
    match kind:
        case "qnn":
            return [SMALL_MODEL, _REQUANTIZED]
        case "contract":
            alone = _CONTRACT.replace('contract.base = "exact"', "")
            return [_REQUANTIZED + SEPARATOR + text for text in (_CONTRACT, alone)]
        case "tosa":
            return [path.read_text() for path in (TOSA_LAYER, *_TOSA_MODULES)]
        case "linalg":
            return [path.read_text() for path in _LINALG_MODULES]
        case "stablehlo":
            return [path.read_text() for path in _STABLEHLO_MODULES]
        case "arith":
            return [str(read_program(path)) for path in _PROGRAMS[::5]]
        case _:
            modules = [parse_module(SMALL_MODEL), read_program(_PROGRAMS[0])]
            return [str(_at_kernel(module)) for module in modules]


def draw(kind: str, choice: random.Random) -> str:
    """An original of this kind: mostly one operation, by some contract."""
    while True:
        if kind in ("tosa", "linalg", "stablehlo") or choice.random() < 0.04:
            return choice.choice(_known_examples(kind))
        text, contracts = choice.choice(_modules())
        if kind in ("qnn", "contract"):
            contracts = contract_names()
        found = _made(kind, text, choice.choice(contracts))
        if found is not None:
            return found


_known_examples = cache(examples)


@cache
def _modules() -> list[tuple[str, list[str]]]:
    """The modules of `tests/run`, without comments, and programs of loop nests; each
    with contracts that it may be lowered by."""
    tests = [
        (re.sub(r"(?m)^ *//.*\n", "", test.text), test.contracts) for test in RUN_TESTS
    ]
    return [*tests, *((str(read_program(path)), [""]) for path in _PROGRAMS)]


@cache
def _made(kind: str, text: str, contract: str) -> str | None:
    """The original of this kind that a module gives; None where there is none."""
    module = parse_module(text)
    operators = [op for op in module.walk() if isinstance(op, qnn.QnnOp)]
    ruled = [op for op in operators if op.rules]
    if not {"qnn": operators, "contract": ruled}.get(kind, [module]):
        return None
    try:
        match kind:
            case "qnn":
                types, function, body = text.partition("func.func")
                header = f'module attributes {{qnn.contract = "{contract}"}} {{\n'
                return f"{types}{header}{function}{body}\n}}"
            case "arith":
                return str(lower_to_arith(module, contract or None))
            case "kernel":
                return str(_at_kernel(module, contract or None))
            case _:
                rules = _rules(ruled, load_contract(contract))
                return rules and f"{text}{SEPARATOR}{rules}"
    except QlowerError:
        return None


def _at_kernel(module: ModuleOp, contract: str | None = None) -> ModuleOp:
    return lower_to_kernel(lower_to_arith(module, contract), host_target())


def _rules(ops: Sequence[qnn.QnnOp], contract: Contract) -> str | None:
    """A contract that stands alone: what the operations need of another, if it has it
    and it isn't long."""
    needed = {rule for op in ops for rule in rules_of(op, contract)}
    definition = contract.definition
    names = frozenset[str]().union(
        *(functions_of(rule, definition.outlines) for rule in needed)
    )
    pieces = [piece for outline in definition.outlines for piece in outline.pieces]
    length = sum(piece.end - piece.start for piece in pieces if piece.name in names)
    if length > LONGEST_CONTRACT or not all(rule in contract.rules for rule in needed):
        return None
    module = definition.part(names).clone()
    module.attributes.pop(BASE, None)
    return str(module)
