"""A report on a model, to be written as a page or for Model Explorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path

from qlower.explain.diff_result import Diff
from qlower.files.replacing import replacing, replacing_files
from qlower.report.blocks import Block
from qlower.report.graph import Node
from qlower.report.measures import Measure
from qlower.report.model_explorer import explorer_files
from qlower.report.page import page
from qlower.tables.table import Column, Table, Tabled, counted


@dataclass(frozen=True, repr=False)
class Report(Tabled[tuple[str, str]]):
    """A model as a graph, with measures that colour it and details of each layer.

    `about` has names and texts, of the whole; `layers` what a layer shows, by the
    number of its node; `verdict` what was found, in sentences, the first in short.
    `difference` is how it differs from what it was compared with.
    """

    title: str
    about: Sequence[tuple[str, str]]
    nodes: Sequence[Node]
    measures: Sequence[Measure]
    layers: Mapping[int, Sequence[Block]]
    verdict: Sequence[str] = ()
    difference: Diff | None = None

    @property
    def table(self) -> Table[tuple[str, str]]:
        """A line for each of the texts about the whole."""
        columns: list[Column[tuple[str, str]]] = [
            Column("what", "name", lambda row: row[0], right=False),
            Column("value", "text", lambda row: row[1], least=30),
        ]
        return Table(self.title, self.about, columns, notes=self.verdict)

    def to_dict(self) -> dict[str, object]:
        """Return plain data, without the graph: `explorer_files` has that."""
        found = self.difference
        return {
            "title": self.title,
            "verdict": list(self.verdict),
            "about": dict(self.about),
            "difference": None if found is None else found.to_dict(),
        }

    def _repr_html_(self) -> str:

        style = "width: 100%; height: 40em; border: 0"
        return f'<iframe srcdoc="{escape(self.html())}" style="{style}"></iframe>'

    def html(self) -> str:
        """The page: one file that needs no other, and no network."""
        return page(
            self.title,
            self.verdict,
            self.about,
            self.nodes,
            self.measures,
            self.layers,
        )

    def explorer_files(self) -> dict[str, str]:
        """The graph, and a file of node data for each measure, as Model Explorer opens
        them: texts by the files' names."""
        return explorer_files(self.title, self.nodes, self.measures)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page."""
        with replacing(Path(path)) as stream:
            stream.write(self.html().encode())

    def save_model_explorer(self, directory: str | PathLike[str]) -> list[Path]:
        """Write the files for Model Explorer into a folder; returns their paths."""
        folder = Path(directory)
        files = self.explorer_files()
        with replacing_files(folder) as temporary:
            for name, text in files.items():
                (temporary / name).write_text(text)
        return [folder / name for name in files]

    def __repr__(self) -> str:
        return f"<Report of {self.title}, {counted(len(self.layers), 'layer')}>"
