"""The meaning of tensors' axes: images are NHWC here, in models' files often NCHW."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.model.layers import layer_name, layers

AXES = "nhwc"

IMAGES = (
    *(qnn.Conv2DOp, qnn.DepthwiseConv2DOp, qnn.ResizeOp),
    *(qnn.AvgPool2DOp, qnn.MaxPool2DOp, qnn.AdaptiveAvgPool2DOp),
)
"""Operations on images, whose operand 0 and result are NHWC."""


PARTS = (qnn.ConcatOp, qnn.PadOp, qnn.SliceOp, qnn.SplitOp)
"""Operations whose results have the operand's axes, of other sizes."""


def layer_axes(module: ModuleOp) -> dict[str, str]:
    """The axes of layers' results by letters, `nhwc` or `nchw`.

    They are known of operations on images, and from there through transpositions and
    operations on single elements; other layers are left out."""
    known: dict[SSAValue, str] = {}
    ops = [op for op in layers(module) if isinstance(op, qnn.QnnOp)]
    for op in ops:
        if isinstance(op, IMAGES):
            known.update(dict.fromkeys((op.operands[0], op.results[0]), AXES))
    count = -1
    while count < len(known):
        count = len(known)
        for op in ops:
            _pass_on(op, known)
    return {
        name: known[op.results[0]]
        for op in ops
        if op.results[0] in known and (name := layer_name(op)) is not None
    }


def unusual_axes(module: ModuleOp, layer: str) -> str:
    """The axes of a layer's result, in a model whose file has channels first; empty in
    others."""
    axes = layer_axes(module)
    return axes.get(layer, "") if set(axes.values()) - {AXES} else ""


def _pass_on(op: qnn.QnnOp, known: dict[SSAValue, str]) -> None:
    """Learn of an operand what its result is, or the other way round."""
    if not op.operands or isinstance(op, qnn.ReshapeOp):
        return
    result = op.results[0]
    if isinstance(op, qnn.TransposeOp):
        source, order = op.operands[0], op.perm
        if source in known and result not in known:
            known[result] = "".join(known[source][axis] for axis in order)
        elif result in known and source not in known:
            axes = dict(zip(order, known[result], strict=True))
            known[source] = "".join(axes[axis] for axis in range(len(axes)))
        return
    alike = [
        value
        for value in (result, *op.operands)
        if len(shape_of(value)) == len(AXES)
        and (shape_of(value) == shape_of(result) or isinstance(op, PARTS))
    ]
    axes = next((known[value] for value in alike if value in known), None)
    if axes is not None and not isinstance(op, IMAGES):
        for value in alike:
            known.setdefault(value, axes)
