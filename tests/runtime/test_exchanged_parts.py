"""Whether new constants can take the place of others: each reason against it alone."""

from __future__ import annotations

import json
from hashlib import sha256
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from qlower.codegen.program.compiled import Call
from qlower.codegen.targets.resolve import host_target, resolve_target
from qlower.kept.cache import DIRECTORY, LIMIT
from qlower.model.layers import layer_name, layers
from qlower.runtime import changed, objects
from qlower.runtime.changed import KeptCall, KeptCode, KeptData, layer_tensors
from qlower.text.parsing import parse_module

DATA = (b"AA", b"BB", b"CC", b"DD")
FIRST = KeptCall(("a",), "f", (3,), (0, 1))
SECOND = KeptCall(("b", "c"), "g", (), (2,))
THIRD = KeptCall(("d",), "g", (), (2, 3))


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def kept(*calls: KeptCall, **tensors: set[str]) -> KeptCode:
    data = [KeptData(digest(one), 1, 2 * n, 2) for n, one in enumerate(DATA)]
    own = {layer: frozenset(found) for layer, found in tensors.items()}
    return KeptCode((b"key",), ("x", "y"), own, calls, tuple(data))


ALIKE = Call(("a",), "f", (b"AA", 3, b"BB"))
OTHERS = Call(("e",), "other", (b"ZZ",))
"""Of a layer around those that have changed."""


@pytest.mark.parametrize(
    ("layer", "calls", "found"),
    [
        ("a", [ALIKE], {}),
        ("a", [OTHERS, Call(("a",), "f", (b"AA", 3, b"XX"))], {1: b"XX"}),
        ("a", [Call(("a",), "f", (b"XX", 3, b"YY")), OTHERS], {0: b"XX", 1: b"YY"}),
        ("a", [Call(("a",), "F", (b"AA", 3, b"BB"))], None),
        ("a", [Call(("a",), "f", (b"AA", 4, b"BB"))], None),
        ("a", [Call(("a", "b"), "f", (b"AA", 3, b"BB"))], None),
        ("a", [ALIKE, ALIKE], None),
        ("a", [OTHERS], None),
        ("a", [Call(("a",), "f", (b"AA", 3, b"XYZ"))], None),
        ("a", [Call(("a",), "f", (b"AA", 3, b"CC"))], None),
        ("a", [Call(("a",), "f", (b"XX", 3, b"XX"))], None),
        ("d", [Call(("d",), "g", (b"CC", b"XX"))], {3: b"XX"}),
        ("d", [Call(("d",), "g", (b"XX", b"DD"))], None),
        ("c", [Call(("b", "c"), "g", (b"CC",))], {}),
    ],
)
def test_data_of_kernels(
    layer: str, calls: list[Call], found: dict[int, bytes] | None
) -> None:
    """The same functions and numbers, and data that is no other call's."""
    changed_data = attrgetter("_changed_data")(kept(FIRST, SECOND, THIRD))
    assert changed_data({layer: None}, calls) == found


@pytest.mark.parametrize(
    ("new", "found"),
    [
        ({"a": {"1", "2"}}, {"a": {"1", "2"}, "b": {"2", "3"}}),
        ({"a": {"2", "4"}}, {"a": {"2", "4"}, "b": {"2", "3"}}),
        ({"a": {"1", "2", "3"}}, None),  # b's
        ({"a": {"1"}}, None),  # b still has 2
        ({}, None),
    ],
)
def test_constants_of_layers(
    new: dict[str, set[str]],
    found: dict[str, set[str]] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that is new or gone is no other layer's."""
    of_part = {layer: frozenset(own) for layer, own in new.items()}
    monkeypatch.setattr(changed, "layer_tensors", lambda _: of_part | {"e": {"5"}})
    changed_tensors = attrgetter("_changed_tensors")(kept(a={"1", "2"}, b={"2", "3"}))
    assert changed_tensors({"a"}, None) == found


def test_constants_that_layers_read() -> None:
    """Themselves, or what is computed of nothing else."""
    text = """
func.func @main(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %a = arith.constant dense<[1, 2]> : tensor<2xi32> loc("shared")
  %b = arith.constant dense<[3, 4]> : tensor<2xi32> loc("own")
  %n = arith.constant 5 : i32
  %c = arith.addi %a, %b : tensor<2xi32> loc("first")
  %y = arith.addi %x, %c : tensor<2xi32> loc("second")
  %z = arith.addi %y, %a : tensor<2xi32> loc(fused["third", "fourth"])
  %w = arith.addi %y, %y : tensor<2xi32> loc("last")
  return %z, %w : tensor<2xi32>, tensor<2xi32>
}"""
    found = layer_tensors(parse_module(text))
    sizes = {layer: len(own) for layer, own in found.items()}
    assert sizes.pop("last", 0) == 0
    assert sizes == {"first": 2, "second": 2, "third": 1, "fourth": 1}
    assert found["third"] == found["fourth"] < found["first"] == found["second"]


CHAIN = """
func.func @main(%y0: tensor<2xi32>) -> tensor<2xi32> {{
  {lines}
  return %y{count} : tensor<2xi32>
}}"""


@pytest.mark.parametrize(
    ("count", "number", "found"),
    [
        (10, 5, "34567"),  # half of them
        (9, 5, None),
        (6, 1, "123"),
        (5, 1, None),
        (6, 6, "456"),
    ],
)
def test_layers_around_a_changed_one(
    count: int, number: int, found: str | None
) -> None:
    """Up to two before and behind it, unless that is more than half of a model."""
    lines = "\n".join(
        f'%y{n} = arith.addi %y{n - 1}, %y{n - 1} : tensor<2xi32> loc("{n}")'
        for n in range(1, count + 1)
    )
    module = parse_module(CHAIN.format(lines=lines, count=count))
    ops = {layer_name(op): op for op in layers(module)}
    near = vars(changed)["_with_neighbours"](module, {str(number): ops[str(number)]})
    names = None if near is None else "".join(map(str, map(layer_name, layers(near))))
    assert names == found


@pytest.mark.parametrize("number", range(5))
def test_what_is_kept_is_read_back(number: int) -> None:
    whole = kept(FIRST, SECOND, a={"1", "2"}, b=set())
    assert KeptCode.from_json(whole.to_json()) == whole
    parts = json.loads(whole.to_json())
    parts[number] = type(parts[number])()
    assert KeptCode.from_json(json.dumps(parts).encode()) != whole


@pytest.mark.parametrize(
    ("name", "value", "counts"),
    [
        ("QLOWER_ANYTHING", "1", True),
        ("QLOWER_ANYTHING", "", True),
        ("QLOWERED", "1", False),
        ("MY_QLOWER_X", "1", False),
        (DIRECTORY, "/elsewhere", False),
        (LIMIT, "17", False),
    ],
)
def test_variables_in_keys(
    name: str, value: str, counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of qlower's that may say how to compile."""
    environment = vars(import_module("qlower.runtime.objects"))["_environment"]
    monkeypatch.delenv(name, raising=False)
    before = environment()
    monkeypatch.setenv(name, value)
    assert (environment() != before) == counts
    monkeypatch.setenv(name, f"{value}2")
    assert (environment() == before) != counts


def test_the_order_of_variables_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = vars(import_module("qlower.runtime.objects"))["_environment"]
    found: set[bytes] = set()
    for names in ("AB", "BA"):
        for name in names:
            monkeypatch.delenv(f"QLOWER_{name}", raising=False)
        for name in names:
            monkeypatch.setenv(f"QLOWER_{name}", "1")
        found.add(environment())
    assert len(found) == 1


def test_all_that_names_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled, in what parts, for which machine, with which extras; by which
    packages."""
    place: Any = vars(import_module("qlower.runtime.objects"))["_place"]
    target = host_target()
    names = {
        place(Path("/c"), content, machine, flavour)
        for content, machine, flavour in (
            ((b"ab", b"c"), target, "plain"),
            ((b"a", b"bc"), target, "plain"),
            ((b"ab", b"d"), target, "plain"),
            ((b"ab",), target, "plain"),
            ((b"ab", b"c"), resolve_target("riscv64-linux-gnu"), "plain"),
            ((b"ab", b"c"), target, "profiled"),
        )
    }
    assert len(names) == 6
    keys = {objects.own_code()}
    for name in ("xdsl", "llvmlite", "numpy", "flatbuffers", "tflite", "onnx"):
        objects.own_code.cache_clear()
        monkeypatch.setattr(
            objects, "releases", lambda asked, own=name: [own] if own in asked else []
        )
        keys.add(objects.own_code())
    for module, name in ((objects, "__version__"), (objects, "sys")):
        objects.own_code.cache_clear()
        monkeypatch.setattr(module, name, SimpleNamespace(version="other"))
        keys.add(objects.own_code())
    objects.own_code.cache_clear()
    assert len(keys) == 9
