"""
The `qnn` dialect: operations of neural networks on quantized tensors.

Values are tensors of `!quant.uniform` elements; images are NHWC, weights
[O, KH, KW, I]. An op says what is computed in real numbers; the module's
`qnn.contract`, or the op's own `contract`, says how that is rounded and saturated: a
contract's name, or a path that ends in `.mlir`, relative to the model's file.

Between them `linalg`, `tensor` and `arith` ops may compute on tensors of f32 and of
integers: where a model leaves its quantization (`qnn.dequantize` .. `qnn.quantize`),
where a scale is known only at run time (`quant.scast` gives stored integers). They mean
the same by every contract, step by step in the order that they are written in; ops
that move elements (`qnn.reshape`, `qnn.concat` ..) take f32, too. `qlower.model.nests`
builds them.

```mlir
%e = tensor.empty() : tensor<1x8xf32>
%y = linalg.generic {
  indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>,
                   affine_map<(r, c) -> (r, c)>],
  iterator_types = ["parallel", "parallel"]
} ins(%x, %shift : tensor<1x8xf32>, tensor<8xf32>) outs(%e : tensor<1x8xf32>) {
^bb0(%a: f32, %b: f32, %_: f32):
  %sum = arith.addf %a, %b : f32
  linalg.yield %sum : f32
} -> tensor<1x8xf32>
```
"""

from xdsl.ir import Dialect

from ..operations import operations_of
from .activation import *
from .base import *
from .constant import *
from .contraction import *
from .elementwise import *
from .hybrid import *
from .movement import *
from .pooling import *
from .real import *
from .real_rows import *
from .recurrent import *
from .scaled import *

QNN = Dialect("qnn", operations_of(QnnOp))
