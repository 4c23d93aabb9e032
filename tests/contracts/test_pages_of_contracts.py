"""Pages that are made of any contract, of all of them, and of how they differ."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import qlower.contracts
from qlower.contract_pages import pages
from qlower.contract_pages.contract_differences import Comparison, Disagreement, Kind
from qlower.contract_pages.differences_page import differences_page
from qlower.contract_pages.pages import INDEX, explain, function_texts
from qlower.contracts import load_contract, parse_contract

MINE = """\
// The arithmetic of my device.
//
// # Ties
// half *up*, in [0, 1)
// # My device
// has eight lanes

module attributes {contract.summary = "mine", contract.base = "tflite"} {

// ------------ steps

// Not two roundings but one.
func.func private @multiply_by_quantized_multiplier(
    %x: i32, %m: i32, %e: i32) -> i32 replaces {
  %zero = arith.constant 0 : i32
  return %zero : i32
}

// Said where it is computed,
// on two lines.
func.func private @halved(%x: i32) -> i32 {
  %one = arith.constant 1 : i32
  %y = arith.shrsi %x, %one : i32
  return %y : i32
}

func.func @requantize(%x: i32 {contract.value = "input"}) -> i32 {
  %y = func.call @halved(%x) : (i32) -> i32
  return %y : i32
}
}
"""

LONE = """
module attributes {{contract.summary = "lone"}} {{
func.func @requantize(%x: i32 {{contract.value = "input"}}) -> i32 {{
  return %x : i32
}}
func.func @{rule}(%x: i32 {{contract.value = "input"}}) -> i32 {{
  return %x : i32
}}
}}
"""


def test_stale_pages_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Changed, missing and left over; what differs is a page that is made otherwise."""
    (tmp_path / "pages").mkdir()
    made = {INDEX: "index", **{f"pages/{n}.md": n for n in ("same", "old", "new")}}
    for name, text in (
        ("same", "same"),
        ("old", "?"),
        ("gone", ""),
        ("differences", ""),
    ):
        (tmp_path / "pages" / f"{name}.md").write_text(text)
    monkeypatch.setattr(pages, "all_pages", lambda: made)
    assert pages.stale_pages(tmp_path) == {
        **{INDEX: "index", "pages/old.md": "old", "pages/new.md": "new"},
        "pages/gone.md": None,
    }


@pytest.mark.parts(5)
def test_a_page_says_what_the_text_says():
    """A rule of its own isn't a step that it replaces, though the base has it, too."""
    matmul = """\
func.func @matmul(%accumulator: i32) -> i32 {
  return %accumulator : i32
}
}
"""
    page = explain(parse_contract(MINE[:-2] + matmul, "mine", "mine.mlir"))
    assert page.startswith("# mine\n\n*mine*\n")
    assert (
        "The arithmetic of my device.\n\n## Formula\nAs tflite.\n\n"
        "## Ties\nhalf *up*, in [0, 1)\n\n## Operands\nAs tflite.\n\n"
        "## My device\nhas eight lanes\n" in page
    )
    assert "- `requantize`: Said where it is computed, on two lines.\n" in page
    assert "- `multiply_by_quantized_multiplier`: Not two roundings but one.\n" in page
    assert page.count("- `matmul`\n") == 1
    assert "base: tflite\n" in page
    assert "As in tflite: `conv2d`, " in page
    assert "refused by name: `conv2d_add`, `depthwise_conv2d_add`" in page
    assert "steps" not in page
    unsaid = MINE.replace('contract.summary = "mine", ', "")
    page = explain(parse_contract(unsaid, "mine", "mine.mlir"))
    assert page.startswith("# mine\n\n*(no summary)*\n")


@pytest.mark.parametrize("name", ["hls4ml", "onnxruntime", "ncnn-arm64"])
def test_a_page_is_the_one_on_record(name: str):
    """Of contracts with rules of their own, of bases and of libraries."""
    first, text = recorded(name).split("\n", 1)
    assert (
        first
        == f"<!-- made by `qlower contracts pages` from {name}.mlir; change that -->"
    )
    assert "\n".join(vars(pages)["_page_lines"](load_contract(name))) == text


def recorded(name: str) -> str:
    folder = Path(qlower.contracts.__file__).parent
    return (folder / "pages" / f"{name}.md").read_text()


def test_a_contract_without_a_base_has_its_own_sections_alone():
    page = explain(parse_contract(LONE.format(rule="clamp"), "lone", "lone.mlir"))
    assert [line for line in page.splitlines() if line.startswith("#")] == [
        *("# lone", "## Rules"),
    ]
    assert "base: none\n" in page


@pytest.mark.parts(4)
@pytest.mark.parametrize("name", ["hls4ml", "max78000", "xnnpack-rndnu", "tosa-double"])
def test_each_rule_is_named_where_it_comes_from(name: str):
    """An inherited one once, whatever other bases have it, too."""
    contract = load_contract(name)
    text = "\n".join(vars(pages)["_rule_lines"](contract))
    own, _, rest = text.partition("\nAs in ")
    inherited = re.findall(r"`(\w+)`", rest)
    assert len(inherited) == len(set(inherited)) > 0
    assert set(inherited) <= set(contract.rules)
    assert set(contract.rules) - set(inherited) <= set(re.findall(r"`(\w+)`", own))


def test_lines_of_a_page():
    """Words stay whole, even those longer than a line, and of several parts."""
    paragraph = vars(pages)["_paragraph"]
    long, parts = "x" * 120, "-".join(["part"] * 18)
    assert paragraph(f"{long} {parts} words {parts}", "- ") == [
        f"- {long}",
        f"  {parts}",
        "  words",
        f"  {parts}",
    ]
    assert paragraph("a " * 60)[0] == "a " * 47 + "a"


def test_a_pair_of_contracts_is_found_in_either_order():
    kind = Kind(1, {"a": 7}, {("a", "b"): Disagreement(300, 2, 1)})
    found = [kind.difference(*pair).differing for pair in ("ab", "ba", "aa", "ac")]
    assert found == [2, 2, 0, 0]
    assert kind.difference("a", "a").count == 7


def test_comments_belong_to_the_function_below():
    functions = function_texts(MINE)
    assert list(functions) == [
        "multiply_by_quantized_multiplier",
        "halved",
        "requantize",
    ]
    assert functions["requantize"].comment == ""
    assert functions["requantize"].callees == ("halved",)


def test_an_index_has_a_line_for_each_contract():
    index = vars(pages)["_index"]
    contracts = [
        parse_contract(MINE, "mine", "mine.mlir"),
        load_contract("pytorch-fbgemm-avx2"),
    ]
    *head, first, second = index(contracts).splitlines()
    assert head[0].startswith("<!--")
    assert head[-2:] == [
        "| contract | what it is | family | base |",
        "|---|---|---|---|",
    ]
    assert first == "| [mine](pages/mine.md) | mine | TensorFlow Lite | tflite |"
    name, what, family, base = second.strip("| ").split(" | ")
    assert name == "[pytorch-fbgemm-avx2](pages/pytorch-fbgemm-avx2.md)"
    assert (what, family) == (contracts[1].summary, contracts[1].family)
    assert base == "pytorch-fbgemm"


def test_groups_of_contracts_are_held_against_each_other():
    """Each pair of three groups once, above the diagonal."""
    pairs = {
        ("a", "b"): Disagreement(200, 2, 1),
        ("a", "c"): Disagreement(200, 0, 0),
        ("a", "d"): Disagreement(200, 20, 3),
        ("b", "c"): Disagreement(200, 2, 1),
        ("b", "d"): Disagreement(200, 40, 1),
        ("c", "d"): Disagreement(200, 20, 3),
    }
    kind = Kind(2, dict.fromkeys("abcd", 200), pairs)
    page = differences_page(Comparison([*"abcd"], [("m", 3, 2)], {"conv2d": kind}))
    assert page.endswith(" |\n")
    lines = page.splitlines()
    start = lines.index("## conv2d")
    assert lines[start + 2 :] == [
        *("2 layers, 200 outputs. The same bits:", ""),
        *("1. a, c", "2. b", "3. d", ""),
        *("|   |   2 |        3 |", "| - | --: | -------: |"),
        *("| 1 | 1 % | 10 % (3) |", "| 2 |     |     20 % |"),
    ]


@pytest.mark.parametrize("differing", [0, 3])
def test_two_contracts(differing: int):
    """No table where they have the same bits."""
    pairs = {("a", "b"): Disagreement(300, differing, min(differing, 1))}
    kind = Kind(1, dict.fromkeys("ab", 300), pairs)
    page = differences_page(Comparison([*"ab"], [], {"conv2d": kind}))
    lines = page.splitlines()
    assert lines[lines.index("## conv2d") + 2 :] == [
        *("1 layer, 300 outputs. The same bits:", ""),
        *(
            ["1. a, b"]
            if not differing
            else ["1. a", "2. b", "", "|   |   2 |", "| - | --: |", "| 1 | 1 % |"]
        ),
    ]


@pytest.mark.parametrize("by_layer", [False, True])
def test_the_overview_has_a_line_for_each_layer_or_contract(by_layer: bool):
    kind = Kind(1, {}, {("exact", "a"): Disagreement(200, 2, 1)})
    page = differences_page(
        Comparison(["exact", "a"], [], {"conv1": kind, "conv2": kind}, by_layer)
    )
    assert ("\n| conv2 |" in page) == by_layer
    assert ("\n| a " in page) != by_layer


@pytest.mark.parametrize("rule", ["clamp", "requantize_i16"])
def test_rules_of_words_are_missed_where_there_are_some(rule: str):
    page = explain(parse_contract(LONE.format(rule=rule), "lone", "lone.mlir"))
    missing = page.partition("refused by name: ")[2]
    assert "`conv2d`" in missing
    assert ("`conv2d_i16`" in missing) == (rule == "requantize_i16")
