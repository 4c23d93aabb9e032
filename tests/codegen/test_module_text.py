"""The texts of a module of LLVM IR: one for people, one that LLVM reads sooner."""

from __future__ import annotations

from qlower.codegen.llvm.binding import parse
from qlower.codegen.llvm.module import Module

EVERY_BYTE = bytes(range(256))


def test_all_bytes_of_a_constant_arrive():
    module = Module("x86_64-unknown-linux-gnu", "nounwind")
    for data in (EVERY_BYTE, EVERY_BYTE[::-1], b'\\00"\\', b"\xc3\xa9\0"):
        module.add_constant(data)
    readable, dense = str(module), module.dense_text()
    assert readable.isascii()
    assert len(dense) < len(readable) / 2
    assert str(parse(dense)) == str(parse(readable))
    assert str(parse(dense)).count("constant_") == 4
