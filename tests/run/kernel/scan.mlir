// An odd number of steps: twice what is carried, and the step.
// INPUT: 1 2 3 4 5 6
// INPUT: 10 20
// EXPECT: 95 182 10 20 21 42 45 88
#id = affine_map<(d) -> (d)>
module {
  func.func @main(%x: tensor<3x2xi32>, %start: tensor<2xi32>) -> (tensor<2xi32>, tensor<3x2xi32>) {
    %last, %before = kernel.scan 3 carried(%start : tensor<2xi32>)
        over(%x : tensor<3x2xi32>) {
      func.func private @step(%sum: tensor<2xi32>, %x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
        %empty = tensor.empty() : tensor<2xi32>
        %next = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
            ins(%sum, %x : tensor<2xi32>, tensor<2xi32>) outs(%empty : tensor<2xi32>) {
        ^bb0(%a: i32, %b: i32, %_: i32):
          %two = arith.constant 2 : i32
          %twice = arith.muli %a, %two : i32
          %total = arith.addi %twice, %b : i32
          linalg.yield %total : i32
        } -> tensor<2xi32>
        return %next, %sum : tensor<2xi32>, tensor<2xi32>
      }
    } -> tensor<2xi32>, tensor<3x2xi32>
    return %last, %before : tensor<2xi32>, tensor<3x2xi32>
  }
}

// -----

// An even number, the last one first.
// INPUT: 1 2 3 4 5 6 7 8
// INPUT: 10 20
// EXPECT: 243 418 121 208 59 102 27 48 10 20
#id = affine_map<(d) -> (d)>
module {
  func.func @main(%x: tensor<4x2xi32>, %start: tensor<2xi32>) -> (tensor<2xi32>, tensor<4x2xi32>) {
    %last, %before = kernel.scan 4 reversed carried(%start : tensor<2xi32>)
        over(%x : tensor<4x2xi32>) {
      func.func private @step(%sum: tensor<2xi32>, %x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
        %empty = tensor.empty() : tensor<2xi32>
        %next = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
            ins(%sum, %x : tensor<2xi32>, tensor<2xi32>) outs(%empty : tensor<2xi32>) {
        ^bb0(%a: i32, %b: i32, %_: i32):
          %two = arith.constant 2 : i32
          %twice = arith.muli %a, %two : i32
          %total = arith.addi %twice, %b : i32
          linalg.yield %total : i32
        } -> tensor<2xi32>
        return %next, %sum : tensor<2xi32>, tensor<2xi32>
      }
    } -> tensor<2xi32>, tensor<4x2xi32>
    return %last, %before : tensor<2xi32>, tensor<4x2xi32>
  }
}

// -----

// A single step.
// INPUT: 1 2
// INPUT: 10 20
// EXPECT: 21 42 10 20
#id = affine_map<(d) -> (d)>
module {
  func.func @main(%x: tensor<1x2xi32>, %start: tensor<2xi32>) -> (tensor<2xi32>, tensor<1x2xi32>) {
    %last, %before = kernel.scan 1 carried(%start : tensor<2xi32>)
        over(%x : tensor<1x2xi32>) {
      func.func private @step(%sum: tensor<2xi32>, %x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
        %empty = tensor.empty() : tensor<2xi32>
        %next = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
            ins(%sum, %x : tensor<2xi32>, tensor<2xi32>) outs(%empty : tensor<2xi32>) {
        ^bb0(%a: i32, %b: i32, %_: i32):
          %two = arith.constant 2 : i32
          %twice = arith.muli %a, %two : i32
          %total = arith.addi %twice, %b : i32
          linalg.yield %total : i32
        } -> tensor<2xi32>
        return %next, %sum : tensor<2xi32>, tensor<2xi32>
      }
    } -> tensor<2xi32>, tensor<1x2xi32>
    return %last, %before : tensor<2xi32>, tensor<1x2xi32>
  }
}

// -----

// A loop in a loop: each step gives the first row of its part, which is last here.
// INPUT: 1 2 3 4 5 6 7 8 9 10 11 12
// INPUT: 10 20
// EXPECT: 7 8 1 2 7 8
module {
  func.func @main(%x: tensor<2x3x2xi32>, %start: tensor<2xi32>) -> (tensor<2xi32>, tensor<2x2xi32>) {
    %last, %all = kernel.scan 2 carried(%start : tensor<2xi32>) over(%x : tensor<2x3x2xi32>) {
      func.func private @step(%sum: tensor<2xi32>, %rows: tensor<3x2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
        %first = kernel.scan 3 reversed carried(%sum : tensor<2xi32>) over(%rows : tensor<3x2xi32>) {
          func.func private @step(%before: tensor<2xi32>, %row: tensor<2xi32>) -> tensor<2xi32> {
            return %row : tensor<2xi32>
          }
        } -> tensor<2xi32>
        return %first, %first : tensor<2xi32>, tensor<2xi32>
      }
    } -> tensor<2xi32>, tensor<2x2xi32>
    return %last, %all : tensor<2xi32>, tensor<2x2xi32>
  }
}

// -----

// As long as the first value is true: one more each time, while it is below 7.
// INPUT: 1
// INPUT: 3
// EXPECT: 0 7
#id = affine_map<(d) -> (d)>
module {
  func.func @main(%more: tensor<1xi1>, %start: tensor<1xi32>) -> (tensor<1xi1>, tensor<1xi32>) {
    %left, %last = kernel.scan while carried(%more, %start : tensor<1xi1>, tensor<1xi32>) {
      func.func private @step(%more: tensor<1xi1>, %x: tensor<1xi32>) -> (tensor<1xi1>, tensor<1xi32>) {
        %empty = tensor.empty() : tensor<1xi32>
        %next = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
            ins(%x : tensor<1xi32>) outs(%empty : tensor<1xi32>) {
        ^bb0(%a: i32, %_: i32):
          %one = arith.constant 1 : i32
          %sum = arith.addi %a, %one : i32
          linalg.yield %sum : i32
        } -> tensor<1xi32>
        %none = tensor.empty() : tensor<1xi1>
        %below = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
            ins(%next : tensor<1xi32>) outs(%none : tensor<1xi1>) {
        ^bb0(%a: i32, %_: i1):
          %seven = arith.constant 7 : i32
          %less = arith.cmpi slt, %a, %seven : i32
          linalg.yield %less : i1
        } -> tensor<1xi1>
        return %below, %next : tensor<1xi1>, tensor<1xi32>
      }
    } -> tensor<1xi1>, tensor<1xi32>
    return %left, %last : tensor<1xi1>, tensor<1xi32>
  }
}

// -----

// No step at all: what is given is left.
// INPUT: 0
// INPUT: 3 4
// EXPECT: 0 3 4
module {
  func.func @main(%more: tensor<i1>, %start: tensor<2xi32>) -> (tensor<i1>, tensor<2xi32>) {
    %left, %last = kernel.scan while carried(%more, %start : tensor<i1>, tensor<2xi32>) {
      func.func private @step(%more: tensor<i1>, %x: tensor<2xi32>) -> (tensor<i1>, tensor<2xi32>) {
        return %more, %x : tensor<i1>, tensor<2xi32>
      }
    } -> tensor<i1>, tensor<2xi32>
    return %left, %last : tensor<i1>, tensor<2xi32>
  }
}
