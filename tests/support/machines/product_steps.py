"""All steps that multiply activations with weights, and their instructions in LLVM IR,
for tests on any processor."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import replace

from qlower.codegen.llvm.module import Module
from qlower.codegen.skeletons.products.byte_products import (
    BroadcastBytes,
    SelectedBytes,
)
from qlower.codegen.skeletons.products.halves import (
    HalvesOfBytes,
    HalvesOfNibbles,
    StoredHalves,
)
from qlower.codegen.skeletons.products.matrix import MatrixStep
from qlower.codegen.skeletons.products.nibbles import nibble_step
from qlower.codegen.skeletons.products.pairs import LoadedPairs, PairedWords, Pairs
from qlower.codegen.skeletons.products.step import DotStep, VectorStep
from qlower.codegen.skeletons.products.whole_products import WholeBytes, WholeWords
from qlower.codegen.skeletons.products.word_products import (
    LoadedSingles,
    NarrowScalars,
    Scalars,
    SelectedSingles,
    Singles,
    SplatScalars,
)
from qlower.codegen.targets.base import Halves
from qlower.codegen.targets.resolve import Dot, DotKind, host_target
from support.machines.straight_code import load_function

SINGLES = Dot(DotKind.SINGLES, selects_lane=True)
PAIRS = Dot(DotKind.PAIRS, "pairs", byte_pairs="byte_pairs")
UNSIGNED = Dot(DotKind.UNSIGNED_BYTES, "unsigned", selects_lane=True)
SIGNED = Dot(DotKind.SIGNED_BYTES, "signed", selects_lane=True)
HALVES = Halves(rows=(), multiply="smlad", extend_signed="sx", extend_unsigned="ux")  # pyright: ignore[reportArgumentType]


def _nibbles(step: VectorStep) -> DotStep:
    found = nibble_step(step)
    assert found is not None
    return found


STEPS: dict[str, tuple[DotStep, str]] = {
    # the step, and activations in memory
    "singles": (Singles(4, 4, SINGLES), "i8"),
    "wide singles": (Singles(8, 8, SINGLES, extends=True), "i8"),
    "singles of words": (Singles(4, 4, SINGLES, scalar="i16"), "i16"),
    "loaded singles": (LoadedSingles(4, 4, SINGLES, extends=True), "i8"),
    "scalars": (Scalars(1, 1, SINGLES), "i8"),
    "scalars of words": (Scalars(1, 1, SINGLES, scalar="i16", extends=True), "i16"),
    "splat scalars": (SplatScalars(4, 4, SINGLES), "i8"),
    "narrow scalars": (NarrowScalars(1, 1, SINGLES), "i8"),
    "selected singles": (SelectedSingles(4, 4, SINGLES), "i8"),
    "selected words": (SelectedSingles(8, 4, SINGLES, scalar="i16"), "i16"),
    "pairs": (Pairs(4, 4, PAIRS), "i8"),
    "extended pairs": (Pairs(8, 8, PAIRS, extends=True), "i8"),
    "loaded pairs": (LoadedPairs(4, 4, PAIRS), "i8"),
    "wide loaded pairs": (LoadedPairs(8, 4, PAIRS, extends=True), "i8"),
    "paired words": (PairedWords(4, 4, PAIRS), "i16"),
    "unsigned bytes": (BroadcastBytes(4, 4, UNSIGNED), "i8"),
    "signed bytes": (BroadcastBytes(8, 4, SIGNED), "i8"),
    "selected signed bytes": (SelectedBytes(4, 4, SIGNED), "i8"),
    "selected unsigned bytes": (SelectedBytes(8, 4, UNSIGNED), "i8"),
    "matrices": (MatrixStep(4, 4, replace(SIGNED, intrinsic="matrix")), "i8"),
    "unsigned matrices": (
        MatrixStep(4, 4, replace(UNSIGNED, intrinsic="unsigned_matrix")),
        "i8",
    ),
    "whole bytes": (WholeBytes(1, 1, Dot(DotKind.WHOLE, "whole")), "i8"),
    "whole words": (WholeWords(1, 1, Dot(DotKind.WHOLE, "whole"), scalar="i16"), "i16"),
    "halves": (HalvesOfBytes(1, 1, SINGLES, halves=HALVES), "i8"),
    "extended halves": (HalvesOfBytes(1, 1, SINGLES, True, halves=HALVES), "i8"),
    "halves of nibbles": (HalvesOfNibbles(1, 1, SINGLES, halves=HALVES), "i8"),
    "stored halves": (StoredHalves(1, 1, SINGLES, halves=HALVES), "i16"),
    "narrow stored halves": (StoredHalves(1, 1, SINGLES, True, halves=HALVES), "i16"),
    "nibbles": (_nibbles(BroadcastBytes(4, 4, UNSIGNED)), "i8"),
    "selected nibbles": (_nibbles(SelectedBytes(4, 4, SIGNED)), "i8"),
    "nibbles of singles": (_nibbles(SelectedSingles(4, 4, SINGLES)), "i8"),
    "summed nibbles": (_nibbles(Pairs(4, 4, PAIRS)), "i8"),
}


def _shuffled(name: str, of: str, type: str, order: range) -> str:
    lanes = ", ".join(f"i32 {lane}" for lane in order)
    mask = f"<{len(order)} x i32> <{lanes}>"
    return f"%{name} = shufflevector {type} {of}, {type} poison, {mask}"


def _summing(name: str, lanes: int, element: str, group: int, extends: str) -> str:
    """An instruction that sums `group` products of `element`s into each lane, on top of
    a total if there are four; `extends` has how both factors become i32."""
    count, whole = lanes * group, f"<{lanes * group} x i32>"
    sums = f"<{lanes} x i32>"
    total = f"{sums} %t, " if group == 4 else ""
    type = f"<{count} x {element}>"
    one, other = extends.split()
    lines = [
        f"define internal {sums} @{name}({total}{type} %a, {type} %b) alwaysinline {{",
        f"%x = {one} {type} %a to {whole}",
        f"%y = {other} {type} %b to {whole}",
        f"%p = mul {whole} %x, %y",
    ]
    lines += [
        _shuffled(f"g{n}", "%p", whole, range(n, count, group)) for n in range(group)
    ]
    terms = [*(["%t"] if total else []), *(f"%g{n}" for n in range(group))]
    for n, term in enumerate(terms[1:]):
        before = terms[0] if n == 0 else f"%s{n - 1}"
        lines.append(f"%s{n} = add {sums} {before}, {term}")
    return "\n".join([*lines, f"ret {sums} %s{len(terms) - 2}", "}"])


_SCALAR_INSTRUCTIONS = """
define internal i32 @smlad(i32 %a, i32 %b, i32 %t) alwaysinline {
%x = bitcast i32 %a to <2 x i16>
%y = bitcast i32 %b to <2 x i16>
%s = call <1 x i32> @two(<2 x i16> %x, <2 x i16> %y)
%p = extractelement <1 x i32> %s, i32 0
%r = add i32 %p, %t
ret i32 %r
}
define internal i32 @sx(i32 %a) alwaysinline {
%s = shl i32 %a, 8
%v = bitcast i32 %s to <2 x i16>
%w = ashr <2 x i16> %v, splat (i16 8)
%r = bitcast <2 x i16> %w to i32
ret i32 %r
}
define internal i32 @ux(i32 %a) alwaysinline {
%r = and i32 %a, 16711935
ret i32 %r
}
"""


def _whole(lanes: int, element: str) -> str:
    """All products added to one number, after three flags."""
    type, wide = f"<{lanes} x {element}>", f"<{lanes} x i32>"
    return f"""
define internal i32 @whole.v{lanes}{element}(i32 %f, i32 %g, i32 %h, i32 %t,
    {type} %a, {type} %b) alwaysinline {{
%x = sext {type} %a to {wide}
%y = sext {type} %b to {wide}
%p = mul {wide} %x, %y
%s = call i32 @llvm.vector.reduce.add.v{lanes}i32({wide} %p)
%r = add i32 %s, %t
ret i32 %r
}}
declare i32 @llvm.vector.reduce.add.v{lanes}i32({wide})
"""


def _matrix(name: str, extend: str) -> str:
    """Two rows of eight bytes with two others."""
    pairs = [(row, column) for row in range(2) for column in range(2)]
    lines = [
        f"%x = {extend} <16 x i8> %a to <16 x i32>",
        "%y = sext <16 x i8> %b to <16 x i32>",
    ]
    before = "%t"
    for at, (row, column) in enumerate(pairs):
        lines += [
            _shuffled(f"a{at}", "%x", "<16 x i32>", range(8 * row, 8 * row + 8)),
            _shuffled(f"b{at}", "%y", "<16 x i32>", range(8 * column, 8 * column + 8)),
            f"%p{at} = mul <8 x i32> %a{at}, %b{at}",
            f"%s{at} = call i32 @llvm.vector.reduce.add.v8i32(<8 x i32> %p{at})",
            f"%o{at} = extractelement <4 x i32> %t, i32 {at}",
            f"%n{at} = add i32 %s{at}, %o{at}",
            f"%r{at} = insertelement <4 x i32> {before}, i32 %n{at}, i32 {at}",
        ]
        before = f"%r{at}"
    head = f"@{name}(<4 x i32> %t, <16 x i8> %a, <16 x i8> %b) alwaysinline"
    first, last = f"define internal <4 x i32> {head} {{", f"ret <4 x i32> {before}"
    return "\n".join([first, *lines, last, "}"])


def _instructions(step: DotStep) -> str:
    n = step.vector_lanes
    words = _summing("byte_words", 2 * n, "i8", 2, "zext sext")
    byte_pairs = f"""
define internal <{2 * n} x i16> @byte_pairs(<{4 * n} x i8> %a, <{4 * n} x i8> %b) {{
%s = call <{2 * n} x i32> @byte_words(<{4 * n} x i8> %a, <{4 * n} x i8> %b)
%r = trunc <{2 * n} x i32> %s to <{2 * n} x i16>
ret <{2 * n} x i16> %r
}}"""
    return "\n".join(
        [
            _summing("pairs", n, "i16", 2, "sext sext"),
            _summing("two", 1, "i16", 2, "sext sext"),
            _summing("unsigned", n, "i8", 4, "zext sext"),
            _summing("signed", n, "i8", 4, "sext sext"),
            *(words, byte_pairs, _whole(16, "i8"), _whole(8, "i16")),
            *(_matrix("matrix", "sext"), _matrix("unsigned_matrix", "zext")),
            _SCALAR_INSTRUCTIONS,
        ]
    )


def run_steps(module: Module, step: DotStep) -> Callable[..., None]:
    """A module's function `f` of three addresses, with all that `step` calls; it stays
    loaded for as long as it is kept."""
    # a barrier for LLVM, in a register that this processor may not have
    barrier = re.compile(r"call <.*> asm [^(]*\((.*)\) nounwind.*")
    lines = [
        line
        for line in barrier.sub(r"freeze \1", str(module)).splitlines()
        if not line.startswith("declare") or "@llvm." in line
    ]
    library = load_function("\n".join([*lines, _instructions(step)]), host_target())
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(library["f"])

    def run(*addresses: int) -> None:
        assert library is not None
        call(*addresses)

    return run
