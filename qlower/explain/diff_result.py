"""A comparison of two systems as text, as plain data and for notebooks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from qlower.contracts import is_contract, load_contract
from qlower.explain.causes import Causes
from qlower.explain.difference import Difference
from qlower.explain.pairing import Pair, pair_table
from qlower.explain.steps import StepDifference
from qlower.explain.trace import Trace
from qlower.interp.values import Array
from qlower.observe.account import sentence
from qlower.observe.place import Place
from qlower.observe.rows import Row, ratio, rows_of, show_exact, show_value
from qlower.tables.formats import wrapped
from qlower.tables.table import Cell, Column, Table, Tabled, counted, percentage


@dataclass
class LayerDifference:
    """One result of a layer, with its number of `elements` for one input.

    `carried` has each side on its own values, `alone` both on those of
    `Diff.reference`; None where a side has no value for the result. `steps` names a
    constant or attribute that differs in otherwise equal arithmetic, whether or not any
    element shows it.
    """

    number: int
    name: str
    kind: str
    elements: int
    carried: Difference | None = None
    alone: Difference | None = None
    steps: StepDifference | None = None


@dataclass(frozen=True)
class ChainPair:
    """One element by both sides, both on the same values: the steps of each, lined up.

    A side that isn't computed here has a value and no steps. `axes` says what the index
    has, for models that have channels first.
    """

    place: Place
    run: int
    values: tuple[Array, Array]
    traces: tuple[Trace | None, Trace | None]
    pairs: tuple[Pair, ...]
    axes: str = ""

    @property
    def parting(self) -> Pair | None:
        """The step where they part."""
        return next((pair for pair in self.pairs if pair.is_parting), None)


@dataclass(frozen=True, repr=False)
class Diff(Tabled[LayerDifference]):
    """The comparison of two sides, `a` and `b`.

    `reference` is the side whose values both get where layers run alone, None where
    neither side can run a layer; `notes` say how dumps were matched. `causes` has what
    the differences of the first layer that differs alone have in common. It `is_real`
    where a side is a float model.
    """

    a: str
    b: str
    runs: int
    layers: Sequence[LayerDifference]
    reference: str | None
    chain: ChainPair | None
    notes: tuple[str, ...] = ()
    causes: Causes | None = None
    is_real: bool = False

    @property
    def is_equal(self) -> bool:
        """Whether no element differs."""
        return not any(
            difference is not None and difference.differing
            for layer in self.layers
            for difference in (layer.carried, layer.alone)
        )

    @property
    def guilty(self) -> LayerDifference | None:
        """The first layer that differs by itself; None if none does."""
        return next(
            (one for one in self.layers if one.alone and one.alone.differing), None
        )

    @property
    def first_carried(self) -> LayerDifference | None:
        """The first layer that differs at all."""
        return next(
            (one for one in self.layers if one.carried and one.carried.differing), None
        )

    @property
    def most_hurt(self) -> LayerDifference | None:
        """The layer with the least signal to noise by itself, if several differ."""
        known = [
            (one.alone.decibels, one)
            for one in self.layers
            if one.alone is not None and one.alone.decibels is not None
        ]
        return min(known, key=lambda pair: pair[0])[1] if len(known) > 1 else None

    def below(self, decibels: float) -> list[LayerDifference]:
        """Layers whose signal to noise, each side on its own values, is less."""
        return [
            one
            for one in self.layers
            if one.carried is not None
            and one.carried.differing
            and (one.carried.decibels is None or one.carried.decibels < decibels)
        ]

    @property
    def verdict(self) -> list[str]:
        """The first difference and its cause, in a line or two."""
        return list(_verdict(self))

    @property
    def table(self) -> Table[LayerDifference]:
        """A line for each layer."""
        return _table(self)

    def render(self, width: int | None = None) -> str:
        """The text for a terminal of the given width in characters."""
        return "\n".join(_lines(self, width))

    def to_dict(self) -> dict[str, object]:
        """Plain data: exact numbers are fractions as text, `75/2`."""
        guilty = self.guilty
        return {
            "a": self.a,
            "b": self.b,
            "inputs": self.runs,
            "equal": self.is_equal,
            "notes": list(self.notes),
            "layers": self.table.records(),
            "first_alone": None if guilty is None else guilty.name,
            "most_hurt": None if self.most_hurt is None else self.most_hurt.name,
            "chain": None if self.chain is None else _chain_dict(self.chain),
            "in_words": list(_in_words(self)),
        }

    def _repr_html_(self) -> str:
        from html import escape

        parts = [self.table.render("html")]
        parts += [f"<p>{escape(line)}</p>" for line in _verdict(self)]
        if self.chain is not None:
            head = _chain_head(self, self.chain)
            parts += [f"<p>{escape(line)}</p>" for line in head]
            if self.chain.pairs:
                shown = pair_table(self.chain.pairs, self.a, self.b)
                parts.append(shown.render("html"))
        parts += [f"<p>{escape(line)}</p>" for line in _in_words(self)]
        return "\n".join(parts)


LEGEND = (
    "carried: elements that differ with each side on its own values; alone: with both "
    "on {reference}.",
    "max: the largest difference; dB: signal to noise.",
)


def _table(diff: Diff) -> Table[LayerDifference]:
    columns: list[Column[LayerDifference]] = [
        Column("#", "number", lambda row: row.number),
        Column("layer", "layer", lambda row: row.name, least=12),
        Column("op", "op", lambda row: row.kind, right=False, rank=1),
        Column("elements", "elements", lambda row: row.elements, rank=2),
        *_columns("carried", lambda row: row.carried, is_real=diff.is_real),
        *_columns("alone", lambda row: row.alone, is_real=diff.is_real),
        Column(
            None, "steps", lambda row: None if row.steps is None else str(row.steps)
        ),
    ]
    reference = "the same, for which one side must be computed here"
    if diff.reference is not None:
        reference = f"those of {diff.reference}"
    notes = [line.format(reference=reference) for line in LEGEND]
    title = f"{diff.a} and {diff.b}, {counted(diff.runs, 'input')}"
    return Table(title, diff.layers, columns, notes=notes, whole="--json")


def _columns(
    mode: str,
    of: Callable[[LayerDifference], Difference | None],
    *,
    is_real: bool,
) -> list[Column[LayerDifference]]:
    """The columns for one of the two modes."""

    def share(row: LayerDifference) -> Cell:
        found = of(row)
        return None if found is None else found.differing / max(found.elements, 1)

    def show_share(row: LayerDifference) -> str:
        found = share(row)
        return (
            "-" if not isinstance(found, float) else percentage(found) if found else ""
        )

    def number(row: LayerDifference, name: str) -> Cell:
        found: Cell = None if (one := of(row)) is None else getattr(one, name)
        is_told = not isinstance(found, float) or math.isfinite(found)
        return found if is_told else None

    def show(row: LayerDifference, name: str) -> str:
        found = number(row, name)
        if (
            not isinstance(found, int | float)
            or not (of(row) or Difference()).differing
        ):
            return ""
        return f"{found:.1f}" if name == "decibels" else f"{found:.6g}"

    def cosine(row: LayerDifference) -> str:
        found = number(row, "cosine")
        return (
            f"{found:.6f}" if isinstance(found, float) and show(row, "cosine") else ""
        )

    return [
        Column(mode, f"{mode}_differing", lambda row: number(row, "differing")),
        Column("share", f"{mode}_share", share, show_share, rank=3),
        Column(
            "max",
            f"{mode}_largest",
            lambda row: number(row, "largest"),
            lambda row: show(row, "largest"),
        ),
        Column(
            "dB",
            f"{mode}_decibels",
            lambda row: number(row, "decibels"),
            lambda row: show(row, "decibels"),
            rank=4,
        ),
        Column(
            "cosine" if is_real else None,
            f"{mode}_cosine",
            lambda row: number(row, "cosine"),
            cosine,
            rank=5,
        ),
    ]


def _lines(diff: Diff, width: int | None) -> Iterator[str]:
    def lines(texts: Iterable[str]) -> Iterator[str]:
        for text in texts:
            yield from [text] if width is None else wrapped(text, width)

    yield f"{diff.a} and {diff.b}, {counted(diff.runs, 'input')}"
    yield from lines(diff.notes)
    yield ""
    yield diff.table.render("plain", width)
    yield ""
    yield from lines(_verdict(diff))
    if diff.chain is not None:
        yield ""
        yield from lines(_chain_head(diff, diff.chain))
        if diff.chain.pairs:
            yield ""
            yield pair_table(diff.chain.pairs, diff.a, diff.b).render("plain", width)
    last = list(lines(_in_words(diff)))
    yield from ["", *last] if last else []


def _bases(name: str) -> Iterator[str]:
    """The contracts that a contract is based on, the nearest first."""
    contract = load_contract(name).origin
    while contract is not None:
        yield contract.name
        contract = contract.origin


def _verdict(diff: Diff) -> Iterator[str]:
    """The first difference and its cause, in a line or two."""
    guilty, carried = diff.guilty, diff.first_carried
    if not diff.layers:
        yield "the model has no layers: nothing was compared"
    elif diff.is_equal:
        known = [layer for layer in diff.layers if layer.carried or layer.alone]
        count, many = len(known), len(diff.layers)
        yield "nothing differs" + (
            f" in the {counted(count, 'result')} of {many} that both sides have"
            if count < many
            else ""
        )
        names = diff.a, diff.b
        are_files = [name.endswith(".mlir") for name in names]
        # Two files are versions of a model.
        if all(map(is_contract, names)) and not all(are_files):
            yield f"for all inputs: qlower verify MODEL --equal {diff.a} {diff.b}"
        if all(map(is_contract, names)) and not any(are_files):
            for heir, base in (names, names[::-1]):
                if base in _bases(heir):
                    yield f"what sets {heir} apart: qlower contracts show {heir}"
    elif guilty is not None and guilty.alone is not None:
        yield (
            f"the first layer that differs by itself is {guilty.name}: "
            f"{guilty.alone.differing:,} of {guilty.alone.elements:,} elements, "
            f"by up to {guilty.alone.largest:.6g}"
        )
        most = diff.most_hurt
        if diff.is_real and most is not None and most.alone is not None:
            loss = f"{most.alone.decibels:.1f} dB"
            yield f"the layer that loses most by itself is {most.name}: {loss}"
    elif carried is not None:
        yield f"the first layer that differs is {carried.name}"
        if diff.reference is not None:
            yield "no layer differs by itself"
    for layer in diff.layers:
        if layer.steps is not None:
            hidden = not (layer.alone and layer.alone.differing)
            but = ", though no element differs" if hidden else ""
            yield f"{layer.name} has another step{but}: {layer.steps}"


def _chain_head(diff: Diff, chain: ChainPair) -> Iterator[str]:
    a, b = (show_value(value) for value in chain.values)
    exact = next((t.exact for t in chain.traces if t is not None), None)
    at = f"{chain.place}" + (f" [{','.join(chain.axes)}]" if chain.axes else "")
    at += f" of input {chain.run}" if diff.runs > 1 else ""
    yield f"{at}: {a} | {b}" + (
        f" | exact {show_exact(exact)}" if exact is not None else ""
    )
    width = max(len(diff.a), len(diff.b))
    for side, trace in zip((diff.a, diff.b), chain.traces, strict=True):
        if trace is None:
            yield f"  {side:{width}}  is not computed here, so its steps are not known"
        elif trace.chains:
            yield f"  {side:{width}}  {trace.path}"
    if not chain.pairs and all(chain.traces):
        yield "  both take the same steps"


def _in_words(diff: Diff) -> Iterator[str]:
    """The positions where the sides differ, what each side does there, and the cause
    that all differences of the layer share."""
    chain = diff.chain
    if chain is not None and chain.parting is not None and not _is_same(chain):
        yield f"they part at: {_where(chain.parting)}"
        sides = zip((diff.a, diff.b), chain.traces, strict=True)
        known = [
            (name, trace.chains[-1])
            for name, trace in sides
            if trace is not None and trace.exact is not None
        ]
        if known:
            yield sentence(known)
    if diff.causes is not None and diff.guilty is not None and str(diff.causes):
        yield f"{diff.guilty.name}: {diff.causes}"


def _is_same(chain: ChainPair) -> bool:
    a, b = chain.values
    return bool(a == b)


def _where(pair: Pair) -> str:
    """A step of each side in words, and its line."""
    return " | ".join(f"{row.words} ({row.place or row.how})" for row in pair.rows)


def trace_rows(trace: Trace) -> list[Row]:
    """The steps of all rules that do more than pass a number on."""
    return [row for chain in trace.chains for row in rows_of(chain) if not row.is_plain]


def _chain_dict(chain: ChainPair) -> dict[str, object]:
    exact = next((t.exact for t in chain.traces if t is not None), None)
    return {
        "at": str(chain.place),
        "input": chain.run,
        "values": [value.item() for value in chain.values],
        "exact": ratio(exact),
        "steps": pair_table(chain.pairs, "a", "b").records(),
        "parting": None if chain.parting is None else _where(chain.parting),
    }
