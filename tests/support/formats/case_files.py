"""The small files that tests of reading share, one for each way to use an operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from . import onnx_cases, tflite_cases
from .onnx_singles import SINGLES
from .onnx_variants import VARIANTS
from .tflite_loops import nested, remembering
from .tflite_lstm import Lstm
from .tflite_real_lstm import RealLstm
from .tflite_streams import chosen, keyword_spotter, looped, svdf
from .tflite_word_cases import WORDS

File = Callable[[], bytes]


def _onnx_files() -> dict[str, File]:
    found: dict[str, File] = {
        name: lambda c=case: c().build() for name, case in onnx_cases.CASES.items()
    }
    for one in SINGLES:
        name = f"{one.operator} {one.variant}".strip()
        found[name] = lambda c=one: c.build("i1").build()
    return found


FILES: Mapping[str, Mapping[str, File]] = {
    "tflite": tflite_cases.CASES,
    "onnx": _onnx_files(),
}
"""By format and case."""


COUPLED = (1, 5, 9, 12, 20)
"""The operands of an LSTM's input gate."""

LSTMS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "rows": {"batch": 2, "steps": 2},
    "columns": {"batch": 2, "options": {"time_major": True}},
    "projection": {"batch": 2, "outputs": 3},
    "peephole": {"batch": 2, "has_peephole": True},
    "peephole of columns": {
        **{"batch": 2, "has_peephole": True, "outputs": 3},
        "options": {"time_major": True},
    },
    "normalized": {"is_normalized": True},
    "coupled": {"missing": COUPLED, "has_peephole": True},
    "clipped": {"outputs": 3, "options": {"cell_clip": 0.5, "proj_clip": 0.25}},
}

REAL_LSTMS: Mapping[str, Mapping[str, Any]] = {
    **LSTMS,
    "hybrid": {"is_hybrid": True, "has_peephole": True, "outputs": 3},
    "widened": {"is_widened": True},
    "given": {"is_given": True},
}


def _tflite_files() -> dict[str, File]:
    words = {f"{name} of words": partial(case, 0) for name, case in WORDS.items()}
    layers = {f"lstm {name}": Lstm(**row).build for name, row in LSTMS.items()}
    wide = {"lstm wide": Lstm(is_wide=True, state_zero_point=0).build}
    reals = {
        f"real lstm {name}": RealLstm(**row).build for name, row in REAL_LSTMS.items()
    }
    return {
        **{**words, **layers, **wide, **reals, "nested loops": nested},
        "remembering": partial(remembering, is_written=True),
        "keyword spotter": keyword_spotter,
        "loop of 3": partial(looped, 3),
        "loop until 3": partial(looped, None, 3),
        "choice": partial(chosen, None),
        "svdf": partial(svdf, 0),
        "svdf of rows": partial(svdf, 1, batch=2, rank=1, units=3, has_bias=False),
    }


MORE_FILES: Mapping[str, Mapping[str, File]] = {
    "tflite": _tflite_files(),
    "onnx": {
        f"{one.operator} {one.variant} {one.opset}": lambda c=one: c.build("i1").build()
        for one in VARIANTS
    },
}
"""Of words and streams, and operators with each of their attributes."""
