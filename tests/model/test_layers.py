"""Layers of one model, read by hand: their names, those shown, and parts taken out."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.model.entry import main_function, signature_of
from qlower.model.extract import (
    LayerIndex,
    detach_layers,
    extract_layers,
    values_read,
)
from qlower.model.layers import (
    expose_layers,
    full_name,
    full_result_names,
    has_dialect,
    hide_layers,
    is_constant,
    is_layer,
    layer_name,
    layer_names,
    layer_title,
    layers,
    name_layers,
    own_arithmetic,
    rules_inside,
    value_names,
)
from qlower.report.graph import graph_of
from qlower.text.parsing import parse_module

names: Any = import_module("qlower.model.layers")

TEXT = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
!a = tensor<1x4x!x>
!b = tensor<1x2x!x>
func.func @main(%x: !a {qnn.name = "image"}, %k: !a {qnn.name = "a"},
    %s: !b {qnn.name = "kept"}) -> (!a {qnn.name = "out"}, !b, !a, !b)
    attributes {qnn.state = [dense<3> : tensor<1x2xi8>]} {
  %w = qnn.constant dense<1> : tensor<1x4xi8> -> !a
  %e = tensor.empty() : tensor<1x4xf32>
  %a = qnn.relu %x : (!a) -> !a
  %b = qnn.add %a, %w : (!a, !a) -> !a loc("net/deep/b")
  %p, %q = qnn.split %b {axis = 1} : (!a) -> (!b, !b) loc("net/deep/parts")
  %0 = qnn.add %p, %s : (!b, !b) -> !b
  %1 = qnn.add %k, %a : (!a, !a) -> !a loc("short"("net/deep/b"))
  return %b, %q, %b, %0 : !a, !b, !a, !b
}"""
"""Layers `a#2` (an input is called `a`), `b`, `parts` with two results, `add_5`, and
`short`, which nothing reads; `b` is returned twice, `add_5` is the next state."""


def named(text: str = TEXT) -> ModuleOp:
    module = parse_module(text, "m.mlir")
    name_layers(module)
    return module


def test_names_of_operations() -> None:
    """Those of two names keep them; others are named by what they have."""
    module = named()
    body = list(main_function(module).body.block.ops)
    assert [(layer_name(op), full_name(op)) for op in body] == [
        *(("w", "w"), ("e", "e"), ("a#2", "a#2"), ("b", "net/deep/b")),
        *(("parts", "net/deep/parts"), ("add_5", "add_5"), ("short", "net/deep/b")),
        (None, None),
    ]
    assert [is_layer(op) for op in body] == [False] * 2 + [True] * 5 + [False]
    assert [is_constant(op) for op in body] == [True] + [False] * 7
    assert not is_constant(main_function(module).body.block)
    assert [layer_name(op) for op in layers(module)] == [
        *("a#2", "b", "parts", "add_5", "short"),
    ]
    before = [op.location for op in body]
    name_layers(module)
    assert [op.location for op in body] == before


def test_results_by_their_names_in_the_file() -> None:
    assert full_result_names(named()) == {
        **{"a#2": "a#2", "b": "net/deep/b b", "parts": "net/deep/parts"},
        **{"parts:1": "net/deep/parts:1", "add_5": "add_5"},
        "short": "net/deep/b short",
    }
    assert [*value_names(named()).values()] == [
        *("image", "a", "kept", "a#2", "b", "parts", "parts:1", "add_5", "short"),
    ]
    assert [names._result_name(*one) for one in ((None, 0), (None, 2), ("a", 0))] == [
        *(None, None, "a"),
    ]


def test_layers_that_are_shown_and_hidden() -> None:
    """After the outputs, before the states, each once."""
    module = named()
    exposed, places = expose_layers(module)
    assert places == {
        **{"a#2": 3, "b": 0, "parts": 4, "parts:1": 1, "add_5": 5, "short": 6},
    }
    shown = signature_of(exposed)
    own = signature_of(module)
    assert [spec.name for spec in own.outputs] == ["out", "parts", "b"]
    assert [spec.name for spec in shown.outputs] == [
        *("out", "parts", "b", "a#2", "parts#4", "add_5", "short"),
    ]
    assert [spec.shape for spec in shown.outputs] == [
        *((1, 4), (1, 2), (1, 4), (1, 4), (1, 2), (1, 2), (1, 4)),
    ]
    assert [spec.name for spec in shown.states] == [spec.name for spec in own.states]
    function = main_function(exposed)
    returned = function.body.block.last_op
    assert returned is not None
    results = [value.type for value in returned.operands]
    assert results == list(function.function_type.outputs)
    assert len(results) == 8
    hidden = hide_layers(exposed, 3)
    assert signature_of(hidden) == own
    bare = named(TEXT.replace(' {qnn.name = "out"}', ""))
    exposed, places = expose_layers(bare)
    assert places["a#2"] == 3
    assert len(main_function(exposed).res_attrs or ()) == 8
    assert signature_of(hide_layers(exposed, 3)) == signature_of(bare)
    main = main_function(exposed)
    main.res_attrs = None
    assert main_function(hide_layers(exposed, 3)).res_attrs is None


def test_layers_without_names_are_not_shown() -> None:
    text = "func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {{\n{}\n}}"
    lines = [
        "  %a = arith.addi %x, %x : tensor<4xi8>",
        '  %b = arith.addi %a, %x : tensor<4xi8> loc("b")',
        "  %c = arith.addi %b, %x : tensor<4xi8>",
        "  return %c : tensor<4xi8>",
    ]
    exposed, places = expose_layers(parse_module(text.format("\n".join(lines))))
    assert places == {"b": 1}
    assert len(main_function(exposed).function_type.outputs) == 2


FUSED = """\
func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
  %a = arith.addi %x, %x : tensor<4xi8> loc(fused["a", "b", "a", unknown])
  %b = arith.addi %a, %x : tensor<4xi8> loc("a")
  %c = arith.addi %b, %x : tensor<4xi8>
  %d = tosa.add %c, %x : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  return %d : tensor<4xi8>
}"""


def test_names_of_fused_layers() -> None:
    module = parse_module(FUSED, "m.mlir")
    found = list(main_function(module).body.block.ops)
    assert [layer_names(op) for op in found] == [("a", "b"), ("a",), (), (), ()]
    assert [layer_title(op) for op in found] == ["a + b", "a", None, None, None]
    assert [has_dialect(module, name) for name in ("arith", "tosa", "qnn")] == [
        *(True, True, False),
    ]
    assert own_arithmetic(module) == "TOSA"
    assert own_arithmetic(named()) is None
    assert [rules_inside(op) for op in layers(named())] == [[]] * 5


def arguments(module: ModuleOp) -> list[str]:
    return [spec.name for spec in signature_of(module).inputs]


def texts(module: ModuleOp) -> list[str]:
    """The operations and their operands, by the layers' names or those of values."""
    return [
        " ".join([layer_name(op) or op.name, *(v.name_hint or "" for v in op.operands)])
        for op in main_function(module).body.block.ops
    ]


@pytest.mark.parametrize(
    ("chosen", "sources", "results", "body"),
    [
        ([], [], [], ["func.return"]),
        (["nobody"], [], [], ["func.return"]),
        (["short"], ["a", "a#2"], ["short"], ["short k a", "func.return "]),
        (["b"], ["a#2"], ["b"], ["w", "b a w", "func.return b"]),
        (
            ["parts", "b"],
            ["a#2", "b"],
            ["b", "parts", "parts:1"],
            ["w", "b a w", "parts b", "func.return b_1 p q"],
        ),
        (
            ["short", "b", "a#2"],
            ["image", "a#2", "a"],
            ["a#2", "b", "short"],
            ["w", "a#2 x", "b a w", "short k a", "func.return a_1 b "],
        ),
    ],
)
def test_layers_that_are_detached(
    chosen: list[str], sources: list[str], results: list[str], body: list[str]
) -> None:
    found, given, returned = detach_layers(named(), chosen)
    assert (given, returned) == (sources, results)
    assert arguments(found) == [f"{n}:{name}" for n, name in enumerate(sources)]
    assert [spec.name for spec in signature_of(found).outputs] == [
        f"{n}:{name}" for n, name in enumerate(results)
    ]
    strip = [re.sub(r"_\d+\b", "", line) for line in texts(found)]
    assert strip == [re.sub(r"_\d+\b", "", line) for line in body]
    assert signature_of(found).states == ()


def test_layers_that_share_no_argument() -> None:
    index = LayerIndex(named())
    chosen = ["b", "short"]
    _, together, _ = index.detach(chosen)
    module, apart, results = index.detach(chosen, apart=True)
    assert together == ["a#2", "a"]
    assert apart == ["a#2", "a", "a#2"]
    assert results == ["b", "short"]
    block = main_function(module).body.block
    first, second = (op for op in block.ops if layer_name(op) in chosen)
    assert [first.operands[0], *second.operands] == list(block.args)


def test_layers_by_name() -> None:
    index = LayerIndex(named())
    assert list(index) == ["a#2", "b", "parts", "add_5", "short"]
    assert ["b" in index, "w" in index, "image" in index] == [True, False, False]
    assert index.layer("parts").name == "qnn.split"
    assert {name: index.sources(name) for name in [*index, "nobody"]} == {
        **{"a#2": ["image"], "b": ["a#2"], "parts": ["b"]},
        **{"add_5": ["parts", "kept"], "short": ["a", "a#2"], "nobody": []},
    }
    assert index.own_arithmetic is None
    with pytest.raises(ValueError, match="not enough"):
        index.layer("nobody")


@pytest.mark.parametrize(
    ("chosen", "inputs", "outputs"),
    [
        (["b"], ["a#2"], ["b"]),
        (["b", "parts"], ["a#2"], ["b", "parts", "parts:1"]),
        (["parts", "add_5"], ["b", "kept"], ["parts:1", "add_5"]),
        (["a#2", "b", "short"], ["image", "a"], ["b", "short"]),
        (["short"], ["a", "a#2"], ["short"]),
    ],
)
def test_layers_that_are_extracted(
    chosen: list[str], inputs: list[str], outputs: list[str]
) -> None:
    """As a model whose results are those that something else reads, or nothing."""
    found = extract_layers(named(), chosen)
    signature = signature_of(found)
    assert [spec.name for spec in signature.inputs] == inputs
    assert [spec.name for spec in signature.outputs] == outputs
    assert signature.states == ()
    assert [layer_name(op) for op in layers(found)] == [
        one for one in ("a#2", "b", "parts", "add_5", "short") if one in chosen
    ]
    assert ("w" in texts(found)) == ("b" in chosen)


def test_values_that_an_operation_reads() -> None:
    """Each once, those that its regions use from above after its operands."""
    text = """\
func.func @main(%x: tensor<4xi8>, %t: tensor<9xi8>) -> tensor<4xi8> {
  %e = tensor.empty() : tensor<4xi8>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]
    } ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%a: i8, %b: i8):
    %i = linalg.index 0 : index
    %c = tensor.extract %t[%i] : tensor<9xi8>
    %d = tensor.extract %x[%i] : tensor<4xi8>
    %s = arith.addi %c, %d : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  return %y : tensor<4xi8>
}"""
    module = named(text)
    (op,) = layers(module)
    block = main_function(module).body.block
    x, t = block.args
    first = block.first_op
    assert first is not None
    assert values_read(op) == [x, first.results[0], t]
    found, sources, _ = detach_layers(module, ["y"])
    assert sources == ["x", "t"]
    assert texts(found)[0] == "e"


def test_the_graph_of_a_model() -> None:
    """Inputs, layers in order, outputs; a value that is read twice is one source."""
    nodes = graph_of(qlower.Model(named()))
    x, y = "1x4 i8 (0.5, -3)", "1x2 i8 (0.5, -3)"
    assert [
        (one.role, one.name, one.full_name, one.kind, one.type, one.sources)
        for one in nodes
    ] == [
        ("input", "image", "image", "input", x, ()),
        ("input", "a", "a", "input", x, ()),
        ("input", "kept", "kept", "input", y, ()),
        ("layer", "a#2", "a#2", "relu", x, (0,)),
        ("layer", "b", "net/deep/b", "add", x, (3,)),
        ("layer", "parts", "net/deep/parts", "split", y, (4,)),
        ("layer", "add_5", "add_5", "add", y, (5, 2)),
        ("layer", "short", "net/deep/b", "add", x, (1, 3)),
        ("output", "out", "out", "output", x, (4,)),
        ("output", "parts", "parts", "output", y, (5,)),
        ("output", "b", "b", "output", x, (4,)),
        ("output", "kept", "kept", "output", y, (6,)),
    ]
    assert [one.number for one in nodes] == list(range(12))
    assert [one.op is not None for one in nodes] == [
        one.role == "layer" for one in nodes
    ]
    doubled = TEXT.replace("%k, %a : (!a, !a)", "%k, %k : (!a, !a)")
    assert graph_of(qlower.Model(named(doubled)))[7].sources == (1,)
    bare = graph_of(qlower.Model(parse_module(TEXT, "m.mlir")))
    assert [(one.name, one.full_name) for one in bare if one.role == "layer"] == [
        *(("qnn.relu", "qnn.relu"), ("net/deep/b", "net/deep/b")),
        *(("net/deep/parts", "net/deep/parts"), ("qnn.add", "qnn.add")),
        ("short", "net/deep/b"),
    ]
    widths = TEXT.replace("%p, %s : (!b, !b)", "%q, %s : (!b, !b)")
    assert graph_of(qlower.Model(named(widths)))[6].sources == (5, 2)


def test_the_first_result_is_the_type_of_a_node() -> None:
    text = """\
!x = !quant.uniform<i8:f32, 0.05:5>
!y = !quant.uniform<i8:f32, 0.3:-128>
!w = !quant.uniform<i8:f32, 0.01>
!s = !quant.uniform<i16:f32, 0.001>
func.func @main(%x: tensor<2x3x!x>, %s: tensor<2x4x3x!s>, %w: tensor<4x3x!w>,
    %t: tensor<4x3x!s>, %b: tensor<2xi32>) -> tensor<2x2x!y> {
  %y, %n = qnn.svdf %x, %s, %w, %t, %b
    : (tensor<2x3x!x>, tensor<2x4x3x!s>, tensor<4x3x!w>, tensor<4x3x!s>, tensor<2xi32>)
    -> (tensor<2x2x!y>, tensor<2x4x3x!s>) loc("y")
  return %y : tensor<2x2x!y>
}"""
    *_, layer, output = graph_of(qlower.Model(named(text)))
    assert layer.type == output.type == "2x2 i8 (0.3, -128)"
    assert layer.sources == (0, 1, 2, 3, 4)
    assert output.sources == (5,)
