// RUN: %qopt %s -p expand-fixed | %filecheck %s

// What upstream gave stays.
// CHECK:       builtin.module attributes {dlti.kept} {
// CHECK-NEXT:    func.func @main(%x: tensor<4xi8> {llvm.noalias}) -> tensor<4xi8> attributes {llvm.emit_c_interface} {
// CHECK-NEXT:      func.return %x : tensor<4xi8>
module attributes {qnn.contract = "tflite", dlti.kept} {
  func.func @main(
      %x: tensor<4xi8> {qnn.name = "x", qnn.type = !quant.uniform<i8:f32, 0.5>, llvm.noalias}
  ) -> (tensor<4xi8> {qnn.name = "y", qnn.type = !quant.uniform<i8:f32, 0.5>})
      attributes {llvm.emit_c_interface} {
    return %x : tensor<4xi8>
  }
}
