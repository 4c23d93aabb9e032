"""The time of every kernel as a table."""

from __future__ import annotations

from collections.abc import Sequence

from qlower.report.table import Column, Table
from qlower.runtime.profiling import KernelTime


def profile_table(
    times: Sequence[KernelTime], peak: float | None = None
) -> Table[KernelTime]:
    """Each kernel's time and share, products a second and bytes.

    `peak` is what the machine can do, in G products a second; without it there is no
    column for the share of that.
    """
    total = sum(time.nanoseconds for time in times)

    def speed(time: KernelTime) -> float | None:
        return time.giga_products_per_second if time.products else None

    def share(time: KernelTime) -> float:
        return time.nanoseconds / max(total, 1.0)

    def of_peak(time: KernelTime) -> float | None:
        known = speed(time)
        return known / peak if known is not None and peak is not None else None

    columns: list[Column[KernelTime]] = [
        Column("layer", "layer", lambda time: time.layer, right=False, least=12),
        Column("kernel", "family", lambda time: time.family, right=False, rank=2),
        Column(None, "nanoseconds", lambda time: time.nanoseconds),
        Column("us", None, lambda time: f"{time.nanoseconds / 1e3:.2f}"),
        Column("share", "share", share, lambda time: f"{share(time):.1%}"),
        Column(
            "GMAC/s", "gmacs_per_second", speed, lambda t: _digits(speed(t), "{:.1f}")
        ),
        Column("of peak", "of_peak", of_peak, lambda t: _digits(of_peak(t), "{:.0%}")),
        Column(None, "macs", lambda time: time.products),
        Column(None, "bytes", lambda time: time.bytes),
        Column("KB", None, lambda time: f"{time.bytes / 1e3:.1f}", rank=1),
    ]
    if peak is None:
        columns = [column for column in columns if column.key != "of_peak"]
    notes = [f"All together: {total / 1e3:.2f} us."]
    return Table("time of every kernel", times, columns, notes=notes)


def _digits(number: float | None, form: str) -> str:
    return "-" if number is None else form.format(number)
