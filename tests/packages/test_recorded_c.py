"""C that was recorded: every operation's expression for each type, every function that
expressions call, all texts of two models, and the words of each program's source.

`pytest tests/packages/test_recorded_c.py --bless` records `recorded_c/`; read what
changes, and let a compiler see it, before you commit it. What C computes is compared
elsewhere, with compilers that aren't on every machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from support.layers.run_files import RUN_TESTS
from support.layers.small_model import SIGNED_MODEL, SMALL_MODEL
from support.machines.c_programs import portable
from xdsl.ir import Operation

import qlower
from qlower.diagnostics import QlowerError
from qlower.dialects.fixed import RoundingMode
from qlower.packages.c_source.helpers import Helpers
from qlower.packages.c_source.region_state import RegionState
from qlower.packages.c_source.scalars import EXPRESSIONS
from qlower.packages.self_test import self_test_text
from qlower.text.parsing import parse_module
from qlower.version import __version__

RECORDED = Path(__file__).with_name("recorded_c")

INTEGERS = ("i1", "i8", "i16", "i32", "i64")
FLOATS = ("f32", "f64")
MODES = tuple(mode.value for mode in RoundingMode)
CONSTANTS = ("0", "1", "-1", "7", "-128", "127")


def operations() -> Iterator[tuple[str, str]]:
    """A line with the result `%r`, and the type of the operands `%a`, `%b`, `%c`."""
    two = ("addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "andi", "ori")
    more = ("xori", "shli", "shrsi", "shrui", "minsi", "maxsi", "minui", "maxui")
    for op, type in product((*two, *more), INTEGERS):
        yield f"arith.{op} %a, %b : {type}", type
    for word, type in product(
        ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"), INTEGERS
    ):
        yield f"arith.cmpi {word}, %a, %b : {type}", type
    words = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt")
    for word, type in product((*words, "uge", "ult", "ule", "une", "uno"), FLOATS):
        yield f"arith.cmpf {word}, %a, %b : {type}", type
    for low, high in ((0, 1), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4)):
        small, large = INTEGERS[low], INTEGERS[high]
        for op in ("extsi", "extui"):
            yield f"arith.{op} %a : {small} to {large}", small
        yield f"arith.trunci %a : {large} to {small}", large
    for type in ("i8", "i32", "i64"):
        yield f"arith.index_cast %a : {type} to index", type
        yield f"arith.index_cast %a : index to {type}", "index"
    for integer, real in product(INTEGERS, FLOATS):
        yield f"arith.sitofp %a : {integer} to {real}", integer
        yield f"arith.uitofp %a : {integer} to {real}", integer
    for op, type in product(("absi", "ctlz"), INTEGERS):
        yield f"math.{op} %a : {type}", type
    for op, type in product(("addf", "subf", "mulf", "divf"), FLOATS):
        yield f"arith.{op} %a, %b : {type}", type
    for op, type in product(("minimumf", "maximumf"), FLOATS):
        yield f"arith.{op} %a, %b : {type}", type
    one = ("floor", "ceil", "trunc", "round", "roundeven", "sqrt", "absf")
    for op, type in product(one, FLOATS):
        yield f"math.{op} %a : {type}", type
    for type in FLOATS:
        yield f"arith.negf %a : {type}", type
        yield f"math.copysign %a, %b : {type}", type
        yield f"math.fma %a, %b, %c : {type}", type
    yield "arith.extf %a : f32 to f64", "f32"
    yield "arith.truncf %a : f64 to f32", "f64"
    for first, last in (("i32", "f32"), ("f32", "i32"), ("i64", "f64"), ("f64", "i64")):
        yield f"arith.bitcast %a : {first} to {last}", first
    yield "arith.bitcast %a : i32 to i32", "i32"
    for mode, type in product(MODES, INTEGERS):
        yield f"fixed.shift_right %a, %b {{rounding = {mode}}} : {type}", type
    for mode, real, type in product(MODES, FLOATS, ("i1", "i8", "i32", "i64")):
        yield f"fixed.convert %a {{rounding = {mode}}} : {real} to {type}", real
    for first, last in (("i32", "i8"), ("i64", "i16"), ("i64", "i32"), ("i16", "i1")):
        for word in ("", " unsigned"):
            yield f"fixed.saturate %a{word} : {first} to {last}", first
    for number, type in product(CONSTANTS, ("i8", "i32", "i64")):
        yield f"arith.constant {number} : {type}", type
    for number, type in product(("0.0", "-0.0", "1.5", "-2.5", "1e-40"), FLOATS):
        yield f"arith.constant {number} : {type}", type
    for bits in ("0x7FC00000", "0xFFC00000", "0x7F800000", "0xFF800000"):
        yield f"arith.constant {bits} : f32", "f32"
    for number in ("true", "false"):
        yield f"arith.constant {number}", "i1"


def operation(line: str, type: str) -> Operation:
    names = ", ".join(f"%{name}: {type}" for name in "abc")
    module = parse_module(f"func.func @f({names}) {{ %r = {line}\n return }}", "m.mlir")
    return next(op for op in module.walk() if op.results)


def expression(helpers: Helpers, line: str, type: str, most: float) -> str:
    """The C for operands of at most this magnitude, or why there is none."""
    try:
        op = operation(line, type)
    except QlowerError as error:
        return f"no operation: {error.message}"
    bounds = dict.fromkeys(op.operands, most)
    step = RegionState(helpers, {}, "n{}".format, {}, bounds)
    try:
        return EXPRESSIONS[op.name](step, op, ["a", "b", "c"][: len(op.operands)])
    except QlowerError as error:
        return error.message


def expressions() -> Iterator[str]:
    helpers = Helpers()
    for line, type in operations():
        small, large = (expression(helpers, line, type, m) for m in (9, 2.0**63))
        yield f"{line} = {small}" + ("" if small == large else f" | {large}")
    helpers.inside()
    for text in helpers.texts.values():
        yield from ("", text)


TEXTS = {"small": SMALL_MODEL, "signed": SIGNED_MODEL}


def without_metadata(text: str) -> str:
    """The text without JSON, in which there are hashes."""
    return "\n".join(one for one in text.splitlines() if '\\"' not in one)


def texts() -> Iterator[str]:
    """All texts of models as C: functions, headers, an example and a test."""
    for name, text in TEXTS.items():
        compiled = portable(qlower.Model(parse_module(text, "m.mlir")), "tflite")
        for kind in ("c", "header", "c-example"):
            found = compiled.text(kind).replace(__version__, "VERSION")
            yield f"==== {name}: {kind}"
            yield re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", without_metadata(found))
        yield f"==== {name}: selftest"
        yield self_test_text(compiled.interface, 3, 0x1234)


_WORD = re.compile(
    r"\"(?:\\.|[^\"\\])*\"|[A-Za-z_]\w*|\d[\w.]*(?:(?<=e)[-+]\d+\w*)?|[^\w\s]+"
)


def words(text: str) -> str:
    """How often each word, without the numbers in names, and sign occurs; the count and
    the sum of integers."""
    text = re.sub(r"/\*.*?\*/", "", without_metadata(text), flags=re.DOTALL)
    found: Counter[str] = Counter()
    numbers: list[int] = []
    for word in _WORD.findall(text):
        if word[0].isdigit():
            match = re.fullmatch(r"(0x[0-9a-f]+|0|[1-9]\d*)[uUlL]*", word)
            if match is None:
                found["real"] += 1
            else:
                numbers.append(int(match[1], 0))
        elif word[0] != '"':
            found[re.sub(r"_\d+\b|(?<=[a-z])\d+$", "", word)] += 1
    counts = " ".join(f"{word}:{count}" for word, count in sorted(found.items()))
    return f"{len(numbers)} numbers, {sum(numbers)} in all; {counts}"


def program(number: int) -> str:
    """A line on the source of a program, without its weights."""
    test = RUN_TESTS[number]
    model = qlower.Model(parse_module(test.text, "m.mlir"))
    try:
        text = str(portable(model, test.contracts[0] or None).text("c"))
    except QlowerError as error:
        return f"{test}: {error.message}"
    return f"{test}: {words(text)}"


WHOLE: dict[str, Callable[[], Iterator[str]]] = {
    "expressions": expressions,
    "texts": texts,
}


def _path(name: str) -> Path:
    return RECORDED / f"{name}.txt"


def test_write(request: pytest.FixtureRequest) -> None:
    """Only with --bless: all files."""
    if request.config.getoption("--bless"):
        RECORDED.mkdir(exist_ok=True)
        for name, lines in WHOLE.items():
            _path(name).write_text("\n".join(lines()) + "\n")
        every = map(program, range(len(RUN_TESTS)))
        _path("programs").write_text("\n".join(every) + "\n")


@pytest.mark.parametrize("name", WHOLE)
def test_texts(name: str) -> None:
    assert [line for text in WHOLE[name]() for line in text.split("\n")] == (
        _path(name).read_text().split("\n")[:-1]
    )


@pytest.mark.parts(6)
@pytest.mark.parametrize(
    "number", range(len(RUN_TESTS)), ids=lambda n: str(RUN_TESTS[n])
)
def test_words_of_programs(number: int) -> None:
    lines = _path("programs").read_text().splitlines()
    assert program(number) == lines[number]
