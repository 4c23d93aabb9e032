// REQUIRES: mlir-opt
// RUN: %qopt %S/ops.mlir | %mlir_opt | %qopt | %filecheck %S/ops.mlir
// RUN: %qopt %S/ops.mlir | %mlir_opt --mlir-print-op-generic | %qopt | %filecheck %S/ops.mlir

// Upstream's mlir-opt reads what we print, and we read its text in both forms.
