#!/usr/bin/env python3
# pyright: basic
"""Check a certificate that two contracts give the same, channel by channel.

    python3 check.py MODEL.tflite [CERTIFICATE_FOLDER]

The folder, by default this file's, has `certificate.json` and the contracts' text,
`a.mlir` and `b.mlir`. The least and greatest accumulator of each channel are found from
the model's weights and bias. Both rules are read from the contracts and evaluated on
integers and IEEE floats, at the ends of each interval of the certificate: if no
operation may decrease or wrap between them, and the results are the same, the rule is
constant there. Exits with 0 if all channels
are accepted as equal, otherwise with 1.

This file needs Python alone. It trusts Python's integers and float64 arithmetic, how it
reads the model and the contracts, and that contracts say what systems do. Operators
whose rules have other arguments than a sum, a stored integer or a pair aren't covered.
"""

import hashlib
import itertools
import json
import math
import operator
import re
import struct
import sys
import time
from functools import lru_cache
from pathlib import Path

FORMAT = "qlower certificate 1"
RULES = {0: "add", 1: "avg_pool2d", 3: "conv2d", 4: "depthwise_conv2d"} | {
    **{9: "linear", 40: "mean", 114: "requantize"}
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

    def read(self, at, code):
        return struct.unpack_from(f"<{code}", self.data, at)[0]

    def field(self, number):
        entries, at = self.at - self.read(self.at, "i"), 4 + 2 * number
        place = self.read(entries + at, "H") if at < self.read(entries, "H") else 0
        return place and self.at + place

    def number(self, number, code):
        at = self.field(number)
        return self.read(at, code) if at else 0

    def followed(self, number):
        at = self.field(number)
        return at and at + self.read(at, "I")

    def table(self, number):
        at = self.followed(number)
        return Table(self.data, at) if at else None

    def vector(self, number, code):
        at = self.followed(number)
        count = self.read(at, "I") if at else 0
        return struct.unpack_from(f"<{count}{code}", self.data, at + 4) if count else ()

    def tables(self, number):
        first, places = self.followed(number) + 4, self.vector(number, "I")
        return [Table(self.data, first + 4 * n + at) for n, at in enumerate(places)]


class Model:
    """The operators of a model's first subgraph; tensors have numbers."""

    def __init__(self, data):
        root = Table(data, struct.unpack_from("<I", data)[0])
        self.buffers, graph = root.tables(4), root.tables(2)[0]
        self.tensors, self.operators = graph.tables(0), graph.tables(3)
        codes = [max(one.number(0, "b"), one.number(3, "i")) for one in root.tables(1)]
        self.codes = [codes[one.number(0, "I")] for one in self.operators]

    def shape(self, tensor):
        return self.tensors[tensor].vector(0, "i")

    def ends(self, tensor):
        return ENDS[self.tensors[tensor].number(1, "b")]

    def constant(self, tensor, code):
        found = self.buffers[self.tensors[tensor].number(2, "I")].vector(0, "B")
        count = math.prod(self.shape(tensor))
        return struct.unpack(f"<{count}{code}", bytes(found))

    def quantization(self, tensor):
        part = self.tensors[tensor].table(4)
        return part.vector(2, "f"), part.vector(3, "q")

    def values(self, prefix, tensor, channel=0):
        """Scale, zero point and signedness, by the names that rules ask for."""
        names, parts = ("scale", "zero_point"), self.quantization(tensor)
        found = [part[channel if len(part) > 1 else 0] for part in parts]
        named = {
            f"{prefix}_{name}": one for name, one in zip(names, found, strict=True)
        }
        return {**named, f"{prefix}_unsigned": self.ends(tensor)[0] == 0}

    def rows(self, tensor, is_depthwise):
        """The weights of each channel without their zero points."""
        shape, points = self.shape(tensor), self.quantization(tensor)[1]
        weights = self.constant(tensor, "B" if self.ends(tensor)[0] == 0 else "b")
        count = shape[3] if is_depthwise else shape[0]
        size = len(weights) // count
        for c in range(count):
            own = (
                slice(c, None, count)
                if is_depthwise
                else slice(c * size, (c + 1) * size)
            )
            yield [w - points[c if len(points) > 1 else 0] for w in weights[own]]


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
        pattern = r"(?:(%[\w, %]+) = )?([\w.]+) ?(.*)"
        results, self.name, rest = groups(pattern, line.strip())
        self.results = results.split(", ") if results else []
        text, _, types = rest.partition(" : ")
        if self.name == "func.call":
            self.callee, text = groups(r"@(.*)\((.*)\)", text)
        self.operands = re.findall(r"%\w+", text)
        rounding = re.search(r"rounding = (\w+)", text)
        self.word = rounding[1] if rounding else text.split(",")[0]
        self.source, _, target = types.partition(" to ")
        self.type = target or self.source
        self.kind = self.name, self.word, self.source, self.type


class Function:
    """A function: arguments, the values that they are, the rules it serves, steps."""

    def __init__(self, head, lines):
        is_private, self.name, given, rest = groups(
            r'func\.func (private )?@("[^"]*"|[\w.]+)\((.*?)\)((?: ->| attr| \{).*)',
            head,
        )
        self.arguments = re.findall(r"(%\w+): \w+", given)
        value = r'(%\w+): \w+ \{[^}]*contract\.value = "(\w+)"'
        named = dict(re.findall(value, given))
        self.values = [named.get(one, one[1:]) for one in self.arguments]
        rules = re.search(r"contract\.rules = \[(.*?)\]", rest)
        own = [] if is_private else [self.name]
        self.rules = re.findall(r'"(\w+)"', rules[1]) if rules else own
        self.steps = [Step(line) for line in lines]


class Contract:
    """The functions of a contract's text."""

    def __init__(self, text):
        parts = re.findall(r"^ *(func\.func .*)\n((?: .*\n)*?) *\}$", text, re.M)
        found = [Function(head, body.splitlines()) for head, body in parts]
        self.functions = {one.name: one for one in found}

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


def shifted(value, n, mode):
    """value / 2^n, rounded."""
    if n == 0:
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
    """A float, which is an integer over a power of two, as an integer, saturated."""
    half = 1 << (bits - 1)
    if not abs(value) < half:
        return 0 if math.isnan(value) else half - 1 if value > 0 else -half
    above, below = value.as_integer_ratio()
    return min(half - 1, shifted(above, below.bit_length() - 1, mode))


def same_bits(value, source, target):
    codes = {"i32": "<i", "i64": "<q", "f32": "<f", "f64": "<d"}
    return struct.unpack(codes[target], struct.pack(codes[source], value))[0]


@lru_cache(None)
def meaning(name, word, source, type):
    """The function of an operation's operands."""
    bits = int(type[1:]) if re.fullmatch(r"[if]\d+", type) else 0
    mask, half = (1 << bits) - 1, 1 << max(bits - 1, 0)
    rounded = (
        single if type == "f32" else float
    )  # float64 is wide enough to do it twice
    require((name, source, type) != ("arith.sitofp", "i64", "f32"), "i64 becomes f32")
    compare = getattr(operator, word[-2:], operator.eq)
    if name == "arith.cmpf":  # comparisons with NaN are false in Python, but for `!=`
        known = word[1:] in ("eq", "ne", "lt", "le", "gt", "ge") and word != "one"
        require(known, f"there is no cmpf {word} here")
        is_ordered = word[0] == "o"
        return lambda a, b: (
            compare(a, b) or (not is_ordered and (math.isnan(a) or math.isnan(b)))
        )
    if name == "arith.cmpi" and word[0] == "u":
        return lambda a, b: compare(a & mask, b & mask)
    wrapped = {
        "arith.addi": operator.add,
        "arith.subi": operator.sub,
        "arith.muli": operator.mul,
        "arith.shli": lambda a, b: a << amount(b, bits),
        "arith.shrsi": lambda a, b: a >> amount(b, bits),
        "arith.shrui": lambda a, b: (a & mask) >> amount(b, bits),
        "arith.divsi": quotient,
        "arith.divui": lambda a, b: quotient(a & mask, b & mask),
    }
    real = {
        "arith.addf": operator.add,
        "arith.subf": operator.sub,
        "arith.mulf": operator.mul,
        "arith.divf": lambda a, b: a / divisor(b),
    }
    found = {
        "arith.cmpi": compare,
        "arith.andi": operator.and_,  # of booleans, too
        "arith.ori": operator.or_,
        "arith.xori": operator.xor,
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
        "arith.negf": operator.neg,
        "arith.maximumf": lambda a, b: max(divisor(a), divisor(b)),
        "arith.minimumf": lambda a, b: min(divisor(a), divisor(b)),
        "math.absf": abs,
        "math.absi": lambda a: wrap(abs(a), bits),
        "math.ctlz": lambda a: bits - (a & mask).bit_length(),
        "fixed.shift_right": lambda a, b: shifted(a, amount(b, bits), word),
        "fixed.saturate": lambda a: max(-half, min(half - 1, a)),
        "fixed.convert": lambda a: converted(a, word, bits),
        **{key: lambda a, b, f=f: wrap(f(a, b), bits) for key, f in wrapped.items()},
        **{key: lambda a, b, f=f: rounded(f(a, b)) for key, f in real.items()},
    }.get(name)
    if found is None:
        raise Rejected(f"the checker has no {name}")
    return found


def constant(step):
    if step.word in ("true", "false"):
        return step.word == "true"
    if step.type[0] == "f" and step.word.startswith("0x"):
        bits = int(step.type[1:])
        return same_bits(wrap(int(step.word, 16), bits), f"i{bits}", step.type)
    read = {"f32": lambda text: single(float(text)), "f64": float}
    return read.get(step.type, int)(step.word)


# A rule of one layer and channel: what is constant is computed once.


class Wire(int):
    """A value that changes with the input, by its number."""


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
            if step.name == "func.return":
                return given
            if step.name == "func.call":
                results = self.run(self.contract.functions[step.callee], given)
            elif step.name == "cf.assert":
                require(given == [True], "an assertion of the contract fails")
                results = []
            elif step.name == "arith.constant":
                results = [constant(step)]
            elif step.name == "arith.select" and not isinstance(given[0], Wire):
                results = [given[1] if given[0] else given[2]]
            elif any(isinstance(one, Wire) for one in given):
                self.steps.append((step, meaning(*step.kind), given))
                results = [Wire(self.count + len(self.steps) - 1)]
            else:
                results = [meaning(*step.kind)(*given)]
            known.update(zip(step.results, results, strict=True))
        raise Rejected("a function doesn't return")

    def value(self, *ends):
        """The result for all values between these ends: `Rejected` unless no step is
        found that may decrease, and both ends have the same result."""
        known = list(ends)
        for step, run, given in self.steps:
            pairs = [known[x] if isinstance(x, Wire) else (x, x) for x in given]
            first, last = run(*[a for a, _ in pairs]), run(*[b for _, b in pairs])
            moves = [a != b for a, b in pairs]
            if any(moves):
                require(
                    (-math.inf < first <= last < math.inf and rises(step, pairs, moves))
                    or (first == last and is_ordered(step, moves)),
                    f"{step.name} may decrease",
                )
            known.append((first, last))
        is_wire = isinstance(self.result, Wire)
        first, last = known[self.result] if is_wire else (self.result, self.result)
        require(first == last, "the rule isn't constant")
        return first


def is_ordered(step, moves):
    """Whether a step compares a rising number with a constant, for order."""
    is_order = step.word[-2:] in ("lt", "le", "gt", "ge")
    is_signed = step.name == "arith.cmpf" or step.word[0] == "s"
    return ".cmp" in step.name and is_order and is_signed and sum(moves) == 1


ALWAYS = [
    "maxsi",
    "minsi",
    "extsi",
    "sitofp",
    "extf",
    "truncf",
    "addf",
    "saturate",
    "convert",
]


def rises(step, pairs, moves):
    """Whether a step neither decreases, as its operands that move rise, nor wraps."""
    name, by_constant = step.name.partition(".")[2], not moves[-1]
    factors = [a for (a, _), moving in zip(pairs, moves, strict=True) if not moving]
    is_positive = bool(factors) and factors[0] >= 0
    if name in ALWAYS:
        return True
    if name in ("shrsi", "shift_right", "subf"):
        return by_constant
    if name in ("divsi", "divf"):
        return by_constant and pairs[1][0] > 0
    if name in ("select", "mulf"):
        return is_positive if name == "mulf" else not moves[0]
    holds = {"addi": True, "trunci": True, "muli": is_positive}
    if not holds.get(name, name in ("subi", "shli") and by_constant):
        return False
    exact = {"addi": operator.add, "subi": operator.sub, "muli": operator.mul}
    run = exact.get(name, operator.lshift if name == "shli" else lambda a: a)
    half = 1 << (int(step.type[1:]) - 1)
    return all(-half <= run(*(pair[n] for pair in pairs)) < half for n in (0, 1))


# The certificate.


def check_channel(programs, entry, low, high, cuts):
    """Whether a channel is accepted as equal, not as different."""
    if set(entry) == {"differs"}:
        x = entry["differs"]
        require(type(x) is int and low <= x <= high, f"no accumulator is {x}")
        one, other = (program.value((x, x)) for program in programs)
        require(one != other, f"the rules are equal at {x}")
        return False
    require(list(entry) == ["low", "high", "first", "steps"], "other entries")
    numbers = [entry["low"], entry["high"], entry["first"], *entry["steps"]]
    require(all(type(one) is int for one in numbers), "an entry is no integer")
    require(numbers[:2] == [low, high], f"sums are {low} ... {high}")
    start, value = low, entry["first"]
    for distance in [*entry["steps"], high + 1 - sum(entry["steps"], low)]:
        end = start + distance - 1
        require(start - 1 <= end <= high, "steps go down or leave the sums")
        begins = [start, *sorted({cut for cut in cuts if start < cut <= end}), end + 1]
        for part in itertools.pairwise(begins) if start <= end else ():
            found = [one.value((part[0], part[1] - 1)) for one in programs]
            require(found == [value, value], f"a rule isn't {value} from {start} on")
        start, value = end + 1, value + 1
    return True


def check_bytes(programs, spans, entries):
    """Whether an operator of one or two stored integers is accepted as equal."""
    require(len(entries) == 1 and set(entries[0]) <= {"differs"}, "other entries")
    given = entries[0].get("differs", ())
    inside = all(type(x) is int and x in y for x, y in zip(given, spans, strict=False))
    require(inside and len(given) in (0, len(spans)), "no stored integers")
    for xs in [given] if given else itertools.product(*spans):
        one, other = (program.value(*((x, x) for x in xs)) for program in programs)
        require((one != other) == bool(given), f"what the rules give at {xs}")
    return [not given]


def check_operator(model, number, contracts, entries):
    """Whether each channel of an operator is accepted as equal, not as different."""
    one, code = model.operators[number], model.codes[number]
    inputs, output, options = one.vector(1, "i"), one.vector(2, "i")[0], one.table(4)
    field, stored = ACTIVATION_FIELD.get(code), model.ends(output)
    has_activation = options and field is not None
    limits = ACTIVATIONS[options.number(field, "b") if has_activation else 0]
    values = model.values("output", output) | {
        "storage_min": stored[0],
        "storage_max": stored[1],
        "activation_min": limits[0],
        "activation_max": limits[1],
        "transposed": False,
        "double_round": False,
        "half_scales": False,
    }

    def bound(contract, end, real):
        if math.isinf(real):
            return end
        found = Program(contract, "bound", {**values, "real": real}, []).result
        return max(stored[0], min(stored[1], found))

    ends = [list(map(bound, (one, one), stored, limits)) for one in contracts]

    def programs(runtime, **more):
        return [
            Program(one, RULES[code], values | bounds | more, runtime)
            for one, pair in zip(contracts, ends, strict=True)
            for bounds in [dict(zip(("output_min", "output_max"), pair, strict=True))]
        ]

    if code in (0, 114):
        names, more = ["lhs", "rhs"] if code == 0 else ["input"], {}
        for name, tensor in zip(names, inputs, strict=False):
            more |= model.values(name, tensor)
        spans = [range(low, high + 1) for low, high in map(model.ends, inputs)]
        return check_bytes(programs(names, **more), spans[: len(names)], entries)
    reach, point = model.ends(inputs[0]), model.quantization(inputs[0])[1][0]
    given = model.values("input", inputs[0])
    if code in (1, 40):
        shape, size = model.shape(inputs[0]), model.shape(output)[1:3]
        axes = model.constant(inputs[1], "i") if code == 40 else (1, 2)
        count = math.prod(shape[axis] for axis in axes)
        kernel = () if code == 40 else (options.number(4, "i"), options.number(3, "i"))
        is_whole = code == 40 or (kernel == shape[1:3] and size == (1, 1))
        require(is_whole, "a pool that isn't of the whole image")
        require(len(entries) == 1, "there is one channel")
        made = programs(["accumulator"], **given, count=count)
        low, high = (count * end for end in reach)
        return [check_channel(made, entries[0], low, high, (0, 1, count * point))]
    rows, (scales, points) = (
        [*model.rows(inputs[1], code == 4)],
        model.quantization(inputs[1]),
    )
    has_bias = len(inputs) > 2 and inputs[2] >= 0
    biases = model.constant(inputs[2], "i") if has_bias else [0] * len(rows)
    require(len(entries) == len(rows) == len(biases), f"there are {len(rows)} channels")
    found = []
    for channel, row in enumerate(rows):
        low, high = sums(row, reach, point, biases[channel])
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
    equal, left = sum(verdicts), ", ".join(others) or "none"
    print(
        f"{len(due)} operators: {equal} channels equal, "
        f"{len(verdicts) - equal} differ, {len(faults)} rejected.\n"
        f"Not covered: operators {left}; {time.time() - begin:.1f} s."
    )
    print(*(f"rejected: {fault}" for fault in faults), sep="\n")
    return 1 if faults or not all(verdicts) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
