"""The hooks that mkdocs calls while it builds the site: how the markdown is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor
from pygments.lexers import LEXERS, get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_ITEM = re.compile(r" {0,3}([-*+]|1\.) +\S")
_TEXT = re.compile(r" {0,3}[^\s#|]")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Read lists as CommonMark does, and know MLIR."""
    config.markdown_extensions.append(ListsAfterText())  # pyright: ignore[reportArgumentType]
    add_mlir()
    return config


def on_pre_page(page: Page, config: MkDocsConfig, files: Files) -> Page:
    """Link a page that is copied from the repository to its source there."""
    extra = cast("Mapping[str, Mapping[str, str]]", config.extra)
    source = extra.get("sources", {}).get(page.file.src_uri)
    page.edit_url = source and f"{config.repo_url}/edit/main/{source}"
    return page


def add_mlir() -> None:
    """Let code blocks named `mlir` be highlighted."""
    found = "qlower.docs.mlir_lexer", "MLIR", ("mlir",), ("*.mlir",), ()
    cast("dict[str, object]", LEXERS)["MlirLexer"] = found
    assert get_lexer_by_name("mlir").name == "MLIR"


class ListsAfterText(Extension):
    """A list may follow a paragraph without a blank line between them, as in CommonMark
    and on every forge; python-markdown alone takes it for more of the paragraph."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Read lines once fenced code and HTML are put aside (25 and 20)."""
        md.preprocessors.register(_BlankLines(md), "lists-after-text", 15)


class _BlankLines(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        done: list[str] = []
        is_text = is_list = False  # what the line above belongs to
        for line in lines:
            if not line.strip():
                is_text = is_list = False
            elif _ITEM.match(line):
                done += [""] * is_text
                is_text, is_list = False, True
            elif not is_list:
                is_text = _TEXT.match(line) is not None
            done.append(line)
        return done
