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

// A loop of unknown length: its first part reads whether there is another step.
// CHECK-LABEL: func.func @open
// CHECK:         scf.while (%[[M:.*]] = %more, %[[X:.*]] = %x) : (tensor<1xi1>, tensor<2xi32>) -> (tensor<1xi1>, tensor<2xi32>) {
// CHECK:           %[[G:.*]] = tensor.extract %[[M]][%{{.*}}] : tensor<1xi1>
// CHECK-NEXT:      scf.condition(%[[G]]) %[[M]], %[[X]] : tensor<1xi1>, tensor<2xi32>
// CHECK-NEXT:    } do {
// CHECK-NEXT:    ^bb0(%[[N:.*]]: tensor<1xi1>, %[[Y:.*]]: tensor<2xi32>):
// CHECK-NEXT:      scf.yield %[[N]], %[[Y]] : tensor<1xi1>, tensor<2xi32>
func.func @open(%more: tensor<1xi1>, %x: tensor<2xi32>) -> tensor<2xi32> {
  %m, %y = kernel.scan while carried(%more, %x : tensor<1xi1>, tensor<2xi32>) {
    func.func private @step(%a: tensor<1xi1>, %b: tensor<2xi32>) -> (tensor<1xi1>, tensor<2xi32>) {
      return %a, %b : tensor<1xi1>, tensor<2xi32>
    }
  } -> tensor<1xi1>, tensor<2xi32>
  return %y : tensor<2xi32>
}
