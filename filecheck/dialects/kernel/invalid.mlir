// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

func.func @unknown_family(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: family 'elementwise' is not one of contraction, depthwise, window, row, map, loop
  %y = kernel.nest elementwise parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4x8xi8>
  return
}

// -----

func.func @empty_loop(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: trip counts [0, 8] must be positive
  %y = kernel.nest map parallel [0, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4x8xi8>
  return
}

// -----

func.func @map_missing(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: 1 maps for 2 inputs and results
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4x8xi8>
  return
}

// -----

func.func @map_over_other_loops(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: map #0 is over 1 dimensions and 0 symbols, the nest has 2 loops
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i) -> (i, i)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4x8xi8>
  return
}

// -----

func.func @map_of_other_rank(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: map #0 gives 1 indices for a tensor of rank 2
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4x8xi8>
  return
}

// -----

func.func @reads_outside(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: map #0 reaches indices 1 to 8 of axis 1, legal are 0 to 7
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j + 1)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4x8xi8>
  return
}

// -----

func.func @reads_below(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: map #0 reaches indices -1 to 2 of axis 0, legal are 0 to 3
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (2 - i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4x8xi8>
  return
}

// -----

func.func @not_linear(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: map #0: (d1 mod 2) is not linear in its dimensions
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j mod 2)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4x8xi8>
  return
}

// -----

func.func @writes_a_part(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: the map of result #0, (d0, d1) -> (d0, d1), must name each parallel loop once and cover the shape [5, 8]
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<5x8xi8>
  return
}

// -----

func.func @writes_twice(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: the map of result #0, (d0, d1) -> (d0), must name each parallel loop once and cover the shape [4]
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4xi8>
  return
}

// -----

func.func @yields_other_type(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: epilogue yields (i8), expected (i32)
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4x8xi32>
  return
}

// -----

func.func @takes_other_type(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: epilogue takes (i32), expected (i8)
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i32):
      kernel.yield %v : i32
    } -> tensor<4x8xi32>
  return
}

// -----

func.func @other_terminator(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: epilogue must end with kernel.yield
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      linalg.yield %v : i8
    } -> tensor<4x8xi8>
  return
}

// -----

func.func @captured_tensor_is_no_table(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: regions may use values from above as tables only, found a value of type tensor<4x8xi8>
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      %i = kernel.index 0 : index
      %e = tensor.extract %x[%i, %i] : tensor<4x8xi8>
      kernel.yield %e : i8
    } -> tensor<4x8xi8>
  return
}

// -----

func.func @no_such_loop(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.index: loop 2 of a nest with 2 loops
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      %i = kernel.index 2 : index
      kernel.yield %v : i8
    } -> tensor<4x8xi8>
  return
}

// -----

func.func @parts_without_reduction(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: init and body need reduction loops
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) init {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4x8xi8>
  return
}

// -----

func.func @reduction_without_parts(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: a reduction needs one block in init
  %y = kernel.nest row parallel [4] reduction [8] maps [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8, %a: i8):
      kernel.yield %a : i8
    } -> tensor<4xi8>
  return
}

// -----

func.func @init_reads_inside_reduction(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: init uses input #0, which depends on a reduction loop
  %y = kernel.nest row parallel [4] reduction [8] maps [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>]
    ins(%x : tensor<4x8xi8>) init {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } body {
    ^bb0(%v: i8, %a: i8):
      kernel.yield %a : i8
    } epilogue {
    ^bb0(%v: i8, %a: i8):
      kernel.yield %a : i8
    } -> tensor<4xi8>
  return
}

// -----

func.func @epilogue_reads_inside_reduction(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: epilogue uses input #0, which depends on a reduction loop
  %y = kernel.nest row parallel [4] reduction [8] maps [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>]
    ins(%x : tensor<4x8xi8>) init {
    ^bb0(%v: i8):
      %c = arith.constant 0 : i8
      kernel.yield %c : i8
    } body {
    ^bb0(%v: i8, %a: i8):
      kernel.yield %a : i8
    } epilogue {
    ^bb0(%v: i8, %a: i8):
      kernel.yield %v : i8
    } -> tensor<4xi8>
  return
}

// -----

func.func @epilogue_counts_reduction(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: epilogue uses the index of a reduction loop
  %y = kernel.nest row parallel [4] reduction [8] maps [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>]
    ins(%x : tensor<4x8xi8>) init {
    ^bb0(%v: i8):
      %c = arith.constant 0 : i8
      kernel.yield %c : i8
    } body {
    ^bb0(%v: i8, %a: i8):
      kernel.yield %a : i8
    } epilogue {
    ^bb0(%v: i8, %a: i8):
      %k = kernel.index 1 : index
      kernel.yield %a : i8
    } -> tensor<4xi8>
  return
}

// -----

func.func @result_inside_reduction(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: the map of result #0, (d0, d1) -> (d1), must name each parallel loop once and cover the shape [8]
  %y = kernel.nest row parallel [4] reduction [8] maps [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (k)>]
    ins(%x : tensor<4x8xi8>) init {
    ^bb0(%v: i8):
      %c = arith.constant 0 : i8
      kernel.yield %c : i8
    } body {
    ^bb0(%v: i8, %a: i8):
      kernel.yield %a : i8
    } epilogue {
    ^bb0(%v: i8, %a: i8):
      kernel.yield %a : i8
    } -> tensor<8xi8>
  return
}

// -----

func.func @schedule_of_a_map(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: a nest of family map has no schedule
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } schedule #kernel.tile<4, 1> -> tensor<4x8xi8>
  return
}

// -----

func.func @schedule_of_no_kind(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: schedule #kernel.arena<4> is neither #kernel.tile nor #kernel.tile_registers
  %y = kernel.nest contraction parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } schedule #kernel.arena<4> -> tensor<4x8xi8>
  return
}

// -----

func.func @empty_tile(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: #kernel.tile<0, 1> must have at least a row, and 1 to 8 vectors
  %y = kernel.nest contraction parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } schedule #kernel.tile<0, 1> -> tensor<4x8xi8>
  return
}

// -----

func.func @wide_tile(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: #kernel.tile<4, 9> must have at least a row, and 1 to 8 vectors
  %y = kernel.nest contraction parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } schedule #kernel.tile<4, 9> -> tensor<4x8xi8>
  return
}

// -----

func.func @buffer_missing(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: 0 buffers for 1 results
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4x8xi8> in []
  return
}

// -----

func.func @scratch_without_bytes(%x: tensor<4x8xi8>) {
  // CHECK: scratch has an offset and bytes, not [64]
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4x8xi8> scratch #kernel.scratch<64>
  return
}

// -----

func.func @buffer_of_no_kind(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.nest: buffer 64 : i64 is neither #kernel.arena nor #kernel.output
  %y = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<4x8xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4x8xi8> in [64 : i64]
  return
}

// -----

func.func @box_leaves_source(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.copy: offset 1, size 4, stride 1 leave axis 0 of the source, which has 4 elements
  %y = kernel.copy %x[1, 0] [4, 8] [1, 1] into empty[0, 0] [1, 1] : tensor<4x8xi8> into tensor<4x8xi8>
  return
}

// -----

func.func @box_leaves_result(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.copy: offset 0, size 8, stride 2 leave axis 1 of the result, which has 14 elements
  %y = kernel.copy %x[0, 0] [4, 8] [1, 1] into empty[0, 0] [1, 2] : tensor<4x8xi8> into tensor<4x14xi8>
  return
}

// -----

func.func @zero_stride(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.copy: offset 0, size 8, stride 0 leave axis 1 of the source, which has 8 elements
  %y = kernel.copy %x[0, 0] [4, 8] [1, 0] into empty[0, 0] [1, 1] : tensor<4x8xi8> into tensor<4x8xi8>
  return
}

// -----

func.func @box_of_other_rank(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.copy: the box has not the result's rank 1
  %y = kernel.copy %x[0, 0] [4, 8] [1, 1] into empty[0] [1] : tensor<4x8xi8> into tensor<32xi8>
  return
}

// -----

func.func @other_element(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.copy: source and result have element types i8 and i32
  %y = kernel.copy %x[0, 0] [4, 8] [1, 1] into empty[0, 0] [1, 1] : tensor<4x8xi8> into tensor<4x8xi32>
  return
}

// -----

func.func @other_fill(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.copy: fill value of type i32 for elements of i8
  %y = kernel.copy %x[0, 0] [4, 8] [1, 1] into fill(0 : i32)[0, 0] [1, 1] : tensor<4x8xi8> into tensor<5x8xi8>
  return
}

// -----

func.func @fill_and_destination(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.copy: a copy has a destination or a fill value, not both
  %y = "kernel.copy"(%x, %x) <{fill = 0 : i8, source_offsets = array<i64: 0, 0>, source_strides = array<i64: 1, 1>, sizes = array<i64: 4, 8>, offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x8xi8>, tensor<4x8xi8>) -> tensor<4x8xi8>
  return
}

// -----

func.func @dynamic(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.copy: tensor<?x8xi8> must be static and without empty axes
  %z = kernel.copy %x[0, 0] [4, 8] [1, 1] into empty[0, 0] [1, 1] : tensor<4x8xi8> into tensor<?x8xi8>
  return
}

// -----

func.func @unstored_slice(%x: tensor<4x8xi8>) {
  // CHECK: error: kernel.copy: only a whole source with a border can be unstored
  %y = kernel.copy %x[0, 0] [4, 4] [1, 1] into fill(0 : i8)[0, 0] [1, 1] : tensor<4x8xi8> into tensor<5x8xi8> in [#kernel.unstored]
  return
}

// -----

func.func @unstored_nest(%x: tensor<4xi8>) {
  // CHECK: error: kernel.nest: the result of a nest is always stored
  %y = kernel.nest map parallel [4] maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] ins(%x : tensor<4xi8>) epilogue {
  ^bb0(%v: i8):
    kernel.yield %v : i8
  } -> tensor<4xi8> in [#kernel.unstored]
  return
}

// -----

func.func @no_box(%x: tensor<4xi8>) -> tensor<4xi8> {
  // CHECK: error: kernel.nest: no box: a lone copy must take the whole result
  %y = kernel.nest map parallel [4] maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] ins(%x : tensor<4xi8>) epilogue {
  ^bb0(%v: i8):
    kernel.yield %v : i8
  } -> tensor<4xi8> in [#kernel.box]
  return %y : tensor<4xi8>
}

// -----

func.func @no_steps(%x: tensor<8xf32>, %s: tensor<4x2xf32>) {
  // CHECK: error: kernel.scan: 0 steps, expected at least 1
  %h, %y = kernel.scan 0 carried(%x : tensor<8xf32>) over(%s : tensor<4x2xf32>) {
    func.func private @step(%x: tensor<8xf32>, %s: tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
      return %x, %s : tensor<8xf32>, tensor<2xf32>
    }
  } -> tensor<8xf32>, tensor<4x2xf32>
  return
}

// -----

func.func @other_steps(%x: tensor<8xf32>, %s: tensor<4x2xf32>) {
  // CHECK: error: kernel.scan: tensor<4x2xf32> must have 3 steps as its first axis
  %h, %y = kernel.scan 3 carried(%x : tensor<8xf32>) over(%s : tensor<4x2xf32>) {
    func.func private @step(%x: tensor<8xf32>, %s: tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
      return %x, %s : tensor<8xf32>, tensor<2xf32>
    }
  } -> tensor<8xf32>, tensor<4x2xf32>
  return
}

// -----

func.func @other_results(%x: tensor<8xf32>, %s: tensor<4x2xf32>) {
  // CHECK: error: kernel.scan: tensor<8xf32> must have 4 steps as its first axis
  %h, %y = kernel.scan 4 over(%s : tensor<4x2xf32>) {
    func.func private @step(%x: tensor<8xf32>, %s: tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
      return %x, %s : tensor<8xf32>, tensor<2xf32>
    }
  } -> tensor<8xf32>, tensor<4x2xf32>
  return
}

// -----

func.func @step_takes_other(%x: tensor<8xf32>, %t: tensor<2x4xf32>) {
  // CHECK: error: kernel.scan: the function takes (tensor<8xf32>, tensor<2xf32>), expected (tensor<8xf32>, tensor<4xf32>)
  %h, %y = kernel.scan 2 carried(%x : tensor<8xf32>) over(%t : tensor<2x4xf32>) {
    func.func private @step(%x: tensor<8xf32>, %s: tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
      return %x, %s : tensor<8xf32>, tensor<2xf32>
    }
  } -> tensor<8xf32>, tensor<2x2xf32>
  return
}

// -----

func.func @step_gives_other(%x: tensor<8xf32>, %s: tensor<4x2xf32>) {
  // CHECK: error: kernel.scan: the function gives (tensor<8xf32>), expected (tensor<8xf32>, tensor<2xf32>)
  %h, %y = kernel.scan 4 carried(%x : tensor<8xf32>) over(%s : tensor<4x2xf32>) {
    func.func private @step(%x: tensor<8xf32>, %s: tensor<2xf32>) -> tensor<8xf32> {
      return %x : tensor<8xf32>
    }
  } -> tensor<8xf32>, tensor<4x2xf32>
  return
}

// -----

func.func @carried_changes(%x: tensor<8xf32>, %s: tensor<4x2xf32>) {
  // CHECK: error: kernel.scan: carried tensor<8xf32> differs from its result tensor<9xf32>
  %h, %y = kernel.scan 4 carried(%x : tensor<8xf32>) over(%s : tensor<4x2xf32>) {
    func.func private @step(%x: tensor<8xf32>, %s: tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
      return %x, %s : tensor<8xf32>, tensor<2xf32>
    }
  } -> tensor<9xf32>, tensor<4x2xf32>
  return
}

// -----

func.func @no_function(%x: tensor<8xf32>, %s: tensor<4x2xf32>) {
  // CHECK: error: kernel.scan: the region must have one function and nothing else
  %h, %y = kernel.scan 4 carried(%x : tensor<8xf32>) over(%s : tensor<4x2xf32>) {
    %c = arith.constant 1 : i32
  } -> tensor<8xf32>, tensor<4x2xf32>
  return
}

// -----

func.func @no_buffer(%x: tensor<8xf32>, %s: tensor<4x2xf32>) {
  // CHECK: error: kernel.scan: 1 buffers for 2 results
  %h, %y = kernel.scan 4 carried(%x : tensor<8xf32>) over(%s : tensor<4x2xf32>) {
    func.func private @step(%x: tensor<8xf32>, %s: tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
      return %x, %s : tensor<8xf32>, tensor<2xf32>
    }
  } -> tensor<8xf32>, tensor<4x2xf32> in [#kernel.output<0>]
  return
}

// -----

func.func @result_in_box(%x: tensor<8xf32>, %s: tensor<4x2xf32>) {
  // CHECK: error: kernel.scan: a result of a scan lies in the arena or an output
  %h, %y = kernel.scan 4 carried(%x : tensor<8xf32>) over(%s : tensor<4x2xf32>) {
    func.func private @step(%x: tensor<8xf32>, %s: tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
      return %x, %s : tensor<8xf32>, tensor<2xf32>
    }
  } -> tensor<8xf32>, tensor<4x2xf32> in [#kernel.output<0>, #kernel.box]
  return
}

// -----

func.func @open_sequence(%m: tensor<1xi1>, %s: tensor<4x2xf32>) {
  // CHECK: error: kernel.scan: a loop of unknown length has no sequences
  %h = kernel.scan while carried(%m : tensor<1xi1>) over(%s : tensor<4x2xf32>) {
    func.func private @step(%m: tensor<1xi1>, %s: tensor<2xf32>) -> tensor<1xi1> {
      return %m : tensor<1xi1>
    }
  } -> tensor<1xi1>
  return
}

// -----

func.func @open_without_end(%x: tensor<8xf32>) {
  // CHECK: error: kernel.scan: the first carried value must be one i1
  %h = kernel.scan while carried(%x : tensor<8xf32>) {
    func.func private @step(%x: tensor<8xf32>) -> tensor<8xf32> {
      return %x : tensor<8xf32>
    }
  } -> tensor<8xf32>
  return
}
