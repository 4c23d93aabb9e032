"""Epilogues that are proved equal are so on every accumulator; others stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from support.machines.native import machine_levels
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from qlower.codegen.program.module import compile_module
from qlower.dialects.kernel import NestOp
from qlower.interp.values import Array
from qlower.runtime.executable import Executable
from qlower.text.context import make_context
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module
from qlower.transforms.plan_memory import PlanMemoryPass
from qlower.transforms.prove_epilogues import Machine, Proof, prove_epilogues
from qlower.transforms.prove_epilogues.channels import (
    accumulator_bounds,
    parallel_constants,
)
from qlower.transforms.prove_epilogues.cheapest import cheapest_lines
from qlower.transforms.prove_epilogues.exceptions import Exceptions, find_exceptions
from qlower.transforms.prove_epilogues.forms import Form
from qlower.transforms.prove_epilogues.integer_lines import (
    WORD,
    IntegerForm,
    fit_integer_lines,
)
from qlower.transforms.prove_epilogues.lines import best_scale, fit_lines
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.rewrite import replace_by_line
from qlower.transforms.prove_epilogues.staircase import find_staircase
from qlower.transforms.prove_epilogues.steps import Integers, find_steps

pytestmark = pytest.mark.usefixtures("verify_each")

PROLOGUE = """
      %a64 = arith.extsi %acc : i32 to i64
      %m64 = arith.extsi %m : i32 to i64
      %p = arith.muli %a64, %m64 : i64
      %c31 = arith.constant 31 : i64
      %z = arith.constant {zero_point} : i32
"""
STORE = """
      %sum = arith.addi %r, %z : i32
      %q = fixed.saturate %sum : i32 to i8
      kernel.yield %q : i8
"""
TWICE = (
    PROLOGUE
    + """
      %h64 = fixed.shift_right %p, %c31 {{rounding = half_up}} : i64
      %h = fixed.saturate %h64 : i64 to i32
      %r = fixed.shift_right %h, %s {{rounding = half_away}} : i32
"""
    + STORE
)
ONCE = (
    PROLOGUE
    + """
      %s64 = arith.extsi %s : i32 to i64
      %total = arith.addi %s64, %c31 : i64
      %r64 = fixed.shift_right %p, %total {{rounding = {mode}}} : i64
      %r = fixed.saturate %r64 : i64 to i32
"""
    + STORE
)
AWAY = (
    PROLOGUE
    + """
      %zero = arith.constant 0 : i64
      %negative = arith.cmpi slt, %a64, %zero : i64
      %half = arith.constant 1073741824 : i64
      %minus_half = arith.constant -1073741824 : i64
      %away = arith.select %negative, %minus_half, %half : i64
      %moved = arith.addi %p, %away : i64
      %s64 = arith.extsi %s : i32 to i64
      %total = arith.addi %s64, %c31 : i64
      %r64 = fixed.shift_right %moved, %total {{rounding = half_up}} : i64
      %r = arith.trunci %r64 : i64 to i32
"""
    + STORE
)
"""TOSA's double rounding, which steps up where the sign changes."""


@dataclass(frozen=True)
class Layer:
    """Sums of `weights` times bytes, and `bias`; the epilogue has m * 2^(-31 - s)."""

    weights: Array
    bias: Array
    multipliers: Sequence[int]
    shifts: Sequence[int]
    epilogue: str

    def module(self) -> ModuleOp:
        channels, depth = self.weights.shape
        module = parse_module(
            f"""
  func.func @main(%x: tensor<{depth}xi8>) -> tensor<{channels}xi8> {{
    %w = arith.constant dense<"0x{self.weights.astype(np.int8).tobytes().hex()}">
      : tensor<{channels}x{depth}xi8>
    %b = arith.constant dense<{list(map(int, self.bias))}> : tensor<{channels}xi32>
    %ms = arith.constant dense<{list(self.multipliers)}> : tensor<{channels}xi32>
    %ss = arith.constant dense<{list(self.shifts)}> : tensor<{channels}xi32>
    %y = kernel.nest contraction parallel [{channels}] reduction [{depth}]
      maps [affine_map<(o, i) -> (i)>, affine_map<(o, i) -> (o, i)>,
        affine_map<(o, i) -> (o)>, affine_map<(o, i) -> (o)>, affine_map<(o, i) -> (o)>,
        affine_map<(o, i) -> (o)>]
      ins(%x, %w, %b, %ms, %ss : tensor<{depth}xi8>, tensor<{channels}x{depth}xi8>,
        tensor<{channels}xi32>, tensor<{channels}xi32>, tensor<{channels}xi32>) init {{
    ^bb0(%a: i8, %f: i8, %bias: i32, %m: i32, %s: i32):
      kernel.yield %bias : i32
    }} body {{
    ^bb0(%a: i8, %f: i8, %bias: i32, %m: i32, %s: i32, %sum: i32):
      %a32 = arith.extsi %a : i8 to i32
      %f32 = arith.extsi %f : i8 to i32
      %product = arith.muli %a32, %f32 : i32
      %next = arith.addi %sum, %product : i32
      kernel.yield %next : i32
    }} epilogue {{
    ^bb0(%a: i8, %f: i8, %bias: i32, %m: i32, %s: i32, %acc: i32):
      {self.epilogue}
    }} -> tensor<{channels}xi8>
    func.return %y : tensor<{channels}xi8>
  }}""",
            "test.mlir",
        )
        verify_module(module)
        return module


def random_layer(seed: int, epilogue: str, depth: int = 4) -> Layer:
    random = np.random.default_rng(seed)
    channels = 6
    weights = random.integers(-127, 128, (channels, depth))
    reach = 128 * np.abs(weights).sum(axis=1)
    # scales that spread the accumulators over about the range of a byte, or a few
    scale = random.uniform(60, 700, channels) / reach
    mantissa, exponent = np.frexp(scale)
    return Layer(
        weights,
        random.integers(-reach // 2, reach // 2),
        np.minimum(np.rint(mantissa * 2**31), 2**31 - 1).astype(int).tolist(),
        (-exponent).tolist(),
        epilogue.format(zero_point=int(random.integers(-128, 128)), mode="half_up"),
    )


def nest_of(module: ModuleOp) -> NestOp:
    return next(op for op in module.walk() if isinstance(op, NestOp))


def epilogue_at(nest: NestOp, x: Integers) -> Integers:
    """What the epilogue yields at accumulators [channel, any]."""
    block = nest.epilogue.block
    values: Values = {
        block.args[i]: lanes.reshape(-1, 1)
        for i, lanes in parallel_constants(nest).items()
    }
    values[block.args[-1]] = x.astype(np.int32)
    *ops, terminator = block.ops
    run_scalars(ops, values)
    return values[terminator.operands[0]].astype(np.int64)


def prove(
    layer: Layer, *, fused: bool = True, mended: bool = True
) -> tuple[Proof | None, NestOp, NestOp]:
    """The proof, the nest as it was, and as it is."""
    return prove_for(Machine(fused=fused, mended=mended), layer)


def prove_for(machine: Machine, layer: Layer) -> tuple[Proof | None, NestOp, NestOp]:
    """The same for any machine."""
    before, after = layer.module(), layer.module()
    proofs = prove_epilogues(after, machine)
    verify_module(after)
    assert len(proofs) <= 1
    return proofs[0] if proofs else None, nest_of(before), nest_of(after)


def names(nest: NestOp) -> list[str]:
    return [op.name for op in nest.walk()]


def reachable(nest: NestOp) -> Integers:
    """All accumulators of all channels; short rows repeat their last."""
    bounds = accumulator_bounds(nest)
    assert bounds is not None
    low, high = bounds
    count = np.arange((high - low).max() + 1)
    return np.minimum(low[:, np.newaxis] + count, high[:, np.newaxis])


@pytest.mark.parts(12)
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_every_accumulator_keeps_its_result(seed: int, fused: bool):
    layer = random_layer(seed, (ONCE, TWICE, AWAY)[seed % 3])
    proof, before, after = prove(layer, fused=fused)
    assert proof is not None
    assert proof.form is not None
    assert proof.channels == proof.proved == 6
    x = reachable(before)
    np.testing.assert_array_equal(epilogue_at(after, x), epilogue_at(before, x))
    assert ("math.fma" in names(after)) == fused
    assert "fixed.shift_right" not in names(after)


@pytest.mark.parametrize("integers", [True, False])
def test_numbers_of_a_whole_layer_make_one_line(integers: bool):
    """Channels with the same numbers have the same steps, and a line without tables."""
    epilogue = "%one = arith.constant 1610612736 : i32 %by = arith.constant 7 : i32"
    epilogue += ONCE.replace("%m :", "%one :").replace("%s :", "%by :")
    layer = random_layer(5, epilogue)
    proof, before, after = prove_for(INTEGERS if integers else Machine(True), layer)
    assert proof is not None
    assert proof.form is not None
    assert proof.proved == 1
    assert len(after.inputs) <= len(before.inputs)
    x = reachable(before)
    assert len({*x.min(axis=1).tolist()}) > 1
    np.testing.assert_array_equal(epilogue_at(after, x), epilogue_at(before, x))


INTEGERS = Machine(fused=False, long_products=True, floats=False)


@pytest.mark.parts(12)
@pytest.mark.parametrize("seed", range(12))
def test_integers_keep_every_result(seed: int):
    """Lines of integers, which are odd where the rounding is, and not limited there."""
    layer = random_layer(seed, (ONCE, TWICE, AWAY)[seed % 3])
    if seed > 8:
        layer = replace(layer, epilogue=TWICE.format(zero_point=-128))
    proof, before, after = prove_for(INTEGERS, layer)
    assert proof is not None
    is_odd = seed % 3 and seed < 9
    assert proof.form == ("odd " if is_odd else "") + "integer mul, add"
    x = reachable(before)
    np.testing.assert_array_equal(epilogue_at(after, x), epilogue_at(before, x))
    assert "arith.sitofp" not in names(after)


@pytest.mark.parametrize(("apart", "is_fit"), [(5, True), (3, False)])
def test_no_sum_of_a_line_of_integers_wraps(apart: int, is_fit: bool):
    """With accumulators up to 2^31 and factors near it a sum could be 2^63."""
    low, high = np.array([-(2**31)]), np.array([2**31 - 1])
    first = 2**31 - 254 * apart

    def function(channels: Integers, x: Integers) -> Integers:
        return np.clip((x - first) // apart, -1, 253)

    steps = find_steps(function, low, high)
    assert steps is not None
    scale = best_scale(steps, odd=False, middle=-1)
    line = fit_integer_lines(IntegerForm(False, WORD, -1, 253), steps, scale)
    assert (line is not None) == is_fit
    if line is not None:
        assert not line.wrong.any()


@pytest.mark.parametrize("mode", ["half_even", "half_down", "half_away", "floor"])
def test_every_rounding_mode(mode: str):
    layer = random_layer(7, ONCE.replace("{mode}", mode))
    proof, before, after = prove(layer)
    assert proof is not None
    assert proof.form is not None
    x = reachable(before)
    np.testing.assert_array_equal(epilogue_at(after, x), epilogue_at(before, x))


@pytest.mark.parts(6)
@pytest.mark.parametrize("seed", [1, 6])
def test_exceptions_are_mended(seed: int):
    """With small scales float32 misses a step or two; then integers stay, or these are
    mended."""
    layer = random_layer(seed, TWICE, depth=32)
    proof, before, after = prove(layer)
    assert proof is not None
    assert proof.exceptions
    x = reachable(before)
    np.testing.assert_array_equal(epilogue_at(after, x), epilogue_at(before, x))
    strict, before, after = prove(layer, mended=False)
    assert strict is not None
    assert strict.form is None
    assert strict.proved == 0
    assert names(after) == names(before)


@pytest.mark.parametrize(("owners", "added"), [((1,), 0), ((1, 4), 4)])
def test_exceptions_of_one_channel_take_no_table(owners: tuple[int, ...], added: int):
    """They are constants for the channel that has a factor, and of no other channel."""
    layer = random_layer(3, ONCE)
    found: list[Integers] = []
    inputs: list[int] = []
    for slots in (0, 2):
        nest = nest_of(layer.module())
        staircase = find_staircase(nest)
        assert staircase is not None
        ((lines, _),) = filter(None, cheapest_lines([staircase], INTEGERS))
        x, difference = np.zeros((2, 6, slots), np.int64)
        if slots:
            x[[*owners]], difference[[*owners]] = (-3, 7), (1, -2)
        block = nest.parent_block()
        assert block is not None
        replace_by_line(nest, staircase, lines, Exceptions(x, difference))
        nest = next(op for op in block.ops if isinstance(op, NestOp))
        inputs.append(len(nest.inputs))
        found.append(epilogue_at(nest, np.tile(np.arange(-9, 10), (6, 1))))
    expected = found[0].copy()
    expected[[*owners], 6] += 1
    expected[[*owners], 16] -= 2
    np.testing.assert_array_equal(found[1], expected)
    assert inputs[1] - inputs[0] == added


@pytest.mark.parts(4)
def test_native_code_keeps_the_bits():
    random = np.random.default_rng(0)
    inputs = random.integers(-128, 128, (50, 32), np.int8)
    for target in machine_levels().values():
        results: list[Array] = []
        for mended in (None, True, False):
            module = random_layer(6, TWICE, depth=32).module()
            if mended is not None:
                prove_epilogues(module, Machine(fused=target.fuses, mended=mended))
            PlanMemoryPass().apply(make_context(), module)
            run = Executable(compile_module(module, target))
            results.append(np.stack([run([x])[0] for x in inputs]))
        np.testing.assert_array_equal(results[1], results[0])
        np.testing.assert_array_equal(results[2], results[0])


MEAN = """
      %zero = arith.constant 0 : i32
      %half = arith.constant {half} : i32
      %positive = arith.cmpi sgt, %acc, %zero : i32
      %above = arith.addi %acc, %half : i32
      %below = arith.subi %acc, %half : i32
      %nudged = arith.select %positive, %above, %below : i32
      %count = arith.constant {count} : i32
      %r = arith.divsi %nudged, %count : i32
      %z = arith.constant 0 : i32
"""


def pool(count: int, epilogue: str) -> ModuleOp:
    """Sums of so many bytes less 3."""
    return parse_module(
        f"""
  func.func @main(%x: tensor<{count}x16xi8>) -> tensor<16xi8> {{
    %y = kernel.nest row parallel [16] reduction [{count}]
      maps [affine_map<(o, i) -> (i, o)>, affine_map<(o, i) -> (o)>]
      ins(%x : tensor<{count}x16xi8>) init {{
    ^bb0(%a: i8):
      %none = arith.constant 0 : i32
      kernel.yield %none : i32
    }} body {{
    ^bb0(%a: i8, %sum: i32):
      %a32 = arith.extsi %a : i8 to i32
      %three = arith.constant 3 : i32
      %centred = arith.subi %a32, %three : i32
      %next = arith.addi %sum, %centred : i32
      kernel.yield %next : i32
    }} epilogue {{
    ^bb0(%a: i8, %acc: i32):
      {epilogue}
    }} -> tensor<16xi8>
    func.return %y : tensor<16xi8>
  }}""",
        "test.mlir",
    )


@pytest.mark.parametrize("count", [1, 4, 49, 64, 121])
def test_pools(count: int):
    """Sums of bytes have few values: looking at all shows that a mean has steps."""
    epilogue = MEAN.format(half=count // 2, count=count) + STORE
    before, after = pool(count, epilogue), pool(count, epilogue)
    (proof,) = prove_epilogues(after, Machine())
    verify_module(after)
    assert proof.form is not None
    assert "arith.divsi" not in names(nest_of(after))
    x = np.arange(count * -131, count * 124 + 1)[np.newaxis]
    assert accumulator_bounds(nest_of(before)) == (x[0, 0], x[0, -1])
    np.testing.assert_array_equal(
        epilogue_at(nest_of(after), x), epilogue_at(nest_of(before), x)
    )


def test_sums_that_step_down_stay():
    text = "%one = arith.constant 1 : i32\n%r = arith.xori %acc, %one : i32\n"
    module = pool(4, text + "%z = arith.constant 0 : i32\n" + STORE)
    before = names(nest_of(module))
    assert [proof.form for proof in prove_epilogues(module, Machine())] in ([], [None])
    assert names(nest_of(module)) == before


REFUSED = {
    "is constant": """
      %big = arith.constant 1000000 : i32
      %r = arith.maxsi %acc, %big : i32""",
    "decreasing": "%r = arith.subi %z, %acc : i32",
    "not monotone": "%r = arith.xori %acc, %z : i32",
    "steps down": """
      %zero = arith.constant 0 : i32
      %negative = arith.cmpi slt, %acc, %zero : i32
      %more = arith.constant 4096 : i32
      %less = arith.constant -4096 : i32
      %toward = arith.select %negative, %more, %less : i32
      %moved = arith.addi %acc, %toward : i32
      %c8 = arith.constant 8 : i32
      %r = arith.shrsi %moved, %c8 : i32""",
    "wraps": """
      %big = arith.constant 1000000 : i32
      %wrapped = arith.muli %acc, %big : i32
      %c24 = arith.constant 24 : i32
      %r = arith.shrsi %wrapped, %c24 : i32""",
    "divides": """
      %one = arith.constant 1 : i32
      %odd = arith.andi %acc, %one : i32
      %r = arith.subi %acc, %odd : i32""",
    "squares": """
      %square = arith.muli %acc, %acc : i32
      %c12 = arith.constant 12 : i32
      %r = arith.shrsi %square, %c12 : i32""",
    "jumps": """
      %c8 = arith.constant 8 : i32
      %shifted = arith.shrsi %acc, %c8 : i32
      %place = arith.constant 1100 : i32
      %beyond = arith.subi %acc, %place : i32
      %none = arith.constant 0 : i32
      %most = arith.constant 40 : i32
      %positive = arith.maxsi %beyond, %none : i32
      %jump = arith.minsi %positive, %most : i32
      %r = arith.addi %shifted, %jump : i32""",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_line_stays(name: str):
    text = "%z = arith.constant 5 : i32\n" + REFUSED[name] + STORE
    proof, before, after = prove(random_layer(3, text))
    assert proof is None or proof.form is None
    assert names(after) == names(before)


@pytest.mark.parts(3)
@pytest.mark.parametrize("machine", [Machine(), Machine(False), Machine(mended=False)])
def test_layers_together_are_proved_as_each_alone(machine: Machine):
    """Of equal operations with other constants: lines, also of other limits; one of few
    steps; and what is no line."""
    few = random_layer(4, TWICE)
    few = replace(few, multipliers=[m // 8 for m in few.multipliers])
    jumps = "%z = arith.constant 5 : i32\n" + REFUSED["jumps"] + STORE
    layers = [
        *(random_layer(seed, TWICE, depth=4 << seed) for seed in range(4)),
        few,
        random_layer(5, ONCE),
        random_layer(6, jumps),
        random_layer(7, jumps.replace("constant 40", "constant 0")),
    ]
    alone: list[str] = []
    forms: list[str | None] = []
    together = ModuleOp([])
    for number, layer in enumerate(layers):
        own, other = layer.module(), layer.module()
        forms += [proof.form for proof in prove_epilogues(own, machine)]
        alone += map(str, own.ops)
        for function in other.ops:
            function.detach()
            together.body.block.add_op(function)
            assert isinstance(function, FuncOp)
            function.sym_name = StringAttr(f"layer{number}")
    proofs = prove_epilogues(together, machine)
    assert [proof.form for proof in proofs] == forms
    assert None in forms
    for number, (text, function) in enumerate(zip(alone, together.ops, strict=True)):
        assert str(function) == text.replace("@main", f"@layer{number}")


def test_poison_stays():
    """An error of the contract's is not a result to prove."""
    text = TWICE.replace("%c31 =", "%c70 = arith.constant 70 : i64\n%c31 =")
    text = text.replace("%p, %c31", "%p, %c70")
    proof, before, after = prove(random_layer(3, text))
    assert proof is None
    assert names(after) == names(before)


def test_a_line_that_is_wrong_at_one_accumulator():
    low, high, every = np.array([-500]), np.array([500]), np.arange(-500, 501)
    channel = np.zeros_like(every)

    def eighth(channels: Integers, x: Integers) -> Integers:
        return x >> 3

    def wrong(channels: Integers, x: Integers) -> Integers:
        return (x >> 3) + (x == 55)

    steps, other = find_steps(eighth, low, high), find_steps(wrong, low, high)
    assert steps is not None
    assert other is not None
    form = Form(fused=True, odd=False, shift=0, least=-63, most=62)
    (lines,) = fit_lines([form], [steps])
    assert lines is not None
    np.testing.assert_array_equal(lines(channel, every), eighth(channel, every))
    none = find_exceptions(eighth, lines, steps, most=0)
    assert none is not None
    assert none.slots == 0
    lines = replace(lines, wrong=np.array([1]))
    assert find_exceptions(wrong, lines, other, most=0) is None
    one = find_exceptions(wrong, lines, other, most=1)
    assert one is not None
    assert (one.x.tolist(), one.difference.tolist()) == ([[55]], [[1]])


@pytest.mark.parametrize("seed", range(20))
def test_steps_of_any_function(seed: int):
    """Against a look at every x; jumps over several levels, and constants too."""
    random = np.random.default_rng(seed)
    length = int(random.integers(1, 400))
    low = random.integers(-300, 100, 3)
    slopes = random.choice([0, 0.02, 0.3, 1.0, 2.5], 3)
    jitter = random.choice([0, 1], (3, length), p=[0.7, 0.3])
    count = np.arange(length)
    table = np.floor(slopes[:, np.newaxis] * (count + jitter)).astype(np.int64)
    table = np.maximum.accumulate(table, axis=1)

    def function(channels: Integers, x: Integers) -> Integers:
        return table[channels, x - low[channels]]

    steps = find_steps(function, low, low + length - 1)
    assert steps is not None
    x, value = steps.points
    for channel in range(3):
        row = table[channel]
        np.testing.assert_array_equal(value[channel], row[x[channel] - low[channel]])
        changes = np.flatnonzero(np.diff(row))
        sides = {*(low[channel] + changes), *(low[channel] + changes + 1)}
        assert sides <= set(x[channel].tolist())


def test_steps_far_from_a_line():
    def function(channels: Integers, x: Integers) -> Integers:
        return np.floor(np.sqrt(x)).astype(np.int64)

    assert find_steps(function, np.array([0]), np.array([10_000])) is None
