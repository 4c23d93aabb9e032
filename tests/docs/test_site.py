"""The documentation site: what its pages are made of, and how markdown is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pygments.token import Error

from qlower.cli import COMMANDS, make_parser
from qlower.contracts import contract_names, load_contract
from qlower.docs import commands
from qlower.docs.build import copied_pages, navigation, python_interface, run_together
from qlower.docs.mlir_lexer import MlirLexer

TEXT = "<p>Text:</p>\n<ul>\n<li>a\n  more</li>\n<li>b</li>\n</ul>"
LISTS = {
    "- a\n  more\n- b": "<ul>\n<li>a\n  more</li>\n<li>b</li>\n</ul>",
    "Text:\n- a\n  more\n- b": TEXT,
    "Text:\n* a\nmore\n* b": TEXT.replace("  more", "more"),
    "Text:\n\n- a\n  more\n- b": TEXT,
    "Text:\n1. a\n2. b": "<p>Text:</p>\n<ol>\n<li>a</li>\n<li>b</li>\n</ol>",
    "in 1990.\n2. b": "<p>in 1990.\n2. b</p>",
    "5\n-3 or\n- 3": "<p>5\n-3 or</p>\n<ul>\n<li>3</li>\n</ul>",
    "Text:\n\n    a\n    - b": "<p>Text:</p>\n<pre><code>a\n- b\n</code></pre>",
    "# Head\n- a": "<h1>Head</h1>\n<ul>\n<li>a</li>\n</ul>",
}


@pytest.mark.parametrize("text", LISTS, ids=range(len(LISTS)))
def test_a_list_needs_no_blank_line_before_it(text: str):
    markdown = pytest.importorskip("markdown", reason="needs the extra docs")
    from qlower.docs.hooks import ListsAfterText

    extensions = ["pymdownx.superfences", ListsAfterText()]
    assert markdown.markdown(text, extensions=extensions) == LISTS[text]


def test_fenced_code_is_left_alone():
    markdown = pytest.importorskip("markdown", reason="needs the extra docs")
    from qlower.docs.hooks import ListsAfterText

    extensions = ["pymdownx.superfences", ListsAfterText()]
    made = markdown.markdown("```text\na\n- b\n```", extensions=extensions)
    assert "a\n- b\n" in made


@pytest.mark.parametrize("item", ["- b", "* b", "1. b"])
def test_lists_in_paragraphs_are_faults(item: str, tmp_path: Path):
    (tmp_path / "a.html").write_text(f"<p>a</p><p>Text:\n{item}</p>")
    (tmp_path / "b.html").write_text(f"<pre>\n{item}</pre><p>a - b</p>")
    shown = f"Text:\n{item}"
    assert list(run_together(tmp_path)) == [f"a.html: {shown!r}"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "run_example", lambda line: f"of {line}")
        return commands.command_pages(tmp_path_factory.mktemp("empty"))


@pytest.mark.parametrize("name", [file.rstrip("_") for file in COMMANDS])
def test_every_option_has_an_anchor(name: str, pages: dict[str, str]):
    page = pages[f"commands/{name}.md"]
    parser = make_parser(name)
    for action in parser.every_action():
        option = action.option_strings[-1:]
        if option and option[0] != "--version":
            assert re.search(rf'<span id="{name}(-\w+)?{option[0]}"></span>', page)
    assert f"```sh\n{commands.EXAMPLES[name]}\n```" in page
    assert f"```text\nof qlower {name}" in page
    assert f"[`qlower {name}`]({name}.md)" in pages["commands/index.md"]


def test_the_navigation_has_names_as_they_are_typed():
    (contracts,) = [
        entry["Contracts"]
        for entry in navigation(copied_pages())
        if not isinstance(entry, str) and "Contracts" in entry
    ]
    listed = str(contracts)
    for name in contract_names():
        assert f"{{'{name}': 'contracts/{name}.md'}}" in listed


def test_the_page_of_python_begins_with_what_is_used_first():
    lines = [line for line in python_interface() if line.startswith(":::")]
    names = [line.split(".")[-1].strip() for line in lines]
    assert names[:3] == ["load", "jit", "diff"]
    assert len(set(names)) == len(names)


@pytest.mark.parts(6)
@pytest.mark.parametrize("name", contract_names())
def test_mlir_is_highlighted(name: str):
    text = load_contract(name).text
    tokens = list(MlirLexer().get_tokens(text))
    assert "".join(value for _, value in tokens).strip() == text.strip()
    assert not [value for kind, value in tokens if kind in Error]
