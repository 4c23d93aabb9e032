#!/usr/bin/env python3
# pyright: basic
"""Check a certificate that two contracts give the same, channel by channel.

    python3 check.py MODEL.tflite [CERTIFICATE_FOLDER]

The folder, by default this file's, has `certificate.json` and the contracts' text,
`a.mlir` and `b.mlir`. The least and greatest accumulator of each channel are found from
the model's weights and bias. Both rules are read from the contracts and evaluated on
integers and IEEE floats. Each is proved not to decrease, by the ends of each operation;
then it is constant on an interval whose ends are the same. Exits with 0 if all channels
are accepted as equal, otherwise with 1.

This file needs Python alone. It trusts Python's integers and float64 arithmetic, how it
reads the model and the contracts, and that contracts say what systems do. Operators
whose rules have other arguments than a sum, a stored integer or a pair aren't covered.
"""

import hashlib
import itertools
import json
import math
import re
import struct
import sys
import time
from functools import lru_cache
from pathlib import Path

FORMAT = "qlower certificate 1"
RULES = {
    0: "add",
    1: "avg_pool2d",
    3: "conv2d",
    4: "depthwise_conv2d",
    9: "linear",
    40: "mean",
    114: "requantize",
}  # by operator code
ENDS = {3: (0, 255), 9: (-128, 127)}  # of uint8 and int8
ACTIVATIONS = ((-math.inf, math.inf), (0.0, math.inf), (-1.0, 1.0), (0.0, 6.0))
ACTIVATION_FIELD = {0: 0, 1: 5, 3: 3, 4: 4, 9: 0}


class Rejected(Exception):
    """Why something isn't accepted."""


def require(holds, why):
    if not holds:
        raise Rejected(why)


# The model: the parts of a .tflite file, a flatbuffer, that decide integers.


class Table:
    """A table of a flatbuffer; fields have numbers."""

    def __init__(self, data, at):
        self.data, self.at = data, at

    def field(self, number, follow=False):
        table = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        (size,) = struct.unpack_from("<H", self.data, table)
        at = 4 + 2 * number
        place = struct.unpack_from("<H", self.data, table + at)[0] if at < size else 0
        found = self.at + place if place else 0
        return self.follow(found) if found and follow else found

    def follow(self, at):
        return at + struct.unpack_from("<I", self.data, at)[0]

    def number(self, number, code):
        at = self.field(number)
        return struct.unpack_from("<" + code, self.data, at)[0] if at else 0

    def table(self, number):
        at = self.field(number, True)
        return Table(self.data, at) if at else None

    def vector(self, number, code):
        at = self.field(number, True)
        count = struct.unpack_from("<I", self.data, at)[0] if at else 0
        return struct.unpack_from(f"<{count}{code}", self.data, at + 4) if at else ()

    def tables(self, number):
        at = self.field(number, True)
        return [
            Table(self.data, self.follow(at + 4 + 4 * n))
            for n in range(len(self.vector(number, "I")))
        ]


class Model:
    """The operators of a model's first subgraph; tensors have numbers."""

    def __init__(self, data):
        root = Table(data, struct.unpack_from("<I", data)[0])
        self.buffers, graph = root.tables(4), root.tables(2)[0]
        self.tensors, self.operators = graph.tables(0), graph.tables(3)
        codes = [max(one.number(0, "b"), one.number(3, "i")) for one in root.tables(1)]
        self.codes = [codes[one.number(0, "I")] for one in self.operators]

    def shape(self, tensor):
        return list(self.tensors[tensor].vector(0, "i"))

    def ends(self, tensor):
        return ENDS[self.tensors[tensor].number(1, "b")]

    def constant(self, tensor, code):
        found = self.buffers[self.tensors[tensor].number(2, "I")].vector(0, "b")
        data = struct.pack(f"{len(found)}b", *found)
        require(
            len(data) == math.prod(self.shape(tensor)) * struct.calcsize(code),
            "a constant isn't there as a whole",
        )
        return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)

    def quantization(self, tensor):
        part = self.tensors[tensor].table(4)
        return part.vector(2, "f"), part.vector(3, "q")

    def values(self, prefix, tensor, channel=0):
        """Scale, zero point and signedness, by the names that rules ask for."""
        scale, point = (
            one[channel if len(one) > 1 else 0] for one in self.quantization(tensor)
        )
        return {
            f"{prefix}_scale": scale,
            f"{prefix}_zero_point": point,
            f"{prefix}_unsigned": self.ends(tensor)[0] == 0,
        }

    def rows(self, tensor, code):
        """The weights of each channel without their zero points."""
        shape, points = self.shape(tensor), self.quantization(tensor)[1]
        weights = self.constant(tensor, "B" if self.ends(tensor)[0] == 0 else "b")
        count = shape[3] if code == 4 else shape[0]
        size = len(weights) // count
        rows = [
            weights[c::count] if code == 4 else weights[c * size : (c + 1) * size]
            for c in range(count)
        ]
        return [
            [w - points[c if len(points) > 1 else 0] for w in row]
            for c, row in enumerate(rows)
        ]


def sums(row, ends, point, bias):
    """The least and the greatest accumulator of a channel."""
    least, most = min(ends[0] - point, 0), max(ends[1] - point, 0)
    up, down = sum(w for w in row if w > 0), sum(w for w in row if w < 0)
    low, high = up * least + down * most + bias, up * most + down * least + bias
    require(low >= -(1 << 31) and high < 1 << 31, "an accumulator may wrap")
    return low, high


# The contracts: straight-line functions in MLIR's text.


def groups(pattern, text):
    found = re.fullmatch(pattern, text)
    if found is None:
        raise Rejected(f"text that the checker can't read: {text}")
    return found.groups()


class Step:
    """An operation: results, name, operands, and the `word` that says which of its
    kind; `source` and `type` are of what it is given and gives."""

    def __init__(self, line):
        results, self.name, rest = groups(
            r"(?:(%[\w, %]+) = )?([\w.]+) ?(.*)", line.strip()
        )
        self.results = results.split(", ") if results else []
        rest = rest.split(",")[0] if self.name == "cf.assert" else rest
        text, _, types = rest.partition(" : ")
        if self.name == "func.call":
            self.callee, text = groups(r'@("[^"]*"|[\w.]+)\((.*)\)', text)
        self.operands = re.findall(r"%\w+", text)
        rounding = re.search(r"rounding = (\w+)", text)
        self.word = rounding[1] if rounding else text.split(",")[0]
        self.source, _, target = types.partition(" to ")
        self.type = target or self.source
        self.kind = self.name, self.word, self.source, self.type


class Function:
    """A function: arguments, the values that they are, the rules it serves, steps."""

    def __init__(self, head, lines):
        self.name, arguments, rest = groups(
            r'func\.func (?:private )?@("[^"]*"|[\w.]+)\((.*?)\)(?: ->.*?)?'
            r"((?: attributes .*)?) \{",
            head,
        )
        self.arguments = re.findall(r"(%\w+): \w+", arguments)
        value = r'(%\w+): \w+ \{[^}]*contract\.value = "(\w+)"'
        named = dict(re.findall(value, arguments))
        self.values = [named.get(one, one[1:]) for one in self.arguments]
        rules = re.search(r"contract\.rules = \[(.*?)\]", rest)
        own = [] if "private" in head else [self.name]
        self.rules = re.findall(r'"(\w+)"', rules[1]) if rules else own
        self.steps = [Step(line) for line in lines]


class Contract:
    """The functions of a contract's text."""

    def __init__(self, text):
        lines = text.splitlines()
        self.functions = {}
        for start, line in enumerate(lines):
            if line.strip().startswith("func.func"):
                rest = lines[start + 1 :]
                own = itertools.takewhile(lambda text: text.strip() != "}", rest)
                made = Function(line.strip(), own)
                self.functions[made.name] = made

    def rule(self, name):
        found = [one for one in self.functions.values() if name in one.rules]
        require(len(found) == 1, f"the contract has {len(found)} rules {name}")
        return found[0]


# What operations mean. Integers of n bits are signed numbers, i1 are booleans.


def wrap(value, bits):
    half = 1 << (bits - 1)
    return ((value + half) & (2 * half - 1)) - half


def single(value):
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def divisor(value):
    require(value != 0 and not math.isnan(value), "0 or NaN where its sign matters")
    return value


def amount(value, bits):
    require(0 <= value < bits, f"a shift by {value}")
    return value


def quotient(a, b):
    return abs(a) // abs(divisor(b)) * (1 if (a < 0) == (b < 0) else -1)


def shifted(value, n, mode, bits):
    if amount(n, bits) == 0:
        return value
    half, negative = 1 << (n - 1), value < 0
    more = {
        "floor": 0,
        "ceil": 2 * half - 1,
        "toward_zero": (2 * half - 1) * negative,
        "half_up": half,
        "half_down": half - 1,
        "half_away": half - negative,
        "half_toward_zero": half - 1 + negative,
        "half_even": half - 1 + (value >> n & 1),
    }
    return value + more[mode] >> n


def converted(value, mode, bits):
    """A float as an integer, saturated: multiples of 1/2 are rounded as by a shift."""
    half = 1 << (bits - 1)
    if not abs(value) < half:
        return 0 if math.isnan(value) else half - 1 if value > 0 else -half
    floor = math.floor(value)
    rest = value - floor
    if rest in (0.0, 0.5):
        found = shifted(2 * floor + (rest == 0.5), 1, mode, 2 * bits)
    elif mode.startswith("half"):
        found = floor + (rest > 0.5)
    else:
        found = floor + (mode == "ceil" or (mode == "toward_zero" and floor < 0))
    return max(-half, min(half - 1, found))


def same_bits(value, source, target):
    codes = {"i32": "<i", "i64": "<q", "f32": "<f", "f64": "<d"}
    return struct.unpack(codes[target], struct.pack(codes[source], value))[0]


COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@lru_cache(None)
def meaning(name, word, source, type):
    """The function of an operation's operands."""
    bits = int(type[1:]) if re.fullmatch(r"[if]\d+", type) else 0
    mask, half, rounded = (1 << bits) - 1, 1 << max(bits - 1, 0), float
    if type == "f32":
        require((name, source) != ("arith.sitofp", "i64"), "an i64 becomes an f32")
        rounded = single
    compare = COMPARE.get(word[-2:], COMPARE["eq"])
    if name == "arith.cmpi" and word[0] == "u":
        return lambda a, b: compare(a & mask, b & mask)
    if name == "arith.cmpf":  # comparisons with NaN are false in Python, but for `!=`
        require(word[1:] in COMPARE and word != "one", f"there is no cmpf {word} here")
        return (
            compare
            if word[0] == "o"
            else (lambda a, b: math.isnan(a) or math.isnan(b) or compare(a, b))
        )
    found = {
        "arith.cmpi": compare,
        "arith.addi": lambda a, b: wrap(a + b, bits),
        "arith.subi": lambda a, b: wrap(a - b, bits),
        "arith.muli": lambda a, b: wrap(a * b, bits),
        "arith.andi": lambda a, b: a & b,  # of booleans, too
        "arith.ori": lambda a, b: a | b,
        "arith.xori": lambda a, b: a ^ b,
        "arith.shli": lambda a, b: wrap(a << amount(b, bits), bits),
        "arith.shrsi": lambda a, b: a >> amount(b, bits),
        "arith.shrui": lambda a, b: wrap((a & mask) >> amount(b, bits), bits),
        "arith.divsi": lambda a, b: wrap(quotient(a, b), bits),
        "arith.divui": lambda a, b: wrap(quotient(a & mask, b & mask), bits),
        "arith.maxsi": max,
        "arith.minsi": min,
        "arith.select": lambda c, a, b: a if c else b,
        "arith.extsi": lambda a: -a if source == "i1" else a,
        "arith.extui": lambda a: int(a) % (1 << int(source[1:])),
        "arith.trunci": lambda a: bool(a & 1) if bits == 1 else wrap(a, bits),
        "arith.sitofp": lambda a: rounded(float(a)),
        "arith.bitcast": lambda a: same_bits(a, source, type),
        "arith.extf": float,
        "arith.truncf": single,
        "math.absf": abs,
        "arith.addf": lambda a, b: rounded(a + b),
        "arith.subf": lambda a, b: rounded(a - b),
        "arith.mulf": lambda a, b: rounded(a * b),  # float64 is wide enough to round
        "arith.divf": lambda a, b: rounded(a / divisor(b)),  # twice without a fault
        "arith.negf": lambda a: -a,
        "arith.maximumf": lambda a, b: max(divisor(a), divisor(b)),
        "arith.minimumf": lambda a, b: min(divisor(a), divisor(b)),
        "math.absi": lambda a: wrap(abs(a), bits),
        "math.ctlz": lambda a: bits - (a & mask).bit_length(),
        "fixed.shift_right": lambda a, b: shifted(a, b, word, bits),
        "fixed.saturate": lambda a: max(-half, min(half - 1, a)),
        "fixed.convert": lambda a: converted(a, word, bits),
    }.get(name)
    if found is None:
        raise Rejected(f"the checker has no {name}")
    return found


def constant(step):
    if step.word in ("true", "false"):
        return step.word == "true"
    if step.type in ("f32", "f64") and step.word.startswith("0x"):
        bits = int(step.type[1:])
        return same_bits(wrap(int(step.word, 16), bits), f"i{bits}", step.type)
    if step.type in ("f32", "f64"):
        return single(float(step.word)) if step.type == "f32" else float(step.word)
    return int(step.word)


# A rule of one layer and channel: constants are folded, the rest is proved and run.


class Wire(int):
    """A value that changes with the input, by its number."""


@lru_cache(None)
def compiled(text, kinds, count, numbers):
    """A function that makes one of Python; one text serves all channels."""
    scope = {f"f{at}": meaning(*kind) for at, kind in enumerate(kinds)}
    ks, xs = (
        ", ".join(f"{letter}{n}" for n in range(size))
        for letter, size in (("k", numbers), ("v", count))
    )
    exec(f"def make({ks}):\n def f({xs}):\n{text}\n return f", scope)
    return scope["make"]


class Program:
    """The steps of a rule that depend on its run-time values, and its result."""

    def __init__(self, contract, rule, values, runtime):
        self.contract, self.steps, self.count = contract, [], len(runtime)
        function = contract.rule(rule)
        given = {**values, **{name: Wire(n) for n, name in enumerate(runtime)}}
        missing = [name for name in function.values if name not in given]
        require(not missing, f"the checker doesn't know {missing[:1]}, of rule {rule}")
        (self.result,) = self.run(function, [given[name] for name in function.values])

    def run(self, function, arguments):
        known = dict(zip(function.arguments, arguments, strict=True))
        for step in function.steps:
            given = [known[name] for name in step.operands]
            results = []
            if step.name == "func.return":
                return given
            if step.name == "arith.constant":
                results = [constant(step)]
            elif step.name == "func.call":
                results = self.run(self.contract.functions[step.callee], given)
            elif step.name == "cf.assert":
                require(given == [True], "an assertion of the contract fails")
            elif step.name == "arith.select" and not isinstance(given[0], Wire):
                results = [given[1] if given[0] else given[2]]
            elif any(isinstance(one, Wire) for one in given):
                self.steps.append((step, given))
                results = [Wire(self.count + len(self.steps) - 1)]
            else:
                results = [meaning(*step.kind)(*given)]
            known.update(zip(step.results, results, strict=True))
        raise Rejected("a function doesn't return")

    def function(self):
        """The program as a function of Python."""
        numbers = []

        def name(one):
            if isinstance(one, Wire):
                return f"v{int(one)}"
            numbers.append(one)
            return f"k{len(numbers) - 1}"

        lines = [
            f"  v{self.count + at} = f{at}({', '.join(map(name, given))})"
            for at, (_, given) in enumerate(self.steps)
        ]
        text = "\n".join([*lines, f"  return {name(self.result)}"])
        kinds = tuple(step.kind for step, _ in self.steps)
        return compiled(text, kinds, self.count, len(numbers))(*numbers)

    def rises(self, low, high):
        """Whether no step is found that may decrease from low to high; a step that has
        the same at both ends is a constant for those after it."""
        ends = [(low, high)]
        for step, given in self.steps:
            pairs = [ends[x] if isinstance(x, Wire) else (x, x) for x in given]
            moves = [a != b for a, b in pairs]
            first, last = (meaning(*step.kind)(*(p[n] for p in pairs)) for n in (0, 1))
            if any(moves) and not (
                (
                    abs(first) < math.inf
                    and abs(last) < math.inf
                    and first <= last
                    and rising(step, pairs, moves)
                )
                or (first == last and comparing(step, moves))
            ):
                return False
            ends.append((first, last))
        return True


def comparing(step, moves):
    """Whether a step compares a rising number with a constant, for order."""
    ordered = step.word in ("slt", "sle", "sgt", "sge") or step.name == "arith.cmpf"
    return (
        step.name in ("arith.cmpi", "arith.cmpf")
        and ordered
        and sum(moves) == 1
        and step.word[-2:] in ("lt", "le", "gt", "ge")
    )


def rising(step, pairs, moves):
    """Whether a step neither decreases, as its operands that move rise, nor wraps."""
    name, by_constant = step.name, not moves[-1]
    factors = [pair[0] for pair, moving in zip(pairs, moves, strict=True) if not moving]
    is_positive = bool(factors) and factors[0] >= 0
    if name in (
        "arith.maxsi",
        "arith.minsi",
        "arith.extsi",
        "arith.sitofp",
        "arith.extf",
        "arith.truncf",
        "arith.addf",
        "fixed.saturate",
        "fixed.convert",
    ):
        return True
    if name in ("arith.shrsi", "fixed.shift_right", "arith.subf"):
        return by_constant
    if name in ("arith.divsi", "arith.divf"):
        return by_constant and pairs[1][0] > 0
    if name == "arith.select":
        return not moves[0]
    if name == "arith.mulf":
        return is_positive
    exact = {
        "arith.addi": lambda a, b: a + b,
        "arith.trunci": lambda a: a,
        "arith.subi": lambda a, b: a - b if by_constant else math.inf,
        "arith.shli": lambda a, b: a << b if by_constant else math.inf,
        "arith.muli": lambda a, b: a * b if is_positive else math.inf,
    }
    half = 1 << (int(step.type[1:]) - 1)
    return name in exact and all(
        -half <= exact[name](*(pair[n] for pair in pairs)) < half for n in (0, 1)
    )


# The certificate.


def check_channel(programs, entry, low, high, cuts):
    """Whether a channel is accepted as equal, not as different."""
    functions = [program.function() for program in programs]
    if set(entry) == {"differs"}:
        x = entry["differs"]
        require(type(x) is int and low <= x <= high, f"no accumulator is {x}")
        require(functions[0](x) != functions[1](x), f"the rules are equal at {x}")
        return False
    require(list(entry) == ["low", "high", "first", "steps"], "other entries")
    require([entry["low"], entry["high"]] == [low, high], f"sums are {low} ... {high}")
    numbers = [entry["low"], entry["high"], entry["first"], *entry["steps"]]
    require(all(type(one) is int for one in numbers), "an entry is no integer")
    begins = [low, *sorted({cut for cut in cuts if low < cut <= high})]
    parts = [*zip(begins, [*(cut - 1 for cut in begins[1:]), high], strict=True)]
    for one in programs:
        require(
            one.rises(low, high) or all(one.rises(*part) for part in parts),
            "a rule isn't proved not to decrease",
        )
    start, value = low, entry["first"]
    for distance in [*entry["steps"], None]:
        end = high if distance is None else start + distance - 1
        require(start - 1 <= end <= high, "steps go down or leave the sums")
        inside = [cut for cut in begins[1:] if start < cut <= end]
        points = [start, end, *inside, *(cut - 1 for cut in inside)]
        for function in functions if start <= end else ():
            require(
                all(function(x) == value for x in points),
                f"a rule isn't {value} from {start} to {end}",
            )
        start, value = end + 1, value + 1
    return True


def check_bytes(functions, spans, entries):
    """Whether an operator of one or two stored integers is accepted as equal."""
    require(len(entries) == 1 and set(entries[0]) <= {"differs"}, "other entries")
    claimed = [entries[0]["differs"]] if entries[0] else itertools.product(*spans)
    for xs in claimed:
        require(
            all(
                type(x) is int and x in span for x, span in zip(xs, spans, strict=True)
            ),
            "no stored integers",
        )
        apart = functions[0](*xs) != functions[1](*xs)
        require(apart == bool(entries[0]), f"what the rules give at {xs}")
    return [not entries[0]]


def check_operator(model, number, contracts, entries):
    """Whether each channel of an operator is accepted as equal, not as different."""
    operator, code = model.operators[number], model.codes[number]
    rule, inputs, options = RULES[code], operator.vector(1, "i"), operator.table(4)
    output = operator.vector(2, "i")[0]
    stored, field = model.ends(output), ACTIVATION_FIELD.get(code)
    fused = options.number(field, "b") if options and field is not None else 0
    limits = ACTIVATIONS[fused]
    values = {
        **model.values("output", output),
        "storage_min": stored[0],
        "storage_max": stored[1],
        "activation_min": limits[0],
        "activation_max": limits[1],
        "transposed": False,
        "double_round": False,
        "half_scales": False,
    }
    own = []
    for contract in contracts:
        ends = [
            end
            if math.isinf(real)
            else max(
                stored[0],
                min(
                    stored[1],
                    Program(contract, "bound", {**values, "real": real}, []).result,
                ),
            )
            for end, real in zip(stored, limits, strict=True)
        ]
        own.append({**values, "output_min": ends[0], "output_max": ends[1]})

    def programs(runtime, **more):
        return [
            Program(one, rule, {**known, **more}, runtime)
            for one, known in zip(contracts, own, strict=True)
        ]

    if code in (0, 114):
        names = ["lhs", "rhs"] if code == 0 else ["input"]
        more = {}
        for name, tensor in zip(names, inputs, strict=False):
            more.update(model.values(name, tensor))
        made = programs(names, **more)
        ends = map(model.ends, inputs[: len(names)])
        spans = [range(low, high + 1) for low, high in ends]
        return check_bytes([one.function() for one in made], spans, entries)
    ends, point = model.ends(inputs[0]), model.quantization(inputs[0])[1][0]
    given = model.values("input", inputs[0])
    if code in (1, 40):
        shape, size = model.shape(inputs[0]), model.shape(output)[1:3]
        kernel = [options.number(4, "i"), options.number(3, "i")]
        require(
            code == 40 or (kernel == shape[1:3] and size == [1, 1]),
            "a pool that isn't of the whole image",
        )
        axes = model.constant(inputs[1], "i") if code == 40 else (1, 2)
        count = math.prod(shape[axis] for axis in axes)
        made = programs(["accumulator"], **given, count=count)
        require(len(entries) == 1, "there is one channel")
        low, high = count * ends[0], count * ends[1]
        return [check_channel(made, entries[0], low, high, (0, 1, count * point))]
    rows, (scales, points) = model.rows(inputs[1], code), model.quantization(inputs[1])
    has_bias = len(inputs) > 2 and inputs[2] >= 0
    biases = model.constant(inputs[2], "i") if has_bias else [0] * len(rows)
    require(len(entries) == len(rows) == len(biases), f"there are {len(rows)} channels")
    found = []
    for channel, row in enumerate(rows):
        low, high = sums(row, ends, point, biases[channel])
        made = programs(
            ["accumulator"],
            **given,
            **model.values("weight", inputs[1], channel),
            channel=channel,
            channel_count=len(rows),
            per_channel=len(scales) > 1,
            weights_symmetric=not any(points),
            weight_sum=sum(row),
            accumulator_min=low,
            accumulator_max=high,
        )
        found.append(check_channel(made, entries[channel], low, high, (0, 1)))
    return found


def main(arguments):
    folder = Path(arguments[1]) if arguments[1:] else Path(__file__).parent
    paths, begin = [arguments[0], folder / "a.mlir", folder / "b.mlir"], time.time()
    data = [Path(path).read_bytes() for path in paths]
    given = json.loads((folder / "certificate.json").read_text())
    model, contracts = Model(data[0]), [Contract(one.decode()) for one in data[1:]]
    due = [str(n) for n, code in enumerate(model.codes) if code in RULES]
    faults, verdicts = [], []
    if list(given) != ["format", "sha256", "operators"] or given["format"] != FORMAT:
        faults.append(f"not in the format {FORMAT}")
    elif given["sha256"] != [hashlib.sha256(one).hexdigest() for one in data]:
        faults.append("about another model or other contracts, by SHA-256")
    elif list(given["operators"]) != due:
        faults.append("about other operators than the model has")
    for number in [] if faults else due:
        try:
            entries = given["operators"][number]
            verdicts += check_operator(model, int(number), contracts, entries)
        except (Rejected, ArithmeticError, LookupError, TypeError, ValueError) as why:
            faults.append(f"operator {number}: {type(why).__name__}: {why}")
    others = [str(n) for n, code in enumerate(model.codes) if code not in RULES]
    print(
        f"{len(due)} operators: {sum(verdicts)} channels equal, "
        f"{len(verdicts) - sum(verdicts)} differ, {len(faults)} rejected."
    )
    print(
        f"Not covered: operators {', '.join(others) or 'none'}; "
        f"{time.time() - begin:.1f} s."
    )
    print(*(f"rejected: {fault}" for fault in faults), sep="\n")
    return 1 if faults or not all(verdicts) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
