"""What was measured, as a table for people or for a page, and as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from qlower.bench.comparison import OURS, Comparison, Report
from qlower.bench.measure import Spread
from qlower.runtime.profiling import profile_table

LEGEND = (
    "us: the median and the quartiles of all rounds. x: the peer's time over qlower's "
    "in the same round, above 1 where qlower is faster"
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


def as_text(report: Report) -> str:
    """A table, what is absent, and the layers."""
    rows = _rows(report.comparisons)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [_machine(report), ""]
    for row in rows:
        cells = (f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join([f"{row[0]:<{widths[0]}}", *list(cells)[1:]]))
    lines += ["", f"{LEGEND}.", *_means(report.comparisons)]
    lines += [f"without {text}" for text in _absent(report.comparisons)]
    for model, times in report.layers.items():
        lines += ["", f"{model}, one thread:"]
        lines += profile_table(times, report.machine.peak)
    return "\n".join(lines)


def as_markdown(report: Report) -> str:
    """The same as a page's section."""
    head, *rows = _rows(report.comparisons)
    lines = [_machine(report), "", _line(head)]
    lines.append(_line(["---", *["---:"] * (len(head) - 1)]))
    lines += [_line(row) for row in rows]
    lines += ["", f"{LEGEND}.", ""]
    lines += [f"- {text}" for text in _means(report.comparisons)]
    lines += [f"- Without {text}" for text in _absent(report.comparisons)]
    for model, times in report.layers.items():
        lines += ["", f"### {model}, one thread", "", "```"]
        lines += [*profile_table(times, report.machine.peak), "```"]
    return "\n".join(lines)


def _rows(comparisons: Sequence[Comparison]) -> list[list[str]]:
    """Cells: a head, and a row a comparison."""
    peers = _peers(comparisons)
    head = ["model", "threads", f"{OURS} us"]
    for peer in peers:
        head += [f"{peer} us", "x"]
    rows = [head]
    for comparison in comparisons:
        row = [comparison.model, str(comparison.threads)]
        row.append(_spread(comparison.times[OURS]))
        for peer in peers:
            if peer in comparison.ratios:
                row.append(_spread(comparison.times[peer]))
                row.append(_spread(comparison.ratios[peer]))
            else:
                row += ["-", "-"]
        rows.append(row)
    return rows


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
                    f"{peer}, {threads} thread{'s' * (threads > 1)}: {mean:.2f} x, the "
                    f"geometric mean over {len(ratios)} models "
                    f"({min(ratios):.2f} to {max(ratios):.2f})"
                )


def _absent(comparisons: Sequence[Comparison]) -> list[str]:
    """Which peers are missing and why, each once."""
    reasons = (
        f"{peer} for {c.model}: {reason}"
        for c in comparisons
        for peer, reason in c.absent.items()
    )
    return list(dict.fromkeys(reasons))


def _machine(report: Report) -> str:
    machine = report.machine
    text = f"{machine.cpu}, {machine.cores} cores, load {machine.load:.1f}"
    if machine.peak is not None:
        text += f"; {machine.peak:.0f} GMAC/s are the measured peak of one"
        text += ", in dot products of vectors (tiles go beyond)"
    versions = ", ".join(f"{name} {v}" for name, v in machine.versions.items())
    return f"{text}. {versions}."


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
