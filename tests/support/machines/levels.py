"""Packages of several levels on processors that we say they run on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from qlower.codegen.program.machine_code import machine_code
from qlower.codegen.targets.processor import WORDS
from qlower.packages.compiled import Compiled


def on_processor(compiled: Compiled, features: Iterable[str]) -> Compiled:
    """The package, but the processor that it asks has these features and no more."""
    processor, text = compiled.target.processor, compiled.object.llvm_text
    assert processor is not None
    definition = f"define internal void @{WORDS}("
    assert text.count(definition) == 1
    stores = "\n".join(
        f"  %at{word} = getelementptr i64, ptr %words, i64 {word}\n"
        f"  store i64 {bits}, ptr %at{word}, align 8"
        for word, bits in processor.masks(features).items()
    )
    text = text.replace(definition, "define internal void @real_processor(")
    text += (
        f"{definition}ptr %words) nounwind #0 {{\n"
        f"  store [{processor.words} x i64] zeroinitializer, ptr %words, align 8\n"
        f"{stores}\n  ret void\n}}\n"
    )
    code = machine_code(text, compiled.object.target)
    return replace(compiled, object=replace(compiled.object, objects=(code,)))
