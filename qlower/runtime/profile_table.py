"""The time of every kernel as a table."""

from __future__ import annotations

from collections.abc import Sequence

from qlower.runtime.profiling import KernelTime
from qlower.runtime.reasons import reason
from qlower.runtime.roof import Roof
from qlower.tables.table import Column, Table

_FAR = 0.5
"""The share of its limit below which a kernel is named."""


def profile_table(
    times: Sequence[KernelTime], roof: Roof | None = None
) -> Table[KernelTime]:
    """Each kernel's time and share, products a second and bytes.

    With a `roof` also the least that each can take, and for what, and how much of its
    time that is; those that take over twice as long are named, with the likely reason.
    """
    total = sum(time.nanoseconds for time in times)

    def speed(time: KernelTime) -> float | None:
        return time.giga_products_per_second if time.products else None

    def share(time: KernelTime) -> float:
        return time.nanoseconds / max(total, 1.0)

    columns: list[Column[KernelTime]] = [
        Column("layer", "layer", lambda time: time.layer, least=12),
        Column("kernel", "family", lambda time: time.family, right=False, rank=2),
        Column(None, "nanoseconds", lambda time: time.nanoseconds),
        Column("us", None, lambda time: f"{time.nanoseconds / 1e3:.2f}"),
        Column("share", "share", share, lambda time: f"{share(time):.1%}"),
        Column(
            "GMAC/s", "gmacs_per_second", speed, lambda t: _digits(speed(t), "{:.1f}")
        ),
        Column(None, "macs", lambda time: time.products),
        Column(None, "bytes", lambda time: time.bytes),
        Column("KB", None, lambda time: f"{time.bytes / 1e3:.1f}", rank=1),
    ]
    notes = [f"All together: {total / 1e3:.2f} us."]
    if roof is not None:
        columns += _roof_columns(roof)
        notes += _roof_notes(times, roof)
    return Table("time of every kernel", times, columns, notes=notes)


def _reached(time: KernelTime, roof: Roof) -> float:
    """The share of a kernel's time that it needs at least."""
    return roof.limit(time).nanoseconds / max(time.nanoseconds, 1.0)


def _roof_columns(roof: Roof) -> list[Column[KernelTime]]:
    def nanoseconds(time: KernelTime) -> float:
        return roof.limit(time).nanoseconds

    def reached(time: KernelTime) -> float:
        return _reached(time, roof)

    def why(time: KernelTime) -> str | None:
        return reason(time, roof) if reached(time) < _FAR else None

    return [
        Column(None, "limit_nanoseconds", nanoseconds),
        Column("limit us", None, lambda time: f"{nanoseconds(time) / 1e3:.2f}"),
        Column("by", "bound", lambda time: roof.limit(time).bound, right=False),
        Column("reached", "reached", reached, lambda time: f"{reached(time):.0%}"),
        Column("why not more", "reason", why, right=False, rank=3),
    ]


def _roof_notes(times: Sequence[KernelTime], roof: Roof) -> list[str]:
    """The limits together, and the kernels that are far from theirs, longest first."""
    total = sum(time.nanoseconds for time in times)
    limit = sum(roof.limit(time).nanoseconds for time in times)
    notes = [f"Limits together: {limit / 1e3:.2f} us, {limit / max(total, 1.0):.0%}."]
    far = [time for time in times if _reached(time, roof) < _FAR]
    if far:
        far.sort(key=lambda time: roof.limit(time).nanoseconds - time.nanoseconds)
        beyond: dict[str, list[KernelTime]] = {}
        for time in far:
            beyond.setdefault(reason(time, roof), []).append(time)
        notes.append(f"Below {_FAR:.0%} of the limit, with the time beyond:")
        for why, those in beyond.items():
            spent = sum(t.nanoseconds - roof.limit(t).nanoseconds for t in those)
            names = ", ".join(time.layer for time in those)
            notes.append(f"{spent / 1e3:.2f} us, {why}: {names}.")
    return notes


def _digits(number: float | None, form: str) -> str:
    return "-" if number is None else form.format(number)
