"""Circuits as SystemVerilog: each operation, name and refusal as text."""

from __future__ import annotations

from importlib import import_module

import pytest
from xdsl.dialects import hw

from qlower.diagnostics import QlowerError
from qlower.emit.systemverilog import KEYWORDS, port_bits, systemverilog, width_of
from qlower.text.parsing import parse_module


def module(
    ports: str, body: str, attributes: str = "", name: str = "m"
) -> hw.HWModuleOp:
    text = f"hw.module @{name}({ports}) {attributes} {{\n{body}\n}}"
    (found,) = parse_module(text, "m.mlir").body.ops
    assert isinstance(found, hw.HWModuleOp)
    return found


PORTS = "in %a: i6, in %b: i6, in %c: i1, out y: i6"


def printed(body: str) -> list[str]:
    text = systemverilog(module(PORTS, f"{body}\nhw.output %r : i6"))
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if " = " in line and not line.startswith("assign")]


OPERATIONS = {
    "%r = comb.add %a, %b : i6": "wire [5:0] r = a + b;",
    "%r = comb.add %a, %b, %a : i6": "wire [5:0] r = a + b + a;",
    "%r = comb.sub %a, %b : i6": "wire [5:0] r = a - b;",
    "%r = comb.mul %a, %b : i6": "wire [5:0] r = a * b;",
    "%r = comb.and %a, %b : i6": "wire [5:0] r = a & b;",
    "%r = comb.or %a, %b : i6": "wire [5:0] r = a | b;",
    "%r = comb.xor %a, %b : i6": "wire [5:0] r = a ^ b;",
    "%r = comb.divu %a, %b : i6": "wire [5:0] r = a / b;",
    "%r = comb.divs %a, %b : i6": "wire [5:0] r = $signed(a) / $signed(b);",
    "%r = comb.modu %a, %b : i6": "wire [5:0] r = a % b;",
    "%r = comb.mods %a, %b : i6": "wire [5:0] r = $signed(a) % $signed(b);",
    "%r = comb.shl %a, %b : i6": "wire [5:0] r = a << b;",
    "%r = comb.shru %a, %b : i6": "wire [5:0] r = a >> b;",
    "%r = comb.shrs %a, %b : i6": "wire [5:0] r = $signed(a) >>> b;",
    "%r = comb.mux %c, %a, %b : i6": "wire [5:0] r = c ? a : b;",
}


@pytest.mark.parametrize("text", OPERATIONS)
def test_operations(text: str) -> None:
    assert printed(text) == [OPERATIONS[text]]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        *(("eq", "a == b"), ("ne", "a != b")),
        *(("slt", "$signed(a) < $signed(b)"), ("sle", "$signed(a) <= $signed(b)")),
        *(("sgt", "$signed(a) > $signed(b)"), ("sge", "$signed(a) >= $signed(b)")),
        *(("ult", "a < b"), ("ule", "a <= b"), ("ugt", "a > b"), ("uge", "a >= b")),
    ],
)
def test_comparisons(predicate: str, expected: str) -> None:
    found = printed(
        f"%l = comb.icmp {predicate} %a, %b : i6\n%r = comb.mux %l, %a, %b : i6"
    )
    assert found == [f"wire l = {expected};", "wire [5:0] r = l ? a : b;"]


def test_numbers_where_they_are_used() -> None:
    found = printed(
        "%n = hw.constant -3 : i6\n%s = comb.icmp slt %a, %n : i6\n"
        "%p = hw.constant 5 : i6\n%u = comb.icmp ult %a, %p : i6\n"
        "%x = comb.mux %s, %n, %p : i6\n%r = comb.mux %u, %x, %a : i6"
    )
    assert found == [
        "wire s = $signed(a) < -6'sd3;",
        "wire u = a < 6'd5;",
        "wire [5:0] x = s ? 6'd61 : 6'd5;",
        "wire [5:0] r = u ? x : a;",
    ]


def test_parts_without_a_name_are_where_they_are_used() -> None:
    """Unless a part is taken of them."""
    found = printed(
        "%0 = comb.extract %a from 1 : (i6) -> i3\n"
        "%1 = comb.extract %c from 0 : (i1) -> i1\n"
        "%2 = comb.replicate %1 : (i1) -> i3\n"
        "%r = comb.concat %0, %2 : i3, i3"
    )
    assert found == ["wire [5:0] r = {a[3:1], {3{c}}};"]
    found = printed(
        "%0 = comb.concat %a, %b : i6, i6\n%r = comb.extract %0 from 3 : (i12) -> i6"
    )
    assert found == ["wire [11:0] t = {a, b};", "wire [5:0] r = t[8:3];"]


def test_names_that_are_taken() -> None:
    found = printed(
        "%0 = comb.add %a, %b : i6\n%1 = comb.add %0, %b : i6\n"
        "%2 = comb.add %1, %0 : i6\n%wire = comb.add %2, %b : i6\n"
        "%r = comb.add %wire, %b : i6"
    )
    assert [line.split(" = ")[0].split()[-1] for line in found] == [
        *("t", "t_2", "t_3", "wire_", "r"),
    ]


def test_tables_and_registers() -> None:
    text = systemverilog(
        module(
            "in %a: i2, in %clk: !seq.clock, out r: i6, out q: i1",
            "%0 = hw.constant 7 : i6\n%1 = hw.constant -1 : i6\n"
            "%2 = hw.constant 9 : i6\n%t = hw.array_create %0, %1, %2 : i6\n"
            "%e = hw.array_get %t[%a] : !hw.array<3xi6>, i2\n"
            "%x = seq.compreg %e, %clk : i6\n"
            "%l = comb.extract %x from 5 : (i6) -> i1\n"
            "%k = seq.compreg %l, %clk : i1\n"
            "hw.output %x, %k : i6, i1",
        ),
        ["first", "", "third  "],
    )
    assert text.splitlines() == [
        "// first",
        "//",
        "// third",
        "module m (",
        "  input  logic [1:0] a,",
        "  input  logic clk,",
        "  output logic [5:0] r,",
        "  output logic q",
        ");",
        "  // a shift drops bits that no step reads",
        "  /* verilator lint_off UNUSEDSIGNAL */",
        "  logic [5:0] e;",
        "  always_comb",
        "    case (a)",
        "      2'd0: e = 6'd9;",
        "      2'd1: e = 6'd63;",
        "      2'd2: e = 6'd7;",
        "      default: e = '0;",
        "    endcase",
        "  logic [5:0] x;",
        "  always_ff @(posedge clk) x <= e;",
        "  wire l = x[5];",
        "  logic k;",
        "  always_ff @(posedge clk) k <= l;",
        "  assign r = x;",
        "  assign q = k;",
        "endmodule",
    ]


@pytest.mark.parametrize(
    ("ends", "port"),
    [
        ("-3, 7", "  input  logic signed [5:0] a  /* [-3, 7] */,"),
        ("0, 7", "  input  logic [5:0] a  /* [0, 7] */,"),
    ],
)
def test_ports_with_their_integers(ends: str, port: str) -> None:
    attributes = f"attributes {{qlower.ports = {{a = array<i64: {ends}>}}}}"
    found = module(PORTS, "hw.output %a : i6", attributes)
    lines = systemverilog(found).splitlines()
    assert lines[1] == port
    assert lines[2:5] == [
        *("  input  logic [5:0] b,", "  input  logic c,", "  output logic [5:0] y"),
    ]
    assert "lint_off" not in "\n".join(lines)
    assert [port_bits(one) for one in found.module_type.ports.data] == [6, 6, 1, 6]
    assert [width_of(one) for one in found.body.block.args] == [6, 6, 1]


def test_a_signed_port_of_one_bit() -> None:
    attributes = "attributes {qlower.ports = {c = array<i64: -1, 0>}}"
    lines = systemverilog(module(PORTS, "hw.output %a : i6", attributes)).splitlines()
    assert lines[3] == "  input  logic signed [0:0] c  /* [-1, 0] */,"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", "a"),
        ("a.b-c", "a_b_c"),
        ("1a", "_1a"),
        ("wire", "wire_"),
        ("_x9", "_x9"),
        ("$x", "_x"),
        ("", "_"),
    ],
)
def test_names(name: str, expected: str) -> None:
    identifier = vars(import_module("qlower.emit.systemverilog"))["_identifier"]
    assert identifier(name) == expected
    assert len(KEYWORDS) == 248


@pytest.mark.parametrize("port", ["wire", "a.b"])
def test_ports_that_are_no_names(port: str) -> None:
    found = module(f'in %a: i6, out "{port}": i6', "hw.output %a : i6")
    with pytest.raises(QlowerError) as caught:
        systemverilog(found)
    assert caught.value.message == f"port {port!r} is no name in SystemVerilog"


def test_operations_that_no_circuit_has() -> None:
    found = module(PORTS, "%r = arith.addi %a, %b : i6\nhw.output %r : i6")
    with pytest.raises(QlowerError) as caught:
        systemverilog(found)
    assert caught.value.message == (
        "arith.addi is no step of a circuit in SystemVerilog"
    )
