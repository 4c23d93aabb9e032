"""Which of an object's levels runs: chosen by what the processor has.

    int32_t <name>_level(void);

gives the number of a level, from 1 on, or 0 where the processor has none of them. The
choice (`CHOICE`) is a pure function of what the processor says (`WORDS`): the last
level whose needs it meets, so that levels are listed from the least to the most.

It is made anew in every call where asking is cheap. Where it isn't, the object keeps
the number in one word of memory, the only one that it writes to: whoever comes first
stores what all others would store too, so calls stay re-entrant and need no order.
An indirect function (IFUNC) would spare that word, but musl loads none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qlower.codegen.targets.processor import WORDS, Processor

CHOICE = "choose.level"
_KNOWN = "known.level"
"""No name of C, so that no model can be called so."""


def level_function(
    name: str, processor: Processor | None, needs: Sequence[frozenset[str]]
) -> list[str]:
    """LLVM IR of the function `name`, and of what it calls, for levels with `needs`."""
    if processor is None or not any(needs):
        return [
            f"define i32 @{name}() nounwind #0 {{",
            f"  ret i32 {len(needs)}",
            "}",
        ]
    return [
        *processor.reader(frozenset[str]().union(*needs)),
        *_choice([processor.masks(features) for features in needs]),
        *(_remembered if processor.remembers else _asked)(name, processor),
    ]


def _choice(levels: Sequence[Mapping[int, int]]) -> list[str]:
    lines: list[str] = []
    chosen = "0"
    for number, masks in enumerate(levels, 1):
        has = "true"
        for word, bits in masks.items():
            part = f"{number}_{word}"
            lines += [
                f"  %at{part} = getelementptr i64, ptr %words, i64 {word}",
                f"  %word{part} = load i64, ptr %at{part}, align 8",
                f"  %bits{part} = and i64 %word{part}, {bits}",
                f"  %same{part} = icmp eq i64 %bits{part}, {bits}",
                f"  %has{part} = and i1 {has}, %same{part}",
            ]
            has = f"%has{part}"
        lines.append(f"  %level{number} = select i1 {has}, i32 {number}, i32 {chosen}")
        chosen = f"%level{number}"
    return [
        f"define internal i32 @{CHOICE}(ptr %words) nounwind #0 {{",
        *lines,
        f"  ret i32 {chosen}",
        "}",
    ]


def _asked(name: str, processor: Processor, linkage: str = "") -> list[str]:
    return [
        f"define {linkage} i32 @{name}() nounwind #0 {{",
        f"  %words = alloca [{processor.words} x i64], align 8",
        f"  call void @{WORDS}(ptr %words)",
        f"  %level = call i32 @{CHOICE}(ptr %words)",
        "  ret i32 %level",
        "}",
    ]


def _remembered(name: str, processor: Processor) -> list[str]:
    return [
        f"@{_KNOWN} = internal global i32 -1, align 4",
        f"define i32 @{name}() nounwind #0 {{",
        "entry:",
        f"  %known = load atomic i32, ptr @{_KNOWN} monotonic, align 4",
        "  %is_known = icmp sge i32 %known, 0",
        "  br i1 %is_known, label %done, label %find",
        "find:",
        f"  %found = call i32 @{_KNOWN}.now()",
        f"  store atomic i32 %found, ptr @{_KNOWN} monotonic, align 4",
        "  br label %done",
        "done:",
        "  %level = phi i32 [ %known, %entry ], [ %found, %find ]",
        "  ret i32 %level",
        "}",
        *_asked(f"{_KNOWN}.now", processor, "internal"),
    ]
