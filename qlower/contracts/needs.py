"""The rules that a model needs of its contracts, checked before anything is lowered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Operation

from qlower.contracts import Contract
from qlower.contracts.values import LoadContract, contract_of
from qlower.diagnostics import QlowerError, location_name
from qlower.dialects import qnn, quant
from qlower.dialects.types import element_type

COMPLETE, OTHER = "tflite", "tflm"
"""For advice: a contract with nearly all rules, and one that has the others."""

_CASTS = (quant.QuantizeCastOp, quant.DequantizeCastOp)

MOST_NAMED = 8
"""Layers that an error names."""


@dataclass(frozen=True)
class Need:
    """An operation whose contract lacks some of its rules."""

    op: Operation
    contract: Contract
    missing: tuple[str, ...]


def rules_of(op: Operation, contract: Contract) -> tuple[str, ...]:
    """The rules that the contract needs for `op`."""
    match op:
        case qnn.Conv2DOp() | qnn.DepthwiseConv2DOp() | qnn.LinearOp():
            return (*op.rules, *_bias_rules(op, contract))
        case qnn.AvgPool2DOp() | qnn.SumOp():
            rule = contract.rules.get(op.kind)
            sums_addends = rule is not None and "sum" in rule.values
            return (*op.rules, *((f"{op.kind}_addend",) if sums_addends else ()))
        case qnn.QnnOp():
            return op.rules
        case quant.QuantizeCastOp():
            return ("quantize",)
        case quant.DequantizeCastOp():
            return ("dequantize",)
        case _:
            return ()


def unmet_needs(
    ops: Iterable[Operation], default: str | None, load: LoadContract
) -> Iterator[Need]:
    """The operations that can't be computed because there is no rule; `default` and
    `load` as in `contract_of`."""
    asking = [
        (op, contract_of(op, default, load))
        for op in ops
        if (op.rules if isinstance(op, qnn.QnnOp) else isinstance(op, _CASTS))
    ]
    rules: defaultdict[Contract, set[str]] = defaultdict(set)
    for op, contract in asking:
        rules[contract].update(op.rules if isinstance(op, qnn.QnnOp) else ())
    for contract, wanted in rules.items():
        contract.definition.read(wanted)
    for op, contract in asking:
        missing = [r for r in rules_of(op, contract) if r not in contract.rules]
        if missing:
            yield Need(op, contract, tuple(missing))


def check_needs(
    ops: Iterable[Operation], default: str | None, load: LoadContract
) -> None:
    """Refuse a model, with all rules that its contracts lack."""
    needs = list(unmet_needs(ops, default, load))
    if not needs:
        return
    contract = needs[0].contract
    needs = [need for need in needs if need.contract.name == contract.name]
    rules = list(
        dict.fromkeys(
            f"{rule}{need.contract.suffix}" for need in needs for rule in need.missing
        )
    )
    kinds = list(dict.fromkeys(_kind(need.op) for need in needs))
    layers = named_layers([need.op for need in needs])
    complete = COMPLETE if contract.name != COMPLETE else OTHER
    other = " ".join(f"--layer-contract {kind}={complete}" for kind in kinds)
    raise QlowerError(
        f"contract {contract.name} has no rule {', '.join(rules)}, which this model "
        "needs",
        needs[0].op.location,
        notes=[
            *([f"in {len(needs)} layers: {layers}"] if len(needs) > 1 else []),
            f"it defines {contract.rule_names}",
        ],
        help=f"give such layers another contract's arithmetic: {other}",
    )


def named_layers(ops: Sequence[Operation]) -> str:
    """The first of the operations by kind and name, and how many more there are."""
    named = [f"{_kind(op)} {location_name(op.location) or ''}".strip() for op in ops]
    more = len(named) - MOST_NAMED
    return ", ".join(named[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _kind(op: Operation) -> str:
    return op.kind if isinstance(op, qnn.QnnOp) else op.name


def _bias_rules(
    op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp, contract: Contract
) -> Iterator[str]:
    """The rule that brings the bias into the form that the contract takes."""
    rule = contract.rules.get(op.rules[0])
    if rule is None or op.bias is None:
        return
    is_real = isinstance(element_type(op.bias.type), Float32Type)
    if is_real and ("bias" in rule.values or "real_bias" not in rule.values):
        yield "quantize_bias"
    if not is_real and "real_bias" in rule.values:
        yield "dequantize_bias"
