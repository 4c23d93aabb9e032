"""The targets of an instruction set, and how their names are checked."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from qlower.codegen.targets.base import Target
from qlower.codegen.targets.elsewhere import what_serves
from qlower.codegen.targets.processor import Processor
from qlower.codegen.targets.triples import is_tested_system
from qlower.diagnostics import QlowerError, printable


@dataclass(frozen=True)
class Architecture:
    """Targets of one instruction set.

    `cpus`: every CPU that LLVM knows, by the features that `table` asks of it; the
    first is the least that all code for the architecture can rely on. `features` are
    LLVM's names, without its tuning switches; `implied` says what comes with one;
    `required` can't be removed. `table` makes a target of a triple, a CPU, LLVM's
    feature list, and the features present of those that have a meaning in `cpus`.
    `levels` are CPUs, some with features, that differ in the code they get. `processor`
    is how Linux programs ask for features; `withheld` gives what this machine has, but
    its system refuses to this process.
    """

    names: tuple[str, ...]
    cpus: Mapping[str, frozenset[str]]
    features: frozenset[str]
    implied: Mapping[str, str]
    required: frozenset[str]
    table: Callable[[str, str, str, frozenset[str]], Target]
    levels: tuple[str, ...] = ()
    processor: Processor | None = None
    withheld: Callable[[Mapping[str, bool]], Iterable[str]] = lambda present: ()

    def target(self, triple: str, cpu: str, features: str | None) -> Target:
        """The target of a CPU with refined features; QlowerError for unknown names
        and systems."""
        self._check_known("cpu", cpu, self.cpus)
        is_tested = is_tested_system(triple)
        parsed = self._parse_features(features)
        target = self._target(triple, cpu, parsed, self.cpus[cpu])
        return target if is_tested else replace(target, is_experimental=True)

    def this_machine(
        self, triple: str, cpu: str, present: Mapping[str, bool], features: str | None
    ) -> Target:
        """The target of a machine whose features are known."""
        present = {**present, **dict.fromkeys(self.withheld(present), False)}
        items = [
            f"{'+' if has else '-'}{name}" for name, has in sorted(present.items())
        ]
        return self._target(
            triple, cpu, (*items, *self._parse_features(features)), frozenset()
        )

    def level(self, triple: str, cpu: str, features: str | None) -> Target:
        """`target`, without features that code can't ask the processor for.

        Other features that LLVM may use, because the CPU has them, are left out; the
        code is scheduled for the CPU all the same. Raises QlowerError for a feature
        that is requested and can't be asked for.
        """
        exact = self.target(triple, cpu, features)
        if exact.processor is None:
            raise QlowerError(
                f"code for {triple} carries one level: no system is known there that "
                "tells what a processor has",
                help="name one CPU",
            )
        for item in self._parse_features(features):
            if item[0] == "+" and item[1:] not in exact.processor.bits:
                raise QlowerError(
                    f"code can't ask a processor for feature {item[1:]!r}, so that no "
                    "level can have it",
                    help=f"known are {', '.join(sorted(exact.processor.bits))}",
                )
        least = next(iter(self.cpus))
        needs = ",".join(f"+{name}" for name in sorted(exact.needs))
        return replace(self.target(triple, least, needs), tuned_for=cpu)

    def _target(
        self, triple: str, cpu: str, features: tuple[str, ...], base: frozenset[str]
    ) -> Target:
        @cache
        def implied(name: str) -> set[str]:
            return self._with_implied({name})

        present = self._with_implied(base)
        for item in features:
            if item[0] == "+":
                present |= implied(item[1:])
            else:
                present = {f for f in present if item[1:] not in implied(f)}
        target = self.table(triple, cpu, ",".join(features), frozenset(present))
        processor = self.processor_on(triple)
        if processor is None:
            return target
        needs = frozenset(present & processor.bits.keys())
        return replace(target, processor=processor, needs=needs)

    def processor_on(self, triple: str) -> Processor | None:
        """The processor that code for a triple asks for features; None without one."""
        has_linux = not {"linux", "android"}.isdisjoint(triple.split("-"))
        return self.processor if has_linux else None

    def _parse_features(self, text: str | None) -> tuple[str, ...]:
        """The signed feature names of "+a,-b"; QlowerError for an unknown one."""
        items = [item.strip() for item in (text or "").split(",") if item.strip()]
        for item in items:
            if item[0] not in "+-":
                name = printable(item)
                raise QlowerError(
                    f"feature {item!r} has no sign, expected +{name} or -{name}"
                )
            self._check_known("feature", item[1:], self.features)
            if item[0] == "-" and item[1:] in self.required:
                raise QlowerError(
                    f"feature {item!r} can't be removed: all {self.names[0]} code "
                    "has it"
                )
        return tuple(items)

    def _check_known(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        if name in names:
            return
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        raise QlowerError(
            f"unknown {kind} {name!r} for {self.names[0]}",
            notes=what_serves(name),
            help=f"did you mean {', '.join(close)}?"
            if close
            else f"known are {', '.join(names)}",
        )

    def _with_implied(self, features: Iterable[str]) -> set[str]:
        """`features` and all that they imply."""
        found: set[str] = set()
        pending = list(features)
        while pending:
            name = pending.pop()
            found.add(name)
            pending += self.implied.get(name, "").split()
        return found


def cpu_table(groups: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """CPUs by their features, from lists of CPUs by lists of features."""
    return {
        name: frozenset(features.split())
        for features, names in groups.items()
        for name in names.split()
    }


def with_least(least: str, features: str) -> str:
    """The features with those that all code has, once."""
    if features.startswith(least):
        return features
    return ",".join(filter(None, (least, features)))
