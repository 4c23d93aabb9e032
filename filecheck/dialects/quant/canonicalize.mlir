// RUN: %qopt %s -p canonicalize | %filecheck %s

!q = !quant.uniform<i8:f32, 0.5:-3>
!r = !quant.uniform<i8:f32, 0.25>

// Storage casts that undo each other fold away.
// CHECK-LABEL: func.func @inverse
// CHECK-NEXT:    func.return %x : tensor<4xi8>
func.func @inverse(%x: tensor<4xi8>) -> tensor<4xi8> {
  %q = quant.scast %x : tensor<4xi8> to tensor<4x!q>
  %y = quant.scast %q : tensor<4x!q> to tensor<4xi8>
  return %y : tensor<4xi8>
}

// These two change the type.
// CHECK-LABEL: func.func @reinterpret
// CHECK-NEXT:    quant.scast
// CHECK-NEXT:    quant.scast
func.func @reinterpret(%x: tensor<4x!q>) -> tensor<4x!r> {
  %i = quant.scast %x : tensor<4x!q> to tensor<4xi8>
  %y = quant.scast %i : tensor<4xi8> to tensor<4x!r>
  return %y : tensor<4x!r>
}
