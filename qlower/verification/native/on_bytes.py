"""Deciding a function of machine code between bytes, or words: it is run on all of
them."""

from __future__ import annotations

from itertools import product

import numpy as np

from qlower.codegen.program.module import compile_module
from qlower.codegen.targets.resolve import Target
from qlower.dialects.kernel import NestOp
from qlower.model.layers import layer_names
from qlower.runtime.alone import alone
from qlower.verification.native.found import PAIRS, Found, Given, Wrong, flips
from qlower.verification.native.products import StoredBytes
from qlower.verification.native.reference import References, Trial
from qlower.verification.native.sweep import Bind
from qlower.verification.sum_rule import Unfit


def decide_bytes(
    nest: NestOp,
    references: References,
    target: Target,
    bind: Bind,
    bytes_read: StoredBytes,
) -> Found:
    """Whether a nest gives what its layers do, on every byte or word, or every pair of
    bytes that two tensors have at a place. Raises Unfit."""
    if nest.kept_channels is not None:
        raise Unfit("it computes some of the layer's channels")
    names = layer_names(nest)
    cut = alone(nest)
    sources = references.others(names)
    if len(cut.arguments) != len(sources) or len(nest.res) != 1:
        raise Unfit("it reads what the layers don't")
    order = [0]
    if len(sources) > 1:
        read_by_code = [references.source(value) for value in cut.arguments]
        if sorted(read_by_code) != sorted(sources):
            raise Unfit("it isn't known which layer an argument is")
        order = [sources.index(name) for name in read_by_code]
    trials = references.trials(names)
    compiled = compile_module(cut.module, target)
    inputs, outputs = (
        [np.zeros(port.shape, port.numpy_dtype) for port in ports]
        for ports in (compiled.signature.inputs, compiled.signature.outputs)
    )
    call = bind(compiled, inputs, outputs)
    best, best_flips = Wrong(), [0]
    is_first = True
    options = map(bytes_read.options, cut.arguments)
    for *read, stored in product(*options, flips(nest.res[0])):
        wrong = Wrong()
        for trial in trials:
            for array, place, flip in zip(inputs, order, read, strict=True):
                codes = trial.inputs[place] ^ trial.inputs[place].dtype.type(flip)
                array.view(codes.dtype)[...] = codes.reshape(array.shape)
            call()

            def given(place: int, trial: Trial = trial) -> Given:
                codes = (int(one.reshape(-1)[place]) for one in trial.inputs)
                return None, tuple(codes)

            wrong = wrong.and_of(trial.result ^ stored, outputs[0], given)
            if not is_first and wrong.count >= best.count:
                break
        if is_first or wrong.count < best.count:
            best, best_flips, is_first = wrong, [*read, stored], False
        if not best.count:
            break
    if not best.count:
        for value, flip in zip(cut.arguments, best_flips, strict=False):
            bytes_read.settle(value, flip)
    numbers = sum(trial.result.size for trial in trials)
    how = "every byte" if len(sources) == 1 else PAIRS
    if trials[0].inputs[0].itemsize > 1:
        how = "every word"
    return Found(how, numbers, 0, best.first, best_flips[-1])
