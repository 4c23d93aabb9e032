"""Pass set-target: the machine that a module is compiled for, as its attribute.

    module attributes {qlower.target = {triple = "x86_64-linux-gnu", cpu = "x86-64-v3"}}

Passes that depend on the machine read it there, so that text at any level can be taken
on by `qlower-opt` as `qlower` would.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass

from qlower.codegen.targets.optimized import SPEED
from qlower.codegen.targets.resolve import Target, resolve_target
from qlower.diagnostics import QlowerError

TARGET = "qlower.target"
"""The attribute of a module: a dictionary of strings with the keys of `_KEYS`."""

_KEYS = ("triple", "cpu", "features", "tuned_for", "optimize")
"""As the fields of `Target`; all but the first may be missing."""


@dataclass(frozen=True)
class SetTargetPass(ModulePass):
    """Say which machine the module is for.

    `triple` is "host" (default) or such as "aarch64-linux-gnu", `cpu` a name that LLVM
    knows, `features` a list such as "+dotprod,-i8mm", `tuned_for` another CPU whose
    speeds are assumed, `optimize` "ram" for a small arena.
    """

    name = "set-target"

    triple: str = "host"
    cpu: str | None = None
    features: str | None = None
    tuned_for: str | None = None
    optimize: str | None = None

    @staticmethod
    def of(target: Target) -> SetTargetPass:
        """The pass that sets this target."""
        return SetTargetPass(
            target.triple,
            target.cpu,
            target.features or None,
            target.tuned_for or None,
            None if target.optimize == SPEED else target.optimize,
        )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        named = self.triple, self.cpu, self.features, self.tuned_for, self.optimize
        target = _target(*named)
        values = {key: str(getattr(target, key)) for key in _KEYS}
        if target.optimize == SPEED:
            del values["optimize"]
        op.attributes[TARGET] = DictionaryAttr(
            {key: StringAttr(value) for key, value in values.items() if value}
        )


def target_of(module: ModuleOp) -> Target:
    """The machine that the module says it is for; QlowerError if it doesn't."""
    attribute = module.attributes.get(TARGET)
    if attribute is None:
        raise QlowerError(
            f"the module has no {TARGET}, which the pass depends on",
            module.location,
            help="the pass set-target gives it one: -p 'set-target{cpu=x86-64-v3},...'",
        )
    if not isinstance(attribute, DictionaryAttr):
        raise _wrong(module, f"is {attribute}, not a dictionary")
    values: dict[str, str] = {}
    for key, value in attribute.data.items():
        if key not in _KEYS:
            raise _wrong(module, f"has the key {key!r}, not one of {', '.join(_KEYS)}")
        if not isinstance(value, StringAttr):
            raise _wrong(module, f"has {key} = {value}, not a string")
        values[key] = value.data
    if "triple" not in values:
        raise _wrong(module, "has no triple")
    try:
        return _target(*(values.get(key) for key in _KEYS))
    except QlowerError as error:
        raise QlowerError(error.message, module.location, help=error.help) from error


@lru_cache
def _target(
    triple: str | None,
    cpu: str | None,
    features: str | None,
    tuned_for: str | None,
    optimize: str | None,
) -> Target:
    target = replace(resolve_target(triple, cpu, features), tuned_for=tuned_for or "")
    return target.optimized(optimize or SPEED)


def _wrong(module: ModuleOp, what: str) -> QlowerError:
    return QlowerError(f"{TARGET} {what}", module.location)
