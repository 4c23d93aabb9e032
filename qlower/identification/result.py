"""The arithmetic of a dump: as text, as plain data and for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from qlower.explain.causes import Causes
from qlower.identification.device import NEAR, Device
from qlower.identification.replay import FIRST, Explanation
from qlower.observe.place import show
from qlower.tables.formats import wrapped
from qlower.tables.table import Column, Table, Tabled, counted, percentage

FEW = 4
"""Names that are listed in a line."""


@dataclass(frozen=True)
class Alike:
    """A contract that explains the same as the best one: the layers of the dump in
    which some other input gives different outputs, and those where that isn't known."""

    name: str
    differs: Sequence[str]
    undecided: Sequence[str]

    @property
    def verdict(self) -> Literal["equal", "differs", "undecided"]:
        """The verdict for all inputs of these layers."""
        if self.differs:
            return "differs"
        return "undecided" if self.undecided else "equal"

    def __str__(self) -> str:
        layers = self.differs or self.undecided
        shown = ", ".join([*layers[:FEW], *(["..."] if len(layers) > FEW else [])])
        match self.verdict:
            case "equal":
                return "equal for all inputs of these layers"
            case "differs":
                return f"other inputs give different outputs, in {shown}"
            case "undecided":
                return f"equal for all inputs, except in {shown}: undecided"


@dataclass(frozen=True, repr=False)
class Identification(Tabled[Explanation]):
    """Explanations of the outputs of `title`, for the given number of inputs.

    `contracts` are ordered by the outputs that they explain; `alike` are those that
    equal the first one in everything recorded. `notes` say how the dump was matched.
    `device` is of the family of arithmetics that was searched, if it was. `doubt` says
    why the model may not be the one that was run, if there is a reason. `causes` has
    what the outputs that the best contract misses have in common.
    """

    title: str
    runs: int
    contracts: Sequence[Explanation]
    alike: Sequence[Alike]
    notes: Sequence[str] = ()
    device: Device | None = None
    doubt: str | None = None
    causes: Causes | None = None

    @property
    def best(self) -> Explanation:
        """The contract that explains the most."""
        return self.contracts[0]

    @property
    def is_found(self) -> bool:
        """Whether it, or what was put together, explains everything."""
        device = self.device
        return self.best.is_complete or (
            device is not None and device.explanation.is_complete
        )

    @property
    def text(self) -> str:
        """A contract's file, with all that was found: what was put together, if that
        explains more than the best contract does, and enough."""
        device, best = self.device, self.best
        is_more = (
            device is not None
            and device.is_near
            and device.explanation.explained > best.explained
        )
        if device is not None and is_more:
            return device.text
        if best.is_complete:
            found = f"The arithmetic in {self.title}, as `qlower identify` found it."
        else:
            found = (
                f"A start for the arithmetic in {self.title}: {best.name} explains "
                f"{_show_share(best)} of its outputs."
            )
        return (
            f"// {found}\n\n"
            f'module attributes {{\n  contract.summary = "a device like {best.name}",\n'
            f'  contract.base = "{best.name}"\n}} {{\n}}\n'
        )

    @property
    def names(self) -> list[str]:
        """The contracts that explain every output."""
        return [one.name for one in self.contracts if one.is_complete]

    @property
    def same(self) -> list[str]:
        """The others that give what the best one gives, for everything recorded."""
        best = self.best
        others = (one for one in self.contracts if one is not best)
        return [one.name for one in others if one.digest == best.digest]

    @property
    def table(self) -> Table[Explanation]:
        """A line for each contract."""
        columns: list[Column[Explanation]] = [
            Column("contract", "contract", lambda row: row.name, right=False),
            Column("explained", "explained", lambda row: row.explained),
            Column("of", "outputs", lambda row: row.outputs, rank=3),
            Column("share", "share", lambda row: row.share, _show_share),
            Column("layers", "layers_explained", _whole_layers, _show_layers, rank=1),
            Column(None, "layers", lambda row: len(row.layers)),
            Column("first output not explained", "miss", _miss, least=20, rank=2),
        ]
        title = f"what explains {self.title}, {counted(self.runs, 'input')}"
        notes = ["layers: those that are explained entirely, of those in the dump."]
        if len({one.outputs for one in self.contracts}) > 1:
            notes.append(
                "Contracts that were far behind in every layer after the first "
                f"{min(FIRST, self.runs)} inputs were run on these alone."
            )
        return Table(title, self.contracts, columns, notes=notes, whole="--json")

    @property
    def verdict(self) -> Iterator[str]:
        """The arithmetic that was identified, in a few lines."""
        best, many = self.best, counted(self.best.outputs, "output")
        if best.is_complete:
            yield f"{best.name} explains all of the {many}"
            yield from self._others()
        else:
            if best.explained:
                share = f"{_show_share(best)}{_if_far(best)}"
                yield f"no contract explains all of the {many}"
                yield f"{best.name} explains the most, {share}"
            else:
                yield f"no contract explains any of the {many}: is the input theirs?"
            if self.doubt is not None:
                yield f"the reason may be the model: {self.doubt}"
            if self.causes is not None and str(self.causes):
                yield f"{_first_missed(best)}: {self.causes}"
        if self.device is not None and not self.device.is_near:
            found = self.device.found
            yield (
                f"nothing in the family of arithmetics comes near: the best of "
                f"{found.tried:,} explains "
                f"{percentage(found.explained / found.elements, 1)} of "
                f"{counted(found.elements, 'element')} of convolutions and linear "
                f"layers, and below {NEAR:.0%} its steps are no evidence (--json has "
                "them)"
            )
        elif self.device is not None:
            one = self.device.explanation
            how = "explains all" if one.is_complete else f"explains {_show_share(one)}"
            rest = "" if (miss := _miss(one)) is None else f", but {miss}"
            yield f"an arithmetic put together of these steps {how} of them{rest}"

    def _others(self) -> Iterator[str]:
        """Contracts that give the same results as the best one."""
        if self.same and not self.alike:
            yield f"these give the same bits: {', '.join(self.same)}"
            yield "other inputs may distinguish them: qlower identify --probe has some"
        by_verdict: dict[str, list[str]] = {}
        for one in self.alike:
            by_verdict.setdefault(str(one), []).append(one.name)
        for text, names in by_verdict.items():
            yield f"{_give(names)} the same bits here: {text}"

    def render(self, width: int | None = None) -> str:
        """The text for a terminal of the given width in characters."""
        parts = [*self.notes, "", self.table, ""]
        if self.device is not None and self.device.is_near:
            parts += [self.device.table, ""]
        lines: list[str] = []
        for part in (*parts, *self.verdict):
            if isinstance(part, Table):
                lines.append(part.render("plain", width))
            else:
                lines += [part] if width is None else wrapped(part, width)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        lines = [f"<p>{escape(line)}</p>" for line in self.verdict]
        tables = [self.table.render("html")]
        if self.device is not None and self.device.is_near:
            tables.append(self.device.table.render("html"))
        return "\n".join([*tables, *lines])

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        best = self.best
        return {
            "dump": self.title,
            "inputs": self.runs,
            "notes": list(self.notes),
            "found": best.name if best.is_complete else None,
            "best": best.name,
            "doubt": self.doubt,
            "same": self.same,
            "verified": [
                {
                    "contract": one.name,
                    "verdict": one.verdict,
                    "differs": list(one.differs),
                    "undecided": list(one.undecided),
                }
                for one in self.alike
            ],
            "contracts": self.table.records(),
            "in_words": list(self.verdict),
            "device": None if self.device is None else _device_dict(self.device),
            "layers": {
                one.name: {
                    name: {
                        "outputs": layer.outputs,
                        "explained": layer.explained,
                        "refusal": layer.refusal,
                    }
                    for name, layer in one.layers.items()
                }
                for one in self.contracts
            },
        }


def _device_dict(device: Device) -> dict[str, object]:
    found = device.found
    return {
        "near": device.is_near,
        "explained": device.explanation.explained,
        "outputs": device.explanation.outputs,
        "tried": found.tried,
        "searched": found.elements,
        "explained_of_searched": found.explained,
        "steps": device.table.records(),
        "contract": device.text,
    }


def _give(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'gives' if len(names) == 1 else 'give'}"


def _show_share(row: Explanation) -> str:
    """A percentage, which is 100 for everything alone."""
    return "100 %" if row.is_complete else f"{min(99.999, 100 * row.share):.3f} %"


def _if_far(row: Explanation) -> str:
    if row.share >= NEAR:
        return ""
    return f": below {NEAR:.0%} that is no identification"


def _first_missed(row: Explanation) -> str:
    return next(name for name, layer in row.layers.items() if layer.missed)


def _whole_layers(row: Explanation) -> int:
    return sum(layer.explained == layer.outputs for layer in row.layers.values())


def _show_layers(row: Explanation) -> str:
    return f"{_whole_layers(row)}/{len(row.layers)}"


def _miss(row: Explanation) -> str | None:
    for name, layer in row.layers.items():
        if layer.refusal is not None:
            return f"{name}: {layer.refusal}"
        if layer.miss is not None:
            miss = layer.miss
            of_run = f" of input {miss.run}" if miss.run else ""
            place = f"{name}{show(miss.index)}{of_run}"
            given, recorded = _apart(miss.given, miss.recorded)
            return f"{place}: {given}, recorded {recorded}"
    return None


def _apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers with as many digits as show that they differ."""
    for digits in (6, 9):  # float32 has no more
        found = f"{one:.{digits}g}", f"{other:.{digits}g}"
        if found[0] != found[1]:
            return found
    return repr(one), repr(other)
