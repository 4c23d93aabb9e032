"""How columns of tables are laid out: keys, sides, widths, ranks and sums on record.

`pytest tests/tables/test_columns.py --bless` records them anew; tables of results in
Python have theirs from `test_results.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.table_forms import keyed_forms

from qlower.bench.cmsis_nn.count import layers_table
from qlower.circuits.cost import Costs
from qlower.circuits.make import Circuits
from qlower.cli.tables.cache_table import cache_table
from qlower.cli.tables.check_table import check_table
from qlower.cli.tables.microcontrollers import model_table
from qlower.cli.tables.output_table import output_table
from qlower.cli.tables.pass_table import pass_table
from qlower.cli.tables.target_table import name_table, target_table
from qlower.codegen.targets.resolve import architecture_of
from qlower.codegen.targets.stack_frames import StackUse
from qlower.contract_pages.contract_differences import Comparison
from qlower.contract_pages.differences_page import pairs_table
from qlower.explain.pairing import pair_table
from qlower.identification.result import Identification
from qlower.inspection.findings import lint_table
from qlower.model.signature import Signature
from qlower.model.tables import port_table
from qlower.observe.products import product_table
from qlower.observe.rows import COLUMNS as STEPS
from qlower.packages.memory import Memory
from qlower.runtime.profile_table import profile_table
from qlower.tables.table import Table
from qlower.validation.result import Validation
from qlower.verification.group_table import Groups
from qlower.verification.native.verdict import Native
from qlower.verification.smt.verdicts import Answers

RECORDED = Path(__file__).with_name("columns")

observers = vars(import_module("qlower.compilation.observers"))
validation = Validation(1, 0, 0, (), None, {})
memory = Memory(0, 0, 0, 0, 0, None, None, StackUse(None, ()))
row = cast(Any, SimpleNamespace(area=None, why="", contract="exact"))

TABLES: Mapping[str, Callable[[], Table[Any]]] = {
    "cache": cache_table,
    "check": lambda: check_table([]),
    "circuits": lambda: Circuits("exact", []).table,
    "classes": validation.class_table,
    "cmsis_nn": lambda: layers_table([]),
    "cost": lambda: Costs("m", "exact", [row]).table,
    "Identification": lambda: Identification("m", 1, [], []).table,
    "Lint": lambda: lint_table([]),
    "groups": lambda: Groups(["tflite"], [], {}).table,
    "layer_signals": validation.layer_table,
    "layer_times": lambda: observers["_layer_table"]({"conv": {"cse": 1.0}}),
    "memory": memory.table,
    "models": lambda: model_table([], cpu="cortex-m4"),
    "names": lambda: name_table(architecture_of("aarch64-linux-gnu")),
    "native": lambda: Native("tflite", [], {}, {}, {}, 1.0).table,
    "outputs": lambda: output_table([]),
    "pairs": lambda: pairs_table(Comparison([], by_layer=True)),
    "parting": lambda: pair_table([], "a", "b"),
    "passes": lambda: pass_table({}),
    "pass_times": lambda: observers["_stage_table"]([]),
    "ports": lambda: port_table("ports", Signature((), ())),
    "products": lambda: product_table([]),
    "profile": lambda: profile_table([]),
    "solvers": lambda: Answers(["z3"], [], 0, [], 0).table,
    "steps": lambda: Table("steps", [], STEPS),
    "targets": target_table,
}


@pytest.mark.parametrize("name", TABLES)
def test_columns_are_those_on_record(name: str, request: pytest.FixtureRequest) -> None:
    found, path = list(keyed_forms(TABLES[name]())), RECORDED / f"{name}.txt"
    if request.config.getoption("--bless"):
        path.write_text("\n".join([*found, ""]))
    assert found == path.read_text().splitlines()
