"""The question of a lane as SMT-LIB: is there an input on which both differ?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from qlower.circuits.rtl.binding import Binding
from qlower.circuits.rtl.design import Design
from qlower.diagnostics import QlowerError
from qlower.emit.smtlib import bit_vector, definitions
from qlower.model.nests import scalar_constant
from qlower.transforms.arith_to_comb.circuit import signed_bits
from qlower.transforms.arith_to_smt import to_smt
from qlower.transforms.expand_fixed import ExpandFixedPass
from qlower.transforms.ranges import Range
from qlower.transforms.scalar_ranges import table_entries


def claim(
    design: Design,
    binding: Binding,
    function: FuncOp,
    ranges: Mapping[str, Range],
    selected: Mapping[str, int],
    latency: int,
) -> tuple[str, Sequence[str]]:
    """A script whose verdict is `unsat` if module and function agree, and its
    variables, the function's arguments.

    `ranges` are those of the arguments, by name in order; one of a single number is a
    constant. `selected` is what ports have that no argument is for: the channel.
    """
    lines = [design.smt.replace("\r", ""), "; the contract's function"]
    names: list[str] = []
    terms: list[str] = []
    fixed: dict[int, int] = {}
    widths: dict[str, int] = {}
    for index, (name, (low, high)) in enumerate(ranges.items()):
        bits = _bits(function, index)
        if low == high:
            fixed[index] = low
            continue
        names.append(name)
        own = signed_bits((low, high))
        widths[name] = own
        terms.append(_resized(name, own, bits))
        least, most = bit_vector(low, own), bit_vector(high, own)
        lines += [
            f"(declare-const {name} (_ BitVec {own}))",
            f"(assert (and (bvsle {least} {name}) (bvsle {name} {most})))",
        ]
    if not names:
        raise QlowerError("nothing changes with the input")
    special = _specialized(function, fixed)
    found = definitions(special, "step", terms)
    result, defined = found.results
    lines += [*found.lines, f"(assert {defined})", "; the module"]
    top = design.top
    states = [f"state{cycle}" for cycle in range(latency + 1)]
    driven: list[dict[str, str]] = [{} for _ in states]
    for port, name in binding.inputs.items():
        bits = design.ports[port].bits
        if name in names:
            driven[0][port] = _resized(name, widths[name], bits)
        else:
            number = selected.get(name, ranges.get(name, (0, 0))[0])
            driven[0][port] = bit_vector(number, bits)
    for port, number in binding.held.items():
        for one in driven:
            one[port] = bit_vector(number, design.ports[port].bits)
    for state, one in zip(states, driven, strict=True):
        lines += _state(design, state, one)
    for before, after in pairwise(states):
        lines.append(f"(assert (|{top}_t| {before} {after}))")
    output = binding.output
    wanted = _resized(result, _result_bits(function), output.bits)
    same = _equal(design, output.name, states[-1], wanted)
    lines += [f"(assert (not {same}))", "(check-sat)"]
    text = "\n".join(["(set-option :produce-models true)", "(set-logic QF_BV)", *lines])
    return text + "\n", names


def _state(design: Design, state: str, driven: Mapping[str, str]) -> list[str]:
    """A state whose input ports have given terms, and whose other bits are any.

    It is put together of terms, so that a solver that only rewrites sees a constant
    multiplier as one.
    """
    lines: list[str] = []
    parts: list[str] = []
    top = design.state_bits

    def free(high: int, low: int) -> None:
        if high >= low:
            name = f"{state}_{low}"
            lines.append(f"(declare-const {name} (_ BitVec {high - low + 1}))")
            parts.append(name)

    for low, bits, port in sorted(design.places, reverse=True):
        if port in driven:
            free(top - 1, low + bits)
            parts.append(driven[port])
            top = low
    free(top - 1, 0)
    whole = f"(concat {' '.join(parts)})" if len(parts) > 1 else parts[0]
    lines.append(f"(define-fun {state} () |{design.top}_s| {whole})")
    return lines


def _equal(design: Design, port: str, state: str, term: str) -> str:
    """A port is a bit vector; a boolean if it has one bit."""
    value = f"(|{design.top}_n {port}| {state})"
    if design.ports[port].bits == 1:
        term = f"(= {term} (_ bv1 1))"
    return f"(= {value} {term})"


def _resized(term: str, bits: int, wanted: int) -> str:
    """A signed number modulo two to another width."""
    if wanted > bits:
        return f"((_ sign_extend {wanted - bits}) {term})"
    return f"((_ extract {wanted - 1} 0) {term})" if wanted < bits else term


def _bits(function: FuncOp, index: int) -> int:
    type = function.function_type.inputs.data[index]
    assert isinstance(type, IntegerType)
    return type.bitwidth


def _result_bits(function: FuncOp) -> int:
    (type,) = function.function_type.outputs
    assert isinstance(type, IntegerType)
    return type.bitwidth


def _specialized(function: FuncOp, fixed: Mapping[int, int]) -> FuncOp:
    """The function in terms of SMT-LIB with some arguments as numbers."""
    copy = function.clone()
    module = ModuleOp([copy])
    copy.arg_attrs = None
    block = copy.body.block
    for index in sorted(fixed, reverse=True):
        argument = block.args[index]
        number = scalar_constant(np.int64(fixed[index]), argument.type)
        first = block.first_op
        assert first is not None
        block.insert_op_before(number, first)
        argument.replace_all_uses_with(number.result)
        block.erase_arg(argument)
    copy.update_function_type()
    for op in tuple(block.ops):
        if isinstance(op, ExtractOp):
            _expand_table(op)
    ExpandFixedPass().apply(Context(), module)
    return to_smt(copy)


def _expand_table(op: ExtractOp) -> None:
    """An entry of a table as choices."""
    entries = table_entries(op.tensor)
    cast = op.indices[0].owner
    assert entries is not None
    assert isinstance(cast, arith.IndexCastOp)
    index, type = cast.input, op.result.type
    found = scalar_constant(np.int64(entries[-1]), type)
    steps: list[Operation] = [found]
    value = found.result
    for number, entry in reversed(tuple(enumerate(entries[:-1]))):
        place = scalar_constant(np.int64(number), index.type)
        here = arith.CmpiOp(index, place.result, "eq")
        constant = scalar_constant(np.int64(entry), type)
        choice = arith.SelectOp(here.result, constant.result, value)
        steps += [place, here, constant, choice]
        value = choice.result
    Rewriter.replace_op(op, steps, [value])
