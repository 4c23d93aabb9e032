"""SystemVerilog text of circuits: `hw`, `comb` and `seq.compreg` as `arith-to-comb` and
`pipeline-circuits` leave them.

Each operation is one line, named like the step of the contract that it comes from.
Literals are where they are used, tables are `case` statements, for which no tool needs
to infer a memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects import comb, hw, seq
from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from qlower.diagnostics import QlowerError

PORTS = "qlower.ports"

_WORDS = (
    "accept_on alias always always_comb always_ff always_latch and assert assign "
    "assume automatic before begin bind bins binsof bit break buf bufif0 bufif1 "
    "byte case casex casez cell chandle checker class clocking cmos config const "
    "constraint context continue cover covergroup coverpoint cross deassign "
    "default defparam design disable dist do edge else end endcase endchecker "
    "endclass endclocking endconfig endfunction endgenerate endgroup endinterface "
    "endmodule endpackage endprimitive endprogram endproperty endspecify "
    "endsequence endtable endtask enum event eventually expect export extends "
    "extern final first_match for force foreach forever fork forkjoin function "
    "generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins "
    "implements implies import incdir include initial inout input inside instance "
    "int integer interconnect interface intersect join join_any join_none large "
    "let liblist library local localparam logic longint macromodule matches "
    "medium modport module nand negedge nettype new nexttime nmos nor "
    "noshowcancelled not notif0 notif1 null or output package packed parameter "
    "pmos posedge primitive priority program property protected pull0 pull1 "
    "pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc "
    "randcase randsequence rcmos real realtime ref reg reject_on release repeat "
    "restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually "
    "s_nexttime s_until s_until_with scalared sequence shortint shortreal "
    "showcancelled signed small soft solve specify specparam static string strong "
    "strong0 strong1 struct super supply0 supply1 sync_accept_on sync_reject_on "
    "table tagged task this throughout time timeprecision timeunit tran tranif0 "
    "tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 "
    "unsigned until until_with untyped use uwire var vectored virtual void wait "
    "wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor "
    "xor"
)
KEYWORDS: frozenset[str] = frozenset(_WORDS.split(" "))
"""The reserved words of IEEE 1800-2017."""

_VARIADIC: Mapping[type[Operation], str] = {
    comb.AddOp: "+",
    comb.MulOp: "*",
    comb.AndOp: "&",
    comb.OrOp: "|",
    comb.XorOp: "^",
}
_BINARY: Mapping[type[Operation], tuple[str, bool]] = {
    comb.SubOp: ("-", False),
    comb.DivUOp: ("/", False),
    comb.DivSOp: ("/", True),
    comb.ModUOp: ("%", False),
    comb.ModSOp: ("%", True),
    comb.ShlOp: ("<<", False),
    comb.ShrUOp: (">>", False),
    comb.ShrSOp: (">>>", True),
}
"""An operator, and whether it reads its operands as signed; a shift only the first."""

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_SIGNED_COMPARISONS = range(2, 6)


def systemverilog(module: hw.HWModuleOp, comments: Sequence[str] = ()) -> str:
    """The text of a module, after `comments` of a line each.

    Raises `QlowerError` for an operation that no circuit of qlower's has.
    """
    return "\n".join(_Printer(module).lines(comments)) + "\n"


def width_of(value: SSAValue) -> int:
    """Bits of a value; 1 of a clock."""
    return _bits(value.type)


def port_bits(port: hw.ModulePort) -> int:
    """Bits of a port; 1 of a clock."""
    return _bits(port.type)


def _bits(type: Attribute) -> int:
    return type.bitwidth if isinstance(type, IntegerType) else 1


class _Printer:
    def __init__(self, module: hw.HWModuleOp) -> None:
        self._module = module
        self._names: dict[SSAValue, str] = {}
        self._taken = set[str](KEYWORDS)
        for port in module.module_type.ports.data:
            if _identifier(port.port_name.data) != port.port_name.data:
                raise QlowerError(
                    f"port {port.port_name.data!r} is no name in SystemVerilog",
                    module.location,
                )
            self._taken.add(port.port_name.data)

    def lines(self, comments: Sequence[str]) -> Iterator[str]:
        module = self._module
        block = module.body.block
        yield from (f"// {line}".rstrip() for line in comments)
        yield f"module {_identifier(module.sym_name.data)} ("
        inputs = iter(block.args)
        ports = module.module_type.ports.data
        for number, port in enumerate(ports):
            name = port.port_name.data
            if port.dir.data.is_input_like():
                self._names[next(inputs)] = name
            yield self._port(name, port) + ("," if number < len(ports) - 1 else "")
        yield ");"
        if any(isinstance(op, comb.ExtractOp | comb.MulOp) for op in block.ops):
            yield "  // a shift drops bits that no step reads"
            yield "  /* verilator lint_off UNUSEDSIGNAL */"
        outputs = [
            port.port_name.data for port in ports if not port.dir.data.is_input_like()
        ]
        for op in block.ops:
            if isinstance(op, hw.OutputOp):
                for name, value in zip(outputs, op.operands, strict=True):
                    yield f"  assign {name} = {self._read(value)};"
            elif not _is_inline(op):
                yield from self._statement(op)
        yield "endmodule"

    def _port(self, name: str, port: hw.ModulePort) -> str:
        """The declaration of a port, with the integers that it can be."""
        is_input = port.dir.data.is_input_like()
        range = _port_range(self._module, name)
        signed = " signed" if range is not None and range[0] < 0 else ""
        width = port_bits(port)
        size = f" [{width - 1}:0]" if width > 1 or signed else ""
        shown = f"  /* [{range[0]}, {range[1]}] */" if range is not None else ""
        return (
            f"  {'input ' if is_input else 'output'} logic{signed}{size} {name}{shown}"
        )

    def _name(self, value: SSAValue) -> str:
        """A new name for a value."""
        base = _identifier(value.name_hint or "t")
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        self._names[value] = name
        return name

    def _read(self, value: SSAValue, *, signed: bool = False) -> str:
        owner = value.owner
        if isinstance(owner, hw.ConstantOp):
            return _literal(owner.value.value.data, width_of(value), signed)
        if value in self._names:
            text = self._names[value]
        else:
            assert isinstance(owner, Operation), "ports have names"
            text = self._expression(owner)
        return f"$signed({text})" if signed else text

    def _statement(self, op: Operation) -> Iterator[str]:
        (result,) = op.results
        width = width_of(result)
        size = f" [{width - 1}:0]" if width > 1 else ""
        if isinstance(op, seq.CompRegOp):
            if op.reset is not None or op.power_on_value is not None:
                raise QlowerError("a register with a reset isn't printed", op.location)
            source, clock = self._read(op.input), self._read(op.clk)
            name = self._name(result)
            yield f"  logic{size} {name};"
            yield f"  always_ff @(posedge {clock}) {name} <= {source};"
        elif isinstance(op, hw.ArrayGetOp):
            yield from self._case(op, size)
        else:
            text = self._expression(op)
            yield f"  wire{size} {self._name(result)} = {text};"

    def _case(self, op: hw.ArrayGetOp, size: str) -> Iterator[str]:
        table = op.input.owner
        if not isinstance(table, hw.ArrayCreateOp):
            raise QlowerError("an array that is no table isn't printed", op.location)
        index, bits = self._read(op.index), width_of(op.index)
        name = self._name(op.result)
        yield f"  logic{size} {name};"
        yield "  always_comb"
        yield f"    case ({index})"
        for number, entry in enumerate(reversed(table.inputs)):
            yield f"      {bits}'d{number}: {name} = {self._read(entry)};"
        yield f"      default: {name} = '0;"
        yield "    endcase"

    def _expression(self, op: Operation) -> str:
        kind = type(op)
        if kind in _VARIADIC:
            return f" {_VARIADIC[kind]} ".join(map(self._read, op.operands))
        if kind in _BINARY:
            sign, signed = _BINARY[kind]
            is_shift = kind in (comb.ShlOp, comb.ShrUOp, comb.ShrSOp)
            left = self._read(op.operands[0], signed=signed)
            right = self._read(op.operands[1], signed=signed and not is_shift)
            return f"{left} {sign} {right}"
        match op:
            case comb.ICmpOp():
                number = op.predicate.value.data
                signed = number in _SIGNED_COMPARISONS
                left, right = (
                    self._read(one, signed=signed) for one in (op.lhs, op.rhs)
                )
                return f"{left} {_COMPARISONS[number]} {right}"
            case comb.MuxOp():
                condition, yes, no = map(self._read, op.operands)
                return f"{condition} ? {yes} : {no}"
            case comb.ExtractOp():
                low, width = op.low_bit.value.data, width_of(op.result)
                if width_of(op.input) == 1:
                    return self._read(op.input)
                high = low + width - 1
                place = f"{high}:{low}" if width > 1 else f"{low}"
                return f"{self._read(op.input)}[{place}]"
            case comb.ConcatOp():
                return f"{{{', '.join(map(self._read, op.operands))}}}"
            case comb.ReplicateOp():
                count = width_of(op.result) // width_of(op.input)
                return f"{{{count}{{{self._read(op.input)}}}}}"
            case _:
                raise QlowerError(
                    f"{op.name} is no step of a circuit in SystemVerilog", op.location
                )


def _is_inline(op: Operation) -> bool:
    """Whether an operation is written where its result is used: parts of names, and
    what is in braces, unless parts of that are taken."""
    if isinstance(op, hw.ConstantOp | hw.ArrayCreateOp):
        return True
    if not isinstance(op, comb.ExtractOp | comb.ConcatOp | comb.ReplicateOp):
        return False
    (result,) = op.results
    return result.name_hint is None and not any(
        isinstance(use.operation, comb.ExtractOp) for use in result.uses
    )


def _literal(value: int, width: int, signed: bool) -> str:
    """A number of some bits, as it is read."""
    value %= 1 << width
    if not signed:
        return f"{width}'d{value}"
    if value >> (width - 1):
        return f"-{width}'sd{(1 << width) - value}"
    return f"{width}'sd{value}"


def _port_range(module: hw.HWModuleOp, name: str) -> tuple[int, int] | None:
    """The integers that a port can be, if its module says."""
    ports = module.attributes.get(PORTS)
    found: Attribute | None = None
    if isinstance(ports, DictionaryAttr):
        found = ports.data.get(name)
    if not isa(found, DenseArrayBase[IntegerType]):
        return None
    low, high = (int(one) for one in found.get_values())
    return low, high


def _identifier(name: str) -> str:
    """A name with the characters that SystemVerilog has, and not one of its words."""
    text = re.sub(r"[^A-Za-z0-9_]", "_", name)
    if not re.match(r"[A-Za-z_]", text):
        text = f"_{text}"
    return f"{text}_" if text in KEYWORDS else text
