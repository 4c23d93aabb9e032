// RUN: not %qopt %s 2>&1 | %filecheck %s

// CHECK: :4:63: error: identifier expected
module attributes {tosa.target_env = #tosa.target_env<level = 3>} {}
