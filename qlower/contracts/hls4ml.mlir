// The arithmetic of hls4ml's layers in its C++ (hls4ml 1.3.0), whose `accum_t` and results have
// the type `ap_fixed<16,6>`: floor (AP_TRN), and wrapping (AP_WRAP). Contracts of other types are
// based on this one, and replace `accum_bits`, `accum_places`, `round_shift` and `hold`.
// # Formula
// Q cuts a number to its type's places, O to its bits. acc = O(Q(b)), and after each product, in the
// order of the weights, acc = O(acc + O(Q(x w))); `y = O(Q(acc))`. Scales are powers of two.
// # Ties
// None: Q is the floor. Other Q are other `round_shift`: AP_RND is half up.
// # Not matched
// - A saturating accum_t with more places than products: its last number is no sum of these.
// - Other operations have the arithmetic of `pow2-shift`, with this rounding, read in no source.
// # Checked against
// Compiled source, `tests/contracts/test_hls4ml.py`: 655,360 outputs of `nnet::dense_latency` of 40
// types, with four other Q and AP_SAT, and 307,200 of `conv_2d_latency_cl` of 15: no mismatch.
// # Sources
// - fastmachinelearning/hls4ml, hls4ml/templates/vivado: nnet_utils/nnet_dense_latency.h,
//   nnet_conv2d_latency.h, nnet_mult.h, ap_types/ap_fixed_base.h

module attributes {contract.family = "hls4ml", contract.base = "esp-dl-s3", contract.words,
    contract.summary = "hls4ml: sums and results in ap_fixed<16,6>, which floor and wrap"} {

func.func private @accum_bits() -> i64 { %result = 16 : i64 }
func.func private @accum_places() -> i64 { %result = 10 : i64 }

func.func private @round_shift(%x: i64, %places: i64) -> i64 replaces {
  %result = fixed.shift_right %x, %places {rounding = floor} : i64
}

func.func private @round_real(%real: f64) -> i32 replaces { %result = floor(%real) }

func.func private @hold(%x: i64, %bits: i64) -> i64 {
  %up = arith.shli %x, 64 - %bits : i64
  %result = arith.shrsi %up, 64 - %bits : i64
}

// What was held before, or the bias, and a product, in steps of products.
func.func @accumulate_i16(%accumulator: i64, %product: i64) -> i64 {
  // NaN, whose exponent is no shift, stands for several.
  cf.assert %product_step == %product_step, "weights of several scales, whose products have no places in common"
  %log = func.call @nearest_exponent(%product_step) : (f64) -> i64
  %up = %log + @accum_places
  %earlier = func.call @shift_word(%accumulator - %product, %up) : (i64, i64) -> i64
  %now = func.call @shift_word(%product, %up) : (i64, i64) -> i64
  %sum = @hold(%earlier, @accum_bits) + @hold(%now, @accum_bits)
  %result = func.call @shift_word(@hold(%sum, @accum_bits), 0 - %up) : (i64, i64) -> i64
}

func.func @accumulate(%accumulator: i32, %product: i32) -> i32 {
  %result = arith.trunci @accumulate_i16(%accumulator, %product) : i64 to i32
}

// Results have the bits of their codes, which a ReLU clips.
func.func private @clamp_and_offset(%x: i32, %storage_max: i32) -> i32 replaces {
  %zeros = math.ctlz %storage_max : i32
  %code = arith.trunci @hold(%x, 33 - %zeros) : i64 to i32
  %result = func.call @clamp_code(%code) : (i32) -> i32
}

func.func @bound(%real: f32) -> i32 serves bound, bound_i16 { %result = @steps_of(%real) : i32 }

}
