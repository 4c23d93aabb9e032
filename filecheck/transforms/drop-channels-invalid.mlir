// RUN: not %qopt %s -p 'drop-channels{unit=0}' 2>&1 | %filecheck %s --check-prefix=UNIT
// RUN: not %qopt %s -p drop-channels 2>&1 | %filecheck %s --check-prefix=TARGET

// UNIT: error: unit must be at least 1, not 0
// TARGET: error: the module has no qlower.target, which the pass depends on
func.func @main(%x: tensor<1x4xi8>) -> tensor<1x4xi8> {
  return %x : tensor<1x4xi8>
}
