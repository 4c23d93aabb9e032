"""From the qnn level, or that of another dialect, to the arith level.

qnn --lower-qnn--> arith
tosa --lower-tosa--> arith
stablehlo --lower-stablehlo--> arith
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from qlower.compilation.passes import Observer, apply_passes
from qlower.contracts import load_contract
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.model.layer_contracts import check_takes_contract
from qlower.model.layers import has_dialect
from qlower.process.float_environment import default_floats
from qlower.process.garbage import rare_collections
from qlower.transforms.lower_qnn import LowerQnnPass
from qlower.transforms.tidying import CanonicalizePass, CsePass, DcePass


@default_floats()
@rare_collections()
def lower_to_arith(
    module: ModuleOp,
    contract: str | None = None,
    *,
    expand_fixed: bool = False,
    observers: Sequence[Observer] = (),
    verify: bool = True,
) -> ModuleOp:
    """A copy of a qnn-level module at the arith level; `verify` as in `apply_passes`.

    `contract` names the numerics (or is the path of a file with them), in place of the
    module's own. With `expand_fixed` the result is upstream MLIR, without our ops.
    """
    passes = arith_passes(module, contract)
    if expand_fixed:
        from qlower.transforms.expand_fixed import ExpandFixedPass

        passes += [ExpandFixedPass(), CanonicalizePass()]
    return apply_passes(module, passes, observers, verify=verify)


def arith_passes(module: ModuleOp, contract: str | None) -> list[ModulePass]:
    """The passes from the qnn to the arith level; only the remaining ones for a module
    that is already lower."""
    if contract is not None:
        load_contract(contract)  # refuse an unknown one here, not at the first layer
        check_takes_contract(module, contract)
    above: list[ModulePass] = []
    if has_dialect(module, "tosa"):
        from qlower.transforms.lower_tosa import LowerTosaPass

        above.append(LowerTosaPass())
    if has_dialect(module, "stablehlo"):
        from qlower.transforms.lower_stablehlo import LowerStablehloPass

        above.append(LowerStablehloPass())
    elif _is_quantized(module):
        above.append(LowerQnnPass(contract=contract))
    return [
        *above,
        CanonicalizePass(),
        CsePass(),
        DcePass(),
    ]


def _is_quantized(module: ModuleOp) -> bool:
    """Whether anything is left for lower-qnn to do."""
    return any(
        op.dialect_name() in ("qnn", "quant")
        or any(isinstance(element_type(type), QuantizedType) for type in _types(op))
        for op in module.walk()
    )


def _types(op: Operation) -> Sequence[Attribute]:
    """The types of the values that an operation or its blocks define."""
    arguments = (
        argument.type
        for region in op.regions
        for block in region.blocks
        for argument in block.args
    )
    return (*op.result_types, *arguments)
