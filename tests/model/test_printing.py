"""Texts of modules that people read: constants, lists and names, letter by letter."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from xdsl.dialects.builtin import (
    DenseArrayBase,
    ModuleOp,
    StringAttr,
    f32,
    i1,
    i8,
    i64,
)

from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.model.layers import layers
from qlower.model.names import short_names
from qlower.model.printing import exact_module, readable_module, readable_operations
from qlower.model.selection import select_layers
from qlower.text.parsing import parse_module

STORAGE: Any = vars(import_module("qlower.model.entry"))["_storage"]
ENDINGS: Any = vars(import_module("qlower.model.names"))["_different_endings"]


def constant(element: str, shape: str, values: str) -> ModuleOp:
    kind = f"tensor<{shape}x{element}>"
    return parse_module(
        f"func.func @main() -> {kind} {{\n"
        f"  %c = arith.constant dense<{values}> : {kind}\n"
        f"  return %c : {kind}\n}}"
    )


def whole(module: ModuleOp) -> str:
    """The constant's text, printed in full."""
    text = readable_module(module, constants=True)
    (line,) = (line for line in text.splitlines() if "dense" in line)
    return line.partition("constant ")[2]


def test_constants_in_full() -> None:
    """Each list of a dimension in brackets, and real numbers to the last bit."""
    rows = [[3 * n, 3 * n + 1, -2] for n in range(40)]
    assert whole(constant("i8", "40x3", str(rows))) == (
        f"dense<{rows}> : tensor<40x3xi8>"
    )
    deep = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert whole(constant("i8", "2x2x2", str(deep))) == (
        f"dense<{deep}> : tensor<2x2x2xi8>"
    )
    numbers = "[0.1, 1.000000e-45, -2.5]".replace("1.000000e-45", "1.40129846e-45")
    found = whole(constant("f32", "3", numbers))
    values = found.partition("[")[2].partition("]")[0].split(", ")
    assert [float(value) for value in values] == pytest.approx([0.1, 1.4e-45, -2.5])
    assert found.endswith("> : tensor<3xf32>")
    assert whole(constant("i8", "200", "7")) == "dense<7> : tensor<200xi8>"


@pytest.mark.parametrize("count", [16, 17])
@pytest.mark.parametrize(("kind", "name"), [(i64, "i64"), (f32, "f32"), (i8, "i8")])
def test_long_arrays_are_counted(kind: Any, name: str, count: int) -> None:
    """An array of any numbers, equal ones as well; in full where that is asked for."""
    module = ModuleOp([])
    module.attributes["own"] = DenseArrayBase.from_list(kind, [1] * count)
    text = readable_module(module)
    assert (f"own = array<{count} x {name}>" in text) == (count > 16)
    assert f"own = array<{name}: 1" in readable_module(module, constants=True)


@pytest.mark.parametrize("count", [60, 61])
def test_long_strings_are_cut(count: int) -> None:
    module = ModuleOp([])
    module.attributes["own"] = StringAttr("x" * count)
    text = "x" * 60 + "..." * (count > 60)
    assert f'own = "{text}"' in readable_module(module)
    assert f'own = "{"x" * count}"' in exact_module(module)


def test_operations_stand_in_lines_of_their_own() -> None:
    module = parse_module(
        "func.func @main(%x: i8) -> i8 {\n  %a = arith.addi %x, %x : i8\n"
        "  %b = arith.muli %a, %a : i8\n  return %b : i8\n}"
    )
    ops = [op for op in module.walk() if op.name.startswith("arith")]
    lines = readable_operations(ops).splitlines()
    assert [line.partition(" = ")[2].split()[0] for line in lines] == [
        *("arith.addi", "arith.muli"),
    ]
    assert readable_operations([]) == ""


def test_names_of_types_and_maps() -> None:
    """Numbered by their kinds, in the order in which they occur."""
    module = ModuleOp([])
    kinds = [
        *("!quant.uniform<i8:f32, 0.5>", "!quant.uniform<i8:f32:0, {0.5, 0.25}>"),
        *("!quant.uniform<i8:f32, 0.25>", "!quant.uniform<i8:f32:0, {0.5, 0.125}>"),
    ]
    arguments = ", ".join(f"%{n}: tensor<2x{kind}>" for n, kind in enumerate(kinds))
    module = parse_module(f"func.func @main({arguments}) {{ return }}")
    text = readable_module(module)
    defined = [line.split(" = ")[0] for line in text.splitlines()[:4]]
    assert defined == ["!q0", "!w0", "!q1", "!w1"]
    assert "(%0: tensor<2x!q0>, %1: tensor<2x!w0>" in text.replace("%arg", "%")


NAMED = """\
!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<4x!x>) -> tensor<4x!x> {
  %a = qnn.relu %x : (tensor<4x!x>) -> tensor<4x!x> loc("short"("net/[0]/Relu"))
  %b = qnn.relu %a : (tensor<4x!x>) -> tensor<4x!x> loc("last")
  %c = qnn.relu %b : (tensor<4x!x>) -> tensor<4x!x>
  return %c : tensor<4x!x>
}"""


def test_layers_by_number_name_and_glob() -> None:
    module = parse_module(NAMED)
    assert len(list(layers(module))) == 3
    for wanted, found in {
        **{"0": ["short"], "1": ["last"], "short": ["short"], "l*": ["last"]},
        **{"*t": ["short", "last"], "net/[0]/Relu": ["short"], "net*u": ["short"]},
    }.items():
        assert select_layers(module, wanted) == found
    with pytest.raises(QlowerError) as caught:
        select_layers(module, "net*x")
    assert caught.value.message == "the model has no layer 'net*x'"


def test_equal_paths_are_numbered() -> None:
    assert short_names(["a/b", "a//b"]) == ["a", "a#2"]
    paths = {"x": ("a", "b"), "y": ("a", "b"), "z": ("b",)}
    assert ENDINGS(paths) == paths
    assert ENDINGS({"x": ("a", "b"), "y": ("c", "b")}) == {
        **{"x": ("a", "b"), "y": ("c", "b")},
    }


def test_widths_that_are_stored() -> None:
    """Of integers and codes alike; other types are themselves."""
    quantized = QuantizedType.per_tensor(8, True, 0.5, 1)
    assert [STORAGE(one) for one in (quantized, i8, i1, f32)] == [8, 8, 1, f32]
