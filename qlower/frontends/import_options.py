"""The user's options for reading a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from qlower.diagnostics import QlowerError
from qlower.model.names import short_names

MOST_SUGGESTIONS = 3

INTEGER, X86, AS_WRITTEN, DEVICE = "integer", "x86", "as-written", "device"

QDQ_READINGS = (INTEGER, X86, AS_WRITTEN, DEVICE)
"""Readings of a group of dequantize, operator, quantize: as operators on integers where
ONNX Runtime may have such, where its default session on x86-64 has them, or nowhere; or
everywhere, with activations that clip codes, as on accelerators."""

SHARED_ZERO_POINT = (
    "OpenVINO makes real numbers of codes by one FMA, whose last bit may differ, where"
    " a zero point is one constant of two DequantizeLinear"
)
"""The beginning of a remark on a reading, which goes on with outputs of the model."""


@dataclass(frozen=True)
class ImportOptions:
    """The shapes of inputs by name, and the tensors to cut the model at.

    A front end takes 1 for every dimension that is neither given here nor fixed in the
    file. With `outputs`, only the operations that these depend on are read: operations
    behind them may be unsupported. They are named as in the file, or by short names.
    `qdq` is one of `QDQ_READINGS`, for the QDQ form of ONNX; `signature` is the name of
    a signature of a TFLite file.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(
        default_factory=dict[str, tuple[int, ...]]
    )
    outputs: tuple[str, ...] = ()
    qdq: str = INTEGER
    signature: str | None = None

    @staticmethod
    def of(
        shapes: Mapping[str, Sequence[int]] | None,
        outputs: Sequence[str],
        qdq: str = INTEGER,
        signature: str | None = None,
    ) -> ImportOptions:
        """The options of `load`; raises QlowerError for a size below 1, and for an
        unknown reading."""
        if qdq not in QDQ_READINGS:
            raise QlowerError(
                f"qdq {qdq!r} is not known; expected one of {', '.join(QDQ_READINGS)}"
            )
        given = {name: tuple(shape) for name, shape in (shapes or {}).items()}
        for name, shape in given.items():
            if any(size < 1 for size in shape):
                raise QlowerError(
                    f"shape {list(shape)} of input {name!r}: sizes are at least 1"
                )
        return ImportOptions(given, tuple(outputs), qdq, signature)

    def check_no_qdq(self, kind: str) -> None:
        """Refuse a reading of groups for a kind of file that has none."""
        if self.qdq != INTEGER:
            raise QlowerError(f"--qdq {self.qdq} is for ONNX files, not for {kind}")

    def check_no_signature(self, kind: str) -> None:
        """Refuse a signature for a kind of file that has none."""
        if self.signature is not None:
            raise QlowerError(
                f"--signature {self.signature} is for TFLite files, not for {kind}"
            )

    def check_inputs(self, known: Iterable[str], others: Iterable[str] = ()) -> None:
        """Refuse a shape of an input that the model doesn't have, under these names or
        others."""
        names = list(known)
        legal = {*names, *others}
        for name in self.shapes:
            if name not in legal:
                raise QlowerError(
                    f"the model has no input {name!r}",
                    help=f"its inputs are {', '.join(map(repr, names))}",
                )


def fit_shape(
    what: str,
    given: Sequence[int] | None,
    declared: Sequence[int | None],
    error: Callable[[str], QlowerError],
) -> tuple[int, ...]:
    """The shape of an input: sizes that the file leaves open (None) are as given, or 1.

    Raises an error for another rank than the file's, or where the file has a size.
    """
    shape = tuple(given or (size or 1 for size in declared))
    if len(shape) != len(declared) or any(
        size not in (None, wanted) for size, wanted in zip(declared, shape, strict=True)
    ):
        sizes = ", ".join("?" if size is None else str(size) for size in declared)
        raise error(f"{what}: shape {list(shape)} doesn't fit the file's [{sizes}]")
    return shape


def find_output(wanted: str, computed: Sequence[str]) -> int:
    """The place of the computed tensor that a user names, in full or in short."""
    short = short_names(computed)
    for names in (computed, short):
        if wanted in names:
            return names.index(wanted)
    raise unknown_output(wanted, short)


def unknown_output(wanted: str, known: Sequence[str]) -> QlowerError:
    """The error for a model that doesn't compute a tensor called `wanted`."""
    text = wanted.lower()
    close = [name for name in known if text in name.lower()] or get_close_matches(
        wanted, known, MOST_SUGGESTIONS, cutoff=0.4
    )
    names = ", ".join(map(repr, close[:MOST_SUGGESTIONS]))
    return QlowerError(
        f"the model computes no tensor {wanted!r}",
        help=f"did you mean {names}?" if close else None,
    )
