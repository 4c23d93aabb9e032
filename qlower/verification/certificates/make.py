"""Writing a certificate that two contracts are equal on a .tflite model's layers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
from xdsl.ir import Operation

from qlower.compilation.compilation import Compilation
from qlower.contracts import Contract, load_contract
from qlower.contracts.accumulator_range import centred_rows
from qlower.diagnostics import QlowerError, file_location
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.explain.diff import Progress, no_progress
from qlower.files.replacing import replacing_files
from qlower.interp import Array, InterpretationError
from qlower.model.layers import layer_name, layers
from qlower.observe.layer_run import CONTRACTIONS
from qlower.process.float_environment import default_floats
from qlower.semantics.rules import stored_dtype
from qlower.sides.sides import Computed
from qlower.verification.certificates import check_certificate
from qlower.verification.certificates.programs import programs_text
from qlower.verification.equal import layer_inputs
from qlower.verification.functions import NO_OFFSET, Given, RuleFunction, Variable
from qlower.verification.pieces import pieces_of
from qlower.verification.questions import Question, questions

COVERED = (
    *(qnn.Conv2DOp, qnn.DepthwiseConv2DOp, qnn.LinearOp),
    *(qnn.AddOp, qnn.AvgPool2DOp, qnn.MeanOp, qnn.RequantizeOp),
)
"""The layers that the checker looks at, where they read bytes."""


@default_floats()
def write_certificate(
    a: str, b: str, path: Path, folder: Path, *, progress: Progress = no_progress
) -> None:
    """Write what proves that `a` and `b` are equal on the .tflite model at `path`.

    The folder gets `certificate.json`, the contracts' rules, and the checker. Raises
    QlowerError for another model, or a layer whose sums have no such proof.
    """
    if path.suffix != ".tflite":
        raise QlowerError(f"a certificate is about a .tflite file, not {path}")
    first = Compilation(path, a).model
    second = Compilation(first, b).model
    sides = Computed(a, first, a), Computed(b, second, b)
    operations = [
        op
        for op in layers(first.module)
        if isinstance(op, COVERED) and stored_dtype(op.operands[0].type).itemsize == 1
    ]
    entries: dict[str, object] = {}
    for number in progress(range(len(operations)), "certify"):
        op = operations[number]
        name, location = layer_name(op) or "", file_location(op.location)
        assert location is not None, "an imported layer has its operator's number"
        values = {
            source: np.zeros(spec.shape, spec.numpy_dtype)
            for source, spec in layer_inputs(first, name).items()
        }
        one, other = (side.layer(name, values) for side in sides)
        try:
            asked = questions((one, other))
            if isinstance(asked, str):
                raise QlowerError(asked)
            (question,) = asked
            entries[str(location.line.data)] = _entry(op, question, one.result)
        except (QlowerError, InterpretationError) as error:
            raise QlowerError(
                f"layer {name} has no certificate: {error.message}"
            ) from error
    texts = [_rules(load_contract(name), operations) for name in (a, b)]
    hashes = [sha256(data).hexdigest() for data in (path.read_bytes(), *texts)]
    record = {
        "format": check_certificate.FORMAT,
        "sha256": hashes,
        "operators": entries,
    }
    with replacing_files(folder) as temporary:
        for name, text in zip(("a.json", "b.json"), texts, strict=True):
            (temporary / name).write_bytes(text)
        (temporary / "certificate.json").write_text(json.dumps(record))
        checker = Path(check_certificate.__file__).read_bytes()
        (temporary / "check.py").write_bytes(checker)


def _rules(contract: Contract, operations: Sequence[Operation]) -> bytes:
    """The part of a contract that the checker reads: the rules of these layers."""
    names = {name.removeprefix("qnn.") for name in (op.name for op in operations)}
    due = sorted(names | ({"bound"} & contract.rules.keys()))
    return programs_text(contract, due).encode()


def _entry(op: Operation, question: Question, result: Array) -> list[dict[str, object]]:
    """The certificate's entry for an operator, one per channel; an addition has one for
    each number of its first operand."""
    if isinstance(op, qnn.AddOp | qnn.RequantizeOp):
        return _of_bytes(op, question)
    lanes, domain = question.lanes, question.domain
    if lanes.of.size not in (1, result.shape[-1]):
        raise QlowerError("constants differ from pixel to pixel")
    offsets = [_offset(function) for function in question.functions]
    if not np.array_equal(offsets[0], offsets[1]):
        raise QlowerError("the contracts have different biases")
    pieces = [pieces_of(function, domain, 32) for function in question.functions]
    one, other = pieces
    if isinstance(one, str) or isinstance(other, str):
        raise QlowerError(str(next(part for part in pieces if isinstance(part, str))))
    offset = np.broadcast_to(offsets[0], domain.low.shape)
    apart = one.apart(other, domain.high)
    starts = np.searchsorted(one.channel, np.arange(len(domain.low) + 1))

    @cache
    def entry(lane: int, factor: int) -> dict[str, object]:
        """The entry of a channel whose sums of products are multiples of a factor."""
        _, first, last = apart[apart[:, 0] == lane].T
        differing = -(-first // factor) * factor
        if (differing <= last).any():
            return {"differs": int(differing[differing <= last][0] + offset[lane])}
        own = slice(*starts[lane : lane + 2])
        x = -(-one.x[own] // factor) * factor + offset[lane]
        return _staircase(x, one.value[own], int(domain.high[lane] + offset[lane]))

    channels = result.shape[-1] if isinstance(op, CONTRACTIONS) else 1
    if channels == 1 and len(domain.low) > 1:
        raise QlowerError("constants differ from channel to channel")
    of = np.broadcast_to(lanes.of.reshape(-1), channels).tolist()
    factors = np.ones(channels, np.int64)
    if isinstance(op, CONTRACTIONS):
        rows = centred_rows(op)
        assert rows is not None, "questions are about constant weights"
        factors = np.maximum(np.gcd.reduce(rows, axis=1), 1)
    return [entry(*one) for one in zip(of, factors.tolist(), strict=True)]


def _offset(function: RuleFunction) -> Array:
    """The constant that a function adds to its number."""
    ((_, offset, _),) = function.given.values.values()
    return offset


def _of_bytes(op: Operation, question: Question) -> list[dict[str, object]]:
    """The channels of an operator of one or two stored integers, all looked at."""
    names = ("lhs", "rhs") if isinstance(op, qnn.AddOp) else ("input",)
    types = [quantized_element(op.operands[n].type) for n in range(len(names))]
    sizes = [type.storage_max - type.storage_min + 1 for type in types]
    size, numbers = sizes[-1], np.arange(np.prod(sizes))
    parts = [
        Variable(type.storage_min, inner, own)
        for type, inner, own in zip(types[::-1], (1, size), sizes[::-1], strict=False)
    ][::-1]
    values = {
        name: (number, NO_OFFSET, np.dtype(np.int32))
        for number, name in enumerate(names)
    }
    given, lanes = Given(parts, values), np.zeros_like(numbers)
    one, other = (
        replace(function, given=given)(lanes, numbers).reshape(-1, size)
        for function in question.functions
    )
    x = parts[-1](numbers[:size])
    found: list[dict[str, object]] = []
    for first, second in zip(one, other, strict=True):
        (apart,) = np.nonzero(first != second)
        if apart.size:
            found.append({"differs": int(x[apart[0]])})
        else:
            found.append(_staircase(x, first, int(x[-1])))
    return found


def _staircase(x: Array, result: Array, high: int) -> dict[str, object]:
    """The first result, and the distances between the numbers at which it rises by one;
    `x` has those at which it may change, up to `high`."""
    value = result.astype(np.uint32).astype(np.int32).astype(np.int64)
    rises = np.diff(value)
    if (rises < 0).any():
        raise QlowerError("a rule goes down as its accumulator rises")
    steps = np.diff(np.repeat(x[1:], rises), prepend=x[0])
    ends = {"low": int(x[0]), "high": high}
    return {**ends, "first": int(value[0]), "steps": steps.tolist()}
