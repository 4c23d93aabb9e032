"""A function of a dialect that states its own arithmetic, while it is lowered."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import ClassVar

from xdsl.ir import SSAValue

from qlower.contracts import Rule, load_contract
from qlower.emit.inline_rule import inline_rule
from qlower.emit.tensors import constant_of
from qlower.interp.values import Array
from qlower.model.nests import Nest
from qlower.transforms.lowered_function import LoweredFunction


@cache
def _function(contract: str, name: str) -> Rule:
    return load_contract(contract).definition.function(name)


class StatedFunction(LoweredFunction):
    """A lowered function whose steps are functions of `contract`, and of no other."""

    contract: ClassVar[str]

    @classmethod
    def step(cls, name: str) -> Rule:
        """A function of the contract."""
        return _function(cls.contract, name)

    def constant(self, source: SSAValue) -> Array | None:
        """The stored elements of a constant operand; None if it is computed."""
        return constant_of(self.value(source))

    def inline(
        self,
        nest: Nest,
        name: str,
        runtime: Mapping[str, SSAValue],
        constants: Mapping[str, Array],
    ) -> SSAValue:
        """What a function of the contract gives at each iteration."""
        (result,) = inline_rule(self.step(name), runtime, constants, nest)
        return result
