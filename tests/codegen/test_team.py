"""The code of a team of threads is LLVM IR, for any number of threads."""

from __future__ import annotations

import pytest

from qlower.codegen.llvm.binding import parse
from qlower.codegen.program.team import team_text

AROUND = """
@team_runners = internal constant [1 x ptr] [ptr @runner]
declare void @runner(ptr, i64, i64)
declare void @team_thread(ptr)
declare i32 @serial(ptr, ptr, ptr, ptr)
attributes #0 = { "target-cpu"="x86-64" }
"""


@pytest.mark.parametrize("threads", [2, 7])
def test_the_text_is_valid(threads: int) -> None:
    text = team_text("entry", "serial", threads, runners=1)
    assert "$" not in text.split("nounwind", 1)[1]
    parse(text + AROUND).verify()
