"""The configuration of a layer for a test bench, number by number."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr

from qlower.frontends.load import named
from qlower.observe.layer_data import ROLES, Constant, LayerData, layer_data
from qlower.observe.layer_run import run_layer
from qlower.text.parsing import parse_module

MODEL = """
!x = !quant.uniform<i8:f32, 0.5:-3>
!u = !quant.uniform<u8:f32, 0.25:7>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>
func.func @main(%x: tensor<1x3x2x2x!x>) -> tensor<1x2x1x2x!u> {
  %w = qnn.constant dense<1> : tensor<2x2x1x2xi8> -> tensor<2x2x1x2x!w>
  %b = arith.constant dense<[8, -4]> : tensor<2xi32>
  %0 = qnn.conv2d %x, %w, %b {stride = [1, 2], pad = [0, 0, 0, 0], dilation = [1, 1],
    activation = "relu", contract = "tflite"}
    : (tensor<1x3x2x2x!x>, tensor<2x2x1x2x!w>, tensor<2xi32>) -> tensor<1x2x1x2x!x>
    loc("conv")
  %1 = qnn.requantize %0 : (tensor<1x2x1x2x!x>) -> tensor<1x2x1x2x!u> loc("turned")
  return %1 : tensor<1x2x1x2x!u>
}"""


def tensor(shape: list[int], type: str, **quantized: Any) -> dict[str, Any]:
    return {"shape": shape, "type": type, **quantized}


CODES = {"storage_min": -128, "storage_max": 127, "scales": [0.5], "zero_points": [-3]}
X = tensor([1, 3, 2, 2], "int8", **CODES, axis=None)
Y = tensor([1, 2, 1, 2], "int8", **CODES, axis=None)
U = tensor(
    *([1, 2, 1, 2], "uint8"),
    **{"storage_min": 0, "storage_max": 255, "scales": [0.25], "zero_points": [7]},
    axis=None,
)
W = tensor(
    *([2, 2, 1, 2], "int8"),
    **{"storage_min": -127, "storage_max": 127, "scales": [0.5, 0.25]},
    **{"zero_points": [0, 0], "axis": 0},
)


def data(layer: str, number: int) -> LayerData:
    model = named(parse_module(MODEL), None)
    (spec,) = model.inputs
    shape = (1, 3, 2, 2) if layer == "conv" else (1, 2, 1, 2)
    values = {spec.name: np.zeros((1, 3, 2, 2), np.int8), "conv": np.zeros(shape, "i1")}
    run = run_layer(model, "tflite", layer, values)
    module, _, _ = model.index.detach([layer])
    return layer_data(type(model)(module), "tflite", number, layer, run)


def constant(
    name: str, op: str, type: str, values: Any, rounding: str | None = None
) -> dict[str, Any]:
    known = {} if rounding is None else {"rounding": rounding}
    return {"name": name, "op": op, **known, "type": type, "values": values}


def test_a_convolution_has_its_window_and_multipliers() -> None:
    """0.5 * (0.5, 0.25) / 0.5, as 31 bits and shifts of each channel."""
    found = data("conv", 4)
    assert found.to_dict() == {
        **{"layer": "conv", "number": 4, "op": "conv2d", "contract": "tflite"},
        "attributes": {
            **{"stride": [1, 2], "pad": [0, 0, 0, 0], "dilation": [1, 1]},
            **{"activation": "relu", "transposed": False, "groups": 1},
        },
        **{"operands": [X, W, tensor([2], "i32")], "results": [Y]},
        **{"output_min": -3, "output_max": 127, "kernel": [2, 1]},
        "arithmetic": [
            constant("multiplier", "arith.muli", "int64", 1 << 30),
            constant("shift", "fixed.shift_right", "int64", 31, "half_up"),
            constant("shift_1", "fixed.shift_right", "int32", [0, 1], "half_away"),
            constant("addend", "arith.addi", "int32", -3),
            constant("least", "arith.maxsi", "int32", -3),
            constant("greatest", "arith.minsi", "int32", 127),
        ],
    }
    arrays = {name: array.tolist() for name, array in found.arrays.items()}
    assert arrays == {"multiplier": 1 << 30, "shift": 31, "shift_1": [0, 1]}


def test_a_layer_without_a_window() -> None:
    facts = data("turned", 0).facts
    assert "kernel" not in facts
    assert (facts["op"], facts["number"]) == ("requantize", 0)
    assert (facts["operands"], facts["results"]) == ([Y], [U])


def test_attributes_as_plain_data() -> None:
    plain = vars(import_module("qlower.observe.layer_data"))["_plain"]
    assert plain(IntegerAttr(-3, builtin.i32)) == -3
    assert plain(FloatAttr(0.5, builtin.f32)) == 0.5
    assert plain(builtin.StringAttr("a")) == "a"
    assert plain(DenseArrayBase.from_list(builtin.i64, [1, 2])) == [1, 2]
    both = ArrayAttr([IntegerAttr(1, builtin.i32), builtin.StringAttr("b")])
    assert plain(both) == [1, "b"]
    assert plain(builtin.UnitAttr()) is None


BODY = """
func.func @main(%x: tensor<4xi32>, %i: tensor<4xi32>) -> tensor<4xi32> {
  %m = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %e = tensor.empty() : tensor<4xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>,
      affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}
      ins(%x, %m : tensor<4xi32>, tensor<4xi32>) outs(%e : tensor<4xi32>) {
  ^bb0(%a: i32, %b: i32, %out: i32):
    %c5 = arith.constant 5 : i32
    %p = arith.muli %b, %a : i32
    %d = arith.subi %c5, %p : i32
    %s = arith.subi %d, %c5 : i32
    %q = arith.divsi %c5, %s : i32
    %r = arith.divsi %q, %c5 : i32
    %l = arith.shli %r, %c5 : i32
    %h = arith.shrsi %c5, %l : i32
    %u = arith.xori %h, %c5 : i32
    linalg.yield %u : i32
  } -> tensor<4xi32>
  %f = tensor.empty() : tensor<i32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>,
      affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%0 : tensor<4xi32>) outs(%f : tensor<i32>) {
  ^bb0(%a: i32, %out: i32):
    %c7 = arith.constant 7 : i32
    %p = arith.muli %a, %c7 : i32
    %t = arith.addi %out, %p : i32
    linalg.yield %t : i32
  } -> tensor<i32>
  return %0 : tensor<4xi32>
}"""


def test_roles_of_constants() -> None:
    """By the place in an operation; sums have none, and what is no constant neither."""
    inner = vars(import_module("qlower.observe.layer_data"))
    found: list[Constant] = list(
        inner["_numbered"](inner["_constants"](parse_module(BODY)))
    )
    assert [(one.name, one.op, one.values.tolist()) for one in found] == [
        ("multiplier", "arith.muli", [1, 2, 3, 4]),
        *(("minuend", "arith.subi", 5), ("subtrahend", "arith.subi", 5)),
        *(("dividend", "arith.divsi", 5), ("divisor", "arith.divsi", 5)),
        *(("left_shift", "arith.shli", 5), ("shifted", "arith.shrsi", 5)),
    ]
    assert {one.rounding for one in found} == {None}
    names = [
        "multiplier",
        "multiplier_1",
        "shift_12",
        "left_shift",
        "shifted",
        "addend",
    ]
    constants = tuple(Constant(name, "op", None, np.array(1)) for name in names)
    assert [*LayerData({}, constants).arrays] == names[:4]
    assert all(len(roles) <= 2 for roles in ROLES.values())
