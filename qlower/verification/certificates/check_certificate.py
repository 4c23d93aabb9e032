#!/usr/bin/env python3
# pyright: basic
"""Check a certificate that two contracts give the same, channel by channel.

    python3 check.py MODEL.tflite [CERTIFICATE_FOLDER]

The folder, by default this file's, has `certificate.json`, and the contracts' rules,
`a.json` and `b.json`. Each channel's least and greatest accumulator, and the factor of
their distances, are found from weights and bias. Both rules are evaluated on integers
and IEEE floats, from scales to the stored result: for each interval of the certificate
every operation gives the least and the greatest number that it has there. Where these
are the same, the rule is constant. Exits with 0 if all channels are equal, else with 1.

This file needs Python alone. It trusts Python's integers and float64 arithmetic, how it
reads the model's first subgraph, and that `a.json` and `b.json` are the contracts, with
their calls inlined, and say what systems do. Operators whose rules have other arguments
than a sum, a stored integer or a pair aren't covered.
"""

import hashlib
import itertools
import json
import math
import operator
import struct
import sys
import time
from functools import lru_cache
from pathlib import Path

FORMAT, PARTS = "qlower certificate 3", ("format", "sha256", "operators")
BAD = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError, struct.error)
RULES = {  # by operator code: what varies in a channel, the option of an activation
    0: ("add", "rhs", 0),
    1: ("avg_pool2d", "accumulator", 5),
    3: ("conv2d", "accumulator", 3),
    4: ("depthwise_conv2d", "accumulator", 4),
    9: ("linear", "accumulator", 0),
    40: ("mean", "accumulator", None),
    114: ("requantize", "input", None),
}
ACTIVATIONS = ((-math.inf, math.inf), (0.0, math.inf), (-1.0, 1.0), (0.0, 6.0))
LAYOUTS = {"i32": "<i", "i64": "<q", "f32": "<f", "f64": "<d"}
CODES, ENDS = {2: "i", 3: "B", 9: "b"}, {3: (0, 255), 9: (-128, 127)}  # i32, u8, i8


def require(holds, why):
    """Reject what doesn't hold."""
    if not holds:
        raise ValueError(why)


# The model: the parts of a .tflite file, a flatbuffer, that decide integers.


class Table:
    """A table of a flatbuffer; fields have numbers."""

    def __init__(self, data, at):
        self.data, self.at = data, at

    def read(self, at, code):
        return struct.unpack_from(f"<{code}", self.data, at)[0]

    def field(self, number):
        """A field's position; 0 where it, or its table, is missing."""
        if not self.at:
            return 0
        entries, at = self.at - self.read(self.at, "i"), 4 + 2 * number
        place = self.read(entries + at, "H") if at < self.read(entries, "H") else 0
        return place and self.at + place

    def number(self, number, code):
        at = self.field(number)
        return self.read(at, code) if at else 0

    def table(self, number):
        return Table(self.data, self.field(number) + self.number(number, "I"))

    def vector(self, number, code):
        at = self.table(number).at
        count = self.read(at, "I") if at else 0
        return struct.unpack_from(f"<{count}{code}", self.data, at + 4)

    def tables(self, number):
        first, places = self.table(number).at + 4, self.vector(number, "I")
        return [Table(self.data, first + 4 * n + at) for n, at in enumerate(places)]


class Tensor:
    """A tensor's shape, type, scales, zero points and, if it is constant, numbers."""

    def __init__(self, table, buffers):
        self.shape, self.type = table.vector(0, "i"), table.number(1, "b")
        self.scales = table.table(4).vector(2, "f")
        self.points = table.table(4).vector(3, "q")
        self.buffer = buffers[table.number(2, "I")]

    def numbers(self):
        data, count = bytes(self.buffer.vector(0, "B")), math.prod(self.shape)
        return struct.unpack(f"<{count}{CODES[self.type]}", data)

    def values(self, prefix, channel=0):
        """Scale, zero point and signedness, by the names that rules ask for."""
        parts = self.scales, self.points
        scale, point = (one[channel if len(one) > 1 else 0] for one in parts)
        names = f"{prefix}_scale", f"{prefix}_zero_point", f"{prefix}_unsigned"
        return dict(zip(names, (scale, point, self.type == 3), strict=True))

    def rows(self, is_depthwise):
        """The weights of each channel without their zero points."""
        numbers, count = self.numbers(), self.shape[3 if is_depthwise else 0]
        size, points = len(numbers) // count, self.points * (count // len(self.points))
        rows = [numbers[c * size : (c + 1) * size] for c in range(count)]
        if is_depthwise:
            rows = [numbers[c::count] for c in range(count)]
        return [[w - zero for w in row] for row, zero in zip(rows, points, strict=True)]


def read_model(data):
    """The operators of a model's first subgraph: the code, the options, and the tensors
    that each one is given and makes."""
    root = Table(data, struct.unpack_from("<I", data)[0])
    buffers, graph = root.tables(4), root.tables(2)[0]
    codes = [max(one.number(0, "b"), one.number(3, "i")) for one in root.tables(1)]
    tensors, found = [Tensor(one, buffers) for one in graph.tables(0)], []
    for one in graph.tables(3):
        inputs = [tensors[n] for n in one.vector(1, "i") if n >= 0]
        output = tensors[one.vector(2, "i")[0]]
        found.append((codes[one.number(0, "I")], one.table(4), inputs, output))
    return found


# What operations mean. Integers of n bits are signed numbers, booleans are 0 and 1.


def same_bits(value, source, target):
    return struct.unpack(LAYOUTS[target], struct.pack(LAYOUTS[source], value))[0]


@lru_cache(None)
def holder(type):
    """The function that gives a result as its type has it, wrapped or rounded."""
    if type[0] == "f":  # float64 is wide enough to round sums and products twice
        return lambda value: same_bits(value, type, type)
    half = 1 << (int(type[1:]) - 1) if type != "i1" else 0
    return lambda value: ((value + half) & (2 * half - 1)) - half if half else value & 1


def rounded(mode, above, below):
    """The integer next to a fraction."""
    whole, twice = above // below, 2 * (above % below)
    goes_up = {
        "floor": False,
        "ceil": twice > 0,
        "toward_zero": whole < 0 and twice != 0,
        "half_up": twice >= below,
        "half_down": twice > below,
        "half_away": twice >= below + (above < 0),
        "half_toward_zero": twice >= below + (above >= 0),
        "half_even": twice >= below + (whole % 2 == 0),
    }
    return whole + goes_up[mode]


PYTHON = ("add", "sub", "mul", "neg", "abs", "and_", "or_", "xor", "eq", "ne")
ORDERS = ("lt", "le", "gt", "ge")
# These can't turn: nothing between the ends of operands gives more or less than they.
STEADY = ("add", "sub", "mul", "neg", "cast", "select", "max", "min", "saturate")
STEADY += ("round", "max_float", "min_float", *ORDERS)
STEADY_IN_FIRST = ("divide", "divide_float", "left", "right")


@lru_cache(None)
def meaning(name, mode, source, type):
    """The function of an operation's operands, before its type wraps or rounds."""
    require((name, source, type) != ("cast", "i64", "f32"), "i64 becomes f32")
    bits, most = int(source[1:]), (1 << (int(type[1:]) - 1)) - 1
    mask = (1 << bits) - 1

    def sure(value):
        require(value != 0 and not math.isnan(value), "0 or NaN where its sign matters")
        return value

    def places(value):
        require(0 <= value < bits, f"a shift by {value}")
        return value

    found = {one: getattr(operator, one) for one in (*PYTHON, *ORDERS)} | {
        "cast": lambda a: a,
        "select": lambda c, a, b: a if c else b,
        "max": max,
        "min": min,
        "max_float": lambda a, b: max(sure(a), sure(b)),
        "min_float": lambda a, b: min(sure(a), sure(b)),
        "divide": lambda a, b: rounded("toward_zero", a, b),
        "divide_unsigned": lambda a, b: (a & mask) // (b & mask),
        "divide_float": lambda a, b: a / sure(b),
        "left": lambda a, b: a << places(b),
        "right": lambda a, b: rounded(mode, a, 1 << places(b)),
        "right_unsigned": lambda a, b: (a & mask) >> places(b),
        "zeros": lambda a: bits - (a & mask).bit_length(),
        "saturate": lambda a: max(~most, min(most, a)),
        "round": lambda a: max(~most, min(most, rounded(mode, *a.as_integer_ratio()))),
        "bits": lambda a: same_bits(sure(a) if source[0] == "f" else a, source, type),
    }
    require(name in found, f"the checker has no {name}")
    return found[name]


# A rule of one layer and channel: what is constant is computed once.


class Wire(int):
    """A value that varies with the input, by its number."""


class Program:
    """The steps of a rule that depend on the value `varying`, and its result."""

    def __init__(self, rule, values, varying=None):
        self.steps, values = [], {**values, varying: Wire(0)}
        missing = [name for name, _ in rule["arguments"] if name not in values]
        require(not missing, f"the checker doesn't know {missing}")
        known = [
            values[name] if name == varying else holder(type)(values[name])
            for name, type in rule["arguments"]
        ] + rule["constants"]
        for name, mode, source, type, operands in rule["steps"]:
            given = [known[n] for n in operands]
            is_known = [not isinstance(one, Wire) for one in given]
            if name == "assert":
                require(given == [1], "an assertion of the contract fails")
            elif name == "select" and is_known[0]:
                known.append(given[1] if given[0] else given[2])
            elif all(is_known):
                known.append(holder(type)(meaning(name, mode, source, type)(*given)))
            else:
                run = meaning(name, mode, source, type)
                self.steps.append((name, type[0] == "i", run, holder(type), given))
                known.append(Wire(len(self.steps)))
        self.result = known[rule["result"]]

    def value(self, first, last):
        """The result for the numbers first ... last: an error unless it is the same
        at the ends of what each step may be given, and steps don't turn or wrap."""
        known = [{first, last}]
        for name, is_integer, run, hold, given in self.steps:
            ends = [known[one] if isinstance(one, Wire) else {one} for one in given]
            exact = [run(*corner) for corner in itertools.product(*ends)]
            found = {hold(min(exact)), hold(max(exact))}
            if any(len(one) > 1 for one in ends):
                require(all(map(math.isfinite, exact)), f"{name} isn't finite")
                require(found <= {*exact} or not is_integer, f"{name} may wrap")
                is_bound = name in STEADY_IN_FIRST and len(ends[1]) == 1
                require(is_bound or name in STEADY, f"{name} may turn")
            known.append(found)
        result = known[self.result] if isinstance(self.result, Wire) else {self.result}
        require(len(result) == 1, "the rule isn't constant")
        return min(result)


def check_channel(programs, entry, low, high, cuts, factor):
    """Whether a channel is accepted as equal, not as different."""
    sums = range(low, high + 1, factor)
    if list(entry) == ["differs"]:
        x = entry["differs"]
        require(type(x) is int and x in sums, f"no accumulator is {x}")
        one, other = (program.value(x, x) for program in programs)
        require(one != other, f"the rules are equal at {x}")
        return False
    require(list(entry) == ["low", "high", "first", "steps"], "other entries")
    start, end, value, steps = (entry[name] for name in entry)
    integers = all(type(one) is int for one in [start, end, value, *steps])
    require(integers and type(steps) is list, "an entry is no integer, or no list")
    require([start, end] == [low, high], f"sums are {low} ... {high}")
    for distance in [*steps, high + factor - sum(steps, low)]:
        end = start + distance - factor
        require(start in sums and start - factor <= end <= high, "steps leave the sums")
        begins = [start, *(cut for cut in cuts if start < cut <= end), end + factor]
        for first, after in itertools.pairwise(begins) if start <= end else ():
            found = [program.value(first, after - factor) for program in programs]
            require(found == [value, value], f"a rule isn't {value} from {first} on")
        start, value = end + factor, value + 1
    return True


def pooled(rule, options, inputs, output):
    """The number of the whole image's elements that a pool or a mean adds up."""
    shape, kernel = inputs[0].shape, (options.number(4, "i"), options.number(3, "i"))
    if rule == "mean":
        return math.prod(shape[axis] for axis in inputs[1].numbers())
    is_whole = kernel == shape[1:3] and output.shape[1:3] == (1, 1)
    require(is_whole, "a pool that isn't of the whole image")
    return math.prod(kernel)


def channels(rule, options, inputs, output):
    """For each channel of an operator: what its rule may ask for, the least and the
    greatest of the number that varies, where steps may turn, and weights' factor."""
    first, *others = inputs
    (low, high), point, given = ENDS[first.type], first.points[0], first.values("input")
    if rule == "add":
        given, ends = others[0].values("rhs"), ENDS[others[0].type]
        for lhs in range(low, high + 1):
            yield first.values("lhs") | given | {"lhs": lhs}, *ends, range(*ends), 1
    elif rule == "requantize":
        yield given, low, high, range(low, high), 1
    elif rule in ("avg_pool2d", "mean"):
        count = pooled(rule, options, inputs, output)
        cuts = sorted({0, 1, count * point})
        yield given | {"count": count}, count * low, count * high, cuts, 1
    else:
        rows = others[0].rows(rule == "depthwise_conv2d")
        biases = others[1].numbers() if others[1:] else [0] * len(rows)
        least, most = min(low - point, 0), max(high - point, 0)
        for channel, (row, bias) in enumerate(zip(rows, biases, strict=True)):
            up, down = sum(w for w in row if w > 0), sum(w for w in row if w < 0)
            ends = up * least + down * most + bias, up * most + down * least + bias
            require(-(1 << 31) <= ends[0] <= ends[1] < 1 << 31, "a sum may wrap")
            own = {
                "channel": channel,
                "channel_count": len(rows),
                "per_channel": len(others[0].scales) > 1,
                "weights_symmetric": not any(others[0].points),
                "weight_sum": up + down,
                "accumulator_min": ends[0],
                "accumulator_max": ends[1],
            }
            factor = math.gcd(*row) or 1  # of all sums, less the bias
            cuts = sorted({cut + (ends[0] - cut) % factor for cut in (0, 1)})
            yield given | others[0].values("weight", channel) | own, *ends, cuts, factor


def check_operator(one, contracts, entries):
    """Whether each channel of an operator is accepted as equal, not as different."""
    code, options, inputs, output = one
    (rule, varying, field), stored = RULES[code], ENDS[output.type]
    limits = ACTIVATIONS[0 if field is None else options.number(field, "b")]
    values = output.values("output")
    values |= dict.fromkeys(("transposed", "double_round", "half_scales"), False)
    for of, pair in (("storage", stored), ("activation", limits)):
        values |= {f"{of}_min": pair[0], f"{of}_max": pair[1]}
    rules = []
    for contract in contracts:
        ends = []
        for end, real in zip(stored, limits, strict=True):
            known, given = math.isinf(real), values | {"real": real}
            found = end if known else Program(contract["bound"], given).result
            ends.append(max(stored[0], min(stored[1], found)))
        own = {"output_min": ends[0], "output_max": ends[1]}
        rules.append((contract[rule], values | own))
    given = list(channels(rule, options, inputs, output))
    require(len(entries) == len(given), f"there are {len(given)} channels")
    verdicts = []
    for entry, (own, *ends) in zip(entries, given, strict=True):
        programs = [Program(text, common | own, varying) for text, common in rules]
        verdicts.append(check_channel(programs, entry, *ends))
    return verdicts


def unique(items):
    require(len(dict(items)) == len(items), "a key is there twice")
    return dict(items)


def main(arguments):
    folder = Path(arguments[1]) if arguments[1:] else Path(__file__).parent
    names, begin = ("certificate.json", "a.json", "b.json"), time.time()
    text, *rules = [(folder / name).read_bytes() for name in names]
    data, verdicts, faults = [Path(arguments[0]).read_bytes(), *rules], [], []
    decode = json.JSONDecoder(object_pairs_hook=unique).decode
    model = {str(n): one for n, one in enumerate(read_model(data[0]))}
    due = {n: o for n, o in model.items() if o[0] in RULES and o[2][0].type in ENDS}
    try:
        record, *contracts = [decode(one.decode()) for one in (text, *rules)]
        is_record = type(record) is dict and list(record) == [*PARTS]
        require(is_record and record["format"] == FORMAT, f"not in the format {FORMAT}")
        is_about = record["sha256"] == [hashlib.sha256(one).hexdigest() for one in data]
        require(is_about, "about another model or other contracts, by SHA-256")
        entries = record["operators"]
        is_whole = type(entries) is dict and list(entries) == list(due)
        require(is_whole, "about other operators than the model has")
    except BAD as error:
        faults.append(error)
    for number, one in {} if faults else due.items():
        try:
            verdicts += check_operator(one, contracts, entries[number])
        except BAD as error:
            faults.append(f"operator {number}: {error!r}")
    equal, others = sum(verdicts), ", ".join(n for n in model if n not in due)
    done = f"{equal} channels equal, {len(verdicts) - equal} differ"
    print(f"{len(due)} operators: {done}, {len(faults)} rejected.")
    print(f"Not covered: operators {others or 'none'}; {time.time() - begin:.1f} s.")
    print(*(f"rejected: {fault}" for fault in faults), sep="\n")
    return 1 if faults or not all(verdicts) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
