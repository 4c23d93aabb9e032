"""The way of one value through the product: the functions that it is passed to.

    python tests/walks.py qlower.cli.run:run options

A *stay* is a function that has the value for a parameter, reached from the given one by
calls that pass it by its name. A *climb* is a stay that passes it on: a reader has to
go up there again before the next call of the same function can be followed. Calls are
resolved by the text alone: names that are defined or imported, methods of the class at
hand, and other methods whose name a single class has.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Function:
    """A function or method, by its module and its name there."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


@dataclass
class Package:
    """All functions of the product, and the names that each module knows."""

    functions: dict[Function, FunctionNode] = field(
        default_factory=dict[Function, FunctionNode]
    )
    known: dict[tuple[str, str], Function] = field(
        default_factory=dict[tuple[str, str], Function]
    )
    """What a name means in a module."""

    @cached_property
    def methods(self) -> dict[str, list[Function]]:
        """The methods of each name."""
        found: dict[str, list[Function]] = {}
        for function in self.functions:
            if "." in function.name:
                found.setdefault(function.name.split(".")[1], []).append(function)
        return found

    @staticmethod
    def read() -> Package:
        package, imports = Package(), list[tuple[str, str, str, str]]()
        for path in sorted((ROOT / "qlower").rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            own = parts[:-1] if parts[-1] == "__init__" else parts
            module = ".".join(own)
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in tree.body:
                package.define(module, node)
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom):
                    base = parts[: len(parts) - node.level] if node.level else ()
                    source = ".".join([*base, *filter(None, [node.module])])
                    imports += [
                        (module, alias.asname or alias.name, source, alias.name)
                        for alias in node.names
                    ]
        for _ in range(3):  # names that rooms pass on from their own modules
            for module, name, source, original in imports:
                if (source, original) in package.known:
                    package.known[module, name] = package.known[source, original]
        return package

    def define(self, module: str, node: ast.stmt) -> None:
        """Enter a function, or the methods of a class; calling a class is its
        `__init__`."""
        if isinstance(node, FunctionNode):
            self.known[module, node.name] = made = Function(module, node.name)
            self.functions[made] = node
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, FunctionNode):
                    made = Function(module, f"{node.name}.{method.name}")
                    self.functions[made] = method
                    if method.name == "__init__":
                        self.known[module, node.name] = made

    def called(self, function: Function, target: ast.expr) -> Function | None:
        """The function that an expression in another one means."""
        match target:
            case ast.Name(id=name):
                return self.known.get((function.module, name))
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                own = Function(function.module, f"{function.name.split('.')[0]}.{name}")
                if own in self.functions:
                    return own
                found = self.methods.get(name, [])
            case ast.Attribute(attr=name):
                found = self.methods.get(name, [])
            case _:
                return None
        return found[0] if len(found) == 1 else None

    def passed(
        self, function: Function, parameter: str
    ) -> Iterator[tuple[Function, str]]:
        """The functions that get the value of a parameter, and what they call it."""
        for call in ast.walk(self.functions[function]):
            if not isinstance(call, ast.Call):
                continue
            other = self.called(function, call.func)
            if other is None:
                continue
            arguments = self.functions[other].args
            names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
            if "." in other.name and names and names[0] in ("self", "cls"):
                names = names[1:]
            pairs = [*zip(names, call.args, strict=False)]
            pairs += [(one.arg, one.value) for one in call.keywords if one.arg]
            for name, given in pairs:
                if isinstance(given, ast.Name) and given.id == parameter:
                    yield other, name


@dataclass
class Walk:
    """The stays of a value, in the order in which they are reached, and the climbs."""

    stays: list[Function] = field(default_factory=list[Function])
    climbs: list[Function] = field(default_factory=list[Function])


def walk(package: Package, start: Function, parameter: str) -> Walk:
    """Follow a parameter from a function on."""
    found, waiting, seen = Walk(), [(start, parameter)], set[tuple[Function, str]]()
    while waiting:
        stay = waiting.pop()
        if stay in seen:
            continue
        seen.add(stay)
        found.stays.append(stay[0])
        passed = [*package.passed(*stay)]
        if passed:
            found.climbs.append(stay[0])
        waiting += reversed(passed)
    return found


def main() -> None:
    place, parameter = sys.argv[1:]
    module, _, name = place.partition(":")
    found = walk(Package.read(), Function(module, name), parameter)
    for stay in found.stays:
        print(f"{'climb' if stay in found.climbs else 'stay ':<6}{stay}")
    rooms = {stay.module.split(".")[1] for stay in found.stays}
    print(f"{len(found.stays)} stays in {len(rooms)} rooms, {len(found.climbs)} climbs")


if __name__ == "__main__":
    main()
