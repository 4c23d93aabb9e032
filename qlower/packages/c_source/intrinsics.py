"""Instructions of the processor that a file uses if its compiler offers them."""

from __future__ import annotations

INTRINSICS = """\
#if defined(__GNUC__)
/* Pairs of products would be added first, which takes two registers more. */
#if !defined(__clang__)
#define QLOWER_FUNCTION static __attribute__((noinline, optimize("no-tree-reassoc")))
#else
#define QLOWER_FUNCTION static __attribute__((noinline))
#endif
#else
#define QLOWER_FUNCTION static
#endif
#if defined(QLOWER_ACLE)
#include <arm_acle.h>
#if (__ARM_FEATURE_DSP != 1) || defined(__ARM_BIG_ENDIAN)
#error QLOWER_ACLE takes a little-endian processor with the DSP extension
#endif
typedef uint32_t __attribute__((may_alias, aligned(1))) qlower_word;
typedef uint32_t __attribute__((may_alias)) qlower_halves;
/* gcc inlines nothing else into functions of other options. */
#define QLOWER_INLINE static inline __attribute__((always_inline))
QLOWER_INLINE uint32_t load_word(const void *bytes) {
  return *(const qlower_word *)bytes;
}
QLOWER_INLINE int16x2_t widen_s8(uint32_t word) {
  return __sxtb16((int8x4_t)word);
}
QLOWER_INLINE int16x2_t widen_u8(uint32_t word) {
  return (int16x2_t)__uxtb16((uint8x4_t)word);
}
QLOWER_INLINE int16x2_t widen_s8_odd(uint32_t word) {
#if defined(__GNUC__)
  int16x2_t odd;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(word));
  return odd;
#else
  return widen_s8((word >> 8) | (word << 24));
#endif
}
QLOWER_INLINE int16x2_t widen_u8_odd(uint32_t word) {
  return widen_u8((word >> 8) | (word << 24));
}
#endif"""

SATURATED = {
    (32, -128, 127): (
        "#if defined(QLOWER_ACLE)",
        "  return (int8_t)__ssat(x, 8);",
        "#else",
    )
}
"""Instructions that saturate."""
