"""Operators and networks on real numbers, as quantizers for LiteRT are given them.

What they compute is compared in the survey, which needs these quantizers; here every
one of them is read, and named and shaped as the file says.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.formats.tflite_network import Network
from support.formats.tflite_networks import NETWORKS
from support.formats.tflite_singles import SINGLES

import qlower
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type

MAKERS = {**SINGLES, **NETWORKS}


@pytest.mark.parametrize("name", MAKERS)
def test_real_models_are_as_their_files_say(name: str, tmp_path: Path) -> None:
    net = Network()
    made = MAKERS[name](net)
    outputs = (made,) if isinstance(made, int) else made
    path = tmp_path / "model.tflite"
    path.write_bytes(net.build(*outputs))
    model = qlower.load(path)
    for specs, tensors in ((model.inputs, net.inputs), (model.outputs, outputs)):
        assert [(spec.shape, spec.dtype) for spec in specs] == [
            (net.shape(tensor), net.dtype(tensor)) for tensor in tensors
        ]
    values = [value for op in model.module.walk() for value in op.results]
    assert not any(isinstance(element_type(v.type), QuantizedType) for v in values)


def test_no_operator_went_missing() -> None:
    assert (len(SINGLES), len(NETWORKS), len(MAKERS)) == (82, 36, 118)
