"""Measurements as a table for people or for a page, and as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from html import escape

from qlower.bench.comparison import OURS, Comparison, PeerDifference, Report
from qlower.bench.measure import Spread
from qlower.bench.peers import PEERS
from qlower.runtime.profile_table import profile_table
from qlower.tables.table import NOTHING, Column, Table, counted

LEGEND = (
    "us: the median and the quartiles of all rounds. x: the peer's time over qlower's "
    "in the same round, above 1 where qlower is faster"
)
DIFFER_LEGEND = (
    "differ: outputs of the peer, on one drawn input, that differ from those of the "
    "timed code; by CONTRACT: from qlower's under the peer's own contract"
)


def as_data(report: Report) -> dict[str, object]:
    """For JSON: everything, with numbers as they were measured."""
    return {
        "machine": asdict(report.machine),
        "comparisons": [
            {
                **asdict(comparison),
                "ratios_of_medians": {
                    peer: comparison.ratio_of_medians(peer)
                    for peer in comparison.ratios
                },
            }
            for comparison in report.comparisons
        ],
        "layers": {
            model: [asdict(time) for time in times]
            for model, times in report.layers.items()
        },
    }


def as_text(report: Report, width: int | None = None) -> str:
    """A table, what is absent, and the layers; `width` is the terminal's."""
    parts = [_machine(report), "", comparison_table(report).render("plain", width)]
    for model, times in report.layers.items():
        table = profile_table(times, report.machine.roof)
        parts += ["", f"{model}, one thread:", "", table.render("plain", width)]
    return "\n".join(parts)


def as_markdown(report: Report) -> str:
    """The report as a section of a page in Markdown."""
    parts = [_machine(report), "", comparison_table(report).render("markdown")]
    for model, times in report.layers.items():
        table = profile_table(times, report.machine.roof)
        parts += ["", f"### {model}, one thread", "", table.render("markdown")]
    return "\n".join(parts)


def as_html(report: Report) -> str:
    """The report as a fragment of an HTML page."""
    parts = [f"<p>{escape(_machine(report))}</p>"]
    parts.append(comparison_table(report).render("html"))
    for model, times in report.layers.items():
        parts.append(f"<h3>{escape(model)}, one thread</h3>")
        parts.append(profile_table(times, report.machine.roof).render("html"))
    return "\n".join(parts)


def comparison_table(report: Report) -> Table[Comparison]:
    """A row a model and number of threads, with columns for every peer."""
    columns: list[Column[Comparison]] = [
        Column("model", "model", lambda row: row.model, least=16),
        Column("threads", "threads", lambda row: row.threads),
        *_time_columns(OURS),
    ]
    for peer in _peers(report.comparisons):
        columns += [*_time_columns(peer), *_ratio_columns(peer)]
        columns += _difference_columns(peer)
    notes = [f"{LEGEND}."]
    if any(comparison.differences for comparison in report.comparisons):
        notes.append(f"{DIFFER_LEGEND}.")
    notes += _means(report.comparisons)
    notes += [f"Without {text}" for text in _absent(report.comparisons)]
    return Table("time of one call", report.comparisons, columns, notes=notes)


def _time_columns(contestant: str) -> list[Column[Comparison]]:
    def spread(row: Comparison) -> Spread | None:
        return row.times.get(contestant)

    return _spread_columns(f"{contestant} us", f"{contestant}_us", spread)


def _ratio_columns(peer: str) -> list[Column[Comparison]]:
    def spread(row: Comparison) -> Spread | None:
        return row.ratios.get(peer)

    return _spread_columns("x", f"{peer}_ratio", spread)


def _difference_columns(peer: str) -> list[Column[Comparison]]:
    """Columns for the peer's differences from the timed code, and from qlower by the
    peer's own contract."""

    def column(
        title: str | None, key: str, take: Callable[[PeerDifference], int | None]
    ) -> Column[Comparison]:
        def value(row: Comparison) -> int | None:
            found = row.differences.get(peer)
            return None if found is None else take(found)

        def shown(row: Comparison) -> str:
            count = value(row)
            total = row.differences[peer].outputs if count is not None else 0
            return NOTHING if count is None else f"{count:,} of {total:,}"

        return Column(title, f"{peer}_{key}", value, shown)

    columns = [
        column(None, "outputs", lambda found: found.outputs),
        column("differ", "differing", lambda found: found.differing),
    ]
    contract = PEERS[peer].contract
    if contract is not None:
        key = "differing_by_contract"
        own = column(f"by {contract}", key, lambda found: found.differing_by_contract)
        columns.append(own)
    return columns


def _spread_columns(
    title: str, key: str, spread: Callable[[Comparison], Spread | None]
) -> list[Column[Comparison]]:
    """A median with its quartiles: one column for people, three for programs."""

    def shown(row: Comparison) -> str:
        found = spread(row)
        return "-" if found is None else _spread(found)

    def part(suffix: str, take: Callable[[Spread], float]) -> Column[Comparison]:
        def value(row: Comparison) -> float | None:
            found = spread(row)
            return None if found is None else take(found)

        return Column(None, f"{key}{suffix}", value)

    return [
        Column(title, None, shown),
        part("", lambda found: found.median),
        part("_low", lambda found: found.low),
        part("_high", lambda found: found.high),
    ]


def _peers(comparisons: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(p for c in comparisons for p in c.ratios))


def _spread(spread: Spread) -> str:
    digits = 2 if spread.median < 10 else 1 if spread.median < 1000 else 0
    median, low, high = (
        f"{value:.{digits}f}" for value in (spread.median, spread.low, spread.high)
    )
    return f"{median} ({low}-{high})"


def _means(comparisons: Sequence[Comparison]) -> Iterable[str]:
    """The geometric means of the median ratios, where there are several models."""
    for threads in dict.fromkeys(c.threads for c in comparisons):
        for peer in _peers(comparisons):
            ratios = [
                c.ratios[peer].median
                for c in comparisons
                if c.threads == threads and peer in c.ratios
            ]
            if len(ratios) > 1:
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                yield (
                    f"{peer}, {counted(threads, 'thread')}: {mean:.2f} x, the "
                    f"geometric mean over {len(ratios)} models "
                    f"({min(ratios):.2f} to {max(ratios):.2f})"
                )


def _absent(comparisons: Sequence[Comparison]) -> list[str]:
    """Missing peers with the reasons, each once."""
    reasons = (
        f"{peer} for {c.model}: {reason}"
        for c in comparisons
        for peer, reason in c.absent.items()
    )
    return list(dict.fromkeys(reasons))


def _machine(report: Report) -> str:
    machine = report.machine
    text = f"{machine.cpu}, {machine.cores} cores, load {machine.load:.1f}"
    if machine.roof is not None:
        peak, words = machine.roof.peak, machine.roof.word_peak
        text += (
            f"; {peak:.0f} GMAC/s ({words:.0f} with 16-bit activations) are the "
            "measured peak of one in dot products"
        )
        bands = machine.roof.bandwidths.items()
        read = ", ".join(f"{size >> 10} KB at {speed:.0f}" for size, speed in bands)
        text += f"; it reads {read} GB/s"
    versions = ", ".join(f"{name} {v}" for name, v in machine.versions.items())
    return f"{text}. {versions}."
