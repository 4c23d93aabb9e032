"""AArch64 under emulation, and its objects as the bytes that memory holds.

Unicorn's QEMU knows DOTPROD but not I8MM: products of matrices and of mixed signs are
replaced by branches to equal sequences of signed dot products.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from qlower.emulation.image import Fixup
from qlower.emulation.processor import Processor

_LOAD_SCALES = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}
"""R_AARCH64_ADD_ABS_LO12_NC and LDST<8|16|32|64|128>_ABS_LO12_NC: low 12 bits of an
address, over the size of what is loaded."""


def relocate(image: bytearray, fixups: Sequence[Fixup], code: Sequence[range]) -> None:
    """ "ELF for the Arm 64-bit Architecture", 5.7."""
    for fixup in fixups:
        _relocate(image, fixup)
    for part in code:
        for at in part[::4]:
            _replace_product(image, at)


def _relocate(image: bytearray, fixup: Fixup) -> None:
    at, distance = fixup.at, fixup.distance
    (word,) = struct.unpack_from("<I", image, at)
    match fixup.kind:
        case 257:  # ABS64
            struct.pack_into("<Q", image, at, fixup.value)
            return
        case 260:  # PREL64
            struct.pack_into("<q", image, at, distance)
            return
        case 261:  # PREL32
            struct.pack_into("<i", image, at, distance)
            return
        case 274 | 275:  # ADR_PREL_LO21, ADR_PREL_PG_HI21
            if fixup.kind == 275:
                distance = (fixup.value >> 12) - (fixup.place >> 12)
            assert -(1 << 20) <= distance < 1 << 20
            word |= (distance & 3) << 29 | (distance >> 2 & 0x7FFFF) << 5
        case 282 | 283:  # JUMP26, CALL26
            assert -(1 << 27) <= distance < 1 << 27
            word |= distance >> 2 & 0x3FFFFFF
        case kind if kind in _LOAD_SCALES:
            low, scale = fixup.value & 0xFFF, _LOAD_SCALES[kind]
            assert low % (1 << scale) == 0
            word |= low >> scale << 10
        case _:
            raise fixup.unknown()
    struct.pack_into("<I", image, at, word)


def _replace_product(image: bytearray, at: int) -> None:
    """Branch to an equal sequence where an instruction of I8MM is.

    Encodings: "Arm Architecture Reference Manual", C7.2.
    """
    (word,) = struct.unpack_from("<I", image, at)
    sequence = _mixed_product(word) or _matrix_product(word)
    if sequence:
        start = len(image)
        sequence.append(_branch(start + 4 * len(sequence), at + 4))
        struct.pack_into("<I", image, at, _branch(at, start))
        image += struct.pack(f"<{len(sequence)}I", *sequence)


def _mixed_product(word: int) -> list[int]:
    """Instead of a USDOT or SUDOT.

    With u = s + 128 for the unsigned factors, and -128 <= s < 128,
    sum(u w) = sum(s w) + 2 sum(64 w).
    """
    d, n, m = word & 31, word >> 5 & 31, word >> 16 & 31
    unsigned_is_n = True
    if word & 0xFFE0FC00 == 0x4E809C00:  # USDOT by vector
        product = _SDOT
    elif word & 0xFFC0F400 == 0x4F80F000:  # USDOT by element
        product = 0x4F80E000 | word & 0x00200800
    elif word & 0xFFC0F400 == 0x4F00F000:  # SUDOT by element
        product, unsigned_is_n = 0x4F80E000 | word & 0x00200800, False
    else:
        return []
    spare = next(register for register in range(4) if register not in (d, n, m))
    unsigned = n if unsigned_is_n else m
    product |= spare << 5 | m << 16 if unsigned_is_n else n << 5 | spare << 16
    return [
        _PUSH | spare,
        _MOVI_128 | spare,
        _EOR | spare << 16 | unsigned << 5 | spare,
        product | d,
        _MOVI_64 | spare,
        product | d,
        product | d,
        _POP | spare,
    ]


def _matrix_product(word: int) -> list[int]:
    """Instead of a SMMLA or USMMLA.

    The words of a row are its two halves: each half of n is repeated for both rows of
    m, whose halves alternate.
    """
    d, n, m = word & 31, word >> 5 & 31, word >> 16 & 31
    is_mixed = word & 0xFFE0FC00 == 0x4E80AC00
    if word & 0xFFE0FC00 != 0x4E80A400 and not is_mixed:
        return []
    free = [register for register in range(6) if register not in (d, n, m)]
    x, y, spare = free[:3]
    product = _SDOT | y << 16 | d
    sequence = [_PUSH | register for register in (x, y, spare)]
    for repeat, alternate in ((0x4E802800, 0x4E801800), (0x4E806800, 0x4E805800)):
        sequence += [repeat | n << 16 | n << 5 | x, alternate | m << 16 | m << 5 | y]
        if is_mixed:
            sequence += [_MOVI_128 | spare, _EOR | spare << 16 | x << 5 | x]
        sequence.append(product | x << 5)
        if is_mixed:
            sequence += [_MOVI_64 | spare, *[product | spare << 5] * 2]
    return sequence + [_POP | register for register in (spare, y, x)]


_SDOT = 0x4E809400
_EOR = 0x6E201C00
_MOVI_64, _MOVI_128 = 0x4F02E400, 0x4F04E400
_PUSH, _POP = 0x3C9F0FE0, 0x3CC107E0
"""str q, [sp, #-16]! and ldr q, [sp], #16."""


def _branch(place: int, target: int) -> int:
    return 0x14000000 | (target - place) >> 2 & 0x3FFFFFF


AARCH64 = Processor(
    architecture="ARM64",
    modes=("ARM",),
    cpu="ARM64_MAX",
    arguments=tuple(f"X{index}" for index in range(8)),
    link="LR",
    result="W0",
    pointer="Q",
    return_code=bytes.fromhex("c0035fd6"),
    registers={"CPACR_EL1": 3 << 20},  # floating point is switched on
    relocate=relocate,
)
