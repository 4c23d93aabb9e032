"""Pass form-kernels: the arith level becomes one op per native loop nest.

1. Each `linalg.generic` and `linalg.fill` becomes a `kernel.nest`; `tensor.pad`,
   `tensor.extract_slice` and `tensor.insert_slice` become a `kernel.copy` (convert.py).
2. Nests of one layer merge: what produces the start value of a reduction moves into its
   `init`, what consumes the accumulators elementwise moves into its `epilogue`, and
   chains of elementwise nests become one (fuse.py).
3. Each nest is given its family, as the code generator recognises it.

The scalar arithmetic is moved, never changed. Nests of differently named layers are not
merged here: what is proved of a layer's epilogue is proved of it alone. Then the pass
fuse-layers follows.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from qlower.codegen.nests.recognise import family_of
from qlower.diagnostics import QlowerError
from qlower.dialects import kernel
from qlower.model.entry import defined_functions
from qlower.transforms.form_kernels.convert import convert_operations
from qlower.transforms.form_kernels.fuse import fuse_nests, remove_unused

KERNEL_LEVEL = (
    arith.ConstantOp,
    tensor.ExpandShapeOp,
    tensor.CollapseShapeOp,
    kernel.NestOp,
    kernel.CopyOp,
    kernel.ScanOp,
    func.ReturnOp,
)
"""The ops that a function at the kernel level consists of."""


class FormKernelsPass(ModulePass):
    """Form native loop nests from the arith level.

    Raises QlowerError for an op that is not in the arith-level subset, and for a tensor
    that is read but never written.
    """

    name = "form-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            form_kernels(function.body.block)


def form_kernels(block: Block) -> None:
    """Rewrites the body of one function from the arith to the kernel level."""
    convert_operations(block)
    fuse_nests(block)
    remove_unused(block)
    for op in block.ops:
        _check_level(op)
        if isinstance(op, kernel.NestOp):
            op.family = StringAttr(family_of(op))
            if op.family.data != "contraction":
                op.schedule = None


def _check_level(op: Operation) -> None:
    if isinstance(op, tensor.EmptyOp):
        raise QlowerError("a tensor is read before it is written", op.location)
    if not isinstance(op, KERNEL_LEVEL):
        raise QlowerError(
            f"'{op.name}' has no form at the kernel level",
            op.location,
            help="run lower-qnn first; only static shapes can be compiled",
        )
