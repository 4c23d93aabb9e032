"""A planted fault is found: a wrong proof, a wrong fusion, a wrong schedule and wrong
code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i8
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qlower.cli import main
from qlower.codegen.program import module
from qlower.codegen.program.flavour import PLAIN, Flavour
from qlower.codegen.program.plan import Plan
from qlower.codegen.targets.resolve import Target, resolve_target
from qlower.compilation.bisection import Fault, bisect
from qlower.compilation.compilation import Compilation
from qlower.dialects import qnn
from qlower.dialects.kernel import NestOp
from qlower.model import Model
from qlower.model.build import constant, make_module, quantized
from qlower.model.layers import layer_title, name_layers
from qlower.transforms import fuse_layers, prove_epilogues
from qlower.transforms.prove_epilogues.exceptions import Exceptions
from qlower.transforms.prove_epilogues.forms import Lines
from qlower.transforms.prove_epilogues.staircase import Staircase

TARGET = resolve_target(cpu="x86-64-v3")

IMAGE = np.arange(-64, 64).astype(np.int8).reshape(1, 4, 4, 8)


def residual() -> Model:
    """Two convolutions, each with its input added to its result."""
    type = quantized((1, 4, 4, 8), 0.05)
    random = np.random.default_rng(0)

    def body(x: SSAValue) -> list[SSAValue]:
        for _ in range(2):
            codes = random.integers(-127, 128, (8, 1, 1, 8)).astype(np.int8)
            w = constant(codes, quantized(codes.shape, 0.004))
            x = qnn.AddOp(qnn.Conv2DOp(x, w, None, type).result, x, type).result
        return [x]

    network = make_module([type], body)
    name_layers(network)
    return Model(network)


def find() -> Fault | None:
    model = residual()
    return bisect(Compilation(model, "tflite", TARGET), {model.inputs[0].name: IMAGE})


def layers() -> list[str]:
    """The kernels, by their layers."""
    kernels = Compilation(residual(), "tflite", TARGET).kernels
    nests = [op for op in kernels.walk() if isinstance(op, NestOp)]
    return [str(layer_title(op)) for op in nests]


def test_nothing_is_found_where_all_is_right():
    assert find() is None


def test_a_wrong_proof(monkeypatch: pytest.MonkeyPatch):
    """The second of the two convolutions' lines is too high."""
    original = prove_epilogues.replace_by_line
    nests: list[NestOp] = []

    def replace_by_line(
        nest: NestOp, staircase: Staircase, lines: Lines, exceptions: Exceptions
    ) -> None:
        nests.append(nest)
        if nest.inputs[0].owner is not nest.parent_block():
            scale, offset = lines.parameters
            lines = replace(lines, parameters=(scale, offset + 9))
        original(nest, staircase, lines, exceptions)

    kernels = layers()
    monkeypatch.setattr(prove_epilogues, "replace_by_line", replace_by_line)
    fault = find()
    assert fault is not None
    assert nests
    assert 0 < fault.differing <= fault.count == IMAGE.size
    assert fault.kernel == f"1, {kernels[1]}"
    assert fault.cause.startswith("prove-epilogues, rewrite ")
    assert kernels[1].split(" + ")[0] in fault.cause


def test_a_wrong_fusion(monkeypatch: pytest.MonkeyPatch):
    original = fuse_layers.merge_nests

    def merge_nests(producer: NestOp, consumer: NestOp, index: int) -> NestOp | None:
        is_first = producer.inputs[0].owner is producer.parent_block()
        merged = original(producer, consumer, index)
        assert merged is not None
        if is_first:
            end = merged.epilogue.block.last_op
            assert end is not None
            one = arith.ConstantOp(IntegerAttr(1, i8))
            flipped = arith.XOrIOp(end.operands[0], one)
            Rewriter.insert_op((one, flipped), InsertPoint.before(end))
            end.operands[0] = flipped.result
        return merged

    kernels = layers()
    monkeypatch.setattr(fuse_layers, "merge_nests", merge_nests)
    fault = find()
    assert fault is not None
    assert fault.kernel == f"0, {kernels[0]}"
    assert fault.cause.startswith("fuse-layers, rewrite 1 of 2")


@pytest.mark.long
def test_a_wrong_schedule(monkeypatch: pytest.MonkeyPatch):
    """Nests that are cut as the first one is give other bits."""
    kernels = Compilation(residual(), "tflite", TARGET).kernels
    first, *_ = (op for op in kernels.walk() if isinstance(op, NestOp))
    assert first.schedule is not None
    planned: list[Plan] = []

    def plan(given: ModuleOp, target: Target, flavour: Flavour = PLAIN) -> Plan:
        planned.append(original_plan(given, target, flavour))
        return planned[-1]

    def machine_code(text: str, target: Target) -> bytes:
        nests = (op for op in planned[-1].steps if isinstance(op, NestOp))
        if first.schedule in {nest.schedule for nest in nests}:
            text = text.replace(
                "call <8 x i32> @llvm.smin", "call <8 x i32> @llvm.smax"
            )
        return original_code(text, target)

    original_plan, original_code = module.plan, module.machine_code
    monkeypatch.setattr(module, "plan", plan)
    monkeypatch.setattr(module, "machine_code", machine_code)
    fault = find()
    assert fault is not None
    assert fault.kernel == f"0, {layers()[0]}"
    assert fault.cause.startswith(f"its schedule {first.schedule}: with #kernel.")
    assert fault.cause.endswith(" it is right")


def test_wrong_code(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    Path("model.mlir").write_text(SMALL_MODEL)
    np.save("x.npy", np.array([-128, -20, 30, 127], np.int8).reshape(1, 2, 2, 1))
    command = ["bisect", "model.mlir", "x.npy", "--cpu", "x86-64-v3"]
    assert main(command) == 0
    out, _ = capfd.readouterr()
    assert out == "native code and interpreter give the same bits\n"
    original = module.machine_code

    def machine_code(text: str, target: Target) -> bytes:
        wrong = text.replace("call i32 @llvm.smax", "call i32 @llvm.smin")
        return original(wrong, target)

    monkeypatch.setattr(module, "machine_code", machine_code)
    assert main(command) == 1
    out, _ = capfd.readouterr()
    assert "of 3 outputs differ\nfirst kernel: 1, scores\ncause: its code" in out
