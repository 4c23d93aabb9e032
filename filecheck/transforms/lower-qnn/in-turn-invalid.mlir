// RUN: %qopt %s --split-input-file --verify-diagnostics -p 'lower-qnn{contract="%S/Inputs/in-turn-without.mlir"}' | %filecheck %s --check-prefix=WITHOUT
// RUN: %qopt %s --split-input-file --verify-diagnostics -p 'lower-qnn{contract="%S/Inputs/in-turn-several.mlir"}' | %filecheck %s --check-prefix=SEVERAL
// RUN: %qopt %s --split-input-file --verify-diagnostics -p 'lower-qnn{contract="%S/Inputs/in-turn-none.mlir"}' | %filecheck %s --check-prefix=NONE
// RUN: %qopt %s --split-input-file --verify-diagnostics -p 'lower-qnn{contract="max78000"}' | %filecheck %s --check-prefix=LONG
// RUN: %qopt %s --split-input-file --verify-diagnostics -p 'lower-qnn{contract="tflite"}' | %filecheck %s --check-prefix=WORDS

!x = !quant.uniform<i16:f32, 0.5>
// WITHOUT: error: contract in-turn-without sums in turn without the rule accumulate_i16
func.func @words(%x: tensor<2x4x!x>, %y: tensor<4x3x!x>) -> tensor<2x3x!x> {
  %z = qnn.matmul %x, %y : (tensor<2x4x!x>, tensor<4x3x!x>) -> tensor<2x3x!x>
  return %z : tensor<2x3x!x>
}

// -----

!x = !quant.uniform<i8:f32, 0.5>
// SEVERAL: error: contract.product of rule matmul names several, between which no rule chooses
// NONE: error: rule accumulate_group of contract in-turn-none gives 0, it must be 1 or more
func.func @bytes(%x: tensor<2x4x!x>, %y: tensor<4x3x!x>) -> tensor<2x3x!x> {
  %z = qnn.matmul %x, %y : (tensor<2x4x!x>, tensor<4x3x!x>) -> tensor<2x3x!x>
  return %z : tensor<2x3x!x>
}

// -----

!x = !quant.uniform<i8:f32, 0.5>
// LONG: error: sums of this layer can reach 536,870,912, beyond the 30 bits of max78000's register, [-536,870,912, 536,870,911]; what that does then isn't published
func.func @one_too_many(%x: tensor<1x32768x!x>) -> tensor<1x1x!x> {
  %w = qnn.constant dense<-128> : tensor<1x32768xi8> -> tensor<1x32768x!x>
  %y = qnn.linear %x, %w : (tensor<1x32768x!x>, tensor<1x32768x!x>) -> tensor<1x1x!x>
  return %y : tensor<1x1x!x>
}

// -----

!x = !quant.uniform<i8:f32, 0.5>
// LONG: func.func @most
func.func @most(%x: tensor<1x32767x!x>) -> tensor<1x1x!x> {
  %w = qnn.constant dense<-128> : tensor<1x32767xi8> -> tensor<1x32767x!x>
  %y = qnn.linear %x, %w : (tensor<1x32767x!x>, tensor<1x32767x!x>) -> tensor<1x1x!x>
  return %y : tensor<1x1x!x>
}

// -----

!x = !quant.uniform<i16:f32, 0.5>
// WORDS: error: weights of 16 bits: TFLite has layers of int16 with int8 weights alone
func.func @word_weights(%x: tensor<1x5x!x>) -> tensor<1x2x!x> {
  %w = qnn.constant dense<3> : tensor<2x5xi16> -> tensor<2x5x!x>
  %z = qnn.linear %x, %w : (tensor<1x5x!x>, tensor<2x5x!x>) -> tensor<1x2x!x>
  return %z : tensor<1x2x!x>
}
