// The arithmetic of OpenVINO's CPU plug-in on x86 with AVX2 and without VNNI (OpenVINO 2026.4.1): as
// `openvino`, but pairs of products saturate at 16 bits.
// # Formula
// acc = sum over pairs of sat16(x_2i w_2i + x_2i+1 w_2i+1), minus z_x sum(w); x the stored uint8,
// then as `openvino`.
// # Quirks
// - Pairs are neighbouring channels of one tap, or inputs of a linear layer, the last of an odd
//   number alone; padding holds the zero point. Depthwise convolutions are exact if they have one
//   output for each channel; of others neighbouring taps make pairs.
// # Not matched
// - As `openvino`.
// # Checked against
// OpenVINO live with ONEDNN_MAX_CPU_ISA=AVX2, on a CPU that has VNNI: 13 million chosen outputs, and
// drawn layers in QDQ form, no mismatch ([more](../../docs/pages/contracts-measured.md#openvino-on-avx2)).
// # Sources
// - As `openvino`; oneapi-src/oneDNN, src/cpu/x64/jit_uni_x8s8s32x_conv_kernel.cpp

module attributes {contract.family = "OpenVINO", contract.base = "openvino",
    contract.summary = "OpenVINO on AVX2: pairs of products saturate"} {

// Padding holds the zero point, which matters to pairs.
func.func @conv2d_product() -> i32 serves conv2d_product, conv2d_add_product
    attributes {contract.product = ["saturating_pairs_flat", "saturating_pairs_pixel"]} {
  %even = %input_channels / 2 * 2 == %input_channels
  %pads = %pad_top + %pad_bottom + %pad_left + %pad_right
  cf.assert %groups == 1 and (%even or %pads == 0), "a padded image of an odd number of channels, or several groups: which products OpenVINO pairs there can't be said"
  %result = 0 if %even else 1 : i32
}

func.func @depthwise_conv2d_product() -> i32 serves depthwise_conv2d_product, depthwise_conv2d_add_product
    attributes {contract.product = ["exact", "saturating_pairs_taps"]} {
  %result = 0 if %channel_count == %input_channels else 1 : i32
}

func.func @linear_product() -> i32 attributes {contract.product = "saturating_pairs_pixel"} {
  %result = 0 : i32
}

func.func private @is_in_sequence() -> i1 replaces { %result = false : i1 }

}
