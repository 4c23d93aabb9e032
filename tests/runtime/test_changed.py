"""Code whose data was exchanged is, byte for byte, what compiling all of it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from qlower.codegen.program.compiled import CompiledObject
from qlower.compilation.compilation import Compilation
from qlower.dialects.qnn.attributes import SOURCE
from qlower.frontends.load import load, named
from qlower.kept.cache import DIRECTORY
from qlower.model import Model
from qlower.model.outline import Outline
from qlower.runtime.changed import KeptCode, Lower
from qlower.text.parsing import parse_module

MODELS = [
    "micro_kws_m_int8",
    *(
        pytest.param(name, marks=pytest.mark.long)
        for name in (
            "ad01_fc_autoencoder_int8",
            "ic_resnet8_int8",
            "kws_dscnn_int8",
            "mobilenet_v1_1.0_224_uint8",
            "mobilenet_v2_1.0_224_int8",
            "person_detect_int8",
            "vww_mcunet_80_int8",
        )
    ),
]

CHAIN = """\
!a = !quant.uniform<i8:f32, 7.8125e-03:3>
!w = !quant.uniform<i8<-127:127>:f32, 3.90625e-03>
module attributes {qnn.contract = "tflite"} {
  func.func @main(%x0: tensor<1x4x4x32x!a>) -> tensor<1x4x4x32x!a> {
LAYERS    return %xLAST : tensor<1x4x4x32x!a>
  }
}
"""

LAYER = """\
    %w{n} = qnn.constant dense<"0x{weights}"> : tensor<32x1x1x32xi8>
      -> tensor<32x1x1x32x!w>
    %b{n} = arith.constant dense<"0x{bias}"> : tensor<32xi32>
    %x{next} = qnn.conv2d %x{n}, %w{n}, %b{n}
      {{stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}}
      : (tensor<1x4x4x32x!a>, tensor<32x1x1x32x!w>, tensor<32xi32>)
      -> tensor<1x4x4x32x!a>
"""
"""A convolution of one element, which is one of a chain."""


def chain(layers: int) -> ModuleOp:
    """Convolutions of 32 channels, one after the other, of random numbers."""
    random = np.random.default_rng(layers)
    text = ""
    for number in range(layers):
        weights = random.integers(-90, 90, (32, 32), np.int8).tobytes().hex()
        bias = random.integers(-900, 900, 32, np.int32).tobytes().hex()
        text += LAYER.format(n=number, next=number + 1, weights=weights, bias=bias)
    text = CHAIN.replace("LAYERS", text).replace("LAST", str(layers))
    return named(parse_module(text), None).module


def constants(module: ModuleOp) -> list[Operation]:
    return [op for op, _ in Outline.of(module).constants]


def elements(op: Operation) -> bytes:
    dense = op.properties["value"]
    assert isinstance(dense, DenseIntOrFPElementsAttr)
    return dense.data.data


def exchange(op: Operation, data: bytes) -> None:
    """Give a constant other elements."""
    dense = op.properties["value"]
    assert isa(dense, DenseIntOrFPElementsAttr)
    op.properties["value"] = DenseIntOrFPElementsAttr(dense.type, BytesAttr(data))


def flipped(data: bytes, *, all_of_it: bool) -> bytes:
    """Bytes with the lowest bit of one of them flipped, or of all, and the next."""
    changed = np.frombuffer(data, np.uint8).copy()
    if all_of_it:
        changed ^= np.random.default_rng(len(data)).integers(0, 4, len(data), np.uint8)
    else:
        changed[len(data) // 2] ^= 1
    return changed.tobytes()


@dataclass
class Cache:
    """Two caches: one with the code of a module, and one of code that is made in full.

    `exchanged` says of the last compilation that found something to exchange whether it
    did.
    """

    folder: Path
    patch: pytest.MonkeyPatch
    exchanged: bool | None = None

    def objects(self, module: ModuleOp, *, in_full: bool = False) -> CompiledObject:
        exchanged = KeptCode.exchanged

        def observed(
            kept: KeptCode,
            module: ModuleOp,
            outline: Outline,
            old: CompiledObject,
            lower: Lower,
        ) -> tuple[KeptCode, CompiledObject] | None:
            if in_full:
                return None
            found = exchanged(kept, module, outline, old, lower)
            self.exchanged = found is not None
            return found

        with self.patch.context() as patch:
            patch.setenv(DIRECTORY, str(self.folder / ("full" if in_full else "parts")))
            patch.setattr(KeptCode, "exchanged", observed)
            self.exchanged = None
            made = Compilation(Model(module)).object
        assert made.module is None
        return made

    def check(self, module: ModuleOp) -> bool | None:
        """Whether data was exchanged for this module, whose code is right."""
        made = self.objects(module)
        exchanged = self.exchanged
        assert made == self.objects(module, in_full=True)
        return exchanged


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    return Cache(tmp_path, monkeypatch)


@pytest.mark.parametrize("name", MODELS)
def test_code_is_the_same_whichever_constant_changes(name: str, cache: Cache):
    path = models_directory() / name / "model.tflite"
    if not path.is_file():
        pytest.skip("the shared models are not there")
    original = load(path).module
    cache.objects(original)
    done: list[bool | None] = []
    count = len(constants(original))
    for number in range(0, count, 1 + 2 * (count // 8)):  # weights and biases by turns
        changed = original.clone()
        op = constants(changed)[number]
        exchange(op, flipped(elements(op), all_of_it=number % 4 == 3))
        done.append(cache.check(changed))
    assert any(done), done


@pytest.mark.long
def test_layers_far_apart_change_at_once(cache: Cache):
    module = chain(20)
    cache.objects(module)
    for number in (2, 31):
        op = constants(module)[number]
        exchange(op, flipped(elements(op), all_of_it=False))
    assert cache.check(module)
    op = constants(module)[14]
    exchange(op, flipped(elements(op), all_of_it=True))
    assert cache.check(module), "what was exchanged can be exchanged again"


@pytest.mark.parts(2)
@pytest.mark.parametrize("number", [6, 7])
def test_a_constant_becomes_that_of_another_layer_and_no_longer_is(
    number: int, cache: Cache
):
    module = chain(14)
    cache.objects(module)
    op = constants(module)[number]
    before = elements(op)
    exchange(op, elements(constants(module)[number + 14]))
    assert cache.check(module) is False
    exchange(op, flipped(before, all_of_it=False))
    assert cache.check(module) is False


@pytest.mark.long
def test_half_of_the_layers_are_compiled_with_the_others(cache: Cache):
    module = chain(6)
    cache.objects(module)
    op = constants(module)[4]
    exchange(op, flipped(elements(op), all_of_it=False))
    assert cache.check(module) is False


def test_where_a_model_is_from_decides_nothing(cache: Cache):
    module = chain(2)
    cache.objects(module)
    module.attributes[SOURCE] = StringAttr("elsewhere")
    assert cache.check(module)


@pytest.mark.long
def test_another_scale_is_another_outline(cache: Cache):
    module = chain(8)
    cache.objects(module)
    text = str(module).replace("3.906250e-03", "4.906250e-03")
    other = named(parse_module(text), None).module
    assert Outline.of(module).digest != Outline.of(other).digest
    assert cache.check(other) is None


RELYING = """\
#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<64xi32>) -> tensor<64xi32> {
  %one = arith.constant 1 : i32
  %most = arith.constant 31 : i32
  %empty = tensor.empty() : tensor<64xi32>
  %amount = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
  ^bb0(%a: i32, %old: i32):
    %r = arith.andi %a, %most : i32
    linalg.yield %r : i32
  } -> tensor<64xi32> loc("first")
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%amount : tensor<64xi32>) outs(%empty : tensor<64xi32>) {
  ^bb0(%a: i32, %old: i32):
    %r = SHIFT : i32
    linalg.yield %r : i32
  } -> tensor<64xi32> loc("second")
  return %y : tensor<64xi32>
}
"""
"""A layer whose result is defined for what another one gives, or for anything."""


@pytest.mark.parametrize(
    ("shift", "is_kept"),
    [("arith.shli %one, %a", False), ("arith.addi %one, %a", True)],
)
def test_nothing_is_kept_of_layers_that_rely_on_others(
    shift: str, is_kept: bool, cache: Cache
):
    kept: list[KeptCode | None] = []
    text = RELYING.replace("SHIFT", shift)
    of = KeptCode.of

    def observed(
        content: Sequence[bytes],
        outline: Outline,
        lowered: ModuleOp,
        code: CompiledObject,
    ) -> KeptCode | None:
        kept.append(of(content, outline, lowered, code))
        return kept[-1]

    cache.patch.setattr(KeptCode, "of", observed)
    cache.objects(parse_module(text))
    assert bool(kept) is is_kept
