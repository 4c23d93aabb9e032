"""
The `quant` dialect: types that carry quantization parameters, and the casts between
real values and their quantized storage.

The text of types and ops is that of upstream MLIR
(https://mlir.llvm.org/docs/Dialects/QuantDialect/), in both directions.
"""

from xdsl.ir import Dialect

from .ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from .parameters import Storage, format_float, to_float32
from .types import Quantization, QuantizedType, quantized_element
from .unmapped import AnyQuantizedType, CalibratedType, QuantileType

QUANT = Dialect(
    "quant",
    [QuantizeCastOp, DequantizeCastOp, StorageCastOp],
    [QuantizedType, AnyQuantizedType, CalibratedType, QuantileType],
)

__all__ = [
    "QUANT",
    "AnyQuantizedType",
    "CalibratedType",
    "DequantizeCastOp",
    "QuantileType",
    "Quantization",
    "QuantizeCastOp",
    "QuantizedType",
    "Storage",
    "StorageCastOp",
    "format_float",
    "quantized_element",
    "to_float32",
]
