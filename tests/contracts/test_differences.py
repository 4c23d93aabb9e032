"""Counts of how contracts differ: of arrays by hand, of a model of two layers, and the
page's refusals."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.contract_pages.contract_differences import (
    Comparison,
    Disagreement,
    Kind,
    Subject,
    compare,
    random_inputs,
    rounded_layers,
)
from qlower.contract_pages.differences_page import differences_page, pairs_table
from qlower.contract_pages.pages import header
from qlower.diagnostics import QlowerError
from qlower.frontends.load import named
from qlower.model import Model
from qlower.model.signature import TensorSpec
from qlower.text.parsing import parse_module

own: Any = vars(import_module("qlower.contract_pages.contract_differences"))


def small() -> Model:
    return named(parse_module(SMALL_MODEL), None)


@pytest.mark.parametrize(
    ("count", "differing", "largest", "text"),
    [
        (0, 0, 0, "-"),
        (8, 0, 0, "0 %"),
        (8, 1, 1, "12.5 %"),
        (3, 1, 2, "33.3 % (2)"),
        (3, 3, 200, "100 % (200)"),
    ],
)
def test_a_difference_in_words(
    count: int, differing: int, largest: int, text: str
) -> None:
    assert str(Disagreement(count, differing, largest)) == text


def test_differences_add_up() -> None:
    found = Disagreement(1, 1, 5)
    found.add(10, 3, 2)
    found.add(100, 0, 7)
    assert found == Disagreement(111, 4, 7)


def test_elements_that_differ() -> None:
    """Also where the difference leaves their own type."""
    first = np.array([1, 127, -128, 5], np.int8)
    second = np.array([1, -128, 127, 4], np.int8)
    assert own["_count"](first, second) == (3, 255)
    low = np.array([0, 255], np.uint8)
    assert own["_count"](low, low[::-1].copy()) == (2, 255)


def test_a_layer_is_counted_for_each_pair_that_takes_it() -> None:
    kind = Kind()
    answers = {
        "a": np.array([1, 2, 3], np.int8),
        "b": np.array([1, 2, 5], np.int8),
        "c": np.array([1, 2, 3], np.int8),
    }
    own["_add_layer"](kind, answers)
    own["_add_layer"](kind, {"b": np.zeros(2, np.int8), "c": np.ones(2, np.int8)})
    assert kind.outputs == {"a": 3, "b": 5, "c": 5}
    assert kind.pairs == {
        ("a", "b"): Disagreement(3, 1, 2),
        ("a", "c"): Disagreement(3, 0, 0),
        ("b", "c"): Disagreement(5, 3, 2),
    }
    assert kind.groups() == [["a"], ["b"], ["c"]]


def test_a_group_has_all_layers_and_bits_in_common() -> None:
    outputs = {"a": 5, "b": 5, "c": 5, "d": 4}
    pairs = {
        ("a", "b"): Disagreement(5, 0, 0),
        ("a", "c"): Disagreement(5, 0, 0),
        ("b", "c"): Disagreement(5, 1, 1),
        ("a", "d"): Disagreement(4, 0, 0),
        ("c", "d"): Disagreement(4, 0, 0),
    }
    # c has the bits of a, but not of b; d has fewer layers
    assert Kind(1, outputs, pairs).groups() == [["a", "b"], ["c"], ["d"]]
    assert Kind(1, {"a": 5, "b": 5}, {}).groups() == [["a"], ["b"]]


def test_a_model_is_compared_layer_by_layer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "qlower")
    model = small()
    kinds = rounded_layers(model)
    inputs = random_inputs(model.inputs)
    (given,) = inputs.values()
    assert given.shape == (4, *model.inputs[0].shape)
    subject = Subject("m", model, inputs)
    found = compare([subject], ["tflite", "exact"])
    assert found.contracts == ["tflite", "exact"]
    assert [one for one in caplog.messages if one.startswith("m: ")] == [
        *("m: tflite", "m: exact")
    ]
    assert found.subjects == [("m", 4, len(kinds))]
    assert set(found.kinds) == set(kinds.values())
    assert sum(kind.layer_count for kind in found.kinds.values()) == len(kinds)
    one = compare([subject], ["tflite", "exact"], 1, by_layer=True)
    assert one.subjects == [("m", 1, len(kinds))]
    assert list(one.kinds) == [f"{name} ({kind})" for name, kind in kinds.items()]
    for kind in one.kinds.values():
        (pair,) = kind.pairs.values()
        assert 4 * pair.count == 4 * kind.outputs["tflite"] == 4 * kind.outputs["exact"]
    whole = sum(kind.outputs["tflite"] for kind in found.kinds.values())
    assert whole == 4 * sum(kind.outputs["tflite"] for kind in one.kinds.values())
    two = compare([subject, Subject("n", model, inputs)], ["exact"], 1, by_layer=True)
    assert next(iter(two.kinds)).startswith("m: ")
    assert list(two.kinds)[-1].startswith("n: ")
    with pytest.raises(QlowerError) as caught:
        compare([subject], ["exact", "tflite", "exact"])
    message = "2 of the contracts to compare are called exact"
    assert caught.value.message == message


def test_inputs_that_are_no_codes() -> None:
    with pytest.raises(QlowerError) as caught:
        random_inputs([TensorSpec("x", (3,), "float32")])
    assert caught.value.message == ("input 'x' holds float32, not codes to be drawn")
    assert caught.value.help == "give arrays: MODEL=FILE"


REFUSED = Comparison(
    ["exact", "a", "b", "c"],
    [("m", 4, 2)],
    {
        "add": Kind(
            3,
            {"exact": 1234, "a": 1000},
            {("exact", "a"): Disagreement(1000, 10, 3)},
            {
                "b": ["contract b has no rule", "contract b has no rule"],
                "c": ["contract c has no rule", "contract c has no rule", "odd"],
                "a": ["contract a has no rule", "contract a has no rule"],
            },
        ),
        "none": Kind(1, {}, {}, {"a": ["x"]}),
    },
)


def test_refusals_are_said_once_for_equal_reasons() -> None:
    lines = differences_page(REFUSED).splitlines()
    start = lines.index("## add")
    assert lines[start : start + 13] == [
        *("## add", "", "3 layers, 1,234 outputs. The same bits:", ""),
        *("1. exact", "2. a", "", "Refused:", ""),
        "- a, b: 2 layers, it has no rule",
        "- c: 2 layers, it has no rule; 1 layer, odd",
        *("", "|   |       2 |"),
    ]
    assert lines[lines.index("## none") :] == [
        *("## none", "", "1 layer, 0 outputs. The same bits:", "", "", "Refused:", ""),
        "- a: 1 layer, x",
    ]
    overview = lines[lines.index("## From `exact`") :]
    assert overview[2:7] == [
        "| contract |     add | none |",
        "| -------- | ------: | ---: |",
        "| a        | 1 % (3) |    - |",
        "| b        |       - |    - |",
        "| c        |       - |    - |",
    ]
    assert lines[lines.index("| model | layers | examples |") + 2] == (
        "| m     |      2 |        4 |"
    )
    for contracts in (["exact"], ["a", "b"]):
        page = differences_page(Comparison(contracts, [], {}))
        assert "## From" not in page


def test_pairs_as_a_table() -> None:
    table = pairs_table(REFUSED)
    assert table.records() == [
        {
            **{"kind": "add", "first": "exact", "second": "a"},
            **{"outputs": 1000, "differing": 10, "largest": 3},
        }
    ]
    assert list(table.notes) == [
        "b refuses 2 layers of add: contract b has no rule",
        "c refuses 3 layers of add: contract c has no rule",
        "a refuses 2 layers of add: contract a has no rule",
        "a refuses 1 layer of none: x",
    ]
    assert pairs_table(Comparison([], by_layer=True)).columns[0].key == "layer"


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("", ""),
        ("func.func", ""),
        ("// a\n//b\n\n// c", "a\nb"),
        ("// a\n// # H\n// b", "a\n\n# H\nb"),
        ("// a\n//\n// # H", "a\n\n# H"),
        ("// # H\n// #x", "# H\n#x"),
        ("  //  a", " a"),
    ],
)
def test_the_comment_that_a_text_begins_with(text: str, markdown: str) -> None:
    assert header(text) == markdown


def test_who_gave_no_outputs_differs_in_none() -> None:
    assert Kind().difference("a", "a") == Disagreement()
    assert Kind().difference("a", "b") == Disagreement()
    assert Kind(1, {"a": 3}).difference("a", "a") == Disagreement(3)
