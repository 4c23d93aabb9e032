// RUN: %qopt %s -p expand-fixed | %filecheck %s

// Loops in loops: the inner one runs backwards over its part of the sequence.
// CHECK-LABEL: func.func @main
// CHECK:         scf.for %[[T:.*]] = %{{.*}} to %[[N:.*]] step %{{.*}} iter_args(%[[S:.*]] = %start, %[[W:.*]] = %{{.*}}) -> (tensor<2xi32>, tensor<4x2xi32>) {
// CHECK:           %[[P:.*]] = tensor.extract_slice %x[%[[T]], 0, 0] [1, 3, 2] [1, 1, 1] : tensor<4x3x2xi32> to tensor<3x2xi32>
// CHECK:           scf.for %[[U:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %[[S]]) -> (tensor<2xi32>) {
// CHECK:             %[[B:.*]] = arith.subi %{{.*}}, %[[U]] : index
// CHECK-NEXT:        %[[Q:.*]] = tensor.extract_slice %[[P]][%[[B]], 0] [1, 2] [1, 1] : tensor<3x2xi32> to tensor<2xi32>
// CHECK:             scf.yield %[[Q]] : tensor<2xi32>
// CHECK:           tensor.insert_slice %{{.*}} into %[[W]][%[[T]], 0] [1, 2] [1, 1] : tensor<2xi32> into tensor<4x2xi32>
// CHECK-NOT:     kernel.scan
func.func @main(%x: tensor<4x3x2xi32>, %start: tensor<2xi32>) -> (tensor<2xi32>, tensor<4x2xi32>) {
  %last, %all = kernel.scan 4 carried(%start : tensor<2xi32>) over(%x : tensor<4x3x2xi32>) {
    func.func private @step(%sum: tensor<2xi32>, %rows: tensor<3x2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
      %first = kernel.scan 3 reversed carried(%sum : tensor<2xi32>) over(%rows : tensor<3x2xi32>) {
        func.func private @step(%before: tensor<2xi32>, %row: tensor<2xi32>) -> tensor<2xi32> {
          return %row : tensor<2xi32>
        }
      } -> tensor<2xi32>
      return %first, %first : tensor<2xi32>, tensor<2xi32>
    }
  } -> tensor<2xi32>, tensor<4x2xi32>
  return %last, %all : tensor<2xi32>, tensor<4x2xi32>
}
